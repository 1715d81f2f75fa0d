"""exp(x) for x <= 0 in additions and multiplications alone, so that it has the same bits on every machine.

The C library's and NumPy's exponentials choose among variants by processor, and those differ in the last bit.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.jit import FLOATS, compiled
from discreet.numerics import FloatArray

LEAST = -746.0
"""Here and below exp(x) is less than half of the smallest float: it is 0."""

LOG2_HIGH, LOG2_LOW = float.fromhex("0x1.62e42fee00000p-1"), float.fromhex("0x1.a39ef35793c76p-33")
"""log(2) in two parts: the first has 32 bits, so that its products with whole numbers up to 1077 are exact."""

PER_LOG2 = float.fromhex("0x1.71547652b82fep+0")
"""1 / log(2): it chooses the power of two, and being a little off does no harm."""

TERMS = tuple(1.0 / math.factorial(n) for n in range(14))
"""Of exp's series. On |r| <= log(2) / 2 the first that is left out is below 2**-57."""


POWERS: FloatArray = np.ldexp(1.0, np.arange(-540, 1))
"""Of two: 2**-540 to 1."""


@compiled(FLOATS)
def exponential(values: FloatArray) -> FloatArray:
    """(m,): exp(x) of each x <= 0 (-inf gives 0), off by less than 1.5 units in the last place.

    x = n log(2) + r with |r| <= 0.347: r is off by 2**-55, the series' own roundings are of that size or smaller, and
    the last addition rounds by half a unit. The power of two is multiplied in by halves, so that only the second
    product is rounded, where it is below 2**-1022.
    """
    results = np.empty(len(values))
    for i in range(len(values)):
        x = max(values[i], LEAST)
        n = math.floor(x * PER_LOG2 + 0.5)
        r = (x - n * LOG2_HIGH) - n * LOG2_LOW
        total = TERMS[13]
        for term in range(12, 1, -1):
            total = total * r + TERMS[term]
        total = 1.0 + (r + r * r * total)
        half = int(n) // 2
        results[i] = total * POWERS[540 + half] * POWERS[540 + int(n) - half]
    return results
