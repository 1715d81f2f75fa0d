"""The journal in SQLite: one file, write-ahead log, a sync for each commit."""

from __future__ import annotations

import datetime as dt
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError
from discreet.gateway.store.database import RAW, RESTORE, Lock, copied, is_damaged, looked_at, opened, shared_file
from discreet.gateway.store.journal.base import CHECKPOINTS_KEPT, Head, JournalError, JournalRow, Key
from discreet.gateway.store.journal.fields import COLUMNS, FIELDS, PAGE, JournalTables, fields, heads_of, rows_of

SCHEMA = (
    """
    CREATE TABLE stream (
        stream INTEGER PRIMARY KEY AUTOINCREMENT,
        person TEXT NOT NULL, start TEXT NOT NULL, first INTEGER NOT NULL, why TEXT NOT NULL
    );
    CREATE INDEX stream_of_person ON stream (person, stream);
    CREATE TABLE output (
        person TEXT NOT NULL, date TEXT NOT NULL, slot INTEGER NOT NULL, ends INTEGER NOT NULL,
        stream INTEGER NOT NULL REFERENCES stream, position INTEGER NOT NULL,
        output TEXT NOT NULL, kernel TEXT NOT NULL, likelihood BLOB NOT NULL, chain BLOB NOT NULL,
        PRIMARY KEY (person, date, slot)
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX output_of_stream ON output (stream, position);
    CREATE TABLE checkpoint (
        stream INTEGER NOT NULL REFERENCES stream, position INTEGER NOT NULL, text TEXT NOT NULL,
        PRIMARY KEY (stream, position)
    ) WITHOUT ROWID;
    CREATE TABLE mark (text TEXT NOT NULL);
    """,
)
"""One script a version of the schema; a file of version k is brought forward by the scripts after the k-th."""


class SqliteJournal:
    """One connection for writing, which is the keeper's; reads have their own, and never wait for it.

    `look` is for a process beside the keeper's: it makes nothing and locks nobody out.
    """

    def __init__(self, path: Path, *, look: bool = False) -> None:
        self.path = path
        self._lock = None if look else Lock(path, "journal")
        try:
            self._writes = looked_at(path, SCHEMA, "journal") if look else opened(path, SCHEMA, "journal")
            self._reads = shared_file(path)
        except DiscreetError:
            self._unlock()
            raise
        self._writing, self._reading = threading.Lock(), threading.Lock()

    def begin(self, person: str, start: dt.date, first: int, why: str, checkpoint: str = "") -> Head:
        """Begin a stream."""
        with self._transaction() as run:
            made = run.execute(
                "INSERT INTO stream (person, start, first, why) VALUES (?, ?, ?, ?)",
                (person, start.isoformat(), first, why),
            )
            stream = int(made.lastrowid or 0)
            if checkpoint:
                run.execute("INSERT INTO checkpoint VALUES (?, ?, ?)", (stream, first, checkpoint))
            return Head(stream, person, start, first, why)

    def heads(self, person: str) -> list[Head]:
        """All streams of a person, the first first."""
        found = self._read(
            "SELECT stream, person, start, first, why FROM stream WHERE person = ? ORDER BY stream", (person,)
        )
        return heads_of(found, self.path)

    def head(self, person: str) -> Head | None:
        """The person's latest stream."""
        return next(reversed(self.heads(person)), None)

    def append(self, rows: Sequence[JournalRow], checkpoints: Sequence[tuple[int, int, str]] = ()) -> None:
        """Write rows and checkpoints in one transaction."""
        with self._transaction() as run:
            run.executemany(f"INSERT INTO output ({FIELDS}) VALUES ({', '.join('?' * COLUMNS)})", map(fields, rows))
            for stream, position, text in checkpoints:
                run.execute("INSERT OR REPLACE INTO checkpoint VALUES (?, ?, ?)", (stream, position, text))
                run.execute(
                    "DELETE FROM checkpoint WHERE stream = ?1 AND position NOT IN"
                    " (SELECT position FROM checkpoint WHERE stream = ?1 ORDER BY position DESC LIMIT ?2)",
                    (stream, CHECKPOINTS_KEPT),
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
        return rows_of(reversed(found), self.path)

    def of_stream(self, stream: int, after: int = -1) -> list[JournalRow]:
        """The rows of a stream with a position above `after`, in order."""
        found = self._read(
            f"SELECT {FIELDS} FROM output WHERE stream = ? AND position > ? ORDER BY position", (stream, after)
        )
        return rows_of(found, self.path)

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
        return rows_of(found, self.path)

    def all_rows(self, person: str) -> Iterator[JournalRow]:
        """Every row of a person, in order."""
        rows = self.page(person)
        while rows:
            yield from rows
            rows = self.page(person, after=rows[-1].key)

    def people(self) -> list[str]:
        """Everybody of whom something was decided."""
        return [person for (person,) in self._read("SELECT DISTINCT person FROM stream ORDER BY person", ())]

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

    def backup(self, path: Path, mark: str) -> None:
        """A consistent and marked copy, while running."""
        with self._reading:
            copied(self._reads, path)
        try:
            with closing(sqlite3.connect(path)) as copy, copy:
                copy.execute("DELETE FROM mark")
                copy.execute("INSERT INTO mark VALUES (?)", (mark,))
        except RAW as error:
            raise JournalError(is_damaged(self.path, error)) from error

    @classmethod
    def filled(cls, path: Path, tables: JournalTables, mark: str) -> None:
        """A new file with the tables of another journal, marked as a copy."""
        with closing(cls(path)) as copy, copy._transaction() as run:
            run.executemany(
                "INSERT INTO stream (stream, person, start, first, why) VALUES (?, ?, ?, ?, ?)", tables.streams
            )
            run.executemany(f"INSERT INTO output ({FIELDS}) VALUES ({', '.join('?' * COLUMNS)})", tables.rows)
            run.executemany("INSERT INTO checkpoint VALUES (?, ?, ?)", tables.checkpoints)
            run.execute("INSERT INTO mark VALUES (?)", (mark,))

    def tables(self) -> JournalTables:
        """All of it, as another journal takes it; read while nobody writes."""
        run = self._reads
        return JournalTables(
            run.execute("SELECT stream, person, start, first, why FROM stream").fetchall(),
            run.execute(f"SELECT {FIELDS} FROM output ORDER BY person, date, slot"),
            run.execute("SELECT stream, position, text FROM checkpoint").fetchall(),
        )

    def close(self) -> None:
        """Let go of the file, when nobody reads or writes it: SQLite does not survive that."""
        with self._reading, self._writing:
            self._reads.close()
            self._writes.close()
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._writing:
            try:
                self._writes.execute("BEGIN IMMEDIATE")
                yield self._writes
                self._writes.execute("COMMIT")
            except RAW as error:
                raise JournalError(f"{self.path}: cannot be written: {error}; nothing was told") from error
            finally:
                if self._writes.in_transaction:
                    self._writes.execute("ROLLBACK")

    def _read(self, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with self._reading:
            try:
                return self._reads.execute(query, values).fetchall()
            except RAW as error:
                raise JournalError(f"{self.path}: cannot be read: {error}. {RESTORE}") from error
