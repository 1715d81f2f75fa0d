"""Convex hulls of integer points in three dimensions and more: exact, and so the same on every machine.

The body is the hull of points and their opposites, spans its space and has the origin inside. Its border is kept as
simplices (f, k): corners by number, and for each corner the simplex beyond the ridge that leaves it out. Points are
placed one after another: simplices that a point sees from strictly outside give way to cones from it over the ridges
that bound them. A simplex whose plane the point lies in is not seen. So a cone is never flat, and many points in one
plane need no care.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.jit import INTS, INTS_2D, compiled, helper, in_place
from discreet.numerics import BoolArray, IntArray

SAFE = 2**62
"""Integers below this are computed in 64 bits, others with Python's integers."""

ALIVE, SEEN, FREE = 0, 1, 2


def border(half: IntArray) -> IntArray:
    """(f, k): corners of simplices that make up the border of the hull of points (m, k) and their opposites.

    Corner c below m is a point, and c + m its opposite. No simplex is flat; those of one facet lie in one plane.
    """
    k = half.shape[1]
    widest = int(np.abs(half).max())
    heights = math.factorial(k - 1) * (2 * widest) ** (k - 1) * k * widest  # of a point over a simplex, times its size
    given = half.astype(object if heights >= SAFE else np.int64)
    order = np.argsort(-(given * given).sum(axis=1), kind="stable")  # far points first: few simplices are made in vain
    place = _place if given.dtype != object else getattr(_place, "py_func", _place)  # compiled, unless told otherwise
    return np.asarray(place(np.concatenate([given, -given]), _independent(given, order), order))


def _independent(points: IntArray, order: IntArray) -> IntArray:
    """(k,): the first points in this order that are linearly independent, by elimination without fractions."""
    found: list[int] = []
    rows: list[tuple[int, list[int]]] = []  # with their pivots
    for c in order.tolist():
        left = [int(value) for value in points[c]]
        for pivot, row in rows:
            left = [row[pivot] * a - left[pivot] * b for a, b in zip(left, row, strict=True)]
        divisor = math.gcd(*left)
        if divisor:
            left = [value // divisor for value in left]
            rows.append((next(j for j, value in enumerate(left) if value), left))
            found.append(c)
        if len(found) == points.shape[1]:
            break
    return np.array(found)


@compiled(INTS_2D, INTS, INTS)
def _place(points: IntArray, first: IntArray, order: IntArray) -> IntArray:
    """Corners of the simplices once all points and their opposites are placed; `first` (k,) span the first hull."""
    k, m = points.shape[1], len(points) // 2
    count = 1 << k
    size = 4 * count
    corners, beside = np.empty((size, k), np.int64), np.empty((size, k), np.int64)
    normals, offsets = np.zeros((size, k), points.dtype), np.zeros(size, points.dtype)
    state = np.full(size, FREE, np.int64)
    minors = np.empty(1 << k, points.dtype)
    for s in range(count):  # the cross-polytope of the first ones: a bit of s is a sign
        for j in range(k):
            corners[s, j] = first[j] + (m if s >> j & 1 else 0)
            beside[s, j] = s ^ (1 << j)
        state[s] = ALIVE
        _lay(points, corners, normals, offsets, minors, s)
    free = size - count
    for c in order:
        for p in (c, c + m):
            seen = _seen(points[p], normals, offsets, state)
            if len(seen) == 0:
                break  # nor is its opposite outside: so far the body is symmetric
            if free < k * len(seen):
                more = max(size, k * len(seen))
                corners, beside = _longer(corners, more), _longer(beside, more)
                normals, offsets = _longer(normals, more), _longer_line(offsets, more, 0)
                state = _longer_line(state, more, FREE)
                size, free = size + more, free + more
            made = _cones(p, seen, corners, beside, state)
            for t in made:
                _lay(points, corners, normals, offsets, minors, t)
            for s in seen:
                state[s] = FREE
            free += len(seen) - len(made)
    left, count = np.empty((size, k), np.int64), 0
    for s in range(size):
        if state[s] == ALIVE:
            for j in range(k):
                left[count, j] = corners[s, j]
            count += 1
    return left[:count]


def _longer_at_once(rows: IntArray, more: int) -> IntArray:
    """The same in NumPy, for interpreted runs; so are the others that are named so."""
    return np.concatenate((rows, np.zeros((more, rows.shape[1]), rows.dtype)))


@helper(plain=_longer_at_once)
def _longer(rows: IntArray, more: int) -> IntArray:
    longer = np.zeros((len(rows) + more, rows.shape[1]), rows.dtype)
    for s in range(len(rows)):
        for j in range(rows.shape[1]):
            longer[s, j] = rows[s, j]
    return longer


@helper
def _longer_line(values: IntArray, more: int, fill: int) -> IntArray:
    longer = np.empty(len(values) + more, values.dtype)
    for s in range(len(longer)):
        longer[s] = values[s] if s < len(values) else fill
    return longer


@in_place
def _lay(points: IntArray, corners: IntArray, normals: IntArray, offsets: IntArray, minors: IntArray, s: int) -> None:
    """Normal and offset of simplex s, the origin on the inner side: normal . x = offset > 0 on its plane.

    Entries of the normal are minors of the edges (k - 1, k). minors[S] is that of as many first edges as the set S of
    columns has members, expanded along the last of these edges: no division, nothing larger than the result's bound.
    """
    k = points.shape[1]
    base = points[corners[s, 0]]
    minors[0] = 1
    for columns in range(1, (1 << k) - 1):
        row = 0
        for j in range(k):
            row += columns >> j & 1
        end = points[corners[s, row]]
        total, sign = minors[0] * 0, 1 if row % 2 == 1 else -1
        for j in range(k):
            if columns >> j & 1:
                total += sign * (end[j] - base[j]) * minors[columns ^ (1 << j)]
                sign = -sign
        minors[columns] = total
    height = minors[0] * 0
    for j in range(k):
        normals[s, j] = minors[((1 << k) - 1) ^ (1 << j)] * (1 if j % 2 == 0 else -1)
        height += normals[s, j] * base[j]
    if height < 0:
        height = -height
        for j in range(k):
            normals[s, j] = -normals[s, j]
    offsets[s] = height


def _seen_at_once(point: IntArray, normals: IntArray, offsets: IntArray, state: IntArray) -> IntArray:
    heights = normals[:, 0] * point[0] - offsets
    for j in range(1, len(point)):
        heights += normals[:, j] * point[j]
    seen = np.flatnonzero((heights > 0) & (state == ALIVE))
    state[seen] = SEEN
    return seen


@helper(plain=_seen_at_once)
def _seen(point: IntArray, normals: IntArray, offsets: IntArray, state: IntArray) -> IntArray:
    """The simplices that a point lies strictly beyond; they are marked."""
    seen, count = np.empty(len(state), np.int64), 0
    for s in range(len(state)):
        if state[s] == ALIVE:
            height = -offsets[s]
            for j in range(len(point)):
                height += normals[s, j] * point[j]
            if height > 0:
                state[s] = SEEN
                seen[count] = s
                count += 1
    return seen[:count].copy()


@helper
def _cones(p: int, seen: IntArray, corners: IntArray, beside: IntArray, state: IntArray) -> IntArray:
    """Put cones from p over the ridges between what it sees and what it does not see; returns their numbers."""
    k = corners.shape[1]
    most = k * len(seen)
    made, parent, apex = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    count, t = 0, 0
    for s in seen:
        for i in range(k):
            beyond = beside[s, i]
            if state[beyond] == SEEN:
                continue
            while state[t] != FREE:
                t += 1
            state[t] = ALIVE
            for j in range(k):
                corners[t, j] = corners[s, j]
            corners[t, i] = p
            beside[t, i] = beyond
            beside[beyond, _where(beside[beyond], s)] = t
            beside[s, i] = t  # for the walks below
            made[count], parent[count], apex[count] = t, s, i
            count += 1
    for n in range(count):
        for u in range(k):
            if u != apex[n]:
                beside[made[n], u] = _around(parent[n], apex[n], u, corners, beside, state)
    return made[:count].copy()


@in_place
def _around(s: int, i: int, u: int, corners: IntArray, beside: IntArray, state: IntArray) -> int:
    """The other cone over the face of s without corners i and u: found by walking round it through what is seen."""
    pivot = corners[s, i]
    while True:
        beyond = int(beside[s, u])
        if state[beyond] != SEEN:
            return beyond
        entered = _where(beside[beyond], s)
        s, u = beyond, _where(corners[beyond], pivot)
        pivot = corners[s, entered]


@in_place
def _where(row: IntArray, value: int) -> int:
    j = 0
    while row[j] != value:
        j += 1
    return j


def extreme(incidence: BoolArray) -> IntArray:
    """Which of the points (v, f) that lie on facets are corners: those of whose facets no other point has all.

    Of points on exactly the same facets the first counts.
    """
    kept = []
    for v, facets in enumerate(incidence):
        others = np.flatnonzero(incidence[:, facets].all(axis=1))
        sizes = incidence[others].sum(axis=1)
        if others[sizes.argmax()] == v:
            kept.append(v)
    return np.array(kept, dtype=np.int64)
