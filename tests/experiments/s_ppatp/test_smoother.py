"""Whole days at once, against enumeration and against a library that many use."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.errors import DiscreetError
from discreet.numerics import FloatArray
from discreet_experiments.s_ppatp.smoother import smoothed
from tests.strategies import random_rows, searches


def by_paths(initial: FloatArray, transitions: FloatArray, likelihoods: FloatArray) -> tuple[FloatArray, float]:
    slots, states = likelihoods.shape
    posterior = np.zeros((slots, states))
    for path in itertools.product(range(states), repeat=slots):
        chance = initial[path[0]] * likelihoods[0, path[0]]
        for t in range(1, slots):
            chance *= transitions[t - 1, path[t - 1], path[t]] * likelihoods[t, path[t]]
        for t, state in enumerate(path):
            posterior[t, state] += chance
    total = posterior[0].sum()
    return posterior / total, float(np.log(total))


def test_posteriors_are_the_enumerations() -> None:
    for seed in searches(30):
        rng = np.random.default_rng(seed)
        states, slots = int(rng.integers(1, 4)), int(rng.integers(1, 6))
        initial, transitions = random_rows(rng, (states,), 0.2), random_rows(rng, (slots - 1, states, states), 0.3)
        likelihoods = rng.random((slots, states)) + 1e-3
        expected, log_likelihood = by_paths(initial, transitions, likelihoods)
        posterior, measured = smoothed(initial, transitions, likelihoods)
        np.testing.assert_allclose(posterior, expected, atol=1e-12)
        assert measured == pytest.approx(log_likelihood, abs=1e-10)


def test_a_repeated_matrix_is_read_once_and_gives_the_same() -> None:
    rng = np.random.default_rng(1)
    one = random_rows(rng, (4, 4), 0.0)
    repeated = np.broadcast_to(one, (99, 4, 4))
    likelihoods = rng.random((100, 4))
    initial = np.full(4, 0.25)
    np.testing.assert_array_equal(
        smoothed(initial, repeated, likelihoods)[0], smoothed(initial, np.ascontiguousarray(repeated), likelihoods)[0]
    )


@pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array:DeprecationWarning")  # hmmlearn does that
def test_ten_thousand_steps_neither_underflow_nor_drift_and_agree_with_hmmlearn() -> None:
    from hmmlearn.hmm import CategoricalHMM

    rng = np.random.default_rng(0)
    states, symbols = 5, 7
    reference = CategoricalHMM(n_components=states, n_features=symbols, implementation="scaling")
    reference.startprob_ = rng.dirichlet(np.ones(states))
    reference.transmat_ = rng.dirichlet(np.ones(states), states)
    reference.emissionprob_ = rng.dirichlet(np.ones(symbols), states)
    seen = rng.integers(symbols, size=10_000)
    steps = np.broadcast_to(reference.transmat_, (9_999, states, states))
    posterior, _ = smoothed(reference.startprob_, steps, reference.emissionprob_.T[seen])
    np.testing.assert_allclose(posterior, reference.predict_proba(seen[:, None]), atol=1e-10)
    np.testing.assert_allclose(posterior.sum(axis=1), 1, atol=1e-10)


def test_an_impossible_output_is_named() -> None:
    with pytest.raises(DiscreetError, match="slot 1 is impossible"):
        smoothed(np.array([1.0, 0.0]), np.eye(2)[None], np.array([[1.0, 1.0], [0.0, 1.0]]))


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DiscreetError, match="do not fit"):
        smoothed(np.ones(2) / 2, np.eye(3)[None], np.ones((2, 2)))
