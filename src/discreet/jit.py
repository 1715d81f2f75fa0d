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
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, register_jitable

from discreet.numerics import FloatArray, IntArray, ordered_product

Function = TypeVar("Function", bound=Callable[..., object])

# Arguments are declared read-only, so that one compilation serves arrays that may and that may not be written.
FLOATS = types.Array(types.float64, 1, "C", readonly=True)
FLOATS_2D = types.Array(types.float64, 2, "C", readonly=True)
FLOATS_3D = types.Array(types.float64, 3, "C", readonly=True)
FLOATS_4D = types.Array(types.float64, 4, "C", readonly=True)
INTS = types.Array(types.int64, 1, "C", readonly=True)
INTS_2D = types.Array(types.int64, 2, "C", readonly=True)
BOOLS_2D = types.Array(types.boolean, 2, "C", readonly=True)


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

    def added(values: FloatArray) -> float:
        numbers, whole = values.tolist(), len(values) - len(values) % 8
        a, b, c, d, e, f, g, h = (_in_order(numbers[lane:whole:8]) for lane in range(8))
        return (((a + b) + (c + d)) + ((e + f) + (g + h))) + _in_order(numbers[whole:])

    return added


def _in_order(numbers: list[float]) -> float:
    """Their sum from the first to the last: Python's own `sum` is more exact, hence another number."""
    result = 0.0
    for number in numbers:
        result += number
    return result


def _of_products(function: Function) -> Callable[..., object]:
    """For `dot`: its terms, and their total, which has the same order."""
    return lambda left, right: total(left * right)


def _of_rows(function: Function) -> Callable[..., object]:
    """For `row_dot`: `dot` of the slices."""
    return lambda matrix, row, vector, size: dot(matrix[row, :size], vector[:size])


def _of_squares(function: Function) -> Callable[..., object]:
    """For `row_square`: likewise."""
    return lambda matrix, row, size: dot(matrix[row, :size], matrix[row, :size])


def _in_numpy(function: Function) -> Callable[..., object]:
    """For `multiply`: NumPy's loops over independent sums, which are those of `numerics.ordered_product`."""

    def multiplied(left: FloatArray, right: FloatArray, result: FloatArray) -> None:
        result[:] = ordered_product(left, right)

    return multiplied


def _products_in_lanes(_: Any, arrays: Any, starts: Any, whole: Any) -> Any:
    """Eight sums at once, of every eighth product of the arrays' entries from their starts on; added in pairs.

    Written for the compiler as one vector of eight: numba leaves loops over single lanes as they are. Not fused, and in
    one order, whatever the width of the processor's vectors.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        tools: Any = cgutils  # without types
        lanes, size = ir.VectorType(ir.DoubleType(), 8), arguments[2].type
        items, begins = (tools.unpack_tuple(builder, packed, len(arrays)) for packed in arguments[:2])
        data = [
            builder.gep(context.make_array(kind)(context, builder, item).data, [begin])
            for kind, item, begin in zip(arrays, items, begins, strict=True)
        ]
        sums = tools.alloca_once_value(builder, ir.Constant(lanes, [0.0] * 8))
        start, step = ir.Constant(size, 0), ir.Constant(size, 8)
        with tools.for_range_slice(builder, start, arguments[2], step, size) as (place, _):
            found = [builder.bitcast(builder.gep(one, [place]), lanes.as_pointer()) for one in data]
            term = builder.load(found[0], align=8)
            for other in found[1:]:
                term = builder.fmul(term, builder.load(other, align=8))
            builder.store(builder.fadd(builder.load(sums), term), sums)
        each = [builder.extract_element(builder.load(sums), ir.Constant(ir.IntType(32), lane)) for lane in range(8)]
        while len(each) > 1:
            each = [builder.fadd(one, other) for one, other in zip(each[::2], each[1::2], strict=True)]
        return each[0]

    if any(array.layout != "C" for array in arrays):
        raise TypeError("sums in lanes are of arrays that are stored without gaps")
    return types.float64(arrays, starts, whole), generate


_lanes: Any = intrinsic(_products_in_lanes)


@compiled(plain=_of_products)
def dot(left: FloatArray, right: FloatArray) -> float:
    """The sum of left[i] right[i] in eight lanes, which are added in pairs; what is left over comes last."""
    size = len(left)
    whole, rest = size - size % 8, 0.0
    for i in range(whole, size):
        rest += left[i] * right[i]
    return float(_lanes((left, right), (0, 0), whole)) + rest


@compiled(plain=_of_rows)
def row_dot(matrix: FloatArray, row: int, vector: FloatArray, size: int) -> float:
    """dot(matrix[row, :size], vector[:size]), without the slices: they are counted, which takes as long as the sum."""
    whole, rest = size - size % 8, 0.0
    for k in range(whole, size):
        rest += matrix[row, k] * vector[k]
    return float(_lanes((matrix, vector), (row * matrix.shape[1], 0), whole)) + rest


@compiled(plain=_of_squares)
def row_square(matrix: FloatArray, row: int, size: int) -> float:
    """dot(matrix[row, :size], matrix[row, :size]), likewise."""
    whole, rest = size - size % 8, 0.0
    for k in range(whole, size):
        rest += matrix[row, k] * matrix[row, k]
    start = row * matrix.shape[1]
    return float(_lanes((matrix, matrix), (start, start), whole)) + rest


@compiled(plain=_of_list)
def total(values: FloatArray) -> float:
    """The sum of values, in the order of `dot`."""
    size = len(values)
    whole, rest = size - size % 8, 0.0
    for i in range(whole, size):
        rest += values[i]
    return float(_lanes((values,), (0,), whole)) + rest


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
