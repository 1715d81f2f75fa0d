"""Tables of published events: a row an event, nothing where an attribute is withheld."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import polars as pl
from polars.io.plugins import register_io_source

from discreet.data.bad_rows import described
from discreet.data.columns import EventColumns
from discreet.data.formats import open_source
from discreet.data.releases import ROW_GROUP
from discreet.data.source import Source
from discreet.data.streams import as_text, ending_of, written_as
from discreet.errors import DataError
from discreet.outputs import PartialEvent

ENDINGS = (".csv", ".csv.gz", ".parquet")

Row = tuple[str, PartialEvent]
"""(person, what is shown)."""


def published_columns(source: Source | str | Path, columns: EventColumns) -> tuple[dict[str, str], list[str]]:
    """({role: column} in the order of the table, the columns that are not read)."""
    source = open_source(source)
    header = source.header
    places = columns.find(source.name, header)
    roles = {role: header[place] for role, place in sorted(places.items(), key=lambda item: item[1])}
    return roles, [name for name in header if name not in roles.values()]


def check_target(path: Path, data: Path) -> None:
    """Refuse a place where the published table cannot stand, before the work rather than after it."""
    ending_of(path, ENDINGS, "published events")
    if not path.parent.is_dir():
        raise DataError(f"{path}: there is no folder {path.parent}; make it, or choose another")
    if path.exists() and data.exists() and path.samefile(data):
        raise DataError(f"{path}: the published table would take the place of the data; give another --out")


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


def read_published(source: Source | str | Path, columns: EventColumns) -> dict[str, list[PartialEvent]]:
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
        plain = csv.writer(text, lineterminator="\n")
        quoted = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
        plain.writerow(header)
        for row in rows:
            cells = [cell or "" for cell in row]
            # A lone carriage return would end the row unless quoted; a row of nothing would be a blank line.
            writer = quoted if any("\r" in cell for cell in cells) or not any(cells) else plain
            writer.writerow(cells)


def _write_parquet(file: BinaryIO, header: tuple[str, ...], rows: Iterator[tuple[str | None, ...]]) -> None:
    schema: dict[str, pl.DataType] = {name: pl.String() for name in header}

    def frames(
        _columns: list[str] | None, _where: pl.Expr | None, _rows: int | None, _batch: int | None
    ) -> Iterator[pl.DataFrame]:
        for first in rows:
            yield pl.DataFrame([first, *islice(rows, ROW_GROUP - 1)], schema=schema, orient="row")

    register_io_source(frames, schema=schema).sink_parquet(file, row_group_size=ROW_GROUP)
