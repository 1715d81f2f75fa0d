"""Positions as points in space: distances that know neither date line nor poles.

A position (latitude, longitude) is a point (x, y, z) on the WGS 84 ellipsoid, in metres from the Earth's middle, and a
distance is the chord between two points. A chord is shorter than the way along the ground by d^3 / 24 R^2: by 1 mm at
10 km, by 1 m at 100 km. That is the whole error, everywhere on Earth, and neighbours are found by a plain k-d tree.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from discreet.numerics import FloatArray
from discreet.places.plane import checked_positions

EQUATOR = 6_378_137.0
"""Metres: the radius of WGS 84 at the equator."""

FLATTENING = 1 / 298.257223563
ECCENTRICITY = FLATTENING * (2 - FLATTENING)
"""Its square, as every formula wants it."""


def points_of(positions: npt.ArrayLike) -> FloatArray:
    """(m, 3): positions (m, 2) as points on the ellipsoid."""
    latitude, longitude = np.radians(checked_positions(positions)).T
    normal = EQUATOR / np.sqrt(1 - ECCENTRICITY * np.sin(latitude) ** 2)
    across = normal * np.cos(latitude)
    up = normal * (1 - ECCENTRICITY) * np.sin(latitude)
    return np.stack([across * np.cos(longitude), across * np.sin(longitude), up], axis=1)


def positions_of_points(points: FloatArray) -> FloatArray:
    """(m, 2): the positions below or above points (m, 3) near the ground (Bowring 1976, one step: under 1 mm)."""
    x, y, z = np.asarray(points, dtype=np.float64).reshape(-1, 3).T
    across, pole = np.hypot(x, y), EQUATOR * (1 - FLATTENING)
    reduced = np.arctan2(z * EQUATOR, across * pole)
    latitude = np.arctan2(
        z + ECCENTRICITY / (1 - ECCENTRICITY) * pole * np.sin(reduced) ** 3,
        across - ECCENTRICITY * EQUATOR * np.cos(reduced) ** 3,
    )
    return np.asarray(np.degrees(np.stack([latitude, np.arctan2(y, x)], axis=1)))


def chords(points: FloatArray, point: FloatArray) -> FloatArray:
    """(m,): metres from points (m, 3) to one point (3,), or to as many points (m, 3)."""
    away = points - point
    return np.asarray(np.sqrt((away * away).sum(axis=1)))


def _east_north(latitude: float, longitude: float) -> FloatArray:
    """(2, 3): the directions of east and of north at a position."""
    phi, lam = math.radians(latitude), math.radians(longitude)
    east = (-math.sin(lam), math.cos(lam), 0.0)
    north = (-math.sin(phi) * math.cos(lam), -math.sin(phi) * math.sin(lam), math.cos(phi))
    return np.array([east, north])


def metres_around(middle: tuple[float, float], positions: npt.ArrayLike) -> FloatArray:
    """(m, 2): east and north of a middle, on the plane that touches the Earth there; for drawing."""
    away = points_of(positions) - points_of([middle])
    return np.asarray(away @ _east_north(*middle).T)


def positions_around(middle: tuple[float, float], metres: npt.ArrayLike) -> FloatArray:
    """(m, 2): the positions of points given as metres east and north of a middle, up to some 100 km from it."""
    steps = np.asarray(metres, dtype=np.float64).reshape(-1, 2) @ _east_north(*middle)
    return positions_of_points(points_of([middle]) + steps)
