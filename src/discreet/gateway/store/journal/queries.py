"""The journal's queries: the same in SQLite and in PostgreSQL, and what a row is in their tables."""

from __future__ import annotations

import datetime as dt
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from discreet.gateway.store.database import DAMAGE, is_damaged
from discreet.gateway.store.journal.base import CHECKPOINTS_KEPT, Head, JournalError, JournalRow, Key, output_of

FIELDS = "person, date, slot, ends, stream, position, output, kernel, likelihood, chain"

INSERTED = f"INSERT INTO output ({FIELDS}) VALUES ({', '.join('?' * (FIELDS.count(',') + 1))})"

STREAM_INSERTED = "INSERT INTO stream (stream, person, start, first, why) VALUES (?, ?, ?, ?, ?)"

STREAMS = "SELECT stream, person, start, first, why FROM stream"

ROWS = f"SELECT {FIELDS} FROM output ORDER BY person, date, slot"

CHECKPOINTS = "SELECT stream, position, text FROM checkpoint"

PAGE = 1000

T = TypeVar("T")


class JournalTables(NamedTuple):
    """All of a journal, as another database takes it: the rows may be read as they are written."""

    streams: Iterable[tuple[Any, ...]]
    rows: Iterable[tuple[Any, ...]]
    checkpoints: Iterable[tuple[Any, ...]]


def batched(rows: Iterable[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    """A page of them at a time."""
    left = iter(rows)
    while some := list(islice(left, PAGE)):
        yield some


class SqlJournal(ABC):
    """A journal in tables of one form; a database says how it reads, writes, and numbers a stream. `?` is a value."""

    @property
    @abstractmethod
    def _name(self) -> object:
        """How errors call the database."""

    @abstractmethod
    def _read(self, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """The rows of a query."""

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[Any]:
        """What runs statements (`execute`, `executemany`) that are all done when the block ends, or none."""

    @abstractmethod
    def _new_stream(self, run: Any, values: tuple[Any, ...]) -> int:
        """Write a stream of (person, start, first, why); its number."""

    def begin(self, person: str, start: dt.date, first: int, why: str, checkpoint: str = "") -> Head:
        """Begin a stream."""
        with self._transaction() as run:
            stream = self._new_stream(run, (person, start.isoformat(), first, why))
            if checkpoint:
                run.execute("INSERT INTO checkpoint VALUES (?, ?, ?)", (stream, first, checkpoint))
            return Head(stream, person, start, first, why)

    def heads(self, person: str) -> list[Head]:
        """All streams of a person, the first first."""
        found = self._read(
            "SELECT stream, person, start, first, why FROM stream WHERE person = ? ORDER BY stream", (person,)
        )
        return heads_of(found, self._name)

    def head(self, person: str) -> Head | None:
        """The person's latest stream."""
        return next(reversed(self.heads(person)), None)

    def append(self, rows: Sequence[JournalRow], checkpoints: Sequence[tuple[int, int, str]] = ()) -> None:
        """Write rows and checkpoints in one transaction."""
        with self._transaction() as run:
            run.executemany(INSERTED, [fields(row) for row in rows])
            for stream, position, text in checkpoints:
                run.execute(
                    "INSERT INTO checkpoint VALUES (?, ?, ?)"
                    " ON CONFLICT (stream, position) DO UPDATE SET text = excluded.text",
                    (stream, position, text),
                )
                run.execute(
                    "DELETE FROM checkpoint WHERE stream = ? AND position NOT IN"
                    " (SELECT position FROM checkpoint WHERE stream = ? ORDER BY position DESC LIMIT ?)",
                    (stream, stream, CHECKPOINTS_KEPT),
                )

    def set_aside(self, person: str, after: int) -> None:
        """Take the rows of a person out that end after an instant."""
        with self._transaction() as run:
            run.execute("DELETE FROM output WHERE person = ? AND ends > ?", (person, after))
            run.execute(
                "DELETE FROM checkpoint WHERE stream IN (SELECT stream FROM stream WHERE person = ?) AND position"
                " > 1 + coalesce((SELECT max(position) FROM output WHERE output.stream = checkpoint.stream), position)",
                (person,),
            )

    def last(self, person: str) -> JournalRow | None:
        """The person's last decided slot."""
        return next(iter(self.latest(person, 1)), None)

    def latest(self, person: str, count: int) -> list[JournalRow]:
        """The person's last decided slots, in order."""
        found = self._read(
            f"SELECT {FIELDS} FROM output WHERE person = ? ORDER BY date DESC, slot DESC LIMIT ?", (person, count)
        )
        return rows_of(reversed(found), self._name)

    def of_stream(self, stream: int, after: int = -1) -> list[JournalRow]:
        """The rows of a stream with a position above `after`, in order."""
        found = self._read(
            f"SELECT {FIELDS} FROM output WHERE stream = ? AND position > ? ORDER BY position", (stream, after)
        )
        return rows_of(found, self._name)

    def checkpoints(self, stream: int) -> list[tuple[int, str]]:
        """The checkpoints of a stream, the last first."""
        found = self._read("SELECT position, text FROM checkpoint WHERE stream = ? ORDER BY position DESC", (stream,))
        return [(position, text) for position, text in found]

    def page(
        self,
        person: str,
        *,
        after: Key | None = None,
        until: Key | None = None,
        limit: int = PAGE,
    ) -> list[JournalRow]:
        """Rows after one key up to another, in order."""
        low = ("", -1) if after is None else (after[0].isoformat(), after[1])
        high = ("9999-12-31", 0) if until is None else (until[0].isoformat(), until[1])
        found = self._read(
            f"SELECT {FIELDS} FROM output WHERE person = ? AND (date, slot) > (?, ?) AND (date, slot) <= (?, ?)"
            " ORDER BY date, slot LIMIT ?",
            (person, *low, *high, limit),
        )
        return rows_of(found, self._name)

    def all_rows(self, person: str) -> Iterator[JournalRow]:
        """Every row of a person, in order."""
        rows = self.page(person)
        while rows:
            yield from rows
            rows = self.page(person, after=rows[-1].key)

    def people(self) -> list[str]:
        """Everybody of whom something was decided."""
        return sorted(person for (person,) in self._read("SELECT DISTINCT person FROM stream", ()))

    def mark(self) -> str | None:
        """What a backup says of itself."""
        found = self._read("SELECT text FROM mark", ())
        return found[0][0] if found else None

    def set_mark(self, text: str | None) -> None:
        """Mark the journal, or take the mark away."""
        with self._transaction() as run:
            run.execute("DELETE FROM mark")
            if text is not None:
                run.execute("INSERT INTO mark VALUES (?)", (text,))


def fields(row: JournalRow) -> tuple[object, ...]:
    """The row's fields, in the order of FIELDS."""
    return (
        row.person,
        row.date.isoformat(),
        row.slot,
        row.ends,
        row.stream,
        row.position,
        row.wire,
        row.kernel,
        zlib.compress(np.array(row.column, dtype="<f8").tobytes(), 1),
        row.chain,
    )


def rows_of(found: Iterable[tuple[Any, ...]], where: object) -> list[JournalRow]:
    """The rows of their fields; bits that are not as they were written are an error that names where they stand."""
    return _read(_row, found, where)


def heads_of(found: Iterable[tuple[Any, ...]], where: object) -> list[Head]:
    """The heads of (stream, person, start, first, why), likewise."""
    return _read(_head, found, where)


def _read(one_of: Callable[[tuple[Any, ...]], T], found: Iterable[tuple[Any, ...]], where: object) -> list[T]:
    try:
        return [one_of(one) for one in found]
    except DAMAGE as error:
        raise JournalError(is_damaged(where, error)) from error


def _row(found: tuple[Any, ...]) -> JournalRow:
    person, date, slot, ends, stream, position, output, kernel, column, chain = found
    values = tuple(np.frombuffer(zlib.decompress(column), dtype="<f8").tolist())
    return JournalRow(
        person, dt.date.fromisoformat(date), slot, ends, stream, position, output_of(output), kernel, values, chain
    )


def _head(found: tuple[Any, ...]) -> Head:
    stream, person, start, first, why = found
    return Head(stream, person, dt.date.fromisoformat(start), first, why)
