"""The stationary distribution against exact fractions, and what it says of chains that have several."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.models.chain.stationary import stationary
from tests.strategies import random_rows, searches


def exact(transition: list[list[Fraction]]) -> list[Fraction]:
    """Solve pi P = pi, sum 1, by elimination over fractions; for chains with one closed class."""
    n = len(transition)
    rows = [[transition[j][i] - (i == j) for j in range(n)] + [Fraction(0)] for i in range(n)]
    rows[-1] = [Fraction(1)] * n + [Fraction(1)]
    for column in range(n):
        pivot = next(r for r in range(column, n) if rows[r][column] != 0)
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [x / rows[column][column] for x in rows[column]]
        for r in range(n):
            if r != column:
                rows[r] = [x - rows[r][column] * y for x, y in zip(rows[r], rows[column], strict=True)]
    return [row[-1] for row in rows]


def test_it_is_the_exact_one_entry_by_entry() -> None:
    for seed in searches(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 7))
        counts = rng.integers(1, 10**9, (n, n)) ** int(rng.integers(1, 3))  # some states are very rare
        rows = [[Fraction(int(c), int(row.sum())) for c in row] for row in counts]
        found = stationary(np.array(rows, dtype=np.float64))
        assert found is not None
        np.testing.assert_allclose(found, [float(x) for x in exact(rows)], rtol=1e-13)


def test_a_state_that_is_left_for_good_has_none_of_it() -> None:
    found = stationary(np.array([[0.5, 0.25, 0.25], [0.0, 0.5, 0.5], [0.0, 1.0, 0.0]]))
    np.testing.assert_allclose(found, [0, 2 / 3, 1 / 3], rtol=1e-15)  # type: ignore[arg-type]


@pytest.mark.parametrize("transition", [np.eye(2), np.array([[0.2, 0.4, 0.4], [0, 1, 0], [0, 0, 1]])])
def test_several_are_none(transition: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
    assert stationary(transition) is None


def test_a_periodic_chain_has_one() -> None:
    np.testing.assert_array_equal(stationary(np.array([[0.0, 1.0], [1.0, 0.0]])), [0.5, 0.5])


def test_sparse_chains_are_left_as_they_are_by_it() -> None:
    for seed in searches(60):
        rng = np.random.default_rng(seed)
        transition = random_rows(rng, (4, 4), 0.5)
        found = stationary(transition)
        if found is not None:
            np.testing.assert_allclose(found @ transition, found, atol=1e-15)
