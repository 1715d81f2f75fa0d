"""The share of delta that is spent: chosen by later weeks, with the guarantee that conformal risk control gives."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.evaluation.hold import FEWEST_WEEKS, HeldShare, _plans, bound_of, enough_weeks, hold, holding, weeks_of
from discreet.mechanisms import Adaptive
from discreet.randomness import SeededEntropy

MONDAY = dt.date(2026, 1, 5)
POLICY = d.Policy([d.Secret("clinic", {"clinic"})], delta=0.1)
SHARES = (0.05, 1.0)


def days_of(weeks: int, seed: int, visits: float = 0.15, slots: int = 4) -> list[d.Day]:
    """Days with a habit that has a memory of two slots, so that a chain of them is never quite true."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(7 * weeks):
        labels = ["home"]
        ill = rng.random() < visits
        for draw in rng.random((slots - 1, 2)):
            labels += ["clinic" if ill and draw[0] < 0.6 else "work" if draw[1] < 0.6 else "home"]
        found.append(d.Day(tuple(labels), MONDAY + dt.timedelta(days=number), "p"))
    return found


def make(model: Any, policy: d.Policy) -> Adaptive:
    return Adaptive(model, policy, outputs="deceive", memory="none")


def lenient(model: Any, policy: d.Policy) -> Adaptive:
    """One that keeps another promise than it was asked for: belief may rise by 0.95."""
    return make(model, d.Policy(policy.secrets, delta=0.95))


def routine_of(days: list[d.Day]) -> d.Routine:
    return d.Routine.fit(days, None, secrets=["clinic"])


@pytest.fixture(scope="module")
def few() -> HeldShare:
    days = days_of(4, 1)
    return hold(routine_of(days), days, POLICY, make, alpha=0.2, shares=SHARES)


def test_few_weeks_give_an_estimate_that_says_so(few: HeldShare) -> None:
    assert few.version == "leave one week out"
    assert not few.guaranteed
    assert few.weeks == 4
    assert "estimate" in few.words
    assert str(enough_weeks(0.2) + FEWEST_WEEKS - 1) in few.words


def test_the_largest_share_whose_bound_is_within_alpha_is_taken(few: HeldShare) -> None:
    within = [one.share for one in few.tried if one.bound <= few.alpha]
    assert few.share == max(within)
    assert [one.beyond for one in few.tried] == sorted(one.beyond for one in few.tried)  # a running maximum
    assert few.tried[0] == (few.tried[0].__class__)(0.0, 0.0, 0.0, 0.0)  # silence tells nothing, and shows nothing
    assert few.tried[-1].share == 1.0  # what it costs is said against the whole of delta


def test_enough_weeks_are_judged_by_habits_of_earlier_ones() -> None:
    days = days_of(enough_weeks(0.5) + FEWEST_WEEKS - 1, 2)
    found = hold(routine_of(days), days, POLICY, make, alpha=0.5, shares=(1.0,))
    assert found.version == "later weeks"
    assert found.guaranteed
    assert found.weeks == 1
    assert found.tried[0].bound == 0.5  # (0 + 1) / (1 + 1)


def test_what_a_later_week_is_judged_by_does_not_depend_on_other_later_weeks() -> None:
    """Or losses would not be exchangeable with that of the next week, which no observer of these has seen."""
    weeks = weeks_of(days_of(6, 2))
    changed = [*weeks[:-1], weeks_of(days_of(6, 3, visits=0.9))[-1]]
    routine = routine_of([day for week in weeks for day in week])
    before, after = (_plans(routine, own, 0.25, POLICY) for own in (weeks, changed))
    assert before[1] == after[1] == "later weeks"
    assert len(before[0]) == 3
    for one, other in zip(before[0][:-1], after[0][:-1], strict=True):
        assert (one.habits, one.observers) == (other.habits, other.observers)
    assert before[0][-1].observers["all days"] != after[0][-1].observers["all days"]


def test_each_week_has_draws_of_its_own_at_every_share_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or losses would not be exchangeable with that of the next week, whose draws nobody has seen."""
    seeds: list[int] = []

    class Noted(SeededEntropy):
        def __init__(self, seed: int) -> None:
            seeds.append(seed)
            super().__init__(seed)

    monkeypatch.setattr("discreet.evaluation.hold.SeededEntropy", Noted)
    days = days_of(4, 1)
    found = hold(routine_of(days), days, POLICY, make, alpha=0.2, shares=(1.0,))
    assert found.weeks == len(seeds) == len(set(seeds)) == 4
    once = set(seeds)
    hold(routine_of(days), days, POLICY, make, alpha=0.2, shares=(0.05, 1.0))
    assert set(seeds) == once
    hold(routine_of(days), days, POLICY, make, alpha=0.2, shares=(1.0,), seed=1)
    assert len(set(seeds)) == 8


def test_a_mechanism_that_hides_nothing_is_held_to_silence() -> None:
    days = days_of(4, 3, visits=0.5)
    found = hold(routine_of(days), days, POLICY, lenient, alpha=0.1, shares=SHARES)
    assert found.share == 0.0
    assert found.of(1.0).beyond > 0.5
    assert "only silence" in found.words


def test_too_few_weeks_are_an_error_that_says_how_many_would_do() -> None:
    days = days_of(2, 1)
    with pytest.raises(d.DiscreetError, match=r"2 weeks of at least 3 days.*at least 3 weeks \(11 for a guarantee\)"):
        hold(routine_of(days), days, POLICY, make)
    with pytest.raises(d.DiscreetError, match="alpha is 1"):
        hold(routine_of(days), days, POLICY, make, alpha=1)


def test_habits_that_were_not_learned_have_no_rules_to_learn_by() -> None:
    days = days_of(4, 1)
    learned = routine_of(days)
    given = d.Routine({"day": learned.day("day")}, learned.nights)
    with pytest.raises(d.DiscreetError, match=r"use Routine\.fit"):
        hold(given, days, POLICY, make)


def test_weeks_of_too_few_days_are_left_out() -> None:
    days = days_of(3, 1)
    assert [len(week) for week in weeks_of(days[:9] + days[14:])] == [7, 7]


def test_the_nightly_look_asks_the_share_in_force() -> None:
    days = days_of(3, 4, visits=0.5)
    routine, weeks = routine_of(days), weeks_of(days)
    silent = list(holding(routine, weeks, d.Policy(POLICY.secrets, delta=0.1, share=0.0), make))
    open_ = list(holding(routine, weeks, POLICY, lenient))
    assert silent == [0.0, 0.0, 0.0]
    assert max(open_) > 0


@pytest.mark.parametrize("alpha", [0.1, 0.2])
def test_the_next_week_is_within_alpha_on_average(alpha: float) -> None:
    """Exchangeable weeks, each with a share from which on it fails, though not at every share above it.

    4,000 repetitions; the mean is judged with a false-alarm rate below 1e-6 (five standard errors). Without the added
    one in the bound the next week is beyond alpha, and the same test notices.
    """
    rng = np.random.default_rng(5)
    n, grid = round(2 / alpha), np.linspace(0, 1, 101)
    found: list[float] = []
    careless: list[float] = []
    for _ in range(4_000):
        fails = grid[None, :] > rng.random((n + 1, 1))
        losses = np.maximum.accumulate(np.where(fails & (rng.random(fails.shape) < 0.7), 1.0, 0.0), axis=1)
        total = losses[:n].sum(axis=0)
        for version, kept in (("later weeks", found), ("leave one week out", careless)):
            within = [k for k in range(len(grid)) if bound_of(losses[:n, k].tolist(), version) <= alpha]  # type: ignore[arg-type]
            kept.append(float(losses[n, max(within)]))
        assert total[0] == 0
    error = float(np.std(found) / math.sqrt(len(found)))
    assert float(np.mean(found)) <= alpha + 5 * error
    assert float(np.mean(careless)) > alpha + 5 * error
