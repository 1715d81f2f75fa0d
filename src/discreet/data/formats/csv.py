"""CSV tables, plain or gzipped, in blocks of bounded size.

Polars splits a block into columns, but the block is cut and checked here first: polars fills short rows with nulls
and keeps no line numbers, so that a bad row could neither be told from an empty field nor be named.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from discreet.data.columns import ColumnNames
from discreet.data.notation.roles import is_header
from discreet.data.source import Batch, Fault, Origin, ends_with, stem
from discreet.data.streams import opened
from discreet.deferred import pl
from discreet.errors import DataError

BLOCK = 4 << 20
"""Bytes read at a time, after decompression."""

LONGEST_ROW = 1 << 20
"""A row of more bytes is not a row: a quote was left open, or the file is not a table."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

SEPARATORS = (",", ";", "\t", "|")
"""What fields may be separated by where nobody says: RFC 4180's first, then what spreadsheets write in Europe."""


SAID = re.compile(rb"[sS][eE][pP]=([,;\t|])\r?\n")
"""A line before the header, by which spreadsheets are told what separates fields."""


@cache
def _record(separator: str) -> re.Pattern[bytes]:
    """A row of RFC 4180. The possessive repeats keep a file full of stray quotes from taking for ever."""
    mark = re.escape(separator.encode())
    field = rb'(?:"(?:[^"]|"")*+"|[^"' + mark + rb"\n]*+)"
    return re.compile(field + rb"(?:" + mark + field + rb")*+\n")


Offsets = npt.NDArray[np.int64]


class Csv:
    """Comma-separated values with a header (RFC 4180), UTF-8. They have no mark of their own, so the ending decides.

    `separator` is one character; by default the one of `SEPARATORS` that the header has most of.
    """

    name = "csv"
    endings = (".csv", ".csv.gz")

    def __init__(self, separator: str | None = None) -> None:
        if separator is not None and (len(separator) != 1 or separator in '"\r\n' or not separator.isascii()):
            raise DataError(f"the separator is {separator!r}; give one character, such as ; or a tab")
        self._separator = separator

    def recognises(self, path: Path, head: bytes) -> bool:
        """By the ending, or by a first line that names a time and a position or a label."""
        return ends_with(path, self.endings) or _names_columns(head)

    def open(self, path: Path) -> CsvSource:
        """The rows of a CSV file."""
        return CsvSource(path, self._separator)


def _names_columns(head: bytes) -> bool:
    """Whether the first line is the header of such a table, whatever the file is called."""
    text = head.removeprefix(BYTE_ORDER_MARK).lstrip()
    said = SAID.match(text)
    line = text[said.end() if said else 0 :].split(b"\n", 1)[0]
    if not line or line[:1] in b"{[<" or not _utf8(line):
        return False
    mark = _separator(line)
    return is_header([name.strip().strip('"') for name in line.decode().split(mark)])


class CsvSource:
    """The rows of a CSV file, block by block. Holds one block of bytes and its columns at a time."""

    def __init__(self, path: Path, separator: str | None = None) -> None:
        self._path = path
        self.separator = separator
        """What separates fields; None until the header is read, where nobody said."""
        self._origin = Origin(str(path), "line", stem(path, Csv.endings))
        self._header: list[str] | None = None
        self._first = 1

    @property
    def name(self) -> str:
        """The path."""
        return self._origin.file

    @property
    def header(self) -> list[str]:
        """The column names; the file is not opened again for them once it has been read."""
        if self._header is None:
            with opened(self._path) as (stream, _):
                self._header, _ = self._begun(stream)
        return self._header

    def _begun(self, stream: BinaryIO) -> tuple[list[str], bytes]:
        """The header, once it is known what separates its names, and the bytes read beyond it."""
        data = _first_bytes(stream)
        if (said := SAID.match(data)) is not None:
            self.separator, self._first, data = self.separator or said[1].decode(), 2, data[said.end() :]
        if self.separator is None:
            self.separator = _separator(data)
        return _header(self._path, data, self.separator)

    def batches(self, columns: ColumnNames) -> Iterator[Batch]:
        """The rows, all values as text."""
        path = self._path
        with opened(path) as (stream, raw):
            total = path.stat().st_size
            header, data = self._begun(stream)
            separator = self.separator or SEPARATORS[0]
            self._header = header
            found = columns.find(self.name, header)
            line = 1 + self._first + sum(name.count("\n") for name in header)
            while True:
                more = stream.read(BLOCK)
                if not more and data and not data.endswith(b"\n"):
                    data += b"\n"
                if b"\r" in data:
                    data = data.replace(b"\r\n", b"\n")
                used = data.rfind(b"\n") + 1
                frame = _plain_frame(data[:used], line, len(header), columns, found, separator)
                if frame is not None:
                    yield Batch(self._origin, frame, (), raw.tell(), total)
                    if not more:
                        return
                    line += frame.height
                    data = data[used:] + more
                    continue
                rows = _split(data, line, header, separator, final=not more)
                if rows.used == 0 and len(data) > LONGEST_ROW:
                    raise DataError(
                        f"{path}, line {line}: the row is longer than a megabyte; is this a table of readings?"
                    )
                yield Batch(self._origin, _frame(path, data, rows, found, separator), rows.faults, raw.tell(), total)
                if not more:
                    return
                line += data.count(b"\n", 0, rows.used)
                data = data[rows.used :] + more


def _first_bytes(stream: BinaryIO) -> bytes:
    data = stream.read(LONGEST_ROW)
    if len(data) < LONGEST_ROW and not data.endswith(b"\n"):
        data += b"\n"  # the whole file, and its last line has no end
    return data.removeprefix(BYTE_ORDER_MARK).replace(b"\r\n", b"\n")


def _separator(data: bytes) -> str:
    """The one that the first line has most of, outside quotes; of equals the first."""
    line = QUOTED.sub(b"", data.split(b"\n", 1)[0])
    return max(SEPARATORS, key=lambda mark: line.count(mark.encode()))


def _header(path: Path, data: bytes, separator: str) -> tuple[list[str], bytes]:
    """The column names, and the bytes beyond them."""
    match = _record(separator).match(data)
    if match is None or not match.group().strip():
        raise DataError(
            f"{path}, line 1: there is no header; the first line must name the columns, separated by commas"
        )
    try:
        text = match.group().decode()
    except UnicodeDecodeError:
        raise DataError(f"{path}, line 1: the header is not UTF-8; save the file as UTF-8") from None
    try:
        return next(csv.reader([text.removesuffix("\n")], delimiter=separator, strict=False)), data[match.end() :]
    except csv.Error:
        raise DataError(
            f"{path}, line 1: the header has a carriage return in mid-line; save the file with the line ends of Unix "
            "or Windows"
        ) from None


@dataclass(frozen=True)
class _Rows:
    """Where the sound rows of a block start and end, their lines, and what is wrong with the others."""

    starts: Offsets
    ends: Offsets
    lines: Offsets
    used: int
    faults: list[Fault] = field(default_factory=list)


def _split(data: bytes, line: int, header: list[str], separator: str, *, final: bool) -> _Rows:
    """Cut a block into rows; blank lines are not rows, and an unfinished row at the end waits for the next block."""
    text = np.frombuffer(data, dtype=np.uint8)
    newlines = np.flatnonzero(text == ord("\n"))
    if b'"' in data:
        starts, ends, fields = _quoted_rows(data, separator, final=final)
    else:
        ends = newlines + 1
        starts = np.concatenate([[0], ends[:-1]]).astype(np.int64) if len(ends) else ends
        marks = np.flatnonzero(text == ord(separator))
        fields = np.searchsorted(marks, ends) - np.searchsorted(marks, starts) + 1
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
        rows = _utf8_only(data, rows, header, separator)
    return rows


def _plain_frame(
    text: bytes, line: int, fields: int, columns: ColumnNames, found: dict[str, int], separator: str
) -> pl.DataFrame | None:
    """The columns of whole lines among which nothing is odd, as among nearly all; otherwise None: look at each.

    Nothing odd: no quotes, blank lines, short or long rows, and UTF-8; where numbers are asked for, all are numbers.
    """
    if not text or fields == 1 or b'"' in text or b"\r" in text or not _utf8(text):
        return None
    plain = np.frombuffer(text, dtype=np.uint8)  # counted as an array, in a sixth of the time of bytes.count
    height = int(np.count_nonzero(plain == ord("\n")))
    if int(np.count_nonzero(plain == ord(separator))) != height * (fields - 1):
        return None
    kinds = columns.kinds()
    typed = {place for role, place in found.items() if columns.numbers and kinds[role] == "degrees"}
    schema = {f"column_{k + 1}": pl.Float64 if k in typed else pl.String for k in range(fields)}
    try:
        # All columns, because polars then refuses rows that are too long; and if none is, by the count none is short.
        table = pl.read_csv(text, has_header=False, schema=schema, separator=separator, quote_char=None)
    except pl.exceptions.PolarsError:
        return None
    roles = {role: table[:, place] for role, place in found.items()}
    if table.height != height or any(not roles[role].is_finite().all() for role in found if found[role] in typed):
        return None
    return pl.DataFrame({"number": np.arange(line, line + height), **roles})


def _utf8(text: bytes) -> bool:
    try:
        return text.isascii() or bool(text.decode())
    except UnicodeDecodeError:
        return False


def _quoted_rows(data: bytes, separator: str, *, final: bool) -> tuple[Offsets, Offsets, Offsets]:
    """Starts, ends and numbers of fields where fields may be quoted and hold line breaks; 0 fields: a stray quote."""
    starts, ends, fields = [], [], []
    place, row = 0, _record(separator)
    while place < len(data):
        match = row.match(data, place)
        if match is not None:
            end = match.end()
            count = _count_fields(match.group(), separator)
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


def _count_fields(record: bytes, separator: str) -> int:
    return (QUOTED.sub(b"", record) if b'"' in record else record).count(separator.encode()) + 1


def _misshapen(record: bytes, line: int, fields: int, header: list[str]) -> Fault:
    text = record.decode(errors="replace").removesuffix("\n")
    if fields == 0:
        return Fault(line, None, text, "has a quote that is not closed, or that stands inside a field")
    return Fault(line, None, text, f"has {fields} field{'s' * (fields != 1)} where the header has {len(header)}")


def _utf8_only(data: bytes, rows: _Rows, header: list[str], separator: str) -> _Rows:
    """The same rows without those that are not UTF-8."""
    sound = np.ones(len(rows.starts), dtype=bool)
    faults = list(rows.faults)
    for k, (start, end) in enumerate(zip(rows.starts.tolist(), rows.ends.tolist(), strict=True)):
        record = data[start:end]
        try:
            record.decode()
        except UnicodeDecodeError:
            sound[k] = False
            text = record.decode(errors="replace").replace("\r", " ")  # in mid-line it would end the row for csv
            values = next(csv.reader([text], delimiter=separator))
            place = next((k for k, value in enumerate(values) if "\ufffd" in value), 0)
            faults.append(Fault(int(rows.lines[k]), header[place], values[place].rstrip("\n"), "is not UTF-8"))
    return _Rows(rows.starts[sound], rows.ends[sound], rows.lines[sound], rows.used, faults)


def _frame(path: Path, data: bytes, rows: _Rows, found: dict[str, int], separator: str) -> pl.DataFrame:
    """The columns that are read, as text, under the names of their roles, with the line of each row."""
    if not len(rows.starts):
        return pl.DataFrame(schema={"number": pl.Int64, **dict.fromkeys(found, pl.String)})
    whole = int((rows.ends - rows.starts).sum()) == rows.used
    spans = zip(rows.starts.tolist(), rows.ends.tolist(), strict=True)
    text = data[: rows.used] if whole else b"".join(data[start:end] for start, end in spans)
    wanted = sorted(set(found.values()))
    try:
        table = pl.read_csv(
            text,
            has_header=False,
            infer_schema=False,
            separator=separator,
            columns=wanted,
            quote_char='"' if b'"' in text else None,
        )
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{path}: cannot be read as CSV: {str(error).splitlines()[0]}") from None
    if table.height != len(rows.lines):
        raise DataError(f"{path}: {len(rows.lines)} rows were found but {table.height} read; check its quotes")
    roles = {role: table[:, wanted.index(place)] for role, place in found.items()}
    return pl.DataFrame({"number": rows.lines, **roles})
