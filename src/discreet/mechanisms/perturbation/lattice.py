"""Exact integers behind what is released: answers on a lattice, and the sensitivity hull as integer inequalities.

Answers are rounded to multiples of a step that is a power of two, so that a lattice point is a float exactly, and
differences are integer vectors. A `Ball` is a symmetric convex body K around 0 that holds all of them:
    K = {z in span : |row . z| <= offset for every row},    all integers.
Its norm max |row . z| / offset is a quotient of integers, so membership and levels are decided without rounding. That
K holds the differences is all that the promise rests on (noise.md); in the plane it is their hull exactly, beyond it the
facets are those that Qhull finds, made exact, and an offset is never below what a difference needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import numpy.typing as npt

from discreet.errors import PolicyError
from discreet.mechanisms.perturbation.hull import facets_of
from discreet.mechanisms.perturbation.planar import REACH, symmetric_hull
from discreet.numerics import BoolArray, FloatArray, IntArray

FINEST = 20
"""Answers are told apart to 2**-20 of their range in the plane: a centimetre in ten kilometres."""

BITS = 44
"""Bits of a product of d differences; 18 of 62 are left for noise, levels and sums."""

LONGEST = 128
"""Noise is shorter than this many hulls divided by epsilon, but once in e^100 draws."""

SAFE = 2**62
"""Products of integers below this are computed in 64 bits, others with Python's integers."""


class Answers:
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
        """Refuse noise that reaches beyond the integers that floats hold: hulls are as wide as the answers at most (l1)."""
        if float(np.ptp(self.integers, axis=0).sum()) * LONGEST / epsilon >= 2.0**52:
            raise PolicyError(
                f"epsilon {epsilon:g} needs noise that floats do not hold in steps of {self.step:g}; give a coarser step"
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
        return _product(self.rows, self.basis.T)

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
        if _product(steps, self.equations.T).any():
            return math.inf
        heights = _product(steps, self.rows.T)
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
    inner = _product(differences, span.coordinates)
    k = len(span.basis)
    if k == 1:
        width = np.abs(inner).max(axis=0)
        return _ball(np.array([[1]]), width, np.stack([width, -width]), span)
    if k < d:  # coordinates of a flat in space may be large in the first basis that was found
        span, inner = _smaller(span, inner)
    if k == 2:
        corners = symmetric_hull(inner)
        return _ball(*_polygon(corners), corners, span)
    return _ball(*_solid(inner), span, held=inner)


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
    """Normals, offsets and corners in three dimensions and more: Qhull says which corners make a facet, integers where it lies."""
    points = np.concatenate([inner, -inner])
    simplices, vertices = facets_of(points.astype(np.float64))
    facets = dict.fromkeys(_normal(simplex) for simplex in points[simplices].tolist())
    kept = [normal for normal in facets if any(normal)]
    normals = _integers(kept, (len(kept), points.shape[1]))
    offsets = np.abs(_product(points, normals.T)).max(axis=0)  # of all points: no difference is left outside
    return normals, offsets, points[vertices]


def _normal(simplex: list[list[int]]) -> tuple[int, ...]:
    """The primitive normal of the facet through k points in k dimensions, first entry positive; zeros if they are not one."""
    edges = [[a - b for a, b in zip(point, simplex[0], strict=True)] for point in simplex[1:]]
    minors = [
        (-1) ** j * _determinant([[value for i, value in enumerate(edge) if i != j] for edge in edges])
        for j in range(len(simplex))
    ]
    divisor = math.gcd(*minors)
    if divisor == 0:
        return tuple(minors)
    sign = 1 if next(value for value in minors if value) > 0 else -1
    return tuple(sign * value // divisor for value in minors)


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
        beyond = _product(vectors, _integers(u[:, k:]))
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


def _ball(normals: IntArray, offsets: IntArray, corners: IntArray, span: Span, held: IntArray | None = None) -> Ball:
    """K from its facets and corners in coordinates of the span, with the basis reduced for it.

    Where Qhull named them, `held` are all the differences: the box that holds them is then made part of K, which is
    bounded by it and holds every difference, whatever facets and corners were named.
    """
    turn, back = reduction(corners)  # w = w' @ turn, w' = w @ back
    widths = np.abs(_product(corners if held is None else held, back)).max(axis=0)
    if held is not None:
        normals, offsets = np.concatenate([normals, back.T]), np.concatenate([offsets, widths])
    return Ball(
        rows=_product(normals, span.coordinates.T),
        offsets=offsets,
        equations=span.equations,
        basis=_product(turn, span.basis),
        widths=widths,
        vertices=_product(corners, span.basis),
    )


def reduction(corners: IntArray) -> tuple[IntArray, IntArray]:
    """A unimodular (k, k) matrix whose rows are short and nearly at right angles where the corners look round, and its inverse.

    Lovász's reduction in the metric that makes the second moments of the corners those of a ball. Floats choose the
    steps and integers take them, so that it is unimodular whatever was chosen.
    """
    k = corners.shape[1]
    if k == 1:
        return np.eye(1, dtype=np.int64), np.eye(1, dtype=np.int64)
    turn, back = [[int(i == j) for j in range(k)] for i in range(k)], np.eye(k, dtype=object)
    points = corners.astype(np.float64)
    _, reach, directions = np.linalg.svd(points, full_matrices=False)
    reach = np.maximum(reach, reach[0] * 1e-15)  # what floats can tell
    metric = directions.T / reach  # w @ metric is w in coordinates where the corners look round
    i = 1
    for _ in range(10_000):  # far beyond what k dimensions and 44 bits need
        rows = np.array(turn, dtype=np.float64) @ metric
        flat = np.linalg.qr(rows.T)[1]  # flat[j, i]: row i along the j-th orthogonal direction
        for j in range(i - 1, -1, -1):
            times = round(float(flat[j, i] / flat[j, j]))
            if times:
                turn[i] = [a - times * b for a, b in zip(turn[i], turn[j], strict=True)]
                back[:, j] += times * back[:, i]
                flat[:, i] -= times * flat[:, j]
        if math.hypot(flat[i, i], flat[i - 1, i]) >= 0.995 * abs(flat[i - 1, i - 1]):
            i += 1
        else:
            turn[i - 1], turn[i] = turn[i], turn[i - 1]
            back[:, [i - 1, i]] = back[:, [i, i - 1]]
            i = max(i - 1, 1)
        if i == k:
            break
    return _integers(turn), _integers(back)


def _smaller(span: Span, inner: IntArray) -> tuple[Span, IntArray]:
    """The same points with a basis in which coordinates (m, k) are small: reduced as often as it makes them smaller.

    Floats choose the steps of a reduction, and of long coordinates they see the first digits only.
    """
    while True:
        turn, back = reduction(inner)
        shorter = _product(inner, back)
        if np.abs(shorter).max() >= np.abs(inner).max():
            return span, inner
        span = Span(_product(turn, span.basis), _product(span.coordinates, back), span.equations)
        inner = shorter


def _product(left: IntArray, right: IntArray) -> IntArray:
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
