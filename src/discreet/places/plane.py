"""Metres and degrees: positions on Earth, distances between them, and a plane around one of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import DataError
from discreet.numerics import FloatArray

EARTH = 6_371_008.8
"""Metres: the mean radius of the Earth (IUGG)."""

REACH = 1_000_000.0
"""Metres from its middle that a plane is used for; a grid over half the world would not be one of squares."""


def checked_positions(positions: npt.ArrayLike) -> FloatArray:
    """Positions (m, 2) as floats; what is not on Earth is an error that names the first such row."""
    try:
        found = np.array(positions, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("positions are not numbers; give an array (positions, 2) of latitude and longitude") from None
    if found.size == 0:
        return found.reshape(0, 2)
    if found.ndim == 1 and len(found) == 2:
        found = found[None, :]
    if found.ndim != 2 or found.shape[1] != 2:
        raise DataError(f"positions have shape {found.shape}; give an array (positions, 2) of latitude and longitude")
    for column, (name, most) in enumerate((("latitude", 90), ("longitude", 180))):
        wrong = ~(np.abs(found[:, column]) <= most)  # also catches NaN
        if wrong.any():
            row = int(np.argmax(wrong))
            hint = "; are latitude and longitude swapped?" if column == 0 else ""
            raise DataError(
                f"the {name} of position {row} is {found[row, column]:g}; give degrees from -{most} to {most}{hint}"
            )
    return found


def distances(first: npt.ArrayLike, second: npt.ArrayLike) -> FloatArray:
    """(m,): metres between positions (m, 2) on a sphere (haversine)."""
    a, b = np.radians(checked_positions(first)), np.radians(checked_positions(second))
    half = np.sin((b - a) / 2) ** 2
    root = np.sqrt(half[:, 0] + np.cos(a[:, 0]) * np.cos(b[:, 0]) * half[:, 1])
    return np.asarray(2 * EARTH * np.arcsin(np.minimum(root, 1.0)))


@dataclass(frozen=True)
class Plane:
    """Metres around a position (local equirectangular projection): true along its middle's parallel and meridians.

        east = EARTH cos(latitude of the middle) (longitude - the middle's),   north = EARTH (latitude - the middle's)

    At 10 km from the middle, at 40 degrees, lengths err by about a thousandth.
    """

    latitude: float
    longitude: float

    def __post_init__(self) -> None:
        checked_positions([[self.latitude, self.longitude]])
        if abs(self.latitude) > 85:
            raise DataError(f"the plane's latitude is {self.latitude:g}; near a pole, degrees east are no lengths")

    @classmethod
    def around(cls, positions: npt.ArrayLike) -> Plane:
        """With the middle of the box that holds all positions (not across the 180th meridian)."""
        found = checked_positions(positions)
        if not len(found):
            raise DataError("there are no positions to lay a plane around; give at least one")
        middle = (found.min(axis=0) + found.max(axis=0)) / 2
        return cls(float(middle[0]), float(middle[1]))

    def metres(self, positions: npt.ArrayLike) -> FloatArray:
        """(m, 2): east and north of each position; the shorter way around the Earth."""
        found = checked_positions(positions)
        east = (found[:, 1] - self.longitude + 180) % 360 - 180
        scale = EARTH * math.cos(math.radians(self.latitude))
        points = np.stack([np.radians(east) * scale, np.radians(found[:, 0] - self.latitude) * EARTH], axis=1)
        far = np.abs(points).max(axis=1) > REACH
        if far.any():
            row = int(np.argmax(far))
            raise DataError(
                f"position {row} is more than {REACH / 1000:g} km from the plane's middle "
                f"({self.latitude:g}, {self.longitude:g}); lay a plane around the positions"
            )
        return points

    def degrees(self, points: npt.ArrayLike) -> FloatArray:
        """(m, 2): the positions of points. Noise may lead anywhere: latitudes end at the poles, longitudes go round."""
        found = np.asarray(points, dtype=np.float64).reshape(-1, 2)
        scale = EARTH * math.cos(math.radians(self.latitude))
        latitude = np.clip(self.latitude + np.degrees(found[:, 1] / EARTH), -90.0, 90.0)
        longitude = (self.longitude + np.degrees(found[:, 0] / scale) + 180) % 360 - 180
        return np.stack([latitude, longitude], axis=1)
