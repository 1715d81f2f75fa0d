"""`discreet forget`: erases what the gateway's own store has of a person."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from discreet.cli import options
from discreet.cli.kept import Config, Data, folder_at, settings_at
from discreet.cli.terminal import print_json
from discreet.errors import DiscreetError


def forget(
    person: Annotated[str, typer.Argument(help="Whose readings, truth and memory.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="It is meant so; nothing brings it back.")] = False,
    data: Data = None,
    config: Config = None,
    json: options.Json = False,
) -> None:
    """Erase a person's readings, the truth of past days and the private state. The gateway has to be stopped.

    What was released stays in the journal: applications have it. When the gateway goes on, the person's next slot is
    skipped in public, because memory is lost. Where habits or policy have changed since the stream began, it cannot go
    on: discreet serve --new-stream. A journal that is older than what was told is not noticed by the own store any
    more. Copies in backups stay where they are.

    Example: discreet forget jane --yes
    """
    from discreet.gateway.folder import Folder
    from discreet.gateway.own_store import OwnStore

    settings = None if data is not None and config is None else settings_at(config)
    folder = Folder.existing(folder_at(data, config, settings))
    if not folder.own.is_file():
        raise DiscreetError(f"{folder.own}: there is no own store; nothing is kept of anybody")
    if not yes:
        raise DiscreetError(f"this erases what {folder.own} has of {person!r}, for good; say --yes if it is meant so")
    folder.lock()
    try:
        with closing(OwnStore(folder.own)) as own:
            own.erase(person)
    finally:
        folder.unlock()
    if json:
        print_json({"person": person, "erased": True})
    else:
        print(f"nothing is kept of {person} any more, but what was released; the next slot is skipped in public")
