"""Days joined: what is live finds the same breaches as every row of one long chain, which is the slow twin."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.adversary.belief import Adversary, Belief
from discreet.adversary.unrolled import Today, Unrolled, day_by_day
from discreet.evaluation.joined import streams
from discreet.mechanisms import Adaptive, MaskSensitive
from discreet.numerics import exceeds
from discreet.outputs import Skipped
from discreet.randomness import SeededEntropy
from tests.adversary.test_day_by_day import random_days, random_routine
from tests.strategies import random_policy, random_rows, searches

SUNDAY = dt.date(2026, 1, 4)
ONE_DAY = dt.timedelta(days=1)
AGREEMENT = 1e-9
AHEAD = 8
"""Days after the last whose rows the twin keeps too: more than is ever live."""


def total_routine(seed: int, n: int = 3) -> d.Routine:
    """Two slots a day, nothing impossible, and soon forgotten."""
    rng = np.random.default_rng(seed)
    known = random_routine(seed, n=n, zeros=0.0)
    nights = {
        pair: 0.7 * random_rows(rng, (n, n), 0.0) + 0.3 / n for pair in itertools.product(known.kinds, known.kinds)
    }
    return d.Routine({kind: known.day(kind) for kind in known.kinds}, nights)


def some_days(seed: int, routine: d.Routine, later: Sequence[int], person: str | None = None) -> list[d.Day]:
    rng = np.random.default_rng(seed)
    return [
        d.Day(tuple(rng.choice(routine.contexts, size=routine.slots).tolist()), SUNDAY + k * ONE_DAY, person)
        for k in later
    ]


class Twin:
    """Every row of the long chain, and which of them were ever beyond their delta."""

    def __init__(self, adversary: Adversary) -> None:
        self.belief: Belief = adversary.start()
        self.highest = np.zeros(len(adversary.deltas))
        self.adversary = adversary

    def saw(self, likelihood: Any, *, counts: bool = True) -> None:
        self.belief = self.belief.after(likelihood)
        if counts:
            self.highest = np.maximum(self.highest, self.belief.gains)

    def agrees(self, found: d.Evaluation) -> None:
        over = exceeds(self.highest, self.adversary.deltas)
        assert found.breach_rate * found.slots == pytest.approx(over.sum())
        assert found.breached == over.any()
        for name, worst in found.by_secret.items():
            rows = [k for k, (row, _) in enumerate(self.adversary.gain_names) if row.split(" (day")[0] == name]
            most, delta = self.highest[rows].max(), self.adversary.deltas[rows[0]]
            if exceeds(most, delta):
                assert worst == pytest.approx(most, abs=AGREEMENT)
            else:
                assert worst <= delta + AGREEMENT  # a row that is not live may have gained more than those that are


@pytest.mark.parametrize("later", [(0, 1, 2), (0, 2, 3, 6)])
def test_a_day_s_mechanism_is_judged_over_midnight(later: tuple[int, ...]) -> None:
    breached = 0
    for seed in searches(10):
        routine = total_routine(seed)
        _, made = random_days(seed, routine)
        days = some_days(seed, routine, later)
        found = d.evaluate(made, days, routine=routine, seed=seed)
        joined = day_by_day(made, routine, later[-1] + 1 + AHEAD, since=SUNDAY)
        twin, rng, following = Twin(Adversary(joined)), SeededEntropy(seed), SUNDAY
        for day in days:
            assert day.date is not None
            for _ in range((day.date - following).days * routine.slots):
                twin.saw(np.ones(len(joined.private_contexts)), counts=False)
            own = made[routine.kind_of(day.date)]
            state, morning = own.start(), (day.date - SUNDAY).days * routine.slots
            with d.Session(own, rng=rng) as session:
                for slot, context in enumerate(day.contexts):
                    output = session.release(context)
                    twin.saw(joined.kernel(Today(morning + slot, state)).likelihood(output))
                    state = own.advance(state, output)
            following = day.date + ONE_DAY
        twin.agrees(found)
        breached += found.breached
        assert found.off_model == 0
        assert (found.days, found.slots) == (len(later), len(later) * routine.slots)
    assert breached >= 3  # there is something to agree on


@pytest.mark.parametrize("later", [(0, 1, 2), (0, 2, 3)])
def test_a_mechanism_without_end_is_one_stream(later: tuple[int, ...]) -> None:
    """Judged by its own secrets and habits (no breach), by others' secrets, and by an observer with other habits."""
    breached = 0
    for seed in searches(6):
        routine = total_routine(seed)
        policy = random_policy(seed, routine.day(routine.kinds[0]))
        outputs, memory = ("suppress", "deceive")[seed % 2], ("last", "none")[seed // 2 % 2]
        mechanism = Adaptive(routine.since("2025-12-01"), policy, outputs=outputs, memory=memory)  # type: ignore[arg-type]
        days = some_days(seed, routine, later)
        assert not d.evaluate(mechanism, days, seed=seed).breached
        tight = d.Policy([d.Secret(s.name, s.contexts, s.slots, 0.02, s.at) for s in policy.secrets])
        other = d.Routine(
            {k: routine.day(k) for k in routine.kinds}, dict.fromkeys(routine.nights, np.full((3, 3), 1 / 3))
        )
        for judged, model in ((tight, None), (policy, other)):
            found = d.evaluate(mechanism, days, policy=judged, model=model, seed=seed)
            running = mechanism.since(SUNDAY)
            count = later[-1] + 1 + AHEAD
            long = Unrolled(running, count, judged)
            chain = None if model is None else model.since(SUNDAY).unrolled(count)
            twin, following = Twin(Adversary(long, chain)), SUNDAY
            with d.Session(running, rng=SeededEntropy(seed)) as session:
                for day in days:
                    assert day.date is not None
                    for _ in range((day.date - following).days * routine.slots):
                        assert session.skip() == Skipped()
                        twin.saw(np.ones(len(running.private_contexts)), counts=False)
                    for context in day.contexts:
                        kernel = running.kernel(session.state)
                        twin.saw(kernel.likelihood(session.release(context)))
                    following = day.date + ONE_DAY
            twin.agrees(found)
            breached += found.breached
    assert breached >= 3


HABITS = total_routine(1)
SECRETS = d.Policy(["c0"], delta=0.1)


def test_breached_days_are_dates_and_a_day_alone_may_be_fine() -> None:
    """Slot 1 is hidden, slot 0 of the next day shown, and nights keep people where they are."""
    day = d.MarkovChain(("home", "away"), [0.5, 0.5], [[[0.5, 0.5], [0.5, 0.5]]])
    routine = d.Routine({"day": day}, {("day", "day"): [[0.95, 0.05], [0.05, 0.95]]})
    mechanism = MaskSensitive(
        day,
        d.Policy(
            [
                d.Secret(
                    "night",
                    {
                        "home",
                    },
                    slots=[1],
                    delta=0.3,
                )
            ]
        ),
    )
    days = [d.Day(("away", "away"), SUNDAY + k * ONE_DAY) for k in range(3)]
    hiding = Adaptive(day, mechanism.policy)
    alone = d.evaluate(hiding, days)
    joined = d.evaluate(hiding, [d.Day(("home", "home"), one.date) for one in days], routine=routine)
    assert (alone.breached_days, joined.breached_days) == (0, 2)  # of the last night no morning tells
    assert joined.breach_rate == pytest.approx(2 / 6)
    assert joined.worst_gain > 0.4


def test_people_are_streams_of_their_own() -> None:
    mechanism = Adaptive(HABITS.since(SUNDAY), SECRETS, outputs="deceive")
    ann, bob = some_days(1, HABITS, (0, 1, 2), "ann"), some_days(2, HABITS, (1, 2), "bob")
    told: list[int] = []
    mixed = [ann[0], bob[0], ann[1], bob[1], ann[2]]
    both = d.evaluate(mechanism, mixed, progress=lambda: told.append(1))
    assert (both.days, both.slots, len(told), both.off_model) == (5, 10, 5, 0)
    assert both.worst_gain <= 0.1 + 1e-12
    assert list(streams(mixed, 2, HABITS.contexts)) == ["ann", "bob"]


def test_a_learned_routine_has_a_place_for_every_label() -> None:
    days = [d.Day(("home", "work"), SUNDAY + k * ONE_DAY) for k in range(14)]
    routine = d.Routine.fit(days, secrets=["clinic"])
    policy = d.Policy(["clinic"], delta=1)
    odd = [d.Day(("zoo", "unknown"), SUNDAY + 20 * ONE_DAY), d.Day(("clinic", "home"), SUNDAY + 21 * ONE_DAY)]
    for found in (
        d.evaluate(Adaptive(routine.since(SUNDAY), policy), odd),
        d.evaluate(
            {kind: d.mechanisms.NoMask(routine.day(kind), policy) for kind in routine.kinds}, odd, routine=routine
        ),
    ):
        assert found.off_model == 0
        assert found.utility == 1  # the zoo is the routine's other


@pytest.mark.parametrize(
    ("days", "message"),
    [
        (some_days(1, HABITS, (1, 0)), "2026-01-04 of a person comes after 2026-01-05; sort days"),
        (some_days(1, HABITS, (1, 1), "ann"), "of ann comes after 2026-01-05.*each date once"),
        ([d.Day(("c0", "c0"))], "has no date"),
        ([d.Day(("c0",), SUNDAY)], "1 slots, the model 2"),
        ([], "no days to evaluate"),
    ],
)
def test_days_that_are_no_stream(days: list[d.Day], message: str) -> None:
    with pytest.raises(d.DiscreetError, match=message):
        d.evaluate(Adaptive(HABITS.since(SUNDAY), SECRETS), days)
    with pytest.raises(d.DiscreetError, match=message):
        d.evaluate({kind: MaskSensitive(HABITS.day(kind), SECRETS) for kind in HABITS.kinds}, days, routine=HABITS)


def test_what_does_not_go_together() -> None:
    days, endless = some_days(1, HABITS, (0, 1)), Adaptive(HABITS.since(SUNDAY), SECRETS)
    kinds = {kind: MaskSensitive(HABITS.day(kind), SECRETS) for kind in HABITS.kinds}
    one = next(iter(kinds.values()))
    with pytest.raises(d.DiscreetError, match="need routine="):
        d.evaluate(kinds, days)
    with pytest.raises(d.DiscreetError, match="leave model= out"):
        d.evaluate(kinds, days, routine=HABITS, model=one.model)
    with pytest.raises(d.DiscreetError, match="has a routine in mind"):
        d.evaluate(endless, days, model=one.model)
    with pytest.raises(d.DiscreetError, match="judged over midnight with routine="):
        d.evaluate(one, days, model=HABITS)
    with pytest.raises(d.DiscreetError, match="no mechanism is given for a"):
        d.evaluate({"weekday": kinds["weekday"]}, days, routine=HABITS)
