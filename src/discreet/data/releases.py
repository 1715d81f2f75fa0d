"""Tables of releases: what was published, for whom and when.

CSV and Parquet show each output in a word, for people and other programs. JSON lines also carry its full wire form, and
only they give back every output exactly: in a word, coordinates keep six digits.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TextIO

from discreet.data.streams import as_text, ending_of, opened, written_as
from discreet.deferred import pl
from discreet.errors import DataError, DiscreetError
from discreet.events import ATTRIBUTES
from discreet.outputs import MARK, Output, PartialEvent, Release, from_wire, text_of

ReleaseRow = Release
"""The name by which tables of releases have known them."""

HEADER = ("person", "date", "slot", "start", "kind", "value")

ENDINGS = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".parquet")

ROW_GROUP = 50_000
"""Rows of a Parquet file that are held and written at a time."""


def write_releases(path: str | Path, releases: Iterable[Release]) -> int:
    """Write releases as they come, in the format of the path's ending, and say how many.

    The file appears whole or not at all, also where `releases` raises. Memory does not grow with them.
    """
    path = Path(path)
    write = {".csv": _write_csv, ".jsonl": _write_json_lines, ".parquet": _write_parquet}[
        ending_of(path, ENDINGS, "releases")
    ]
    counted = _Counted(str(path), releases)
    with written_as(path) as file:
        write(file, counted)
    return counted.count


def check_target(path: Path) -> None:
    """Refuse a path that releases cannot be written to, before they are drawn."""
    ending_of(path, ENDINGS, "releases")
    if not path.parent.is_dir():
        raise DataError(f"{path}: there is no folder {path.parent}; make it, or choose another")


def print_releases(text: TextIO, releases: Iterable[Release], name: str = "standard output") -> int:
    """Write releases as CSV, the same as in a .csv file, and say how many."""
    counted = _Counted(name, releases)
    _print_csv(text, counted)
    return counted.count


class _Counted:
    """The releases, counted as they pass; what cannot be written is an error that names the release."""

    def __init__(self, name: str, releases: Iterable[Release]) -> None:
        self._name = name
        self._releases = releases
        self.count = 0

    def __iter__(self) -> Iterator[Release]:
        for release in self._releases:
            self.count += 1
            yield release

    def refuse(self, problem: str) -> DataError:
        return DataError(f"{self._name}, release {self.count}: {problem}")


def _write_csv(file: BinaryIO, releases: _Counted) -> None:
    with as_text(file) as text:
        _print_csv(text, releases)


def _print_csv(text: TextIO, releases: _Counted) -> None:
    plain = csv.writer(text, lineterminator="\n")
    quoted = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    plain.writerow(HEADER)
    for release in releases:
        output = release.output
        if isinstance(output, PartialEvent) and text_of(output).count(MARK) != len(ATTRIBUTES) - 1:
            raise releases.refuse(f"an attribute holds {MARK!r}, which parts them in CSV; write JSON (.jsonl, --json)")
        start = "" if release.start is None else release.start.isoformat()
        cells = (release.person or "", release.date.isoformat(), release.slot, start, release.kind, text_of(output))
        # Before Python 3.13 a lone carriage return is not quoted by itself, and reads as the end of the row.
        (quoted if "\r" in f"{cells[0]}{cells[-1]}" else plain).writerow(cells)


def _write_json_lines(file: BinaryIO, releases: _Counted) -> None:
    with as_text(file) as text:
        for release in releases:
            try:
                text.write(release.to_json() + "\n")
            except DiscreetError as error:
                raise releases.refuse(str(error)) from None


def parquet_schema() -> dict[str, pl.DataType]:
    """The columns of releases, as Parquet has them."""
    return {
        "person": pl.String(),
        "date": pl.Date(),
        "slot": pl.Int32(),
        "start": pl.Datetime("us", "UTC"),
        "kind": pl.String(),
        "value": pl.String(),
    }


def sink_parquet(
    file: BinaryIO, schema: Mapping[str, pl.DataType], frames: Iterable[pl.DataFrame], row_group: int = ROW_GROUP
) -> None:
    """Write tables as row groups, as they come. A disk that is full is an OSError, as it is for other files."""
    from polars.io.plugins import register_io_source

    def source(
        _columns: list[str] | None, _where: pl.Expr | None, _rows: int | None, _batch: int | None
    ) -> Iterator[pl.DataFrame]:
        yield from frames

    try:
        register_io_source(source, schema=dict(schema)).sink_parquet(file, row_group_size=row_group)
    except pl.exceptions.PolarsError as error:
        raise OSError(next(iter(str(error).splitlines()), "no reason is given")) from None


def _write_parquet(file: BinaryIO, releases: _Counted) -> None:
    def frames() -> Iterator[pl.DataFrame]:
        rows = map(row_of, releases)
        for first in rows:
            group = [first, *islice(rows, ROW_GROUP - 1)]
            yield pl.DataFrame(group, schema=parquet_schema(), orient="row")

    def row_of(release: Release) -> tuple[object, ...]:
        start = release.start
        if start is not None and start.tzinfo is None:
            raise releases.refuse(f"the start {start.isoformat()} has no time zone; Parquet keeps starts in UTC")
        shown = None if start is None else start.astimezone(dt.UTC)
        return release.person, release.date, release.slot, shown, release.kind, text_of(release.output)

    sink_parquet(file, parquet_schema(), frames())


def read_releases(path: str | Path) -> Iterator[Release]:
    """The releases of a CSV or JSON lines file, one at a time.

    Starts come back with the offset that they were written with. From CSV, the points of `Perturbed` come back with six
    digits, and an empty attribute of `PartialEvent` as None.
    """
    path = Path(path)
    if path.name.lower().endswith(".parquet"):
        raise DataError(f"{path}: releases are read back from .csv and .jsonl; read Parquet with polars.read_parquet")
    read = {".csv": _read_csv, ".jsonl": _read_json_lines}[ending_of(path, ENDINGS[:-1], "releases")]
    return _read_rows(path, read)


Located = tuple[int, Callable[[], Release]]
"""A line, and how to make its row: so that one place can name the line of whatever goes wrong."""


def _read_rows(path: Path, read: Callable[[Path, TextIO], Iterator[Located]]) -> Iterator[Release]:
    with opened(path, empty=True) as (stream, _), io.TextIOWrapper(stream, encoding="utf-8", newline="") as text:
        line = 0
        try:
            for place, row in read(path, text):
                line = place
                yield row()
        except UnicodeDecodeError:
            raise DataError(f"{path}, after line {line}: the text is not UTF-8; write the file again") from None
        except (DiscreetError, ValueError, TypeError, KeyError) as error:
            if isinstance(error, DataError):
                raise
            why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise DataError(f"{path}, line {line}: not a release as discreet writes it: {why}") from None


def _read_csv(path: Path, text: TextIO) -> Iterator[Located]:
    reader = csv.reader(text, strict=True)
    header = next(reader, [])
    if tuple(header) != HEADER:
        raise DataError(f"{path}, line 1: the header is {','.join(header)!r}; releases have {','.join(HEADER)}")
    line = 2
    try:
        for fields in reader:
            if fields:
                yield line, partial(_row_of_csv, fields)
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"{path}, line {line}: not CSV: {error}") from None


def _row_of_csv(fields: list[str]) -> Release:
    if len(fields) != len(HEADER):
        raise ValueError(f"{len(fields)} fields instead of {len(HEADER)}")
    person, date, slot, start, kind, value = fields
    when = dt.datetime.fromisoformat(start) if start else None
    return Release(person or None, dt.date.fromisoformat(date), int(slot), when, _from_text(kind, value))


def _from_text(kind: str, value: str) -> Output:
    """The output that `text_of` showed."""
    message: dict[str, object] = {"kind": kind, "context": value, "node": value}
    if kind == "perturbed":
        message["point"] = [float(part) for part in value.split()]
    if kind == "partial event":
        parts = value.split(MARK)
        if len(parts) != len(ATTRIBUTES):
            raise ValueError(f"{value!r} has {len(parts)} attributes instead of {len(ATTRIBUTES)}")
        message |= dict(zip(ATTRIBUTES, (part or None for part in parts), strict=True))
    return from_wire(message)


def _read_json_lines(path: Path, text: TextIO) -> Iterator[Located]:
    for line, record in enumerate(text, 1):
        if record.strip():
            yield line, partial(_row_of_json, record)


def _row_of_json(record: str) -> Release:
    message = json.loads(record)
    if not isinstance(message, dict):
        raise ValueError("the line is not a JSON object")
    return Release.from_wire(message)
