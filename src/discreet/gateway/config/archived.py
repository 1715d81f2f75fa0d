"""The settings and the files that they name, as an archive has them and as a new folder gets them."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from discreet.gateway.config.document import edited

SETTINGS = "discreet.toml"

ELSEWHERE = "files"
"""Where files go that are not below the settings' folder."""

DATA = "discreet-data"
"""The data folder of what is restored."""

OF_A_PERSON = ("routine", "policy", "places")

NOT_TAKEN = ("backup", "passphrase_file")
"""What opens other archives is not in this one."""


def named_files(text: str) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every key of the settings that names a file to take, with what it says."""

    def within(at: Any, where: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
        if isinstance(at, dict):
            for key, value in at.items():
                if isinstance(value, str) and _names_a_file((*where, key)):
                    yield (*where, key), value
                else:
                    yield from within(value, (*where, key))
        elif isinstance(at, list):
            for number, value in enumerate(at):
                yield from within(value, (*where, number))

    yield from within(tomllib.loads(text), ())


def _names_a_file(where: tuple[str | int, ...]) -> bool:
    key = str(where[-1])
    person = len(where) == 3 and where[0] == "people" and key in OF_A_PERSON
    tls = where in (("server", "certificate"), ("server", "key"))
    return person or tls or (key.endswith("_file") and where != NOT_TAKEN)


def take(settings: Path, into: Path, *, own: bool = True, beside: Callable[[Path], list[Path]]) -> list[str]:
    """Copy the settings and what they name below a folder: the names there.

    Maps of a whole country (`page.tiles`) stay out: they are fetched again. `beside` says what lies beside a file and
    belongs to it. Paths that lead elsewhere are changed in the copy, as is where the data folder is.
    """
    settings = settings.absolute()
    text, names = settings.read_bytes().decode(), list[str]()
    taken = set[str]()
    for where, said in named_files(text):
        source = settings.parent / said
        if not source.is_file():
            continue  # the gateway would say so at its start
        name = _name_of(Path(said), taken)
        taken.add(name)
        if name != Path(said).as_posix():
            text = _changed(text, where, name)
        for file in (source, *(beside(source) if own or where[-1] != "policy" else [])):
            as_ = (Path(name).parent / file.name).as_posix()
            if as_ not in names:
                (into / as_).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                shutil.copyfile(file, into / as_)
                (into / as_).chmod(0o600)
                names.append(as_)
    if "data" in tomllib.loads(text).get("server", {}):
        text = _changed(text, ("server", "data"), DATA)
    (into / SETTINGS).write_text(text, encoding="utf-8")
    (into / SETTINGS).chmod(0o600)
    return [SETTINGS, *names]


def journal_at(text: str, url: str | None) -> str:
    """The settings with the journal in PostgreSQL, or for None in SQLite; all else in them stays."""
    found = dict(tomllib.loads(text).get("journal", {}))
    if url is None:
        found.pop("url", None)
    else:
        found["url"] = url
    return edited(text, ("journal",), found or None)


def _name_of(said: Path, taken: set[str]) -> str:
    """Below the folder as it is said; else among those from elsewhere, each by a name of its own."""
    if not said.is_absolute() and ".." not in said.parts:
        return said.as_posix()
    name, number = f"{ELSEWHERE}/{said.name}", 1
    while name in taken:
        number += 1
        name = f"{ELSEWHERE}/{number}/{said.name}"
    return name


def _changed(text: str, where: tuple[str | int, ...], value: str) -> str:
    import tomlkit

    whole: Any = tomlkit.parse(text)
    at = whole
    for key in where[:-1]:
        at = at[key]
    at[where[-1]] = value
    return tomlkit.dumps(whole)
