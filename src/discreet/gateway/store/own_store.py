"""The person's own store: readings, private state, and what was true. Never beside what was released.

`stamp` has one row a person: the slot that is being decided, its context, the private state before it, and the random
bits that it is drawn from. It is on disk before anything is drawn, so a slot that was interrupted is decided again from
the same context and the same bits, whatever was read since: drawing anew until something looks right would be rejection
sampling. When the public row is written the bits are erased, and the private state after the slot takes their place.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from discreet.gateway.store.database import (
    DAMAGE,
    RAW,
    WAIT,
    SqliteFile,
    copied,
    is_damaged,
)
from discreet.gateway.store.journal.base import JournalError
from discreet.live.standing import Reading as Reading

SCHEMA = (
    """
    CREATE TABLE reading (
        person TEXT NOT NULL, source TEXT NOT NULL, instant INTEGER NOT NULL,
        latitude REAL, longitude REAL, accuracy REAL, label TEXT,
        PRIMARY KEY (person, source, instant)
    ) WITHOUT ROWID;
    CREATE INDEX reading_by_time ON reading (person, instant);
    CREATE TABLE stamp (
        person TEXT PRIMARY KEY, stream INTEGER NOT NULL, position INTEGER NOT NULL,
        context TEXT NOT NULL, before INTEGER, bits BLOB, after INTEGER
    ) WITHOUT ROWID;
    CREATE TABLE truth (
        person TEXT NOT NULL, date TEXT NOT NULL, slot INTEGER NOT NULL, context TEXT NOT NULL,
        PRIMARY KEY (person, date, slot)
    ) WITHOUT ROWID;
    """,
    """
    CREATE TABLE habits (
        person TEXT NOT NULL, stream INTEGER NOT NULL, number INTEGER NOT NULL, date TEXT NOT NULL,
        model BLOB NOT NULL, policy TEXT NOT NULL, position INTEGER NOT NULL, private INTEGER,
        PRIMARY KEY (person, stream, number)
    ) WITHOUT ROWID;
    """,
    """
    CREATE TABLE why (
        person TEXT NOT NULL, date TEXT NOT NULL, slot INTEGER NOT NULL, facts TEXT NOT NULL,
        PRIMARY KEY (person, date, slot)
    ) WITHOUT ROWID;
    """,
    """
    ALTER TABLE reading ADD COLUMN since INTEGER;
    """,
    """
    CREATE TABLE colour (
        person TEXT NOT NULL, name TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (person, name)
    ) WITHOUT ROWID;
    """,
    """
    CREATE TABLE pause (
        person TEXT NOT NULL, first TEXT NOT NULL, last TEXT NOT NULL, PRIMARY KEY (person, first)
    ) WITHOUT ROWID;
    """,
)

T = TypeVar("T")

RETENTION = dt.timedelta(days=30)

FIELDS = "(?, ?, ?, ?, ?, ?, ?, ?)"
"""Of a reading."""

SAME_INSTANT = """
    ON CONFLICT (person, source, instant) DO UPDATE SET latitude = excluded.latitude, longitude = excluded.longitude,
        accuracy = excluded.accuracy, label = excluded.label, since = excluded.since
    WHERE excluded.label > ifnull(reading.label, '')
"""
TABLES = ("reading", "stamp", "truth", "why", "habits", "colour", "pause")
"""What is kept by person."""

WIDTH = 64
"""Bytes of a context in the file, or a multiple of it."""

ROWS = 512
"""Readings of one statement, at most."""


@dataclass(frozen=True)
class Stamp:
    """A slot that is being decided (`bits`), or was the last to be (`after`)."""

    person: str
    stream: int
    position: int
    context: str
    before: int | None
    bits: bytes | None
    after: int | None = None


@dataclass(frozen=True)
class KeptHabits:
    """What a stream is of from a date on: a model's file, a policy as text (`changes`)."""

    person: str
    stream: int
    number: int
    date: dt.date
    model: bytes
    policy: str
    position: int
    private: int | None


class OwnStore(SqliteFile):
    """One file, for the person's side alone. A slot that is settled does not wait for readings that are written."""

    undone = "nothing was decided"

    def __init__(self, path: Path, *, look: bool = False) -> None:
        """`look` is for a process beside the keeper's: it makes nothing and locks nobody out."""
        super().__init__(path, SCHEMA, "own store", look=look)

    def read(self, readings: Sequence[Reading]) -> int:
        """Keep readings, in one transaction: how many are new. What is there already changes nothing.

        Of what a source says of one instant the last by label is kept, whichever came first (`live.standing`).
        """
        with self._transaction() as run:
            before = run.total_changes
            for some in _in_powers_of_two(readings):
                values = [value for one in some for value in _fields(one)]
                run.execute(f"INSERT INTO reading VALUES {', '.join([FIELDS] * len(some))} {SAME_INSTANT}", values)
            return run.total_changes - before

    def readings(self, person: str, since: int, until: int | None = None) -> list[Reading]:
        """A person's readings from one instant to before another, in order."""
        found = self._read(
            "SELECT * FROM reading WHERE person = ? AND instant >= ? AND instant < ? ORDER BY instant, source",
            (person, since, 2**62 if until is None else until),
        )
        return self._made(_reading, found)

    def position_before(self, person: str, source: str, instant: int) -> Reading | None:
        """The source's last position of a person at that instant or before it."""
        found = self._read(
            "SELECT * FROM reading WHERE person = ? AND source = ? AND instant <= ? AND latitude IS NOT NULL"
            " ORDER BY instant DESC LIMIT 1",
            (person, source, instant),
        )
        return next(iter(self._made(_reading, found)), None)

    def heard(self, person: str, since: int) -> list[tuple[str, int, int, int | None]]:
        """Of each source since an instant: its last reading, how many there are, and the longest time between two."""
        found = self._read(
            "SELECT source, max(instant), count(*), max(gap) FROM (SELECT source, instant,"
            " instant - lag(instant) OVER (PARTITION BY source ORDER BY instant) AS gap"
            " FROM reading WHERE person = ? AND instant >= ?) GROUP BY source",
            (person, since),
        )
        return [(source, last, count, gap) for source, last, count, gap in found]

    def stamp(self, stamps: Iterable[Stamp]) -> None:
        """Write what is about to be drawn; each takes the place of the person's last."""
        with self._transaction() as run:
            run.executemany(
                "INSERT OR REPLACE INTO stamp VALUES (?, ?, ?, ?, ?, ?, ?)",
                ((s.person, s.stream, s.position, _padded(s.context), s.before, s.bits, s.after) for s in stamps),
            )

    def settle(self, done: Iterable[tuple[Stamp, dt.date, int, int | None]]) -> None:
        """After the public rows: erase the bits, keep the private state after the slot, and what was true in it."""
        every = list(done)
        with self._transaction() as run:
            run.executemany(
                "UPDATE stamp SET bits = NULL, after = ? WHERE person = ? AND stream = ? AND position = ?",
                ((after, stamp.person, stamp.stream, stamp.position) for stamp, _, _, after in every),
            )
            run.executemany(
                "INSERT OR REPLACE INTO truth VALUES (?, ?, ?, ?)",
                ((stamp.person, date.isoformat(), slot, _padded(stamp.context)) for stamp, date, slot, _ in every),
            )
        self._empty_log()  # the bits are in it until then, and whoever has them knows what was drawn

    def keep_habits(self, one: KeptHabits) -> None:
        """Write down what a stream is of from a date on."""
        with self._transaction() as run:
            run.execute(
                "INSERT INTO habits VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    one.person,
                    one.stream,
                    one.number,
                    one.date.isoformat(),
                    one.model,
                    one.policy,
                    one.position,
                    one.private,
                ),
            )

    def drop_habits(self, person: str, stream: int, number: int) -> None:
        """Take back a change that was never confirmed."""
        with self._transaction() as run:
            run.execute("DELETE FROM habits WHERE person = ? AND stream = ? AND number = ?", (person, stream, number))

    def habits(self, person: str, stream: int) -> list[KeptHabits]:
        """What a stream was of, the first first."""
        found = self._read("SELECT * FROM habits WHERE person = ? AND stream = ? ORDER BY number", (person, stream))
        return self._made(_habits, found)

    def stamped(self, person: str) -> Stamp | None:
        """The person's last stamp."""
        found = self._read("SELECT * FROM stamp WHERE person = ?", (person,))
        return next(iter(self._made(_stamp, found)), None)

    def truth(self, person: str, date: dt.date) -> dict[int, str]:
        """What was true in each slot of a date, as far as it is kept."""
        found = self._read("SELECT slot, context FROM truth WHERE person = ? AND date = ?", (person, date.isoformat()))
        return dict(self._made(lambda slot, context: (int(slot), _plain(context)), found))

    def keep_why(self, every: Iterable[tuple[str, dt.date, int, str]]) -> None:
        """Keep why something else was told than the truth: person, date, slot, and the facts as JSON (`silences`)."""
        with self._transaction() as run:
            run.executemany(
                "INSERT OR REPLACE INTO why VALUES (?, ?, ?, ?)",
                ((person, date.isoformat(), slot, facts) for person, date, slot, facts in every),
            )

    def why(self, person: str, date: dt.date) -> dict[int, str]:
        """The facts of each slot of a date in which something else was told than the truth, as far as they are kept."""
        return dict(self._read("SELECT slot, facts FROM why WHERE person = ? AND date = ?", (person, date.isoformat())))

    def keep_colours(self, person: str, numbers: Mapping[str, int]) -> None:
        """Keep which colour each place is drawn in on the owner's page, by its number; what is there stays."""
        with self._transaction() as run:
            every = [(person, name, number) for name, number in numbers.items()]
            run.executemany("INSERT OR IGNORE INTO colour VALUES (?, ?, ?)", every)

    def colours(self, person: str) -> dict[str, int]:
        """The number of each place's colour."""
        return dict(self._read("SELECT name, number FROM colour WHERE person = ? ORDER BY number", (person,)))

    def keep_pauses(self, person: str, pauses: Iterable[tuple[dt.date, dt.date]]) -> None:
        """Keep a person's pauses, first and last date of each, instead of those that were kept."""
        with self._transaction() as run:
            run.execute("DELETE FROM pause WHERE person = ?", (person,))
            every = [(person, first.isoformat(), last.isoformat()) for first, last in pauses]
            run.executemany("INSERT INTO pause VALUES (?, ?, ?)", every)

    def pauses(self, person: str) -> list[tuple[dt.date, dt.date]]:
        """A person's pauses, the first first."""
        found = self._read("SELECT first, last FROM pause WHERE person = ? ORDER BY first", (person,))
        return self._made(lambda first, last: (dt.date.fromisoformat(first), dt.date.fromisoformat(last)), found)

    def forget(self, now: dt.datetime, retention: dt.timedelta = RETENTION) -> int:
        """Erase readings, truth, and why it was withheld, that are older than the retention; how many rows went."""
        edge = now - retention
        with self._transaction() as run:
            before = run.total_changes
            run.execute("DELETE FROM reading WHERE instant < ?", (int(edge.timestamp() * 1_000_000),))
            for table in ("truth", "why"):
                run.execute(f"DELETE FROM {table} WHERE date < ?", (edge.date().isoformat(),))
            gone = run.total_changes - before
        if gone:
            self._empty_log()
        return gone

    def people(self) -> list[str]:
        """Everybody of whom something is kept."""
        asked = " UNION ".join(f"SELECT person FROM {table}" for table in TABLES)
        return sorted(self._made(str, self._read(asked, ())))

    def erase(self, person: str) -> None:
        """Erase all that is kept of a person. The next slot is then a skip: memory is lost, and an observer knows."""
        with self._transaction() as run:
            for table in TABLES:
                run.execute(f"DELETE FROM {table} WHERE person = ?", (person,))
        self._empty_log()

    def erase_past(self, person: str) -> None:
        """Erase a person's readings, and what was true and why it was withheld; decisions go on as they were.

        The slot that is under way is decided by what is heard from now on.
        """
        with self._transaction() as run:
            for table in ("reading", "truth", "why"):
                run.execute(f"DELETE FROM {table} WHERE person = ?", (person,))
        self._empty_log()

    def forget_stamp(self, person: str) -> None:
        """Erase a stamp of a stream that ended with a break: its private state is no other stream's."""
        with self._transaction() as run:
            run.execute("DELETE FROM stamp WHERE person = ?", (person,))

    def backup(self, path: Path) -> None:
        """A consistent copy, while running."""
        with self._writing:
            copied(self._writes, path)

    def _empty_log(self) -> None:
        """What was erased is not in the write-ahead log either.

        Whoever reads just now, such as a backup, is not waited for: a slot may be due. The next slot tries again.
        """
        with self._writing:
            try:
                self._writes.execute("PRAGMA busy_timeout = 0")
                self._writes.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                self._writes.execute(f"PRAGMA busy_timeout = {int(WAIT * 1000)}")
            except RAW as error:
                raise JournalError(f"{self.path}: cannot be written: {error}; nothing was decided") from error

    def _made(self, make: Callable[..., T], found: Iterable[tuple[Any, ...]]) -> list[T]:
        try:
            return [make(*one) for one in found]
        except DAMAGE as error:
            raise JournalError(is_damaged(self.path, error)) from error


def _in_powers_of_two(readings: Sequence[Reading]) -> Iterator[Sequence[Reading]]:
    """Runs of `ROWS`, then of half as many, and so on: ten statements, which SQLite prepares once.

    One a reading would let go of the interpreter for each, and wait for the threads that answer to give it back.
    """
    begins, size = 0, ROWS
    while begins < len(readings):
        if size <= len(readings) - begins:
            yield readings[begins : begins + size]
            begins += size
        else:
            size //= 2


def _padded(context: str) -> str:
    """A context as long as any other: how much is written, and when a file grows, must not tell which it was."""
    return context + "\0" * (-len(context.encode()) % WIDTH)


def _plain(context: str) -> str:
    return context.rstrip("\0")


def _stamp(person: str, stream: int, position: int, context: str, *rest: Any) -> Stamp:
    return Stamp(person, int(stream), int(position), _plain(context), *rest)


def _habits(
    person: str, stream: int, number: int, date: str, model: bytes, policy: str, position: int, private: int | None
) -> KeptHabits:
    return KeptHabits(person, stream, number, dt.date.fromisoformat(date), model, policy, position, private)


def _fields(one: Reading) -> tuple[object, ...]:
    latitude, longitude = one.position or (None, None)
    return one.person, one.source, one.instant, latitude, longitude, one.accuracy, one.label, one.since


def _reading(
    person: str,
    source: str,
    instant: int,
    latitude: float | None,
    longitude: float | None,
    accuracy: float | None,
    label: str | None,
    since: int | None,
) -> Reading:
    position = None if latitude is None or longitude is None else (latitude, longitude)
    return Reading(person, source, instant, position, accuracy, label, since)
