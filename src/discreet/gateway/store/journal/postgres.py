"""The journal in PostgreSQL, for people who have a server already: `PostgresJournal("postgresql://...")`.

Commits wait for the server's disk (synchronous_commit). While the server is away nothing is decided or told; the next
call connects again. A commit whose answer was lost is in doubt: the keeper looks whether it happened. One keeper at a
time, by an advisory lock of the session that writes.
"""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError
from discreet.gateway.store.journal.base import CHECKPOINTS_KEPT, Head, JournalError, JournalRow, Key
from discreet.gateway.store.journal.fields import (
    COLUMNS,
    FIELDS,
    PAGE,
    JournalTables,
    batched,
    fields,
    heads_of,
    rows_of,
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

SETTINGS = (
    f"SET search_path TO {SPACE}",
    "SET synchronous_commit TO on",
    "SET statement_timeout TO '30s'",
    "SET client_min_messages TO error",
)


class PostgresJournal:
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
                    "the PostgreSQL server has fsync off, so that it may lose what was told; turn it on"
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
        if role == "writes" and not self._look:
            (alone,) = made.execute("SELECT pg_try_advisory_lock(%s)", (KEEPER,)).fetchone() or (False,)
            if not alone:
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
                raise JournalError(f"the journal cannot be {what}: {_said(error)}; nothing was told") from error

    def _drop(self, role: str) -> None:
        broken = self._open.pop(role, None)
        if broken is not None:
            with suppress(psycopg.Error):
                broken.close()

    def _read(self, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with self._using("reads", "read") as run:
            return run.execute(query, values).fetchall()

    # --- the journal

    def begin(self, person: str, start: dt.date, first: int, why: str, checkpoint: str = "") -> Head:
        """Begin a stream."""
        with self._using("writes", "written") as run:
            made = run.execute(
                "INSERT INTO stream (person, start, first, why) VALUES (%s, %s, %s, %s) RETURNING stream",
                (person, start.isoformat(), first, why),
            ).fetchone()
            assert made is not None  # RETURNING gives a row, or an error
            if checkpoint:
                run.execute("INSERT INTO checkpoint VALUES (%s, %s, %s)", (made[0], first, checkpoint))
            return Head(made[0], person, start, first, why)

    def heads(self, person: str) -> list[Head]:
        """All streams of a person, the first first."""
        query = "SELECT stream, person, start, first, why FROM stream WHERE person = %s ORDER BY stream"
        return heads_of(self._read(query, (person,)), DATABASE)

    def head(self, person: str) -> Head | None:
        """The person's latest stream."""
        return next(reversed(self.heads(person)), None)

    def append(self, rows: Sequence[JournalRow], checkpoints: Sequence[tuple[int, int, str]] = ()) -> None:
        """Write rows and checkpoints in one transaction."""
        with self._using("writes", "written") as run, run.cursor() as cursor:
            if rows:
                places = ", ".join(["%s"] * COLUMNS)
                cursor.executemany(f"INSERT INTO output ({FIELDS}) VALUES ({places})", [fields(row) for row in rows])
            for stream, position, text in checkpoints:
                cursor.execute(
                    "INSERT INTO checkpoint VALUES (%s, %s, %s)"
                    " ON CONFLICT (stream, position) DO UPDATE SET text = EXCLUDED.text",
                    (stream, position, text),
                )
                cursor.execute(
                    "DELETE FROM checkpoint WHERE stream = %s AND position NOT IN"
                    " (SELECT position FROM checkpoint WHERE stream = %s ORDER BY position DESC LIMIT %s)",
                    (stream, stream, CHECKPOINTS_KEPT),
                )

    def set_aside(self, person: str, after: int) -> None:
        """Take the rows of a person out that end after an instant."""
        with self._using("writes", "written") as run:
            run.execute("DELETE FROM output WHERE person = %s AND ends > %s", (person, after))
            run.execute(
                "DELETE FROM checkpoint WHERE stream IN (SELECT stream FROM stream WHERE person = %s) AND position"
                " > 1 + coalesce((SELECT max(position) FROM output WHERE output.stream = checkpoint.stream), position)",
                (person,),
            )

    def last(self, person: str) -> JournalRow | None:
        """The person's last decided slot."""
        return next(iter(self.latest(person, 1)), None)

    def latest(self, person: str, count: int) -> list[JournalRow]:
        """The person's last decided slots, in order."""
        query = f"SELECT {FIELDS} FROM output WHERE person = %s ORDER BY date DESC, slot DESC LIMIT %s"
        return rows_of(reversed(self._read(query, (person, count))), DATABASE)

    def of_stream(self, stream: int, after: int = -1) -> list[JournalRow]:
        """The rows of a stream with a position above `after`, in order."""
        query = f"SELECT {FIELDS} FROM output WHERE stream = %s AND position > %s ORDER BY position"
        return rows_of(self._read(query, (stream, after)), DATABASE)

    def checkpoints(self, stream: int) -> list[tuple[int, str]]:
        """The checkpoints of a stream, the last first."""
        query = "SELECT position, text FROM checkpoint WHERE stream = %s ORDER BY position DESC"
        return [(position, text) for position, text in self._read(query, (stream,))]

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
        query = (
            f"SELECT {FIELDS} FROM output WHERE person = %s AND (date, slot) > (%s, %s) AND (date, slot) <= (%s, %s)"
            " ORDER BY date, slot LIMIT %s"
        )
        return rows_of(self._read(query, (person, *low, *high, limit)), DATABASE)

    def all_rows(self, person: str) -> Iterator[JournalRow]:
        """Every row of a person, in order."""
        rows = self.page(person)
        while rows:
            yield from rows
            rows = self.page(person, after=rows[-1].key)

    def people(self) -> list[str]:
        """Everybody of whom something was decided."""
        found = self._read('SELECT person FROM stream GROUP BY person ORDER BY person COLLATE "C"', ())
        return [person for (person,) in found]

    def mark(self) -> str | None:
        """What a backup says of itself."""
        found = self._read("SELECT text FROM mark", ())
        return found[0][0] if found else None

    def set_mark(self, text: str | None) -> None:
        """Mark the journal, or take the mark away."""
        with self._using("writes", "written") as run:
            run.execute("DELETE FROM mark")
            if text is not None:
                run.execute("INSERT INTO mark VALUES (%s)", (text,))

    def backup(self, path: Path, mark: str) -> None:
        """A consistent and marked copy, while running, as a journal in SQLite: a gateway can go on with that."""
        with self._using("reads", "read") as run:
            run.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            streams = run.execute("SELECT stream, person, start, first, why FROM stream").fetchall()
            points = run.execute("SELECT stream, position, text FROM checkpoint").fetchall()
            with run.cursor("copied") as rows:  # on the server, page by page
                rows.execute(f"SELECT {FIELDS} FROM output ORDER BY person, date, slot")
                SqliteJournal.filled(path, JournalTables(streams, rows, points), mark)

    def empty(self) -> bool:
        """Whether nothing was ever decided in it."""
        return not self._read("SELECT 1 FROM stream LIMIT 1", ())

    def fill(self, tables: JournalTables, mark: str) -> None:
        """Take another journal's tables, in one transaction, marked; what an unfinished move left goes first."""
        places = ", ".join(["%s"] * COLUMNS)
        with self._using("writes", "written") as run, run.cursor() as cursor:
            cursor.execute("TRUNCATE checkpoint, output, stream, mark")
            cursor.executemany(
                "INSERT INTO stream (stream, person, start, first, why) OVERRIDING SYSTEM VALUE"
                " VALUES (%s, %s, %s, %s, %s)",
                list(tables.streams),
            )
            for some in batched(tables.rows):
                cursor.executemany(f"INSERT INTO output ({FIELDS}) VALUES ({places})", some)
            cursor.executemany("INSERT INTO checkpoint VALUES (%s, %s, %s)", list(tables.checkpoints))
            cursor.execute(
                "SELECT setval(pg_get_serial_sequence('stream', 'stream'), (SELECT coalesce(max(stream), 0) + 1"
                " FROM stream), false)"
            )
            cursor.execute("INSERT INTO mark VALUES (%s)", (mark,))

    def close(self) -> None:
        """Let go of the database."""
        for role in list(self._open):
            self._drop(role)


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
