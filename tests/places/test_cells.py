"""Cells from coordinates: the projection against the sphere, labels against arithmetic, bad coordinates, GeoJSON."""

from __future__ import annotations

import builtins
import datetime as dt
import json
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from discreet.errors import DataError, DiscreetError
from discreet.outputs import SUPPRESSED, Generalized, Perturbed, Released
from discreet.places import EARTH, Grid, Hexagons, Plane, checked_positions, distances, geojson

MIDDLE = Plane(40.0, 116.0)
GRID = Grid(340.0, MIDDLE)


def positions_near(seed: int, count: int = 300, reach: float = 0.1) -> Any:
    rng = np.random.default_rng(seed)
    return np.array([40.0, 116.0]) + rng.uniform(-reach, reach, (count, 2))


def test_metres_agree_with_the_sphere_near_the_middle() -> None:
    positions = positions_near(1, reach=0.08)  # within 10 km
    planar = np.linalg.norm(MIDDLE.metres(positions), axis=1)
    round_ = distances(np.broadcast_to([40.0, 116.0], positions.shape), positions)
    assert np.abs(planar / round_ - 1).max() < 1.2e-3  # the docstring's thousandth
    assert np.abs(planar / round_ - 1).max() > 1e-5  # and a plane it is


def test_a_degree_north_and_east_by_hand() -> None:
    (point,) = MIDDLE.metres([[41.0, 117.0]])
    assert point[1] == pytest.approx(math.pi * EARTH / 180)
    assert point[0] == pytest.approx(math.pi * EARTH / 180 * math.cos(math.radians(40)))
    assert distances([[0, 0]], [[0, 180]])[0] == pytest.approx(math.pi * EARTH)


def test_degrees_undo_metres_and_stay_on_earth() -> None:
    positions = positions_near(2)
    assert np.abs(MIDDLE.degrees(MIDDLE.metres(positions)) - positions).max() < 1e-12
    far = MIDDLE.degrees([[3e7, 3e7], [-3e7, -3e7]])
    assert far[:, 0].tolist() == [90.0, -90.0]
    assert (np.abs(far[:, 1]) <= 180).all()


def test_across_the_180th_meridian_the_short_way_is_taken() -> None:
    east = Plane(0.0, 179.9).metres([[0.0, -179.9]])[0, 0]
    assert east == pytest.approx(math.radians(0.2) * EARTH)


def test_a_label_is_the_cell_that_holds_the_position() -> None:
    positions = positions_near(3)
    labels = GRID.labels(positions)
    corners, points = GRID.corners(labels), MIDDLE.metres(positions)
    assert (corners <= points).all()
    assert (points < corners + 340).all()
    for label, (east, north) in zip(labels, points.tolist(), strict=True):
        assert label == f"e{math.floor(east / 340)}n{math.floor(north / 340)}"
    assert GRID.labels(GRID.centres(labels)) == labels  # a centre lies in its cell
    assert np.abs(MIDDLE.metres(GRID.centres(labels)) - GRID.metres(labels)).max() < 1e-6


@pytest.mark.parametrize("side", [340.0, 890.0])
def test_neighbouring_centres_are_a_side_apart(side: float) -> None:
    grid = Grid(side, MIDDLE)
    centres = grid.metres(["e0n0", "e1n0", "e0n-1"])
    assert (centres[1] - centres[0]).tolist() == [side, 0]
    assert (centres[2] - centres[0]).tolist() == [0, -side]
    west_south = grid.outline("e0n0")[0]
    assert west_south.tolist() == pytest.approx([40.0, 116.0])


def test_a_plane_around_positions_has_their_middle() -> None:
    plane = Plane.around([[39.0, 116.0], [41.0, 117.0], [39.5, 116.9]])
    assert (plane.latitude, plane.longitude) == (40.0, 116.5)


@pytest.mark.parametrize(
    ("positions", "told"),
    [
        ([[40.0, math.nan]], "longitude of position 0 is nan"),
        ([[40.0, 116.0], [91.0, 0.0]], "latitude of position 1 is 91"),
        ([[116.0, 40.0]], "swapped"),
        ([[0.0, 180.5]], "longitude of position 0 is 180.5; give degrees from -180 to 180"),
        ([[math.inf, 0.0]], "latitude"),
        ([[1.0, 2.0, 3.0]], "shape"),
        ([["here", "there"]], "not numbers"),
    ],
)
def test_bad_positions_are_told(positions: Any, told: str) -> None:
    with pytest.raises(DataError, match=told):
        checked_positions(positions)
    with pytest.raises(DataError, match=told):
        GRID.labels(positions)


@pytest.mark.parametrize("side", [0.0, -1.0, math.nan, math.inf])
def test_a_side_is_a_length(side: float) -> None:
    with pytest.raises(DataError, match="side"):
        Grid(side, MIDDLE)


def test_what_a_plane_cannot_show_is_told() -> None:
    with pytest.raises(DataError, match="1000 km"):
        MIDDLE.metres([[40.0, 116.0], [-40.0, 116.0]])
    with pytest.raises(DataError, match="pole"):
        Plane(89.0, 0.0)
    with pytest.raises(DataError, match="no positions"):
        Plane.around([])


@pytest.mark.parametrize("label", ["e1", "n1e1", "e01n1", "e-0n1", "E1N1", "e1n1 ", ""])
def test_a_label_that_is_no_cell_is_told(label: str) -> None:
    with pytest.raises(DataError, match="is not a cell of the grid"):
        GRID.centres([label])


def test_unknown_has_no_place_and_the_remedy_is_named() -> None:
    with pytest.raises(DataError, match=r"'unknown' is not a cell.*carry readings"):
        GRID.metres(["e0n0", "unknown"])


class TestHexagons:
    def test_a_cell_holds_its_centre_and_is_near_its_positions(self) -> None:
        pytest.importorskip("h3", reason="the extra discreet[places] is not installed")
        hexagons, positions = Hexagons(9), positions_near(4, 50)
        labels = hexagons.labels(positions)
        centres = hexagons.centres(labels)
        assert hexagons.labels(centres) == labels
        assert distances(centres, positions).max() < 250  # a hexagon of resolution 9 reaches some 200 m
        corners = hexagons.outline(labels[0])
        assert len(corners) >= 5
        assert np.abs(corners.mean(axis=0) - centres[0]).max() < 1e-4

    def test_bad_cells_and_resolutions_are_told(self) -> None:
        pytest.importorskip("h3", reason="the extra discreet[places] is not installed")
        with pytest.raises(DataError, match="resolution 16"):
            Hexagons(16)
        with pytest.raises(DataError, match="resolution 9"):
            Hexagons(9).centres(Hexagons(8).labels([[40.0, 116.0]]))
        with pytest.raises(DataError, match="carry"):
            Hexagons(9).centres(["unknown"])
        with pytest.raises(DataError, match="latitude"):
            Hexagons(9).labels([[math.nan, 0.0]])

    def test_without_the_library_the_remedy_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        true_import = builtins.__import__

        def without(name: str, *rest: Any, **more: Any) -> Any:
            if name == "h3":
                raise ImportError(name)
            return true_import(name, *rest, **more)

        monkeypatch.setattr(builtins, "__import__", without)
        with pytest.raises(DiscreetError, match=r"discreet\[places\]"):
            Hexagons(9)


class TestGeojson:
    def test_a_feature_a_slot(self) -> None:
        outputs = (Perturbed((1000.0, -2000.0)), SUPPRESSED, Released("e0n0"), Generalized("town"))
        start = dt.datetime(2024, 5, 1, 8, tzinfo=dt.UTC)
        starts = [start + dt.timedelta(minutes=15 * k) for k in range(4)]
        found = json.loads(json.dumps(geojson(outputs, plane=MIDDLE, cells=GRID, starts=starts), allow_nan=False))
        assert found["type"] == "FeatureCollection"
        point, silent, cell, node = found["features"]
        assert all(feature["type"] == "Feature" for feature in found["features"])
        assert point["properties"] == {"slot": 0, "kind": "perturbed", "start": "2024-05-01T08:00:00+00:00"}
        longitude, latitude = point["geometry"]["coordinates"]
        assert np.abs(MIDDLE.metres([[latitude, longitude]]) - [[1000, -2000]]).max() < 1e-6
        assert silent["geometry"] is None
        (ring,) = cell["geometry"]["coordinates"]
        assert ring[0] == ring[-1]
        assert len(ring) == 5
        area = sum(a[0] * b[1] - b[0] * a[1] for a, b in pairwise(ring))
        assert area > 0  # counterclockwise, as RFC 7946 asks
        assert cell["properties"]["context"] == "e0n0"
        assert (node["geometry"], node["properties"]["node"]) == (None, "town")

    def test_without_a_plane_points_are_latitude_and_longitude(self) -> None:
        (feature,) = geojson([Perturbed((95.0, 190.0))])["features"]
        assert feature["geometry"]["coordinates"] == [-170.0, 90.0]
        assert geojson([Released("home")])["features"][0]["geometry"] is None

    def test_what_is_no_place_is_told(self) -> None:
        with pytest.raises(DiscreetError, match="two coordinates"):
            geojson([Perturbed((1.0, 2.0, 3.0))])
        with pytest.raises(DiscreetError, match="1 starts for 2"):
            geojson([SUPPRESSED, SUPPRESSED], starts=[dt.datetime(2024, 1, 1, tzinfo=dt.UTC)])
