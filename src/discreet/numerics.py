"""Numbers: the tolerances that claims rest on, each with its reason; rounding that errs on the safe side.

A search or a solver has tolerances of its own, beside its code: what they return is checked against these.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from typing import Any, Final, overload

import numpy as np
import numpy.typing as npt

from discreet.errors import DiscreetError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

SLACK: Final = 2.0**-40
"""A claimed delta means gain <= delta + SLACK. A bound that is met with equality (1/3, in floats) must not be refused,
and float filters err by about 1e-14 over a long day; 2**-40, about 9e-13, is above that and below what matters."""

RELATIVE: Final = 2.0**-20
"""Of limits below 2**-20 the slack is this share of the limit, so that a bound on odds is not lost in it. Beliefs that
small are sums of products of numbers that are not negative, and their error is relative too."""

ROOM: Final = SLACK / 2
"""What the searches allow beyond delta: a bound met with equality is not refused, and the check at SLACK passes."""

CLOSE: Final = 2.0**-30
"""A cap on belief applies to priors up to this beyond where it ends. The limit jumps there, and one prior computed in
two ways differs in its last bits: those that people write down (0.15 under a cap of 0.2) are not to be torn apart."""

ROW_SUM: Final = 1e-9
"""How far a given row of probabilities may be from summing to one before it is refused, not normalised."""

WEIGHT_BITS: Final = 52
"""Kernels are rounded to integer weights over 2**52: quotients are exact in float64, and 2**-40 still has 12 bits."""

TOTAL: Final = 1 << WEIGHT_BITS
"""What a row of rounded weights sums to."""

RESOLUTION: Final = 2.0**-44
"""Vectors that agree to this, entry by entry and relative to it, are one vector to the audit's bound."""


@overload
def exceeds(gain: float, delta: float) -> bool: ...
@overload
def exceeds(gain: FloatArray, delta: FloatArray | float) -> BoolArray: ...
def exceeds(gain: FloatArray | float, delta: FloatArray | float) -> BoolArray | bool:
    """Whether a gain is over its delta, or a belief over its limit, by more than SLACK: "breached" everywhere."""
    over: BoolArray | bool = gain > delta + SLACK
    return over if isinstance(over, np.ndarray) else bool(over)


def slack_of(limits: FloatArray) -> FloatArray:
    """What belief may exceed its limit by: SLACK, or of tiny limits a share (RELATIVE)."""
    return np.asarray(np.minimum(SLACK, RELATIVE * limits))


def tightness(limits: FloatArray) -> FloatArray:
    """The slack in units of SLACK: 1 but for tiny limits. Rows divided by it need no other tolerance than SLACK.

    What is impossible (a limit of 0) stays as it is: no belief in it ever differs from 0.
    """
    return np.asarray(np.where(limits > 0, slack_of(limits) / SLACK, 1.0))


def normalised(rows: FloatArray) -> FloatArray:
    """Rows scaled to sum to one as nearly as floats can."""
    return np.asarray(rows / rows.sum(axis=-1, keepdims=True), dtype=np.float64)


def read_only(values: Iterable[object]) -> None:
    """Let the arrays among these, and those in lists, be written no more: what beliefs rest on stays as it is."""
    for value in values:
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
        elif isinstance(value, list):
            read_only(value)


FEW_TERMS = 4_096
"""Of a product, so few that all of them are written down before they are added."""


def ordered_product(left: FloatArray, right: FloatArray) -> FloatArray:
    """left @ right for vectors and matrices, each entry summed from the first term to the last and nothing fused.

    `@` leaves the order to a library that chooses by processor; on the path to a kernel that would make another kernel
    elsewhere (docs/theory.md, section 12). `discreet.jit.product` has the same bits, compiled.
    """
    if left.ndim == 1 and right.ndim == 2 and 0 < right.size <= FEW_TERMS:
        return np.asarray(np.add.accumulate(left[:, None] * right)[-1] + 0.0)  # from zero on: never a negative one
    result = np.zeros(left.shape[:-1] + right.shape[1:])
    for k in range(len(right)):
        result += np.multiply.outer(left[..., k], right[k])
    return result


# Three rules of rounding to weights, each for who must not grow by it:
# - `integer_weights`: down, and one column, silence say, takes what is left: no other output becomes likelier.
# - `weights_to_likeliest`: down, and each row's likeliest output takes what is left: it is lost there, whereas a few
#   parts in 2**52 would be all that there is to see in a column that is otherwise empty.
# - `rounded_up`: silence up to what can be sampled, where more silence is always safe.
# (FDH splits integers among layers: down, and the next layer takes what is left.)


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
        raise DiscreetError(
            f"row {first} of a kernel is not a row of probabilities: {probabilities[first]}; give numbers from 0 to 1 "
            "that sum to 1"
        )
    weights[:, filler] = np.maximum(rest, 0)
    for row in np.flatnonzero(rest < 0):  # floats that sum to a little over one: off the largest
        weights[row, weights[row].argmax()] += rest[row]
    return weights


def weights_to_likeliest(chances: FloatArray, total: int = TOTAL) -> IntArray:
    """Rows scaled to sum to one and rounded down to integers over total; each row's largest takes what is left."""
    weights: IntArray = np.floor(chances / chances.sum(axis=1, keepdims=True) * total).astype(np.int64)
    rows = np.arange(len(weights))
    weights[rows, weights.argmax(axis=1)] += total - weights.sum(axis=1)
    return weights


def rounded_up(probabilities: FloatArray) -> FloatArray:
    """Probabilities as multiples of 2**-WEIGHT_BITS, none of them smaller than it was."""
    return np.asarray(np.ceil(probabilities * float(TOTAL)) / TOTAL)


def digest_of(parts: Iterable[object]) -> bytes:
    """Of arrays, by their bytes, and of other values, by their repr; each with its length, so that none runs on."""
    digest = hashlib.sha256()
    for part in parts:
        data = _little_endian(part) if isinstance(part, np.ndarray) else repr(part).encode()
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.digest()


def _little_endian(array: npt.NDArray[Any]) -> bytes:
    if array.dtype.isnative and sys.byteorder == "little":
        return array.tobytes()
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def power_of_two(value: int) -> bool:
    """Whether value is 1, 2, 4, ..."""
    return value > 0 and value & (value - 1) == 0
