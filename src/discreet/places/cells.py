"""Cells of a map, each with a label that is a context: squares in metres, or H3's hexagons."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from discreet.contexts import UNKNOWN
from discreet.errors import DataError, DiscreetError
from discreet.numerics import FloatArray
from discreet.places.plane import REACH, Plane, checked_positions

FINEST_RESOLUTION = 15
"""Of H3."""


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
    """Squares of `side` metres on a plane. Cell `e3n-1` is the fourth east of the plane's middle, the first south."""

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
