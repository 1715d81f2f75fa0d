"""Convex hulls of integer points in the plane, compiled and exact: products of coordinates below 2**29 fit in 64 bits.

The hull of all differences within a group of points P is the Minkowski sum P + (-P), so it needs the hull of P and one
merge of edges: linear in the points once they are sorted, where the differences are quadratic.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from discreet.errors import PolicyError
from discreet.jit import FLOATS_2D, INTS, INTS_2D, compiled, in_place
from discreet.numerics import FloatArray, IntArray

Numbers = TypeVar("Numbers", IntArray, FloatArray)

REACH = 2**29
"""Coordinates stay below this, so that products of their differences, and differences of those, fit in 64 bits."""


@in_place
def _chain(xs: Numbers, ys: Numbers, count: int, out_x: Numbers, out_y: Numbers) -> int:
    """Andrew's monotone chain over points sorted by (x, y), duplicates allowed: corners counter-clockwise."""
    size = 0
    for half in range(2):
        base = size
        for step in range(count):
            k = step if half == 0 else count - 1 - step
            x, y = xs[k], ys[k]
            if size > base and out_x[size - 1] == x and out_y[size - 1] == y:
                continue
            while size > base + 1:
                ux, uy = out_x[size - 1] - out_x[size - 2], out_y[size - 1] - out_y[size - 2]
                if ux * (y - out_y[size - 2]) - uy * (x - out_x[size - 2]) > 0:
                    break
                size -= 1
            out_x[size], out_y[size] = x, y
            size += 1
        if size > base + 1 or half == 1:
            size -= 1  # the last point of a half is the first of the other
    return max(size, 1)


@compiled(either=[(INTS_2D,), (FLOATS_2D,)])
def hull_of_sorted(points: Numbers) -> Numbers:
    """(h, 2): corners of the convex hull of points (m, 2) sorted by (x, y), counter-clockwise; exact for integers."""
    count = len(points)
    xs, ys = points[:, 0].copy(), points[:, 1].copy()
    out_x, out_y = np.empty(2 * count + 2, points.dtype), np.empty(2 * count + 2, points.dtype)
    size = _chain(xs, ys, count, out_x, out_y)
    corners = np.empty((size, 2), points.dtype)
    for k in range(size):
        corners[k, 0], corners[k, 1] = out_x[k], out_y[k]
    return corners


@compiled(INTS_2D, INTS, INTS)
def group_differences(points: IntArray, members: IntArray, starts: IntArray) -> IntArray:
    """(m, 2): the corners of P + (-P) for each group P of points, one of each pair of opposite ones.

    Members of a group are sorted by the (x, y) of their points. The lower side of P + (-P) runs from its lowest to its
    highest corner; its edges are those of P's lower side and of P's upper side turned round, merged by their angle.
    """
    largest = 0
    for g in range(len(starts) - 1):
        largest = max(largest, starts[g + 1] - starts[g])
    xs, ys = np.empty(largest, dtype=np.int64), np.empty(largest, dtype=np.int64)
    cx, cy = np.empty(2 * largest + 2, dtype=np.int64), np.empty(2 * largest + 2, dtype=np.int64)
    found = np.empty((len(members) + len(starts), 2), dtype=np.int64)
    total = 0
    for g in range(len(starts) - 1):
        count = starts[g + 1] - starts[g]
        if count < 2:
            continue
        for k in range(count):
            m = members[starts[g] + k]
            xs[k], ys[k] = points[m, 0], points[m, 1]
        corners = _chain(xs, ys, count, cx, cy)
        highest = 0
        for k in range(corners):
            if cx[k] > cx[highest] or (cx[k] == cx[highest] and cy[k] > cy[highest]):
                highest = k
        i, j = 0, highest
        while True:
            x, y = cx[i] - cx[j % corners], cy[i] - cy[j % corners]
            if x < 0 or (x == 0 and y < 0):
                x, y = -x, -y
            found[total, 0], found[total, 1] = x, y
            total += 1
            if i == highest and j == corners:
                break
            turn = 0
            if i < highest and j < corners:
                ex, ey = cx[i + 1] - cx[i], cy[i + 1] - cy[i]
                fx, fy = cx[j] - cx[(j + 1) % corners], cy[j] - cy[(j + 1) % corners]
                turn = ex * fy - ey * fx
            elif i < highest:
                turn = 1
            else:
                turn = -1
            if turn >= 0:
                i += 1
            if turn <= 0:
                j += 1
    return found[:total]


@compiled(INTS_2D, INTS_2D)
def areas_with(corners: IntArray, steps: IntArray) -> IntArray:
    """(m,): twice the area of the hull of corners (h, 2), sorted by (x, y), with each step (m, 2) and its opposite."""
    count = len(corners) + 2
    xs, ys = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    cx, cy = np.empty(2 * count + 2, dtype=np.int64), np.empty(2 * count + 2, dtype=np.int64)
    areas = np.empty(len(steps), dtype=np.int64)
    for m in range(len(steps)):
        x, y = steps[m, 0], steps[m, 1]
        if x > 0 or (x == 0 and y > 0):
            x, y = -x, -y
        at, waiting = 0, 2  # the lower of the two is merged in first, then its opposite
        for k in range(len(corners) + 1):
            while waiting > 0 and (
                k == len(corners) or x < corners[k, 0] or (x == corners[k, 0] and y < corners[k, 1])
            ):
                xs[at], ys[at] = x, y
                x, y = -x, -y
                at += 1
                waiting -= 1
            if k < len(corners):
                xs[at], ys[at] = corners[k, 0], corners[k, 1]
                at += 1
        size = _chain(xs, ys, count, cx, cy)
        twice = 0
        for k in range(size):
            following = (k + 1) % size
            twice += cx[k] * cy[following] - cy[k] * cx[following]
        areas[m] = abs(twice)
    return areas


def symmetric_hull(differences: IntArray) -> IntArray:
    """(h, 2): corners of the hull of integer vectors and their opposites, counter-clockwise; none of no vectors."""
    if not len(differences):
        return np.zeros((0, 2), dtype=np.int64)
    if np.abs(differences).max() >= REACH:
        raise PolicyError("differences of answers are too many lattice steps long to be exact; give a coarser step")
    corners = _hull(differences)
    return _hull(np.concatenate([corners, -corners]))


def _hull(points: IntArray) -> IntArray:
    keys = np.sort(((points[:, 0] + REACH) << 32) + (points[:, 1] + REACH))  # one key a point, in the order of (x, y)
    keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
    return hull_of_sorted(np.stack([(keys >> 32) - REACH, (keys & (2**32 - 1)) - REACH], axis=1))
