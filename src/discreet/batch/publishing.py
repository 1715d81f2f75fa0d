"""Publishing a table of events: an order as it was given, and its carrying out by this machine or by Spark.

Habits are learned from a sample, tested on it, and everybody is published under them. Where they do not hold, nothing
is drawn and nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from discreet.batch.engines import (
    CountedEvents,
    LocalEngine,
    SparkEngine,
    TableReading,
    Target,
    counted_rows,
    local_engine,
    spark_engine,
)
from discreet.batch.truth import refused
from discreet.batch.workers import check_engine
from discreet.errors import DataError, DiscreetError, PolicyError
from discreet.listener import NOBODY, Listener, Note

if TYPE_CHECKING:
    from discreet.evaluation.truth import Truth
    from discreet.events import Events, Trajectory
    from discreet.mechanisms.named import Spec
    from discreet.policy import Policy
    from discreet.publish import Plan, Summary, TopicHabits
    from discreet.publish.joined import JoinedPieces
    from discreet.publish.plan import PieceLength


@dataclass(frozen=True)
class PublishOrder:
    """A table of events to be published, and how."""

    table: TableReading
    out: Path
    policy: Policy
    """As stated, over values of attributes."""
    policy_file: Path | None
    mechanism: Spec
    own_secrets: Path | None = None
    """A table of the secrets that people have besides."""
    partition_by: Sequence[str] = ()
    report: Path | None = None
    piece_length: PieceLength = "auto"
    habits: Literal["events", "topics", "chain"] = "events"
    topics: int | None = None
    sweeps: int | None = None
    learn_from: int = 10_000
    models: Path | None = None
    seed: int | None = None
    workers: int = 1
    engine: Literal["local", "spark"] = "local"
    master: str | None = None
    resume: bool = False
    again: bool = False
    """Whether a table that is there may be replaced."""
    accept_model: bool = False
    command: Sequence[str] = ()
    """The command line for the manifest, without what it says of secrets."""

    def check(self) -> None:
        """Refuse what cannot be carried out, before anything is read."""
        from discreet.data.published import check_target
        from discreet.publish.draws import checked_sample
        from discreet.publish.engines.pool import checked_workers
        from discreet.publish.plan import length_for
        from discreet.publish.report_file import check_report
        from discreet.publish.resume import Unfinished

        length_for(self.mechanism, self.piece_length)
        checked_workers(self.workers)
        checked_sample(self.learn_from)
        if self.engine == "spark":
            _check_spark(self.out, self.partition_by)
        else:
            check_target(self.out, self.table.data, parted=bool(self.partition_by))
        check_engine(self.engine, self.workers, self.master)
        if self.report is not None:
            check_report(self.report, self.out, self.table.data)
        if not self.resume:
            Unfinished.refuse(self.out)
        if not self.again and self.out.exists() and not Unfinished.beside(self.out).exists():
            raise DataError(
                f"{self.out}: is there already. Fresh draws for the same people are a second look at the truth: who "
                "has both tables learns more than delta allows. If nobody has the first one, --again replaces it"
            )
        if not self.policy.secrets and self.own_secrets is None:
            raise PolicyError(
                "nothing is secret; give --secret activity=gambling, secrets in a --policy file, or --own-secrets"
            )
        if self.habits == "chain" and (self.topics is not None or self.sweeps is not None):
            raise DiscreetError("--topics and --sweeps are not for --habits chain; leave them out")
        if self.habits == "chain" and self.models is not None:
            raise DiscreetError("--models is not for --habits chain, which learns nothing beforehand; leave it out")

    def carried_out(self, listener: Listener = NOBODY) -> PublishedOrder:
        """Publish it; `summary` is None where the habits do not hold and were not accepted."""
        from discreet.publish.engines.pool import begin
        from discreet.publish.joined import join_pieces
        from discreet.publish.resume import Unfinished

        self.check()
        if self.resume and not Unfinished.beside(self.out).exists():
            listener.note(
                f"there is nothing to resume: no run that writes {self.out} was left unfinished; a new one begins"
            )
        if self.workers > 1:
            begin()  # processes have imported what they need when the habits are learned
        try:
            with _what_is_left(self.out, listener.note), self._begun(listener) as run:
                sample = run.sample(self.learn_from)
                with _naming(self.policy_file), listener.progress("learning habits") as tell:
                    plan = self._plan(run.vocabulary, sample, tell)
                if plan.people is not None:
                    plan.people.check(run.names())
                with listener.progress("testing habits on events") as tell:
                    truth = self._truth(plan, sample, tell)
                if refused(truth, self.accept_model):
                    raise _RefusedError  # as a failed run: what a resumed one has drawn before is kept
                with listener.progress("joining pieces of a sample") as tell:
                    joined = join_pieces(plan, sample, progress=tell)
                summary = run.publish(plan)
                self._write_manifest(run, plan, truth, summary, len(sample))
        except _RefusedError:
            return PublishedOrder(plan, truth, None, None, len(sample), run.left_out, run.target)
        return PublishedOrder(plan, truth, summary, run.read, len(sample), run.left_out, run.target, joined)

    def _begun(self, listener: Listener) -> AbstractContextManager[LocalEngine | SparkEngine]:
        if self.engine == "spark":
            table = self.table.spark()
            return spark_engine(table, self.out, self.report, self.seed, self.resume, self.master, listener)
        return local_engine(
            self.table, self.out, self.partition_by, self.report, self.seed, self.resume, self.workers, listener
        )

    def _write_manifest(
        self, run: LocalEngine | SparkEngine, plan: Plan, truth: Truth, summary: Summary, sample: int
    ) -> None:
        """While the run is still kept: one that is killed before the manifest is there writes it when it is resumed."""
        from discreet.publish.manifest import Origins, write_manifest

        origins = Origins(
            self.engine,
            run.inputs(),
            counted_rows(run.read),
            learned_from=sample,
            model_holds=truth.holds,
            command=self.command,
        )
        write_manifest(run.target.out, run.target.report, plan, summary, origins)

    @property
    def _rules(self) -> dict[str, Any]:
        return {"habits": self.habits, "sweeps": self.sweeps, "piece_length": self.piece_length}

    def _plan(self, events: Events, sample: list[Trajectory], tell: Callable[[int, int], None]) -> Plan:
        """The plan by habits that were kept, or by habits that are learned now, and kept if a folder is named."""
        from discreet.publish import Plan, policy_for
        from discreet.publish.habits_file import save_habits
        from discreet.publish.own_secrets import OwnSecrets
        from discreet.publish.plan import PeoplesPolicies, length_for

        if self.models is not None and self.models.exists():
            habits = self._loaded(self.models, sample)
            length = length_for(self.mechanism, self.piece_length)
            if self.own_secrets is None:
                return Plan(habits, policy_for(self.policy, events), self.mechanism, length)
            people = PeoplesPolicies.laid(OwnSecrets.of(self.own_secrets), self.policy, events)
            return Plan(habits, people.union, self.mechanism, length, people)
        plan = Plan.learn(
            sample,
            self.policy,
            self.mechanism,
            topics=self.topics,
            events=events,
            own_secrets=self.own_secrets,
            progress=tell,
            **self._rules,
        )
        if self.models is not None:
            save_habits(self.models, plan.habits)
        return plan

    def _loaded(self, models: Path, sample: list[Trajectory]) -> TopicHabits:
        """Habits that were kept; of the sample, where all others meet theirs in Spark's workers."""
        from discreet.publish.habits_file import load_habits, load_some

        if self.engine == "local":
            return load_habits(models)
        return load_some(models, (one.person for one in sample))

    def _truth(self, plan: Plan, sample: list[Trajectory], tell: Callable[[int, int], None]) -> Truth:
        """Whether the habits are true of the people; habits of their earlier events have as many topics."""
        from discreet.publish import Plan, TopicHabits
        from discreet.publish.truth import check_table

        topics = plan.habits.model.topics if isinstance(plan.habits, TopicHabits) else self.topics
        policy = self.policy if plan.people is None else plan.people.stated
        relearn = partial(Plan.learn, policy=policy, mechanism=self.mechanism, topics=topics, **self._rules)
        return check_table(plan, sample, relearn, progress=tell)


class _RefusedError(Exception):
    """The habits do not hold, and nobody said to go on."""


@dataclass(frozen=True)
class PublishedOrder:
    """What became of an order."""

    plan: Plan
    truth: Truth
    summary: Summary | None
    read: CountedEvents | None
    sample: int
    """People whom habits were learned from."""
    left_out: list[str]
    target: Target
    joined: JoinedPieces | None = None
    """What an observer gains who joins the pieces of a sample; None where nobody has several."""


@contextmanager
def _naming(policy: Path | None) -> Iterator[None]:
    """Errors about secrets name the file that they stand in."""
    try:
        yield
    except PolicyError as error:
        raise PolicyError(f"{policy or '--secret'}: {error}") from None


def _check_spark(out: Path, partition_by: Sequence[str]) -> None:
    """Refuse what Spark does not do, before it is started."""
    if partition_by:
        raise DiscreetError("--partition-by is of --engine local; Spark's table is a folder of files without keys")
    if not out.name.endswith(".parquet"):
        raise DataError(f"{out}: Spark writes a folder of Parquet files; let the name end in .parquet")


@contextmanager
def _what_is_left(out: Path, note: Note) -> Iterator[None]:
    """Where a run fails, say what is left of it."""
    from discreet.publish.resume import Unfinished

    try:
        yield
    except BaseException:
        kept = Unfinished.beside(out)
        if kept.exists():
            note(
                f"nothing was written to {out}; the people who are done are kept in {kept}, with the key of all draws, "
                "as private as the data; continue with --resume, or delete it"
            )
        raise
