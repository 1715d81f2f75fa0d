"""Hot loops: compiled once, kept on disk, interpreted until then, and with one order of sums in every case.

`rule` says when a loop is compiled, `sums` has the sums and products that others share, and `warm` compiles everything.
numba is loaded with the first compiled loop, not with this package.
"""

from __future__ import annotations

from discreet.jit.kinds import (
    BOOL,
    BOOLS,
    BOOLS_2D,
    FLOAT,
    FLOATS,
    FLOATS_2D,
    FLOATS_3D,
    FLOATS_4D,
    INT,
    INTS,
    INTS_2D,
    INTS_3D,
    RecordKind,
    written,
)
from discreet.jit.rule import compiled, helper, in_place
from discreet.jit.sums import dot, multiply, product, row_dot, row_square, sparse_product, total

__all__ = [
    "BOOL",
    "BOOLS",
    "BOOLS_2D",
    "FLOAT",
    "FLOATS",
    "FLOATS_2D",
    "FLOATS_3D",
    "FLOATS_4D",
    "INT",
    "INTS",
    "INTS_2D",
    "INTS_3D",
    "RecordKind",
    "compiled",
    "dot",
    "helper",
    "in_place",
    "multiply",
    "product",
    "row_dot",
    "row_square",
    "sparse_product",
    "total",
    "written",
]
