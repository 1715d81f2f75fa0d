"""`discreet examples`: the files that the examples of --help name."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options
from discreet.cli.terminal import print_json
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

FILES = ("readings.csv", "events.csv", "policy.toml")
"""What is handed out; `pyproject.toml` puts it into the wheel."""


def examples(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="The folder to write to; it is made if need be.")
    ] = Path("examples"),
    json: options.Json = False,
) -> None:
    """Write the files that the examples in --help use into a folder: readings, events, and a policy.

    Readings and events are of simulated people. Existing files are not changed.

    Example: discreet examples
    """
    written = [name for name in FILES if _put(name, folder)]
    if json:
        print_json({"folder": str(folder), "files": list(FILES), "written": written})
        return
    kept = [name for name in FILES if name not in written]
    if written:
        print(f"{', '.join(written)} in {folder}")
    if kept:
        print(f"already there: {', '.join(kept)}")
    print(f"Next: discreet learn {folder / FILES[0]} --zone Europe/Paris --keep hospital --out p01.model")


def shipped() -> Traversable:
    """Where they are: inside the package, or in a checkout beside it."""
    inside = resources.files("discreet") / "examples"
    return inside if inside.is_dir() else Path(__file__).parents[3] / "examples"


def _put(name: str, folder: Path) -> bool:
    """Whether the file was written; False where it is there already."""
    from discreet.files import written_whole

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DiscreetError(f"{folder}: cannot be made: {error.strerror}; choose a folder you can write to") from None
    if (folder / name).exists():
        return False
    content = (shipped() / name).read_bytes()
    with written_whole(folder / name) as file:
        file.write(content)
    return True
