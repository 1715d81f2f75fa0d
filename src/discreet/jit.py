"""How hot loops are compiled: once, cached on disk, with the types of the plain Python function.

Import this module only from modules that are themselves imported when first used: numba takes a while to load.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba import types
from numba.extending import register_jitable

Function = TypeVar("Function", bound=Callable[..., object])

# Arguments are declared read-only, so that one compilation serves arrays that may and that may not be written.
FLOATS = types.Array(types.float64, 1, "C", readonly=True)
FLOATS_2D = types.Array(types.float64, 2, "C", readonly=True)
INTS = types.Array(types.int64, 1, "C", readonly=True)
INTS_2D = types.Array(types.int64, 2, "C", readonly=True)


def compiled(*arguments: object, reorder_sums: bool = False) -> Callable[[Function], Function]:
    """Compile a function, for these argument types where given (at import, from the cache) or when first called.

    `reorder_sums` lets sums be reordered, so that they vectorise. Nothing else is relaxed: infinities, NaN and signs of
    zero stay exact, because a zero here means impossible.
    """
    fastmath = {"reassoc", "contract"} if reorder_sums else False
    signature: Any = tuple(arguments) or None

    def decorate(function: Function) -> Function:
        return cast(Function, numba.njit(signature, cache=True, fastmath=fastmath)(function))

    return decorate


def helper(function: Function) -> Function:
    """A function that compiled ones call, and that stays plain Python where they are called as plain Python."""
    return register_jitable(function)
