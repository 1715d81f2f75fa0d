"""Any work on each person, by Spark: what learn, release and evaluate do with a population.

    files -> sound rows -> people together (a shuffle) -> work -> a record a person, written once -> answers in order

The work is the function that other engines call, of one person's days. It is pure: whatever it draws, it draws from the
key of the run (`draws`), which lies in a file that workers read. So a task that Spark runs again gives the same answer,
and the answers that are gone through are those that were written. They come to the driver a part at a time.

Answers are written as text (`plain`), and never leave the folder of the run, which is for its owner alone, as the key
in it is.
"""

from __future__ import annotations

import json
import pickle
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import polars as pl

from discreet.contexts import Day
from discreet.data.bad_rows import SHOWN, BadRows
from discreet.errors import DataError, DiscreetError, did_you_mean
from discreet.files import folder_beside
from discreet.live import span
from discreet.publish.draws import RunKey
from discreet.publish.engines.spark.people import whole_people
from discreet.publish.engines.spark.publish import tasks_for
from discreet.publish.engines.spark.readings import ReadingTable
from discreet.publish.engines.spark.tables import NOBODY, read_events
from discreet.publish.key_file import erase_key, write_key
from discreet.publish.plain_values import from_text, to_text
from discreet.publish.resume import Unfinished, refuse_unfinished

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.broadcast import Broadcast
    from pyspark.sql import DataFrame, SparkSession

Work = Callable[[tuple[str, list[Day]]], Any]
"""Of a person's name and days. It pickles: a function of a module, or a `partial` of one."""

RECORDS = (
    "person string, place bigint, dates bigint, rows bigint, bad bigint, problems array<string>, "
    "labels array<string>, answer string"
)
"""A record a person: where they first stand in the table, what was read, and what came of them. Records of `NOBODY` say
how many rows were skipped."""

ANSWERS = "answers"
KEY = "key"
"""In the folder of a run."""

NAMES = 1_000
"""That a name which is not there is compared with."""


class Read(NamedTuple):
    """What was read of everybody."""

    people: int
    dates: int
    """From each person's first to last, together."""
    rows: int
    bad: BadRows
    labels: tuple[str, ...]
    """The contexts as the table has them, in order of their names."""


def work_on(
    session: SparkSession,
    table: ReadingTable,
    work: Work,
    folder: Path,
    *,
    by: Literal["person", "place"] = "person",
    only: str | None = None,
) -> WorkAnswers:
    """What comes of everybody, or `only` of one, kept in the folder of the run; in order of names, or of the table."""
    from pyspark.sql.functions import col

    rows, _ = read_events(session, table)
    everybody = rows
    if only is not None:
        rows = rows.where(col("person").isin(NOBODY, only))
    # Classes of one's own are looked for where this process finds them.
    sent = session.sparkContext.broadcast((list(sys.path), pickle.dumps(work)))
    together = rows.repartition(tasks_for(session, table), "person").sortWithinPartitions("person")
    target = (folder.absolute() / ANSWERS).as_uri()
    together.mapInArrow(partial(_worked, table, sent), RECORDS).write.parquet(target)
    answers = WorkAnswers(session.read.schema(RECORDS).parquet(target), by)
    if not answers.read.people:
        _refuse_nobody(table, answers.read, everybody, only)
    return answers


@dataclass(frozen=True)
class WorkAnswers:
    """What came of everybody, as it was written; it can be gone through more than once."""

    records: DataFrame
    by: str

    def __len__(self) -> int:
        return self.read.people

    def __iter__(self) -> Iterator[Any]:
        people = self.records.where(self.records["person"] != NOBODY).orderBy(self.by).select("answer")
        return (from_text(row["answer"]) for row in people.toLocalIterator())

    def names(self) -> Iterator[str]:
        """Of all people, in order."""
        people = self.records.where(self.records["person"] != NOBODY).select("person").orderBy("person")
        return (row["person"] for row in people.toLocalIterator())

    @cached_property
    def read(self) -> Read:
        """What was read: sums, the labels that there are, and the first rows that were skipped."""
        from pyspark.sql.functions import count, explode
        from pyspark.sql.functions import sum as total

        named = self.records.where(self.records["person"] != NOBODY)
        sums = named.agg(count("*"), total("dates"), total("rows")).collect()[0]
        labels = named.select(explode("labels").alias("label")).distinct().orderBy("label").collect()
        skipped = self.records.where(self.records["person"] == NOBODY).orderBy("place").collect()
        bad = sum(row["bad"] for row in skipped)
        first = [problem for row in skipped for problem in row["problems"]][:SHOWN]
        rows = (sums[2] or 0) + bad
        return Read(sums[0], sums[1] or 0, rows, BadRows(bad, tuple(first)), tuple(row["label"] for row in labels))


def _refuse_nobody(table: ReadingTable, read: Read, rows: DataFrame, only: str | None) -> None:
    name = ", ".join(table.data)
    if only is not None:
        found = rows.where(rows["person"] != NOBODY).select("person").distinct().limit(NAMES).collect()
        if found:
            names = [row["person"] for row in found]
            raise DataError(f"{name}: there is no person {only!r}; {did_you_mean(only, names)}")
    if read.bad.count:
        raise DataError(f"{name}: none of the {read.rows} rows can be used; the first: {read.bad.first[0]}")
    raise DataError(f"{name}: the table has no rows; expected one {table.columns.one_row} a row")


# --- in workers


def _worked(
    table: ReadingTable, sent: Broadcast[tuple[list[str], bytes]], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    path, pickled = sent.value
    sys.path += [folder for folder in path if folder not in sys.path]
    work: Work = pickle.loads(pickled)
    strings = pa.list_(pa.string())
    kinds = {"string": pa.string(), "bigint": pa.int64(), "array<string>": strings}
    schema = pa.schema([(name, kinds[kind]) for name, kind in (one.split(" ") for one in RECORDS.split(", "))])
    for rows in whole_people(batches):
        for own in rows.partition_by("person", maintain_order=True):
            records = _skipped(own) if own["person"][0] == NOBODY else [_record(table, work, own)]
            yield pa.RecordBatch.from_pylist(records, schema)


def _skipped(rows: pl.DataFrame) -> list[dict[str, Any]]:
    told = rows.select("instant", "order", "context").iter_rows()
    return [
        {"person": NOBODY, "place": place, "bad": bad, "problems": json.loads(problems)}
        for bad, place, problems in told
    ]


def _record(table: ReadingTable, work: Work, rows: pl.DataFrame) -> dict[str, Any]:
    readings = table.days(rows)
    ((name, days),) = readings.people.items()
    return {
        "person": name,
        "place": rows["order"].min(),
        "dates": span(days)[1],
        "rows": rows.height,
        "labels": list(readings.labels),
        "answer": to_text(work((name, days))),
    }


# --- the folder of a run


@contextmanager
def run_with_key(out: Path | None, seed: int | None) -> Iterator[Path]:
    """The folder of a run that draws, with its key, which is erased first at the end.

    Beside an output it has a name of its own, so that one that was left by a process that was killed is noticed: its
    key tells what was drawn for whatever had been seen.
    """
    if out is None:
        with folder_beside(None) as folder:
            yield from _keyed(folder, seed)
        return
    refuse_unfinished(out)
    folder = Unfinished.beside(out).absolute()
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise DiscreetError(f"{out}: cannot be written: {error.strerror}; choose a folder you can write to") from None
    try:
        yield from _keyed(folder, seed)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _keyed(folder: Path, seed: int | None) -> Iterator[Path]:
    write_key(folder / KEY, RunKey.new() if seed is None else RunKey.of_seed(seed))
    try:
        yield folder
    finally:
        erase_key(folder / KEY)
