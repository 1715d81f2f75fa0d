"""Days that are not like the first: how far ahead they look, what is still possible, and years of priors."""

from __future__ import annotations

from typing import Any

import numpy as np

import discreet as d
from discreet.adversary import endless
from discreet.mechanisms import Adaptive
from discreet.models.kinds import Kinds
from discreet.models.routine.routine import Routine
from discreet.numerics import SLACK, FloatArray
from discreet.outputs import SKIPPED
from tests.endless.oracle import Recursion, events_of, search

FORGETS, KEEPS = np.full((2, 2), 0.5), np.array([[0.99, 0.01], [0.01, 0.99]])


def of_two_kinds(slots: int, forgetful: str, steady: str, rule: Kinds | None = None) -> Routine:
    """Days on which nothing is remembered, and days on which nearly everything is, the night after them too."""
    steps = {forgetful: FORGETS, steady: KEEPS}
    return d.Routine(
        {
            kind: d.MarkovChain(("a", "b"), [0.5, 0.5], np.repeat(step[None], slots - 1, 0))
            for kind, step in steps.items()
        },
        {(before, after): steps[before] for before in steps for after in steps},
        kind_of=rule,
    )


def test_once_priors_have_settled_weekends_look_as_far_ahead_as_they_need() -> None:
    """The stream begins on a Thursday, after which nothing is remembered; what Saturday tells of Sunday is not less."""
    chain = of_two_kinds(6, "weekday", "weekend").since("2026-11-19", initial=[0.6, 0.4])
    policy = d.Policy([d.Secret("a", slots={3})], delta=0.2)
    mechanism = Adaptive(chain, policy, memory="none")
    assert chain.phase(12) is not None
    periodic = Adaptive(chain.routine.since("2026-11-19"), policy, memory="none")
    assert mechanism.horizon is not None
    assert periodic.horizon is not None
    assert mechanism.horizon >= periodic.horizon > 1
    events = events_of(policy, chain.contexts, 6, 7)
    found = search(mechanism, chain.unrolled(7), events, 24, skips=range(16), budget=80)
    assert not found.worst.breached, found.worst


def test_days_that_look_further_ahead_than_tables_reach_are_silent(monkeypatch: Any) -> None:
    """A rule without a period: the first days forget at once, later ones hardly ever."""
    monkeypatch.setattr(endless, "HORIZON", 20)
    rule = Kinds(lambda date: "early" if date.day < 18 else "late")
    chain = of_two_kinds(4, "early", "late", rule).since("2026-11-16")
    policy = d.Policy([d.Secret("a", slots={3})], delta=0.05)
    mechanism = Adaptive(chain, policy, memory="none")
    assert mechanism.horizon is not None
    assert mechanism.horizon < 20
    events = events_of(policy, chain.contexts, 4, 13)
    found = search(mechanism, chain.unrolled(13), events, 16, budget=120)
    assert not found.worst.breached, found.worst
    state: Any = mechanism.start()
    assert mechanism.kernel(state).likelihood(d.Released("b")).any()
    for _ in range(9):
        state = mechanism.advance(state, SKIPPED)
    assert not mechanism.kernel(state).likelihood(d.Released("b")).any()


def test_a_state_that_is_left_for_good_counts_while_it_may_not_have_been() -> None:
    """After 30 days hardly anybody is still at "z", and who is goes to the secret place every other time."""
    step = np.array([[0.4, 0.5, 0.1, 0], [0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5]])
    habits = d.Routine({"day": d.MarkovChain(("z", "s", "h", "g"), [0.25] * 4, [step])}, {("day", "day"): step})
    chain = habits.since("2026-11-16", initial=[1, 0, 0, 0])
    mechanism = Adaptive(chain, d.Policy(["s"], delta=0.1), memory="none")
    state: Any = mechanism.start()
    recursion = Recursion(mechanism, chain.unrolled(31), events_of(mechanism.policy, chain.contexts, 2, 31))
    masses = recursion.start()
    for _ in range(58):
        state, masses = mechanism.advance(state, SKIPPED), recursion.push(masses, None)
    kernel: Any = mechanism.kernel(state)
    beliefs = recursion.beliefs(masses, kernel.weights / float(kernel.total))
    assert (beliefs <= (recursion.priors + recursion.deltas + SLACK)[:, None]).all()


def drifting(seed: int) -> FloatArray:
    """The prior of a day eight years on, where days do not repeat."""
    rng = np.random.default_rng(seed)
    kinds = ("odd", "even")
    chains = {kind: d.MarkovChain(("a", "b", "c"), [1 / 3] * 3, rng.dirichlet([1] * 3, size=(3, 3))) for kind in kinds}
    nights = {(one, other): rng.dirichlet([1] * 3, size=3) for one in kinds for other in kinds}
    rule = Kinds(lambda date: "even" if date.day % 2 == 0 else "odd")
    return d.Routine(chains, nights, kind_of=rule).since("2026-11-16").prior_at(3000 * 4)


def test_priors_of_days_that_do_not_repeat_sum_to_one_after_years() -> None:
    assert max(abs(drifting(seed).sum() - 1) for seed in range(6)) < 1e-14
