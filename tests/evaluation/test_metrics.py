"""What an evaluation counts, on days whose counts are known."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pytest

import discreet as d
from discreet.adversary.enumerate import expected_releases
from discreet.contracts import AnyMechanism
from discreet.mechanisms import Adaptive, Fdh, MaskSensitive, NoMask, SetLabelled
from discreet.outputs import Output, truthful
from tests.strategies import random_chain, random_policy, searches


def coin(slots: int = 2) -> d.MarkovChain:
    return d.MarkovChain.homogeneous(("s", "x"), [0.5, 0.5], np.full((2, 2), 0.5), slots)


def test_utility_breaches_and_silence_are_counted_by_slot() -> None:
    days = [d.Day(("s", "x")), d.Day(("x", "x"))]
    result = d.evaluate(MaskSensitive(coin(), d.Policy(["s"], delta=0.1)), days)
    assert result.utility == 3 / 4
    assert result.suppressed == 1 / 4
    assert result.breach_rate == 1 / 4  # the silent slot: belief 1 against a prior of 1/2
    assert result.breached_days == 1
    assert result.worst_gain == 0.5
    assert result.by_secret == {"s": 0.5}
    assert (result.days, result.slots, result.off_model) == (2, 4, 0)
    assert result.seconds_per_decision > 0


def test_two_secrets_can_breach_in_one_slot() -> None:
    policy = d.Policy(["s", d.Secret("ever", {"s"}, at="any")], delta=0.1)
    result = d.evaluate(NoMask(coin(), policy), [d.Day(("s", "s"))])
    assert result.breach_rate == 3 / 2  # both slots of "s", and "ever", over two slots


def test_readings_outside_the_model_are_reported_beside_breaches() -> None:
    result = d.evaluate(NoMask(coin(), d.Policy(["s"])), [d.Day(("x", "elsewhere"))])
    assert result.off_model == 1
    assert result.utility == 0.5


def test_worth_decides_what_an_output_is_worth() -> None:
    def half(context: str, output: Output) -> float:
        return 0.5

    assert d.evaluate(NoMask(coin(), d.Policy(["s"])), [d.Day(("x", "s"))], worth=half).utility == 0.5


TREE = d.Hierarchy({"top": {"A": ["c0", "c1"], "B": ["c2", "c3"]}})
FOUR = random_chain(5, n=4, slots=3, zeros=0.0)
WARY = d.Policy(["c0"], delta=0.1)
OF_THEIR_OWN = [
    SetLabelled(FOUR, d.Policy(["c0"], delta=0.6), labels={"c2": {"c2", "c3"}, "c3": {"c2", "c3"}}),
    Fdh(FOUR, WARY, hierarchy=TREE),
    Adaptive(FOUR, WARY, outputs="generalize", hierarchy=TREE),
]


@pytest.mark.parametrize("mechanism", OF_THEIR_OWN, ids=lambda mechanism: type(mechanism).__name__)
def test_utility_is_what_the_mechanism_expects(mechanism: AnyMechanism) -> None:
    """Days of worths from 0 to 1: by Hoeffding, at most one correct answer in a million is refused."""
    days = 2000
    expected = mechanism.expected_utility()
    found = d.evaluate(mechanism, FOUR.sample(days, seed=1), seed=2).utility
    truth_alone = d.evaluate(mechanism, FOUR.sample(days, seed=1), worth=truthful, seed=2).utility
    allowed = expected.half_width + math.sqrt(math.log(2 / 1e-6) / (2 * days))
    assert abs(found - expected.mean) <= allowed
    assert abs(truth_alone - expected.mean) > allowed  # the difference between the two measures would be noticed


@pytest.mark.parametrize("mechanism", OF_THEIR_OWN, ids=lambda mechanism: type(mechanism).__name__)
def test_a_label_never_learned_is_worth_nothing(mechanism: AnyMechanism) -> None:
    result = d.evaluate(mechanism, [d.Day(("elsewhere",) * 3)])
    assert (result.utility, result.off_model) == (0.0, 3)


def test_no_days_and_days_of_another_length_are_errors() -> None:
    mechanism = NoMask(coin(), d.Policy(["s"]))
    with pytest.raises(d.DiscreetError, match="at least one"):
        d.evaluate(mechanism, [])
    with pytest.raises(d.DiscreetError, match="p1 on 2026-01-02 has 3 slots"):
        d.evaluate(mechanism, [d.Day(("x", "x", "s"), date=dt.date(2026, 1, 2), person="p1")])


def test_mask_sensitive_expects_what_enumeration_expects() -> None:
    for seed in searches(20):
        chain = random_chain(seed, n=3, slots=3)
        mechanism = MaskSensitive(chain, random_policy(seed, chain))
        assert float(mechanism.expected_utility()) == pytest.approx(
            expected_releases(mechanism) / chain.slots, abs=1e-12
        )
