"""Backups, and what becomes of a journal that is older than what was told."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tarfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from discreet import Clock, DiscreetError, Policy
from discreet.cli import run
from discreet.gateway.config.views import View
from discreet.gateway.forms import Forms
from discreet.gateway.slots.recovery import OlderJournalError
from discreet.gateway.slots.restore import TOKENS, mended
from discreet.gateway.store.backup import BackupOrder, back_up
from discreet.gateway.store.folder import known_key, owner_key
from discreet.gateway.store.journal import JournalRow, SqliteJournal
from discreet.gateway.store.journal.base import broken_link
from discreet.gateway.store.own_store import OwnStore
from discreet.outputs import Skipped, to_wire
from tests.gateway.people import CLOCK, KEY, PLACES, START, closed, habits, keeper, person_config
from tests.gateway.test_keeper import boundaries, fed, week

ROUTINE = habits()
ENDS = list(boundaries(2))
WHO = person_config(routine=ROUTINE, outputs="suppress")


def decided(folder: Path, first: int, until: int) -> list[JournalRow]:
    """Some more slots in a folder."""
    folder.mkdir(exist_ok=True)
    (folder / "owner.key").write_bytes(KEY)
    (folder / "owner.key").chmod(0o600)
    one = keeper(folder, ENDS[first] - 3600, WHO)
    fed(one, week(days=2))
    for boundary in ENDS[first:until]:
        one.turn(boundary)
    rows = list(one.journal.all_rows("jane"))
    closed(one)
    return rows


def heard(file: Path, rows: list[JournalRow]) -> Path:
    """What an application wrote down, line by line."""
    forms = Forms("jane", CLOCK, PLACES, View("whole"))
    file.write_text("".join(json.dumps(forms.event(row)) + "\n" for row in rows))
    return file


@pytest.fixture
def restored(tmp_path: Path) -> tuple[Path, list[JournalRow]]:
    """A backup of six slots, taken by the command while more were decided, and all fifteen that were told."""
    data = tmp_path / "data"
    decided(data, 0, 6)
    with closing(SqliteJournal(data / "journal.db")), closing(OwnStore(data / "own.db")):  # the gateway runs
        assert run(["backup", "--data", str(data), "--out", str(tmp_path / "copy")]) == 0
    return tmp_path / "copy", decided(data, 6, 15)


def mend(folder: Path, **choice: object) -> list[str]:
    with closing(SqliteJournal(folder / "journal.db")) as journal, closing(OwnStore(folder / "own.db")) as own:
        return mended([WHO], journal, own, KEY, ENDS[15] - 60, **choice)  # type: ignore[arg-type]


def test_a_backup_is_refused_until_it_is_completed(restored: tuple[Path, list[JournalRow]], tmp_path: Path) -> None:
    """The journal is then what it was, likelihoods and links too; memory is lost, and an observer knows."""
    copy, told = restored
    with pytest.raises(OlderJournalError, match=r"is a backup of .*--complete FILE.*--new-stream"):
        keeper(copy, ENDS[14] + 5, WHO)
    notes = mend(copy, complete=heard(tmp_path / "events", told[3:]))
    assert notes[0] == "jane: 9 slots are completed, up to 2026-03-03 slot 2"
    assert notes[-1] == TOKENS
    one = keeper(copy, ENDS[14] + 5, WHO)
    assert list(one.journal.all_rows("jane")) == told
    assert broken_link(one.journal.all_rows("jane"), KEY) is None
    (row,) = one.turn(ENDS[15])
    assert isinstance(row.output, Skipped)
    closed(one)


def test_what_does_not_complete_it_is_refused(restored: tuple[Path, list[JournalRow]], tmp_path: Path) -> None:
    copy, told = restored
    with pytest.raises(DiscreetError, match=r"2026-03-02 slot 8 is missing"):
        mend(copy, complete=heard(tmp_path / "gap", told[:8] + told[9:]))
    with pytest.raises(DiscreetError, match=r"has nothing of jane from 2026-03-02 slot 5 on"):
        mend(copy, complete=heard(tmp_path / "early", told[:3]))
    other = "work" if to_wire(told[4].output).get("context") == "home" else "home"
    wrong = json.dumps({"person": "jane", "date": "2026-03-02", "slot": 4, "kind": "released", "context": other})
    heard(tmp_path / "wrong", told[5:])
    with (tmp_path / "wrong").open("a") as file:
        file.write(wrong + "\n")
    with pytest.raises(DiscreetError, match=r"slot 4 is another output than the journal's"):
        mend(copy, complete=tmp_path / "wrong")
    (tmp_path / "broken").write_text('{"person": "jane"}\n')
    with pytest.raises(DiscreetError, match=r"line 1: is no event"):
        mend(copy, complete=tmp_path / "broken")
    with pytest.raises(DiscreetError, match=r"not both"):
        mend(copy, complete=tmp_path / "broken", new_stream=True)
    with pytest.raises(OlderJournalError):
        keeper(copy, ENDS[14] + 5, WHO)


def test_an_own_store_that_knows_of_more_is_not_satisfied_with_less(tmp_path: Path) -> None:
    """An unmarked copy of the journal beside the own store of today: what is completed must reach as far."""
    data, old = tmp_path / "data", tmp_path / "old"
    decided(data, 0, 6)
    shutil.copytree(data, old)
    told = decided(data, 6, 10)
    shutil.copy(data / "own.db", old / "own.db")
    with pytest.raises(OlderJournalError):
        mend(old, complete=heard(tmp_path / "short", told[:8]))
    mend(old, complete=heard(tmp_path / "all", told))
    one = keeper(old, ENDS[9] + 5, WHO)
    assert one.people["jane"].session.private is not None, "the own store is the last slot's: memory goes on"
    closed(one)


def test_or_a_new_stream_begins_and_says_why(restored: tuple[Path, list[JournalRow]]) -> None:
    copy, told = restored
    notes = mend(copy, new_stream=True)
    assert "THE PROMISE IS BROKEN OFF" in notes[0]
    one = keeper(copy, ENDS[15] - 60, WHO)
    heads = one.journal.heads("jane")
    assert len(heads) == 2
    assert heads[1].why.startswith("a break: the journal is a backup of ")
    (row,) = one.turn(ENDS[15])
    assert row.stream == heads[1].stream
    assert row.key > told[-1].key
    assert broken_link(one.journal.all_rows("jane"), KEY) is None
    closed(one)
    assert mend(copy, new_stream=True) == [], "nothing is refused any more"


def test_a_new_stream_for_another_clock(tmp_path: Path) -> None:
    decided(tmp_path / "data", 0, 4)
    moved = replace(WHO, clock=Clock(12, "Europe/Paris"))
    folder = tmp_path / "data"
    with closing(SqliteJournal(folder / "journal.db")) as journal, closing(OwnStore(folder / "own.db")) as own:
        notes = mended([moved], journal, own, KEY, ENDS[4] - 60, new_stream=True)
        assert "another clock" in notes[0]
    one = keeper(folder, ENDS[4] - 60, moved)
    rows = one.turn(ENDS[6])
    assert rows[0].key > (START.date(), 3)
    closed(one)


def test_backups_as_an_archive_and_without_the_own_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "data"
    told = decided(data, 0, 3)
    with closing(sqlite3.connect(data / "access.db")) as access:
        access.execute("CREATE TABLE token (x)")
    out = tmp_path / "b.tar.gz"
    assert run(["backup", "--data", str(data), "--out", str(out), "--no-own"]) == 0
    assert out.stat().st_mode & 0o777 == 0o600
    with tarfile.open(out) as packed:
        assert sorted(packed.getnames()) == ["access.db", "journal.db", "manifest.json", "owner.key"]
        packed.extractall(tmp_path / "again", filter="data")
    assert known_key(tmp_path / "again") == KEY
    with closing(SqliteJournal(tmp_path / "again" / "journal.db")) as journal:
        assert list(journal.all_rows("jane")) == told
    assert {one.name for one in tmp_path.iterdir()} == {"data", "b.tar.gz", "again"}, "nothing is left beside"
    assert run(["backup", "--data", str(data), "--out", str(out)]) == 2
    assert "is there already" in capsys.readouterr().err


def test_verify(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "data"
    decided(data, 0, 3)
    assert run(["journal", "verify", "--data", str(data)]) == 0
    assert "holds" in capsys.readouterr().out
    with closing(sqlite3.connect(data / "journal.db")) as file, file:
        file.execute("UPDATE output SET ends = ends + 1 WHERE slot = 1")
    assert run(["journal", "verify", "--data", str(data)]) == 1
    assert "BROKEN at 2026-03-02 slot 1" in capsys.readouterr().out
    assert run(["journal", "verify", "--data", str(data), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["holds"] is False
    assert run(["journal", "verify", "--data", str(tmp_path)]) == 2
    assert "owner.key" in capsys.readouterr().err


def test_the_owners_key(tmp_path: Path) -> None:
    key = owner_key(tmp_path)
    assert len(key) == 32
    assert owner_key(tmp_path) == key
    assert (tmp_path / "owner.key").stat().st_mode & 0o777 == 0o600
    (tmp_path / "owner.key").chmod(0o644)
    with pytest.raises(DiscreetError, match=r"chmod 600"):
        owner_key(tmp_path)
    (tmp_path / "owner.key").unlink()
    (tmp_path / "journal.db").touch()
    with pytest.raises(DiscreetError, match=r"is gone, beside journal.db; put it back"):
        owner_key(tmp_path)
    (tmp_path / "owner.key").write_bytes(b"short")
    (tmp_path / "owner.key").chmod(0o600)
    with pytest.raises(DiscreetError, match=r"has 5 bytes instead of 32"):
        owner_key(tmp_path)


@pytest.mark.parametrize("changed", ["announced", "in force"])
def test_a_backup_of_a_stream_that_changed_is_completed(tmp_path: Path, changed: str) -> None:
    """And one that may go on is not broken off: the settings name what holds now, and the stream is of all of it."""
    ends, data = list(boundaries(5)), tmp_path / "data"
    data.mkdir()
    (data / "owner.key").write_bytes(KEY)
    (data / "owner.key").chmod(0o600)
    one = keeper(data, ends[0] - 3600, WHO)
    fed(one, week(days=5))
    other = habits(seed=2)
    reached = 15 if changed == "announced" else 40
    for number, boundary in enumerate(ends[:reached]):
        one.turn(boundary)
        if number == 3:
            one.change("jane", Policy(["clinic"], delta=0.05), routine=other)
    now = replace(WHO, policy=Policy(["clinic"], delta=0.05), routine=other)
    assert (one.people["jane"].config.history[-1].date <= one.people["jane"].next[0]) == (changed == "in force")
    back_up(BackupOrder(data), tmp_path / "copy", START)
    for boundary in ends[reached : reached + 6]:
        one.turn(boundary)
    told = list(one.journal.all_rows("jane"))
    closed(one)
    with closing(SqliteJournal(data / "journal.db")) as journal, closing(OwnStore(data / "own.db")) as own:
        assert mended([now], journal, own, KEY, ends[reached + 6] - 60, new_stream=True) == [], "nothing is refused"
    copy = tmp_path / "copy"
    with closing(SqliteJournal(copy / "journal.db")) as journal, closing(OwnStore(copy / "own.db")) as own:
        events = heard(tmp_path / "events", told[3:])
        notes = mended([now], journal, own, KEY, ends[reached + 6] - 60, complete=events)
    assert notes[0].startswith("jane: 6 slots are completed")
    again = keeper(copy, ends[reached + 6] - 60, now)
    assert list(again.journal.all_rows("jane")) == told
    (row,) = again.turn(ends[reached + 6])
    assert isinstance(row.output, Skipped), "memory is lost, and an observer knows"
    closed(again)
