"""Publishing by Spark: the same work on the same people, wherever they are, and one output, whole or none.

    files -> sound rows -> people together (a shuffle) -> work -> a record a person, written once
                                                                     |-> the published table
                                                                     |-> the report

Spark computes a thing again whenever it likes: a task that failed or is slow, a frame that is read twice. So draws come
from a key (`draws`), and table and report are both read from the records that were written, never from the work. What
is kept until the end is in a folder beside the table, for its owner alone: the key, which workers read from its file,
and the records. Nothing that grows with the people comes to the driver, but the sample that habits are learned from.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from discreet.data.streams import ending_of
from discreet.errors import DataError, DiscreetError
from discreet.events import Event, Events, Trajectory
from discreet.files import folder_whole
from discreet.numerics import digest_of
from discreet.publish.draws import RunKey, build, lot
from discreet.publish.engines.spark.errors import told_plainly
from discreet.publish.engines.spark.people import RECORDS, by_person
from discreet.publish.engines.spark.tables import (
    NOBODY,
    SCHEMA,
    EventTable,
    WorkersTable,
    is_remote,
    read_events,
    spark_schema,
    to_batches,
)
from discreet.publish.habits_file import OWN, copy_habits, load_some, save_habits
from discreet.publish.habits_file import PEOPLE as HABITS_OF_PEOPLE
from discreet.publish.key_file import erase_key, read_key, write_key
from discreet.publish.manifest import FileDigest, Origins, digests_of, write_manifest
from discreet.publish.plan import Plan, TopicHabits
from discreet.publish.report_schema import columns_of, report_frame, reports_in
from discreet.publish.resume import DONE as NOT_SPARK
from discreet.publish.resume import KEY, LOCK, Unfinished, alone, key_begun_with
from discreet.publish.summary import Summary
from discreet.publish.work import PublishWork, trajectories_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

TASKS = 4
"""Tasks of the work for each core: one with a person of very many events then keeps one core busy, and no other."""

TASK_BYTES = 16 * 2**20
"""Of the files that are read, for each task of the work: it has the events of a few thousand people in memory."""

SOUND, HABITS, PEOPLE, TABLE, REPORT = "sound", "habits", "people", "table", "report"
"""In the folder of a run, beside its key: the sound rows, what was learned, the records, and what is made of them."""

FINAL, GIVEN, PLACED = "final", "given", "placed"
"""A mark that table and report are whole, a digest of what the run was started with, and where its report goes."""

HELD = 100
"""People whose reports each task sends to the driver: fewer than one machine holds, for they come from all tasks at
once."""


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
        """The report: one row for each person (`report_schema`), in no order. It contains private data."""
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
    with spark_run(session, table, out, report=report, seed=seed, resume=resume, partitions=partitions) as run:
        done = run.publish(plan)
        write_manifest(done.table, done.report, plan, done.summary, Origins("spark", run.inputs(), done.summary.read()))
        return done


@contextmanager
def spark_run(
    session: SparkSession,
    table: EventTable,
    out: Path,
    *,
    report: Path | None = None,
    seed: int | None = None,
    resume: bool = False,
    partitions: int | None = None,
) -> Iterator[SparkRun]:
    """A run from its key to its end: what is kept of it is gone afterwards, but where it fails after it has drawn."""
    report = report_beside(out) if report is None else report
    _check_targets(out, report)
    with told_plainly(), _folder(out, seed, resume) as folder:
        yield SparkRun(session, table, folder, out, report, partitions)


@dataclass(frozen=True)
class SparkRun:
    """What can be asked of a table that is to be published, and its publishing."""

    session: SparkSession
    table: EventTable
    folder: Path
    out: Path
    report: Path
    partitions: int | None

    @cached_property
    def _read(self) -> tuple[DataFrame, list[str]]:
        return read_events(self.session, self.table)

    @property
    def header(self) -> list[str]:
        """The columns of the table that is read."""
        return self._read[1]

    @property
    def roles(self) -> dict[str, str]:
        """{role: column} in the order of the table."""
        places = self.table.columns.find(self.table.data[0], self.header)
        return {role: self.header[place] for role, place in sorted(places.items(), key=lambda item: item[1])}

    def inputs(self) -> list[FileDigest]:
        """The files that are read, and the addresses that only workers read."""
        remote = [FileDigest(one, None, None) for one in self.table.data if is_remote(one)]
        return remote + digests_of(sorted(_local_files(self.table)))

    @cached_property
    def _sound(self) -> DataFrame:
        """The sound rows, read once and written down: habits are learned from them before they are published."""
        target = self.folder / SOUND
        if not target.exists():
            with _attempt(target) as made:
                self._read[0].write.parquet(made.as_uri())
        return self.session.read.schema(spark_schema(SCHEMA)).parquet(target.as_uri())

    @cached_property
    def _events(self) -> DataFrame:
        return self._sound.where(self._sound["person"] != NOBODY)

    def people(self) -> int:
        """How many there are."""
        found: int = self._events.select("person").distinct().count()
        return found

    def names(self) -> Iterator[str]:
        """Of everybody, in order, a part at a time."""
        people = self._events.select("person").distinct().orderBy("person")
        return (row["person"] for row in people.toLocalIterator())

    def vocabulary(self) -> Events:
        """All events that occur, of everybody: as many rows come to the driver as there are different events."""
        distinct = self._events.dropDuplicates(["person", "instant", "activity", "location"])
        timed = distinct.mapInArrow(partial(_timed, self.table), "activity string, time string, location string")
        counted = timed.groupBy("activity", "time", "location").count().collect()
        if not counted:
            self._refuse_nobody(_summed(self._sound.mapInArrow(_sum_skipped, "summary string")))
        return Events.from_counts(Counter({Event(*values): count for *values, count in counted}), occurring_only=True)

    def sample(self, most: int) -> list[Trajectory]:
        """At most so many people, those that `sample.sampled` would choose, in order of their names."""
        people = self._events.select("person").distinct()
        lots = people.mapInArrow(partial(_lots, self.folder / KEY), "lot string, person string")
        chosen = lots.orderBy("lot", "person").limit(most).select("person")
        rows = self._events.join(chosen.hint("broadcast"), "person").select(*SCHEMA).toArrow()
        events, _ = self.table.cleaned(pl.DataFrame(pl.from_arrow(rows)))
        return list(trajectories_of(events))

    def publish(self, plan: Plan) -> PublishedTable:
        """Publish everybody by the plan; both folders then stand at their places."""
        _ = self.header  # what is wrong with the table is told first
        self._same_as_begun(plan)
        if not (self.folder / FINAL).exists():
            people = self._people(plan)
            summary = _summed(people.mapInArrow(_sum_part, "summary string"))
            self._refuse_nobody(summary)
            _write_table(people, self.roles, self.folder / TABLE, self.partitions)
            _write_report(people, [secret.name for secret in plan.policy.secrets], self.folder / REPORT)
            _mark_final(self.folder, summary)
        (self.folder / PLACED).write_text(str(self.report.absolute()))
        for made, wanted in ((self.folder / REPORT, self.report), (self.folder / TABLE, self.out)):
            if made.exists():
                _place(made, wanted)
        return PublishedTable(self.out, self.report, Summary.of_text((self.folder / FINAL).read_text()))

    def _people(self, plan: Plan) -> DataFrame:
        """The record of each person, as it was written: once."""
        target = self.folder / PEOPLE
        if not target.exists():
            rows = self._sound if (self.folder / SOUND).exists() else self._read[0]
            tasks = self.partitions or tasks_for(self.session, self.table)
            work, own = self._joined(plan)
            with _attempt(target) as made:
                by_person(self.session, rows, self.table, work, tasks, own).write.parquet(made.as_uri())
        return self.session.read.schema(spark_schema(RECORDS)).parquet(target.as_uri())

    def _joined(self, plan: Plan) -> tuple[PublishWork, DataFrame | None]:
        """The work, and rows of people's habits to be joined with their events: no process has all of them.

        The run has a copy of its own, where all workers see it, and which nobody changes.
        """
        if not isinstance(plan.habits, TopicHabits):
            return PublishWork(plan, self.folder / KEY), None
        kept = self.folder / HABITS
        shutil.rmtree(kept, ignore_errors=True)
        if plan.habits.folder is None:
            save_habits(kept, plan.habits)
        else:
            copy_habits(plan.habits.folder, kept)
        shared = load_some(kept)
        if shared.fingerprint != plan.habits.fingerprint:
            raise DiscreetError(f"{plan.habits.folder}: the habits have changed since they were read; begin again")
        rows = self.session.read.schema(spark_schema({"person": pl.String, **OWN}))
        own = rows.parquet((kept / HABITS_OF_PEOPLE).as_uri())
        return PublishWork(replace(plan, habits=shared), self.folder / KEY), own

    def _same_as_begun(self, plan: Plan) -> None:
        """Refuse to go on with other data or rules than a run was begun with: its records are of those."""
        files = [(path, *_stamp(path)) for path in sorted(_local_files(self.table))]
        options = sorted(plan.mechanism.options.plain().items())
        rules = [repr(self.table), plan.fingerprint_of_secrets, plan.mechanism.name, repr(options), plan.piece_length]
        habits = plan.habits
        known = habits.fingerprint if isinstance(habits, TopicHabits) else habits.name
        given = digest_of([str(files), *map(str, rules), known, build()]).hex()
        path = self.folder / GIVEN
        if not path.exists():
            path.write_text(given)
        elif path.read_text() != given:
            raise DiscreetError(
                f"{self.folder}: the run was started with other data, habits or rules, or by another build; give "
                "the same, or delete the folder and start again"
            )

    def _refuse_nobody(self, summary: Summary) -> None:
        if summary.people:
            return
        shutil.rmtree(self.folder / PEOPLE, ignore_errors=True)  # of nobody
        name = ", ".join(self.table.data)
        if summary.bad:
            raise DataError(f"{name}: none of the {summary.bad} rows can be used; the first: {summary.problems[0]}")
        raise DataError(f"{name}: the table has no rows; expected one {self.table.columns.one_row} a row")


def tasks_for(session: SparkSession, table: WorkersTable) -> int:
    """How many tasks the work is cut to."""
    size = sum(_stamp(path)[0] for path in _local_files(table))
    cores: int = session.sparkContext.defaultParallelism
    return max(TASKS * cores, -(-size // TASK_BYTES))


def _local_files(table: WorkersTable) -> list[Path]:
    from discreet.data.many_files import files_of, is_many

    paths = [Path(one) for one in table.data if not is_remote(one)]
    return [file for path in paths for file in (files_of(path)[0] if is_many(path) else [path])]


def _stamp(path: Path) -> tuple[int, int]:
    """What says whether a file is the same."""
    about = path.stat()
    return about.st_size, about.st_mtime_ns


# --- a run's folder


def _check_targets(out: Path, report: Path) -> None:
    """Refuse places where table or report cannot stand, before the work."""
    ending_of(out, (".parquet",), "a published table of Spark, which is a folder of Parquet files")
    ending_of(report, (".parquet",), "a report of Spark, which is a folder of Parquet files")
    if report.absolute() == out.absolute():
        raise DataError(f"{report}: the report would take the place of the table; give another --report")
    folder = Unfinished.beside(out)
    for path, made in ((out, TABLE), (report, REPORT)):
        if not path.parent.is_dir():
            raise DataError(f"{path}: there is no folder {path.parent}; make it, or choose another")
        placed = (folder / FINAL).exists() and not (folder / made).exists()
        if path.exists() and not placed:
            raise DataError(f"{path}: is there already; delete it, or choose another place")
    stands = Path((folder / PLACED).read_text()) if placed else report.absolute()
    if stands != report.absolute():
        raise DataError(f"{report}: the run has written its report to {stands}; continue with --report {stands}")


def _place(made: Path, wanted: Path) -> None:
    """Give a folder its name at last; on another disk it is copied first, so that it too appears whole."""
    try:
        try:
            made.rename(wanted)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            with folder_whole(wanted, private=made.name == REPORT) as beside:
                shutil.copytree(made, beside, dirs_exist_ok=True)
            shutil.rmtree(made)
    except OSError as error:
        raise DiscreetError(
            f"{wanted}: cannot be written: {error.strerror or error}; fix it, and continue with --resume"
        ) from None


@contextmanager
def _attempt(target: Path) -> Iterator[Path]:
    """Where a folder is written that gets its name when it is whole.

    Each attempt has a place of its own: of a run that was killed, a Spark may go on writing for some seconds.
    """
    for left in target.parent.glob(f"{target.name}.*"):
        shutil.rmtree(left, ignore_errors=True)
    made = target.with_name(f"{target.name}.{secrets.token_hex(4)}")
    yield made
    made.rename(target)


@contextmanager
def _folder(out: Path, seed: int | None, resume: bool) -> Iterator[Path]:
    folder = Unfinished.beside(out).absolute()
    goes_on = folder.exists()
    if goes_on and not resume:
        Unfinished.refuse(out)
    if goes_on and (folder / NOT_SPARK).exists():
        raise DiscreetError(f"{folder}: the run was started with --engine local; resume it the same way")
    try:
        if not goes_on:
            folder.mkdir(mode=0o700)
        (folder / LOCK).touch(0o600)
    except OSError as error:
        raise DiscreetError(f"{out}: cannot be written: {error.strerror}; choose a folder you can write to") from None
    with alone(folder / LOCK):
        if goes_on:
            key_begun_with(folder, seed)
            if not _drawn(folder):
                shutil.rmtree(folder / SOUND, ignore_errors=True)  # the data may have changed since
        else:
            write_key(folder / KEY, RunKey.new() if seed is None else RunKey.of_seed(seed))
        try:
            yield folder
        except BaseException:
            if not _drawn(folder):
                _erase(folder)
            raise
        _erase(folder)


def _drawn(folder: Path) -> bool:
    """Whether something was drawn that could have been seen, in whole or in part."""
    return any(folder.glob(f"{PEOPLE}*"))


def _erase(folder: Path) -> None:
    """Forget all of a run, its key first."""
    erase_key(folder / KEY)
    shutil.rmtree(folder)


def _mark_final(folder: Path, summary: Summary) -> None:
    part = folder / f"{FINAL}.part"
    part.write_text(summary.text())
    part.rename(folder / FINAL)


# --- in workers


def _timed(table: EventTable, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    schema: dict[str, Any] = {"activity": pl.String, "time": pl.String, "location": pl.String}
    for batch in batches:
        yield from to_batches(table.timed(pl.DataFrame(pl.from_arrow(batch))), schema)


def _lots(key_file: Path, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    key = read_key(key_file)
    for batch in batches:
        people = pl.DataFrame(pl.from_arrow(batch))["person"].to_list()
        drawn = pl.DataFrame({"lot": [lot(one, key).hex() for one in people], "person": people})
        yield from to_batches(drawn, {"lot": pl.String, "person": pl.String})


def _sum_part(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    parts = []
    for batch in batches:
        records = pl.DataFrame(pl.from_arrow(batch))
        skipped = records.filter(pl.col("person") == NOBODY)
        parts += [Summary.of_bad(bad, told) for bad, told in skipped.select("bad", "problems").iter_rows()]
        people = records.filter(pl.col("person") != NOBODY)
        if people.height:
            parts.append(Summary.of(people, held=HELD))
    yield from _summary_sent(parts)


def _reported(secrets: Sequence[str], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        records = pl.DataFrame(pl.from_arrow(batch))
        yield from to_batches(report_frame(reports_in(records), secrets), columns_of(secrets))


def _sum_skipped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows = [row for batch in batches for row in batch.to_pylist() if row["person"] == NOBODY]
    yield from _summary_sent([Summary.of_bad(row["instant"], json.loads(row["activity"])) for row in rows])


def _summary_sent(parts: list[Summary]) -> Iterator[pa.RecordBatch]:
    if parts:
        told = pl.DataFrame({"summary": [Summary.joined(parts).text()]})
        yield from to_batches(told, {"summary": pl.String})


# --- what is made of the records


def _summed(parts: DataFrame) -> Summary:
    """What the records say in short: a part from each task, and no more, comes to the driver."""
    return Summary.joined(Summary.of_text(part["summary"]) for part in parts.collect())


def _write_table(people: DataFrame, roles: dict[str, str], target: Path, partitions: int | None) -> None:
    """People in order of their names, over all files: the order in which they were read is left behind."""
    from pyspark.sql.functions import col, explode

    ordered = people.where(col("person") != NOBODY).select("person", "shown")
    parted = (partitions, "person") if partitions is not None else ("person",)
    events = ordered.repartitionByRange(*parted).sortWithinPartitions("person")
    events = events.select("person", explode("shown").alias("event"))
    held = {
        "user": col("person"),
        "timestamp": col("event.time"),
        "location": col("event.location"),
        "activity": col("event.activity"),
    }
    _write(events.select(*(held[role].alias(name) for role, name in roles.items())), target)


def _write_report(people: DataFrame, secrets: Sequence[str], target: Path) -> None:
    from pyspark.sql.functions import col

    records = people.where(col("person") != NOBODY)
    _write(records.mapInArrow(partial(_reported, secrets), spark_schema(columns_of(secrets))), target)
    target.chmod(0o700)


def _write(frame: DataFrame, target: Path) -> None:
    """Files part-00000.parquet and so on, and nothing else: Spark's own marks would hinder other readers."""
    shutil.rmtree(target, ignore_errors=True)
    with _attempt(target) as made:
        frame.write.parquet(made.as_uri())
        for path in made.iterdir():
            if path.suffix != ".parquet" or path.name.startswith("."):
                path.unlink()
        for number, path in enumerate(sorted(made.iterdir())):
            os.replace(path, made / f"part-{number:05d}.parquet")
