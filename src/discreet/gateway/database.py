"""SQLite files of the gateway: opened durably, for their owner alone, and brought to the present schema."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from discreet.errors import DiscreetError


def opened(path: Path, schema: Sequence[str], what: str) -> sqlite3.Connection:
    """A connection whose commits are on disk when they return; `schema` has one script a version.

    The file is made with mode 0600. A file of a later version is refused: this program does not know what it means.
    """
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    connection = None
    try:
        connection = shared_file(path)
        _bring_forward(connection, path, schema, what)
    except (sqlite3.DatabaseError, DiscreetError) as error:
        if connection is not None:
            connection.close()
        if isinstance(error, DiscreetError):
            raise
        raise DiscreetError(f"{path}: is no {what} of discreet: {error}; give another folder") from None
    return connection


def shared_file(path: Path) -> sqlite3.Connection:
    """A connection in write-ahead mode, every commit synced; its caller lets one thread use it at a time."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # what is erased is overwritten
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _bring_forward(connection: sqlite3.Connection, path: Path, schema: Sequence[str], what: str) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(schema):
        raise DiscreetError(
            f"{path}: the {what} has version {version}, this program knows {len(schema)}; run the newer program"
        )
    for number, script in enumerate(schema[version:], version + 1):
        connection.executescript(f"BEGIN IMMEDIATE; {script}; PRAGMA user_version = {number}; COMMIT;")
