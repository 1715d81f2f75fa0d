"""The formats that can be read, one file each, and which of them a file is in.

A new format is a file here with a class like `Csv`, and its line in `FORMATS`; CONTRIBUTING.md says more.
"""

from __future__ import annotations

from pathlib import Path

from discreet.data.formats.csv import Csv
from discreet.data.formats.parquet import Parquet
from discreet.data.source import Format, Source
from discreet.errors import DataError, did_you_mean

FORMATS: tuple[Format, ...] = (
    Csv(),
    Parquet(),
)
"""In the order in which they are asked; the first that recognises a file opens it."""

HEAD = 4096
"""First bytes that a file is recognised by."""


def open_source(source: Source | str | Path, format: str | None = None) -> Source:
    """A file as a source of rows, in the format that recognises it, or in the one named; a source as it is."""
    if not isinstance(source, str | Path):
        return source
    path = Path(source)
    return (_recognised(path) if format is None else _named(format)).open(path)


def _named(name: str) -> Format:
    known = {each.name: each for each in FORMATS}
    if name not in known:
        raise DataError(f"format is {name!r}; {did_you_mean(name, known)}")
    return known[name]


def _recognised(path: Path) -> Format:
    head = _head(path)
    for each in FORMATS:
        if each.recognises(path, head):
            return each
    *endings, last = (ending for each in FORMATS for ending in each.endings)
    raise DataError(
        f"{path}: neither its ending nor its first bytes say a format that can be read; "
        f"use {', '.join(endings)} or {last}"
    )


def _head(path: Path) -> bytes:
    """The first bytes of a file; none of a folder, which may hold a format's files."""
    if path.is_dir():
        return b""
    try:
        with path.open("rb") as file:
            return file.read(HEAD)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}; check the path") from None
