"""The sum of `sums.dot` as LLVM has it: one vector of eight, which numba would leave as loops over single lanes."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from discreet.jit import sums


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


setattr(sums, "_lanes", intrinsic(_products_in_lanes))  # noqa: B010  # a name of that module's loops
