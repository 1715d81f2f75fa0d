"""Tables of published events: a row an event, nothing where an attribute is withheld."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TextIO

from discreet.data.bad_rows import described
from discreet.data.columns import EventColumns
from discreet.data.formats import open_source
from discreet.data.many_files import NO_VALUE, ManyFiles
from discreet.data.releases import ROW_GROUP, sink_parquet
from discreet.data.source import Source
from discreet.data.streams import as_text, ending_of, written_as
from discreet.deferred import pl
from discreet.errors import DataError, did_you_mean
from discreet.files import folder_whole, refuse_address
from discreet.frames import Rows
from discreet.outputs import PartialEvent

ENDINGS = (".csv", ".csv.gz", ".parquet")

HELD = 500_000
"""Rows that are held until they are written to the folders of a dataset: each time adds a file to each folder."""

LONGEST = 255
"""Bytes of a name that file systems take."""

COLUMN = {"user": "person", "timestamp": "time", "location": "location", "activity": "activity"}
"""The columns of tables of rows, by role."""

Row = tuple[str, PartialEvent]
"""(person, what is shown)."""


def published_columns(source: Source | Rows, columns: EventColumns) -> tuple[dict[str, str], list[str]]:
    """({role: column} in the order of the table, the columns that are not read)."""
    source = open_source(source)
    header = source.header
    places = columns.find(source.name, header)
    roles = {role: header[place] for role, place in sorted(places.items(), key=lambda item: item[1])}
    return roles, [name for name in header if name not in roles.values()]


def check_target(path: Path, data: Path, *, parted: bool = False) -> None:
    """Refuse a place where the published table cannot stand, before the work rather than after it."""
    refuse_address(path, written=True)
    if not parted:
        ending_of(path, ENDINGS, "published events")
    elif path.exists():
        raise DataError(f"{path}: is there already, and a dataset is not added to; remove it, or give another --out")
    if not parted and path.is_dir():
        raise DataError(f"{path}: is a folder, and the table is a file; remove it, or give another --out")
    if not path.parent.is_dir():
        raise DataError(f"{path}: there is no folder {path.parent}; make it, or choose another")
    source = open_source(data)
    given = source.files if isinstance(source, ManyFiles) else [data]
    if path.exists() and any(one.exists() and path.samefile(one) for one in given):
        raise DataError(f"{path}: the published table would take the place of the data; give another --out")


def checked_parts(by: Sequence[str], roles: dict[str, str]) -> list[str]:
    """The columns that a dataset is parted by, which are to be columns of the table."""
    for name in by:
        if name not in roles.values():
            raise DataError(f"there is no column {name!r} to part the table by; {did_you_mean(name, roles.values())}")
    if len(set(by)) == len(roles):
        raise DataError("all columns are parted by, and none is left for the files; leave one out")
    return list(dict.fromkeys(by))


def write_frames(
    path: str | Path, roles: dict[str, str], frames: Iterable[pl.DataFrame], by: Sequence[str] = ()
) -> None:
    """`write_published` for tables of rows (person, activity, time, location), which is quicker.

    With `by`, the path is a folder that gets a folder for each value of these columns (`location=casino`), and in it
    Parquet files without them; where one is withheld, the folder of rows without a value.
    """
    path = Path(path)
    named = (frame.select(pl.col(COLUMN[role]).alias(name) for role, name in roles.items()) for frame in frames)
    header = tuple(roles.values())
    if by:
        with folder_whole(path) as folder:
            _write_parts(folder, _of_height(named, HELD), checked_parts(by, roles))
        return
    write = {".csv": _frames_as_csv, ".parquet": _frames_as_parquet}[ending_of(path, ENDINGS, "published events")]
    with written_as(path) as file:
        write(file, header, named, roles.get("user"))


def _frames_as_csv(file: BinaryIO, header: tuple[str, ...], frames: Iterator[pl.DataFrame], user: str | None) -> None:
    """The bytes of `_write_csv`."""
    with as_text(file) as text:
        _csv_rows(text, iter([header]))
        for frame in frames:
            odd = pl.any_horizontal(pl.all().str.contains("\r", literal=True).any() | (pl.all() == "").any())
            if user is None or frame.select(odd).item():
                _csv_rows(text, frame.iter_rows())
            else:
                text.write(frame.write_csv(include_header=False))


def _frames_as_parquet(
    file: BinaryIO, header: tuple[str, ...], frames: Iterator[pl.DataFrame], _user: str | None
) -> None:
    sink_parquet(file, {name: pl.String() for name in header}, _of_height(frames, ROW_GROUP))


def _of_height(frames: Iterator[pl.DataFrame], height: int) -> Iterator[pl.DataFrame]:
    """The same rows in tables of this height, the last perhaps shorter."""
    held: list[pl.DataFrame] = []
    rows = 0
    for frame in frames:
        held.append(frame)
        rows += frame.height
        if rows >= height:
            joined = pl.concat(held)
            whole = rows - rows % height
            yield from (joined[start : start + height].rechunk() for start in range(0, whole, height))
            held, rows = [joined[whole:].rechunk()], rows - whole
    if rows:
        yield pl.concat(held).rechunk()


def _write_parts(folder: Path, frames: Iterator[pl.DataFrame], by: list[str]) -> None:
    """A file for each value and each time: what is open or held does not grow with values or rows."""
    for number, frame in enumerate(frames):
        for values, rows in frame.group_by(by, maintain_order=True):
            inner = folder.joinpath(*(_part(name, value) for name, value in zip(by, values, strict=True)))
            inner.mkdir(parents=True, exist_ok=True)
            rows.drop(by).write_parquet(inner / f"part-{number:05}.parquet")


def _part(name: str, value: object) -> str:
    """The name of a folder, as Spark and polars read it back; a value that they would not is refused."""
    text = NO_VALUE if value is None else str(value)
    folder = f"{_escaped(name)}={_escaped(text)}"
    told = f"column {name!r} has the value {text[:40]!r}{'...' * (len(text) > 40)}"
    if value is not None and text in ("", NO_VALUE):
        raise DataError(f"{told}, which as a folder means that there is none; part the table by another column")
    if len(folder.encode()) > LONGEST:
        raise DataError(f"{told}, which is too long for the name of a folder; part the table by another column")
    return folder


def _escaped(text: str) -> str:
    """ASCII signs with a meaning in paths by their number; other letters stand, for Spark takes numbers as Latin-1."""
    return "".join(one if ord(one) > 127 or one.isalnum() or one in " _-.~" else f"%{ord(one):02X}" for one in text)


def write_published(path: str | Path, roles: dict[str, str], rows: Iterable[Row]) -> int:
    """Write rows as they come, under these columns, in the format of the path's ending, and say how many.

    Withheld attributes are empty in CSV and null in Parquet. In the place of the timestamp stands the time of the
    event, which is an interval. The file appears whole or not at all, also where `rows` raises.
    """
    path = Path(path)
    write = {".csv": _write_csv, ".parquet": _write_parquet}[ending_of(path, ENDINGS, "published events")]
    count = 0

    def cells() -> Iterator[tuple[str | None, ...]]:
        nonlocal count
        for person, event in rows:
            count += 1
            held = {"user": person, "timestamp": event.time, "location": event.location, "activity": event.activity}
            yield tuple(held[role] for role in roles)

    with written_as(path) as file:
        write(file, tuple(roles.values()), cells())
    return count


def read_published(source: Source | Rows, columns: EventColumns) -> dict[str, list[PartialEvent]]:
    """What a published table shows of each person's events, people and rows in the order of the table.

    With `columns.user` None all rows are one person's, named after the file.
    """
    source = open_source(source)
    people: dict[str, list[PartialEvent]] = {}
    for batch in source.batches(columns):
        if batch.faults:
            raise DataError(described(batch.origin, batch.faults[0]))
        frame = batch.frame
        roles = ("user", "activity", "timestamp", "location")
        cells = (frame[role].cast(pl.String).to_list() if role in frame.columns else () for role in roles)
        users, *shown = cells
        for person, *values in zip(users or (batch.origin.person,) * frame.height, *shown, strict=True):
            if not person:
                raise DataError(f"{source.name}: a row has no user; publish the table again, or give user=None")
            people.setdefault(person, []).append(PartialEvent(*(value or None for value in values)))
    if not people:
        raise DataError(f"{source.name}: the table has a header and no rows; expected one event a row")
    return people


def _write_csv(file: BinaryIO, header: tuple[str, ...], rows: Iterator[tuple[str | None, ...]]) -> None:
    with as_text(file) as text:
        _csv_rows(text, iter([header]))
        _csv_rows(text, rows)


def _csv_rows(text: TextIO, rows: Iterator[tuple[str | None, ...]]) -> None:
    plain = csv.writer(text, lineterminator="\n")
    quoted = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in rows:
        cells = [cell or "" for cell in row]
        # A lone carriage return would end the row unless quoted; a row of nothing would be a blank line.
        writer = quoted if any("\r" in cell for cell in cells) or not any(cells) else plain
        writer.writerow(cells)


def _write_parquet(file: BinaryIO, header: tuple[str, ...], rows: Iterator[tuple[str | None, ...]]) -> None:
    schema: dict[str, pl.DataType] = {name: pl.String() for name in header}
    groups = (pl.DataFrame([first, *islice(rows, ROW_GROUP - 1)], schema=schema, orient="row") for first in rows)
    sink_parquet(file, schema, groups)
