"""Data frames, Arrow tables and open files are rows like those of a file, whoever takes them; results are tables."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pytest

import discreet as d
from discreet.data import Columns
from discreet.mechanisms.named import Spec

CLOCK = d.Clock(4, zone="Europe/Paris")

READINGS = pl.DataFrame(
    {
        "user": ["ann", "ann", "bob", "ann"],
        "timestamp": [dt.datetime(2026, 3, 2, hour, tzinfo=dt.UTC) for hour in (4, 9, 10, 20)],
        "context": ["home", "work", "park", "home"],
    }
)
EVENTS = READINGS.rename({"context": "activity"}).with_columns(location=pl.Series(["a", "b", "a", "b"]))
POSITIONS = READINGS.drop("context").with_columns(lat=pl.Series([48.8, 48.9, 48.7, 48.8]), lon=pl.lit(2.3))


def csv_bytes(frame: pl.DataFrame) -> bytes:
    return frame.write_csv(datetime_format="%Y-%m-%dT%H:%M:%S%z").encode()


def parquet_file(frame: pl.DataFrame) -> io.BytesIO:
    held = io.BytesIO()
    frame.write_parquet(held)
    held.seek(0)
    return held


def pandas_of(frame: pl.DataFrame) -> Any:
    pytest.importorskip("pandas", reason="pandas is not installed: discreet does not need it")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: discreet does not need it")
    return frame.to_pandas()


FORMS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda frame: frame,
    "polars lazy": lambda frame: frame.lazy(),
    "pandas": pandas_of,
    "pandas with times as its index": lambda frame: pandas_of(frame).set_index("timestamp"),
    "Arrow": lambda frame: pandas_of(frame) is not None and frame.to_arrow(),
    "text file": lambda frame: io.StringIO(csv_bytes(frame).decode()),
    "binary file": lambda frame: io.BytesIO(csv_bytes(frame)),
    "gzipped file": lambda frame: io.BytesIO(gzip.compress(csv_bytes(frame))),
    "Parquet file": parquet_file,
}


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_the_same_in_every_form(form: str) -> None:
    made = FORMS[form]
    days = d.data.read_days(READINGS, CLOCK)
    assert days.people["ann"][0].contexts == ("home", "work", "unknown", "home")
    again = d.data.read_days(made(READINGS), CLOCK)
    assert (again.people, again.rows) == (days.people, 4)
    where, before = d.data.read_positions(made(POSITIONS)), d.data.read_positions(POSITIONS)
    assert where.all.tolist() == before.all.tolist()
    assert where.to_frame().equals(before.to_frame())
    assert list(d.data.read_trajectories(made(EVENTS))) == list(d.data.read_trajectories(EVENTS))


def test_a_file_opened_on_disk_is_read_as_its_path_is(tmp_path: Path) -> None:
    path = tmp_path / "readings.csv"
    path.write_bytes(csv_bytes(READINGS))
    with path.open() as text, path.open("rb") as raw:
        found = [d.data.read_days(one, CLOCK).people for one in (path, str(path), text, raw)]
    assert found == [found[0]] * 4
    with path.open("w") as closed:
        pass
    with pytest.raises(d.DiscreetError, match=r"readings\.csv: cannot be read .*open the file for reading"):
        d.data.read_days(closed, CLOCK)


def test_results_are_tables_that_are_read_back() -> None:
    days = d.data.read_days(READINGS, CLOCK)
    frame = days.to_frame()
    assert frame.columns == ["person", "date", "slot", "context"]
    chain = d.MarkovChain.fit(days.days, clock=CLOCK)
    for given in (days, frame, frame.lazy(), READINGS, io.BytesIO(csv_bytes(READINGS))):
        assert d.MarkovChain.fit(given, clock=CLOCK) == chain
    where = d.data.read_positions(POSITIONS)
    assert d.data.read_positions(where.to_frame()).all.tolist() == where.all.tolist()
    long = POSITIONS.rename({"lat": "latitude", "lon": "longitude"})  # as `discreet import` writes them
    assert d.data.read_positions(long).all.tolist() == where.all.tolist()
    events = d.data.read_trajectories(EVENTS)
    assert list(d.data.read_trajectories(events.to_frame())) == list(events)
    assert events.to_frame()["time"].to_list() == [one.time for trajectory in events for one in trajectory.events]


def test_results_are_pandas_frames_where_that_is_installed() -> None:
    pandas_of(READINGS)
    days = d.data.read_days(READINGS, CLOCK)
    found = days.to_pandas()
    assert list(found.columns) == days.to_frame().columns
    assert d.MarkovChain.fit(found) == d.MarkovChain.fit(days)


def test_days_of_a_table_are_whole() -> None:
    frame = d.data.read_days(READINGS, CLOCK).to_frame()
    with pytest.raises(d.DiscreetError, match=r"2026-03-02 of ann has slots .*give each slot once, counted from 0"):
        d.MarkovChain.fit(frame.filter(pl.col("slot") != 1))


def test_a_mechanism_is_evaluated_on_a_table() -> None:
    own = READINGS.filter(pl.col("user") == "ann")
    chain = d.MarkovChain.fit(own, clock=CLOCK)
    mechanism = d.mechanisms.MaskSensitive(chain, d.Policy(["work"]))
    of_days = d.evaluate(mechanism, d.data.read_days(own, CLOCK).days)
    of_table = d.evaluate(mechanism, own)
    assert (of_table.utility, of_table.by_secret) == (of_days.utility, of_days.by_secret)
    assert of_table.to_frame()["days"].to_list() == [1]
    assert d.audit(mechanism).to_frame()["secret"].to_list() == ["work"]
    compared = d.compare(chain, d.Policy(["work"]), own, ["no-mask"])
    assert compared["why"].to_list() == [None]


def test_events_of_a_table_are_published_to_a_table() -> None:
    policy = d.Policy(["activity=park"], delta=0.2)
    plan = d.Plan.learn(EVENTS, policy, Spec("sensitive-mask"), habits="chain")
    report = d.publish(plan, EVENTS, seed=1)
    rows: list[Any] = []
    same = d.publish(plan, d.data.read_trajectories(EVENTS), rows.extend, seed=1)
    assert report.published is not None
    shown = [(person, *event) for person, *event in report.published.iter_rows()]
    assert shown == [(person, event.activity, event.time, event.location) for person, event in rows]
    assert (same, same.published) == (report, None)
    assert report.to_frame()["person"].to_list() == ["ann", "bob"]


def test_dates_and_zones_are_taken_as_people_write_them() -> None:
    assert d.Clock(4, zone=ZoneInfo("Europe/Paris"), cut=dt.time(4)) == d.Clock(4, "Europe/Paris", "04:00")
    assert d.Clock(4, zone=dt.UTC).zone == "UTC"
    for date in ("2026-01-01", dt.date(2026, 1, 1), dt.datetime(2026, 1, 1), "2026-01-01T00:00:00"):
        assert d.Day(("home",), date=date).date == dt.date(2026, 1, 1)
        assert type(d.Day(("home",), date=date).date) is dt.date
    naive = READINGS.with_columns(pl.col("timestamp").dt.replace_time_zone(None))
    told = d.data.read_days(naive, CLOCK, naive_zone=ZoneInfo("UTC"))
    assert told.people == d.data.read_days(READINGS, CLOCK).people
    assert d.Intervals(zone=ZoneInfo("Europe/Paris")) == d.Intervals(zone="Europe/Paris")  # type: ignore[arg-type]


def test_columns_of_one_type_are_asked_for_and_a_table_without_users_is_one_person() -> None:
    mixed = READINGS.with_columns(context=pl.Series([1.5] * 4))
    with pytest.raises(d.DiscreetError, match="data frame: column 'context' holds Float64; the context must be text"):
        d.data.read_days(mixed, CLOCK)
    own = d.data.read_days(READINGS.drop("user"), CLOCK, columns=Columns(user=None))
    assert list(own.people) == ["person"]


def test_pandas_and_pyarrow_are_not_imported_for_what_is_not_theirs() -> None:
    code = (
        "import sys, io, discreet as d, polars as pl; c = d.Clock(4)\n"
        "t = 'user,timestamp,context\\na,2026-03-02T04:00:00Z,home\\n'\n"
        "d.data.read_days(io.StringIO(t), c); d.data.read_days(pl.read_csv(io.StringIO(t)), c)\n"
        "print([m for m in ('pandas', 'pyarrow') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
