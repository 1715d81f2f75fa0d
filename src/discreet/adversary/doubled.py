"""Arithmetic with pairs of floats (Dekker 1971): 104 bits or so, for filters that never end.

A filter in floats errs by a few units of 2**-53 a slot, entry by entry and relative, because it only adds and
multiplies what is not negative. Over a year that is more than the slack of 2**-40. In pairs `high + low` it is 2**-100
a slot: nothing that any stream will live to see (mechanisms/adaptive/endless.md). Measures are scaled by powers of
two alone, which is exact. All of it is sums and products in one order, so it is the same bits on every machine.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.jit import BOOLS_2D, FLOATS, FLOATS_2D, FLOATS_4D, INTS, INTS_2D, compiled, in_place
from discreet.numerics import BoolArray, FloatArray, IntArray

SPLIT = 134217729.0  # 2**27 + 1


@in_place
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


@in_place
def _plus(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """A sum of two pairs that are not negative, up to a few units of 2**-105."""
    high = a + b
    rest = high - a
    low = ((a - (high - rest)) + (b - rest)) + (a_low + b_low)
    total = high + low
    return total, low - (total - high)


@in_place
def _product(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """A product of two pairs, up to a few units of 2**-104."""
    high, low = _times(a, b)
    low += a * b_low + a_low * b
    total = high + low
    return total, low - (total - high)


@in_place
def _scale(high: FloatArray, low: FloatArray) -> None:
    """Scale all rows by the power of two that brings the sum of the first to about one, in place; exact."""
    total = 0.0
    for k in range(high.shape[1]):
        total += high[0, k]
    if total > 0.0:
        scale = math.ldexp(1.0, min(-math.frexp(total)[1], 1023))  # no float is larger, and some totals are smaller
        for r in range(len(high)):
            for k in range(high.shape[1]):
                high[r, k] *= scale
                low[r, k] *= scale


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
    _scale(after, after_low)
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


# --- hidden states whose contexts are drawn anew in every slot


@compiled(FLOATS_2D, FLOATS_2D, BOOLS_2D)
def within(high: FloatArray, low: FloatArray, members: BoolArray) -> tuple[FloatArray, FloatArray]:
    """(G, K): P(context in g | state) for emissions (K, n) as a pair and members (G, n)."""
    found, found_low = np.zeros((len(members), len(high))), np.zeros((len(members), len(high)))
    for g in range(len(members)):
        for y in range(len(high)):
            total, total_low = 0.0, 0.0
            for c in range(high.shape[1]):
                if members[g, c]:
                    total, total_low = _plus(total, total_low, high[y, c], low[y, c])
            found[g, y], found_low[g, y] = total, total_low
    return found, found_low


@compiled(FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS)
def or_else(
    now: FloatArray,
    now_low: FloatArray,
    rest: FloatArray,
    rest_low: FloatArray,
    later: FloatArray,
    later_low: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """(K,): now + rest times later, entry by entry: the chance of a visit now, or else of one later."""
    found, found_low = np.empty_like(now), np.empty_like(now)
    for y in range(len(now)):
        part, part_low = _product(rest[y], rest_low[y], later[y], later_low[y])
        found[y], found_low[y] = _plus(now[y], now_low[y], part, part_low)
    return found, found_low


@compiled(FLOATS_2D, FLOATS_2D, FLOATS, INTS_2D, INTS_2D, BOOLS_2D)
def weighed(
    emission: FloatArray,
    emission_low: FloatArray,
    likelihood: FloatArray,
    private: IntArray,
    after: IntArray,
    masks: BoolArray,
) -> tuple[FloatArray, FloatArray]:
    """(M, C, C, K): sums of P(c | y) b(output | private state) over the contexts c of a mask that lead from a memory to
    another: private (C, n) and after (C, n) are the private state and the memory after context c."""
    classes, contexts, states = len(private), private.shape[1], len(emission)
    found = np.zeros((len(masks), classes, classes, states))
    found_low = np.zeros((len(masks), classes, classes, states))
    for m in range(len(masks)):
        for k in range(classes):
            for c in range(contexts):
                chance = likelihood[private[k, c]]
                if masks[m, c] and chance > 0.0:
                    reached = after[k, c]
                    for y in range(states):
                        part, part_low = _product(emission[y, c], emission_low[y, c], chance, 0.0)
                        found[m, k, reached, y], found_low[m, k, reached, y] = _plus(
                            found[m, k, reached, y], found_low[m, k, reached, y], part, part_low
                        )
    return found, found_low


@compiled(FLOATS_2D, FLOATS_2D, FLOATS_4D, FLOATS_4D, INTS, INTS, INTS, FLOATS_2D, FLOATS_2D)
def emitted(
    high: FloatArray,
    low: FloatArray,
    seen: FloatArray,
    seen_low: FloatArray,
    source: IntArray,
    by: IntArray,
    visit: IntArray,
    step: FloatArray,
    step_low: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Measures (R, C K) on (memory, hidden state) through an output and a step, scaled as `pushed` scales.

    Line r of the result is line source[r] (none where that is negative) weighed by seen[by[r]], and, where visit[r] is
    not negative, the first line weighed by seen[visit[r]].
    """
    classes, states = seen.shape[1], seen.shape[3]
    after, after_low = np.zeros((len(source), classes * states)), np.zeros((len(source), classes * states))
    joint, joint_low = np.empty(states), np.empty(states)
    for r in range(len(source)):
        for reached in range(classes):
            for y in range(states):
                total, total_low = 0.0, 0.0
                for k in range(classes):
                    z = k * states + y
                    if source[r] >= 0 and high[source[r], z] > 0.0:
                        own, own_low = seen[by[r], k, reached, y], seen_low[by[r], k, reached, y]
                        part, part_low = _product(high[source[r], z], low[source[r], z], own, own_low)
                        total, total_low = _plus(total, total_low, part, part_low)
                    if visit[r] >= 0 and high[0, z] > 0.0:
                        own, own_low = seen[visit[r], k, reached, y], seen_low[visit[r], k, reached, y]
                        part, part_low = _product(high[0, z], low[0, z], own, own_low)
                        total, total_low = _plus(total, total_low, part, part_low)
                joint[y], joint_low[y] = total, total_low
            for y in range(states):
                if joint[y] > 0.0:
                    for x in range(states):
                        z = reached * states + x
                        part, part_low = _product(joint[y], joint_low[y], step[y, x], step_low[y, x])
                        after[r, z], after_low[r, z] = _plus(after[r, z], after_low[r, z], part, part_low)
    _scale(after, after_low)
    return after, after_low
