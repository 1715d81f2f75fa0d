"""Tables of positions and labels: what is read, what is bad, and days on a map."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet.clock import Clock
from discreet.contexts import UNKNOWN
from discreet.data import SightingColumns, read_place_days, read_sightings
from discreet.errors import DataError
from discreet.places import Circle, Place, Places

HEADER = "user,timestamp,latitude,longitude,accuracy,context,source\n"
MAP = Places([Place("home", Circle(48, 11, 100)), Place("work", Circle(49, 12, 100))])


def table(folder: Path, *rows: str, header: str = HEADER) -> Path:
    path = folder / "readings.csv"
    path.write_text(header + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path


def test_positions_labels_and_both(tmp_path: Path) -> None:
    seen = read_sightings(
        table(
            tmp_path,
            "p,2026-03-02T10:00:00Z,49,12,10,,x",
            "p,2026-03-02T08:00:00Z,,,,home,x",
            "q,2026-03-02T09:00:00Z,48,11,,garden,x",
            "p,2026-03-02T09:00:00Z,48,11,5000,,x",  # too inaccurate, and nothing else
            "p,2026-03-02T11:00:00Z,48,11,5000,gym,x",  # too inaccurate, but labelled
        )
    )
    assert (seen.rows, seen.vague) == (5, 1)
    person = seen.people["p"]
    assert [person.names[k] if k >= 0 else None for k in person.labels] == ["home", None, "gym"]
    assert np.array_equal(person.placed, [False, True, False])
    assert seen.people["q"].positions.tolist() == [[48, 11]]


def test_parquet_as_import_writes_it_is_read_alike(tmp_path: Path) -> None:
    when = [dt.datetime(2026, 3, 2, hour, tzinfo=dt.UTC) for hour in (8, 9, 10)]
    frame = pl.DataFrame(
        {
            "user": ["p"] * 3,
            "timestamp": when,
            "latitude": [48.0, None, 49.0],
            "longitude": [11.0, None, 12.0],
            "accuracy": [None, None, 20.0],
            "context": pl.Series([None, "gym", None], dtype=pl.String),
            "source": ["x"] * 3,
        }
    )
    frame.write_parquet(tmp_path / "readings.parquet")
    frame.with_columns(pl.col("timestamp").dt.to_string("iso:strict")).write_csv(tmp_path / "readings.csv")
    days = [read_place_days(tmp_path / f"readings.{kind}", Clock(24), MAP, hold=0).days for kind in ("parquet", "csv")]
    assert days[0] == days[1]
    assert days[0][0].contexts[7:12] == (UNKNOWN, "home", "gym", "work", UNKNOWN)


def test_lat_and_lon_will_do_and_what_is_not_there_is_not_read(tmp_path: Path) -> None:
    path = table(tmp_path, "1772438400,48,11", header="timestamp,lat,lon\n")
    seen = read_sightings(path, columns=SightingColumns(user=None))
    assert list(seen.people) == ["readings"]
    with pytest.raises(DataError, match="no column 'latitude'"):
        read_sightings(table(tmp_path, "1", header="timestamp\n"), columns=SightingColumns(user=None))


@pytest.mark.parametrize(
    ("row", "part"),
    [
        ("p,2026-03-02T08:00:00Z,,,,,x", "latitude.*is empty, and so is all"),
        ("p,2026-03-02T08:00:00Z,48,,,,x", "half a position"),
        ("p,2026-03-02T08:00:00Z,48,,,home,x", "half a position"),
        ("p,2026-03-02T08:00:00Z,north,11,,,x", "not a latitude"),
        ("p,2026-03-02T08:00:00Z,91,11,,,x", "outside -90 to 90"),
        ("p,yesterday,48,11,,,x", "not a timestamp"),
        (",2026-03-02T08:00:00Z,48,11,,,x", "not a user"),
    ],
)
def test_bad_rows_are_named_or_counted(tmp_path: Path, row: str, part: str) -> None:
    path = table(tmp_path, "p,2026-03-02T08:00:00Z,48,11,,,x", row)
    with pytest.raises(DataError, match=part) as caught:
        read_sightings(path)
    assert "line 3" in str(caught.value)
    seen = read_sightings(path, skip_bad=True)
    assert (seen.rows, seen.bad.count) == (2, 1)


def test_all_too_inaccurate_is_an_error_that_says_so(tmp_path: Path) -> None:
    path = table(tmp_path, "p,2026-03-02T08:00:00Z,48,11,500,,x")
    with pytest.raises(DataError, match="less accurate than 200 m"):
        read_sightings(path)
    assert read_sightings(path, accuracy=500).vague == 0
    with pytest.raises(DataError, match="above 0"):
        read_sightings(path, accuracy=0)


def test_days_leave_out_dates_of_which_nothing_is_known_and_merge_what_is_rare(tmp_path: Path) -> None:
    rows = [f"p,2026-03-0{day}T0{hour}:00:00Z,48,11,,,x" for day in (2, 5) for hour in range(9)]
    path = table(tmp_path, *rows, "p,2026-03-05T09:00:00Z,49,12,,,x")
    days = read_place_days(path, Clock(24), MAP, hold=0, merge_below=0.1).days
    assert [day.date for day in days] == [dt.date(2026, 3, 2), dt.date(2026, 3, 5)]
    assert days[1].contexts[9] == "other"
    kept = read_place_days(path, Clock(24), MAP, hold=0, merge_below=0.1, keep="work").days
    assert kept[1].contexts[9] == "work"
