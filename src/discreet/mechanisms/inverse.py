"""The inverse of a small matrix, with one order of its sums on every machine. Compiled."""

from __future__ import annotations

import numpy as np

from discreet.jit import helper
from discreet.numerics import FloatArray


@helper
def inverted(matrix: FloatArray) -> FloatArray:
    """Gauss and Jordan with row pivots. A library's inverse would use threads that this size does not repay."""
    size = len(matrix)
    work = np.zeros((size, 2 * size))
    for i in range(size):  # in loops: assigning a slice takes seconds more to compile
        for k in range(size):
            work[i, k] = matrix[i, k]
        work[i, size + i] = 1.0
    for column in range(size):
        best = column
        for i in range(column + 1, size):
            if abs(work[i, column]) > abs(work[best, column]):
                best = i
        if work[best, column] == 0.0:
            raise np.linalg.LinAlgError("singular")
        if best != column:
            for k in range(2 * size):
                work[best, k], work[column, k] = work[column, k], work[best, k]
        scale = 1.0 / work[column, column]
        for k in range(column, 2 * size):
            work[column, k] *= scale
        for i in range(size):
            factor = work[i, column]
            if i != column and factor != 0.0:
                for k in range(column, 2 * size):
                    work[i, k] -= factor * work[column, k]
    inverse = np.empty((size, size))
    for i in range(size):
        for k in range(size):
            inverse[i, k] = work[i, size + k]
    return inverse
