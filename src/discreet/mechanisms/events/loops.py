"""The inner loop of PA-HMM's search, compiled; `stretches.py` says what it computes."""

from __future__ import annotations

import numpy as np

from discreet.jit import FLOATS_2D, INTS, compiled, in_place, written
from discreet.numerics import FloatArray, IntArray

UNSURE = 1e-12
"""Sums nearer to zero than this, that were added to and taken from, are added up anew: their sign may be rounding."""


@in_place
def _value(row: FloatArray, levels: IntArray) -> float:
    total = 0.0
    for e in range(len(levels)):
        total += row[e] * levels[e]
    return total


@compiled(written(INTS), INTS, FLOATS_2D)
def lower_levels(levels: IntArray, free: IntArray, slopes: FloatArray) -> None:
    """Lower the levels (n,) of the free events in turn, each to the lowest for which slopes (C, n) @ levels <= 0 holds.

    Constraints are linear in each level, and hold at the levels given: one look at each constraint gives the lowest.
    """
    rows = len(slopes)
    values = np.zeros(rows)
    for r in range(rows):
        values[r] = _value(slopes[r], levels)
    for e in free:
        before = levels[e]
        fall = float(before)
        for r in range(rows):
            if slopes[r, e] < 0.0:
                fall = min(fall, values[r] / slopes[r, e])
        step = min(int(before), max(0, int(fall + 1e-6)))
        while step > 0:  # a bound that is met up to rounding is taken, and looked at once more
            levels[e] = before - step
            fits = True
            for r in range(rows):
                value = values[r] - step * slopes[r, e]
                if value > -UNSURE and _value(slopes[r], levels) > 0.0:
                    fits = False
                    break
            if fits:
                break
            step -= 1
        levels[e] = before - step
        for r in range(rows):
            values[r] -= step * slopes[r, e]
