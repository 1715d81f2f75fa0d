"""A stream on Spark: what is told is what a live stream tells, once, whatever is killed."""

from __future__ import annotations

import datetime as dt
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet import Clock, DiscreetError
from discreet.models.store import files_for, load, save
from discreet.publish.engines.spark.session import missing, running
from discreet.publish.stream.people import Following
from tests.publish.followed import MONDAY, by_hand, folder_of, readings_of
from tests.publish.sparks import stop_spark
from tests.publish.streamed import Child, all_files, committed_files, rows_in, rows_of, write_files

LACKS = missing(stream=True)
pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(LACKS is not None, reason=f"Spark cannot be started here: {LACKS}"),
]

NAMES = ("ann", "bob", "cleo")
DAYS = 2
AFTER = MONDAY + dt.timedelta(days=DAYS)


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """A session of its own, in which a task may fail once."""
    stop_spark()
    with running("local[2,2]", settings={"spark.sql.shuffle.partitions": "2"}) as session:
        yield session


def recorded(folder: Path, files: int) -> tuple[Following, list[Any]]:
    """Readings in files, of whom one person has none, and what a live stream tells of them by the same keys.

    The last file has one reading a day later, by which everything before is over.
    """
    following = folder_of(folder, NAMES, carry=7200, margin=1)
    known = {name: readings_of(seed, DAYS) for seed, name in enumerate(NAMES[:2])} | {"cleo": []}
    write_files(folder / "in", known, files)
    last = folder / "in" / "last.csv"
    late = known["ann"][-1].instant + 86_400_000
    last.write_text(f"user,timestamp,context\nbob,{late},home\nbob,2026-03-23T10:00,home\n", encoding="utf-8")
    os.utime(last, (1.71e9, 1.71e9))
    return following, rows_of(one for name in NAMES for one in by_hand(following, name, known[name], DAYS))


def test_a_replay_tells_what_a_live_stream_tells_though_tasks_fail(spark: Any, tmp_path: Path) -> None:
    """Each batch's first task fails when its rows are drawn: what it had seen is what the second try sees."""
    from discreet.publish.stream.spark import followed, readings_in

    following, wanted = recorded(tmp_path, 2)
    seen = tmp_path / "seen"
    seen.mkdir()

    def failing(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        task = TaskContext.get()
        rows = [row for batch in batches for row in batch.to_pylist()]
        name = f"{task.stageId()}-{task.partitionId()}-{task.attemptNumber()}"
        (seen / name).write_text(json.dumps(rows, default=str), encoding="utf-8")
        if rows and not task.attemptNumber():
            raise RuntimeError("after drawing")
        import pyarrow

        if rows:
            yield pyarrow.RecordBatch.from_pylist(rows, schema=batch_schema)

    import pyarrow

    batch_schema = pyarrow.schema(
        {
            "person": pyarrow.string(),
            "date": pyarrow.date32(),
            "slot": pyarrow.int32(),
            "start": pyarrow.timestamp("us", "UTC"),
            "kind": pyarrow.string(),
            "value": pyarrow.string(),
        }
    )
    releases = followed(readings_in(spark, tmp_path / "in", most_files=1), following, since=MONDAY)
    query = (
        releases.mapInArrow(failing, releases.schema)
        .writeStream.format("parquet")
        .option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    table = spark.read.parquet(str(tmp_path / "out")).orderBy("person", "date", "slot")
    found = [tuple(row) for row in table.select("person", "date", "slot", "kind", "value").collect()]
    assert [row for row in found if row[1] < AFTER] == wanted
    assert len({row[:3] for row in found}) == len(found)
    repeated = [one for one in seen.iterdir() if one.name.endswith("-1")]
    assert len(repeated) >= 2
    for again in repeated:
        assert again.read_text() == again.with_name(again.name[:-1] + "0").read_text()
    counts = [one["observedMetrics"]["readings"] for one in query.recentProgress]
    assert sum(one["bad"] for one in counts) == 1  # the reading without an offset
    assert "key" not in str(releases._jdf.queryExecution().toString()).replace("keys", "")


def test_a_query_that_is_killed_between_drawing_and_committing_goes_on(tmp_path: Path) -> None:
    following, wanted = recorded(tmp_path, 3)
    child = Child(tmp_path, following, MONDAY)

    def drawn() -> bool:
        """Files of a batch that is not done."""
        return bool(child.batches("offsets") - child.batches("commits")) and bool(any(rows_in(all_files(child.out))))

    assert child.until(drawn)
    child.kill()
    undone = child.batches("offsets") - child.batches("commits")
    killed_with = list(rows_in(all_files(child.out)))
    child = Child(tmp_path, following, MONDAY)
    assert child.wait(240) == 0
    everything, counted = list(rows_in(all_files(child.out))), sorted(rows_in(committed_files(child.out)))
    assert [row for row in counted if row[1] < AFTER] == wanted
    assert len({row[:3] for row in counted}) == len(counted)
    assert set(everything) == set(counted)  # whatever any run wrote of a slot is what counts
    assert set(killed_with) <= set(counted)
    assert killed_with
    assert undone
    kept = sorted(one.name for one in following.keys.iterdir())
    assert "erased" in kept
    assert "2026-03-23" not in kept
    assert (child.checkpoint.stat().st_mode & 0o077) == 0


def test_by_the_clock_everybody_is_told_together_and_goes_on(spark: Any, tmp_path: Path) -> None:
    """Slots of ten seconds: ann and bob are on the roll, dan joins later, and of nobody there is no model."""
    from discreet.publish.stream.spark import Eraser, readings_in, started

    following = folder_of(tmp_path, ["ann", "bob"], Clock(8640), archetypes=1, margin=0.5, grace=60.0)
    incoming = tmp_path / "in"
    incoming.mkdir()
    out, checkpoint = tmp_path / "out", tmp_path / "checkpoint"

    def put(number: int, *people: str) -> None:
        lines = [f"{name},{time.time()},home" for name in (*people, "nobody")]
        part = tmp_path / "part"
        part.write_text(
            "\n".join(["user,timestamp,context", *lines, f"ann,{time.time() + 999},work"]), encoding="utf-8"
        )
        part.rename(incoming / f"{number}.csv")

    def told(count: int) -> dict[str, list[tuple[dt.date, int]]]:
        query = started(readings_in(spark, incoming), following, out=out, checkpoint=checkpoint, every=2.0)
        found: dict[str, list[tuple[dt.date, int]]] = {}
        while len(found.get("bob", ())) < count:
            assert not query.awaitTermination(0.5)
            rows = sorted(rows_in(committed_files(out))) if (out / "_spark_metadata").is_dir() else []
            found = {name: [row[1:3] for row in rows if row[0] == name] for name in ("ann", "bob", "dan", "nobody")}
        counts = [one["observedMetrics"].get("readings") for one in query.recentProgress]
        assert sum(one["ahead"] for one in counts if one) == 1
        assert Eraser(following).look(query) == 0
        query.stop()
        return found

    put(1, "ann")
    first = told(1)
    save(files_for(following.models, ["dan", ""])["dan"], load(files_for(following.models, ["ann", ""])["ann"]))
    put(2, "ann", "dan")
    second = told(len(first["bob"]) + 2)
    places = [(day - MONDAY).days * 8640 + slot for day, slot in second["bob"]]
    assert places == list(range(places[0], places[0] + len(places)))
    assert second["ann"] == second["bob"]
    assert second["bob"][: len(first["bob"])] == first["bob"]
    assert second["dan"] == second["bob"][-len(second["dan"]) :]
    assert not second["nobody"]


def test_keys_serve_one_stream(tmp_path: Path) -> None:
    """A stream that is begun anew is in another state: its kernels must not be given the bits of the first."""
    from discreet.publish.stream.spark import check_folders, tie

    following = folder_of(tmp_path, ["ann"])
    out, first, second = (tmp_path / name for name in ("out", "first", "second"))
    first.mkdir()
    tie(following.keys, first)
    tie(following.keys, first)
    check_folders(following, out=out, checkpoint=first)
    second.mkdir()
    for checkpoint in (second, tmp_path / "third"):
        with pytest.raises(DiscreetError, match="keys of another stream"):
            check_folders(following, out=out, checkpoint=checkpoint)
    with pytest.raises(DiscreetError, match="keys of another stream"):
        tie(following.keys, second)
    (following.keys / "stream").unlink()  # the keys are gone, and others made in their place
    (first / "offsets").mkdir()
    out.mkdir()
    with pytest.raises(DiscreetError, match="keys of another stream"):
        check_folders(following, out=out, checkpoint=first)


def test_folders_that_do_not_belong_together_are_refused(spark: Any, tmp_path: Path) -> None:
    from discreet.publish.stream.spark import check_folders, readings_in

    following = folder_of(tmp_path, ["ann"])
    out, checkpoint, keys = tmp_path / "out", tmp_path / "checkpoint", tmp_path / "keys"
    check_folders(following, out=out, checkpoint=checkpoint)
    (out / "_spark_metadata").mkdir(parents=True)
    with pytest.raises(DiscreetError, match="whose checkpoint is not"):
        check_folders(following, out=out, checkpoint=checkpoint)
    (checkpoint / "offsets").mkdir(parents=True)
    check_folders(following, out=out, checkpoint=checkpoint)
    keys.rmdir()
    with pytest.raises(DiscreetError, match="drawn anew"):
        check_folders(following, out=out, checkpoint=checkpoint)
    with pytest.raises(DiscreetError, match="wrote elsewhere"):
        check_folders(following, out=tmp_path / "other", checkpoint=checkpoint)
    (tmp_path / "in").mkdir()
    with pytest.raises(DiscreetError, match="no Parquet file"):
        readings_in(spark, tmp_path / "in", "parquet")
    (tmp_path / "in" / "1.csv").write_text("who,when\n", encoding="utf-8")
    with pytest.raises(DiscreetError, match="no column 'user'; there are who, when"):
        readings_in(spark, tmp_path / "in")
