"""Stays: stretches of time that a person spent within some metres. Compiled, because it is one long loop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.jit import FLOAT, FLOATS_2D, INT, INTS, compiled
from discreet.numerics import FloatArray, IntArray

FEW = 20_000
"""Positions up to which plain Python should be done before a compiler would be: an estimate."""


@dataclass(frozen=True, eq=False)
class Stays:
    """(k,) each: the first and the last position of a stay, by index; when it starts and ends; its middle (k, 3)."""

    first: IntArray
    last: IntArray
    start: IntArray
    end: IntArray
    middle: FloatArray

    def __len__(self) -> int:
        return len(self.first)

    @property
    def length(self) -> IntArray:
        """Microseconds."""
        return self.end - self.start


def stays_of(instants: IntArray, points: FloatArray, radius: float, shortest: int, gap: int) -> Stays:
    """The stays in positions given as points (m, 3), in order of time.

    A stay goes on while each position is within `radius` metres of the mean of those before it, and no more than `gap`
    passes without one. One position outside, with the next one back inside, is a stray and ends nothing. It counts if
    it lasts `shortest` or longer. Times are in microseconds.
    """
    instants, points = np.ascontiguousarray(instants), np.ascontiguousarray(points)
    first, last, middle = _stays(instants, points, float(radius), int(shortest), int(gap))
    return Stays(first, last, instants[first], instants[last], middle)


@compiled(INTS, FLOATS_2D, FLOAT, INT, INT, batch=lambda instants, *_: len(instants) > FEW)
def _stays(
    instants: IntArray, points: FloatArray, radius: float, shortest: int, gap: int
) -> tuple[IntArray, IntArray, FloatArray]:
    count = len(instants)
    first, last = np.empty(count, np.int64), np.empty(count, np.int64)
    middle = np.empty((count, 3))
    found, start, end, inside = 0, 0, 0, 0
    x = y = z = 0.0
    square = radius * radius
    i = 0
    while i <= count:
        goes_on = False
        if i < count and inside > 0 and instants[i] - instants[end] <= gap:
            for ahead in range(2):  # this position, or it is a stray and the next is back
                k = i + ahead
                if k < count and not goes_on and instants[k] - instants[end] <= gap:
                    a, b, c = points[k, 0] - x / inside, points[k, 1] - y / inside, points[k, 2] - z / inside
                    if a * a + b * b + c * c <= square:
                        goes_on = True
                        i = k
        if not goes_on:
            if inside > 0 and instants[end] - instants[start] >= shortest:
                first[found], last[found] = start, end
                middle[found, 0], middle[found, 1], middle[found, 2] = x / inside, y / inside, z / inside
                found += 1
            start, inside = i, 0
            x = y = z = 0.0
        if i < count:
            x += points[i, 0]
            y += points[i, 1]
            z += points[i, 2]
            inside += 1
            end = i
        i += 1
    return first[:found].copy(), last[:found].copy(), middle[:found].copy()
