"""Publishing by Spark: the same work on the same people, wherever they are, and one output, whole or none.

    files -> sound rows -> people together (a shuffle) -> work -> a record a person, written once
                                                                     |-> the published table
                                                                     |-> the report

Spark computes a thing again whenever it likes: a task that failed or is slow, a frame that is read twice. So draws come
from a key (`draws`), and table and report are both read from the records that were written, never from the work. What
is kept until the end is in a folder beside the table, for its owner alone: the key, which workers read from its file,
and the records. Nothing that grows with the people comes to the driver.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from discreet import errors
from discreet.data.published import check_target
from discreet.data.streams import ending_of
from discreet.errors import DataError, DiscreetError
from discreet.publish.draws import RunKey
from discreet.publish.key_file import erase_key, read_key, write_key
from discreet.publish.plan import Plan
from discreet.publish.spark_read import NOBODY, EventTable, read_events, spark_schema, to_batches
from discreet.publish.summary import Summary
from discreet.publish.unfinished import Unfinished
from discreet.publish.work import REPORTS, PublishWork, Work

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.broadcast import Broadcast
    from pyspark.sql import DataFrame, SparkSession

SHOWN = pl.List(pl.Struct({"activity": pl.String, "time": pl.String, "location": pl.String}))
RECORDS: dict[str, Any] = {
    **REPORTS,
    "shown": SHOWN,
    "duplicates": pl.Int64,
    "unordered": pl.Int64,
    "bad": pl.Int64,
    "problems": pl.List(pl.String),
}
"""A record a person: the report, what is shown of each event, and what became of the rows read. Records of `NOBODY` say
how many rows were skipped."""

TASKS = 4
"""Tasks of the work for each core: one with a person of very many events then keeps one core busy, and no other."""

TASK_BYTES = 16 * 2**20
"""Of the files that are read, for each task of the work: it has the events of a few thousand people in memory."""

KEY, PEOPLE, TABLE, REPORT, FINAL = "key", "people", "table", "report", "final"
"""In the folder of a run: its key, the records, what is made of them, and a mark that these are whole."""


@dataclass(frozen=True)
class PublishedTable:
    """Where a published table and its report are, and what they say in short."""

    table: Path
    report: Path
    summary: Summary

    def rows(self, session: SparkSession) -> DataFrame:
        """The published table; people in order of their names over the files, and events in theirs."""
        return session.read.parquet(self.table.absolute().as_uri())

    def reports(self, session: SparkSession) -> DataFrame:
        """A row a person (`work.REPORTS`). It speaks of the truth."""
        return session.read.parquet(self.report.absolute().as_uri())


def report_beside(out: Path) -> Path:
    """Where the report on a table is, unless told otherwise."""
    return out.with_name(f"{out.name.removesuffix('.parquet')}.report.parquet")


def publish_table(
    session: SparkSession,
    plan: Plan,
    table: EventTable,
    out: Path,
    *,
    report: Path | None = None,
    seed: int | None = None,
    resume: bool = False,
    partitions: int | None = None,
) -> PublishedTable:
    """Publish a table as a folder of Parquet files, with the report in a folder for its owner alone.

    Both folders appear whole or not at all. A run that was not finished is gone on with by `resume`: with the key that
    it had, so that what is drawn again is drawn alike. `partitions` are the tasks of the work, by default `TASKS` a
    core, and more for large files.
    """
    report = report_beside(out) if report is None else report
    _check_targets(out, report, table)
    with told_plainly(), _run(out, seed, resume) as folder:
        if not (folder / FINAL).exists():
            roles = _write_people(session, plan, table, folder, partitions)
            people = session.read.schema(spark_schema(RECORDS)).parquet((folder / PEOPLE).as_uri())
            summary = _summed(people, table)
            _write_table(people, roles, folder / TABLE, partitions)
            _write_report(people, folder / REPORT)
            _mark_final(folder, summary)
        summary = Summary.of_text((folder / FINAL).read_text())
        for made, wanted in ((folder / REPORT, report), (folder / TABLE, out)):
            if made.exists():
                made.rename(wanted)
    return PublishedTable(out, report, summary)


def _check_targets(out: Path, report: Path, table: EventTable) -> None:
    ending_of(out, (".parquet",), "a published table of Spark, a folder of Parquet files")
    check_target(out, Path(table.data[0]))
    for path in (out, report):
        if path.exists() and not (Unfinished.beside(out) / FINAL).exists():
            raise DataError(f"{path}: is there already; delete it, or choose another place")


# --- a run, from its key to its end


@contextmanager
def _run(out: Path, seed: int | None, resume: bool) -> Iterator[Path]:
    """The folder of a run, gone at its end and kept where it fails after the work has begun."""
    folder = Unfinished.beside(out).absolute()
    if folder.exists() and not resume:
        Unfinished.refuse(out)
    if folder.exists():
        key = read_key(folder / KEY)
        if key.seed != seed:
            was = "without --seed" if key.seed is None else f"with --seed {key.seed}"
            raise DiscreetError(f"{folder}: the run was begun {was}; go on with it likewise")
    else:
        try:
            folder.mkdir(mode=0o700)
        except OSError as error:
            raise DiscreetError(
                f"{out}: cannot be written: {error.strerror}; choose a folder you can write to"
            ) from None
        write_key(folder / KEY, RunKey.new() if seed is None else RunKey.of_seed(seed))
    try:
        yield folder
    except BaseException:
        if not (folder / PEOPLE).exists():  # nothing was drawn that could have been seen
            _erase(folder)
        raise
    _erase(folder)


def _erase(folder: Path) -> None:
    """Forget all of a run, its key first."""
    erase_key(folder / KEY)
    shutil.rmtree(folder)


def _mark_final(folder: Path, summary: Summary) -> None:
    part = folder / f"{FINAL}.part"
    part.write_text(summary.text())
    part.rename(folder / FINAL)


@contextmanager
def told_plainly() -> Iterator[None]:
    """Errors of workers as they were raised there, and those of Spark in a line."""
    try:
        yield
    except (DiscreetError, KeyboardInterrupt):
        raise
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("pyspark", "py4j"):
            raise
        raise _told(str(error)) from error


def _told(text: str) -> DiscreetError:
    own = re.search(r"discreet\.errors\.(\w+): (.*)", text)
    if own is not None and hasattr(errors, own[1]):
        found: DiscreetError = getattr(errors, own[1])(own[2].strip())
        return found
    if "No space left on device" in text:
        return DiscreetError("the disk is full; make room, and go on with --resume")
    why = next((line.strip() for line in reversed(text.splitlines()) if "Exception:" in line or "Error:" in line), "")
    return DiscreetError(f"Spark could not finish: {why or text.splitlines()[0]}; nothing was written")


# --- the work


def _write_people(
    session: SparkSession, plan: Plan, table: EventTable, folder: Path, partitions: int | None
) -> dict[str, str]:
    """Write a record a person, unless all of them are there; {role: column} in the order of the table."""
    rows, header = read_events(session, table)
    roles = {role: header[place] for role, place in _places(table, header)}
    target = folder / PEOPLE
    if not (target / "_SUCCESS").exists():
        shutil.rmtree(target, ignore_errors=True)  # of a job that was not finished: it draws the same again
        work = PublishWork(plan, folder / KEY)
        by_person(session, rows, table, work, partitions or tasks_for(session, table)).write.parquet(target.as_uri())
    return roles


def _places(table: EventTable, header: list[str]) -> list[tuple[str, int]]:
    return sorted(table.columns.find(table.data[0], header).items(), key=lambda item: item[1])


def tasks_for(session: SparkSession, table: EventTable) -> int:
    """How many tasks the work is cut to."""
    paths = [Path(one) for one in table.data if "://" not in one]
    size = sum(file.stat().st_size for path in paths for file in ([path] if path.is_file() else path.rglob("*")))
    cores: int = session.sparkContext.defaultParallelism
    return max(TASKS * cores, -(-size // TASK_BYTES))


def by_person(session: SparkSession, rows: DataFrame, table: EventTable, work: Work, partitions: int) -> DataFrame:
    """A record a person (RECORDS). The work is sent once to each process that works, and not once a task."""
    sent: Broadcast[Work] = session.sparkContext.broadcast(work)
    together = rows.repartition(partitions, "person").sortWithinPartitions("person")
    return together.mapInArrow(partial(_worked, table, sent), spark_schema(RECORDS))


def _worked(table: EventTable, sent: Broadcast[Work], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    work = sent.value
    for rows in whole_people(batches):
        skipped = rows.filter(pl.col("person") == NOBODY)
        if skipped.height:
            yield from to_batches(_skipped(skipped), RECORDS)
        people = rows.filter(pl.col("person") != NOBODY)
        if people.height:
            yield from to_batches(_records(table, work, people), RECORDS)


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


# --- what is made of the records


def _summed(people: DataFrame, table: EventTable) -> Summary:
    """What the records say in short: a part from each task, and no more, comes to the driver."""
    parts = people.mapInArrow(_sum_part, "summary string").collect()
    summary = Summary.joined(Summary.of_text(part["summary"]) for part in parts)
    if summary.people == 0:
        name = ", ".join(table.data)
        if summary.bad:
            raise DataError(f"{name}: none of the {summary.bad} rows can be used; the first: {summary.problems[0]}")
        raise DataError(f"{name}: the table has no rows; expected one event a row")
    return summary


def _sum_part(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    parts = []
    for batch in batches:
        records = pl.DataFrame(pl.from_arrow(batch))
        skipped = records.filter(pl.col("person") == NOBODY)
        parts += [Summary.of_bad(bad, told) for bad, told in skipped.select("bad", "problems").iter_rows()]
        people = records.filter(pl.col("person") != NOBODY)
        if people.height:
            parts.append(Summary.of(people))
    if parts:
        told = pl.DataFrame({"summary": [Summary.joined(parts).text()]})
        yield from to_batches(told, {"summary": pl.String})


def _write_table(people: DataFrame, roles: dict[str, str], target: Path, partitions: int | None) -> None:
    """People in order of their names, over all files: the order in which they were read is left behind."""
    from pyspark.sql.functions import col, explode

    ordered = people.where(col("person") != NOBODY).select("person", "shown")
    ordered = (
        ordered.repartitionByRange("person") if partitions is None else ordered.repartitionByRange(partitions, "person")
    )
    events = ordered.sortWithinPartitions("person").select("person", explode("shown").alias("event"))
    held = {
        "user": col("person"),
        "timestamp": col("event.time"),
        "location": col("event.location"),
        "activity": col("event.activity"),
    }
    _write(events.select(*(held[role].alias(name) for role, name in roles.items())), target)


def _write_report(people: DataFrame, target: Path) -> None:
    from pyspark.sql.functions import col

    _write(people.where(col("person") != NOBODY).select(*REPORTS, "duplicates", "unordered"), target)
    target.chmod(0o700)


def _write(frame: DataFrame, target: Path) -> None:
    """Files part-00000.parquet and so on, and nothing else: Spark's own marks would hinder other readers."""
    shutil.rmtree(target, ignore_errors=True)
    frame.write.parquet(target.as_uri())
    for path in target.iterdir():
        if path.suffix != ".parquet" or path.name.startswith("."):
            path.unlink()
    for number, path in enumerate(sorted(target.iterdir())):
        os.replace(path, target / f"part-{number:05d}.parquet")
