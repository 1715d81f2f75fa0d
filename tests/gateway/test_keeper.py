"""The slot clock: once, in order, from what was read before the boundary; whatever the clock does."""

from __future__ import annotations

import datetime as dt
import hashlib
import itertools
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Clock
from discreet.gateway.slots.keeper import Keeper
from discreet.gateway.store.journal import JournalError, JournalRow, SqliteJournal
from discreet.gateway.store.journal.base import broken_link
from discreet.gateway.store.own_store import OwnStore, Reading
from discreet.live import Stream
from discreet.outputs import Released, Skipped
from discreet.randomness import KeyedEntropy
from tests.gateway.people import CLOCK, KEY, PLACES, START, a_day, closed, habits, keeper, person_config, readings

NOW = START.timestamp()
SLOT = CLOCK.slot_seconds
ROUTINE = habits()


def counted_bits() -> Callable[[int], bytes]:
    """Bits that differ from call to call and are the same in every run."""
    calls = iter(range(10**9))
    return lambda count: hashlib.shake_256(b"%d" % next(calls)).digest(count)


def week(seed: int = 5, days: int = 7) -> dict[dt.date, tuple[str, ...]]:
    rng = np.random.default_rng(seed)
    return {START.date() + dt.timedelta(days=k): a_day(CLOCK, rng) for k in range(days)}


def boundaries(days: int) -> Iterator[float]:
    midnight = dt.datetime.combine(START.date(), dt.time(), dt.UTC).timestamp()
    return (midnight + SLOT * k for k in range(1, days * CLOCK.slots + 1))


def fed(one: Keeper, days: dict[dt.date, tuple[str, ...]]) -> None:
    for date, contexts in days.items():
        one.read(list(readings(contexts, date)), 2e9)


def test_each_slot_is_decided_once_when_it_ends(tmp_path: Path) -> None:
    one = keeper(tmp_path, NOW, person_config(routine=ROUTINE))
    fed(one, week())
    rows: list[JournalRow] = []
    for boundary in boundaries(7):
        assert one.turn(boundary - 0.001) == []
        rows += one.turn(boundary)
        assert one.turn(boundary) == []
    assert [row.key for row in rows] == [(START.date() + dt.timedelta(days=k // 12), k % 12) for k in range(84)]
    assert [row.ends for row in rows] == [int(at) for at in boundaries(7)]
    assert list(one.journal.all_rows("jane")) == rows
    assert broken_link(iter(rows), KEY) is None
    assert one.own.truth("jane", START.date()) == dict(enumerate(week()[START.date()]))
    closed(one)


def test_a_week_at_the_gateway_is_a_week_of_a_stream(tmp_path: Path) -> None:
    """The same readings and the same chance, slot by slot: what live.Stream releases."""
    one, days = keeper(tmp_path, NOW, person_config(routine=ROUTINE), bits=counted_bits()), week()
    fed(one, days)
    told = [row.output for boundary in boundaries(7) for row in one.turn(boundary)]

    class Chance:
        """A key a slot, as the keeper takes them."""

        def __init__(self) -> None:
            self.bits_of, self.inner = counted_bits(), KeyedEntropy(bytes(32))

        def next(self) -> None:
            self.inner = KeyedEntropy(self.bits_of(32))

        def bits(self, count: int) -> int:
            return self.inner.bits(count)

        def below(self, bound: int) -> int:
            return self.inner.below(bound)

    chance = Chance()
    stream = Stream(ROUTINE, person_config(routine=ROUTINE).make, start=START.date(), rng=chance)
    expected = []
    for contexts in days.values():
        for context in contexts:
            chance.next()
            expected.append(stream.release(context).output)
    assert told == expected
    assert sum(isinstance(output, Released) for output in told) > 40
    closed(one)


class KilledError(Exception):
    """The machine lost power."""


def killed_at(one: Keeper, step: int) -> None:
    """Make the keeper's n-th write (of any kind) fail: before it happens for even steps, after it for odd ones."""
    count = iter(range(10**6))

    def guarded(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            at = next(count)
            if at == step // 2 and step % 2 == 0:
                raise KilledError
            done = real(*given, **named)
            if at == step // 2:
                raise KilledError
            return done

        return call

    for owner, names in ((one.own, ("stamp", "settle")), (one.journal, ("append",))):
        for name in names:
            setattr(owner, name, guarded(getattr(owner, name)))


@pytest.mark.parametrize("outputs", ["suppress", "deceive"])
@pytest.mark.parametrize("step", range(18))
def test_killed_between_any_two_writes_nothing_is_lost_or_drawn_again(tmp_path: Path, step: int, outputs: str) -> None:
    """A machine that never stopped tells the same, from the same bits; what was written before the kill stays."""
    days, who = week(days=2), person_config(routine=ROUTINE, outputs=outputs)
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    whole.mkdir()
    cut.mkdir()
    one = keeper(whole, NOW, who, bits=counted_bits())
    fed(one, days)
    expected = [row for boundary in boundaries(2) for row in one.turn(boundary)]
    closed(one)
    drawn = counted_bits()
    bits: Iterator[bytes] = (drawn(32) for _ in itertools.count())
    taken = b""

    def take(count: int) -> bytes:
        nonlocal taken
        taken = next(bits)
        return taken

    two = keeper(cut, NOW, who, bits=take)
    fed(two, days)
    seen: list[JournalRow] = []
    killed_at(two, step)
    for boundary in boundaries(2):
        try:
            seen += two.turn(boundary)
        except KilledError:
            closed(two)
            before = _rows(cut, who, boundary)
            if step % 6 == 0:  # killed before the stamp was written: no bits were taken that anything came of
                bits = itertools.chain([taken], bits)
            two = keeper(cut, boundary + 30, who, bits=take)
            late = list(readings(("clinic",) * 12, START.date()))
            two.read(late, boundary + 30)  # from the same phone at the same instants: nothing
            assert list(two.journal.all_rows("jane"))[: len(before)] == before, "what was written is as it was"
            two.turn(boundary + 30)
            seen = list(two.journal.all_rows("jane"))
    assert [(row.key, row.output, row.chain) for row in seen] == [(row.key, row.output, row.chain) for row in expected]
    stamp = two.own.stamped("jane")
    assert stamp is not None
    assert stamp.bits is None, "the bits are erased"
    closed(two)


def _rows(folder: Path, who: Any, now: float) -> list[JournalRow]:
    one = keeper(folder, now, who)
    rows = list(one.journal.all_rows("jane"))
    closed(one)
    return rows


def test_a_disk_that_fills_up_tells_nothing_and_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    one = keeper(tmp_path, NOW, person_config(routine=ROUTINE), bits=counted_bits())
    fed(one, week())
    real, tries = one.journal.append, []

    def full(*given: Any) -> None:
        tries.append(given[0][0].wire)
        raise JournalError("disk full")

    one.journal.append = full  # type: ignore[method-assign, assignment]
    first = next(boundaries(1))
    for late in (0, 10, 3000):
        with pytest.raises(JournalError):
            one.turn(first + late)
    assert len(set(tries)) == 1, "drawn again from the same bits"
    one.journal.append = real  # type: ignore[method-assign]
    (row, *_) = one.turn(first + 3001)
    assert row.wire == tries[0]
    assert not isinstance(row.output, Skipped), "it was stamped in time"
    closed(one)


def test_within_the_grace_late_beyond_it_skipped_in_public(tmp_path: Path) -> None:
    one = keeper(tmp_path, NOW, person_config(routine=ROUTINE))
    fed(one, week())
    ends = list(boundaries(1))
    (late,) = one.turn(ends[0] + 60)
    assert not isinstance(late.output, Skipped)
    rows = one.turn(ends[4] + 1)  # off over three boundaries, back a second after the fourth
    assert [isinstance(row.output, Skipped) for row in rows] == [True, True, True, False]
    assert [row.kernel == "" for row in rows] == [True, True, True, False]
    closed(one)


def test_clocks_that_jump(tmp_path: Path) -> None:
    one = keeper(tmp_path, NOW, person_config(routine=ROUTINE))
    fed(one, week())
    ends = list(boundaries(7))
    one.turn(ends[0])
    assert one.turn(ends[0] - 5000) == [], "set back: quiet until the next boundary"
    rows = one.turn(ends[40] + 30)  # set forward: what lies between is skipped
    assert [isinstance(row.output, Skipped) for row in rows] == [True] * 39 + [False]
    closed(one)
    behind = keeper(tmp_path, ends[3], person_config(routine=ROUTINE))  # a board whose clock is not set yet: it waits
    assert behind.turn(ends[3] + 5) == []
    assert behind.reached == ends[40]
    assert len(behind.turn(ends[41])) == 1
    closed(behind)


@pytest.mark.parametrize(("year", "month", "day", "kind"), [(2026, 3, 29, "spring"), (2026, 10, 25, "autumn")])
def test_nights_when_clocks_change(tmp_path: Path, year: int, month: int, day: int, kind: str) -> None:
    """Every slot once and in order; the boundaries never go back."""
    clock = Clock(48, "Europe/Paris")
    date = dt.date(year, month, day)
    begin = clock.start_of(date - dt.timedelta(days=1), 40)
    who = person_config(routine=habits(clock), outputs="suppress", clock=clock)
    one = keeper(tmp_path, begin.timestamp() + 1, who)
    rows: list[JournalRow] = []
    instant = begin.timestamp() + 2
    while instant < clock.end_of(date, 47).timestamp() + 1:
        rows += one.turn(instant)
        instant += 300
    assert [row.key for row in rows] == [(date - dt.timedelta(days=1), k) for k in range(40, 48)] + [
        (date, k) for k in range(48)
    ][: len(rows) - 8]
    assert all(a.ends <= b.ends for a, b in itertools.pairwise(rows))
    together = sum(a.ends == b.ends for a, b in itertools.pairwise(rows))
    assert together == (2 if kind == "spring" else 0)
    assert not any(isinstance(row.output, Skipped) for row in rows)
    closed(one)


def test_readings_that_come_late_early_twice_or_from_elsewhere_change_nothing_decided(tmp_path: Path) -> None:
    days = week()
    one, two = (tmp_path / name for name in ("one", "two"))
    one.mkdir()
    two.mkdir()
    plain = keeper(one, NOW, person_config(routine=ROUTINE), bits=counted_bits())
    fed(plain, days)
    expected = [row.output for boundary in boundaries(2) for row in plain.turn(boundary)]
    closed(plain)
    noisy = keeper(two, NOW, person_config(routine=ROUTINE), bits=counted_bits())
    told = []
    rng = np.random.default_rng(1)
    for number, boundary in enumerate(boundaries(2)):
        date = START.date() + dt.timedelta(days=number // 12)
        batch = [list(readings(days[date], date))[number % 12]]
        batch += batch  # twice
        if number % 12:
            early = list(readings(days[date], date))[: number % 12]
            batch += [early[k] for k in rng.permutation(len(early))]  # again, in any order
        noisy.read(batch, boundary)
        told += [row.output for row in noisy.turn(boundary)]
        wrong = next(readings(("clinic",), date))
        past = type(wrong)("jane", "tablet", int((boundary - SLOT + 60) * 1e6), wrong.position)
        noisy.read([past], boundary + 1)  # of the slot that is over, from another device
        assert noisy.journal.last("jane").key == (date, number % 12)  # type: ignore[union-attr]
        with noisy.own._transaction() as run:  # and gone before it stands in the next
            run.execute("DELETE FROM reading WHERE source = 'tablet'")
    assert told == expected
    assert noisy.read([type(wrong)("jane", "phone", int((boundary + 1000) * 1e6), wrong.position)], boundary) == (0, 1)
    closed(noisy)


def test_outputs_leave_at_multiples_of_the_margin(tmp_path: Path) -> None:
    one = keeper(tmp_path, NOW, person_config(routine=ROUTINE), margin=2.0)
    end = next(boundaries(1))
    (row,) = one.turn(end)
    assert [one.leaves(row, end + late) - end for late in (0.0, 0.1, 1.9, 2.0, 2.1, 7.5)] == [2, 2, 2, 2, 4, 8]
    closed(one)


def test_an_own_store_that_is_gone_is_a_skip_in_public(tmp_path: Path) -> None:
    """Memory is lost, and an observer has to know; after that it goes on."""
    one = keeper(tmp_path, NOW, person_config(routine=ROUTINE))
    fed(one, week())
    ends = list(boundaries(1))
    one.turn(ends[0])
    one.turn(ends[1])
    one.own.erase("jane")
    closed(one)
    two = keeper(tmp_path, ends[1] + 5, person_config(routine=ROUTINE))
    fed(two, week())
    ((first,), (second,)) = two.turn(ends[2]), two.turn(ends[3])
    assert isinstance(first.output, Skipped)
    assert not isinstance(second.output, Skipped)
    closed(two)


def test_many_people_share_the_commits(tmp_path: Path) -> None:
    people = [person_config(f"p{k}", ROUTINE, "suppress") for k in range(20)]
    one = keeper(tmp_path, NOW, *people)
    commits = []
    real = one.journal.append
    one.journal.append = lambda rows, points=(): (commits.append(len(rows)), real(rows, points))[1]  # type: ignore
    for boundary in boundaries(1):
        one.turn(boundary)
    assert commits == [20] * 12
    assert [len(list(one.journal.all_rows(f"p{k}"))) for k in range(20)] == [12] * 20
    assert PLACES.names
    closed(one)


def test_bits_that_are_erased_are_in_no_file_any_more(tmp_path: Path) -> None:
    """Whoever has them, and what was told, knows what was true. The write-ahead log is a file too."""
    taken: list[bytes] = []
    draw = counted_bits()

    def take(count: int) -> bytes:
        taken.append(draw(count))
        return taken[-1]

    one = keeper(tmp_path, NOW, person_config(routine=ROUTINE), bits=take)
    fed(one, week(days=1))
    for boundary in boundaries(1):
        one.turn(boundary)
        held = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert [bits for bits in taken if bits in held] == []
    assert len(taken) == 12
    with closing(sqlite3.connect(tmp_path / "own.db")) as reader:  # a backup, say: no slot waits for it
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM stamp").fetchall()
        began = time.monotonic()
        one.turn(one.next)
        assert time.monotonic() - began < 10, "SQLite would wait for thirty seconds"
    one.turn(one.next)
    held = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert [bits for bits in taken if bits in held] == []
    closed(one)


@pytest.mark.parametrize("how", ["erase", "erase_past", "forget"])
def test_what_is_erased_is_overwritten(tmp_path: Path, how: str) -> None:
    """Readings and the truth, as somebody who has the disk would look for them."""
    own = OwnStore(tmp_path / "own.db")
    labels = [f"somewhere-{k}-nobody-knows" for k in range(200)]
    own.read([Reading("jane", "phone", (k + 1) * 10**6, label=label) for k, label in enumerate(labels)])
    own.read([Reading("joe", "phone", 2**61, label="stays")])

    def held() -> int:
        return sum(path.read_bytes().count(b"nobody-knows") for path in tmp_path.iterdir())

    assert held() >= len(labels)
    if how == "forget":
        own.forget(dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    else:
        getattr(own, how)("jane")
    assert held() == 0
    assert [one.label for one in own.readings("joe", 0)] == ["stays"]
    own.close()


def test_files_are_closed_when_nobody_reads_them(tmp_path: Path) -> None:
    """SQLite crashes the process where a connection is closed while another thread uses it."""
    for _ in range(20):
        journal, own = SqliteJournal(tmp_path / "journal.db"), OwnStore(tmp_path / "own.db")
        ended: list[str] = []

        def read(look: Callable[[], object], ended: list[str] = ended) -> None:
            try:
                while True:
                    look()
            except JournalError as error:
                ended.append(str(error))

        looks = (journal.mark, own.people)
        threads = [threading.Thread(target=read, args=(look,)) for look in looks for _ in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(0.005)
        journal.close()
        own.close()
        for thread in threads:
            thread.join(10)
        assert len(ended) == len(threads)
