"""`discreet publish`: a table of events, with what may not be shown withheld."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from discreet.cli import options
from discreet.cli.inputs import read_spec
from discreet.cli.known import known_json, print_known
from discreet.cli.memory import give_back
from discreet.cli.publish_spark import Counted, SparkEngine, Target, check_spark, spark_engine, spoken
from discreet.cli.terminal import note, print_json, progress, table
from discreet.cli.truth import IF, AcceptModel, Picture, draw, print_truth, refused, truth_json
from discreet.errors import DiscreetError, PolicyError

if TYPE_CHECKING:
    import polars as pl

    from discreet.data import EventColumns, Source
    from discreet.data.population import Population
    from discreet.evaluation.truth import Truth
    from discreet.events import Events, Intervals, Trajectory
    from discreet.mechanisms.named import Spec
    from discreet.policy import Policy
    from discreet.publish import PersonReport, Plan, Summary
    from discreet.publish.spark_read import EventTable
    from discreet.publish.unfinished import Unfinished

HABITS = "The habits"
LISTED = 10
"""People in the terminal's table; --json has more, --report all."""

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Of people, by utility."""


def publish(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Events: a table, such as a .csv or .parquet file, with columns user, timestamp, location, activity; "
            "or several, as a quoted pattern or a folder.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The published table: .csv, .csv.gz or .parquet.")],
    partition_by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Make FILE a folder of Parquet files, with a folder for each value (COLUMN=value); may be repeated.",
        ),
    ] = None,
    report_file: Annotated[
        Path | None,
        typer.Option(
            "--report", metavar="FILE", help="A row on each person: .csv, .csv.gz or .parquet. It speaks of the truth."
        ),
    ] = None,
    secret: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A secret, such as activity=gambling; may be repeated."),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            "--policy", "-p", metavar="FILE", help="Secrets in a TOML file instead: contexts = ['activity=gambling']."
        ),
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="The gain that is tolerated on each --secret; 0.1 unless given.")
    ] = None,
    mechanism: Annotated[
        str,
        typer.Option(metavar="NAME", help="Who decides what is shown: adaptive, pa-markov, pa-hmm, ..."),
    ] = "adaptive",
    option: options.MechanismOptions = None,
    window: Annotated[
        int,
        typer.Option(metavar="N", help="Trajectories are cut to so many events, each a day of its own; 0: not cut."),
    ] = 50,
    habits: Annotated[
        Literal["events", "topics", "chain"],
        typer.Option(
            help="events: topics over whole events, learned from all people together; topics: the same with attributes "
            "independent within a topic; chain: over each person's own events.",
            rich_help_panel=HABITS,
        ),
    ] = "events",
    topics: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="How many; by default as many as predict held-out secrets and events best.",
            rich_help_panel=HABITS,
        ),
    ] = None,
    sweeps: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Of the sampler that learns topics, at most; 2000 unless given. More where it says that its chains "
            "did not agree.",
            rich_help_panel=HABITS,
        ),
    ] = None,
    learn_from: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="People that habits are learned from and held against, at most, chosen by lot; all are published.",
            rich_help_panel=HABITS,
        ),
    ] = 10_000,
    models: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Learned habits: taken from this folder and not learned again, or written to it if it is not there.",
            rich_help_panel=HABITS,
        ),
    ] = None,
    intervals: Annotated[
        str,
        typer.Option(
            metavar="RULE", help="The parts of the day, each with its start.", rich_help_panel=options.READING
        ),
    ] = "night 00:00, morning 06:00, afternoon 12:00, evening 18:00",
    zone: Annotated[
        str, typer.Option(metavar="ZONE", help="Whose wall clock the parts are on.", rich_help_panel=options.READING)
    ] = "UTC",
    naive_zone: options.NaiveZone = None,
    skip_bad: options.SkipBad = False,
    user: options.UserColumn = "user",
    time: options.TimeColumn = "timestamp",
    location: Annotated[
        str, typer.Option("--location", metavar="COLUMN", help="Where.", rich_help_panel=options.COLUMNS)
    ] = "location",
    activity: Annotated[
        str, typer.Option("--activity", metavar="COLUMN", help="Doing what.", rich_help_panel=options.COLUMNS)
    ] = "activity",
    seed: Annotated[
        int | None,
        typer.Option(help="Repeats the same draws. For tests: a table drawn with a known seed hides nothing."),
    ] = None,
    workers: Annotated[
        int, typer.Option(metavar="N", help="Processes that people are published by; the table is the same.")
    ] = 1,
    engine: Annotated[
        Literal["local", "spark"],
        typer.Option(help="What people are published by: this machine's processes, or Spark; the rows are the same."),
    ] = "local",
    master: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Of --engine spark: local[2], spark://host:7077, ...; else spark-submit's."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Go on with the run that was to write this table, from the people that are done."
        ),
    ] = False,
    accept_model: AcceptModel = False,
    picture: Picture = None,
    json: options.Json = False,
) -> None:
    """Publish a table of events with attributes withheld, so that nobody who knows the habits learns the secrets.

    The table has a row an event, person after person. In the place of the timestamp stands the part of the day; columns
    that are not named are left out. The report on stdout speaks of the truth: keep it to yourself. Leaves with 1 if
    some secret was breached. Before that the habits are held against the people's events: where they are not true of
    them, it leaves with 1 and writes nothing, unless --accept-model is given.

    Example: discreet publish cards.csv --secret activity=gambling --zone Europe/Paris --out published.csv
    """
    give_back()
    from discreet.data import EventColumns
    from discreet.data.published import check_target
    from discreet.events import Intervals
    from discreet.publish import Plan
    from discreet.publish.plan import checked_length
    from discreet.publish.pool import begin, checked_workers
    from discreet.publish.report_file import check_report
    from discreet.publish.sample import checked_sample
    from discreet.publish.unfinished import Unfinished

    length = window or None
    checked_length(length)
    checked_workers(workers)
    checked_sample(learn_from)
    if engine == "spark":
        check_spark(out, workers, partition_by)
    else:
        check_target(out, data, parted=bool(partition_by))
    if master is not None and engine != "spark":
        raise DiscreetError("--master is of --engine spark; give both, or neither")
    if report_file is not None:
        check_report(report_file, out, data)
    if not resume:
        Unfinished.refuse(out)
    stated = _stated(secret, policy, delta)
    spec = read_spec(mechanism, option)  # what is wrong with it is told before the work
    if habits == "chain" and (topics is not None or sweeps is not None):
        raise DiscreetError("--topics and --sweeps are not for --habits chain; leave them out")
    if habits == "chain" and models is not None:
        raise DiscreetError("--models is not for --habits chain, which learns nothing beforehand; leave it out")
    if workers > 1:
        begin()  # processes have imported what they need when the habits are learned
    columns = EventColumns(user or None, time, location, activity)
    reading = _Reading(data, Intervals.of(intervals, zone), columns, naive_zone, skip_bad)
    begun: AbstractContextManager[_Local | SparkEngine]
    if engine == "spark":
        begun = spark_engine(reading.spark(), out, report_file, seed, resume, master)
    else:
        begun = _local(reading, out, partition_by or (), report_file, seed, resume, workers)
    with _kept(out), begun as run:
        sample = run.sample(learn_from)
        rules: dict[str, Any] = {"habits": habits, "sweeps": sweeps, "piece_length": length}
        with _naming(policy), progress("learning habits") as tell:
            learn = partial(Plan.learn, sample, stated, spec, topics=topics, progress=tell, **rules)
            plan = _planned(learn, run.vocabulary, models, stated, spec, length)
        relearn = partial(Plan.learn, policy=stated, mechanism=spec, **rules)
        truth = _check(plan, sample, relearn, topics)
        draw(picture, truth, "Where an observer of the table is 10 % sure, is it 10 %?")
        if refused(truth, accept_model):
            _refuse(truth, out, json)
        summary = run.publish(plan)
    about = _About(plan, summary, run.read, len(sample), run.left_out, run.target, seed)
    if json:
        print_json(about.document() | {"truth": truth_json(truth, accept_model)})
    else:
        about.print(truth)
        print()
        print_truth(truth, accept_model)
    _tell(plan, run.read, run.left_out, seed)
    if summary.breached:
        raise typer.Exit(1)


@dataclass(frozen=True)
class _Reading:
    """How the table is read."""

    data: Path
    intervals: Intervals
    columns: EventColumns
    naive_zone: str | None
    skip_bad: bool

    def spark(self) -> EventTable:
        """The same for Spark."""
        from discreet.publish.spark_read import EventTable, address_of

        data, zone = (address_of(self.data),), self.naive_zone
        return EventTable(data, self.intervals, self.columns, naive_zone=zone, skip_bad=self.skip_bad)


@contextmanager
def _kept(out: Path) -> Iterator[None]:
    """Where a run fails, say what is left of it."""
    from discreet.publish.unfinished import Unfinished

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
class _Local:
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
def _local(
    reading: _Reading,
    out: Path,
    partition_by: Sequence[str],
    report: Path | None,
    seed: int | None,
    resume: bool,
    workers: int,
) -> Iterator[_Local]:
    from discreet.data import open_source, published_columns
    from discreet.data.published import checked_parts
    from discreet.publish.unfinished import unfinished

    source = open_source(reading.data)
    roles, left_out = published_columns(source, reading.columns)
    target = Target(out, roles, checked_parts(partition_by, roles), report)
    with unfinished(out, seed, resume=resume) as run:
        rules = (reading.intervals, reading.columns, reading.naive_zone, reading.skip_bad)
        yield _Local(_read(source, run.people, *rules), run, left_out, target, seed, workers)


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


def _check(plan: Plan, sample: list[Trajectory], relearn: Callable[..., Plan], topics: int | None) -> Truth:
    """Whether the habits are true of the people; habits of their earlier events have as many topics."""
    from discreet.publish import TopicHabits
    from discreet.publish.truth import check_table

    if isinstance(plan.habits, TopicHabits):
        topics = plan.habits.model.topics
    with progress("holding habits against events") as tell:
        return check_table(plan, sample, partial(relearn, topics=topics), progress=tell)


def _planned(
    learn: Callable[..., Plan], events: Events, models: Path | None, stated: Policy, spec: Spec, length: int | None
) -> Plan:
    """The plan by habits that were kept, or by habits that are learned now, and kept if a folder is named."""
    from discreet.publish import Plan, policy_for
    from discreet.publish.habits_file import load_habits, save_habits

    if models is not None and models.exists():
        return Plan(load_habits(models), policy_for(stated, events), spec, length)
    plan = learn(events=events)
    if models is not None:
        save_habits(models, plan.habits)
    return plan


def _refuse(truth: Truth, out: Path, json: bool) -> None:
    """Say why, and leave: nothing has been drawn for the table, and nothing is written."""
    if json:
        print_json({"out": None, "truth": truth_json(truth, False)})
    else:
        print_truth(truth, False)
    note(f"nothing was written to {out}: the habits are not true of these people")
    raise typer.Exit(1)


def _stated(secret: list[str] | None, policy: Path | None, delta: float | None) -> Policy:
    """The policy as given, over values of attributes."""
    from discreet.policy import Policy, Secret, read_policy

    if policy is not None:
        if secret or delta is not None:
            raise PolicyError(f"{policy}: --secret and --delta stand in the policy file; give one or the other")
        stated = read_policy(policy)[0]
    else:
        stated = Policy([Secret(text) for text in secret or ()], delta=0.1 if delta is None else delta)
    if not stated.secrets:
        raise PolicyError("nothing is secret; give --secret activity=gambling, or secrets in a --policy file")
    return stated


@contextmanager
def _naming(policy: Path | None) -> Iterator[None]:
    """Errors about secrets name the file that they stand in."""
    try:
        yield
    except PolicyError as error:
        raise PolicyError(f"{policy or '--secret'}: {error}") from None


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


@dataclass(frozen=True)
class _About:
    """What is said of a table that was published."""

    plan: Plan
    report: Summary
    read: Counted
    sample: int
    left_out: list[str]
    target: Target
    seed: int | None

    def document(self) -> dict[str, Any]:
        """As JSON; of more people than a summary holds, those with the largest gains."""
        from discreet.publish import TopicHabits

        plan, report, read = self.plan, self.report, self.read
        habits = plan.habits
        choice = habits.choice if isinstance(habits, TopicHabits) else None
        guarantee = report.guarantee
        return {
            "out": str(self.target.out),
            "columns": list(self.target.roles.values()),
            "partitioned_by": self.target.parts,
            "left_out": self.left_out,
            "mechanism": plan.mechanism.name,
            "options": [f"{key}={_text(value)}" for key, value in plan.mechanism.options.plain().items()],
            "guarantee": {"kind": guarantee.kind, "statement": guarantee.statement},
            "habits": habits.name,
            "topics_tried": None if choice is None else {str(count): score for count, score in choice.scores.items()},
            "learned": _learned(plan),
            "learned_from": self.sample,
            "window": plan.piece_length,
            "seed": self.seed,
            "policy": {
                "delta": plan.policy.delta,
                "secrets": [
                    {
                        "name": one.name,
                        "at": one.at,
                        "delta": plan.policy.delta_of(one),
                        "cap": one.cap,
                        "events": len(one.contexts),
                    }
                    for one in plan.policy.secrets
                ],
            },
            "rows": {
                "read": read.rows,
                "bad": read.bad.count,
                "duplicates": read.duplicates,
                "unordered": read.unordered,
            },
            "events": report.events,
            "utility": report.utility,
            "utility_by_quantile": {f"{100 * share:g} %": report.utility_at(share) for share in QUANTILES},
            "breach_rate": report.breach_rate,
            "breached": report.breached,
            "breached_people": report.breached_people,
            "worst_gain": report.worst_gain,
            "off_model": report.off_model,
            "settled": report.settled,
            "by_secret": report.by_secret,
            "excess_by_secret": report.excess_by_secret,
            "known": known_json({None: report.known}),
            "number_of_people": report.people,
            "people": [_person(one) for one in sorted(report.worst, key=lambda one: one.person)],
        }

    def print(self, truth: Truth) -> None:
        """As text; of the people, the first with the largest gains."""
        plan, report = self.plan, self.report
        windows = "whole trajectories" if plan.piece_length is None else f"windows of {plan.piece_length} events"
        print(f"{report.events} events of {report.people} people, by {plan.mechanism.name}, in {self.target.out}")
        print(f"judged by: {plan.habits.name}, {windows}")
        print(f"WARNING: {doubt}\n" if (doubt := _doubt(plan)) else "")
        rows = [
            ["utility", f"{report.utility:.4f}", "of the attributes are shown"],
            ["silent", f"{report.silent / report.events:.4f}", "of the events show nothing"],
            ["breach rate", f"{report.breach_rate:.4f}", "of the positions are breached, mean over people"],
            ["worst gain", f"{report.worst_gain:.4f}", "belief minus prior"],
            ["off model", str(report.off_model), "events that the model has no place for"],
            ["settled", str(report.settled), "positions where habits alone tell a secret"],
        ]
        width = max(len(row[1]) for row in rows)
        print("\n".join(f"{what:<11}  {value:>{width}}  {words}" for what, value, words in rows) + "\n")
        print_known({None: report.known}, None)
        lines = [
            [one.secret.name, f"{one.gain:.4f}", one.terms, one.word]
            for one in plan.policy.verdicts(report.by_secret, excess=report.excess_by_secret)
        ]
        print(table(["secret", "worst gain", "delta", IF], lines) + "\n")
        self._print_people()
        guarantee = report.guarantee
        proven = f"proven, {IF}" if guarantee.proven else "not proven"
        print(f"\nguarantee ({guarantee.kind}, {proven}): {guarantee.statement}")
        print(f"How true they are: {truth.figure}.")

    def _print_people(self) -> None:
        report = self.report
        rows = [
            [one.person, str(one.events), f"{one.utility:.4f}", f"{one.breach_rate:.4f}", f"{one.worst_gain:.4f}"]
            for one in report.worst[:LISTED]
        ]
        print(table(["person", "events", "utility", "breach rate", "worst gain"], rows))
        if report.people > LISTED:
            print(f"and {report.people - LISTED} more, none with a larger gain")
            shares = ", ".join(f"{100 * share:g} % {report.utility_at(share):.4f}" for share in QUANTILES)
            print(f"utility that so many have at most: {shares}")
            print(f"{report.people - report.breached_people} of {report.people} people are breached nowhere")


def _learned(plan: Plan) -> dict[str, Any] | None:
    """How topics were learned; a chain has none."""
    from discreet.models.event_model import EventModel
    from discreet.publish import TopicHabits

    if not isinstance(plan.habits, TopicHabits):
        return None
    model, choice = plan.habits.model, plan.habits.choice
    found = model.diagnostics
    return {
        "topics": model.topics,
        "emissions": "whole events" if isinstance(model, EventModel) else "independent attributes",
        "strengths": asdict(model.strengths) if isinstance(model, EventModel) else None,
        "drawn_by": choice.smoothing[model.topics].drawn_by if choice and choice.smoothing else "attributes",
        "tried_secrets": {} if choice is None else {str(count): s for count, s in choice.secret_scores.items()},
        "converged": None if found is None else found.converged,
        "r_hat": None if found is None else found.r_hat,
        "sweeps": None if found is None else found.sweeps,
        "warning": _doubt(plan),
    }


def _doubt(plan: Plan) -> str | None:
    """What to say of habits that did not settle, with the options that help."""
    from discreet.publish import TopicHabits

    doubt = plan.habits.doubt if isinstance(plan.habits, TopicHabits) else None
    return None if doubt is None else f"{doubt} (--sweeps, --topics)"


def _text(value: object) -> str:
    """An option's value as --option takes it."""
    return value if isinstance(value, str) else dumps(value)


def _person(one: PersonReport) -> dict[str, Any]:
    return {
        "person": one.person,
        "events": one.events,
        "windows": one.pieces,
        "attributes": one.attributes,
        "silent": one.silent,
        "breached": one.breached,
        "worst_gain": one.worst_gain,
        "off_model": one.off_model,
        "settled": one.settled,
        "by_secret": one.by_secret,
        "utility": one.utility,
        "breach_rate": one.breach_rate,
    }


def _tell(plan: Plan, read: Counted, left_out: list[str], seed: int | None) -> None:
    """What only the publisher may know goes to stderr."""
    if doubt := _doubt(plan):
        note(f"warning: {doubt}")
    if read.bad.count:
        note(f"{read.bad.count} bad rows were skipped")
    if read.duplicates:
        note(f"{read.duplicates} rows that say the same as another were left out")
    if left_out:
        note(f"columns left out, for they might tell what is withheld: {', '.join(left_out)}")
    if seed is not None:
        note("drawn with --seed: whoever guesses it can undo the draws; publish without one")
