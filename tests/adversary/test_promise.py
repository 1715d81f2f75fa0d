"""Where not every output can be looked at, a proven promise is the bound; what is met is held against it."""

from __future__ import annotations

import re

import numpy as np
import pytest

import discreet as d
from discreet.adversary import Adversary, audit, beliefs_along
from discreet.adversary.explore import MANY, Budget, multiplying
from discreet.contracts import DayModel
from discreet.kernels import FiniteKernel
from discreet.mechanisms import Adaptive, Hybrid, NoMask
from discreet.mechanisms.base import ContextMechanism
from discreet.numerics import SLACK
from discreet.outputs import SUPPRESSED, Generalized, Output, Released
from tests.models.test_routine import random_routine
from tests.strategies import RandomMechanism, random_chain

PROMISE = d.Guarantee("exact delta", "so it says", covers=frozenset({"each", "any"}))


def adaptive(seed: int = 1, slots: int = 12) -> Adaptive:
    """Public states are the outputs so far, so nothing merges."""
    chain = random_chain(seed, n=3, slots=slots, zeros=0.0)
    policy = d.Policy([d.Secret("c0", {"c0"}, delta=0.15), d.Secret("ever", {"c1"}, at="any")], delta=0.1)
    return Adaptive(chain, policy, outputs="deceive", memory="none")


@pytest.mark.slow("compares with a slow twin on many random cases")
def test_what_is_proven_holds_and_is_not_called_exact() -> None:
    mechanism = adaptive()
    result = audit(mechanism)
    assert (result.holds, result.exact, result.rests_on) == (True, False, "proof")
    assert result.worst_gain <= result.bound
    assert result.bound_by_secret["c0"] == pytest.approx(0.15 + SLACK, abs=1e-15)
    assert result.bound_excess <= SLACK
    assert abs(result.excess) < 1e-3  # the search found gains near their limits
    assert "every output of the first" in result.method
    assert "histories that were not met rest on the proof" in result.method
    assert result.kernels < 5_000


def test_the_budget_bounds_what_is_held_against_the_promise() -> None:
    result = audit(adaptive(), budget=60)
    assert result.rests_on == "proof"
    met = re.search(r"(\d+) kernels along the histories that tell most, 5 a slot", result.method)
    assert met is not None
    assert 12 < int(met[1]) <= 60
    assert "later slots were not looked at" in audit(adaptive(), budget=5).method


def test_where_every_output_can_be_looked_at_nothing_rests_on_a_proof() -> None:
    table = Adaptive(random_chain(1, n=4, slots=16), d.Policy(["c0"]))
    short = adaptive(slots=4)
    for mechanism in (table, short):
        result = audit(mechanism)
        assert (result.holds, result.exact, result.rests_on) == (True, True, "exact")
    with pytest.raises(d.DiscreetError, match="not exact"):
        audit(adaptive(), budget=50, method="exact")


def test_only_what_was_promised_rests_on_the_proof() -> None:
    mechanism = adaptive()
    some = d.Policy([d.Secret("another name", {"c1"}, at="any", delta=0.1)])
    assert audit(mechanism, policy=some, budget=60).rests_on == "proof"
    stricter = d.Policy([d.Secret("ever", {"c1"}, at="any", delta=0.05)])
    other = d.Policy(["c2"])
    for policy in (stricter, other):
        assert audit(mechanism, policy=policy, budget=60).rests_on == "nothing"
    elsewhere = random_chain(9, n=3, slots=12, zeros=0.0)
    assert audit(mechanism, model=elsewhere, budget=60).rests_on == "nothing"
    for guarantee in (
        d.Guarantee("exact delta", "each slot alone"),
        d.Guarantee("exact delta", "hoped for", covers=PROMISE.covers, proven=False),
        d.Guarantee("window only", "a part", covers=PROMISE.covers),
    ):
        mechanism.guarantee = guarantee
        assert audit(mechanism, budget=60).rests_on == "nothing"
    each = d.Policy([d.Secret("c0", {"c0"}), d.Secret("ever", {"c0"}, at="any")])
    assert audit(Hybrid(random_chain(2, slots=3), each)).rests_on == "exact"


class Liar(RandomMechanism):
    """Random kernels, as many public states as histories, and a promise."""

    guarantee = PROMISE


class OpenLiar(NoMask):
    """Releases everything, and says that it does not matter."""

    guarantee = PROMISE


def test_days_without_end_promise_nothing_of_another_policy() -> None:
    """The days that are judged carry the policy that is asked for; what is promised is the mechanism's own."""
    routine = random_routine(1, week=False)
    own = d.Policy([d.Secret("own", {routine.contexts[0]}, slots=[0])], delta=0.05)
    asked = d.Policy([d.Secret("other", {routine.contexts[1]}, slots=[1])], delta=0.3)
    mechanism = Adaptive(routine.since("2026-03-02"), own, outputs="deceive")
    assert audit(mechanism, policy=own, budget=1, days=5).rests_on == "proof"
    assert audit(mechanism, policy=asked, budget=1, days=5).rests_on != "proof"
    assert audit(mechanism, policy=asked, days=1).holds is False


def test_a_promise_that_is_broken_is_found_and_bounds_nothing() -> None:
    chain = random_chain(1, n=3, slots=10, zeros=0.0)
    policy = d.Policy(["c0", d.Secret("ever", {"c1"}, at="any")], delta=0.05)
    liar = Liar(chain, policy, seed=1, states=10**9, zeros=0.0)
    result = audit(liar)
    assert (result.holds, result.rests_on) == (False, "nothing")
    assert "is broken" in result.method
    assert result.bound > result.worst_gain
    assert result.breach is not None
    adversary = Adversary(liar)
    told = beliefs_along(liar, list(result.breach.outputs), adversary)[-1]
    row = adversary.gain_names.index((result.breach.secret, result.breach.slot))
    assert told.gains[row] == pytest.approx(result.breach.gain, abs=1e-12)
    assert audit(OpenLiar(chain, policy)).holds is False


class Sleeper(ContextMechanism):
    """Says one of three things at random, which tells nothing, until they have come in one order; then the truth."""

    guarantee = PROMISE
    names = ("u", "v", "w")

    def __init__(self, model: DayModel, policy: d.Policy, word: str) -> None:
        super().__init__(model, policy)
        n = len(model.contexts)
        self._word = tuple(Generalized(name) for name in word)
        self._vague = FiniteKernel((*map(Generalized, self.names), SUPPRESSED), [[1, 1, 1, 1]] * n, 4)
        self._truth = FiniteKernel(tuple(Released(context) for context in model.contexts), np.eye(n, dtype=int), 1)

    def start(self) -> tuple[Output, ...]:
        return ()

    def kernel(self, state: tuple[Output, ...]) -> FiniteKernel:
        return self._truth if state == self._word else self._vague

    def advance(self, state: tuple[Output, ...], output: Output) -> tuple[Output, ...]:
        return (*state, output)


def test_a_breach_that_was_not_met_is_not_said_to_be_checked() -> None:
    """One history of 4**11: no search finds it. The answer says on what it rests."""
    policy = d.Policy(["c0"])
    asleep = Sleeper(random_chain(1, slots=12, zeros=0.0), policy, "vwuvwuvwuvw")
    told = beliefs_along(asleep, [*map(Generalized, "vwuvwuvwuvw"), Released("c0")])[-1]
    assert told.gains.max() > 0.1  # the promise is broken
    result = audit(asleep)
    assert (result.holds, result.exact, result.rests_on) == (True, False, "proof")
    assert result.method.startswith("not every output")
    assert "the proof is not checked here" in result.method
    assert "histories that were not met rest on the proof" in result.method
    awake = Sleeper(random_chain(1, slots=4, zeros=0.0), policy, "vwu")
    assert audit(awake).holds is False


def test_growth_is_told_from_silences_since_each_release() -> None:
    budget = Budget(100_000)
    for n in (10, 300, 5_000):  # 1 + n t histories in slot t
        assert not any(multiplying(1 + n * t, 1 + n * (t + 1), 40, budget) for t in range(1, 40))
    assert multiplying(8**3, 8**4, 40, budget)
    assert not multiplying(8**3, 8**4, 1, budget)  # the day ends before the budget does
    assert not multiplying(MANY // 3, MANY, 40, budget)
