"""Beliefs and draws of whole paths, against every path there is."""

from __future__ import annotations

import itertools

import numpy as np

from discreet.evaluation.paths import paths
from discreet.evaluation.truth import Likelihood, Stretch

IN_CLASS = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])  # of three contexts, the last is the secret


def stretch(seed: int, *, hidden: bool, edges: bool) -> Stretch:
    """A random model of four places and three contexts, with something seen at three of them."""
    rng = np.random.default_rng(seed)
    states = 2 if hidden else 3
    steps = rng.dirichlet([1.0] * states, (3, states))
    emissions = rng.dirichlet([1.0] * 3, (4, states))
    seen: list[Likelihood] = [rng.random(3), rng.random((3, 3)) if edges else rng.random(3), None, rng.random(3)]
    return Stretch(
        rng.dirichlet([1.0] * states),
        lambda t: steps[t],
        (lambda t: emissions[t]) if hidden else None,
        IN_CLASS,
        seen,
    )


def enumerated(one: Stretch) -> dict[tuple[int, ...], float]:
    """P(classes of all places | outputs), by summing over every path of states and contexts."""
    weights: dict[tuple[int, ...], float] = {}
    for states in itertools.product(range(len(one.initial)), repeat=4):
        for contexts in itertools.product(range(3), repeat=4):
            weight = one.initial[states[0]]
            for t in range(4):
                weight *= one.transition(t - 1)[states[t - 1], states[t]] if t else 1.0
                weight *= (
                    float(states[t] == contexts[t]) if one.emission is None else one.emission(t)[states[t], contexts[t]]
                )
                likelihood = one.seen[t]
                if likelihood is not None:
                    place = contexts[t] if likelihood.ndim == 1 else (contexts[t - 1], contexts[t])
                    weight *= likelihood[place]
            key = tuple(int(context == 2) for context in contexts)
            weights[key] = weights.get(key, 0.0) + weight
    total = sum(weights.values())
    return {key: weight / total for key, weight in weights.items()}


def test_beliefs_and_draws_are_those_of_every_path() -> None:
    """Frequencies of 20,000 draws within five standard deviations: a right answer fails 1e-5 of the time."""
    for seed, (hidden, edges) in enumerate([(False, False), (False, True), (True, False)]):
        one = stretch(seed, hidden=hidden, edges=edges)
        exact = enumerated(one)
        found = paths(one, 20_000, np.random.default_rng(seed))
        for t in range(4):
            np.testing.assert_allclose(found.beliefs[t, 1], sum(p for key, p in exact.items() if key[t]), atol=1e-12)
        for key, p in exact.items():
            share = float((found.draws == key).all(axis=1).mean())
            assert abs(share - p) < 5 * np.sqrt(p * (1 - p) / 20_000) + 1e-9, (seed, key)


def test_an_impossible_output_says_nothing() -> None:
    chain = Stretch(
        np.array([1.0, 0.0, 0.0]), lambda t: np.eye(3), None, IN_CLASS, [None, np.array([0.0, 0.0, 1.0]), None]
    )
    found = paths(chain, 9, np.random.default_rng(0))
    np.testing.assert_array_equal(found.beliefs, [[1.0, 0.0]] * 3)
    assert not found.draws.any()
