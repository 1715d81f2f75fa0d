"""Positions to days in cells of a map."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from discreet.errors import DataError
from discreet_experiments.shared.people import Rules
from discreet_experiments.shared.positions import BEIJING

RULES = Rules(level="cell", slots=24, least_days=2)


def written(folder: Path, text: str) -> Path:
    with gzip.open(folder / BEIJING.file, "wt", encoding="utf-8") as file:
        file.write(text)
    return folder


def test_positions_become_cells_at_local_time(tmp_path: Path) -> None:
    rows = "user,timestamp,lat,lon\nu,1225028647,39.911,116.371\nu,1225115047,39.89,116.37\n"
    (one,) = BEIJING.read(written(tmp_path, rows), RULES)
    first, second = one.days
    assert str(first.date) == "2008-10-26"  # 13:44 UTC is 21:44 in Beijing
    assert first.contexts[21] == "e-1n-1"  # 170 m south and 1,070 m west of the middle, in cells of 2 km
    assert second.contexts[21] == "e-1n-2"  # 2,500 m south


def test_people_with_too_few_days_are_left_out(tmp_path: Path) -> None:
    rows = "user,timestamp,lat,lon\nu,1225028647,39.911,116.371\n"
    assert BEIJING.read(written(tmp_path, rows), RULES) == []


def test_a_file_without_positions_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no column"):
        BEIJING.read(written(tmp_path, "user,lat\nu,1\n"), RULES)
