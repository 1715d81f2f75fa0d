"""How hot loops are compiled: once, cached on disk, with the types of the plain Python function, and one order of sums.

An observer runs the mechanism too, and a stream may move to another computer: the same public state must give the same
kernel, to the bit, on every machine (docs/theory.md, section 12). So nothing here lets a compiler reorder or fuse: a
sum whose order the width of the vector unit decides is another number elsewhere. Loops over *independent* sums
vectorise as they are (`product`); one long sum does when its lanes are written out (`dot`, `total`).

Import this module only from modules that are themselves imported when first used: numba takes a while to load.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba import types
from numba.extending import register_jitable

from discreet.numerics import FloatArray, IntArray, ordered_product

Function = TypeVar("Function", bound=Callable[..., object])

# Arguments are declared read-only, so that one compilation serves arrays that may and that may not be written.
FLOATS = types.Array(types.float64, 1, "C", readonly=True)
FLOATS_2D = types.Array(types.float64, 2, "C", readonly=True)
INTS = types.Array(types.int64, 1, "C", readonly=True)
INTS_2D = types.Array(types.int64, 2, "C", readonly=True)


def compiled(
    *arguments: object, plain: Callable[[Any], Callable[..., object]] | None = None
) -> Callable[[Function], Function]:
    """Compile a function, for these argument types where given (at import, from the cache) or when first called.

    Nothing is relaxed: sums keep their order, products and sums are not fused, and infinities, NaN and signs of zero
    stay exact, because a zero here means impossible. With NUMBA_DISABLE_JIT functions stay plain Python, with the same
    bits; what `plain` makes of one is then called instead, where its loops would take too long.
    """
    signature: Any = tuple(arguments) or None

    def decorate(function: Function) -> Function:
        if cast(Any, numba.config).DISABLE_JIT:  # set while a program runs, and unknown to type checkers
            return function if plain is None else cast(Function, plain(function))
        return cast(Function, numba.njit(signature, cache=True, fastmath=False)(function))

    return decorate


def helper(function: Function) -> Function:
    """A function that compiled ones call, and that stays plain Python where they are called as plain Python."""
    return register_jitable(function)


def _of_list(function: Function) -> Callable[..., object]:
    """For `total`: the floats of a list, which plain Python adds up in a fraction of the time."""
    return lambda values: function(values.tolist())


def _of_products(function: Function) -> Callable[..., object]:
    """For `dot`: its terms, and their total, which has the same order."""
    return lambda left, right: total(left * right)


def _in_numpy(function: Function) -> Callable[..., object]:
    """For `multiply`: NumPy's loops over independent sums, which are those of `numerics.ordered_product`."""

    def multiplied(left: FloatArray, right: FloatArray, result: FloatArray) -> None:
        result[:] = ordered_product(left, right)

    return multiplied


@compiled(plain=_of_products)
def dot(left: FloatArray, right: FloatArray) -> float:
    """The sum of left[i] right[i] in eight lanes, which are added in pairs; what is left over comes last."""
    size = len(left)
    whole = size - size % 8
    a = b = c = d = e = f = g = h = rest = 0.0
    for i in range(0, whole, 8):
        a += left[i] * right[i]
        b += left[i + 1] * right[i + 1]
        c += left[i + 2] * right[i + 2]
        d += left[i + 3] * right[i + 3]
        e += left[i + 4] * right[i + 4]
        f += left[i + 5] * right[i + 5]
        g += left[i + 6] * right[i + 6]
        h += left[i + 7] * right[i + 7]
    for i in range(whole, size):
        rest += left[i] * right[i]
    return (((a + b) + (c + d)) + ((e + f) + (g + h))) + rest


@compiled(plain=_of_list)
def total(values: FloatArray) -> float:
    """The sum of values, in the order of `dot`."""
    size = len(values)
    whole = size - size % 8
    a = b = c = d = e = f = g = h = rest = 0.0
    for i in range(0, whole, 8):
        a += values[i]
        b += values[i + 1]
        c += values[i + 2]
        d += values[i + 3]
        e += values[i + 4]
        f += values[i + 5]
        g += values[i + 6]
        h += values[i + 7]
    for i in range(whole, size):
        rest += values[i]
    return (((a + b) + (c + d)) + ((e + f) + (g + h))) + rest


@compiled(plain=_in_numpy)
def multiply(left: FloatArray, right: FloatArray, result: FloatArray) -> None:
    """result = left right, each entry summed from the first term to the last, as `numerics.ordered_product` does.

    Two rows and four terms are worked on at a time, so that entries stay in registers; no entry's own order changes.
    """
    rows, inner = left.shape
    columns, even, quads = right.shape[1], rows - rows % 2, inner - inner % 4
    result[:] = 0.0
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


@compiled(FLOATS, INTS, INTS, FLOATS, types.int64)
def sparse_product(
    vector: FloatArray, starts: IntArray, columns: IntArray, values: FloatArray, size: int
) -> FloatArray:
    """A vector times a matrix in compressed rows, `size` columns wide: terms are added row after row."""
    result = np.zeros(size)
    for i in range(len(vector)):
        for k in range(starts[i], starts[i + 1]):
            result[columns[k]] += vector[i] * values[k]
    return result
