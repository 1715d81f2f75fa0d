"""`discreet deploy`: the files that run a gateway for good, with one's own names in them."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options
from discreet.cli.gateway_files import CONFIG, Config, settings_at
from discreet.cli.serve import check_installed
from discreet.cli.terminal import note, print_json
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from discreet.gateway.config.deployment import Accounts

FILES = ("mosquitto.conf", "broker.conf", "discreet.service", "Containerfile", "compose.yaml")
"""What is handed out as it is; `pyproject.toml` puts it into the wheel."""

ACL = "mosquitto.acl"
"""What is made from names."""


def deploy(
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="The folder to write to; it is made if need be.")],
    config: Config = None,
    person: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A person, if there are no settings yet; may be repeated."),
    ] = None,
    view: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A view besides the whole one, if there are no settings yet; may be repeated."
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Write the files for systemd, a container and a Mosquitto broker, with your people's and views' names in them.

    Names come from discreet.toml: the people, the views, and the broker's name and account. Existing files are not
    changed.

    Example: discreet deploy --to deploy
    """
    check_installed()
    accounts = _accounts(config, person or [], view or [])
    texts = {ACL: accounts.acl().encode()} | {name: (shipped() / name).read_bytes() for name in FILES}
    written = [name for name, text in texts.items() if _put(to / name, text)]
    differ = [name for name, text in texts.items() if name not in written and not _same(to / name, text)]
    if json:
        print_json({"folder": str(to), "written": written, "differ": differ, "accounts": accounts.names})
        return
    if written:
        print(f"{', '.join(written)} in {to}")
    if kept := [name for name in texts if name not in written]:
        print(f"already there: {', '.join(kept)}")
    for name in differ:
        note(f"{to / name} is not what would be written now; move it away and run this again, or mend it by hand")
    print(f"Accounts at the broker: {', '.join(accounts.names)}")
    print("Continue with step 4 of docs/gateway.md: give each a password with mosquitto_passwd.")


def shipped() -> Traversable:
    """Where they are: inside the package, or in a checkout beside it."""
    inside = resources.files("discreet") / "deploy"
    return inside if inside.is_dir() else Path(__file__).parents[3] / "deploy"


def _accounts(config: Path | None, people: list[str], views: list[str]) -> Accounts:
    """By the settings, or by the names that are given where there are none."""
    from discreet.gateway.config.deployment import Accounts

    settings = settings_at(config)
    if settings is None:
        if not people:
            raise DiscreetError(
                f"there is no {CONFIG} here; go to the folder that discreet setup wrote to, give it by --config FILE, "
                "or say whose they are by --person NAME"
            )
        return Accounts.named(people, views)
    if people or views:
        raise DiscreetError(f"--person and --view are for where there are no settings; {settings.file} has the names")
    return Accounts.of(settings)


def _put(path: Path, content: bytes) -> bool:
    """Whether the file was written; False where there is one by that name, or a link to where none is."""
    from discreet.files import written_whole

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DiscreetError(
            f"{path.parent}: cannot be made: {error.strerror}; choose a folder you can write to"
        ) from None
    if os.path.lexists(path):
        return False
    with written_whole(path) as file:
        file.write(content)
    return True


def _same(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() == content
    except OSError:
        return False
