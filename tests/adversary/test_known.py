"""What habits alone tell: priors, limits, and where declaring a secret hides nothing."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as d
from discreet.adversary import Adversary
from discreet.adversary.known import Row, known, known_of, merged, rows_of
from discreet.mechanisms import NoMask
from discreet.models.routine.routine import Routine
from discreet.policy import Policy, Secret
from tests.strategies import random_chain, random_hidden, random_policy, searches

CLOCK = d.Clock(4)


def chain(initial: list[float], step: list[list[float]] | None = None) -> d.MarkovChain:
    """Four slots of six hours; by default nobody moves."""
    steps = np.tile(np.eye(len(initial)) if step is None else np.array(step), (3, 1, 1))
    return d.MarkovChain(tuple("abcdef"[: len(initial)]), initial, steps, clock=CLOCK)


def test_least_mean_highest_limit_and_when() -> None:
    model = chain([0.2, 0.8], [[1.0, 0.0], [0.5, 0.5]])  # P(a): 0.2, 0.6, 0.8, 0.9
    (found,) = known(model, Policy("a", delta=0.15))[None]
    assert (found.rows, found.least, found.highest_at) == (4, 0.2, 3)
    assert found.highest == pytest.approx(0.9)
    assert found.mean == pytest.approx((0.2 + 0.6 + 0.8 + 0.9) / 4)
    assert (found.limit, found.told, found.told_at) == (1.0, 1, (3,))
    assert not found.hides_nothing
    assert found.warnings(CLOCK) == [
        "declaring 'a' hides nothing at 18:00 to 00:00: whoever knows the habits is nearly certain already, so the "
        "truth may be shown"
    ]
    assert "at 1 of 4 places" in found.warnings(None)[0]


def test_a_secret_that_habits_tell_everywhere_hides_nothing() -> None:
    (found,) = known(chain([0.996, 0.004]), Policy("a", delta=0.1))[None]
    assert found.hides_nothing
    assert found.warnings(CLOCK)[0].startswith("declaring 'a' hides nothing: whoever")


def test_slots_to_which_a_cap_does_not_apply_are_listed() -> None:
    model = chain([0.1, 0.9], [[1.0, 0.0], [0.1, 0.9]])  # P(a): 0.1, 0.19, 0.271, 0.3439
    (found,) = known(model, Policy([Secret("a", cap=0.25)], delta=0.1))[None]
    assert (found.uncapped, found.uncapped_at) == (2, (2, 3))
    assert found.limit == pytest.approx(0.4439)
    assert found.warnings(CLOCK) == [
        "the cap of 'a' does not apply at 12:00 to 00:00: habits alone put it above 0.2, so its limit is the "
        "prior plus delta"
    ]
    (other,) = known(model, Policy([Secret("a", slots=[0, 1], cap=0.25)], delta=0.1))[None]
    assert (other.uncapped, other.limit, other.warnings(CLOCK)) == (0, 0.25, [])
    (never,) = known(model, Policy([Secret("a", slots=[3], cap=0.06)], delta=0.1))[None]
    assert "does not apply anywhere" in never.warnings(CLOCK)[0]


def test_rows_of_days_are_those_of_the_adversary() -> None:
    for seed in searches(10):
        for model in (random_chain(seed), random_hidden(seed)):
            policy = random_policy(seed, model, caps=True)
            judge = Adversary(NoMask(model, policy))
            expected = known_of(policy, rows_of(judge))
            for one, other in zip(known(model, policy)[None], expected, strict=True):
                assert (one.name, one.rows, one.told_at, one.uncapped_at) == (
                    other.name,
                    other.rows,
                    other.told_at,
                    other.uncapped_at,
                )
                assert one.limit == pytest.approx(other.limit, abs=1e-12), seed
                rows = [
                    delta for (name, _), delta in zip(judge.gain_names, judge.deltas, strict=True) if name == one.name
                ]
                assert min(rows) >= policy.for_model(model.contexts, model.slots).least_delta.min() - 1e-12


def test_a_routine_is_told_by_kinds_of_day_with_windows_over_midnight_whole() -> None:
    day, end = chain([0.9, 0.1]), chain([0.1, 0.9])
    nights = {pair: np.tile([0.5, 0.5], (2, 1)) for pair in [("weekday", "weekday"), ("weekend", "weekend")]}
    nights |= {("weekday", "weekend"): np.tile([0.2, 0.8], (2, 1)), ("weekend", "weekday"): np.tile([0.6, 0.4], (2, 1))}
    routine = Routine({"weekday": day, "weekend": end}, nights)
    policy = Policy(["a", Secret("night", {"a"}, slots=[0, 3], at="any", begins=3)], delta=0.45)
    told = known(routine, policy)
    assert set(told) == {"weekday", "weekend"}
    each, night = told["weekend"]
    assert each.rows == 8  # Saturday, Sunday
    assert (each.least, each.highest) == pytest.approx((0.2, 0.5))
    # Saturday's night: a on Saturday 0.2, or, drawn anew, on Sunday 0.5; Sunday's: 0.5, then 0.6
    assert (night.least, night.highest) == pytest.approx((0.6, 0.8))
    assert (night.rows, night.told, night.told_at, night.highest_at) == (2, 2, (), None)


def test_what_parts_tell_adds_up() -> None:
    policy = Policy([Secret("a", cap=0.5)], delta=0.2)
    one = known_of(policy, [Row("a", 0, 0.1), Row("a", 1, 0.9)])
    other = known_of(policy, [Row("a", 2, 0.45)])
    both = known_of(policy, [Row("a", 0, 0.1), Row("a", 1, 0.9), Row("a", 2, 0.45)])
    (found,), (expected,) = merged([one, other]), both
    assert found.mean == pytest.approx(expected.mean)
    assert (found.rows, found.least, found.highest, found.limit) == (3, 0.1, 0.9, 1.0)
    assert (found.told_at, found.uncapped_at, found.uncapped) == ((1,), (1, 2), 2)
    assert known_of(policy, []) == ()
