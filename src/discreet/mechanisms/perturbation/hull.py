"""The sensitivity hull: the convex hull of differences of the query's answers over the edges (DPHMM, Definition 5.1).

Everything is computed in the coordinates of the hull's own subspace, so that a segment or a flat polygon in higher
space is as good as any. `Hull` works on floats, for pictures, measures and the continuous law; what is released stands
on exact integers (discreet.mechanisms.perturbation.lattice). Sums have one order and no library decides a corner, so
that a hull is the same on every machine.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import numpy.typing as npt

from discreet.errors import DiscreetError
from discreet.mechanisms.perturbation.planar import hull_of_sorted
from discreet.mechanisms.perturbation.solid import border, extreme
from discreet.numerics import BoolArray, FloatArray, IntArray, ordered_product

FLAT = 1e-10
"""Directions in which the differences reach less than this, relative to the furthest, are rounding and not a dimension;
a vector that leaves the subspace by less than this, relative to its own length, lies in it."""

GRID = 46
"""Points of no common step are rounded to 2**-46 of the hull's own size before corners are sought among them."""

EXACT = 19
"""Points that are multiples of a power of two, and no more than 2**19 of them long, are taken as they are."""

INSIDE = 1e-9
"""A vector belongs to the hull up to this in norm: corners computed in floats must lie in their own hull."""


class Hull:
    """The convex hull of vectors and their opposites: symmetric by construction. Make one with `of_differences`.

    `dimension` is that of its own subspace: 0 for a point (or no differences at all), 1 for a segment, and so on.
    `basis` (dimension, d) is orthonormal; `facets` (m, dimension) make the norm of v max |facets @ basis @ v|.
    """

    def __init__(self, differences: npt.ArrayLike) -> None:
        points = np.array(differences, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] < 1:
            raise DiscreetError(f"differences have shape {points.shape}; give an array (differences, coordinates)")
        if not np.isfinite(points).all():
            raise DiscreetError("a difference is not a finite number; check the query's answers")
        self.empty = len(points) == 0
        self.space = points.shape[1]
        frame, pivots = _frame(points)
        self.dimension = len(frame)
        self.basis: FloatArray = np.eye(self.space) if self.dimension == self.space else frame
        self.vertices: FloatArray = np.zeros((0 if self.empty else 1, self.space))
        self.facets: FloatArray = np.zeros((0, self.dimension))
        self._corners: FloatArray = np.zeros((0, self.dimension, self.dimension))  # of one simplex a facet
        if self.dimension:
            self._shape(_one_of_opposites(points), frame, points[pivots])
        for array in (self.basis, self.vertices, self.facets, self._corners):
            array.setflags(write=False)

    def _shape(self, half: FloatArray, frame: FloatArray, pivots: FloatArray) -> None:
        """Facets and vertices in the subspace's coordinates: of simplices in one plane one facet, no flat ones."""
        points = np.concatenate([half, -half])
        inner = ordered_product(points, self.basis.T)
        if self.dimension == 1:
            furthest = int(np.argmax(inner[:, 0]))
            ends = [furthest, (furthest + len(half)) % len(points)]
            self.vertices, self.facets = points[ends], 1 / inner[furthest : furthest + 1]
            self._corners = inner[ends][:, None, :]
            return
        simplices = _simplices(half, ordered_product(half, frame.T), ordered_product(pivots, frame.T))
        corners = inner[simplices]
        normals, sizes = _planes(corners)
        thick = sizes > sizes.max() * FLAT  # a facet cut into simplices may leave some without volume
        self._corners, normals = corners[thick], normals[thick]
        scaled = np.round(normals * np.abs(inner).max(axis=0), 10) + 0.0
        _, first = np.unique(scaled, axis=0, return_index=True)  # simplices of one facet
        self.facets = normals[first]
        named = np.unique(simplices[thick])
        named = named[np.lexsort(points[named].T[::-1])]
        self.vertices = points[named[extreme(ordered_product(inner[named], self.facets.T) >= 1 - INSIDE)]]

    @classmethod
    def of_differences(cls, differences: npt.ArrayLike) -> Hull:
        """The hull of differences (m, d) and their opposites; duplicates, zeros and points on a line are fine."""
        return cls(differences)

    def norm(self, vectors: npt.ArrayLike) -> float | FloatArray:
        """The smallest r such that v lies in r times the hull; infinite off its subspace. For v (d,) or (m, d)."""
        given = np.asarray(vectors, dtype=np.float64)
        if given.ndim not in (1, 2) or given.shape[-1] != self.space:
            raise DiscreetError(f"vectors have shape {given.shape}; give ({self.space},) or (vectors, {self.space})")
        rows = np.atleast_2d(given)
        inner = ordered_product(rows, self.basis.T)
        beside = _lengths(rows - ordered_product(inner, self.basis))
        off = ~(beside <= FLAT * _lengths(rows))  # what is no number is not in it
        norms = np.abs(ordered_product(inner, self.facets.T)).max(axis=1, initial=0.0)
        norms[off] = np.inf
        return float(norms[0]) if given.ndim == 1 else norms

    def contains(self, vectors: npt.ArrayLike) -> bool | BoolArray:
        """Whether vectors lie in the hull, its border included."""
        norms = self.norm(vectors)
        return norms <= 1 + INSIDE if isinstance(norms, float) else np.asarray(norms <= 1 + INSIDE)

    __contains__ = contains

    @cached_property
    def _volumes(self) -> FloatArray:
        """Volume of the simplex between the origin and each of the border's."""
        return np.asarray(_planes(self._corners)[1] / math.factorial(self.dimension))

    @property
    def volume(self) -> float:
        """In the hull's own dimension: a segment's length, a polygon's area; 1 for a point, 0 for no differences."""
        if self.dimension == 0:
            return 0.0 if self.empty else 1.0
        return float(self._volumes.sum())

    def sample(self, count: int, generator: np.random.Generator) -> FloatArray:
        """(count, d): uniform in the hull, for experiments: a simplex by volume, then uniform in it; none rejected."""
        if self.dimension == 0:
            return np.zeros((count, self.space))
        which = np.searchsorted(np.cumsum(self._volumes), generator.random(count) * self._volumes.sum(), side="right")
        corners = self._corners[np.minimum(which, len(self._corners) - 1)]
        shares = generator.standard_exponential((count, self.dimension + 1))
        shares /= shares.sum(axis=1, keepdims=True)  # uniform on the simplex; the last share is the origin's
        return np.asarray(np.einsum("ck,ckd->cd", shares[:, :-1], corners) @ self.basis)

    @cached_property
    def covariance(self) -> FloatArray:
        """(dimension, dimension): of the uniform law, in the subspace's coordinates."""
        k = self.dimension
        # A simplex with corners 0, v_1..v_k: E[x x'] = (sum v_i v_i' + (sum v_i)(sum v_i)') / ((k + 1)(k + 2)).
        total = self._corners.sum(axis=1)
        moments = np.einsum("fki,fkj->fij", self._corners, self._corners) + total[:, :, None] * total[:, None, :]
        weights = self._volumes / self._volumes.sum()
        return np.asarray(np.einsum("f,fij->ij", weights, moments) / ((k + 1) * (k + 2)))

    def __repr__(self) -> str:
        return f"Hull(dimension {self.dimension} in {self.space}, {len(self.vertices)} vertices)"


def _frame(points: FloatArray) -> tuple[FloatArray, IntArray]:
    """(k, d) and (k,): an orthonormal basis of the span (Gram and Schmidt) and its points, each the furthest left."""
    frame: list[FloatArray] = []
    pivots: list[int] = []
    reach = 0.0
    left = points / largest if len(points) and (largest := np.abs(points).max()) else points[:0]
    while len(left) and len(frame) < points.shape[1]:
        lengths = _lengths(left)
        furthest = int(lengths.argmax())
        if not lengths[furthest] > FLAT * reach:
            break
        reach = max(reach, float(lengths[furthest]))
        direction = left[furthest] / lengths[furthest]
        for other in frame:  # once more: what little is left has lost its right angle
            direction = direction - (direction * other).sum() * other
        direction = direction / math.sqrt(float((direction * direction).sum()))
        left = left - ordered_product(left, direction[:, None]) * direction
        frame.append(direction)
        pivots.append(furthest)
    return np.array(frame).reshape(-1, points.shape[1]), np.array(pivots, dtype=np.int64)


def _lengths(vectors: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.square(vectors).sum(axis=1)))


def _one_of_opposites(points: FloatArray) -> FloatArray:
    """Distinct points (m, d), one of each two opposite ones, in the order of their coordinates, without the origin."""
    points = points[points.any(axis=1)]
    leading = points[np.arange(len(points)), (points != 0).argmax(axis=1)]
    return np.unique(np.where(leading[:, None] < 0, -points, points) + 0.0, axis=0)


def _simplices(half: FloatArray, along: FloatArray, pivots: FloatArray) -> IntArray:
    """(f, k): the border of the hull of points (m, d) and their opposites, as numbers into both, from integers.

    `along` (m, k) are the points in coordinates of the frame, `pivots` (k, k) those that it was made of: a lower
    triangle. As multiples of the pivots, points are not much longer than 1, however thin the hull is: corners are
    sought among these.
    """
    k = along.shape[1]
    if k == half.shape[1] and k > 2:
        whole = np.ldexp(half, EXACT - math.frexp(float(np.abs(half).max()))[1])
        if (whole == np.rint(whole)).all():
            integers = whole.astype(np.int64)
            bits = int(np.bitwise_or.reduce(integers, axis=None))
            return border(integers // (bits & -bits))  # by the step that they have in common
    multiples = np.zeros_like(along)
    for j in range(k - 1, -1, -1):
        rest = ordered_product(multiples[:, j + 1 :], pivots[j + 1 :, j : j + 1])[:, 0]
        multiples[:, j] = (along[:, j] - rest) / pivots[j, j]
    if k > 2:
        return border(np.rint(np.ldexp(multiples, GRID)).astype(np.int64))
    both = np.concatenate([multiples, -multiples]) + 0.0
    order = np.lexsort((both[:, 1], both[:, 0]))
    found = hull_of_sorted(both[order])
    places = order[np.searchsorted(_keys(both[order]), _keys(found))]
    return np.stack([places, np.roll(places, -1)], axis=1)


def _keys(points: FloatArray) -> npt.NDArray[np.complex128]:
    """Points of the plane (m, 2) as numbers in the order of (x, y)."""
    return np.ascontiguousarray(points).view(np.complex128)[:, 0]


def _planes(corners: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(f, k) and (f,): normals n with n . corner = 1 for simplices (f, k, k), not finite where |det| is 0; |det|."""
    count, k, _ = corners.shape
    rows = np.concatenate([corners, np.ones((count, k, 1))], axis=2)
    sizes, every = np.ones(count), np.arange(count)
    with np.errstate(divide="ignore", invalid="ignore"):
        for j in range(k):  # Gauss and Jordan, all simplices at a time
            pivot = j + np.abs(rows[:, j:, j]).argmax(axis=1)
            chosen = rows[every, pivot]
            rows[every, pivot] = rows[:, j]
            sizes *= np.abs(chosen[:, j])
            rows[:, j] = chosen / chosen[:, j, None]
            for i in range(k):
                if i != j:
                    rows[:, i] -= rows[:, i, j, None] * rows[:, j]
    return rows[:, :, k].copy(), np.where(np.isnan(sizes), 0.0, sizes)
