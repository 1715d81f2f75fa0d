"""Compiled loops of MaskIt's checks; `windows.py` says what they compute.

Vectors run over the n contexts of a slot. A step from slot t to its neighbour is given by three arrays: `matrix`
(n, n), `counts` (n,) and `successors` (n, n): the first counts[c] entries of row c of successors are the columns where
matrix[c] is positive.
"""

from __future__ import annotations

import numpy as np

from discreet.jit import (
    BOOL,
    BOOLS,
    BOOLS_2D,
    FLOAT,
    FLOATS,
    FLOATS_2D,
    FLOATS_3D,
    INT,
    INTS,
    INTS_2D,
    INTS_3D,
    compiled,
    helper,
    in_place,
    written,
)
from discreet.numerics import BoolArray, FloatArray, IntArray

SHY = 1 - 2.0**-36  # a bound is approached to this part, so that rounding does not show it as crossed from another slot

TIE = 2.0**-46
"""A gain that exceeds another by less than this is taken for rounding, about 1e-14 over a long day, and not pursued."""

_STEP = (FLOATS_2D, INTS, INTS_2D)  # matrix, counts, successors
_DAY = (FLOATS_3D, INTS_2D, INTS_3D, BOOLS_2D, FLOATS_3D, BOOLS_2D)  # the same of every slot, safe, tests, active

LONG = 200_000
"""Slots squared times contexts squared from which a table takes longer in plain Python than compiling takes."""


@in_place
def push(
    x: FloatArray, p: FloatArray, matrix: FloatArray, counts: IntArray, successors: IntArray, out: FloatArray
) -> None:
    """out[d] = sum over c of x[c] p[c] matrix[c, d]: one slot further, silent in between."""
    for c in range(len(out)):
        out[c] = 0.0
    for c in range(len(x)):
        mass = x[c] * p[c]
        if mass != 0.0:
            for k in range(counts[c]):
                d = successors[c, k]
                out[d] += mass * matrix[c, d]


@in_place
def _added(values: FloatArray) -> float:
    """The sum from the first to the last, compiled or not; NumPy's own `sum` has another order."""
    total = 0.0
    for value in values:
        total += value
    return total


@compiled(FLOATS_2D, FLOATS, BOOLS, *_STEP)
def next_points(
    points: FloatArray,
    p: FloatArray,
    released: BoolArray,
    matrix: FloatArray,
    counts: IntArray,
    successors: IntArray,
) -> FloatArray:
    """The window ends seen from the next slot (m', n), each scaled to sum to 1.

    An end whose silent paths all meet a releasable context in this slot is dropped: its vector is a positive
    combination of the new ends' vectors, and the constraints are linear in it.
    """
    m, n = points.shape
    out = np.empty((m + n, n))
    size = 0
    for k in range(m):
        needed = False
        for c in range(n):
            if points[k, c] * p[c] > 0.0 and not released[c]:
                needed = True
                break
        if needed:
            push(points[k], p, matrix, counts, successors, out[size])
            total = _added(out[size])
            if total > 0.0:
                for c in range(n):  # in loops: assigning a slice takes seconds more to compile
                    out[size, c] /= total
                size += 1
    for c in range(n):
        if released[c]:
            total = _added(matrix[c])
            if total > 0.0:
                for d in range(n):
                    out[size, d] = matrix[c, d] / total
                size += 1
    return out[:size].copy()


@in_place
def any_positive(x: FloatArray, p: FloatArray) -> bool:
    """Whether x[c] p[c] > 0 somewhere."""
    for c in range(len(x)):  # noqa: SIM110  # numba compiles a loop, not a generator
        if x[c] > 0.0 and p[c] > 0.0:
            return True
    return False


def next_rows(
    rows: FloatArray,
    masses: FloatArray,
    points: FloatArray,
    tests: FloatArray,
    p: FloatArray,
    matrix: FloatArray,
    counts: IntArray,
    successors: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """The constraint vectors seen from the next slot (k', n), largest entry 1: those of `rows`, and the new ones
    points * tests of this slot's secrets; and beside each the vector of its window end, on its scale.

    A vector without a positive entry can never be violated again, and one that is nowhere above another only together
    with it, because constraint vectors only ever meet non-negative factors: both are dropped.
    """
    out, out_masses, sums = _pushed_rows(rows, masses, points, tests, p, matrix, counts, successors)
    which = _undominated(out, np.argsort(-sums, kind="stable"))  # sorted by NumPy: a sort takes long to compile
    return out[which], out_masses[which]


@compiled(FLOATS_2D, FLOATS_2D, FLOATS_2D, FLOATS_2D, FLOATS, *_STEP)
def _pushed_rows(
    rows: FloatArray,
    masses: FloatArray,
    points: FloatArray,
    tests: FloatArray,
    p: FloatArray,
    matrix: FloatArray,
    counts: IntArray,
    successors: IntArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The vectors of `next_rows` that have a positive entry, their masses and their sums."""
    n = points.shape[1]
    out = np.empty((len(rows) + len(points) * len(tests), n))
    out_masses = np.empty_like(out)
    source = np.empty(n)
    size = 0
    for k in range(len(rows)):
        if any_positive(rows[k], p):
            push(rows[k], p, matrix, counts, successors, out[size])
            push(masses[k], p, matrix, counts, successors, out_masses[size])
            size += kept(out[size], out_masses[size])
    for k in range(len(points)):
        for g in range(len(tests)):
            for c in range(n):
                source[c] = points[k, c] * tests[g, c]
            if any_positive(source, p):
                push(source, p, matrix, counts, successors, out[size])
                push(points[k], p, matrix, counts, successors, out_masses[size])
                size += kept(out[size], out_masses[size])
    sums = np.zeros(size)
    for k in range(size):
        sums[k] = _added(out[k])
    return out[:size], out_masses[:size], sums


@in_place
def kept(row: FloatArray, mass: FloatArray) -> int:
    """1 if the row has a positive entry beyond rounding, after scaling its largest to 1 and its mass with it; else 0.

    What is dropped can nowhere exceed TIE times its mass, now or later. A row of rounding errors must not stay: scaled
    up, it would pass for one that dominates others.
    """
    positive = False
    size = 0.0
    for c in range(len(row)):
        positive = positive or row[c] > TIE * mass[c]
        size = max(size, abs(row[c]))
    if positive:
        scale = 1e-150 * size  # nothing may overflow
        for c in range(len(row)):
            scale = max(scale, row[c])
        for c in range(len(row)):
            row[c] /= scale
            mass[c] /= scale
        return 1
    return 0


@compiled(FLOATS_2D, INTS)
def _undominated(rows: FloatArray, order: IntArray) -> BoolArray:
    """Which rows stay: all but those found to be nowhere above another that stays.

    Rows are visited by falling sum: a row can only be dominated by one of no smaller sum.
    """
    stays = np.zeros(len(rows), dtype=np.bool_)
    chosen = np.empty(len(rows), dtype=np.int64)
    size = 0
    last = 0
    for k in order:
        dominated = False
        for q in range(min(size, 48)):  # a few strong rows dominate most; looking further costs more than it saves
            m = chosen[(last + q) % size]  # neighbours in order are often dominated by the same row
            below = True
            for c in range(rows.shape[1]):
                if rows[k, c] > rows[m, c]:
                    below = False
                    break
            if below:
                dominated = True
                last = (last + q) % size
                break
        if not dominated:
            chosen[size], stays[k] = k, True
            size += 1
    return stays


@in_place
def room(values: FloatArray, left: FloatArray, right: FloatArray, i: int, limit: float) -> float:
    """By how much p[i] may fall: min(limit, values / (left[:, i] right[:, i])) over constraints that this tightens.

    values[k, m] = sum over c of left[k, c] p[c] right[m, c] <= 0 is the constraint; lowering p[i] by x adds
    -x left[k, i] right[m, i] to it.
    """
    for k in range(len(left)):
        a = left[k, i]
        if a == 0.0:
            continue
        for m in range(len(right)):
            slope = a * right[m, i]
            if slope < 0.0 and values[k, m] > limit * slope:
                limit = max(values[k, m] / slope, 0.0)
                if limit == 0.0:
                    return limit
    return limit


@helper
def products(left: FloatArray, p: FloatArray, right: FloatArray) -> FloatArray:
    """(len(left), len(right)): sums over c of left[k, c] p[c] right[m, c], added in order of c on any machine."""
    turned = right.T.copy()
    out = np.zeros((len(left), len(right)))
    for k in range(len(left)):
        for c in range(len(p)):
            x = left[k, c] * p[c]
            if x != 0.0:
                for m in range(len(right)):
                    out[k, m] += x * turned[c, m]
    return out


@compiled(written(FLOATS), INTS, FLOATS_2D, FLOATS_2D, FLOATS_2D, FLOATS_2D, INT, FLOAT)
def lower_slot(
    p: FloatArray,
    order: IntArray,
    points: FloatArray,
    tests: FloatArray,
    rows: FloatArray,
    ends: FloatArray,
    grid: int,
    least: float,
) -> None:
    """Lower this slot's p, context by context, each as far as its windows allow (on the grid, if grid > 0).

    Constraints: points x tests (secrets in this slot and beyond it) and rows x ends (secrets before it). A release
    probability below `least` is not worth the windows that it opens.
    """
    here = np.empty((0, 0))
    before = np.empty((0, 0))
    stale = True
    for i in order:
        if p[i] == 0.0:
            continue
        if stale:  # anew each time: subtracting what fell would leave rounding where nothing is left
            here = products(points, p, tests)
            before = products(rows, p, ends)
            stale = False
        limit = room(here, points, tests, i, p[i])
        if limit > 0.0:
            limit = room(before, rows, ends, i, limit)
        if grid > 0:
            value = np.ceil((p[i] - limit) * grid) / grid
        else:
            value = p[i] - limit * SHY if limit < p[i] else 0.0
        if p[i] - value >= least:
            p[i] = value
            stale = True


@compiled(FLOATS_2D, FLOATS_2D, BOOLS, FLOAT)
def largest_ratio(rows: FloatArray, masses: FloatArray, released: BoolArray, worst: float) -> float:
    """The largest of worst and rows[k, i] / masses[k, i] over releasable contexts i: windows that end in this slot."""
    for k in range(len(rows)):
        for i in range(rows.shape[1]):
            if released[i] and rows[k, i] > worst * masses[k, i]:
                worst = rows[k, i] / masses[k, i]
    return worst


@helper
def candidates(
    first: int,
    x: FloatArray,
    counts: IntArray,
    successors: IntArray,
    safe: BoolArray,
    flags: BoolArray,
) -> int:
    """Mark the slots from `first` on at which whatever can come is safe to say; the last of them, or -1.

    x (n,) is positive where the context can come at slot `first`.
    """
    slots, n = safe.shape
    last = -1
    reach = x > 0.0
    for t in range(first, slots):
        flags[t] = True
        for c in range(n):
            if reach[c] and not safe[t, c]:
                flags[t] = False
                break
        if flags[t]:
            last = t
        if t + 1 < slots:
            following = np.zeros(n, dtype=np.bool_)
            for c in range(n):
                if reach[c]:
                    for k in range(counts[t, c]):
                        following[successors[t, c, k]] = True
            reach = following
    return last


@compiled(INT, INT, FLOATS, *_DAY, FLOATS_2D, BOOL)
def next_release(
    first: int,
    since: int,
    x: FloatArray,
    matrices: FloatArray,
    counts: IntArray,
    successors: IntArray,
    safe: BoolArray,
    tests: FloatArray,
    active: BoolArray,
    worth: FloatArray,
    lookahead: bool,
) -> tuple[int, float]:
    """The slot, from `since` on, of the next release after one at slot first - 1, and the releases expected from it on.

    x (n,) is the distribution at slot `first`. A slot is allowed if whatever can come is safe to say there and no
    constraint on the slots passed in silence is violated by any of it: rows that could be violated have a positive
    entry. The first allowed slot, or with lookahead the one of most expected releases; if none, the number of slots, 0.
    """
    slots, n = safe.shape
    flags = np.zeros(slots, dtype=np.bool_)
    last = candidates(first, x, counts, successors, safe, flags)
    best, most = slots, 0.0
    rows = np.empty((max(0, last - first + 1) * len(tests), n))
    size = 0
    x = x.copy()
    pushed = np.empty(n)
    silent = np.ones(n)
    for t in range(first, last + 1):
        if flags[t] and t >= since and size == 0:
            expected = 0.0
            for c in range(n):
                expected += x[c] * (1.0 + worth[t, c])
            if expected > most:
                best, most = t, expected
            if not lookahead:
                break
        if t == last:
            break
        for g in range(len(tests)):
            if active[g, t]:
                for c in range(n):
                    rows[size, c] = x[c] * tests[g, t, c]
                size += 1
        alive = 0
        for k in range(size):
            if any_positive(rows[k], silent):
                push(rows[k], silent, matrices[t], counts[t], successors[t], pushed)
                if any_positive(pushed, silent):
                    for c in range(n):
                        rows[alive, c] = pushed[c]
                    alive += 1
        size = alive
        push(x, silent, matrices[t], counts[t], successors[t], pushed)
        for c in range(n):
            x[c] = pushed[c]
    return best, most


@compiled(FLOATS, BOOLS_2D, *_DAY, BOOL, batch=lambda initial, possible, *_: possible.size**2 > LONG)
def release_table(
    initial: FloatArray,
    possible: BoolArray,
    matrices: FloatArray,
    counts: IntArray,
    successors: IntArray,
    safe: BoolArray,
    tests: FloatArray,
    active: BoolArray,
    lookahead: bool,
) -> tuple[IntArray, FloatArray, int, float]:
    """Next release slot and expected further releases after each (slot, context) (T, n), and from the day's start."""
    slots, n = safe.shape
    following = np.full((slots, n), slots, dtype=np.int64)
    worth = np.zeros((slots, n))
    for a in range(slots - 2, -1, -1):
        for i in range(n):
            if possible[a, i]:
                following[a, i], worth[a, i] = next_release(
                    a + 1, a + 1, matrices[a, i], matrices, counts, successors, safe, tests, active, worth, lookahead
                )
    first, most = next_release(0, 0, initial, matrices, counts, successors, safe, tests, active, worth, lookahead)
    return following, worth, first, most
