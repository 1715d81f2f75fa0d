"""Habits from perturbed reports: against an enumeration of every path, and on simulated people."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import discreet as d
from discreet.models.learning.reports import expected, fit_reports
from discreet.numerics import FloatArray
from discreet.randomness import SeededEntropy

TRUE = np.array([[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.3, 0.1, 0.6]])
POINTS = [[0.0], [4.0], [8.0]]
LABELS = ("home", "work", "gym")


def enumerated(initial: FloatArray, step: FloatArray, told: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """The same sums over every path."""
    slots, n = told.shape
    first, steps, total = np.zeros(n), np.zeros((n, n)), 0.0
    for path in itertools.product(range(n), repeat=slots):
        weight = initial[path[0]] * told[0, path[0]]
        for t in range(1, slots):
            weight *= step[path[t - 1], path[t]] * told[t, path[t]]
        total += weight
        first[path[0]] += weight
        for before, after in itertools.pairwise(path):
            steps[before, after] += weight
    return first / total, steps / total, float(np.log(total))


@pytest.mark.parametrize("seed", range(12))
def test_forward_and_backward_equal_the_enumeration_of_paths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, slots = 2 + seed % 2, 1 + seed % 5
    initial, step = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n), size=n)
    told = rng.random((slots, n)) * (rng.random((slots, n)) < 0.8) + 1e-3
    first, steps, likely = expected(initial, step, told)
    begun, moved, twin = enumerated(initial, step, told)
    np.testing.assert_allclose(first, begun, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(steps, moved, rtol=1e-12, atol=1e-14)
    assert likely == pytest.approx(twin, abs=1e-12)


def reports(epsilon: float, streams: int, slots: int, seed: int) -> list[FloatArray]:
    """What is told of simulated people, by a mechanism that knows nothing of their habits."""
    habits = d.MarkovChain.homogeneous(LABELS, [0.4, 0.3, 0.3], TRUE, slots)
    blank = d.MarkovChain.homogeneous(LABELS, np.full(3, 1 / 3), np.full((3, 3), 1 / 3), slots)
    noisy = d.mechanisms.Dpls(blank, query=POINTS, epsilon=epsilon, left_out=0.0)
    kernel, rng = noisy.kernel(noisy.start()), SeededEntropy(seed)
    days = habits.sample_codes(streams, seed)
    told = [noisy.likelihoods([kernel.sample(int(context), rng) for context in day]) for day in days]
    return [np.asarray(one) for one in told]


def test_more_reports_bring_the_true_chain_nearer() -> None:
    blank = np.full((3, 3), 1 / 3)
    off = {}
    for streams in (1, 40):
        found = fit_reports(LABELS, reports(4.0, streams, 40, seed=5), transition=blank)
        assert all(b >= a - 1e-12 for a, b in itertools.pairwise(found.log_likelihoods))  # no round is a step back
        off[streams] = float(np.abs(found.transition - TRUE).max())
    begun = float(np.abs(blank - TRUE).max())
    assert begun > 0.4
    assert off[40] < 0.1 < off[1]


def test_reports_that_tell_nothing_teach_nothing() -> None:
    found = fit_reports(LABELS, [np.ones((6, 3))], transition=TRUE, initial=[1.0, 0.0, 0.0])
    assert found.converged
    np.testing.assert_allclose(found.initial, [1.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(found.transition, TRUE, atol=1e-12)
    assert found.chain(4).slots == 4


def test_what_was_output_never_is_an_error() -> None:
    cases: tuple[tuple[list[list[list[float]]], str], ...] = (
        ([], "no reports"),
        ([[[1.0, 1.0]]], "stream 0 has shape"),
        ([[[1.0, 1.0, -1.0]]], "stream 0 has a slot"),
        ([[[0.0, 0.0, 0.0]]], "stream 0 has a slot"),
    )
    for streams, word in cases:
        with pytest.raises(d.DiscreetError, match=word):
            fit_reports(LABELS, streams)
    with pytest.raises(d.DiscreetError, match="impossible under the chain"):
        fit_reports(LABELS, [np.eye(3)[[0, 1]]], transition=np.eye(3))
