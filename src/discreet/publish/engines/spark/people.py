"""Each person's rows brought together by Spark, and worked on: a record a person.

Rows are repartitioned and sorted by person, and people are cut out of the batches in Python: that takes a third of the
time of Spark's own groups. A person is worked on in one task, whatever the number of their events.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from discreet.publish.engines.spark.tables import NOBODY, SCHEMA, EventTable, spark_schema, to_batches
from discreet.publish.habits_file import OWN, joined
from discreet.publish.plan import TopicHabits
from discreet.publish.report_schema import RECORD
from discreet.publish.work import PublishWork, Work

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.broadcast import Broadcast
    from pyspark.sql import DataFrame, SparkSession

SHOWN = pl.List(pl.Struct({"activity": pl.String, "time": pl.String, "location": pl.String}))
RECORDS: dict[str, Any] = {
    **RECORD,
    "shown": SHOWN,
    "duplicates": pl.Int64,
    "unordered": pl.Int64,
    "bad": pl.Int64,
    "problems": pl.List(pl.String),
}
"""A record a person: the report, what is shown of each event, and what became of the rows read. Records of `NOBODY` say
how many rows were skipped."""


def by_person(
    session: SparkSession,
    rows: DataFrame,
    table: EventTable,
    work: Work,
    partitions: int,
    own: DataFrame | None = None,
) -> DataFrame:
    """A record a person (RECORDS). The work is sent once to each process that works, and not once a task.

    `own` has rows of habits (`habits_file`). They go the way of the events, so that a task has those of its people and
    no others; of people without events nothing is made. The work is then a `PublishWork` under what all share.
    """
    sent: Broadcast[Work] = session.sparkContext.broadcast(work)
    known = rows if own is None else rows.unionByName(own, allowMissingColumns=True)
    together = known.repartition(partitions, "person").sortWithinPartitions("person")
    return together.mapInArrow(partial(_worked, table, sent), spark_schema(RECORDS))


def _worked(table: EventTable, sent: Broadcast[Work], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    work = sent.value
    for rows in whole_people(batches):
        skipped = rows.filter(pl.col("person") == NOBODY)
        if skipped.height:
            yield from to_batches(_skipped(skipped), RECORDS)
        events = rows.filter((pl.col("person") != NOBODY) & pl.col("instant").is_not_null()).select(*SCHEMA)
        if events.height:
            yield from to_batches(_records(table, _under_own(work, rows), events), RECORDS)


def _under_own(work: Work, rows: pl.DataFrame) -> Work:
    """The work under the habits that stand among the rows."""
    if "transition" not in rows.columns:
        return work
    assert isinstance(work, PublishWork)
    habits = work.plan.habits
    assert isinstance(habits, TopicHabits)
    return work.under(joined(habits, rows.filter(pl.col("transition").is_not_null()).select("person", *OWN)))


def _records(table: EventTable, work: Work, rows: pl.DataFrame) -> pl.DataFrame:
    people, counts = table.cleaned(rows)
    done = work(people)
    shown = done.rows.group_by("person", maintain_order=True).agg(
        pl.struct("activity", "time", "location").alias("shown")
    )
    joined = done.reports.join(shown, on="person", maintain_order="left").join(
        counts, on="person", maintain_order="left"
    )
    return joined.with_columns(bad=pl.lit(0, pl.Int64), problems=pl.lit([], pl.List(pl.String)))


def _skipped(rows: pl.DataFrame) -> pl.DataFrame:
    told = [(NOBODY, bad, json.loads(problems)) for bad, problems in rows.select("instant", "activity").iter_rows()]
    known: dict[str, Any] = {"person": pl.String, "bad": pl.Int64, "problems": pl.List(pl.String)}
    return pl.DataFrame(told, schema=known, orient="row").select(
        pl.col(name) if name in known else pl.lit(None, kind).alias(name) for name, kind in RECORDS.items()
    )


def whole_people(batches: Iterator[pa.RecordBatch]) -> Iterator[pl.DataFrame]:
    """Tables of whole persons from batches of sorted rows, which end wherever they are full.

    What is held is a batch, or the rows of one person, who may have more of them than a batch.
    """
    held: list[pl.DataFrame] = []
    for batch in batches:
        rows = pl.DataFrame(pl.from_arrow(batch))
        if not rows.height:
            continue
        last = rows["person"][-1]
        others = int((rows["person"] != last).sum())  # sorted, so they come first
        if others or (held and held[-1]["person"][-1] != last):
            held.append(rows.head(others))
            yield pl.concat(held)
            held = []
        held.append(rows.tail(rows.height - others))
    if held:
        yield pl.concat(held)
