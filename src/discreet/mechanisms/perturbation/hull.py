"""The sensitivity hull: the convex hull of the differences of the query's answers over the edges (DPHMM, Definition 5.1).

Everything is computed in the coordinates of the hull's own subspace, so that a segment or a flat polygon in higher
space is as good as any. `Hull` works on floats, for pictures, measures and the continuous law; what is released stands
on exact integers (discreet.mechanisms.perturbation.lattice).
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import numpy.typing as npt

from discreet.errors import DiscreetError
from discreet.numerics import BoolArray, FloatArray, IntArray

FLAT = 1e-10
"""Directions in which the differences reach less than this, relative to the furthest, are rounding and not a dimension;
a vector that leaves the subspace by less than this, relative to its own length, lies in it."""

INSIDE = 1e-9
"""A vector belongs to the hull up to this in norm: corners computed in floats must lie in their own hull."""


class Hull:
    """The convex hull of vectors and their opposites: symmetric by construction. Make one with `of_differences`.

    `dimension` is that of its own subspace: 0 for a point (or no differences at all), 1 for a segment, and so on.
    `basis` (dimension, d) is orthonormal; `facets` (m, dimension) are such that the norm of v is max |facets @ basis @ v|.
    """

    def __init__(self, differences: npt.ArrayLike) -> None:
        points = np.array(differences, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] < 1:
            raise DiscreetError(f"differences have shape {points.shape}; give an array (differences, coordinates)")
        if not np.isfinite(points).all():
            raise DiscreetError("a difference is not a finite number; check the query's answers")
        self.empty = len(points) == 0
        self.space = points.shape[1]
        self.basis = _basis(points)
        self.dimension = len(self.basis)
        self.vertices: FloatArray = np.zeros((0 if self.empty else 1, self.space))
        self.facets: FloatArray = np.zeros((0, self.dimension))
        self._corners: FloatArray = np.zeros((0, self.dimension, self.dimension))  # of one simplex a facet
        if self.dimension:
            self._shape(np.unique(np.concatenate([points, -points]), axis=0))
        for array in (self.basis, self.vertices, self.facets, self._corners):
            array.setflags(write=False)

    def _shape(self, points: FloatArray) -> None:
        """Facets and vertices from Qhull, in the subspace's own coordinates scaled to the hull's size."""
        inner = points @ self.basis.T
        if self.dimension == 1:
            furthest = int(np.argmax(inner[:, 0]))
            ends, length = [furthest, int(np.argmin(inner[:, 0]))], float(inner[furthest, 0])
            self.vertices, self.facets = points[ends], np.array([[1 / length]], dtype=np.float64)
            self._corners = inner[ends][:, None, :]
            return
        simplices, vertices = facets_of(inner)
        corners = inner[simplices]
        size = np.abs(np.linalg.det(corners))
        self._corners = corners[size > size.max() * FLAT]  # a facet cut into simplices may leave some without volume
        normals = np.linalg.solve(self._corners, np.ones((len(self._corners), self.dimension, 1)))[..., 0]
        scaled = np.round(normals * np.abs(inner).max(axis=0), 10) + 0.0
        _, first = np.unique(scaled, axis=0, return_index=True)  # simplices of one facet
        self.facets = np.asarray(normals[np.sort(first)], dtype=np.float64)
        self.vertices = points[vertices]

    @classmethod
    def of_differences(cls, differences: npt.ArrayLike) -> Hull:
        """The hull of differences (m, d) and their opposites; duplicates, zeros and points on a line are fine."""
        return cls(differences)

    def norm(self, vectors: npt.ArrayLike) -> float | FloatArray:
        """The smallest r such that v lies in r times the hull; infinite off its subspace. One vector (d,), or (m, d)."""
        given = np.asarray(vectors, dtype=np.float64)
        if given.ndim not in (1, 2) or given.shape[-1] != self.space:
            raise DiscreetError(f"vectors have shape {given.shape}; give ({self.space},) or (vectors, {self.space})")
        rows = np.atleast_2d(given)
        inner = rows @ self.basis.T
        length = np.linalg.norm(rows, axis=1)
        off = ~(np.linalg.norm(rows - inner @ self.basis, axis=1) <= FLAT * length)  # what is no number is not in it
        norms = np.abs(inner @ self.facets.T).max(axis=1, initial=0.0)
        norms[off] = np.inf
        return float(norms[0]) if given.ndim == 1 else norms

    def contains(self, vectors: npt.ArrayLike) -> bool | BoolArray:
        """Whether vectors lie in the hull, its border included."""
        norms = self.norm(vectors)
        return norms <= 1 + INSIDE if isinstance(norms, float) else np.asarray(norms <= 1 + INSIDE)

    __contains__ = contains

    @cached_property
    def _volumes(self) -> FloatArray:
        """Volume of the simplex between the origin and each of Qhull's facets."""
        return np.asarray(np.abs(np.linalg.det(self._corners)) / math.factorial(self.dimension))

    @property
    def volume(self) -> float:
        """In the hull's own dimension: the length of a segment, the area of a polygon; 1 for a point, 0 for no differences."""
        if self.dimension == 0:
            return 0.0 if self.empty else 1.0
        return float(self._volumes.sum())

    def sample(self, count: int, generator: np.random.Generator) -> FloatArray:
        """(count, d): uniform in the hull, for experiments: a simplex by its volume, then uniform in it. Nothing is rejected."""
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


def facets_of(points: FloatArray) -> tuple[IntArray, IntArray]:
    """Which points (m, k) are the corners of each facet's simplices (f, k), and which are vertices: found by Qhull.

    Along its principal axes, each scaled to the hull's reach, a needle is as wide as it is long: Qhull's tolerances are
    absolute. Where it finds no hull within them, points are shaken by as little as it takes (its option QJ).
    """
    from scipy.spatial import ConvexHull, QhullError

    axes = np.linalg.svd(points, full_matrices=False)[2]
    turned = points @ axes.T
    turned /= np.abs(turned).max(axis=0)
    try:
        found = ConvexHull(turned)
    except QhullError:
        found = ConvexHull(turned, qhull_options="QJ")
    return found.simplices, found.vertices


def _basis(points: FloatArray) -> FloatArray:
    """(k, d): an orthonormal basis of the span."""
    if not len(points):
        return np.zeros((0, points.shape[1]))
    largest = np.abs(points).max()
    if largest == 0:
        return np.zeros((0, points.shape[1]))
    _, reach, directions = np.linalg.svd(points / largest, full_matrices=False)
    kept = directions[reach > FLAT * reach[0]]
    return np.eye(points.shape[1]) if len(kept) == points.shape[1] else kept
