"""Bounds met with equality are kept. Rounding: rows sum exactly, only the filler grows, and bad rows are refused."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.numerics import (
    SLACK,
    TOTAL,
    WEIGHT_BITS,
    digest_of,
    exceeds,
    integer_weights,
    power_of_two,
    rounded_up,
    weights_to_likeliest,
)
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


@pytest.mark.parametrize("total", [TOTAL, TOTAL - (TOTAL >> 40), 7])
def test_what_is_left_goes_to_the_likeliest_and_empty_columns_stay_empty(total: int) -> None:
    for seed in searches(200):
        rows = random_rows(np.random.default_rng(seed), (5, 4), zeros=0.3)
        weights = weights_to_likeliest(3 * rows, total)  # scaled to sum to one
        assert (weights.sum(axis=1) == total).all()
        assert (weights[rows == 0] == 0).all()
        others = np.arange(4) != weights.argmax(axis=1)[:, None]
        assert (weights[others] <= (rows * total * (1 + 1e-15))[others]).all()  # a float's rounding, not a weight's


def test_rounding_up_never_falls_and_ends_on_what_can_be_sampled() -> None:
    for seed in searches(200):
        p = np.random.default_rng(seed).random(50)
        up = rounded_up(p)
        assert ((up >= p) & (up - p < 1 / TOTAL)).all()
        assert (up * TOTAL == np.rint(up * TOTAL)).all()
    assert rounded_up(np.array([0.0, 0.5, 1.0])).tolist() == [0.0, 0.5, 1.0]


def test_digests_do_not_run_parts_together_and_know_no_order_of_bytes() -> None:
    assert digest_of(("ab", "c")) != digest_of(("a", "bc"))
    array = np.array([[1, 2], [3, 4]])
    assert digest_of((array,)) == digest_of((array.astype(">i8"),)) == digest_of((np.asfortranarray(array),))


def test_powers_of_two() -> None:
    assert [value for value in range(-1, 9) if power_of_two(value)] == [1, 2, 4, 8]


def test_a_bound_that_is_met_with_equality_is_not_exceeded() -> None:
    assert exceeds(1 / 3 + 1 / 3 - 1 / 3, 1 / 3) is False
    assert exceeds(0.1 + SLACK, 0.1) is False
    assert exceeds(0.1 + 3 * SLACK, 0.1) is True
    assert exceeds(np.array([0.1, 0.2, 0.3]), np.array([0.1, 0.1, 0.3])).tolist() == [False, True, False]
