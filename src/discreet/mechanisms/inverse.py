"""The inverse of a small matrix, with one order of its sums on every machine. Compiled."""

from __future__ import annotations

import numpy as np

from discreet.jit import helper
from discreet.numerics import FloatArray, IntArray


@helper
def inverted(matrix: FloatArray) -> FloatArray:
    """If columns are independent. A library's inverse would use threads that this size does not repay."""
    size = len(matrix)
    places = np.empty(size, np.int64)
    for k in range(size):
        places[k] = -1
    inverse = inverse_of_some(matrix, places, 0.0)
    for k in range(size):
        if places[k] >= 0:
            raise np.linalg.LinAlgError("singular")
    return inverse


@helper
def inverse_of_some(matrix: FloatArray, unit: IntArray, smallest: float) -> FloatArray:
    """Gauss and Jordan in place, with row pivots. A column that has none above `smallest` becomes one of the identity.

    unit[k] is the row of column k where that is a column of the identity, else -1; it is set for those that become one.
    Of rows without a pivot, one is always left that is no other column's.
    """
    size = len(matrix)
    work, row_at, taken = matrix.copy(), np.arange(size), np.zeros(size, np.bool_)
    for k in range(size):
        if unit[k] >= 0:
            taken[unit[k]] = True
    for column in range(size):
        best = column
        for i in range(column + 1, size):
            if abs(work[i, column]) > abs(work[best, column]):
                best = i
        if abs(work[best, column]) <= smallest:
            best = column
            while taken[row_at[best]]:
                best += 1
            unit[column] = row_at[best]
            taken[row_at[best]] = True
            for i in range(size):
                work[i, column] = 0.0
            work[best, column] = 1.0
        if best != column:
            row_at[best], row_at[column] = row_at[column], row_at[best]
            for k in range(size):
                work[best, k], work[column, k] = work[column, k], work[best, k]
        scale = 1.0 / work[column, column]
        work[column, column] = 1.0
        for k in range(size):
            work[column, k] *= scale
        for i in range(size):
            factor = work[i, column]
            if i != column and factor != 0.0:
                work[i, column] = 0.0
                for k in range(size):
                    work[i, k] -= factor * work[column, k]
    inverse = np.empty((size, size))
    for i in range(size):
        for k in range(size):
            inverse[i, row_at[k]] = work[i, k]
    return inverse
