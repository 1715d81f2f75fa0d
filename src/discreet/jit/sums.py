"""Sums and products with one order, compiled or not, which hot loops share.

An observer runs the mechanism too, and a stream may move to another computer: the same public state must give the same
kernel, to the bit, on every machine (docs/theory.md, section 12). So nothing here lets a compiler reorder or fuse: a
sum whose order the width of the vector unit decides is another number elsewhere. Loops over *independent* sums
vectorise as they are (`product`); one long sum does when its lanes are written out (`dot`, `total`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit.kinds import FLOATS, FLOATS_2D, INT, INTS
from discreet.jit.rule import compiled, in_place
from discreet.numerics import FloatArray, IntArray, ordered_product

_lanes: Any = None
"""Sums of products in eight lanes, for compiled code: `lanes` puts it here when numba is loaded."""


def _of_list(values: FloatArray) -> float:
    """For `total`: the floats of a list, which plain Python adds up in a fraction of the time."""
    numbers, whole = values.tolist(), len(values) - len(values) % 8
    a, b, c, d, e, f, g, h = (_in_order(numbers[lane:whole:8]) for lane in range(8))
    return (((a + b) + (c + d)) + ((e + f) + (g + h))) + _in_order(numbers[whole:])


def _in_order(numbers: list[float]) -> float:
    """Their sum from the first to the last: Python's own `sum` is more exact, hence another number."""
    result = 0.0
    for number in numbers:
        result += number
    return result


def _of_products(left: FloatArray, right: FloatArray) -> float:
    """For `dot`: its terms, and their total, which has the same order."""
    return _of_list(left * right)


def _of_rows(matrix: FloatArray, row: int, vector: FloatArray, size: int) -> float:
    """For `row_dot`: `dot` of the slices."""
    return _of_list(matrix[row, :size] * vector[:size])


def _of_squares(matrix: FloatArray, row: int, size: int) -> float:
    """For `row_square`: likewise."""
    return _of_list(matrix[row, :size] * matrix[row, :size])


def _in_numpy(left: FloatArray, right: FloatArray, result: FloatArray) -> None:
    """For `multiply`: NumPy's loops over independent sums, which are those of `numerics.ordered_product`."""
    result[:] = ordered_product(left, right)


@in_place(plain=_of_products)
def dot(left: FloatArray, right: FloatArray) -> float:
    """The sum of left[i] right[i] in eight lanes, which are added in pairs; what is left over comes last."""
    size = len(left)
    whole, rest = size - size % 8, 0.0
    for i in range(whole, size):
        rest += left[i] * right[i]
    return float(_lanes((left, right), (0, 0), whole)) + rest


@in_place(plain=_of_rows)
def row_dot(matrix: FloatArray, row: int, vector: FloatArray, size: int) -> float:
    """dot(matrix[row, :size], vector[:size]), without the slices: they are counted, which takes as long as the sum."""
    whole, rest = size - size % 8, 0.0
    for k in range(whole, size):
        rest += matrix[row, k] * vector[k]
    return float(_lanes((matrix, vector), (row * matrix.shape[1], 0), whole)) + rest


@in_place(plain=_of_squares)
def row_square(matrix: FloatArray, row: int, size: int) -> float:
    """dot(matrix[row, :size], matrix[row, :size]), likewise."""
    whole, rest = size - size % 8, 0.0
    for k in range(whole, size):
        rest += matrix[row, k] * matrix[row, k]
    start = row * matrix.shape[1]
    return float(_lanes((matrix, matrix), (start, start), whole)) + rest


@in_place(plain=_of_list)
def total(values: FloatArray) -> float:
    """The sum of values, in the order of `dot`."""
    size = len(values)
    whole, rest = size - size % 8, 0.0
    for i in range(whole, size):
        rest += values[i]
    return float(_lanes((values,), (0,), whole)) + rest


@in_place(plain=_in_numpy)
def multiply(left: FloatArray, right: FloatArray, result: FloatArray) -> None:
    """result = left right, each entry summed from the first term to the last, as `numerics.ordered_product` does.

    Two rows and four terms are worked on at a time, so that entries stay in registers; no entry's own order changes.
    """
    rows, inner = left.shape
    columns, even, quads = right.shape[1], rows - rows % 2, inner - inner % 4
    for i in range(rows):
        for j in range(columns):
            result[i, j] = 0.0
    for i in range(0, even, 2):
        first, second = result[i], result[i + 1]
        for k in range(0, quads, 4):
            p, q, r, s = left[i, k], left[i, k + 1], left[i, k + 2], left[i, k + 3]
            t, u, v, w = left[i + 1, k], left[i + 1, k + 1], left[i + 1, k + 2], left[i + 1, k + 3]
            for j in range(columns):
                a, b, c, d = right[k, j], right[k + 1, j], right[k + 2, j], right[k + 3, j]
                first[j] = (((first[j] + p * a) + q * b) + r * c) + s * d
                second[j] = (((second[j] + t * a) + u * b) + v * c) + w * d
        for k in range(quads, inner):
            p, t = left[i, k], left[i + 1, k]
            for j in range(columns):
                first[j] += p * right[k, j]
                second[j] += t * right[k, j]
    for i in range(even, rows):
        last = result[i]
        for k in range(inner):
            p = left[i, k]
            for j in range(columns):
                last[j] += p * right[k, j]


@compiled(FLOATS_2D, FLOATS_2D)
def _product(left: FloatArray, right: FloatArray) -> FloatArray:
    result = np.empty((left.shape[0], right.shape[1]))
    multiply(left, right, result)
    return result


def product(left: FloatArray, right: FloatArray) -> FloatArray:
    """left @ right for vectors and matrices, with the sums of `numerics.ordered_product`, compiled."""
    result = _product(
        np.ascontiguousarray(left if left.ndim == 2 else left[None, :]),
        np.ascontiguousarray(right if right.ndim == 2 else right[:, None]),
    )
    return result.reshape(left.shape[:-1] + right.shape[1:])


@compiled(FLOATS, INTS, INTS, FLOATS, INT)
def sparse_product(
    vector: FloatArray, starts: IntArray, columns: IntArray, values: FloatArray, size: int
) -> FloatArray:
    """A vector times a matrix in compressed rows, `size` columns wide: terms are added row after row."""
    result = np.zeros(size)
    for i in range(len(vector)):
        for k in range(starts[i], starts[i + 1]):
            result[columns[k]] += vector[i] * values[k]
    return result
