"""A day's mechanism as a stream without end: the outputs of a session a day, and beliefs that midnight does not cut."""

from __future__ import annotations

import datetime as dt
from functools import partial
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.adversary import audit
from discreet.adversary.checkpoint import Checkpoint
from discreet.errors import DiscreetError
from discreet.live.stream import Stream
from discreet.mechanisms.day_by_day import DayByDay, EachDaySpec
from discreet.mechanisms.named import Spec
from discreet.randomness import SeededEntropy

MONDAY = dt.date(2026, 11, 16)
CONTEXTS = ("home", "work", "clinic", "other", "unknown")
TREE = {"all": {"in": ["home", "unknown"], "out": ["work", "clinic", "other"]}}
SLOTS, DAYS = 4, 9

SPECS: dict[str, dict[str, Any]] = {
    "simulatable": {},
    "probabilistic": {},
    "hybrid": {},
    "mask-sensitive": {},
    "capp": {},
    "efficient-fake": {},
    "fdh": {"hierarchy": TREE},
    "set-labelled": {"labels": {"work": ["work", "clinic"]}},
}


def a_routine(seed: int, *kinds: str) -> d.Routine:
    rng = np.random.default_rng(seed)
    n = len(CONTEXTS)

    def rows(*shape: int) -> Any:
        drawn = rng.dirichlet(np.full(n, 0.6), size=shape) * 0.96 + 0.04 / n
        return drawn

    chains = {kind: d.MarkovChain(CONTEXTS, rows(), rows(SLOTS - 1, n)) for kind in kinds}
    return d.Routine(chains, {(one, other): rows(n) for one in kinds for other in kinds})


def policy() -> d.Policy:
    return d.Policy(["clinic", "work"], delta=0.2)


def readings(seed: int, count: int) -> list[str | None]:
    rng = np.random.default_rng(seed)
    return [None if rng.random() < 0.1 else CONTEXTS[int(rng.integers(3))] for _ in range(count)]


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("kinds", [("day",), ("weekday", "weekend")])
def test_a_stream_is_a_session_a_day(name: str, kinds: tuple[str, ...]) -> None:
    routine, options = a_routine(3, *kinds), SPECS[name]
    library = Stream(routine, partial(Spec(name, options).make, policy=policy()), start=MONDAY, rng=SeededEntropy(7))
    made = EachDaySpec(name, options).make(routine.since(MONDAY), policy())  # type: ignore[arg-type]  # without end
    session = d.Session(made, rng=SeededEntropy(7))
    for number, reading in enumerate(readings(11, SLOTS * DAYS)):
        if number % 13 == 5:
            library.skip()
            session.skip()
            continue
        assert session.release(reading) == library.release(reading).output, number
    assert session.off_model == library.off_model == 0
    if name not in ("capp", "efficient-fake") or len(kinds) > 1:
        assert isinstance(made, DayByDay)
        assert not library.endless


def remembering(kinds: tuple[str, ...]) -> tuple[d.Routine, DayByDay, Any]:
    """Adaptive of a day, which remembers the context before."""
    routine = a_routine(5, *kinds)
    make = partial(d.mechanisms.Adaptive, policy=policy())
    days = {kind: make(routine.day(kind)) for kind in kinds}
    return routine, DayByDay(days, routine.since(MONDAY), "adaptive, a day"), days


@pytest.mark.parametrize("kinds", [("day",), ("weekday", "weekend")])
def test_memory_starts_anew_every_day(kinds: tuple[str, ...]) -> None:
    routine, made, days = remembering(kinds)
    rng, own = SeededEntropy(1), SeededEntropy(1)
    stream = d.Session(made, rng=rng)
    for day in range(DAYS):
        date = MONDAY + dt.timedelta(days=day)
        with d.Session(days[routine.kind_of(date)], rng=own) as today:
            for reading in readings(day, SLOTS):
                label = "unknown" if reading is None else reading
                assert stream.release(label) == today.release(label)


def test_a_stream_goes_on_from_a_checkpoint_within_a_day() -> None:
    routine, made, _ = remembering(("weekday", "weekend"))
    whole, cut = (d.Session(made, rng=SeededEntropy(4)) for _ in range(2))
    given = readings(2, 3 * SLOTS)
    for reading in given[:6]:
        assert whole.release(reading) == cut.release(reading)
    point = Checkpoint.from_json(cut.checkpoint().to_json())
    assert point.outputs is not None
    assert len(point.outputs) == 6 - SLOTS
    rng = SeededEntropy(4)
    again = d.Session(made, rng=rng)
    for reading in given[:6]:
        again.release(reading)  # the same draws are spent
    resumed = d.Session.resume(made, private=cut.private, checkpoint=point, rng=rng)
    assert resumed.digest == whole.digest
    assert resumed.belief.digest() == whole.belief.digest()
    for reading in given[6:]:
        assert resumed.release(reading) == whole.release(reading)
    del routine


def test_beliefs_reach_over_midnight() -> None:
    """A clinic in the evening is a clinic in the morning: the day's promise is kept, and not the week's."""
    day = d.MarkovChain.homogeneous(("home", "clinic"), [0.7, 0.3], [[0.7, 0.3], [0.7, 0.3]], 2)
    routine = d.Routine({"day": day}, {("day", "day"): [[0.98, 0.02], [0.02, 0.98]]})
    asked = d.Policy([d.Secret("in the morning", {"clinic"}, slots=[0])], delta=0.1)
    made = EachDaySpec("hybrid").make(routine.since(MONDAY), asked)  # type: ignore[arg-type]
    assert isinstance(made, DayByDay)
    alone = d.audit(d.mechanisms.Hybrid(routine.day("day"), asked))
    assert alone.worst_gain <= 0.1 + 1e-9
    found = audit(made, days=2)
    assert found.worst_gain > 0.3
    assert found.witness is not None
    outputs = found.witness.outputs
    session = d.Session.resume(made, outputs)
    assert max(gain for slots in session.gains().values() for gain in slots.values()) <= found.worst_gain + 1e-9
    assert made.guarantee.kind == "none"


def test_a_stream_begins_within_a_day_as_if_it_had_been_skipped_until_then() -> None:
    routine = a_routine(8, "weekday", "weekend")
    spec = EachDaySpec("simulatable")
    late = d.Session(spec.make(routine.since(MONDAY, first=2), policy()), rng=SeededEntropy(3))  # type: ignore[arg-type]
    library = Stream(routine, partial(Spec("simulatable").make, policy=policy()), start=MONDAY, rng=SeededEntropy(3))
    library.skip()
    library.skip()
    for reading in readings(9, 3 * SLOTS):
        assert late.release(reading) == library.release(reading).output


def test_what_has_no_end_of_its_own_stays_as_it_is_and_what_is_refused_is_refused() -> None:
    routine = a_routine(8, "weekday", "weekend")
    made = EachDaySpec("adaptive").make(routine.since(MONDAY), policy())  # type: ignore[arg-type]
    assert isinstance(made, d.mechanisms.Adaptive)
    assert EachDaySpec("hybrid") != Spec("hybrid")
    daily = EachDaySpec("hybrid").make(routine.since(MONDAY), policy())  # type: ignore[arg-type]
    with pytest.raises(DiscreetError, match="begin a new stream"):
        d.Session(daily).change(policy=d.Policy("work", delta=0.3))
    assert 0 < float(daily.expected_utility()) < 1
