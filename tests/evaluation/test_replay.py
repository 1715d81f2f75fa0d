"""A replay is a session a day, whoever judges it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.adversary import Adversary, beliefs_along
from discreet.contracts import Mechanism
from discreet.evaluation.replay import replay
from discreet.mechanisms import Adaptive, Capp, Hybrid, MaskSensitive, NoMask, Simulatable
from discreet.outputs import Output, Suppressed
from discreet.randomness import SeededEntropy
from tests.strategies import random_chain, random_policy, searches

STRICT = d.MarkovChain(("s", "x"), [0.5, 0.5], [[[1.0, 0.0], [0.0, 1.0]]] * 2)
"""Never leaves where it starts."""
LOOSE = d.MarkovChain(("s", "x"), [0.5, 0.5], [[[0.5, 0.5], [0.5, 0.5]]] * 2)


def outputs_for(mechanism: Mechanism[Any], days: list[d.Day], judge: Adversary) -> list[Output]:
    return [moment.output for moment in replay(mechanism, days, rng=SeededEntropy(5), judge=judge)]


def test_moments_are_those_of_a_session_a_day() -> None:
    chain = random_chain(3, n=3, slots=4)
    mechanism = Hybrid(chain, random_policy(3, chain))
    days = chain.sample(3, seed=1)
    rng, moments = SeededEntropy(2), list(replay(mechanism, days, rng=SeededEntropy(2)))
    for day in days:
        with d.Session(mechanism, rng=rng) as session:
            for slot, context in enumerate(day.contexts):
                moment = moments.pop(0)
                assert (moment.day, moment.slot, moment.context) == (day, slot, context)
                assert moment.output == session.release(context)
                np.testing.assert_array_equal(moment.belief.gains, session.belief.gains)
                assert moment.ends_day == (slot == 3)
                assert moment.seconds > 0
    assert not moments


def test_what_is_released_does_not_depend_on_who_judges() -> None:
    """A judge whose habits hold a step impossible that the mechanism's allow, and the other way round."""
    days = [d.Day(("s", "x", "s")), d.Day(("x", "x", "s")), d.Day(("s", "s", "s"))]
    for own, other in ((LOOSE, STRICT), (STRICT, LOOSE)):
        for build in (NoMask, MaskSensitive, Simulatable, Hybrid, Capp, Adaptive):
            mechanism = build(own, d.Policy(["s"], delta=0.3))
            alone = outputs_for(mechanism, days, Adversary(mechanism))
            assert outputs_for(mechanism, days, Adversary(mechanism, other)) == alone
            assert outputs_for(mechanism, days, Adversary(mechanism, other, d.Policy(["x"]))) == alone


def test_releases_are_the_same_for_random_judges() -> None:
    for seed in searches(20):
        chain, other = (random_chain(number, n=3, slots=4) for number in (seed, seed + 1000))
        mechanism = Hybrid(chain, random_policy(seed, chain))
        days = [*chain.sample(2, seed=seed), *other.sample(2, seed=seed)]
        alone = outputs_for(mechanism, days, Adversary(mechanism))
        assert outputs_for(mechanism, days, Adversary(mechanism, other)) == alone, seed


def test_a_judge_with_other_habits_draws_its_own_conclusions() -> None:
    mechanism = NoMask(LOOSE, d.Policy(["s"]))
    judge = Adversary(mechanism, STRICT)
    moments = list(replay(mechanism, [d.Day(("x", "x", "s"))], rng=SeededEntropy(0), judge=judge))
    along = beliefs_along(mechanism, [moment.output for moment in moments], judge)[1:]
    for moment, belief in zip(moments, along, strict=True):
        np.testing.assert_array_equal(moment.belief.gains, belief.gains)
    assert [moment.off_model for moment in moments] == [False, False, True]  # that it left where it was
    assert not any(isinstance(moment.output, Suppressed) for moment in moments)


def test_evaluate_counts_the_same_releases_for_every_observer() -> None:
    mechanism = NoMask(LOOSE, d.Policy(["s"]))
    result = d.evaluate(mechanism, [d.Day(("x", "x", "s"))], model=STRICT)
    assert result.utility == 1  # the observer's habits suppress nothing
    assert result.off_model == 1  # but have no place for what they see


def test_a_day_of_another_length_is_refused_before_anything_is_released() -> None:
    with pytest.raises(d.DiscreetError, match="has 2 slots, the model 3"):
        next(replay(NoMask(LOOSE, d.Policy(["s"])), [d.Day(("x", "x"))], rng=SeededEntropy(0)))
