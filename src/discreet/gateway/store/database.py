"""SQLite files of the gateway: opened durably, for their owner alone, and brought to the present schema.

A file that is written to has one keeper: two processes that decide the same slots would draw twice. The lock is an
exclusive transaction on a file beside it, which ends with the process, however that ends.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError

WAIT = 30.0
"""Seconds that a write waits for another process's, such as a token that is added meanwhile."""


RESTORE = (
    "Give another folder; or stop the gateway, keep a copy of the files, look at the disk, and restore a backup "
    "(docs/backups.md)"
)

RAW = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite says of a file that it cannot use; of some it cannot even decode its own words."""

DAMAGE = (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, zlib.error, sqlite3.Error)
"""What comes of bits that are not as they were written: wrong UTF-8, JSON, dates, numbers, compressed bytes."""


class JournalError(DiscreetError):
    """The journal, or the own store, cannot write or read: a full disk, a lost server. Nothing is told that was not
    written."""


def is_damaged(path: object, error: Exception) -> str:
    """In words for the owner; what stood in the file is not in them."""
    return f"{path}: is damaged ({type(error).__name__}). {RESTORE}"


class Lock:
    """One process at a time keeps a file, or a folder."""

    def __init__(self, path: Path, what: str) -> None:
        beside = path / "lock" if path.is_dir() else path.with_name(path.name + ".lock")
        _made(beside)
        self._held = sqlite3.connect(beside, isolation_level=None, check_same_thread=False, timeout=0)
        try:
            self._held.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            self._held.close()
            raise DiscreetError(
                f"{path}: another process keeps this {what}; stop it first, or give another folder"
            ) from None
        except sqlite3.DatabaseError:
            self._held.close()
            raise DiscreetError(f"{beside}: is damaged; delete it, for there is nothing in it but a lock") from None

    def release(self) -> None:
        """Let another process have it."""
        self._held.close()


class SqliteFile:
    """A file with one connection for writing, which is the keeper's; reads have their own, and never wait for it.

    `look` is for a process beside the keeper's: it makes nothing and locks nobody out.
    """

    undone: str
    """What did not happen where a write fails, for the error."""

    def __init__(self, path: Path, schema: Sequence[str], what: str, *, look: bool) -> None:
        self.path = path
        self._lock = None if look else Lock(path, what)
        try:
            self._writes = looked_at(path, schema, what) if look else opened(path, schema, what)
            self._reads = shared_file(path)
        except DiscreetError:
            self._unlock()
            raise
        self._writing, self._reading = threading.Lock(), threading.Lock()

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()

    def close(self) -> None:
        """Let go of the file, when nobody reads or writes it: SQLite does not survive that."""
        with self._reading, self._writing:
            self._reads.close()
            self._writes.close()
        self._unlock()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._writing:
            try:
                self._writes.execute("BEGIN IMMEDIATE")
                yield self._writes
                self._writes.execute("COMMIT")
            except RAW as error:
                raise JournalError(f"{self.path}: cannot be written: {error}; {self.undone}") from error
            finally:
                if self._writes.in_transaction:
                    self._writes.execute("ROLLBACK")

    def _read(self, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with self._reading:
            try:
                return self._reads.execute(query, values).fetchall()
            except RAW as error:
                raise JournalError(f"{self.path}: cannot be read: {error}. {RESTORE}") from error


def opened(path: Path, schema: Sequence[str], what: str) -> sqlite3.Connection:
    """A connection whose commits are on disk when they return; `schema` has one script a version.

    The file is made with mode 0600. A file of a later version is refused: this program does not know what it means.
    """
    _made(path)
    return _checked(path, schema, what, forward=True)


def looked_at(path: Path, schema: Sequence[str], what: str) -> sqlite3.Connection:
    """A connection for a look while another process may keep the file: nothing is made or brought forward."""
    if not path.is_file():
        raise DiscreetError(f"{path}: there is no {what} here; give the folder of discreet serve (--data)")
    return _checked(path, schema, what, forward=False)


def shared_file(path: Path) -> sqlite3.Connection:
    """A connection in write-ahead mode, every commit synced; its caller lets one thread use it at a time."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=WAIT)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")  # what is erased is overwritten
    return connection


def copied(connection: sqlite3.Connection, path: Path) -> None:
    """A consistent copy of a database in a new file of mode 0600, while it is in use."""
    if path.exists():
        raise DiscreetError(f"{path}: is there already; give a new name, so that no copy is overwritten")
    _made(path)
    copy = sqlite3.connect(path)
    try:
        connection.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
    except RAW as error:
        raise DiscreetError(is_damaged(path.name, error)) from None
    finally:
        copy.close()


def _made(path: Path) -> None:
    """The file, and its name in the folder, are on disk."""
    if path.exists():
        return
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError as error:
        raise DiscreetError(f"{path}: cannot be made: {error.strerror}; give a folder that can be written") from None
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _checked(path: Path, schema: Sequence[str], what: str, *, forward: bool) -> sqlite3.Connection:
    connection = None
    try:
        connection = shared_file(path)
        _bring_forward(connection, path, schema, what, forward=forward)
    except RAW as error:
        if connection is not None:
            connection.close()
        raise DiscreetError(f"{path}: is no {what} of discreet, or damaged: {error}. {RESTORE}") from None
    except DiscreetError:
        if connection is not None:
            connection.close()
        raise
    return connection


def _bring_forward(
    connection: sqlite3.Connection, path: Path, schema: Sequence[str], what: str, *, forward: bool
) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(schema):
        raise DiscreetError(
            f"{path}: the {what} has version {version}, this program knows {len(schema)}; run the newer program"
        )
    if version < len(schema) and not forward:
        raise DiscreetError(
            f"{path}: the {what} has version {version}, this program writes {len(schema)}; start discreet serve once, "
            "which brings it forward"
        )
    for number, script in enumerate(schema[version:], version + 1):
        connection.executescript(f"BEGIN IMMEDIATE; {script}; PRAGMA user_version = {number}; COMMIT;")
