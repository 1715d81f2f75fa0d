"""A stream on Spark: what is told is what a live stream tells, once, whatever is killed."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from discreet.outputs import Release, text_of
from discreet.publish.following import Following, Reading
from discreet.publish.spark_session import missing, running
from tests.publish.followed import MONDAY, by_hand, folder_of, readings_of

pytestmark = pytest.mark.skipif(missing() is not None, reason=f"Spark cannot be started here: {missing()}")

NAMES = ("ann", "bob", "cleo")
DAYS = 2


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    with running("local[2]", settings={"spark.sql.shuffle.partitions": "2"}) as session:
        yield session


def write_files(folder: Path, known: Mapping[str, list[Reading]], files: int) -> None:
    """The readings in order of time, cut to files of as many each; Spark takes the oldest first."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = sorted((one.instant, name, one.context) for name, held in known.items() for one in held)
    size = -(-len(rows) // files)
    for number in range(files):
        lines = [f"{name},{instant / 1000},{context}" for instant, name, context in rows[number * size :][:size]]
        path = folder / f"{number:03d}.csv"
        path.write_text("\n".join(["user,timestamp,context", *lines]) + "\n", encoding="utf-8")
        os.utime(path, (1.7e9 + number, 1.7e9 + number))


def rows_of(releases: list[Release]) -> list[tuple[object, ...]]:
    return [(one.person, one.date, one.slot, one.kind, text_of(one.output)) for one in releases]


def written(spark: Any, out: Path) -> list[tuple[object, ...]]:
    table = spark.read.parquet(str(out)).orderBy("person", "date", "slot")
    return [tuple(row) for row in table.select("person", "date", "slot", "kind", "value").collect()]


def wanted(following: Following, known: Mapping[str, list[Reading]], days: int = DAYS) -> list[tuple[object, ...]]:
    return rows_of([one for name in sorted(known) for one in by_hand(following, name, known[name], days)])


def test_recorded_readings_are_told_as_a_live_stream_tells_them(spark: Any, tmp_path: Path) -> None:
    from discreet.publish.spark_stream import followed, readings_in

    following = folder_of(tmp_path, NAMES, carry=7200, margin=1)
    known = {name: readings_of(seed, DAYS) for seed, name in enumerate(NAMES[:2])} | {"cleo": []}
    write_files(tmp_path / "in", known, 4)
    last = {"bob": [Reading(known["ann"][-1].instant + 86_400_000, "home")]}
    write_files(tmp_path / "in2", last, 1)
    os.rename(tmp_path / "in2" / "000.csv", tmp_path / "in" / "last.csv")
    os.utime(tmp_path / "in" / "last.csv", (1.71e9, 1.71e9))
    releases = followed(readings_in(spark, tmp_path / "in", most_files=1), following, since=MONDAY)
    query = (
        releases.writeStream.format("parquet")
        .option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    for one in query.recentProgress:
        print(one["batchId"], one["timestamp"], one["eventTime"], one["durationMs"], one["observedMetrics"])
    found = [row for row in written(spark, tmp_path / "out") if row[1] < MONDAY + dt.timedelta(days=DAYS)]
    assert found == wanted(following, known)
