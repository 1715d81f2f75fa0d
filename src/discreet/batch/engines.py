"""Who carries out the publishing of a table of events: this machine, or Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from discreet.batch.inputs import Counted
from discreet.listener import Listener, Note

if TYPE_CHECKING:
    import polars as pl

    from discreet.data import BadRows, EventColumns, Source
    from discreet.data.population import Population
    from discreet.events import Events, Intervals, Trajectory
    from discreet.publish import Plan, Summary
    from discreet.publish.engines.spark.publish import SparkRun
    from discreet.publish.engines.spark.tables import EventTable
    from discreet.publish.manifest import FileDigest
    from discreet.publish.resume import Unfinished


@dataclass(frozen=True)
class TableReading:
    """How the table is read."""

    data: Path
    intervals: Intervals
    columns: EventColumns
    naive_zone: str | None
    skip_bad: bool

    def spark(self) -> EventTable:
        """The same for Spark."""
        from discreet.publish.engines.spark.tables import EventTable, address_of

        data, zone = (address_of(self.data),), self.naive_zone
        return EventTable(data, self.intervals, self.columns, naive_zone=zone, skip_bad=self.skip_bad)


@dataclass(frozen=True)
class Target:
    """Where the table goes and how, and the reports."""

    out: Path
    roles: dict[str, str]
    parts: list[str]
    report: Path | None


class CountedEvents(Counted, Protocol):
    """The same of events."""

    @property
    def duplicates(self) -> int:
        """Those that say the same as another."""

    @property
    def unordered(self) -> int:
        """Those below a later one of the same person."""


def counted_rows(read: CountedEvents) -> dict[str, int]:
    """As documents have them."""
    return {"read": read.rows, "bad": read.bad.count, "duplicates": read.duplicates, "unordered": read.unordered}


@dataclass(frozen=True)
class _ReadEvents:
    rows: int
    bad: BadRows
    duplicates: int
    unordered: int


@dataclass(frozen=True)
class LocalEngine:
    """This machine: people sorted on disk, published by processes."""

    read: Population
    run: Unfinished
    left_out: list[str]
    target: Target
    seed: int | None
    workers: int
    listener: Listener
    digests: list[FileDigest]

    def inputs(self) -> list[FileDigest]:
        """The files that were read."""
        return self.digests

    @property
    def vocabulary(self) -> Events:
        """All events that occur."""
        return self.read.vocabulary

    def names(self) -> Iterable[str]:
        """Of all people."""
        return self.read.names()

    def sample(self, most: int) -> list[Trajectory]:
        """The people whom habits are learned from."""
        return _sampled(self.read, most, self.run, self.listener.note)

    def publish(self, plan: Plan) -> Summary:
        """Write the table."""
        return _publish(plan, self.read, self.target, self.run, self.seed, self.workers, self.listener)


@contextmanager
def local_engine(
    reading: TableReading,
    out: Path,
    partition_by: Sequence[str],
    report: Path | None,
    seed: int | None,
    resume: bool,
    workers: int,
    listener: Listener,
) -> Iterator[LocalEngine]:
    """A run of this machine, from its key to its end."""
    from discreet.data import open_source, published_columns
    from discreet.data.many_files import ManyFiles
    from discreet.data.published import checked_parts
    from discreet.publish.manifest import digests_of
    from discreet.publish.resume import digest_of, unfinished

    source = open_source(reading.data)
    roles, left_out = published_columns(source, reading.columns)
    target = Target(out, roles, checked_parts(partition_by, roles), report)
    files = source.files if isinstance(source, ManyFiles) else [reading.data]
    digests = digests_of(files)
    with unfinished(out, seed, resume=resume, data=digest_of(one.sha256 or "" for one in digests)) as run:
        read = _read(source, run.people, reading, listener)
        yield LocalEngine(read, run, left_out, target, seed, workers, listener, digests)


def _sampled(read: Population, most: int, run: Unfinished, note: Note) -> list[Trajectory]:
    """The people whom habits are learned from: all, or where there are more than `most`, so many by lot."""
    from discreet.publish.draws import sampled

    if len(read) <= most:
        return list(read)
    note(f"habits are learned from, and tested on, {most} of {len(read)} people, by lot (--learn-from)")
    return read.of(sampled(read.names(), most, run.key))


def _publish(
    plan: Plan,
    read: Population,
    target: Target,
    run: Unfinished,
    seed: int | None,
    workers: int,
    listener: Listener,
) -> Summary:
    """Write the table, and the reports where they are asked for."""
    from discreet.data.published import write_frames
    from discreet.publish import publish_people
    from discreet.publish.report_file import write_reports
    from discreet.publish.report_schema import reports_in

    def write(frames: Iterator[pl.DataFrame]) -> None:
        write_frames(target.out, target.roles, reported(frames), by=target.parts)

    def reported(frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        yield from frames
        if target.report is not None:  # before the table has its name: where reports cannot be written, there is none
            reports = (one for done in run.all_done() for one in reports_in(done.reports))
            write_reports(target.report, reports, [secret.name for secret in plan.policy.secrets])

    with listener.progress("publishing") as tell:
        return publish_people(
            plan, read.files(), len(read), write, seed=seed, progress=tell, workers=workers, unfinished=run
        )


def _read(source: Source, folder: Path, reading: TableReading, listener: Listener) -> Population:
    from discreet.data.population import read_population

    with listener.progress(f"reading {Path(source.name).name}") as report:
        return read_population(
            source,
            folder,
            reading.intervals,
            columns=reading.columns,
            naive_zone=reading.naive_zone,
            skip_bad=reading.skip_bad,
            progress=report,
        )


@dataclass
class SparkEngine:
    """A run of Spark, as the command goes through it."""

    run: SparkRun
    target: Target
    left_out: list[str]
    listener: Listener
    read: CountedEvents = field(init=False)

    def inputs(self) -> list[FileDigest]:
        """The files that were read, and the addresses that only workers read."""
        with self.listener.progress("digests of the data"):
            return self.run.inputs()

    @property
    def vocabulary(self) -> Events:
        """All events that occur."""
        with self.listener.progress("counting events"):
            return self.run.vocabulary()

    def names(self) -> Iterable[str]:
        """Of all people."""
        return self.run.names()

    def sample(self, most: int) -> list[Trajectory]:
        """The people whom habits are learned from: all, or where there are more than `most`, so many by lot."""
        with self.listener.progress("reading people"):
            people, chosen = self.run.people(), self.run.sample(most)
        if people > most:
            self.listener.note(
                f"habits are learned from, and tested on, {most} of {people} people, by lot (--learn-from)"
            )
        return chosen

    def publish(self, plan: Plan) -> Summary:
        """Write the table and the report."""
        from discreet.data import BadRows

        with self.listener.progress("publishing"):
            summary = self.run.publish(plan).summary
        counts = summary.counts
        bad = BadRows(summary.bad, summary.problems)
        self.read = _ReadEvents(summary.rows, bad, counts["duplicates"], counts["unordered"])
        self.listener.note(f"the report on each person is in {self.run.report}; it contains private data")
        return summary


@contextmanager
def spark_engine(
    table: EventTable,
    out: Path,
    report: Path | None,
    seed: int | None,
    resume: bool,
    master: str | None,
    listener: Listener,
) -> Iterator[SparkEngine]:
    """Spark at a master, started and stopped."""
    from discreet.publish.engines.spark.publish import spark_run
    from discreet.publish.engines.spark.session import running

    with running(master) as session, spark_run(session, table, out, report=report, seed=seed, resume=resume) as run:
        left_out = [name for name in run.header if name not in run.roles.values()]
        yield SparkEngine(run, Target(out, run.roles, [], run.report), left_out, listener)
