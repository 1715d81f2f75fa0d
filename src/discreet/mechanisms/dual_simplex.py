"""A small linear programme, solved by the dual simplex on dense rows. Compiled.

    minimise  sum_i x[i]   subject to  0 <= x <= 1  and  matrix x >= right.

Bounds are rows like the others: rows x >= least. A vertex is where n rows are *active*, met with equality. With A their
matrix, the point there is A^-1 least, and the cost is a sum of active rows, cost = prices A. The start, x = 0, has A =
1 and prices = cost: none is negative, so nothing is better as long as no other row is violated. A pivot takes the row
that is violated most into the active ones, at the place of that whose price reaches zero first. Prices stay at least
zero; where no row is violated any more, the point is the optimum.

Costs are lowered by less than `PERTURBATION` in total, the same for every call, which breaks ties: vertices that are as
good as each other are many. Limits count pivots, never time, and every sum has one order (docs/theory.md, section 12).
A pivot costs about n R + n^2 operations, with R rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.jit import FLOATS, FLOATS_2D, INT, compiled, dot, helper, in_place
from discreet.mechanisms.inverse import inverted
from discreet.mechanisms.programme import PERTURBATION, scatter
from discreet.numerics import FloatArray, IntArray

PIVOTS = 20_000
"""Pivots at most."""

FEASIBLE = 1e-13
"""Rows that lack no more than this count as met; each is scaled to a largest entry of one."""

NEARLY = 1e-10
"""A row that lacks less, and that no pivot can mend, is left to the check of the rounded kernel."""

SMALLEST_PIVOT = 1e-9
"""Active rows that make up less of the entering one do not leave: they would spoil the inverse."""

TIE = 1e-12
"""Prices that reach zero within this of each other are a tie, which the largest pivot wins (Harris 1973)."""

FRESH = 50
"""Pivots after which the inverse is computed anew."""


class Vertex(NamedTuple):
    """Where the simplex stands; all of it is written in place."""

    active: IntArray  # (n,): the active rows
    inverse: FloatArray  # (n, n): of their matrix
    prices: FloatArray  # (n,): of the active rows
    point: FloatArray  # (n,)


def solve(matrix: FloatArray, right: FloatArray, *, pivots: int = PIVOTS) -> FloatArray | None:
    """(n,): the best x, matrix (rows, n); None if there is none, at a limit, or if rounding spoilt the inverse."""
    size = matrix.shape[1]
    scale = np.abs(matrix).max(axis=1, initial=0.0)
    scale = np.where(scale > 0, scale, 1.0)
    rows = np.concatenate([np.eye(size), -np.eye(size), matrix / scale[:, None]])
    least = np.concatenate([np.zeros(size), np.full(size, -1.0), right / scale])
    try:
        solved, point = _solve(1.0 - PERTURBATION / size * scatter(0, size), rows, least, pivots)
    except np.linalg.LinAlgError:  # rounding made the active rows dependent
        return None
    return np.clip(point, 0.0, 1.0) if solved else None


@compiled(FLOATS, FLOATS_2D, FLOATS, INT)
def _solve(cost: FloatArray, rows: FloatArray, least: FloatArray, most: int) -> tuple[bool, FloatArray]:
    """Pivot until no row is violated; the inverse is fresh at the end."""
    size = len(cost)
    at = Vertex(np.arange(size), np.eye(size), cost.copy(), np.zeros(size))
    since = 0  # pivots since the inverse was fresh
    for _ in range(most):
        entering, lacks = _most_violated(at, rows, least)
        if since > 0 and (since == FRESH or entering < 0):
            _refresh(at, cost, rows, least)
            since = 0
            continue
        if entering < 0:
            return True, at.point
        shares = _times(rows[entering], at.inverse)  # of the active rows in the entering one
        leaving = _leaving(at.prices, shares)
        if leaving < 0:  # no point meets this row and the active ones
            return lacks < NEARLY, at.point
        _exchange(at, shares, leaving, entering, lacks)
        since += 1
    return False, at.point


@helper
def _most_violated(at: Vertex, rows: FloatArray, least: FloatArray) -> tuple[int, float]:
    """The row that lacks most, the first of such, and how much; -1 where none lacks more than rounding."""
    inactive = np.ones(len(rows), np.bool_)
    for r in at.active:
        inactive[r] = False
    worst, lacks = -1, FEASIBLE
    for r in range(len(rows)):
        lacking = least[r] - dot(rows[r], at.point)
        if lacking > lacks and inactive[r]:
            worst, lacks = r, lacking
    return worst, lacks


@helper
def _times(vector: FloatArray, matrix: FloatArray) -> FloatArray:
    """vector matrix, row after row."""
    result = np.zeros(matrix.shape[1])
    for i in range(len(vector)):
        if vector[i] != 0.0:
            for k in range(len(result)):
                result[k] += vector[i] * matrix[i, k]
    return result


@in_place
def _leaving(prices: FloatArray, shares: FloatArray) -> int:
    """The largest pivot among the prices that reach zero first, up to a tie; -1 where none falls."""
    bound = np.inf
    for i in range(len(prices)):
        if shares[i] > SMALLEST_PIVOT:
            bound = min(bound, (prices[i] + TIE) / shares[i])
    leaving, largest = -1, SMALLEST_PIVOT
    for i in range(len(prices)):
        if shares[i] > largest and prices[i] / shares[i] <= bound:
            leaving, largest = i, shares[i]
    return leaving


@in_place
def _exchange(at: Vertex, shares: FloatArray, leaving: int, entering: int, lacks: float) -> None:
    """The entering row takes a place among the active ones; the others stay, so the point moves along one edge."""
    inverse, prices, point, size = at.inverse, at.prices, at.point, len(shares)
    step = max(prices[leaving], 0.0) / shares[leaving]
    for i in range(size):
        prices[i] -= step * shares[i]
    prices[leaving] = step
    for i in range(size):
        edge = inverse[i, leaving] / shares[leaving]
        point[i] += edge * lacks
        for k in range(size):
            inverse[i, k] -= edge * shares[k]
        inverse[i, leaving] = edge
    at.active[leaving] = entering


@helper
def _refresh(at: Vertex, cost: FloatArray, rows: FloatArray, least: FloatArray) -> None:
    """Inverse, prices and point from the active rows alone: rounding does not pile up. The point is refined once."""
    size = len(cost)
    active = np.empty((size, size))
    for i in range(size):
        for k in range(size):
            active[i, k] = rows[at.active[i], k]
    inverse = inverted(active)
    for i in range(size):
        for k in range(size):
            at.inverse[i, k] = inverse[i, k]
    prices = _times(cost, at.inverse)
    for i in range(size):
        at.prices[i], at.point[i] = prices[i], 0.0
    for _ in range(2):
        off = np.empty(size)
        for i in range(size):
            off[i] = least[at.active[i]] - dot(active[i], at.point)
        for i in range(size):
            at.point[i] += dot(at.inverse[i], off)
