"""A journal that goes into another database: from SQLite to PostgreSQL and back, and out of an archive.

What is filled is marked until it is checked, and what was left is marked from then on: a keeper refuses both, so that
two gateways never go on from one journal, and a move that was interrupted is made again.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError
from discreet.gateway.config.archived import DATA, SETTINGS, journal_at
from discreet.gateway.store.archive import checked, unpack
from discreet.gateway.store.backup import SCHEMAS
from discreet.gateway.store.folder import Folder, known_key
from discreet.gateway.store.journal import Journal, SqliteJournal
from discreet.gateway.store.journal.base import broken_link

UNFINISHED = "a copy whose move was not finished (discreet journal move, again)"

MOVED = "moved to another database"


def opened_at(url: str, *, look: bool = False) -> Any:
    """The journal in PostgreSQL."""
    from discreet.gateway.store.journal.postgres import PostgresJournal

    return PostgresJournal(url, look=look)


def same_chains(journal: Journal, key: bytes, ends: Mapping[str, bytes]) -> list[str]:
    """Everybody whose rows are not the same ones as in another journal, by the ends of its chains."""
    people = {*journal.people(), *ends}
    return sorted(
        person
        for person in people
        if broken_link(journal.all_rows(person), key) is not None or _end(journal, person) != ends.get(person)
    )


def ends_of(journal: Journal, key: bytes) -> dict[str, bytes]:
    """The end of everybody's chain; one that is broken is an error, for a move must not hide it."""
    for person in journal.people():
        row = broken_link(journal.all_rows(person), key)
        if row is not None:
            raise DiscreetError(
                f"{person}: the journal was altered at {row.date} slot {row.slot}; nothing was moved "
                "(discreet journal verify)"
            )
    return {person: _end(journal, person) for person in journal.people()}


def _end(journal: Journal, person: str) -> bytes:
    last = journal.last(person)
    return b"" if last is None else last.chain


def moved(folder: Folder, present: str | None, to: str | None, settle: Callable[[str | None], None]) -> list[str]:
    """Move the journal of a gateway that is stopped: whose it is. `present` and `to` are addresses, or None for SQLite.

    `settle` is told the new place when everything is there, to write it into the settings.
    """
    key = known_key(folder.path)
    folder.lock()
    try:
        if present == to:
            return _finished(folder, to, key)
        with closing(_opened(folder, present)) as source:
            mark = source.mark()
            if mark is not None and mark != MOVED:
                raise DiscreetError(f"the journal is {mark}; say what becomes of it before it is moved")
            ends = ends_of(source, key)
            _fill(folder, source, to)
            with closing(_opened(folder, to)) as target:
                _check(target, key, ends)
            source.set_mark(MOVED)
        settle(to)
        return _finished(folder, to, key)
    finally:
        folder.unlock()


def _opened(folder: Folder, url: str | None) -> Any:
    return SqliteJournal(folder.journal) if url is None else opened_at(url)


def _fill(folder: Folder, source: Any, to: str | None) -> None:
    if to is not None:
        with closing(opened_at(to)) as target:
            if not target.empty() and target.mark() not in (UNFINISHED, MOVED):
                raise DiscreetError("there is a journal in that database already; give another one")
            target.fill(source.tables(), UNFINISHED)
        return
    if folder.journal.exists():
        with closing(SqliteJournal(folder.journal)) as before:
            if before.people() and before.mark() not in (UNFINISHED, MOVED):
                raise DiscreetError(f"{folder.journal}: there is a journal already; take it away first")
        _gone(folder.journal)
    source.backup(folder.journal, UNFINISHED)


def _gone(path: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def _check(target: Journal, key: bytes, ends: Mapping[str, bytes]) -> None:
    if wrong := same_chains(target, key, ends):
        raise DiscreetError(f"{wrong[0]}: the copy is not what the journal is; nothing was moved")


def _finished(folder: Folder, at: str | None, key: bytes) -> list[str]:
    """Take the mark of an unfinished move away from what the settings name: it was checked."""
    with closing(_opened(folder, at)) as journal:
        if journal.mark() != UNFINISHED:
            raise DiscreetError("the journal is there already")
        ends_of(journal, key)
        journal.set_mark(None)
        return list(journal.people())


# --- out of an archive


def restored(source: Path, into: Path, *, postgres: str | None = None, passphrase: str | None = None) -> Sequence[str]:
    """A gateway's folder out of an archive: the names of its files.

    Everything is checked before the first byte is written, and the folder appears whole or not at all. With `postgres`
    the journal goes into that database, which has to be empty. The journal keeps its mark: a gateway that goes on has
    to be told what became of the slots since.
    """
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise DiscreetError(f"{into}: is there already; give a new folder, so that nothing is overwritten")
    manifest = checked(source, SCHEMAS, passphrase)
    into.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{into.name}.", dir=into.parent))
    try:
        unpack(source, manifest, beside, passphrase)
        data = beside / DATA if (beside / DATA).is_dir() else beside
        key = known_key(data)
        with closing(SqliteJournal(data / "journal.db", look=True)) as journal:
            ends, mark = ends_of(journal, key), journal.mark() or str(manifest["mark"])
            if postgres is not None:
                _into_postgres(journal, postgres, key, ends, mark)
        if postgres is not None:
            _gone(data / "journal.db")
        settings = beside / SETTINGS
        if settings.is_file():
            text = settings.read_text(encoding="utf-8")
            settings.write_text(journal_at(text, postgres), encoding="utf-8")
        if into.exists():
            into.rmdir()
        beside.replace(into)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return sorted(manifest["files"])


def _into_postgres(journal: SqliteJournal, url: str, key: bytes, ends: Mapping[str, bytes], mark: str) -> None:
    with closing(opened_at(url)) as target:
        if not target.empty() and target.mark() != UNFINISHED:
            raise DiscreetError("there is a journal in that database already; give an empty one")
        target.fill(journal.tables(), UNFINISHED)
        _check(target, key, ends)
        target.set_mark(mark)
