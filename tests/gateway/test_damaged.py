"""Files that a failing disk has altered: noticed, and said in words with a remedy, never as an error of SQLite's."""

from __future__ import annotations

import asyncio
import datetime as dt
import random
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from discreet import DiscreetError
from discreet.gateway.auth.tokens import Access
from discreet.gateway.health import Health
from discreet.gateway.store.backup import BackupOrder, back_up
from discreet.gateway.store.database import Lock
from discreet.gateway.store.integrity import TAIL, check_all, check_some
from discreet.gateway.store.journal import JournalError, JournalRow, SqliteJournal
from discreet.gateway.store.journal.base import broken_link
from discreet.gateway.store.own_store import OwnStore
from tests.gateway.people import CLOCK, KEY, START, closed, habits, keeper, person_config, readings
from tests.gateway.test_runtime import eventually
from tests.gateway.web import opened

ROUTINE = habits()
FLIPS = 60


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a gateway that has run for three weeks."""
    folder = tmp_path_factory.mktemp("whole")
    one = keeper(folder, START.timestamp(), person_config(routine=ROUTINE, outputs="suppress"))
    one.read(list(readings(("home",) * CLOCK.slots, START.date())), 2e9)
    for _ in range(21 * CLOCK.slots):
        one.turn(one.next)
    closed(one)
    with closing(Access(folder / "access.db")) as access:
        access.add("owner", None)
    (folder / "owner.key").write_bytes(KEY)
    (folder / "owner.key").chmod(0o600)
    return folder


def everything(folder: Path) -> None:
    """All that a gateway and its commands read."""
    with closing(SqliteJournal(folder / "journal.db")) as journal, closing(OwnStore(folder / "own.db")) as own:
        for person in journal.people():
            broken_link(journal.all_rows(person), KEY)
            for head in journal.heads(person):
                journal.checkpoints(head.stream)
                own.habits(person, head.stream)
                journal.of_stream(head.stream)
        journal.mark()
        own.people()
        own.readings("jane", 0)
        own.position_before("jane", "phone", 2**60)
        own.stamped("jane")
        own.truth("jane", START.date())
        own.why("jane", START.date())
    with closing(Access(folder / "access.db")) as access:
        access.list()
        access.look()
    one = keeper(folder, START.timestamp() + 30 * 86_400, person_config(routine=ROUTINE, outputs="suppress"))
    closed(one)


@pytest.mark.parametrize("name", ["journal.db", "own.db", "access.db", "journal.db.lock"])
def test_bits_that_flip_are_no_raw_errors(whole: Path, tmp_path: Path, name: str) -> None:
    rng, refused = random.Random(name), 0
    for number in range(FLIPS):
        folder = tmp_path / str(number)
        shutil.copytree(whole, folder)
        content = bytearray((folder / name).read_bytes() or bytes(4096))
        for _ in range(40):
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        (folder / name).write_bytes(content)
        with suppress(DiscreetError):
            refused += 1
            everything(folder)
            refused -= 1
        shutil.rmtree(folder)
    assert refused or name == "access.db"


def test_a_lock_that_is_no_database_and_a_copy_of_a_damaged_file(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "files")
    (tmp_path / "files" / "lock").write_bytes(b"no database" * 1000)
    with pytest.raises(DiscreetError, match="delete it"):
        Lock(tmp_path / "files", "folder")
    with (tmp_path / "files" / "journal.db").open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 40_000)
    with pytest.raises(DiscreetError, match="damaged"):
        back_up(BackupOrder(tmp_path / "files"), tmp_path / "copy", START)


def altered(whole: Path, folder: Path, where: str) -> Path:
    shutil.copytree(whole, folder)
    with closing(sqlite3.connect(folder / "journal.db")) as file, file:
        changed = file.execute(f"UPDATE output SET ends = ends + 1 WHERE {where}").rowcount
        assert changed == 1
    return folder


@pytest.fixture
def journal(whole: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[SqliteJournal]:
    one = SqliteJournal(altered(whole, tmp_path / "files", request.param) / "journal.db")
    yield one
    one.close()


@pytest.mark.parametrize("journal", ["date = '2026-03-22' AND slot = 5"], indirect=True)
def test_the_end_of_the_chain_is_checked_at_the_start(journal: SqliteJournal) -> None:
    health = Health()
    check_some(journal, KEY, health)
    (reason,) = health.reasons
    assert "2026-03-22 slot 5" in reason.words
    assert "discreet journal verify" in reason.words


@pytest.mark.parametrize("journal", ["date = '2026-03-03' AND slot = 3"], indirect=True)
def test_a_sample_is_checked_at_the_start_and_the_rest_later(journal: SqliteJournal) -> None:
    """The row lies before what is always looked at; of its few days twenty samples find it but for once in 1e6."""
    assert len(journal.latest("jane", 10_000)) > TAIL
    some, every = Health(), Health()
    check_some(journal, KEY, some, random.Random(1))
    steps = len(list(check_all(journal, KEY, every)))
    assert not some.ready
    assert "2026-03-03 slot 3" in every.reasons[0].words
    assert steps >= 1


def test_a_journal_that_is_whole_has_nothing_to_say(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "files")
    health = Health()
    with closing(SqliteJournal(tmp_path / "files" / "journal.db")) as journal:
        check_some(journal, KEY, health)
        assert list(check_all(journal, KEY, health))
    assert health.ready


def test_the_gateway_looks_at_it_while_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.gateway.app.DAILY", 0.05)

    async def story() -> None:
        async with opened(tmp_path) as web:
            await web.pass_slots(3)
            assert web.served.gateway.health.ready
            with closing(sqlite3.connect(tmp_path / "journal.db")) as file, file:
                file.execute('UPDATE output SET output = \'{"kind":"suppressed"} \' WHERE slot = 1')
                file.execute("UPDATE output SET ends = ends - 1 WHERE slot = 1")
            await eventually(lambda: [one.what for one in web.served.gateway.health.reasons] == ["chain"])

    asyncio.run(story())


def test_a_journal_that_cannot_be_read_for_a_while_is_not_called_altered(tmp_path: Path) -> None:
    """A database that is away says nothing of its rows; the notice goes when a check has read them."""
    health = Health()
    journal = SqliteJournal(tmp_path / "journal.db")
    journal.begin("jane", dt.date(2026, 3, 2), 0, "the first")
    read, failing = journal._read, True

    def at_times(query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        if failing:
            raise JournalError("the server is away")
        return read(query, values)

    journal._read = at_times  # type: ignore[method-assign]
    check_some(journal, KEY, health)
    assert list(check_all(journal, KEY, health)) == []
    assert [one.what for one in health.reasons] == ["journal check"]
    assert "altered" not in health.reasons[0].words
    failing = False
    assert list(check_all(journal, KEY, health)) == []
    assert health.ready
    journal.close()


def test_a_stop_while_the_journal_is_checked_finds_nothing_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The page that is being read is read to its end before the file is closed."""
    monkeypatch.setattr("discreet.gateway.app.DAILY", 0.01)

    async def story() -> None:
        begun = threading.Event()

        def slow(*given: object, **options: object) -> list[JournalRow]:
            begun.set()
            time.sleep(0.3)
            return page(*given, **options)  # type: ignore[arg-type]

        async with opened(tmp_path) as web:
            await web.pass_slots(1)
            journal = web.served.gateway.keeper.journal
            page = journal.page
            journal.page = slow  # type: ignore[method-assign]
            await asyncio.to_thread(begun.wait)
        await asyncio.sleep(0.5)  # a thread that nobody waits for would have read by now
        assert web.served.gateway.health.ready

    asyncio.run(story())
    assert "journal" not in caplog.text
