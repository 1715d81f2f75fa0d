"""`discreet publish --engine spark`: the same steps with Spark in the place of this machine's processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from discreet.cli.inputs import Counted, in_options
from discreet.cli.terminal import note, progress
from discreet.errors import DataError, DiscreetError

if TYPE_CHECKING:
    from discreet.data import BadRows
    from discreet.events import Events, Trajectory
    from discreet.publish import Plan, Summary
    from discreet.publish.engines.spark.publish import SparkRun
    from discreet.publish.engines.spark.tables import EventTable


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


@dataclass(frozen=True)
class _Read:
    rows: int
    bad: BadRows
    duplicates: int
    unordered: int


@contextmanager
def spoken() -> Iterator[None]:
    """Errors about columns speak of options."""
    try:
        yield
    except DataError as error:
        raise DataError(in_options(str(error))) from None


def check_spark(out: Path, partition_by: Sequence[str] | None) -> None:
    """Refuse what Spark does not do, before it is started."""
    if partition_by:
        raise DiscreetError("--partition-by is of --engine local; Spark's table is a folder of files without keys")
    if not out.name.endswith(".parquet"):
        raise DataError(f"{out}: Spark writes a folder of Parquet files; let the name end in .parquet")


@dataclass
class SparkEngine:
    """A run of Spark, as the command goes through it."""

    run: SparkRun
    target: Target
    left_out: list[str]
    read: CountedEvents = field(init=False)

    @property
    def vocabulary(self) -> Events:
        """All events that occur."""
        with progress("counting events"):
            return self.run.vocabulary()

    def sample(self, most: int) -> list[Trajectory]:
        """The people whom habits are learned from: all, or where there are more than `most`, so many by lot."""
        with progress("reading people"):
            people, chosen = self.run.people(), self.run.sample(most)
        if people > most:
            note(f"habits are learned from, and held against, {most} of {people} people, by lot (--learn-from)")
        return chosen

    def publish(self, plan: Plan) -> Summary:
        """Write the table and the report."""
        from discreet.data import BadRows

        with progress("publishing"):
            summary = self.run.publish(plan).summary
        counts = summary.counts
        bad = BadRows(summary.bad, summary.problems)
        self.read = _Read(summary.rows, bad, counts["duplicates"], counts["unordered"])
        note(f"the report on each person is in {self.run.report}; it speaks of the truth")
        return summary


@contextmanager
def spark_engine(
    table: EventTable, out: Path, report: Path | None, seed: int | None, resume: bool, master: str | None
) -> Iterator[SparkEngine]:
    """Spark at a master, started and stopped."""
    from discreet.publish.engines.spark.publish import spark_run
    from discreet.publish.engines.spark.session import running

    with running(master) as session, spark_run(session, table, out, report=report, seed=seed, resume=resume) as run:
        left_out = [name for name in run.header if name not in run.roles.values()]
        yield SparkEngine(run, Target(out, run.roles, [], run.report), left_out)
