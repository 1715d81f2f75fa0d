"""The dual simplex on dense rows against HiGHS: same optimum, feasible to rounding, limits that count pivots."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from discreet.mechanisms import dual_simplex
from discreet.mechanisms.programme import PERTURBATION
from discreet.numerics import FloatArray
from tests.strategies import searches


def random_case(seed: int, most: int = 12) -> tuple[FloatArray, FloatArray]:
    """Rows that some point of the cube meets, half of them with equality; some rows are small, some entries zero."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, most))
    rows = int(rng.integers(0, 5 * size))
    matrix = (
        rng.uniform(-1, 1, (rows, size)) * (rng.random((rows, size)) < 0.7) * 10.0 ** rng.integers(-6, 1, (rows, 1))
    )
    inside = np.clip(rng.uniform(-0.2, 1.2, size), 0.0, 1.0)
    room = np.where(rng.random(rows) < 0.5, 0.0, rng.random(rows)) * np.abs(matrix).max(axis=1, initial=0.0)
    return matrix, matrix @ inside - room


@pytest.mark.slow("compares with a slow twin on many random cases")
def test_the_optimum_is_highs_optimum_and_feasible() -> None:
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    for seed in searches(300):
        matrix, right = random_case(seed)
        scale = np.maximum(np.abs(matrix).max(axis=1, initial=0.0), 1e-300)
        size = matrix.shape[1]
        found = dual_simplex.solve(matrix, right)
        assert found is not None, seed
        assert found.min() >= 0
        assert found.max() <= 1
        assert ((right - matrix @ found) / scale).max(initial=0.0) < 1e-12, seed
        given = (-matrix / scale[:, None], -right / scale)
        best = linprog(np.ones(size), *given, bounds=(0, 1), method="highs-ds", options=tight)
        assert best.status == 0, seed
        assert found.sum() == pytest.approx(best.fun, abs=2 * PERTURBATION), seed


def test_without_rows_nothing_moves() -> None:
    found = dual_simplex.solve(np.zeros((0, 3)), np.zeros(0))
    assert found is not None
    assert found.tolist() == [0, 0, 0]


def test_a_corner_by_hand() -> None:
    """x + y >= 3/2 and x - y >= 1/4: any x from 7/8 to 1 is as good. Costs are perturbed: it is one of the two ends."""
    matrix, right = np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([1.5, 0.25])
    found = dual_simplex.solve(matrix, right)
    assert found is not None
    assert found[0] in (0.875, 1.0)
    assert found[1] == 1.5 - found[0]


def test_what_has_no_solution_is_none() -> None:
    assert dual_simplex.solve(np.array([[1.0, 1.0]]), np.array([2.5])) is None
    assert dual_simplex.solve(np.array([[0.0, 0.0]]), np.array([0.5])) is None


def test_limits_count_pivots() -> None:
    matrix, right = np.eye(3), np.array([0.5, 0.25, 0.125])
    assert dual_simplex.solve(matrix, right, pivots=3) is None
    found = dual_simplex.solve(matrix, right, pivots=5)  # a pivot each, a fresh inverse, a look
    assert found is not None
    assert found.tolist() == right.tolist()


def test_the_same_problem_has_the_same_solution() -> None:
    for seed in searches(20):
        case = random_case(seed, most=60)  # some take more pivots than an inverse lasts
        first, second = dual_simplex.solve(*case), dual_simplex.solve(*case)
        assert first is not None
        assert second is not None
        np.testing.assert_array_equal(first, second)
