"""Exact integers behind what is released: answers on a lattice, and the sensitivity hull as integer inequalities.

Answers are rounded to multiples of a step that is a power of two, so that a lattice point is a float exactly, and
differences are integer vectors. A `Ball` is a symmetric convex body K around 0 that holds all of them:
    K = {z in span : |row . z| <= offset for every row},    all integers.
Its norm max |row . z| / offset is a quotient of integers, so membership and levels are decided without rounding. K is
the hull of the differences exactly, in any dimension; that it holds them is all that the promise rests on (noise.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import numpy.typing as npt

from discreet.errors import PolicyError
from discreet.mechanisms.perturbation.planar import REACH, symmetric_hull
from discreet.mechanisms.perturbation.solid import SAFE, border, extreme
from discreet.numerics import BoolArray, FloatArray, IntArray

FINEST = 20
"""Answers are told apart to 2**-20 of their range in the plane: a centimetre in ten kilometres."""

BITS = 44
"""Bits of a product of d differences; 18 of 62 are left for noise, levels and sums."""

LONGEST = 128
"""Noise is shorter than this many hulls divided by epsilon, but once in e^100 draws."""

SHORTER = 199, 200
"""A vector of a basis changes places with the one before where it is shorter by this (Lovász's condition)."""


class LatticeAnswers:
    """A query's answers on a lattice: `integers` (n, d) times `step`, which is a power of two."""

    def __init__(self, query: FloatArray, step: float | None = None) -> None:
        widest = float(np.ptp(query, axis=0).max())
        d = query.shape[1]
        bits = max(6, min(FINEST, BITS // d))
        if step is None:
            largest = float(np.abs(query).max())  # answers themselves must be floats exactly, also far from the origin
            finest = math.frexp(largest)[1] - 51
            step = math.ldexp(1.0, max(math.frexp(widest)[1] - bits, finest, -1000) if widest > 0 else finest)
        if not step > 0 or not math.isfinite(step) or math.frexp(step)[0] != 0.5:
            raise PolicyError(f"step is {step}; give a power of two, such as 2.0**-10: then lattice points are exact")
        if widest / step >= REACH or np.abs(query).max() / step >= 2.0**52:
            raise PolicyError(f"step {step:g} is too fine for answers that are {widest:g} apart; give a coarser one")
        self.step = step
        self.integers: IntArray = np.rint(query / step).astype(np.int64)
        self.integers.setflags(write=False)

    def check_noise(self, epsilon: float) -> None:
        """Refuse noise beyond the integers that floats hold: hulls are as wide as the answers at most (l1)."""
        if float(np.ptp(self.integers, axis=0).sum()) * LONGEST / epsilon >= 2.0**52:
            raise PolicyError(
                f"epsilon {epsilon:g} needs noise that floats do not hold in steps of {self.step:g}; "
                "give a coarser step"
            )

    def point(self, integers: IntArray | list[int]) -> tuple[float, ...]:
        """The point that is output for a lattice point: exactly its float."""
        return tuple(float(value) * self.step for value in integers)

    def integers_of(self, point: tuple[float, ...]) -> list[int] | None:
        """The lattice point of an output; None if it is none."""
        if len(point) != self.integers.shape[1]:
            return None
        scaled = [value / self.step for value in point]
        if not all(math.isfinite(value) and value == math.floor(value) for value in scaled):
            return None
        return [int(value) for value in scaled]


@dataclass(frozen=True, eq=False)
class Ball:
    """K = {z : equations . z = 0, |rows . z| <= offsets}, and a basis of the integer points of its subspace.

    `basis` (k, d) is reduced for K: the box |w_i| <= widths[i] of coordinates w, z = w @ basis, holds K and is not much
    larger, however long K is and whichever way it is turned.
    """

    rows: IntArray  # (m, d), one of each pair of opposite facets
    offsets: IntArray  # (m,), at least 1
    equations: IntArray  # (d - k, d)
    basis: IntArray  # (k, d)
    widths: IntArray  # (k,), at least 1
    vertices: IntArray  # (v, d): what K is the hull of

    @property
    def dimension(self) -> int:
        """Of the subspace."""
        return len(self.basis)

    @cached_property
    def inner_rows(self) -> IntArray:
        """(m, k): the rows in coordinates of the basis."""
        return product_of(self.rows, self.basis.T)

    @cached_property
    def _reach(self) -> tuple[int, int]:
        """How large coordinates of a vector may be for its products to fit in 64 bits: rows, equations."""
        rows = max((sum(abs(int(value)) for value in row) for row in self.rows), default=1)
        equations = max((sum(abs(int(value)) for value in row) for row in self.equations), default=1)
        return SAFE // max(rows, 1), SAFE // max(equations, 1)

    def levels(self, vectors: IntArray, parts: int) -> IntArray:
        """(m,): ceil(parts * norm) of integer vectors (m, d), exactly; -1 off the subspace, where it is infinite."""
        largest = int(np.abs(vectors).max(initial=0))
        wide = vectors
        if largest * parts >= min(self._reach) or vectors.dtype == object:
            wide = vectors.astype(object)
        heights = np.abs(wide @ self.rows.T) * parts
        levels = (-(-heights // self.offsets)).max(axis=1, initial=0)
        if len(self.equations):
            levels = np.where((wide @ self.equations.T != 0).any(axis=1), -1, levels)
        return np.asarray(levels)

    def contains(self, vectors: IntArray) -> BoolArray:
        """Whether integer vectors (m, d) lie in K, its border included."""
        levels = self.levels(vectors, 1)
        return np.asarray((levels >= 0) & (levels <= 1))

    def diameter(self, points: IntArray, parts: int) -> float:
        """The largest level between two of these points (m, d): of all pairs, by the extent along each row."""
        steps = points - points[0]
        if product_of(steps, self.equations.T).any():
            return math.inf
        heights = product_of(steps, self.rows.T)
        extents = (heights.max(axis=0) - heights.min(axis=0)).tolist()
        return float(max((-(-parts * h // c) for h, c in zip(extents, self.offsets.tolist(), strict=True)), default=0))


def hull_ball(differences: IntArray) -> Ball:
    """The hull of integer vectors (m, d) and their opposites, of any dimension from 0 to d."""
    d = differences.shape[1]
    if not differences.any():
        return _point(d, differences[:1])
    if d == 2:
        differences = symmetric_hull(differences)
    span = primitive(differences)
    inner = product_of(differences, span.coordinates)
    k = len(span.basis)
    if k == 1:
        width = np.abs(inner).max(axis=0)
        return _ball(np.array([[1]]), width, np.stack([width, -width]), span)
    if k < d:  # coordinates of a flat in space may be large in the first basis that was found
        span, inner = _smaller(span, inner)
    if k == 2:
        corners = symmetric_hull(inner)
        return _ball(*_polygon(corners), corners, span)
    return _ball(*_solid(inner), span)


def cross_polytope(radius: int, d: int) -> Ball:
    """The l1 ball: what Laplace noise is the K-norm noise of (DPHMM, Theorem 5.1)."""
    if radius == 0:
        return _point(d, np.zeros((1, d), dtype=np.int64))
    signs = np.array([(1, *rest) for rest in product((1, -1), repeat=d - 1)], dtype=np.int64)
    ends = np.concatenate([np.eye(d, dtype=np.int64), -np.eye(d, dtype=np.int64)]) * radius
    none = np.zeros((0, d), dtype=np.int64)
    return Ball(signs, np.full(len(signs), radius), none, np.eye(d, dtype=np.int64), np.full(d, radius), ends)


def _point(d: int, vertices: IntArray) -> Ball:
    empty = np.zeros((0, d), dtype=np.int64)
    none = np.zeros(0, dtype=np.int64)
    return Ball(empty, none, np.eye(d, dtype=np.int64), empty, none, vertices)


def _polygon(corners: IntArray) -> tuple[IntArray, IntArray]:
    """Normals and offsets of a symmetric polygon's edges, one of each opposite pair; corners counter-clockwise."""
    half = len(corners) // 2
    edges = corners[1 : half + 1] - corners[:half]
    normals = np.stack([edges[:, 1], -edges[:, 0]], axis=1)
    offsets = (normals * corners[:half]).sum(axis=1)
    common = np.gcd(np.gcd(normals[:, 0], normals[:, 1]), offsets)
    return normals // common[:, None], offsets // common


def _solid(inner: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Normals, offsets and corners from three dimensions on: of two opposite facets one, in order of entries."""
    points = np.concatenate([inner, -inner])
    simplices = border(inner)
    facets = sorted({_normal(simplex) for simplex in points[simplices].tolist()})
    normals = _integers(facets, (len(facets), points.shape[1]))
    corners = _integers(sorted({tuple(point) for point in points[np.unique(simplices)].tolist()}))
    heights = product_of(corners, normals.T)
    offsets = heights.max(axis=0)
    return normals, offsets, corners[extreme(np.concatenate([heights == offsets, heights == -offsets], axis=1))]


def _normal(simplex: list[list[int]]) -> tuple[int, ...]:
    """The primitive normal of the facet through k points in k dimensions, first entry positive."""
    edges = [[a - b for a, b in zip(point, simplex[0], strict=True)] for point in simplex[1:]]
    minors = [
        (-1) ** j * _determinant([[value for i, value in enumerate(edge) if i != j] for edge in edges])
        for j in range(len(simplex))
    ]
    divisor = math.gcd(*minors) * (1 if next(value for value in minors if value) > 0 else -1)
    return tuple(value // divisor for value in minors)


def _determinant(rows: list[list[int]]) -> int:
    """Of an integer matrix, by elimination without fractions (Bareiss)."""
    rows, sign, last = [list(row) for row in rows], 1, 1
    for k in range(len(rows) - 1):
        pivot = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if pivot is None:
            return 0
        if pivot != k:
            rows[k], rows[pivot], sign = rows[pivot], rows[k], -sign
        for i in range(k + 1, len(rows)):
            for j in range(k + 1, len(rows)):
                rows[i][j] = (rows[i][j] * rows[k][k] - rows[i][k] * rows[k][j]) // last
        last = rows[k][k]
    return sign * rows[-1][-1]


@dataclass(frozen=True)
class Span:
    """The integer points of a subspace: z = w @ basis with integers w = z @ coordinates, where equations @ z = 0."""

    basis: IntArray  # (k, d)
    coordinates: IntArray  # (d, k)
    equations: IntArray  # (d - k, d)


def primitive(vectors: IntArray) -> Span:
    """All integer points of the span of integer vectors (m, d), not only those that the vectors generate.

    Columns are combined as in Euclid's algorithm until each vector in turn has zeros beyond its pivot: vectors @ U =
    [lower triangle, 0] with U unimodular. Rows of its inverse are then the basis, and the columns beyond the equations.
    """
    d = vectors.shape[1]
    u, inverse = np.eye(d, dtype=object), np.eye(d, dtype=object)  # Python's integers: some grow beyond 64 bits
    for k in range(d):
        beyond = product_of(vectors, _integers(u[:, k:]))
        left = np.flatnonzero(beyond.any(axis=1))
        if not len(left):
            return Span(_integers(inverse[:k]), _integers(u[:, :k]), _integers(u[:, k:].T))
        entries = [int(value) for value in beyond[left[0]]]
        while True:
            nonzero = [j for j, value in enumerate(entries) if value]
            least = min(nonzero, key=lambda j: abs(entries[j]))
            entries[0], entries[least] = entries[least], entries[0]
            u[:, [k, k + least]] = u[:, [k + least, k]]
            inverse[[k, k + least]] = inverse[[k + least, k]]
            if len(nonzero) == 1:
                break
            for j in range(1, len(entries)):
                times = entries[j] // entries[0]
                entries[j] -= times * entries[0]
                u[:, k + j] -= times * u[:, k]
                inverse[k] += times * inverse[k + j]
    return Span(np.eye(d, dtype=np.int64), np.eye(d, dtype=np.int64), np.zeros((0, d), dtype=np.int64))


def _ball(normals: IntArray, offsets: IntArray, corners: IntArray, span: Span) -> Ball:
    """K from its facets and corners in coordinates of the span, with the basis reduced for it."""
    turn, back = reduction(corners)  # w = w' @ turn, w' = w @ back
    return Ball(
        rows=product_of(normals, span.coordinates.T),
        offsets=offsets,
        equations=span.equations,
        basis=product_of(turn, span.basis),
        widths=np.abs(product_of(corners, back)).max(axis=0),
        vertices=product_of(corners, span.basis),
    )


def reduction(corners: IntArray) -> tuple[IntArray, IntArray]:
    """A unimodular (k, k) matrix, its rows short and nearly at right angles where corners look round; and its inverse.

    The reduction of Lenstra, Lenstra and Lovász in the metric that makes the second moments M of the corners those of a
    ball: |w|^2 = w M^-1 w', in integers det(M) times that. Quotients are compared by cross-multiplication, so nothing
    is rounded.
    """
    k = corners.shape[1]
    turn, back = (
        [[int(i == j) for j in range(k)] for i in range(k)],
        [[int(i == j) for j in range(k)] for i in range(k)],
    )
    if k == 1:
        return _integers(turn), _integers(back)
    gram = _adjugate(product_of(corners.T, corners).tolist())  # of the rows of turn; back is kept transposed
    i = 1
    while i < k:
        flat = _flattened(gram, i)
        for j in range(i - 1, -1, -1):
            times = _nearest(flat[i][j], flat[j][j])
            if times:
                turn[i] = [a - times * b for a, b in zip(turn[i], turn[j], strict=True)]
                back[j] = [a + times * b for a, b in zip(back[j], back[i], strict=True)]
                flat[i][: j + 1] = [a - times * b for a, b in zip(flat[i][: j + 1], flat[j][: j + 1], strict=True)]
                gram[i] = [a - times * b for a, b in zip(gram[i], gram[j], strict=True)]
                for row in gram:
                    row[i] -= times * row[j]
        before = flat[i - 2][i - 2] if i > 1 else 1
        longer, shorter = flat[i][i] * before + flat[i][i - 1] ** 2, flat[i - 1][i - 1] ** 2
        if longer * SHORTER[1] ** 2 >= shorter * SHORTER[0] ** 2:
            i += 1
        else:
            for rows in (turn, back, gram):
                rows[i - 1], rows[i] = rows[i], rows[i - 1]
            for row in gram:
                row[i - 1], row[i] = row[i], row[i - 1]
            i = max(i - 1, 1)
    return _integers(turn), _integers(back).T


def _flattened(gram: list[list[int]], last: int) -> list[list[int]]:
    """Gram and Schmidt without fractions, for rows 0 to last.

    Entry (i, j) is det(gram of 0..j) times row i's share of direction j. On the diagonal it is the determinant itself,
    so that direction j has squared length (j, j) / (j - 1, j - 1).
    """
    flat = [row[: last + 1] for row in gram[: last + 1]]
    divisor = 1
    for j in range(last):
        for i in range(j + 1, last + 1):
            for m in range(j + 1, last + 1):
                flat[i][m] = (flat[i][m] * flat[j][j] - flat[i][j] * flat[j][m]) // divisor
        divisor = flat[j][j]
    return flat


def _nearest(numerator: int, denominator: int) -> int:
    """The integer nearest to a quotient, of two the one towards zero; the denominator is positive."""
    size = -((denominator - 2 * abs(numerator)) // (2 * denominator))
    return size if numerator > 0 else -size


def _adjugate(rows: list[list[int]]) -> list[list[int]]:
    """The inverse of a symmetric integer matrix, times its determinant."""
    k = len(rows)
    return [
        [(-1) ** (i + j) * _determinant([r[:j] + r[j + 1 :] for r in rows[:i] + rows[i + 1 :]]) for j in range(k)]
        for i in range(k)
    ]


def _smaller(span: Span, inner: IntArray) -> tuple[Span, IntArray]:
    """The same points with a basis in which their coordinates (m, k) are small."""
    turn, back = reduction(inner)
    return Span(product_of(turn, span.basis), product_of(span.coordinates, back), span.equations), product_of(
        inner, back
    )


def product_of(left: IntArray, right: IntArray) -> IntArray:
    """An exact matrix product: in 64 bits where nothing can overflow, with Python's integers elsewhere."""
    if left.dtype != object and right.dtype != object:
        largest = int(np.abs(left).max(initial=0)) * int(np.abs(right).max(initial=0)) * left.shape[1]
        if largest < SAFE:
            return np.asarray(left @ right)
    return _integers((left.astype(object) @ right.astype(object)).tolist(), (left.shape[0], right.shape[1]))


def _integers(values: npt.ArrayLike, shape: tuple[int, ...] | None = None) -> IntArray:
    """Python's integers as an array, in 64 bits where they fit."""
    given = np.array(values, dtype=object)
    if shape is not None:
        given = given.reshape(shape)
    if all(abs(value) < SAFE for value in given.ravel()):
        return given.astype(np.int64)
    return given
