"""A stream over a routine: one session without end where the mechanism can, else a session a day, and it says which."""

from __future__ import annotations

import datetime as dt
import sys
from functools import partial
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet import mechanisms
from discreet.contracts import runs_without_end
from discreet.errors import OneDayError
from discreet.live import Stream
from discreet.mechanisms import Adaptive, Hybrid, NoMask
from discreet.mechanisms.perturbation import PolicyGraph
from discreet.models.routine.parts import days_by_part, part_on, parts_of, secrets_by_part, without_end
from discreet.outputs import SKIPPED, Release, Released, Skipped
from discreet.randomness import SeededEntropy
from tests.test_live import DAYS, FRIDAY, POLICY, day, interrupted

CLOCK = d.Clock(4, "Europe/Paris", cut="04:00")
ONE_DAY = dt.timedelta(days=1)


def routine(*, clock: d.Clock | None = CLOCK, seed: int = 5) -> d.Routine:
    """Weekdays and weekends of four slots, learned from a few random weeks: nothing is impossible in it."""
    rng = np.random.default_rng(seed)
    days = [
        d.Day(tuple(rng.choice(["home", "work", "clinic"], size=4, p=[0.6, 0.3, 0.1])), FRIDAY + k * ONE_DAY)
        for k in range(-30, 0)
    ]
    return d.Routine.fit(days, clock=clock, secrets=POLICY)


ROUTINE = routine()


def adaptive(model: Any) -> Adaptive:
    return Adaptive(model, POLICY, outputs="deceive")


def told_all(model: Any) -> Adaptive:
    return Adaptive(model, d.Policy(["clinic"], delta=1))


def hybrid(model: Any) -> Hybrid:
    return Hybrid(model, POLICY)


def stream_of(make: Any = adaptive, *, carry: int = 0, seed: int = 1) -> Stream:
    return Stream(ROUTINE, make, start=FRIDAY, carry=carry, rng=SeededEntropy(seed))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("carry", [0, 1, 9])
def test_it_is_one_session_without_end(seed: int, carry: int) -> None:
    """Readings by hand, each carried as far as it goes: the slow twin."""
    readings = ["home", "work", None, "home", *[None] * 8, None, None, "clinic", None, None, "work", "work", "home"]
    session = d.Session(adaptive(ROUTINE.since(FRIDAY)), rng=SeededEntropy(seed))
    wanted, last, age = [], "unknown", carry
    for reading in readings:
        last, age = (last, age + 1) if reading is None else (reading, 0)
        wanted.append(session.release(last if age <= carry else "unknown"))
    stream = stream_of(carry=carry, seed=seed)
    assert stream.endless
    assert [stream.release(reading).output for reading in readings] == wanted
    assert [row.output for row in stream_of(carry=carry, seed=seed).releases(DAYS)] == wanted
    assert stream.off_model == 0


def test_the_mechanism_is_made_once_for_the_start() -> None:
    asked: list[Any] = []

    def make(model: Any) -> Adaptive:
        asked.append(model)
        return adaptive(model)

    stream = Stream(ROUTINE, make, start="2026-03-07")
    assert [(model.start, model.slots) for model in asked] == [(FRIDAY + ONE_DAY, None)]
    for _ in range(10):
        stream.release("home")
    assert len(asked) == 1


def test_every_slot_of_every_date_has_exactly_one_row() -> None:
    stream = stream_of()
    rows = list(stream.releases(DAYS))
    dates = [FRIDAY + k * ONE_DAY for k in range(5)]
    assert [(row.date, row.slot) for row in rows] == [(date, slot) for date in dates for slot in range(4)]
    assert [row.start for row in rows] == [CLOCK.start_of(row.date, row.slot) for row in rows]
    assert (stream.date, stream.slot) == (dates[-1] + ONE_DAY, 0)
    assert stream.releases([day("hhhh", 5)])  # and goes on


def test_labels_never_learned_are_other_and_nothing_is_off_the_model() -> None:
    stream = Stream(ROUTINE, told_all, start=FRIDAY)
    assert stream.release("planetarium").output == Released("other")
    assert stream.release(None).output == Released("unknown")
    assert stream.release("other").output == Released("other")
    assert stream.off_model == 0


def test_a_slot_may_be_skipped() -> None:
    session = d.Session(adaptive(ROUTINE.since(FRIDAY)), rng=SeededEntropy(1))
    wanted = [session.release("home"), *(session.skip() for _ in range(4)), session.release("home")]
    stream = stream_of(carry=9)
    rows = [stream.release("home"), *(stream.skip() for _ in range(4)), stream.release(None)]
    assert [row.output for row in rows] == wanted
    assert rows[1].output == SKIPPED
    assert [(row.date, row.slot) for row in rows[3:]] == [(FRIDAY, 3), (FRIDAY + ONE_DAY, 0), (FRIDAY + ONE_DAY, 1)]
    assert stream.output == rows[-1]


def test_a_reading_ages_while_slots_are_skipped() -> None:
    stream = Stream(ROUTINE, told_all, start=FRIDAY, carry=2)
    stream.release("home")
    stream.skip()
    assert [stream.release(None).output for _ in range(2)] == [Released("home"), Released("unknown")]
    assert stream.off_model == 0  # what memory would have said is not asked for


def test_a_stream_that_was_left_skips_a_slot_and_goes_on() -> None:
    with stream_of() as stream:
        first = stream.release("home")
    assert stream.output == first
    rows = [stream.release("home") for _ in range(5)]
    assert rows[0].output == Skipped()
    assert not any(isinstance(row.output, Skipped) for row in rows[1:])
    assert [row.slot for row in rows] == [1, 2, 3, 0, 1]


def test_a_mechanism_of_one_day_starts_anew_each_day_and_the_stream_says_so() -> None:
    asked: list[Any] = []

    def make(model: Any) -> Hybrid:
        asked.append(model)
        return hybrid(model)

    stream = Stream(ROUTINE, make, start=FRIDAY, rng=SeededEntropy(3))
    assert not stream.endless
    assert asked[0].slots is None
    assert asked[1:] == [ROUTINE.day(kind) for kind in ROUTINE.kinds]
    rng, wanted = SeededEntropy(3), []
    for later, one in enumerate(("hwch", "hhcw", "whcw")):
        with d.Session(hybrid(ROUTINE.day(ROUTINE.kind_of(FRIDAY + later * ONE_DAY))), rng=rng) as session:
            wanted += [session.release(context) for context in day(one).contexts]
    rows = stream.releases([day("hwch"), day("hhcw", 1), day("whcw", 2)])
    assert [row.output for row in rows] == wanted
    assert isinstance(stream.skip().output, d.Skipped)  # a day's slots may be skipped, too


def test_the_errors_of_a_mechanism_without_end_are_not_taken_for_a_day_s() -> None:
    still = d.MarkovChain(("home", "clinic"), [0.5, 0.5], np.broadcast_to(np.eye(2), (3, 2, 2)))
    frozen = d.Routine({"day": still}, {("day", "day"): np.eye(2)})
    with pytest.raises(d.DiscreetError, match="tables without end"):
        Stream(frozen, adaptive, start=FRIDAY).release("home")


@pytest.mark.slow("interrupts a release at every line")
def test_wherever_a_release_is_interrupted_its_slot_is_released_or_as_it_was() -> None:
    """Before lines all over the code of five slots, over midnight. A delta of one tells all: no luck is in it."""
    readings, passed = ("home", "home", "work", "work", "planetarium"), list[str]()
    whole = stream_of(told_all)
    with interrupted(sys.maxsize, passed):
        wanted = [whole.release(reading) for reading in readings]
    for line in range(0, len(passed), max(1, len(passed) // 300)):
        stream, seen = stream_of(told_all), list[str]()
        rows = [_whatever_happens(stream, reading, line, seen) for reading in readings]
        assert rows == wanted, f"line {line}, in {passed[line]}"
        assert (stream.date, stream.slot) == (FRIDAY + ONE_DAY, 1)


def _whatever_happens(stream: Stream, reading: str, line: int, seen: list[str]) -> Release | None:
    before = stream.output
    try:
        with interrupted(line, seen):
            return stream.release(reading)
    except KeyboardInterrupt:
        return stream.release(reading) if stream.output is before else stream.output


def test_the_parts_of_a_routine_are_its_kinds_of_day() -> None:
    assert parts_of(ROUTINE) == {"weekday": ROUTINE.day("weekday"), "weekend": ROUTINE.day("weekend")}
    assert part_on(ROUTINE, FRIDAY) == "weekday"
    assert days_by_part(ROUTINE, [*DAYS, day("hhhh", 1)]) == {"weekday": DAYS, "weekend": [day("hhhh", 1)]}
    with pytest.raises(d.DiscreetError, match="give its date"):
        part_on(ROUTINE, None)
    assert {part: table.names for part, table in secrets_by_part(ROUTINE, POLICY).items()} == {
        "weekday": ("clinic",),
        "weekend": ("clinic",),
    }
    with pytest.raises(d.DiscreetError, match="never seen"):
        secrets_by_part(ROUTINE, d.Policy(["zoo"]))
    with pytest.raises(d.DiscreetError, match="not the one that the model was learned with"):
        secrets_by_part(ROUTINE, POLICY, d.Clock(8))


OPTIONS: dict[str, dict[str, Any]] = {
    "Dphmm": {"graph": PolicyGraph.complete(5), "query": np.arange(10.0).reshape(5, 2), "epsilon": 1.0},
    "Dpls": {"query": np.arange(10.0).reshape(5, 2), "epsilon": 1.0},
    "Fdh": {"hierarchy": d.Hierarchy({"all": ["home", "work", "clinic", "other", "unknown"]})},
    "SetLabelled": {"labels": dict.fromkeys(ROUTINE.contexts, frozenset(ROUTINE.contexts))},
}


WITHOUT_END = {"Adaptive", "Dphmm", "Dpls"}


@pytest.mark.parametrize("name", sorted(mechanisms.WHERE))
def test_every_mechanism_runs_without_end_or_says_that_it_does_not(name: str) -> None:
    make = partial(getattr(mechanisms, name), policy=POLICY, **OPTIONS.get(name, {}))
    made = without_end(ROUTINE, make, FRIDAY)
    assert (made is not None) == (name in WITHOUT_END)
    if made is None:
        with pytest.raises(OneDayError, match="has no end"):
            make(ROUTINE.since(FRIDAY))


def test_a_mechanism_of_one_s_own_that_looks_at_nothing_is_a_day_s() -> None:
    class Own(NoMask):
        def __init__(self, model: Any) -> None:
            self.model, self.policy = model, POLICY

    assert not runs_without_end(Own(ROUTINE.since(FRIDAY)))
    assert without_end(ROUTINE, Own, FRIDAY) is None
    assert not runs_without_end(adaptive(ROUTINE.day("weekday")))
    assert runs_without_end(adaptive(ROUTINE.since(FRIDAY)))
