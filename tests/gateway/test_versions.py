"""Files of every released version open with this program; files of a later one are refused."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from discreet import DiscreetError
from discreet.gateway.store import database
from discreet.gateway.store.journal import SqliteJournal
from discreet.gateway.store.journal import sqlite as journal_file
from discreet.gateway.store.journal.base import broken_link
from discreet.gateway.store.own_store import SCHEMA, OwnStore
from discreet.outputs import Skipped
from tests.gateway.people import KEY, closed, habits, keeper, person_config
from tests.gateway.test_keeper import boundaries

VERSIONS = Path(__file__).parent / "versions"


def written(folder: Path, version: int = 1) -> Path:
    """The files of a version, as it wrote them."""
    for name in ("journal", "own"):
        with closing(sqlite3.connect(folder / f"{name}.db")) as file:
            file.executescript((VERSIONS / f"{name}-{version}.sql").read_text())
    return folder


@pytest.mark.parametrize("version", range(1, len(journal_file.SCHEMA) + 1))
def test_a_journal_and_an_own_store_of_each_version_go_on(tmp_path: Path, version: int) -> None:
    ends = list(boundaries(1))
    one = keeper(written(tmp_path, version), ends[3] + 1, person_config(routine=habits(), outputs="suppress"))
    rows = list(one.journal.all_rows("jane"))
    assert len(rows) == 4
    assert broken_link(iter(rows), KEY) is None
    assert one.own.truth("jane", rows[0].date) == dict.fromkeys(range(4), "home")
    assert len(one.own.readings("jane", 0)) == 2
    (row,) = one.turn(ends[4])
    assert row.slot == 4
    assert not isinstance(row.output, Skipped), "memory went on too"
    closed(one)


@pytest.mark.parametrize(("name", "opens"), [("journal.db", SqliteJournal), ("own.db", OwnStore)])
def test_a_later_version_is_refused(tmp_path: Path, name: str, opens: Callable[[Path], object]) -> None:
    written(tmp_path)
    with closing(sqlite3.connect(tmp_path / name)) as file:
        file.execute("PRAGMA user_version = 99")
    with pytest.raises(DiscreetError, match=r"has version 99, this program knows \d+; run the newer program"):
        opens(tmp_path / name)


def test_scripts_bring_a_file_forward_once(tmp_path: Path) -> None:
    path = written(tmp_path) / "own.db"
    schema = (*SCHEMA, "ALTER TABLE truth ADD COLUMN sure INTEGER NOT NULL DEFAULT 1")
    with pytest.raises(DiscreetError, match="start discreet serve once"):
        database.looked_at(path, schema, "own store")
    for _ in range(2):
        with closing(database.opened(path, schema, "own store")) as file:
            assert file.execute("SELECT sum(sure) FROM truth").fetchone() == (4,)
            assert file.execute("PRAGMA user_version").fetchone() == (len(schema),)
    with pytest.raises(DiscreetError, match=f"has version {len(schema)}, this program knows {len(SCHEMA)}"):
        OwnStore(path)


def test_a_script_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = written(tmp_path) / "own.db"
    with pytest.raises(DiscreetError):
        database.opened(path, (*SCHEMA, "CREATE TABLE more (x INTEGER); CREATE TABLE truth (x INTEGER)"), "own store")
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA user_version").fetchone() == (len(SCHEMA),)
        assert file.execute("SELECT count(*) FROM sqlite_master WHERE name = 'more'").fetchone() == (0,)


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "journal.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(DiscreetError, match="is no journal of discreet"):
        SqliteJournal(tmp_path / "journal.db")
    with pytest.raises(DiscreetError, match="there is no journal here"):
        SqliteJournal(tmp_path / "missing.db", look=True)
    assert not (tmp_path / "missing.db").exists()
