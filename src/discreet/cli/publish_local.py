"""`discreet publish` on this machine: how the table is read, people sorted on disk, and published by processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.cli.publish_spark import Target, spoken
from discreet.cli.terminal import note, progress

if TYPE_CHECKING:
    import polars as pl

    from discreet.data import EventColumns, Source
    from discreet.data.population import Population
    from discreet.events import Events, Intervals, Trajectory
    from discreet.publish import Plan, Summary
    from discreet.publish.engines.spark.tables import EventTable
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


@contextmanager
def what_is_left(out: Path) -> Iterator[None]:
    """Where a run fails, say what is left of it."""
    from discreet.publish.resume import Unfinished

    try:
        with spoken():
            yield
    except BaseException:
        kept = Unfinished.beside(out)
        if kept.exists():
            note(
                f"nothing was written to {out}; those who are done are kept in {kept}, with the key of all draws: as "
                "private as the data; go on with --resume, or delete it"
            )
        raise


@dataclass(frozen=True)
class Local:
    """This machine: people sorted on disk, published by processes."""

    read: Population
    run: Unfinished
    left_out: list[str]
    target: Target
    seed: int | None
    workers: int

    @property
    def vocabulary(self) -> Events:
        """All events that occur."""
        return self.read.vocabulary

    def sample(self, most: int) -> list[Trajectory]:
        """The people whom habits are learned from."""
        return _sampled(self.read, most, self.run)

    def publish(self, plan: Plan) -> Summary:
        """Write the table."""
        return _publish(plan, self.read, self.target, self.run, self.seed, self.workers)


@contextmanager
def local_engine(
    reading: TableReading,
    out: Path,
    partition_by: Sequence[str],
    report: Path | None,
    seed: int | None,
    resume: bool,
    workers: int,
) -> Iterator[Local]:
    """A run of this machine, from its key to its end."""
    from discreet.data import open_source, published_columns
    from discreet.data.published import checked_parts
    from discreet.publish.resume import unfinished

    source = open_source(reading.data)
    roles, left_out = published_columns(source, reading.columns)
    target = Target(out, roles, checked_parts(partition_by, roles), report)
    with unfinished(out, seed, resume=resume) as run:
        rules = (reading.intervals, reading.columns, reading.naive_zone, reading.skip_bad)
        yield Local(_read(source, run.people, *rules), run, left_out, target, seed, workers)


def _sampled(read: Population, most: int, run: Unfinished) -> list[Trajectory]:
    """The people whom habits are learned from: all, or where there are more than `most`, so many by lot."""
    from discreet.publish.sample import sampled

    if len(read) <= most:
        return list(read)
    note(f"habits are learned from, and held against, {most} of {len(read)} people, by lot (--learn-from)")
    return read.of(sampled(read.names(), most, run.key))


def _publish(plan: Plan, read: Population, target: Target, run: Unfinished, seed: int | None, workers: int) -> Summary:
    """Write the table, and the reports where they are asked for."""
    from discreet.data.published import write_frames
    from discreet.publish import publish_people
    from discreet.publish.report_file import write_reports
    from discreet.publish.work import reports_in

    def write(frames: Iterator[pl.DataFrame]) -> None:
        write_frames(target.out, target.roles, reported(frames), by=target.parts)

    def reported(frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        yield from frames
        if target.report is not None:  # before the table has its name: where reports cannot be written, there is none
            reports = (one for done in run.all_done() for one in reports_in(done.reports))
            write_reports(target.report, reports, [secret.name for secret in plan.policy.secrets])

    with progress("publishing") as tell:
        return publish_people(
            plan, read.files(), len(read), write, seed=seed, progress=tell, workers=workers, unfinished=run
        )


def _read(
    source: Source,
    folder: Path,
    intervals: Intervals,
    columns: EventColumns,
    naive_zone: str | None,
    skip_bad: bool,
) -> Population:
    from discreet.data.population import read_population

    with progress(f"reading {Path(source.name).name}") as report:
        return read_population(
            source, folder, intervals, columns=columns, naive_zone=naive_zone, skip_bad=skip_bad, progress=report
        )
