"""`discreet forget`: erases what the gateway's own store has of a person."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options
from discreet.cli.gateway_files import Config, Data, folder_at, settings_at
from discreet.cli.terminal import print_json
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.gateway.config.settings import Settings


def forget(
    person: Annotated[str, typer.Argument(help="The person, by their name in the settings.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Confirm it: nothing brings the data back.")] = False,
    everywhere: Annotated[
        bool,
        typer.Option("--everywhere", help="Also erase readings.parquet, and positions that phones left at the broker."),
    ] = False,
    data: Data = None,
    config: Config = None,
    json: options.Json = False,
) -> None:
    """Erase a person's readings, true past days and private state. Stop the gateway first.

    Released outputs stay in the journal: applications have them. When the gateway starts again, the person's next slot
    is skipped in public, because its memory is gone. If habits or policy have changed since the stream began, the
    stream cannot continue: use discreet serve --new-stream. The own store no longer notices a journal that is too old.
    Backups keep their copies.

    Example: discreet forget jane --yes
    """
    from discreet.gateway.store.folder import Folder
    from discreet.gateway.store.own_store import OwnStore

    settings = None if data is not None and config is None else settings_at(config)
    folder = Folder.existing(folder_at(data, config, settings))
    if not folder.own.is_file():
        raise DiscreetError(f"{folder.own}: there is no own store; nothing is kept of anybody")
    folder.lock()
    try:
        with closing(OwnStore(folder.own)) as own:
            _check_known(person, own.people(), settings, folder.own)
            if not yes:
                raise DiscreetError(
                    f"this erases what {folder.own} has of {person!r}, for good; say --yes if it is meant so"
                )
            own.erase(person)
    finally:
        folder.unlock()
    erased, left = _elsewhere(person, settings, everywhere=everywhere)
    if json:
        print_json({"person": person, "erased": True, "also": erased, "left": left})
        return
    print(f"nothing is kept of {person} any more, but what was released; the next slot is skipped in public")
    for one in erased:
        print(f"erased: {one}")
    for one in left:
        print(f"NOT erased: {one}")
    if left and not everywhere:
        print(f"To erase these too: discreet forget {person} --everywhere --yes")


def _check_known(person: str, kept: Sequence[str], settings: Settings | None, file: Path) -> None:
    known = sorted({*kept, *(settings.people if settings is not None else ())})
    if person not in known:
        print(f"{file}: nothing is kept of {person!r}; known: {', '.join(known) or 'nobody'}", file=sys.stderr)
        raise typer.Exit(1)


def _elsewhere(person: str, settings: Settings | None, *, everywhere: bool) -> tuple[list[str], list[str]]:
    """What was erased outside the own store, and what was not."""
    if settings is None:
        return [], ["what lies outside this folder; give the settings (--config FILE) to have it named"]
    from discreet.gateway.owner.leftovers import cleared, tables_of, topics_of

    tables, topics = tables_of(settings, person), topics_of(settings.owntracks, person)
    at_broker = [f"positions that phones left at the broker, on {topic}" for topic in topics[::2]]
    if not everywhere:
        return [], [*map(str, tables), *(at_broker if settings.broker is not None else [])]
    for table in tables:
        table.unlink()
    if settings.broker is None or not topics:
        return [str(table) for table in tables], []
    try:
        gone, still = asyncio.run(cleared(settings.broker, topics))
    except OSError as error:
        return [str(table) for table in tables], [f"{one}: {error}" for one in at_broker]
    remedy = "the gateway's account may not write there; as one that may: mosquitto_pub -r -n -t"
    return [*map(str, tables), *gone], [f"{topic}, retained at the broker: {remedy} {topic}" for topic in still]
