"""Location sets by name: what Dphmm with a complete graph and the likeliest set does, and no more."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as d
from discreet.errors import PolicyError
from discreet.laws import check as check_laws
from discreet.mechanisms.perturbation import PolicyGraph
from discreet.randomness import SeededEntropy
from tests.strategies import random_chain

QUERY = [[0.0, 0.0], [1.0, 0.0], [0.0, 3.0], [2.0, 2.0]]


def test_it_is_dphmm_over_the_likeliest_set() -> None:
    chain = random_chain(3, n=4, slots=5, zeros=0.0)
    named = d.mechanisms.Dpls(chain, query=QUERY, epsilon=1.0, left_out=0.2)
    plain = d.mechanisms.Dphmm(chain, graph=PolicyGraph.complete(4), query=QUERY, epsilon=1.0, support=("mass", 0.2))
    assert named.settings == plain.settings
    state, other, rng, again = named.start(), plain.start(), SeededEntropy(1), SeededEntropy(1)
    smaller = 0
    for context in (0, 3, 1, 1, 2):
        kernel, same = named.kernel(state), plain.kernel(other)
        assert kernel.support.tolist() == same.support.tolist()
        smaller += len(kernel.support) < 4
        output = kernel.sample(context, rng)
        assert output == same.sample(context, again)
        state, other = named.advance(state, output), plain.advance(other, output)
    assert smaller  # the set does leave contexts out


def test_its_degree_falls_with_the_noise_and_that_of_a_given_radius_does_not() -> None:
    """Why Figures 11 and 12 turn with epsilon: its set is as wide as the belief, G_util's hull as the radius."""
    n = 21
    line = np.arange(n, dtype=np.float64)[:, None]
    near = np.exp(-np.abs(line - line.T)) * (np.abs(line - line.T) <= 1)
    step = 0.999 * near / near.sum(axis=1, keepdims=True) + 0.001 / n
    chain = d.MarkovChain.homogeneous([f"c{k}" for k in range(n)], np.full(n, 1 / n), step, 12)
    degrees = {}
    for epsilon in (0.05, 50.0):
        util = d.mechanisms.Dphmm(chain, graph=PolicyGraph.within(line, 2.0), query=line, epsilon=epsilon)
        sets = d.mechanisms.Dpls(chain, query=line, epsilon=epsilon)
        for name, mechanism in (("G_util", util), ("DPLS", sets)):
            state, rng, found = mechanism.start(), SeededEntropy(7), []
            for _ in range(12):
                kernel = mechanism.kernel(state)
                found.append(kernel.degree(10))
                state = mechanism.advance(state, kernel.sample(10, rng))
            degrees[name, epsilon] = float(np.mean(found[4:]))
    assert degrees["G_util", 0.05] == degrees["G_util", 50.0] == 5
    assert degrees["DPLS", 50.0] < 5 < degrees["DPLS", 0.05]


def test_laws_and_promise() -> None:
    chain, policy = random_chain(4, n=3, slots=3), d.Policy("c0")
    mechanism = d.mechanisms.Dpls(chain, policy, query=QUERY[:3], epsilon=0.5)
    assert mechanism.guarantee.kind == "epsilon"
    assert "likeliest set" in mechanism.guarantee.statement
    check_laws(mechanism)


def test_any_two_contexts_differ_by_epsilon_at_most_in_the_set_and_outside() -> None:
    """At every context's answer and around it, along days drawn from the mechanism; the bound is attained."""
    around = np.array([[0.0, 0.0], [0.5, 0.5], [-2.0, 1.0], [9.0, -9.0]])
    largest, outside = 0.0, 0
    for seed in range(6):
        chain = random_chain(seed, n=4, slots=4, zeros=0.0)
        mechanism = d.mechanisms.Dpls(chain, query=QUERY, epsilon=0.7, left_out=0.3)
        state, rng = mechanism.start(), SeededEntropy(seed)
        for context in chain.sample_codes(1, seed)[0].tolist():
            kernel = mechanism.kernel(state)
            outside += 4 - len(kernel.support)
            drawn = kernel.sample(context, rng)
            points = [
                d.Perturbed(tuple(map(float, point))) for point in (np.array(QUERY)[:, None] + around).reshape(-1, 2)
            ]
            for output in (drawn, *points):
                told = kernel.likelihood(output)
                if told.any():
                    assert told.min() > 0
                    largest = max(largest, float(np.log(told.max() / told.min())))
            state = mechanism.advance(state, drawn)
    assert outside
    assert 0.6 < largest <= 0.7 + 1e-9


@pytest.mark.parametrize("left_out", [-0.1, 1, True, "0.1", float("nan")])
def test_a_share_that_is_none_is_refused(left_out: object) -> None:
    with pytest.raises(PolicyError, match="left_out is"):
        d.mechanisms.Dpls(random_chain(1, n=2, slots=2), query=[0, 1], epsilon=1.0, left_out=left_out)  # type: ignore[arg-type]


def test_a_routine_needs_a_first_day() -> None:
    day = random_chain(1, n=2, slots=2)
    routine = d.Routine({"day": day}, {("day", "day"): np.full((2, 2), 0.5)})
    with pytest.raises(d.DiscreetError, match="routine has no first day"):
        d.mechanisms.Dpls(routine, query=[0, 1], epsilon=1.0)  # type: ignore[arg-type]
    assert d.mechanisms.Dpls(routine.since("2026-11-16"), query=[0, 1], epsilon=1.0).model.slots is None
