"""Tables of positions: days in cells, tracks, sequences, and every kind of bad row."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet.clock import Clock
from discreet.contexts import UNKNOWN
from discreet.data import PositionColumns, read_days, read_positions, sequences
from discreet.errors import DataError
from discreet.places import Grid, Plane

GRID = Grid(340.0, Plane(40.0, 116.0))
COLUMNS = PositionColumns()
START = int(dt.datetime(2024, 5, 1, 8, tzinfo=dt.UTC).timestamp())


def at(east: float, north: float) -> tuple[float, float]:
    """The position of a point."""
    latitude, longitude = GRID.plane.degrees([[east, north]])[0].tolist()
    return latitude, longitude


def write(path: Path, rows: Sequence[tuple[object, ...]]) -> Path:
    lines = ["user,timestamp,lat,lon,mode", *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def walk(user: str, steps: int, every: int = 60) -> list[tuple[object, ...]]:
    """A person who moves 200 m east at a time."""
    return [(user, START + every * k, *at(50 + 200.0 * k, 50.0), "walk") for k in range(steps)]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_days_in_cells(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / "p.csv", [*walk("a", 4, 900), *walk("b", 2, 1800)])
    if ending == ".parquet":
        pl.read_csv(path).write_parquet(tmp_path / "p.parquet")
        path = tmp_path / "p.parquet"
    read = read_days(path, Clock(96), columns=COLUMNS, cells=GRID)
    (day,) = read.people["a"]
    assert day.contexts[32:37] == ("e0n0", "e0n0", "e1n0", "e1n0", UNKNOWN)
    assert read.people["b"][0].contexts[32:35] == ("e0n0", UNKNOWN, "e0n0")


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_tracks_are_in_the_order_of_time(tmp_path: Path, ending: str) -> None:
    rows = walk("a", 5)
    path = write(tmp_path / "p.csv", [rows[3], *walk("b", 1), rows[0], rows[4], rows[2], rows[1]])
    if ending == ".parquet":
        pl.read_csv(path).write_parquet(tmp_path / "p.parquet")
        path = tmp_path / "p.parquet"
    read = read_positions(path)
    assert list(read.people) == ["a", "b"]
    track = read.people["a"]
    assert (track.instants // 1_000_000).tolist() == [START + 60 * k for k in range(5)]
    assert track.positions.tolist() == [list(row[2:4]) for row in rows]
    assert len(read.all) == read.rows == 6


def test_sequences_are_cut_at_gaps_and_at_leaps(tmp_path: Path) -> None:
    rows = walk("a", 3)
    later = [("a", START + 1000 + 60 * k, *at(600 + 200.0 * k, 50.0), "") for k in range(2)]
    leap = [("a", START + 1120 + 60 * k, *at(50_000.0 + 200 * k, 50.0), "") for k in range(2)]
    tracks = read_positions(write(tmp_path / "p.csv", [*rows, *later, *leap])).people.values()
    whole = ("e0n0", "e0n0", "e1n0", "e1n0", "e2n0", "e147n0", "e147n0")
    assert sequences(tracks, GRID) == [whole]
    assert sequences(tracks, GRID, gap=300) == [whole[:3], whole[3:]]
    assert sequences(tracks, GRID, gap=300, fastest=40) == [whole[:3], whole[3:5], whole[5:]]
    (track,) = tracks
    assert sum(len(part) for part in track.parted(gap=300, fastest=40)) == len(track)
    for options in ({"gap": 0.0}, {"fastest": float("nan")}):
        with pytest.raises(DataError, match="above 0"):
            track.parted(**options)


@pytest.mark.parametrize(
    ("lat", "lon", "column", "told"),
    [
        ("", 116.0, "lat", "an empty field is not a latitude"),
        ("north", 116.0, "lat", "'north' is not a latitude"),
        ("nan", 116.0, "lat", "is outside -90 to 90"),
        ("90.5", 116.0, "lat", "is outside -90 to 90"),
        (40.0, "inf", "lon", "is outside -180 to 180"),
        (40.0, "-181", "lon", "is outside -180 to 180"),
        (40.0, "", "lon", "is not a longitude"),
    ],
)
def test_bad_coordinates_name_their_line_or_are_counted(
    tmp_path: Path, lat: object, lon: object, column: str, told: str
) -> None:
    path = write(tmp_path / "p.csv", [*walk("a", 2), ("a", START + 300, lat, lon, "walk")])
    with pytest.raises(DataError, match=f"line 4, column '{column}'.*{told}"):
        read_positions(path)
    with pytest.raises(DataError, match="line 4"):
        read_days(path, Clock(96), columns=COLUMNS, cells=GRID)
    read = read_positions(path, skip_bad=True)
    assert (read.rows, read.bad.count, len(read.people["a"])) == (3, 1, 2)
    assert told in read.bad.first[0]


def test_wrong_use_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "p.csv", walk("a", 2))
    with pytest.raises(DataError, match="cells="):
        read_days(path, Clock(96), columns=COLUMNS)
    with pytest.raises(DataError, match="columns=PositionColumns"):
        read_days(path, Clock(96), cells=GRID)
    with pytest.raises(DataError, match="no column 'latitude' for the latitude"):
        read_positions(path, columns=PositionColumns(latitude="latitude"))
    pl.DataFrame({"user": ["a"], "timestamp": [START], "lat": [True], "lon": [1.0]}).write_parquet(
        tmp_path / "p.parquet"
    )
    with pytest.raises(DataError, match="'lat' holds Boolean"):
        read_positions(tmp_path / "p.parquet")


def test_a_file_of_one_person(tmp_path: Path) -> None:
    path = write(tmp_path / "ann.csv", walk("ignored", 3))
    columns = PositionColumns(user=None)
    assert list(read_positions(path, columns=columns).people) == ["ann"]


def test_labels_are_those_of_the_grid_for_random_positions(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    found = np.array([40.0, 116.0]) + rng.uniform(-0.1, 0.1, (200, 2))
    rows = [("a", START + 60 * k, repr(float(y)), repr(float(x)), "") for k, (y, x) in enumerate(found)]
    read = read_positions(write(tmp_path / "p.csv", rows))
    assert sequences(read.people.values(), GRID) == [tuple(GRID.labels(found))]
