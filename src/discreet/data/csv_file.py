"""CSV tables, plain or gzipped, in blocks of bounded size.

Polars splits a block into columns, but the block is cut and checked here first: polars fills short rows with nulls
and keeps no line numbers, so that a bad row could neither be told from an empty field nor be named.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.data.bad_rows import Fault
from discreet.data.batch import Batch
from discreet.data.columns import Named
from discreet.errors import DataError

BLOCK = 4 << 20
"""Bytes read at a time, after decompression."""

LONGEST_ROW = 1 << 20
"""A row of more bytes is not a row: a quote was left open, or the file is not a table."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

MAGIC = {
    b"\x1f\x8b": "gzip data; name it .csv.gz",
    b"PAR1": "a Parquet file; name it .parquet",
    b"PK\x03\x04": "a zip archive or spreadsheet; save it as CSV",
    b"\xff\xfe": "UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "UTF-16 text; save it as UTF-8",
}

FIELD = rb'(?:"(?:[^"]|"")*+"|[^",\n]*+)'
"""A field of RFC 4180. The possessive repeats keep a file full of stray quotes from taking for ever."""

RECORD = re.compile(FIELD + rb"(?:," + FIELD + rb")*+\n")

Positions = npt.NDArray[np.int64]


@contextmanager
def opened(path: Path, *, empty: bool = False) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """(the decompressed stream, the file beneath it); every way in which reading can fail is a DataError.

    A file of no bytes is one of them, unless the format has no header and so may be `empty`.
    """
    zipped = path.suffix.lower() == ".gz"
    try:
        with path.open("rb") as raw:
            start = raw.peek(4)[:4]
            if not start and (zipped or not empty):
                raise DataError(f"{path}: the file is empty; expected a header and rows")
            if zipped and not start.startswith(b"\x1f\x8b"):
                raise DataError(f"{path}: the name ends in .gz but this is not gzip data; rename or compress it")
            if not zipped:
                for magic, what in MAGIC.items():
                    if start.startswith(magic):
                        raise DataError(f"{path}: this is {what}")
                yield raw, raw
            else:
                with gzip.GzipFile(fileobj=raw, mode="rb") as stream:
                    yield io.BufferedReader(stream), raw
    except EOFError:
        raise DataError(f"{path}: the gzip data break off before their end; copy or download the file again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path}: the gzip data are damaged ({error}); copy or download the file again") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}; check the path") from None


def batches(path: Path, columns: Named) -> Iterator[Batch]:
    """The rows of a CSV file, block by block. Holds one block of bytes and its columns at a time."""
    with opened(path) as (stream, raw):
        total = path.stat().st_size
        header, data = _header(path, stream)
        found = columns.find(path, header)
        line = 2 + sum(name.count("\n") for name in header)
        while True:
            more = stream.read(BLOCK)
            if not more and data and not data.endswith(b"\n"):
                data += b"\n"
            data = data.replace(b"\r\n", b"\n")
            rows = _split(data, line, header, final=not more)
            if rows.used == 0 and len(data) > LONGEST_ROW:
                raise DataError(f"{path}, line {line}: the row is longer than a megabyte; is this a table of readings?")
            yield Batch(_frame(path, data, rows, found), rows.faults, raw.tell(), total)
            if not more:
                return
            line += data.count(b"\n", 0, rows.used)
            data = data[rows.used :] + more


def names(path: Path) -> list[str]:
    """The column names of a CSV file."""
    with opened(path) as (stream, _):
        return _header(path, stream)[0]


def _header(path: Path, stream: BinaryIO) -> tuple[list[str], bytes]:
    """The column names, and the bytes read beyond them."""
    data = stream.read(LONGEST_ROW)
    if len(data) < LONGEST_ROW and not data.endswith(b"\n"):
        data += b"\n"  # the whole file, and its last line has no end
    data = data.removeprefix(BYTE_ORDER_MARK).replace(b"\r\n", b"\n")
    match = RECORD.match(data)
    if match is None or not match.group().strip():
        raise DataError(
            f"{path}, line 1: there is no header; the first line must name the columns, separated by commas"
        )
    try:
        text = match.group().decode()
    except UnicodeDecodeError:
        raise DataError(f"{path}, line 1: the header is not UTF-8; save the file as UTF-8") from None
    return next(csv.reader([text.removesuffix("\n")], strict=False)), data[match.end() :]


@dataclass(frozen=True)
class _Rows:
    """Where the sound rows of a block start and end, their lines, and what is wrong with the others."""

    starts: Positions
    ends: Positions
    lines: Positions
    used: int
    faults: list[Fault] = field(default_factory=list)


def _split(data: bytes, line: int, header: list[str], *, final: bool) -> _Rows:
    """Cut a block into rows; blank lines are not rows, and an unfinished row at the end waits for the next block."""
    text = np.frombuffer(data, dtype=np.uint8)
    newlines = np.flatnonzero(text == ord("\n"))
    if b'"' in data:
        starts, ends, fields = _quoted_rows(data, final=final)
    else:
        ends = newlines + 1
        starts = np.concatenate([[0], ends[:-1]]).astype(np.int64) if len(ends) else ends
        commas = np.flatnonzero(text == ord(","))
        fields = np.searchsorted(commas, ends) - np.searchsorted(commas, starts) + 1
    used = int(ends[-1]) if len(ends) else 0
    lines = line + np.searchsorted(newlines, starts)
    row = ends - starts > 1
    sound = row & (fields == len(header))
    faults = [
        _misshapen(data[starts[k] : ends[k]], int(lines[k]), int(fields[k]), header)
        for k in np.flatnonzero(row & ~sound)
    ]
    rows = _Rows(starts[sound], ends[sound], lines[sound], used, faults)
    try:
        data[:used].decode()
    except UnicodeDecodeError:
        rows = _utf8_only(data, rows, header)
    return rows


def _quoted_rows(data: bytes, *, final: bool) -> tuple[Positions, Positions, Positions]:
    """Starts, ends and numbers of fields where fields may be quoted and hold line breaks; 0 fields: a stray quote."""
    starts, ends, fields = [], [], []
    place = 0
    while place < len(data):
        match = RECORD.match(data, place)
        if match is not None:
            end = match.end()
            count = _count_fields(match.group())
        elif not final and len(data) - place <= LONGEST_ROW:
            break
        else:
            # The quote is never closed, or closed in mid-field: give up this line only, not all that follow.
            end = data.find(b"\n", place) + 1 or len(data)
            count = 0
        starts.append(place)
        ends.append(end)
        fields.append(count)
        place = end
    return np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64), np.array(fields, dtype=np.int64)


QUOTED = re.compile(rb'"[^"]*+"')


def _count_fields(record: bytes) -> int:
    return (QUOTED.sub(b"", record) if b'"' in record else record).count(b",") + 1


def _misshapen(record: bytes, line: int, fields: int, header: list[str]) -> Fault:
    text = record.decode(errors="replace").removesuffix("\n")
    if fields == 0:
        return Fault(line, None, text, "has a quote that is not closed, or that stands inside a field")
    return Fault(line, None, text, f"has {fields} field{'s' * (fields != 1)} where the header has {len(header)}")


def _utf8_only(data: bytes, rows: _Rows, header: list[str]) -> _Rows:
    """The same rows without those that are not UTF-8."""
    sound = np.ones(len(rows.starts), dtype=bool)
    faults = list(rows.faults)
    for k, (start, end) in enumerate(zip(rows.starts.tolist(), rows.ends.tolist(), strict=True)):
        record = data[start:end]
        try:
            record.decode()
        except UnicodeDecodeError:
            sound[k] = False
            values = next(csv.reader([record.decode(errors="replace")]))
            place = next((k for k, value in enumerate(values) if "\ufffd" in value), 0)
            faults.append(Fault(int(rows.lines[k]), header[place], values[place].rstrip("\n"), "is not UTF-8"))
    return _Rows(rows.starts[sound], rows.ends[sound], rows.lines[sound], rows.used, faults)


def _frame(path: Path, data: bytes, rows: _Rows, found: dict[str, int]) -> pl.DataFrame:
    """The columns that are read, as text, under the names of their roles, with the line of each row."""
    schema = dict.fromkeys(["line", *found])
    if not len(rows.starts):
        return pl.DataFrame(schema={name: pl.Int64 if name == "line" else pl.String for name in schema})
    whole = int((rows.ends - rows.starts).sum()) == rows.used
    spans = zip(rows.starts.tolist(), rows.ends.tolist(), strict=True)
    text = data[: rows.used] if whole else b"".join(data[start:end] for start, end in spans)
    wanted = sorted(set(found.values()))
    try:
        table = pl.read_csv(
            text,
            has_header=False,
            infer_schema=False,
            columns=wanted,
            quote_char='"' if b'"' in text else None,
        )
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{path}: cannot be read as CSV: {str(error).splitlines()[0]}") from None
    if table.height != len(rows.lines):
        raise DataError(f"{path}: {len(rows.lines)} rows were found but {table.height} read; check its quotes")
    roles = {role: table[:, wanted.index(place)] for role, place in found.items()}
    return pl.DataFrame({"line": rows.lines, **roles})
