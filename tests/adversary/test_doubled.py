"""Pairs of floats against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.adversary import doubled
from discreet.numerics import FloatArray

TINY = Fraction(1, 2**96)
"""A few operations, each exact to a few units of 2**-104."""


def exact(high: FloatArray, low: FloatArray) -> list[list[Fraction]]:
    return [
        [Fraction(a) + Fraction(b) for a, b in zip(x, y, strict=True)]
        for x, y in zip(high.tolist(), low.tolist(), strict=True)
    ]


def test_rows_are_whole() -> None:
    rows = np.random.default_rng(0).dirichlet(np.full(20, 0.2), size=20)
    high, low = doubled.whole_rows(rows)
    for given, row in zip(rows.tolist(), exact(high, low), strict=True):
        total = sum(map(Fraction, given), Fraction(0))
        assert abs(sum(row, Fraction(-1))) < TINY
        for entry, pair in zip(given, row, strict=True):
            assert abs(pair - Fraction(entry) / total) <= TINY * Fraction(entry)


def test_a_step_is_exact_to_far_below_a_float() -> None:
    rng = np.random.default_rng(1)
    n = 6
    step, step_low = doubled.whole_rows(rng.dirichlet(np.full(n, 0.3), size=n))
    high, low = rng.random((3, n)), 2.0**-55 * rng.random((3, n))
    high[1, 2] = low[1, 2] = 0.0
    private = rng.integers(0, 5, size=(n, n))
    likelihood = rng.integers(0, 2**52, size=5) / 2**52
    after = exact(*doubled.pushed(high, low, step, step_low, private, likelihood))
    matrix, before = exact(step, step_low), exact(high, low)
    wanted = [
        [sum(before[r][z] * matrix[z][k] * Fraction(likelihood[private[z, k]]) for z in range(n)) for k in range(n)]
        for r in range(3)
    ]
    scale = after[0][0] / wanted[0][0]
    power = Fraction(2) ** round(np.log2(float(scale)))
    for found, right in zip(after, wanted, strict=True):
        for a, b in zip(found, right, strict=True):
            assert abs(a - power * b) <= TINY * abs(power * b)


def test_chances_are_pulled_back_exactly_to_far_below_a_float() -> None:
    rng = np.random.default_rng(2)
    n = 5
    step, step_low = doubled.whole_rows(rng.dirichlet(np.full(n, 0.3), size=n))
    high, low = rng.random((4, n)), np.zeros((4, n))
    found = exact(*doubled.pulled_back(high, low, step, step_low))
    matrix = exact(step, step_low)
    for r in range(4):
        for z in range(n):
            right = sum(matrix[z][k] * Fraction(high[r, k]) for k in range(n))
            assert abs(found[r][z] - right) <= TINY * right


def test_an_impossible_output_leaves_nothing() -> None:
    step, low = doubled.whole_rows(np.full((2, 2), 0.5))
    after, _ = doubled.pushed(np.ones((1, 2)), np.zeros((1, 2)), step, low, np.array([[0, 1]]), np.zeros(2))
    assert not after.any()


def test_what_is_less_likely_than_any_float_is_scaled_to_a_number() -> None:
    """The reciprocal of such a total is no float."""
    high = np.array([[2.0**-1000, 2.0**-1010]])
    after, _ = doubled.pushed(
        high, np.zeros((1, 2)), np.eye(2) * 2.0**-50, np.zeros((2, 2)), np.arange(2)[None], np.ones(2)
    )
    assert np.isfinite(after).all()
    assert after[0, 0] == 1024 * after[0, 1] > 0
