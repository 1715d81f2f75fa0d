"""Numbers: the tolerances that claims rest on, each with its reason; rounding that errs on the safe side.

A search or a solver has tolerances of its own, beside its code: what they return is checked against these.
"""

from __future__ import annotations

from typing import Final, overload

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

SLACK: Final = 2.0**-40
"""A claimed delta means gain <= delta + SLACK. A bound that is met with equality (1/3, in floats) must not be refused,
and float filters err by about 1e-14 over a long day; 2**-40, about 9e-13, is above that and below anything that matters."""

ROOM: Final = SLACK / 2
"""What the searches allow beyond delta: a bound met with equality is not refused, and a full check at SLACK then passes."""

ROW_SUM: Final = 1e-9
"""How far a row of probabilities that is given may be from summing to one before it is refused instead of normalised."""

WEIGHT_BITS: Final = 52
"""Kernels are rounded to integer weights over 2**52: quotients are exact in float64, and 2**-40 still has 12 bits."""

RESOLUTION: Final = 2.0**-44
"""Vectors that agree to this, entry by entry and relative to it, are one vector to the audit's bound."""


@overload
def exceeds(gain: float, delta: float) -> bool: ...
@overload
def exceeds(gain: FloatArray, delta: FloatArray | float) -> BoolArray: ...
def exceeds(gain: FloatArray | float, delta: FloatArray | float) -> BoolArray | bool:
    """Whether a gain is over its delta by more than SLACK, or a belief over its limit: what "breached" means everywhere."""
    over: BoolArray | bool = gain > delta + SLACK
    return over if isinstance(over, np.ndarray) else bool(over)


def normalised(rows: FloatArray) -> FloatArray:
    """Rows scaled to sum to one as nearly as floats can."""
    return np.asarray(rows / rows.sum(axis=-1, keepdims=True), dtype=np.float64)


def ordered_product(left: FloatArray, right: FloatArray) -> FloatArray:
    """left @ right for vectors and matrices, each entry summed from the first term to the last and nothing fused.

    `@` leaves the order to a library that chooses by processor; on the path to a kernel that would make another kernel
    elsewhere (docs/theory.md, section 12). `discreet.jit.product` has the same bits, compiled.
    """
    result = np.zeros(left.shape[:-1] + right.shape[1:])
    for k in range(len(right)):
        result += np.multiply.outer(left[..., k], right[k])
    return result


def integer_weights(probabilities: FloatArray, filler: int, bits: int = WEIGHT_BITS) -> IntArray:
    """Round rows of probabilities down to integers over 2**bits; column `filler` takes what is left of each row.

    With silence as the filler, no other output becomes more likely than asked for.
    """
    total = 1 << bits
    weights = np.floor(np.asarray(probabilities, dtype=np.float64) * total).astype(np.int64)
    weights[:, filler] = 0
    rest = total - weights.sum(axis=1)
    wrong = (rest < -weights.shape[1]) | (weights < 0).any(axis=1)
    if wrong.any():
        first = int(np.argmax(wrong))
        raise ValueError(f"row {first} of a kernel is not a row of probabilities: {probabilities[first]}")
    weights[:, filler] = np.maximum(rest, 0)
    for row in np.flatnonzero(rest < 0):  # floats that sum to a little over one: off the largest
        weights[row, weights[row].argmax()] += rest[row]
    return weights


def power_of_two(value: int) -> bool:
    """Whether value is 1, 2, 4, ..."""
    return value > 0 and value & (value - 1) == 0
