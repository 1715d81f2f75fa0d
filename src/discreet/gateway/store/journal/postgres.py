"""The journal in PostgreSQL, for people who have a server already: `PostgresJournal("postgresql://...")`.

Commits wait for the server's disk (synchronous_commit). While the server is away nothing is decided or told; the next
call connects again. A commit whose answer was lost is in doubt: the keeper looks whether it happened. One keeper at a
time, by an advisory lock of the session that writes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from discreet.errors import DiscreetError
from discreet.gateway.store.journal.base import JournalError
from discreet.gateway.store.journal.queries import (
    CHECKPOINTS,
    INSERTED,
    ROWS,
    STREAM_INSERTED,
    STREAMS,
    JournalTables,
    SqlJournal,
    batched,
)
from discreet.gateway.store.journal.sqlite import SqliteJournal

try:
    import psycopg
except ImportError:
    raise DiscreetError("a journal in PostgreSQL needs psycopg; install discreet[postgres]") from None

SCHEMA = (
    """
    CREATE TABLE stream (
        stream BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        person TEXT NOT NULL, start TEXT NOT NULL, first INTEGER NOT NULL, why TEXT NOT NULL
    );
    CREATE INDEX stream_of_person ON stream (person, stream);
    CREATE TABLE output (
        person TEXT NOT NULL, date TEXT COLLATE "C" NOT NULL, slot INTEGER NOT NULL, ends BIGINT NOT NULL,
        stream BIGINT NOT NULL REFERENCES stream, position BIGINT NOT NULL,
        output TEXT NOT NULL, kernel TEXT NOT NULL, likelihood BYTEA NOT NULL, chain BYTEA NOT NULL,
        PRIMARY KEY (person, date, slot)
    );
    CREATE UNIQUE INDEX output_of_stream ON output (stream, position);
    CREATE TABLE checkpoint (
        stream BIGINT NOT NULL REFERENCES stream, position BIGINT NOT NULL, text TEXT NOT NULL,
        PRIMARY KEY (stream, position)
    );
    CREATE TABLE mark (text TEXT NOT NULL);
    """,
)
"""One script a version of the schema, as in SQLite."""

SPACE = "discreet"
"""The schema of the database that the tables are in."""

DATABASE = "the journal's database"
"""How errors call it: its address may hold a password."""

KEEPER = 0x6469736372656574
"""The advisory lock that a keeper holds: the word discreet in ASCII."""

LINGERS = 2.0
"""Seconds within which the server notices that a client has left, and frees its lock."""

SETTINGS = (
    f"SET search_path TO {SPACE}",
    "SET synchronous_commit TO on",
    "SET statement_timeout TO '30s'",
    "SET client_min_messages TO error",
)


class _Statements(NamedTuple):
    """Statements as SQLite writes them, on a connection to PostgreSQL."""

    connection: psycopg.Connection[tuple[Any, ...]]

    def execute(self, query: str, values: tuple[Any, ...] = ()) -> psycopg.Cursor[tuple[Any, ...]]:
        """Run one."""
        return self.connection.execute(query.replace("?", "%s"), values)

    def executemany(self, query: str, every: Sequence[tuple[Any, ...]]) -> None:
        """Run one with each of several rows of values."""
        if every:
            with self.connection.cursor() as cursor:
                cursor.executemany(query.replace("?", "%s"), every)


class PostgresJournal(SqlJournal):
    """One connection for writing, which is the keeper's, and one for reading; each is made again when it broke.

    `look` is for a process beside the keeper's: it makes nothing and locks nobody out.
    """

    def __init__(self, where: str, *, look: bool = False) -> None:
        self._where, self._look = where, look
        self._open: dict[str, psycopg.Connection[tuple[Any, ...]]] = {}
        self._locks = {"writes": threading.RLock(), "reads": threading.RLock()}
        with self._using("writes", "opened") as run:
            (synced,) = run.execute("SHOW fsync").fetchone() or ("",)
            if synced != "on":
                self.close()
                raise DiscreetError(
                    "the PostgreSQL server has fsync off, so it may lose what was published; turn it on"
                )
            _bring_forward(run, forward=not look)

    # --- connections

    def _connected(self, role: str) -> psycopg.Connection[tuple[Any, ...]]:
        found = self._open.get(role)
        if found is not None and not found.closed and not found.broken:
            return found
        made = psycopg.connect(self._where, autocommit=True, connect_timeout=10, tcp_user_timeout=10_000)
        if not made.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (SPACE,)).fetchone() and not self._look:
            made.execute(f"CREATE SCHEMA {SPACE}")
        for setting in SETTINGS:
            made.execute(setting)
        if role == "writes" and not self._look and not _alone(made):
            made.close()
            raise JournalError("another process keeps this journal; stop it first, or give another database")
        self._open[role] = made
        return made

    @contextmanager
    def _using(self, role: str, what: str) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        """A connection in a transaction, for one thread at a time; where it breaks, the next call makes another."""
        with self._locks[role]:
            try:
                connection = self._connected(role)
                with connection.transaction():
                    yield connection
            except psycopg.Error as error:
                if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
                    self._drop(role)
                raise JournalError(f"the journal cannot be {what}: {_said(error)}; nothing was published") from error

    def _drop(self, role: str) -> None:
        broken = self._open.pop(role, None)
        if broken is not None:
            with suppress(psycopg.Error):
                broken.close()

    def _read(self, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with self._using("reads", "read") as run:
            return _Statements(run).execute(query, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[_Statements]:
        with self._using("writes", "written") as run:
            yield _Statements(run)

    @property
    def _name(self) -> str:
        return DATABASE

    def _new_stream(self, run: _Statements, values: tuple[Any, ...]) -> int:
        made = run.execute(
            "INSERT INTO stream (person, start, first, why) VALUES (?, ?, ?, ?) RETURNING stream", values
        ).fetchone()
        assert made is not None  # RETURNING gives a row, or an error
        return int(made[0])

    def backup(self, path: Path, mark: str) -> None:
        """A consistent and marked copy, while running, as a journal in SQLite: a gateway can go on with that."""
        with self._using("reads", "read") as run:
            run.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            streams = run.execute(STREAMS).fetchall()
            points = run.execute(CHECKPOINTS).fetchall()
            with run.cursor("copied") as rows:  # on the server, page by page
                rows.execute(ROWS)
                SqliteJournal.filled(path, JournalTables(streams, rows, points), mark)

    def empty(self) -> bool:
        """Whether nothing was ever decided in it."""
        return not self._read("SELECT 1 FROM stream LIMIT 1", ())

    def fill(self, tables: JournalTables, mark: str) -> None:
        """Take another journal's tables, in one transaction, marked; what an unfinished move left goes first."""
        with self._transaction() as run:
            run.execute("TRUNCATE checkpoint, output, stream, mark")
            numbered = STREAM_INSERTED.replace(" VALUES", " OVERRIDING SYSTEM VALUE VALUES")
            run.executemany(numbered, list(tables.streams))
            for some in batched(tables.rows):
                run.executemany(INSERTED, some)
            run.executemany("INSERT INTO checkpoint VALUES (?, ?, ?)", list(tables.checkpoints))
            run.execute(
                "SELECT setval(pg_get_serial_sequence('stream', 'stream'), (SELECT coalesce(max(stream), 0) + 1"
                " FROM stream), false)"
            )
            run.execute("INSERT INTO mark VALUES (?)", (mark,))

    def close(self) -> None:
        """Let go of the database."""
        for role in list(self._open):
            self._drop(role)


def _alone(run: psycopg.Connection[tuple[Any, ...]]) -> bool:
    """Whether the keeper's lock is this session's now; one that ended just now may hold it for a moment longer."""
    until = time.monotonic() + LINGERS
    while True:
        (alone,) = run.execute("SELECT pg_try_advisory_lock(%s)", (KEEPER,)).fetchone() or (False,)
        if alone or time.monotonic() > until:
            return bool(alone)
        time.sleep(0.02)


def _bring_forward(run: psycopg.Connection[tuple[Any, ...]], *, forward: bool) -> None:
    """The schema as this program writes it; a later one is refused, as in SQLite."""
    there = run.execute("SELECT to_regclass('version')").fetchone()
    if there is None or there[0] is None:
        if not forward:
            raise DiscreetError("there is no journal in this database; give that of discreet serve")
        run.execute("CREATE TABLE version (number INTEGER NOT NULL)")
        run.execute("INSERT INTO version VALUES (0)")
    (version,) = run.execute("SELECT number FROM version").fetchone() or (0,)
    if version > len(SCHEMA):
        raise DiscreetError(
            f"the journal has version {version}, this program knows {len(SCHEMA)}; run the newer program"
        )
    if version < len(SCHEMA) and not forward:
        raise DiscreetError(
            f"the journal has version {version}, this program writes {len(SCHEMA)}; start discreet serve once"
        )
    for script in SCHEMA[version:]:
        run.execute(script)
    if version < len(SCHEMA):
        run.execute("UPDATE version SET number = %s", (len(SCHEMA),))


def _said(error: psycopg.Error) -> str:
    """What the server said, without values: those may be anything."""
    return error.diag.message_primary or type(error).__name__
