"""Arithmetic with pairs of floats (Dekker 1971): 104 bits or so, for filters that never end.

A filter in floats errs by a few units of 2**-53 a slot, entry by entry and relative, because it only adds and
multiplies what is not negative. Over a year that is more than the slack of 2**-40. In pairs `high + low` it is 2**-100
a slot: nothing that any stream will live to see (mechanisms/adaptive/endless.md). Measures are scaled by powers of
two alone, which is exact. All of it is sums and products in one order, so it is the same bits on every machine.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.jit import FLOATS, FLOATS_2D, INTS_2D, compiled, helper
from discreet.numerics import FloatArray, IntArray

SPLIT = 134217729.0  # 2**27 + 1


@helper
def _times(a: float, b: float) -> tuple[float, float]:
    """a b = high + low, exactly (no fused multiply-add: not every machine has one)."""
    high = a * b
    scaled = SPLIT * a
    a_high = scaled - (scaled - a)
    a_low = a - a_high
    scaled = SPLIT * b
    b_high = scaled - (scaled - b)
    b_low = b - b_high
    return high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low


@helper
def _plus(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """A sum of two pairs that are not negative, up to a few units of 2**-105."""
    high = a + b
    rest = high - a
    low = ((a - (high - rest)) + (b - rest)) + (a_low + b_low)
    total = high + low
    return total, low - (total - high)


@helper
def _product(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """A product of two pairs, up to a few units of 2**-104."""
    high, low = _times(a, b)
    low += a * b_low + a_low * b
    total = high + low
    return total, low - (total - high)


@compiled(FLOATS_2D)
def whole_rows(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rows of floats divided by their exact sums, as pairs: the rows that a model means.

    A row of floats sums to one up to rounding only; over years that would be a drift of its own.
    """
    high, low = np.empty_like(rows), np.empty_like(rows)
    for z in range(len(rows)):
        total, total_low = 0.0, 0.0
        for k in range(rows.shape[1]):
            total, total_low = _plus(total, total_low, rows[z, k], 0.0)
        excess = (total - 1.0) + total_low  # exact: total is within 2**-50 of one
        factor, factor_low = 1.0, -excess  # 1 / (1 + excess), up to its square
        for k in range(rows.shape[1]):
            high[z, k], low[z, k] = _product(factor, factor_low, rows[z, k], 0.0)
    return high, low


@compiled(FLOATS_2D, FLOATS_2D, FLOATS_2D, FLOATS_2D, INTS_2D, FLOATS)
def pushed(
    high: FloatArray, low: FloatArray, step: FloatArray, step_low: FloatArray, private: IntArray, likelihood: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Rows (R, K) of measures through a step (K, K) and an output, scaled so that the first sums to about one.

    `private` (K, K) or (1, K) is the private state on each step, `likelihood` (P,) the output's. All zero where the
    output is impossible.
    """
    rows, states = high.shape
    after, after_low = np.zeros((rows, states)), np.zeros((rows, states))
    seen, seen_low = np.empty(states), np.empty(states)
    for z in range(states):
        line = private[z if len(private) > 1 else 0]
        for k in range(states):
            seen[k], seen_low[k] = _product(step[z, k], step_low[z, k], likelihood[line[k]], 0.0)
        for r in range(rows):
            mass, mass_low = high[r, z], low[r, z]
            if mass > 0.0:
                for k in range(states):
                    part, part_low = _product(mass, mass_low, seen[k], seen_low[k])
                    after[r, k], after_low[r, k] = _plus(after[r, k], after_low[r, k], part, part_low)
    total = 0.0
    for k in range(states):
        total += after[0, k]
    if total > 0.0:
        scale = math.ldexp(1.0, min(-math.frexp(total)[1], 1023))  # no float is larger, and some totals are smaller
        for r in range(rows):
            for k in range(states):
                after[r, k] *= scale
                after_low[r, k] *= scale
    return after, after_low


@compiled(FLOATS_2D, FLOATS_2D, FLOATS_2D, FLOATS_2D)
def pulled_back(
    high: FloatArray, low: FloatArray, step: FloatArray, step_low: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Rows (R, K) of chances given the state after a step, as chances given the state before it."""
    rows, states = high.shape
    before, before_low = np.zeros((rows, len(step))), np.zeros((rows, len(step)))
    for r in range(rows):
        for z in range(len(step)):
            total, total_low = 0.0, 0.0
            for k in range(states):
                part, part_low = _product(step[z, k], step_low[z, k], high[r, k], low[r, k])
                total, total_low = _plus(total, total_low, part, part_low)
            before[r, z], before_low[r, z] = total, total_low
    return before, before_low
