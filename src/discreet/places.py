"""Places from coordinates: cells of a grid in metres or of H3, their centres as a query, and outputs as GeoJSON.

Positions are (latitude, longitude) in degrees, WGS 84; points are (east, north) in metres on a `Plane`.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from discreet.contexts import UNKNOWN
from discreet.errors import DataError, DiscreetError
from discreet.numerics import FloatArray
from discreet.outputs import Generalized, Output, Perturbed, Released, to_wire

EARTH = 6_371_008.8
"""Metres: the mean radius of the Earth (IUGG)."""

REACH = 1_000_000.0
"""Metres from its middle that a plane is used for; a grid over half the world would not be one of squares."""

FINEST_RESOLUTION = 15
"""Of H3."""


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
    """Metres around a position, by the local equirectangular projection: true along its middle's parallel and meridians.

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


class Cells(Protocol):
    """Parts of the map, each with a label that is a context."""

    def labels(self, positions: npt.ArrayLike) -> list[str]:
        """The cell of each position (m, 2)."""

    def centres(self, labels: Iterable[str]) -> FloatArray:
        """(n, 2): the position of each cell's centre: a query in degrees; on a plane, one in metres."""

    def outline(self, label: str) -> FloatArray:
        """(k, 2): positions of the cell's corners, around it."""


GRID_LABEL = re.compile(r"e(0|-?[1-9][0-9]*)n(0|-?[1-9][0-9]*)")


@dataclass(frozen=True)
class Grid:
    """Squares of `side` metres on a plane. The cell `e3n-1` is the fourth east of the plane's middle, the first south."""

    side: float
    plane: Plane

    def __post_init__(self) -> None:
        if not 0 < self.side <= REACH:  # also catches NaN
            raise DataError(f"a cell's side is {self.side} m; give a length above 0, such as 340")

    def labels(self, positions: npt.ArrayLike) -> list[str]:
        """The cell of each position (m, 2); a border belongs to the cell north or east of it."""
        steps = np.floor(self.plane.metres(positions) / self.side).astype(np.int64)
        return [f"e{east}n{north}" for east, north in steps.tolist()]

    def corners(self, labels: Iterable[str]) -> FloatArray:
        """(n, 2): each cell's south-western corner, in metres."""
        found = []
        for label in labels:
            match = GRID_LABEL.fullmatch(label)
            if match is None:
                raise _no_cell(label, "a cell of the grid, such as 'e3n-1'")
            found.append((int(match[1]), int(match[2])))
        return np.array(found, dtype=np.float64).reshape(-1, 2) * self.side

    def metres(self, labels: Iterable[str]) -> FloatArray:
        """(n, 2): centres on the grid's own plane: a query in metres."""
        return self.corners(labels) + self.side / 2

    def centres(self, labels: Iterable[str]) -> FloatArray:
        """(n, 2): positions of the centres."""
        return self.plane.degrees(self.metres(labels))

    def outline(self, label: str) -> FloatArray:
        """(4, 2): positions of the corners, counterclockwise from the south-west."""
        turn = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
        return self.plane.degrees(self.corners([label]) + self.side * turn)


@dataclass(frozen=True)
class Hexagons:
    """Cells of H3 (needs `discreet[places]`): resolution 9 has hexagons 350 m wide, 8 of 920 m. Labels are H3's own."""

    resolution: int

    def __post_init__(self) -> None:
        if isinstance(self.resolution, bool) or not 0 <= self.resolution <= FINEST_RESOLUTION:
            raise DataError(f"resolution {self.resolution!r} is none of H3's; give 0 to {FINEST_RESOLUTION}, such as 9")
        _h3()

    def labels(self, positions: npt.ArrayLike) -> list[str]:
        """The cell of each position (m, 2)."""
        cell_of, resolution = _h3().latlng_to_cell, self.resolution
        return [
            cell_of(latitude, longitude, resolution) for latitude, longitude in checked_positions(positions).tolist()
        ]

    def centres(self, labels: Iterable[str]) -> FloatArray:
        """(n, 2): positions of the centres."""
        found = [_h3().cell_to_latlng(self._checked(label)) for label in labels]
        return np.array(found, dtype=np.float64).reshape(-1, 2)

    def outline(self, label: str) -> FloatArray:
        """(5 or 6 or more, 2): positions of the corners, around it."""
        return np.array(_h3().cell_to_boundary(self._checked(label)), dtype=np.float64)

    def _checked(self, label: str) -> str:
        h3 = _h3()
        if not h3.is_valid_cell(label) or h3.get_resolution(label) != self.resolution:
            raise _no_cell(label, f"a cell of H3 at resolution {self.resolution}")
        return label


def _no_cell(label: object, what: str) -> DataError:
    remedy = (
        "carry readings over gaps first, or learn from sequences, which have none" if label == UNKNOWN else "check it"
    )
    return DataError(f"{label!r} is not {what}; {remedy}")


def _h3() -> Any:
    """The library of H3, imported when first used."""
    try:
        import h3
    except ImportError:
        raise DiscreetError("H3 cells need the package h3: pip install 'discreet[places]', or use a Grid") from None
    return h3


def geojson(
    outputs: Sequence[Output],
    *,
    plane: Plane | None = None,
    cells: Cells | None = None,
    starts: Sequence[dt.datetime] | None = None,
) -> dict[str, Any]:
    """Outputs as a GeoJSON FeatureCollection (RFC 7946), a feature a slot.

    A perturbed point is a Point: in metres on the `plane`, without one latitude and longitude. A released cell is the
    Polygon of its outline where `cells` are given. What has no place, silence above all, is a feature without geometry.
    `starts` are the slots' times.
    """
    if starts is not None and len(starts) != len(outputs):
        raise DiscreetError(f"there are {len(starts)} starts for {len(outputs)} outputs; give one each")
    features = []
    for slot, output in enumerate(outputs):
        properties: dict[str, Any] = {"slot": slot, "kind": to_wire(output)["kind"]}
        if starts is not None:
            properties["start"] = starts[slot].isoformat()
        if isinstance(output, Released):
            properties["context"] = output.context
        if isinstance(output, Generalized):
            properties["node"] = output.node
        geometry = _geometry(output, plane, cells)
        features.append({"type": "Feature", "geometry": geometry, "properties": properties})
    return {"type": "FeatureCollection", "features": features}


def _geometry(output: Output, plane: Plane | None, cells: Cells | None) -> dict[str, Any] | None:
    if isinstance(output, Perturbed):
        if len(output.point) != 2 or not all(map(math.isfinite, output.point)):
            raise DiscreetError(f"the point {output.point} is no place on a map; the query must have two coordinates")
        if plane is None:  # degrees with noise may lie beyond the poles too
            latitude, longitude = output.point
            position = max(-90.0, min(90.0, latitude)), (longitude + 180) % 360 - 180
        else:
            ((latitude, longitude),) = plane.degrees(output.point).tolist()
            position = latitude, longitude
        return {"type": "Point", "coordinates": [position[1], position[0]]}
    if isinstance(output, Released) and cells is not None:
        ring = [[longitude, latitude] for latitude, longitude in cells.outline(output.context).tolist()]
        return {"type": "Polygon", "coordinates": [[*ring, ring[0]]]}
    return None
