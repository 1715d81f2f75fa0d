"""Records: what one message says, and a file of messages as a source.

A format of messages parses each by itself, so that a file of them and a gateway that receives them one by one share the
parser. A format that is faster with a whole file at once may have a source of its own.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import polars as pl

from discreet.data.columns import ColumnNames, Kind
from discreet.data.instants import SECOND
from discreet.data.source import Batch, Fault, Format, Origin
from discreet.data.streams import opened
from discreet.errors import DataError

BATCH = 50_000
"""Records at a time."""

LONGEST = 1 << 20
"""A line of more bytes is no message."""


@dataclass(frozen=True, slots=True)
class Record:
    """What one message says of somebody: a position in degrees, a context, or both, at a time or from it to an end."""

    timestamp: dt.datetime
    end: dt.datetime | None = None
    user: str | None = None
    context: str | None = None
    latitude: float | None = None
    longitude: float | None = None
    accuracy: float | None = None
    """Metres."""

    def __post_init__(self) -> None:
        for name in ("timestamp", "end"):
            stamp = getattr(self, name)
            if stamp is not None and stamp.tzinfo is None:
                raise DataError(
                    f"{name} {stamp} of a record has no time zone; a parser must say which, or give a Fault"
                )


Parsed = Record | Fault | None
"""A record; what is wrong with the message; or nothing, for a kind of message that holds neither place nor context."""


class MessageFormat(Format, Protocol):
    """A format whose files are made of messages."""

    def parse(self, message: bytes) -> Parsed:
        """What one message says. Unknown fields never fail it; the number of a fault is set by the source."""


def by_line(parse: Callable[[bytes], Parsed]) -> Callable[[BinaryIO], Iterator[tuple[int, Parsed]]]:
    """How to read a file with a message a line; blank lines are none, and one without an end is a fault."""

    def numbered(stream: BinaryIO) -> Iterator[tuple[int, Parsed]]:
        for number in count(1):
            line = stream.readline(LONGEST)
            if not line:
                return
            if len(line) == LONGEST and not line.endswith(b"\n"):
                yield number, Fault(number, None, line[:80].decode(errors="replace"), "is too long for a message")
                while (line := stream.readline(LONGEST)) and not line.endswith(b"\n"):
                    pass
            elif line.strip():
                yield number, parse(line)

    return numbered


class RecordSource:
    """The records of one file, some at a time.

    `holds` names the roles that such records can have; `records` numbers what it parses from the stream of bytes. Of
    the `columns` asked for only the roles count: what a record's fields are called is the format's business. Records
    that lack a role are passed over and counted: a log may mix positions with much else.
    """

    def __init__(
        self,
        path: Path,
        person: str,
        holds: Sequence[str],
        records: Callable[[BinaryIO], Iterator[tuple[int, Parsed]]],
        *,
        unit: str = "line",
    ) -> None:
        self._path, self._records = path, records
        self._origin = Origin(str(path), unit, person)
        self.header = tuple(holds)

    @property
    def name(self) -> str:
        """The path."""
        return self._origin.file

    def batches(self, columns: ColumnNames) -> Iterator[Batch]:
        """The rows, batch by batch."""
        self._check(columns)
        rows = passed_over = 0
        with opened(self._path, empty=True) as (stream, raw):
            total = self._path.stat().st_size
            parsed = self._records(stream)
            while some := list(islice(parsed, BATCH)):
                batch = self._batch(some, columns, raw.tell(), total)
                rows, passed_over = rows + batch.rows, passed_over + batch.passed_over
                yield batch
        if not rows:
            raise DataError(
                f"{self.name}: holds no {columns.one_row}, and {passed_over} records of something else; "
                "check that this is the right file"
            )

    def _check(self, columns: ColumnNames) -> None:
        """Refuse roles that no record has; whose a record is, the origin can tell."""
        for role in columns.names():
            if role != "user" and _field(role) not in self.header:
                raise DataError(
                    f"{self.name}: there is no {role} in such a file, only {', '.join(self.header)}; "
                    "ask for columns that it has, such as PositionColumns() of positions"
                )

    def _batch(self, some: list[tuple[int, Parsed]], columns: ColumnNames, done: int, total: int) -> Batch:
        fields = {role: _field(role) for role in columns.names() if role != "user"}
        read = attrgetter("user", *fields.values())
        numbers: list[int] = []
        rows: list[tuple[object, ...]] = []
        faults = []
        for number, parsed in some:
            if isinstance(parsed, Fault):
                faults.append(replace(parsed, number=number))
            elif parsed is not None and None not in (row := read(parsed))[1:]:
                numbers.append(number)
                rows.append(row)
        users, *values = zip(*rows, strict=True) if rows else [()] * (1 + len(fields))
        kinds = columns.kinds()
        frame = pl.DataFrame({"number": pl.Series(numbers, dtype=pl.Int64)}).with_columns(
            _series(held, kinds[role]).alias(role) for role, held in zip(fields, values, strict=True)
        )
        if columns.user is not None:
            frame = frame.with_columns(user=_series([user or self._origin.person for user in users], "text"))
        return Batch(self._origin, frame, faults, done, total, len(some) - len(rows) - len(faults))


def _series(values: Sequence[Any], kind: Kind) -> pl.Series:
    """Values of records as a column; times by way of seconds, which are quick and exact to the microsecond."""
    if kind == "time":
        seconds = pl.Series([stamp.timestamp() for stamp in values], dtype=pl.Float64)
        return (seconds * SECOND).round().cast(pl.Int64).cast(pl.Datetime("us", "UTC"))
    return pl.Series(values, dtype=pl.String if kind == "text" else pl.Float64)


def _field(role: str) -> str:
    """The field of a record that a role is read from: an interval starts at the record's time."""
    return "timestamp" if role == "start" else role
