"""What a log says of somebody, as plain tuples: millions of them are made, and a class would cost half of the reading.

A format turns one entry of its files into rows, a `Fault`, or the kind of an entry that holds neither position nor
context, such as a battery's. `Record` is the same for whoever takes one message at a time.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, runtime_checkable

from discreet.data.instants import EPOCH, SECOND
from discreet.data.source import Fault
from discreet.errors import DataError

if TYPE_CHECKING:
    import polars as pl

Row = tuple[str | None, int, float | None, float | None, float | None, str | None]
"""Whose (None: the log does not say), instant in microseconds, latitude, longitude, accuracy in metres, context."""


@dataclass(frozen=True)
class Alike:
    """Rows as columns, of entries that each make one: quicker than one by one, where nothing is odd."""

    numbers: Sequence[int] | pl.Series
    users: Sequence[str | None] | pl.Series
    instants: Sequence[int] | pl.Series
    latitudes: Sequence[float | None] | pl.Series
    longitudes: Sequence[float | None] | pl.Series
    accuracies: Sequence[float | None] | pl.Series
    contexts: Sequence[str | None] | pl.Series


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

EntryContent = Row | Fault | str
"""A row, what is wrong with an entry, or the kind of an entry that says neither where nor what."""

AWAY = "away"
"""The context of somebody who left a place and is said to be nowhere else."""

STEP = 30 * 60 * SECOND
"""A stay is written as a row at its start, one every half hour, and one a second before its end."""

_WAYS = (
    "biking boating bus car cycling driving ferry flying hiking kayaking motorcycling moving running sailing skating"
)
MOVING_WORDS = frozenset((*_WAYS.split(), "skiing", "subway", "swimming", "train", "tram", "walking"))
"""What programs call a way along a line; other names are of the track."""

NOWHERE = "visit or movement without a place or a kind"
"""The kind of an entry that says when, and neither where nor what."""

PART = 1000
"""Entries that are sorted at a time."""

LONGEST_STAY = 366 * 86_400 * SECOND

FARTHEST = 2**62 // SECOND
"""Seconds beyond this fit no column of instants."""


class LogFile(Protocol):
    """A file of a log, on disk or in an archive."""

    @property
    def name(self) -> str:
        """What errors call it."""

    @property
    def inner(self) -> PurePath:
        """Its path, in the archive if it is in one, without .gz."""

    def open(self) -> AbstractContextManager[BinaryIO]:
        """Its bytes, decompressed."""

    def on_disk(self) -> AbstractContextManager[Path]:
        """The same as a file with a path, for readers that need one."""


@runtime_checkable
class LogFormat(Protocol):
    """A format of logs; `formats.LOGS` lists those that are known."""

    @property
    def name(self) -> str:
        """A word for it, such as "gpx"."""

    @property
    def unit(self) -> str:
        """What its entries are numbered by."""

    def recognises(self, path: PurePath, head: bytes) -> bool:
        """Whether this is such a file, by its first bytes and, where they do not tell, by its name."""

    def entries(self, file: LogFile) -> Iterator[tuple[int, EntryContent]]:
        """What each entry says, with its number; an entry may have several rows, or none."""


@runtime_checkable
class QuickLog(LogFormat, Protocol):
    """A log that gives most of its entries as columns."""

    def parts(self, file: LogFile) -> Iterator[Alike | list[tuple[int, EntryContent]]]:
        """What `entries` gives, in parts: those that are alike as columns, the odd ones one by one."""


@dataclass(frozen=True)
class Stay:
    """Somewhere, or doing something, from one instant to another."""

    start: int
    end: int

    @classmethod
    def known(cls, start: int | None, end: int | None) -> Stay:
        """One of which the start or the end may not be known: then only the instant that is."""
        known = end if start is None else start
        assert known is not None  # or there is nothing to tell
        return cls(known, known if end is None else end)

    def rows(
        self,
        context: str | None,
        at: tuple[float, float] | None,
        *,
        until: tuple[float, float] | None = None,
        moves: bool = False,
    ) -> Iterator[EntryContent]:
        """Its rows; `until` is where it ends, if that is elsewhere: then only the first and last have a position.

        With `moves` it ends elsewhere even if nobody knows where: then only the first has one.
        """
        if not 0 <= self.end - self.start <= LONGEST_STAY:
            why = "ends before it starts" if self.end < self.start else "lasts longer than a year"
            yield Fault(0, None, stamp_text(self.start), why)
            return
        if context is None and at is None and until is None:
            yield NOWHERE
            return
        last = max(self.end - SECOND, self.start)
        moved = moves or until is not None
        for instant in (*range(self.start, last, STEP), last):
            where = (at if instant == self.start else None) if moved else at
            if until is not None and instant == last:
                where = until
            if context is not None or where is not None:
                latitude, longitude = where if where is not None else (None, None)
                yield None, instant, latitude, longitude, None, context


def stamp_text(instant: int) -> str:
    """An instant as people write it."""
    try:
        return (EPOCH + dt.timedelta(microseconds=instant)).isoformat()
    except OverflowError:
        return str(instant)


def instant_of(text: object, *, utc: bool = False) -> int | None:
    """The instant that ISO 8601 text with an offset means, or with `utc` such text without one; otherwise None."""
    try:
        stamp = dt.datetime.fromisoformat(text)  # type: ignore[arg-type]  # anything else is a TypeError
        if stamp.tzinfo is None:
            if not utc:
                return None
            stamp = stamp.replace(tzinfo=dt.UTC)
        return round(stamp.timestamp() * SECOND)
    except (TypeError, ValueError, OverflowError):
        return None


def instant_of_seconds(seconds: object) -> int | None:
    """The instant of epoch seconds, a number or text of one; otherwise None."""
    if type(seconds) is int and -FARTHEST < seconds < FARTHEST:
        return seconds * SECOND
    value = number_of(seconds)
    return round(value * SECOND) if value is not None and abs(value) < FARTHEST else None


def number_of(value: object) -> float | None:
    """A finite number, or text of one; otherwise None."""
    kind = type(value)
    if kind is float:
        return value if math.isfinite(value) else None  # type: ignore[arg-type, return-value]
    if kind is int or kind is str:
        try:
            found = float(value)  # type: ignore[arg-type]
        except (ValueError, OverflowError):
            return None
        return found if math.isfinite(found) else None
    return None


def inside(value: Any, *keys: str) -> Any:
    """What stands under keys of nested objects, None where one is missing or no object: logs in the wild vary."""
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def words(value: object) -> str | None:
    """Text that is not blank, otherwise None."""
    return value.strip() or None if isinstance(value, str) else None


_NUMBER = r"([-+]?[0-9.]+(?:[eE][-+]?[0-9]{1,3})?)"
_POINT = re.compile(rf"\s*(?:geo:)?\s*{_NUMBER}\s*°?\s*,\s*{_NUMBER}\s*°?\s*(?:;.*)?")


def point_of(text: object) -> tuple[float, float] | None:
    """Latitude and longitude of "48.85°, 2.35°" or "geo:48.85,2.35"; None for anything else."""
    found = _POINT.fullmatch(text) if isinstance(text, str) else None
    pair = (number_of(found[1]), number_of(found[2])) if found else (None, None)
    return None if pair[0] is None or pair[1] is None else (pair[0], pair[1])


def point_of_e7(value: object, latitude: str = "latE7", longitude: str = "lngE7") -> tuple[float, float] | None:
    """Latitude and longitude of an object that holds them in tenths of a millionth of a degree."""
    pair = number_of(inside(value, latitude)), number_of(inside(value, longitude))
    return None if pair[0] is None or pair[1] is None else (pair[0] / 1e7, pair[1] / 1e7)


def shown(value: object, most: int = 80) -> str:
    """A value of any shape as a short text; what is nested a thousand times has none."""
    try:
        return str(value)[:most]
    except RecursionError:
        return "(nested too deep to show)"


def numbered(number: int, contents: Iterable[EntryContent]) -> Iterator[tuple[int, EntryContent]]:
    """What one entry says, with its number."""
    return ((number, one) for one in contents)


def in_parts(entries: Iterator[tuple[int, EntryContent]]) -> Iterator[list[tuple[int, EntryContent]]]:
    """Some entries at a time; those before the file breaks come before the error."""
    some: list[tuple[int, EntryContent]] = []
    try:
        for one in entries:
            some.append(one)
            if len(some) == PART:
                yield some
                some = []
    except Exception:
        yield some
        raise
    yield some


def parsed(content: EntryContent) -> Parsed:
    """A row as a `Record`, for who takes one message at a time; None for a kind of entry that says nothing."""
    if isinstance(content, Fault):
        return content
    if isinstance(content, str):
        return None
    user, instant, latitude, longitude, accuracy, context = content
    try:
        stamp = EPOCH + dt.timedelta(microseconds=instant)
    except OverflowError:
        return Fault(0, None, instant, "is a time in no calendar")
    return Record(stamp, None, user, context, latitude, longitude, accuracy)
