"""What the tests of Spark share: sessions, and people as tables."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from discreet.data.published import Row
from discreet.events import Intervals, Trajectory
from discreet.outputs import PartialEvent
from discreet.publish import Plan, Report
from discreet.publish.engines.spark.session import spark_session
from discreet.publish.engines.spark.tables import EventTable
from discreet.publish.report_schema import report_frame

LOCAL = "local[2,3]"
"""Two cores, and a task may fail twice: once for each table of people that it is given."""

CLUSTER = "local-cluster[2,1,1024]"
"""Two executors of one core and 1,024 MB, each a process that shares nothing with the driver."""

START = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)


def session_at(master: str) -> Any:
    """A session for small tables, or the one that runs in this process.

    Tests share it, and `spark_stops` of tests/conftest.py ends it: Python workers stay with a session, and take seconds
    to import what they need.
    """
    return spark_session(master, settings={"spark.executor.memory": "1g", "spark.sql.shuffle.partitions": "2"})


def stop_spark() -> None:
    """Stop the session that runs in this process, if any."""
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        running.stop()


@cache
def clock(times: tuple[str, ...]) -> Intervals:
    """A part of the day for each of these times, an hour long."""
    return Intervals({name: f"{hour:02d}:00" for hour, name in enumerate(times)})


def times_of(people: Sequence[Trajectory]) -> tuple[str, ...]:
    return tuple(sorted({event.time for one in people for event in one.events}))


def written(people: Sequence[Trajectory], path: Path) -> EventTable:
    """People as a table of instants, an event a day, in the part of the day that is its time."""
    times = times_of(people)
    rows = [
        (one.person, START + dt.timedelta(days=day, hours=times.index(event.time)), event.location, event.activity)
        for one in people
        for day, event in enumerate(one.events)
    ]
    schema: dict[str, Any] = {
        "user": pl.String,
        "timestamp": pl.Datetime("us", "UTC"),
        "location": pl.String,
        "activity": pl.String,
    }
    pl.DataFrame(rows, schema=schema, orient="row").write_parquet(path)
    return EventTable((str(path),), clock(times))


def rows_in(folder: Path) -> list[Row]:
    """A published table as rows, file after file."""
    table = pl.concat([pl.read_parquet(path) for path in sorted(folder.iterdir())])
    shown = table.select("user", "activity", "timestamp", "location").iter_rows()
    return [(person, PartialEvent(*values)) for person, *values in shown]


def report_in(folder: Path) -> list[dict[str, Any]]:
    """A report that Spark wrote, in order of names: its own rows stand in none."""
    return pl.concat([pl.read_parquet(path) for path in sorted(folder.iterdir())]).sort("person").to_dicts()


def report_rows(report: Report) -> list[dict[str, Any]]:
    """The same of a report that another engine gave."""
    return report_frame(report.people, list(report.by_secret)).to_dicts()


def by_spark(
    session: Any, plan: Plan, people: Sequence[Trajectory], seed: int, folder: Path
) -> tuple[list[Row], list[dict[str, Any]]]:
    """An engine, as `test_engines` has them."""
    from discreet.publish.engines.spark.publish import publish_table

    table = written(people, folder / "events.parquet")
    done = publish_table(session, plan, table, folder / "published.parquet", seed=seed)
    assert sorted(path.name for path in folder.iterdir()) == [
        "events.parquet",
        "published.parquet",
        "published.parquet.manifest.json",
        "published.report.parquet",
    ]
    return rows_in(done.table), report_in(done.report)
