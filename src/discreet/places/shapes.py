"""The shapes of places: circles in metres, and polygons as maps draw them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from discreet.errors import DataError
from discreet.numerics import BoolArray, FloatArray
from discreet.places.ellipsoid import chords, points_of, positions_around, positions_of_points
from discreet.places.plane import EARTH, checked_positions

WIDEST = 100_000.0
"""Metres: the largest radius of a circle. Up to here a chord is the way along the ground, but for a metre."""

CORNERS = 36
"""Points by which a circle's rim is known where it is drawn or held against another shape."""

LEAST = 1e-13
"""Square degrees, some square centimetres: a ring that encloses less is a line."""

WALL = 0.05
"""How far a shape is drawn in towards its middle before it is asked whether it lies in another: they may share walls,
and nobody draws a room to the millimetre."""


class Shape(Protocol):
    """A part of the map."""

    @property
    def middle(self) -> tuple[float, float]:
        """A position to measure from."""

    @property
    def area(self) -> float:
        """Square metres."""

    @property
    def rings(self) -> tuple[FloatArray, ...]:
        """(k, 2) each: positions around it, and around its holes, each ring without its first position repeated."""

    def holds(self, positions: FloatArray, points: FloatArray) -> BoolArray:
        """(m,): which positions (m, 2), also given as points (m, 3), lie in it."""


@dataclass(frozen=True)
class Circle:
    """All positions within `radius` metres of a middle, its rim included."""

    latitude: float
    longitude: float
    radius: float

    def __post_init__(self) -> None:
        checked_positions([[self.latitude, self.longitude]])
        if not 0 < self.radius <= WIDEST:  # also catches NaN
            raise DataError(f"the radius is {self.radius:g} m; give one above 0 and up to {WIDEST:g}")

    @property
    def middle(self) -> tuple[float, float]:
        """The middle."""
        return self.latitude, self.longitude

    @property
    def area(self) -> float:
        """Square metres."""
        return float(np.pi * self.radius**2)

    @cached_property
    def _point(self) -> FloatArray:
        return points_of([self.middle])

    @property
    def rings(self) -> tuple[FloatArray, ...]:
        """One ring, of positions on the rim."""
        turn = 2 * np.pi * np.arange(CORNERS) / CORNERS
        return (positions_around(self.middle, self.radius * np.stack([np.cos(turn), np.sin(turn)], axis=1)),)

    def holds(self, positions: FloatArray, points: FloatArray) -> BoolArray:
        """Which positions are near enough."""
        found = np.abs(points[:, 2] - self._point[0, 2]) <= self.radius  # most are not, and cost no more than this
        found[found] = chords(points[found], self._point) <= self.radius
        return np.asarray(found)


class Polygon:
    """What rings enclose, by the even-odd rule: a ring inside another is a hole.

    Edges are straight in degrees, as GeoJSON has them (RFC 7946, section 3.1.1): there is no error of projection.
    Longitudes are counted on from the first corner, so that a ring may cross the date line. Rings around a pole are an
    error: in degrees they enclose nothing. `geometry` is what a file drew it by, to be written again as it was.
    """

    def __init__(self, rings: tuple[FloatArray, ...], geometry: Mapping[str, Any] | None = None) -> None:
        self.geometry = geometry
        self._start = float(rings[0][0, 1])
        self._rings = tuple(self._unrolled(checked_positions(ring)) for ring in rings)
        corners = np.concatenate(self._rings)
        self._low, self._high = corners.min(axis=0), corners.max(axis=0)
        if not all(_square_degrees(ring) > LEAST for ring in self._rings):
            raise DataError("the polygon encloses nothing, or its edges cross; draw it again")

    def _unrolled(self, ring: FloatArray) -> FloatArray:
        """The ring with longitudes that go on over the date line, none more than half a turn from the one before."""
        steps = np.diff(ring[:, 1], append=ring[0, 1])
        short = (steps + 180) % 360 - 180
        if abs(short.sum()) > 180:
            raise DataError("the polygon goes round a pole; give a circle: a Point with a radius_m")
        first = self._start + (ring[0, 1] - self._start + 180) % 360 - 180
        longitudes = first + np.concatenate([[0.0], np.cumsum(short[:-1])])
        return np.stack([ring[:, 0], longitudes], axis=1)

    @property
    def middle(self) -> tuple[float, float]:
        """The middle of its box."""
        latitude, longitude = (self._low + self._high) / 2
        return float(latitude), float((longitude + 180) % 360 - 180)

    @cached_property
    def area(self) -> float:
        """Square metres on the sphere, where longitude and the sine of latitude are the sides; holes taken off."""
        parts = []
        for ring in self._rings:
            lam, height = np.radians(ring[:, 1]), np.sin(np.radians(ring[:, 0]))
            ahead = np.roll(lam, -1) - lam
            parts.append(abs(float((ahead * (height + np.roll(height, -1)) / 2).sum())) * EARTH**2)
        inside = [_even_odd(other, ring[:1])[0] for ring, other in self._outer()]
        return sum(-part if hole else part for part, hole in zip(parts, inside, strict=True))

    def _outer(self) -> list[tuple[FloatArray, tuple[FloatArray, ...]]]:
        """Each ring, with all the others."""
        return [(ring, self._rings[:k] + self._rings[k + 1 :]) for k, ring in enumerate(self._rings)]

    @property
    def rings(self) -> tuple[FloatArray, ...]:
        """The rings, longitudes back on the map."""
        return tuple(np.stack([ring[:, 0], (ring[:, 1] + 180) % 360 - 180], axis=1) for ring in self._rings)

    def holds(self, positions: FloatArray, points: FloatArray) -> BoolArray:
        """Which positions are enclosed; a corner or an edge belongs to one side of it."""
        centre = (self._low[1] + self._high[1]) / 2
        counted = positions.copy()
        counted[:, 1] = centre + (positions[:, 1] - centre + 180) % 360 - 180
        near = ((counted >= self._low) & (counted <= self._high)).all(axis=1)
        found = np.zeros(len(positions), dtype=np.bool_)
        found[near] = _even_odd(self._rings, counted[near])
        return found


def _square_degrees(ring: FloatArray) -> float:
    y, x = (ring - ring[0]).T
    return abs(float((x * np.roll(y, -1) - y * np.roll(x, -1)).sum())) / 2


def _even_odd(rings: tuple[FloatArray, ...], places: FloatArray) -> BoolArray:
    """(m,): which places (m, 2) have an odd number of edges to their east."""
    odd = np.zeros(len(places), dtype=np.bool_)
    y, x = places.T
    for ring in rings:
        for (y0, x0), (y1, x1) in zip(ring.tolist(), np.roll(ring, -1, axis=0).tolist(), strict=True):
            if y0 != y1:
                spans = (y0 <= y) != (y1 <= y)
                odd ^= spans & (x < x0 + (y - y0) * ((x1 - x0) / (y1 - y0)))
    return odd


def lies_in(inner: Shape, outer: Shape) -> bool:
    """Whether a smaller shape lies in a larger one: all along its edges, drawn in by `WALL`."""
    if inner.area >= outer.area:
        return False
    middle = points_of([inner.middle])
    for ring in inner.rings:
        corners = points_of(ring)
        ahead = np.roll(corners, -1, axis=0)
        along = np.concatenate([corners + (ahead - corners) * part for part in (0.0, 0.25, 0.5, 0.75)])
        drawn_in = along + (middle - along) * WALL
        if not outer.holds(positions_of_points(drawn_in), drawn_in).all():
            return False
    return True
