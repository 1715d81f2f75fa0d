"""The inverse of a small matrix: of one that has none, columns leave for those of the identity."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.mechanisms.inverse import inverse_of_some, inverted


def test_the_inverse_is_numpys() -> None:
    rng = np.random.default_rng(1)
    for size in (1, 2, 5, 20):
        matrix = rng.uniform(-1, 1, (size, size))
        matrix[0, 0] = 0.0 if size > 1 else 1.0  # the first pivot is in another row
        np.testing.assert_allclose(inverted(matrix), np.linalg.inv(matrix), rtol=1e-9, atol=1e-12)


def test_a_singular_matrix_has_none() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        inverted(np.array([[1.0, 2.0], [2.0, 4.0]]))


def test_dependent_columns_become_those_of_rows_that_no_other_column_has() -> None:
    """Column 2 is the sum of the two before it, column 3 is the unit column of row 0 and stays."""
    matrix = np.array([[1.0, 2.0, 3.0, 1.0], [0.0, 1.0, 1.0, 0.0], [2.0, 1.0, 3.0, 0.0], [1.0, 0.0, 1.0, 0.0]])
    unit = np.array([-1, -1, -1, 0])
    inverse = inverse_of_some(matrix, unit, 1e-12)
    assert unit[:2].tolist() == [-1, -1]
    assert unit[2] in (1, 2, 3)
    assert unit[3] == 0
    matrix[:, 2] = np.eye(4)[unit[2]]
    np.testing.assert_allclose(inverse @ matrix, np.eye(4), atol=1e-12)


def test_whatever_the_matrix_something_is_inverted() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        size, rank = int(rng.integers(2, 8)), int(rng.integers(0, 6))
        matrix = (rng.integers(-2, 3, (size, rank)) @ rng.integers(-2, 3, (rank, size))).astype(np.float64)
        unit = np.full(size, -1)
        some = int(rng.integers(size))
        matrix[:, some], unit[some] = np.eye(size)[1], 1
        inverse = inverse_of_some(matrix, unit, 1e-9)
        for column in np.flatnonzero(unit >= 0).tolist():
            matrix[:, column] = np.eye(size)[unit[column]]
        np.testing.assert_allclose(inverse @ matrix, np.eye(size), atol=1e-9)
