"""The journal in SQLite: one file, write-ahead log, a sync for each commit."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from discreet.gateway.store.database import RAW, SqliteFile, copied, is_damaged
from discreet.gateway.store.journal.base import JournalError
from discreet.gateway.store.journal.queries import (
    CHECKPOINTS,
    INSERTED,
    ROWS,
    STREAM_INSERTED,
    STREAMS,
    JournalTables,
    SqlJournal,
)

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


class SqliteJournal(SqliteFile, SqlJournal):
    """A journal in a file."""

    undone = "nothing was published"

    def __init__(self, path: Path, *, look: bool = False) -> None:
        super().__init__(path, SCHEMA, "journal", look=look)

    @property
    def _name(self) -> Path:
        return self.path

    def _new_stream(self, run: sqlite3.Connection, values: tuple[Any, ...]) -> int:
        return int(
            run.execute("INSERT INTO stream (person, start, first, why) VALUES (?, ?, ?, ?)", values).lastrowid or 0
        )

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
            run.executemany(STREAM_INSERTED, tables.streams)
            run.executemany(INSERTED, tables.rows)
            run.executemany("INSERT INTO checkpoint VALUES (?, ?, ?)", tables.checkpoints)
            run.execute("INSERT INTO mark VALUES (?)", (mark,))

    def tables(self) -> JournalTables:
        """All of it, as another journal takes it; read while nobody writes."""
        run = self._reads
        return JournalTables(run.execute(STREAMS).fetchall(), run.execute(ROWS), run.execute(CHECKPOINTS).fetchall())
