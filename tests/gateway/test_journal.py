"""The journal: one body for every database that it can be in."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from discreet import DiscreetError
from discreet.gateway.health import Health
from discreet.gateway.slots.keeper import Keeper
from discreet.gateway.store.integrity import check_all, check_some
from discreet.gateway.store.journal import Journal, JournalError, JournalRow, SqliteJournal
from discreet.gateway.store.journal.base import broken_link
from discreet.gateway.store.own_store import OwnStore
from discreet.outputs import SKIPPED, SUPPRESSED, Generalized, Output, Released
from tests.gateway.people import KEY, START, habits, person_config
from tests.gateway.postgres import Server
from tests.gateway.test_keeper import boundaries, fed, week

DAY = dt.date(2026, 3, 2)
OUTPUTS: tuple[Output, ...] = (Released("home"), SUPPRESSED, SKIPPED, Generalized('Zürich, "West" \\ 北'), SUPPRESSED)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def open_journal(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Journal]:
    """Opens one and the same journal, as often as it is called."""
    if request.param == "sqlite":
        return lambda **options: SqliteJournal(tmp_path / "journal.db", **options)
    server: Server = request.getfixturevalue("server")
    where = server.database()
    from discreet.gateway.store.journal.postgres import PostgresJournal

    return lambda **options: PostgresJournal(where, **options)


@pytest.fixture
def journal(open_journal: Callable[..., Journal]) -> Iterator[Journal]:
    """A journal without rows."""
    one = open_journal()
    yield one
    one.close()


def rows_of(stream: int, person: str = "jane", first: int = 0, before: bytes = b"") -> list[JournalRow]:
    """Rows of all kinds, linked."""
    rows: list[JournalRow] = []
    for k, output in enumerate(OUTPUTS):
        column = () if output == SKIPPED else (0.1 + k, 1 / 3, 5e-324)
        date, slot = DAY + dt.timedelta(days=(first + k) // 2), (first + k) % 2
        kernel = "" if output == SKIPPED else "ab" * 16
        row = JournalRow(person, date, slot, 1_772_000_000 + 60 * k, stream, first + k, output, kernel, column)
        rows.append(row.linked(KEY, rows[-1].chain if rows else before))
    return rows


def altered(journal: Any, change: str) -> None:
    """Behind the journal's back, as a failing disk or somebody else at the database does."""
    with journal._transaction() if isinstance(journal, SqliteJournal) else journal._using("writes", "altered") as run:
        assert run.execute(change).rowcount == 1


def test_what_is_not_as_it_was_written_is_an_error_in_words(journal: Journal) -> None:
    head = journal.begin("jane", DAY, 0, "the first")
    journal.append(rows_of(head.stream))
    altered(journal, "UPDATE output SET output = 'no output' WHERE slot = 1 AND position = 1")
    reads: list[Callable[[], object]] = [
        lambda: journal.latest("jane", 10),
        lambda: journal.of_stream(head.stream),
        lambda: journal.page("jane"),
        lambda: list(journal.all_rows("jane")),
    ]
    for read in reads:
        with pytest.raises(JournalError, match="is damaged"):
            read()
    altered(journal, "UPDATE stream SET start = 'no date' WHERE first = 0")
    with pytest.raises(JournalError, match="is damaged"):
        journal.heads("jane")


def test_a_row_that_was_altered_is_noticed(journal: Journal) -> None:
    head = journal.begin("jane", DAY, 0, "the first")
    rows = rows_of(head.stream)
    journal.append(rows)
    health = Health()
    check_some(journal, KEY, health)
    assert health.ready
    altered(journal, "UPDATE output SET ends = ends + 1 WHERE position = 3")
    some, every = Health(), Health()
    check_some(journal, KEY, some)
    assert list(check_all(journal, KEY, every))
    for found in (some, every):
        assert f"{rows[3].date} slot {rows[3].slot}" in found.reasons[0].words


def test_rows_that_end_after_an_instant_are_taken_out(journal: Journal) -> None:
    head, other = journal.begin("jane", DAY, 0, "the first"), journal.begin("john", DAY, 0, "the first")
    rows = rows_of(head.stream)
    journal.append(rows, [(head.stream, 3, "before"), (head.stream, 5, "after")])
    journal.append(rows_of(other.stream, "john"), [(other.stream, 5, "his")])
    journal.set_aside("jane", rows[2].ends)
    assert journal.page("jane") == rows[:3]
    assert journal.checkpoints(head.stream) == [(3, "before")], "one ahead of the last row goes too"
    assert len(journal.page("john")) == len(rows)
    assert journal.checkpoints(other.stream) == [(5, "his")]
    journal.set_aside("jane", 0)
    assert journal.page("jane") == []


def test_rows_come_back_as_they_were_written(journal: Journal) -> None:
    head = journal.begin("jane", DAY, 0, "the first", "a checkpoint")
    rows = rows_of(head.stream)
    journal.append(rows[:2])
    journal.append(rows[2:], [(head.stream, 2, "later"), (head.stream, 4, "last")])
    assert list(journal.all_rows("jane")) == rows
    assert journal.last("jane") == rows[-1]
    assert journal.latest("jane", 2) == rows[-2:]
    assert journal.of_stream(head.stream, 1) == rows[2:]
    assert journal.checkpoints(head.stream) == [(4, "last"), (2, "later"), (0, "a checkpoint")]
    journal.append([], [(head.stream, slot, "more") for slot in range(5, 12)])
    assert [slot for slot, _ in journal.checkpoints(head.stream)] == [11, 10, 9, 8, 7, 6, 5, 4], "eight are kept"
    assert broken_link(journal.all_rows("jane"), KEY) is None
    assert journal.people() == ["jane"]
    assert (journal.last("joe"), journal.head("joe"), journal.heads("joe"), journal.latest("joe", 2)) == (
        None,
        None,
        [],
        [],
    )


def test_pages(journal: Journal) -> None:
    head = journal.begin("jane", DAY, 0, "the first")
    rows = rows_of(head.stream)
    journal.append(rows)
    assert journal.page("jane", limit=2) == rows[:2]
    assert journal.page("jane", after=rows[1].key) == rows[2:]
    assert journal.page("jane", after=rows[0].key, until=rows[2].key) == rows[1:3]
    assert journal.page("jane", after=rows[-1].key) == []
    assert journal.page("jane", until=(DAY - dt.timedelta(days=1), 5)) == []


def test_a_slot_is_written_once_and_a_transaction_whole_or_not_at_all(journal: Journal) -> None:
    head = journal.begin("jane", DAY, 0, "the first")
    rows = rows_of(head.stream)
    journal.append(rows[:1])
    with pytest.raises(JournalError, match="nothing was published"):
        journal.append([rows[1], replace(rows[0], output=SUPPRESSED)], [(head.stream, 1, "text")])
    assert list(journal.all_rows("jane")) == rows[:1]
    assert journal.checkpoints(head.stream) == []
    journal.append(rows[1:])
    assert list(journal.all_rows("jane")) == rows


def test_streams_of_people(journal: Journal, open_journal: Callable[..., Journal]) -> None:
    first = journal.begin("jane", DAY, 3, "the first")
    other = journal.begin("Ümit", DAY, 0, "the first")
    second = journal.begin("jane", DAY, 7, "a break")
    assert journal.heads("jane") == [first, second]
    assert journal.head("jane") == second
    assert len({first.stream, other.stream, second.stream}) == 3
    assert journal.people() == ["jane", "Ümit"]
    with closing(open_journal(look=True)) as beside:
        assert beside.heads("jane") == [first, second]


def test_one_keeper_at_a_time(journal: Journal, open_journal: Callable[..., Journal]) -> None:
    with pytest.raises(DiscreetError, match="another process keeps this journal"):
        open_journal()
    journal.close()
    open_journal().close()


@pytest.mark.postgres
def test_a_keeper_waits_for_the_server_to_notice_that_the_one_before_it_is_gone(server: Server) -> None:
    import psycopg

    from discreet.gateway.store.journal.postgres import KEEPER, PostgresJournal

    where = server.database()
    before = psycopg.connect(where, autocommit=True)
    before.execute("SELECT pg_advisory_lock(%s)", (KEEPER,))
    noticed = threading.Timer(0.5, before.close)
    noticed.start()
    PostgresJournal(where).close()
    noticed.join()
    assert before.closed


def test_a_chain_that_was_altered_is_found(journal: Journal) -> None:
    head = journal.begin("jane", DAY, 0, "the first")
    rows = rows_of(head.stream)
    rows[2] = replace(rows[2], ends=rows[2].ends + 1)
    journal.append(rows)
    found = broken_link(journal.all_rows("jane"), KEY)
    assert found is not None
    assert found.key == rows[2].key
    assert broken_link(journal.all_rows("jane"), bytes(31) + b"x") == rows[0]


def test_a_backup_is_a_journal_with_a_mark(journal: Journal, tmp_path: Path) -> None:
    head = journal.begin("jane", DAY, 0, "the first", "text")
    rows = rows_of(head.stream)
    journal.append(rows)
    assert journal.mark() is None
    journal.backup(tmp_path / "copy.db", "a backup of noon")
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    with closing(SqliteJournal(tmp_path / "copy.db")) as copy:
        assert list(copy.all_rows("jane")) == rows
        assert copy.heads("jane") == [head]
        assert copy.checkpoints(head.stream) == [(0, "text")]
        assert copy.mark() == "a backup of noon"
        assert copy.begin("jane", DAY, 9, "new").stream > head.stream
    assert journal.mark() is None
    journal.set_mark("x")
    journal.set_mark("y")
    assert journal.mark() == "y"
    journal.set_mark(None)
    assert journal.mark() is None


def test_a_keeper_decides_two_days_and_goes_on(open_journal: Callable[..., Journal], tmp_path: Path) -> None:
    """The same rows from the same bits, whichever database is below."""
    who = person_config(routine=habits(), outputs="suppress")
    rows: list[JournalRow] = []
    ends = list(boundaries(2))
    for first, until in ((0, 7), (7, 24)):
        with closing(open_journal()) as journal, closing(OwnStore(tmp_path / "own.db")) as own:
            one = Keeper([who], journal, own, KEY, ends[first] - 3600, bits=lambda count: bytes([7] * count))
            fed(one, week(days=2))
            for boundary in ends[first:until]:
                rows += one.turn(boundary)
            assert list(journal.all_rows("jane")) == rows
    assert [row.slot for row in rows] == [*range(12), *range(12)]
    assert not any(row.output == SKIPPED for row in rows)
    assert START.date() == rows[0].date


def test_a_server_that_is_away_tells_nothing_and_is_found_again(server: Server, tmp_path: Path) -> None:
    from discreet.gateway.store.journal.postgres import PostgresJournal

    ends = list(boundaries(1))
    who = person_config(routine=habits(), outputs="suppress")
    with closing(PostgresJournal(server.database())) as journal, closing(OwnStore(tmp_path / "own.db")) as own:
        one = Keeper([who], journal, own, KEY, ends[0] - 3600)
        fed(one, week())
        rows = one.turn(ends[0])
        server.stop()
        try:
            with pytest.raises(JournalError):
                one.turn(ends[1])
            with pytest.raises(JournalError):
                one.turn(ends[1])
            with pytest.raises(JournalError):
                journal.page("jane")
        finally:
            server.start()
        rows += one.turn(ends[1] + 30)
        assert [row.slot for row in rows] == [0, 1]
        assert list(journal.all_rows("jane")) == rows
