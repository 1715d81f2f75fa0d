"""Bounds met with equality are kept. Rounding to integers: rows sum exactly, nothing but the filler grows, and what is no row of probabilities is refused."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.numerics import SLACK, WEIGHT_BITS, exceeds, integer_weights, power_of_two
from tests.strategies import random_rows, searches


def test_rows_sum_exactly_and_only_the_filler_grows() -> None:
    for seed in searches(200):
        rows = random_rows(np.random.default_rng(seed), (5, 4), zeros=0.3)
        weights = integer_weights(rows, filler=3)
        assert (weights.sum(axis=1) == 1 << WEIGHT_BITS).all()
        assert (weights >= 0).all()
        assert (weights[:, :3] <= rows[:, :3] * 2.0**WEIGHT_BITS).all()


def test_a_sum_just_over_one_is_taken_off_the_largest() -> None:
    row = np.array([[0.1, 0.9 + 2.0**-52, 0.0]])
    weights = integer_weights(row, filler=2)
    assert weights.sum() == 1 << WEIGHT_BITS
    assert weights[0, 2] == 0


@pytest.mark.parametrize("row", [[0.6, 0.6, 0.0], [-0.1, 1.1, 0.0]])
def test_what_is_no_row_of_probabilities_is_refused(row: list[float]) -> None:
    with pytest.raises(ValueError, match="row 0 of a kernel"):
        integer_weights(np.array([row]), filler=2)


def test_powers_of_two() -> None:
    assert [value for value in range(-1, 9) if power_of_two(value)] == [1, 2, 4, 8]


def test_a_bound_that_is_met_with_equality_is_not_exceeded() -> None:
    assert exceeds(1 / 3 + 1 / 3 - 1 / 3, 1 / 3) is False
    assert exceeds(0.1 + SLACK, 0.1) is False
    assert exceeds(0.1 + 3 * SLACK, 0.1) is True
    assert exceeds(np.array([0.1, 0.2, 0.3]), np.array([0.1, 0.1, 0.3])).tolist() == [False, True, False]
