"""A month through the command, the gateway and Spark's stream: one rule, slot for slot, by the same bits.

The months are those in which Paris changes its clocks, begun in the middle of a day. Readings are several a slot or
none, of several places in a slot, at the same instant, at the edges, late, out of order, and too far ahead. The judge
is a loop over sorted readings, which shares no time arithmetic with what it judges.
"""

from __future__ import annotations

import datetime as dt
import hmac
import inspect
import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from discreet import Clock, Policy, Session
from discreet.cli.live import by_the_clock, opened
from discreet.cli.stream import stream as stream_verb
from discreet.gateway.slots.keeper import Keeper
from discreet.gateway.slots.person import PersonConfig
from discreet.gateway.store.own_store import Reading as Sighted
from discreet.live import Stream
from discreet.live.slots import MARGIN, SECOND, Schedule, instants, latest
from discreet.live.standing import Label, StandingRule
from discreet.mechanisms import NoMask
from discreet.numerics import digest_of
from discreet.outputs import SKIPPED, Output, Released, Skipped, Suppressed
from discreet.publish.stream.day_keys import DayKeys, day_of
from discreet.publish.stream.people import Following, LabelledInstant, People
from discreet.randomness import KeyedEntropy
from tests.gateway.people import PLACES, closed, keeper
from tests.publish.followed import SPEC, Engine, a_day, folder_of, habits, stands

CLOCK = Clock(48, "Europe/Paris")
LENGTH = 1_800_000
HOLD = 5_000
"""Seconds that readings stand: not a whole number of slots."""
FIRST = 17
"""The slot of the first date in which the stream begins."""
MINUTE, HOUR = 60_000, 3_600_000
MARCH, OCTOBER = dt.date(2026, 3, 1), dt.date(2026, 10, 1)
DAYS = 31
CHANGES = {dt.date(2026, 3, 29), dt.date(2026, 10, 25)}
Key = tuple[dt.date, int]


# --- the slow twin


def boundaries(first: dt.date) -> tuple[list[Key], list[int]]:
    """The slots of a month, and when each begins, in milliseconds, with the end of the last.

    Half an hour after the other in UTC, by what a clock on the wall shows: a slot begins when the wall has reached it,
    and a wall that goes back stays in the slot that it had reached.
    """
    keys = [(first + dt.timedelta(days=day), slot) for day in range(DAYS + 1) for slot in range(48)]
    at = dt.datetime.combine(first - dt.timedelta(days=1), dt.time(20), dt.UTC)
    begins: list[int] = []
    while len(begins) <= DAYS * 48:
        wall = at.astimezone(ZoneInfo("Europe/Paris"))
        shown = (wall.date(), wall.hour * 2 + wall.minute // 30)
        while len(begins) <= DAYS * 48 and keys[len(begins)] <= shown:
            begins.append(round(at.timestamp() * 1000))
        at += dt.timedelta(minutes=30)
    return keys[: DAYS * 48], begins


@dataclass
class Month:
    """What was read, when it came, and when somebody looked: instants in milliseconds."""

    first: dt.date
    keys: list[Key]
    begins: list[int]
    taken: list[tuple[int, LabelledInstant]] = field(default_factory=list)
    """(when it came, reading)."""
    looks: list[int] = field(default_factory=list)
    back: set[int] = field(default_factory=set)
    """Looks at which the machine was off before."""

    def arrived(self, since: int, until: int, rng: random.Random) -> list[LabelledInstant]:
        """What came after one look and by another, in any order.

        What is too far ahead is left out: the gateway and Spark each refuse it where it comes in, which their own tests
        see to; lines are of when they come.
        """
        came = [one for at, one in self.taken if since < at <= until and one.instant * 1000 <= latest(at * 1000)]
        return rng.sample(came, len(came))

    def judged(self) -> Iterator[str | None]:
        """The context of each slot from the first on, None where it is skipped."""
        for begins, ends in pairwise(self.begins[FIRST:]):
            decided = min(look for look in self.looks if look >= ends + 2000)
            known = sorted(
                {
                    one
                    for came, one in self.taken
                    if begins - HOUR * 3 <= one.instant < ends and came <= decided and one.instant <= came + 120_000
                }
            )
            skipped = decided - (ends + 2000) > 60_000
            yield None if skipped else stands(known, begins, ends, HOLD * 1000, self.end_of)

    def last_is_not_it(self, contexts: list[str | None]) -> int:
        """In how many slots another label than the last stands."""
        last = [
            max([one for _, one in self.taken if begins <= one.instant < ends], default=None)
            for begins, ends in pairwise(self.begins[FIRST:])
        ]
        return sum(
            one is not None and said not in (None, one.context) for said, one in zip(contexts, last, strict=True)
        )

    def end_of(self, instant: int) -> int:
        """When the slot of an instant ends."""
        return self.begins[bisect_right(self.begins, instant)]


OFF = {100: 7, 700: 15}
"""From which slot nothing runs, and for how many; it is back in the middle of the last."""


def lived(first: dt.date, seed: int) -> Month:
    """What is true changes within slots too; nothing is said in some, and two times nothing runs."""
    rng, month = random.Random(seed), Month(first, *boundaries(first))
    contexts = [label for k in range(DAYS) for label in a_day(np.random.default_rng([seed, k]), CLOCK)]
    silent = {k + more for k in range(8, DAYS * 48, 24) for more in range(rng.randrange(1, 8))}
    for k in range(FIRST, DAYS * 48):
        ends = month.begins[k + 1]
        start = next((at for at, count in OFF.items() if at <= k < at + count), None)
        look, queued = ends + 2000 + rng.choice([0, 1, 59_999, 60_000, rng.randrange(60_000)]), None
        if start is not None:
            queued = month.begins[start + OFF[start] - 1] + LENGTH // 2
            look = queued if k < start + OFF[start] - 1 else look
            month.back.add(queued)
        month.looks.append(look)
        if k not in silent and month.begins[k] < ends:
            _read(month, rng, k, contexts[k], queued)
    month.looks = sorted(set(month.looks))
    return month


def _read(month: Month, rng: random.Random, k: int, true: str, queued: int | None) -> None:
    """One slot's readings; `queued` is when the phone could send them, if it had to wait."""
    begins, ends, look = month.begins[k], month.begins[k + 1], month.looks[-1]
    labels = [true, true, "clinic", "home", "shop", "work", "moving", "unknown"]

    def take(instant: int, label: str, at: int | None = None) -> None:
        if at is None:
            at = rng.randrange(instant, look + 1) if queued is None else max(queued, instant)
        month.taken.append((at, LabelledInstant(instant, label)))

    for _ in range(rng.choice([1, 1, 2, 3, 6])):
        take(rng.randrange(begins, ends), rng.choice(labels))
    for edge in (begins, ends - 1):
        if rng.random() < 0.1:
            take(edge, rng.choice(labels))
    if rng.random() < 0.1:  # two halves, to the millisecond
        take(begins, "home")
        take((begins + ends) // 2, "work")
    if rng.random() < 0.2:
        take(*month.taken[-1][1])  # twice
    if rng.random() < 0.3:  # at the same instant
        take(month.taken[-1][1].instant, rng.choice(labels))
    if queued is None and rng.random() < 0.2:  # late
        take(rng.randrange(begins, ends), rng.choice(labels), look + rng.randrange(1, HOUR))
    if rng.random() < 0.1:
        take(look + rng.randrange(1, MINUTE), rng.choice(labels), look)  # of a clock that is a little ahead
    if rng.random() < 0.05:
        take(look + rng.randrange(2 * MINUTE + 1, HOUR), "clinic", look)  # of one that is wrong


# --- chance: the same bits for a slot, whoever decides it


class Bits:
    """The key of each slot, as Spark's stream derives it (docs/population.md)."""

    def __init__(self, following: Following, name: str) -> None:
        person = People(following).get(name)
        assert person is not None
        self.keys, self.person = DayKeys(following.keys), person

    def key(self, date: dt.date, slot: int) -> bytes:
        run = self.keys.of(day_of(instants(CLOCK, date, slot)[1] // 1000))
        words = ["discreet stream", self.person.name, date.isoformat(), slot, self.person.decision, run.build]
        return hmac.digest(run.key, digest_of(words), "sha256")


class Chance:
    """A source whose owner says which slot comes next."""

    def __init__(self, bits: Bits) -> None:
        self._bits, self._key, self._inner = bits, b"", KeyedEntropy(bytes(32))
        self.next: Callable[[], Key] = lambda: (MARCH, 0)

    def _now(self) -> KeyedEntropy:
        key = self._bits.key(*self.next())
        if key != self._key:
            self._key, self._inner = key, KeyedEntropy(key)
        return self._inner

    def bits(self, count: int) -> int:
        return self._now().bits(count)

    def below(self, bound: int) -> int:
        return self._now().below(bound)


Told = list[tuple[dt.date, int, Output]]


def by_the_judge(month: Month, contexts: list[str | None], bits: Bits) -> Told:
    chance, told = Chance(bits), Told()
    person = bits.person
    endless: Any = person.routine.since(month.first, first=FIRST)
    session = Session(SPEC.make(endless, person.policy), rng=chance)
    for (date, slot), context in zip(month.keys[FIRST:], contexts, strict=True):
        chance.next = lambda key=(date, slot): key  # type: ignore[misc]
        told.append((date, slot, session.skip() if context is None else session.release(context)))
    return told


# --- the three


class Script:
    """Standard input, whose lines are given times here so that they can be late, and the looks at the clock."""

    def __init__(self, month: Month) -> None:
        self.month, self.at, self.rng = month, month.begins[FIRST], random.Random(3)

    def now(self) -> dt.datetime:
        return dt.datetime.fromtimestamp(self.at / 1000, dt.UTC)

    def until(self, due: int, now: object) -> tuple[list[Label], bool]:
        before, awake = self.at, bisect_left(self.month.looks, due // 1000)
        if awake == len(self.month.looks):
            return [], False
        self.at = max(before, self.month.looks[awake])
        came = self.month.arrived(before, self.at, self.rng)
        return [Label(one.instant * 1000, one.context) for one in came], True


def by_command(month: Month, bits: Bits, state: Path) -> Told:
    """With a start from its state now and then."""
    chance, person, told, script = Chance(bits), bits.person, Told(), Script(month)
    make = partial(SPEC.make, policy=person.policy)
    stream = Stream(person.routine, make, start=month.first, first=FIRST, rng=chance)
    chance.next = lambda: (stream.date, stream.slot)
    lines: Any = script
    while True:
        rows = by_the_clock(stream, StandingRule(HOLD), lines, script.now, state=state, schedule=Schedule(wait=2))
        some = [(row.date, row.slot, row.output) for row in islice(rows, 300)]
        told += some
        if len(some) < 300:
            return told
        stream = Stream.resume(person.routine, make, state.read_text("utf-8"), rng=chance)


def by_gateway(month: Month, bits: Bits, folder: Path) -> Told:
    """With a start from its files now and then. It decides at a slot's end, where the others wait for two seconds."""
    rng, told, before = random.Random(1), Told(), month.begins[FIRST]
    person = bits.person
    who = PersonConfig(person.name, CLOCK, person.routine, SPEC, person.policy, PLACES, hold=HOLD)

    def started(now: int) -> Keeper:
        return keeper(folder, now / 1000, who, grace=62, bits=lambda count: bits.key(*one.people[who.name].next))

    one: Keeper = started(before + 1)
    for number, look in enumerate(month.looks):
        if number % 300 == 99:
            closed(one)
            one = started(before + 1)
        arrived = month.arrived(before, look, rng)
        seen = [Sighted(who.name, "phone", each.instant * 1000, label=each.context) for each in arrived]
        one.read(seen, look / 1000)
        told += [(row.date, row.slot, row.output) for row in one.turn(look / 1000)]
        before = look
    assert list(one.journal.all_rows(who.name))[-1].key == told[-1][:2]
    closed(one)
    return told


def by_spark(month: Month, bits: Bits, following: Following) -> Told:
    """Without Spark itself."""
    rng, told, before = random.Random(2), Told(), month.begins[FIRST]
    name = bits.person.name
    engine = Engine(following, [name], before, since=None)
    for look in month.looks:
        batch = [(name, one) for one in month.arrived(before, look, rng)]
        told += [(row.date, row.slot, row.output) for row in engine.batch(batch, look)]
        before = look
    return told


@pytest.mark.parametrize(("first", "empty"), [(MARCH, 2), (OCTOBER, 0)], ids=["march", "october"])
def test_a_month_with_a_change_of_the_clocks_is_the_same_for_all(tmp_path: Path, first: dt.date, empty: int) -> None:
    following = folder_of(tmp_path, ["ann"], clock=CLOCK, margin=2, grace=60, carry=HOLD)
    month, bits = lived(first, seed=first.month), Bits(following, "ann")
    assert sum(begins == ends for begins, ends in zip(month.begins, month.begins[1:], strict=False)) == empty
    contexts = list(month.judged())
    assert contexts.count(None) == 6 + 14
    assert set(contexts) == {None, "unknown", "home", "work", "clinic", "shop", "moving"}
    assert month.last_is_not_it(contexts) > 100
    wanted = by_the_judge(month, contexts, bits)
    assert {type(output) for *_, output in wanted} == {Released, Suppressed, Skipped}
    assert by_spark(month, bits, following) == wanted
    (tmp_path / "gateway").mkdir()
    assert by_gateway(month, bits, tmp_path / "gateway") == wanted
    assert by_command(month, bits, tmp_path / "state") == wanted


# --- parts of the rule by themselves


def test_the_verb_of_spark_has_the_margin_of_the_rule() -> None:
    """It is written there once more, so that --help imports nothing heavy."""
    assert inspect.signature(stream_verb).parameters["margin"].default == MARGIN


def test_a_slot_is_decided_from_when_it_is_due_until_the_grace_is_over() -> None:
    rule, ends = Schedule(wait=2, grace=60), 10**15
    assert rule.due(ends) == ends + 2 * SECOND
    assert [rule.skips(ends, ends + 62 * SECOND + late) for late in (-1, 0, 1)] == [False, False, True]
    assert not Schedule(grace=None).skips(ends, 2 * ends)


def test_a_mechanism_that_starts_anew_each_day_runs_by_the_same_clock() -> None:
    """Over the night in which clocks go forward: every slot of three dates once, a session a date."""
    clock = Clock(24, "Europe/Paris")
    routine, first = habits(1, clock), dt.date(2026, 3, 28)
    stream = Stream(routine, lambda model: NoMask(model, Policy()), start=first, carry=1)
    assert not stream.endless
    begins, rows = instants(clock, first, 0)[0], []
    for hour in range(1, 72):
        now = begins + hour * 3600 * SECOND
        for _, skips in stream.due(Schedule(), now):
            assert not skips
            rows.append(stream.release("home" if hour % 5 == 1 else None))
    dates = [first + dt.timedelta(days=k) for k in range(3)]
    assert [(row.date, row.slot) for row in rows] == [(date, slot) for date in dates for slot in range(24)]
    assert {row.output for row in rows} == {Released("home"), Released("unknown")}


class Slept:
    """Standard input of a computer that wakes up at a time and hears nothing more."""

    def __init__(self, now: dt.datetime) -> None:
        self.time = now

    def now(self) -> dt.datetime:
        return self.time

    def until(self, due: int, now: object) -> tuple[list[Label], bool]:
        return [], False


def test_the_command_begins_in_the_slot_that_has_not_ended() -> None:
    """At 02:10 for the second time, slots 4 and 5 of the wall clock: 4 is over."""
    now = dt.datetime(2026, 10, 25, 1, 10, tzinfo=dt.UTC)
    assert CLOCK.locate(now) == (dt.date(2026, 10, 25), 4)
    stream = opened(
        habits(1, CLOCK), partial(SPEC.make, policy=Policy()), carry=0, date=None, now=lambda: now, state=None
    )
    assert (stream.date, stream.slot) == (dt.date(2026, 10, 25), 5)


def test_a_command_that_slept_skips_the_hour_that_is_left_out_too() -> None:
    """As the gateway and Spark do: slots 4 and 5 end with slot 3, and nobody listened."""
    date, make = dt.date(2026, 3, 29), partial(SPEC.make, policy=Policy())
    stream = Stream(habits(1, CLOCK), make, start=date)
    slept: Any = Slept(dt.datetime(2026, 3, 29, 1, 40, tzinfo=dt.UTC))  # 03:40
    rows = list(by_the_clock(stream, StandingRule(0), slept, slept.now))
    assert [(row.slot, row.output) for row in rows] == [(slot, SKIPPED) for slot in range(7)]
