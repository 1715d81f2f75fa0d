"""`discreet publish`: a table of events, with what may not be shown withheld."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from discreet.cli import options
from discreet.cli.inputs import read_spec
from discreet.cli.memory import give_back
from discreet.cli.people import Engine, Master, Workers, check_engine
from discreet.cli.publish_chart import draw_published
from discreet.cli.publish_local import Local, TableReading, local_engine, what_is_left
from discreet.cli.publish_spark import SparkEngine, check_spark, spark_engine
from discreet.cli.publish_told import About
from discreet.cli.terminal import note, print_json, progress
from discreet.cli.truth import AcceptModel, Picture, check_picture, draw, print_truth, refused, truth_json
from discreet.errors import DiscreetError, PolicyError

if TYPE_CHECKING:
    from discreet.evaluation.truth import Truth
    from discreet.events import Events, Trajectory
    from discreet.mechanisms.named import Spec
    from discreet.policy import Policy
    from discreet.publish import Plan, TopicHabits

HABITS = "The habits"


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
            "--policy",
            "-p",
            metavar="FILE",
            help="Secrets in a TOML file instead: [[secret]] contexts = ['activity=gambling'].",
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
    workers: Workers = 1,
    engine: Engine = "local",
    master: Master = None,
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
    from discreet.publish.engines.pool import begin
    from discreet.publish.report_file import check_report
    from discreet.publish.resume import Unfinished

    length = window or None
    _check_numbers(length, workers, learn_from)
    if engine == "spark":
        check_spark(out, partition_by)
    else:
        check_target(out, data, parted=bool(partition_by))
    check_engine(engine, workers, master)
    check_picture(picture)
    if report_file is not None:
        check_report(report_file, out, data)
    if not resume:
        Unfinished.refuse(out)
    stated = _stated(secret, policy, delta)
    spec = read_spec(mechanism, option)  # what is wrong with it is told before the work
    _check_habits(habits, topics=topics, sweeps=sweeps, models=models)
    if workers > 1:
        begin()  # processes have imported what they need when the habits are learned
    columns = EventColumns(user or None, time, location, activity)
    reading = TableReading(data, Intervals.of(intervals, zone), columns, naive_zone, skip_bad)
    begun: AbstractContextManager[Local | SparkEngine]
    if engine == "spark":
        begun = spark_engine(reading.spark(), out, report_file, seed, resume, master)
    else:
        begun = local_engine(reading, out, partition_by or (), report_file, seed, resume, workers)
    with what_is_left(out), begun as run:
        sample = run.sample(learn_from)
        rules: dict[str, Any] = {"habits": habits, "sweeps": sweeps, "piece_length": length}
        with _naming(policy), progress("learning habits") as tell:
            learn = partial(Plan.learn, sample, stated, spec, topics=topics, progress=tell, **rules)
            load = partial(_loaded, sample if engine == "spark" else None)
            plan = _planned(learn, run.vocabulary, models, load, stated, spec, length)
        relearn = partial(Plan.learn, policy=stated, mechanism=spec, **rules)
        truth = _check(plan, sample, relearn, topics)
        if refused(truth, accept_model):
            draw(picture, truth, "Where an observer of the table is 10 % sure, is it 10 %?")
            _refuse(truth, out, json)
        summary = run.publish(plan)
    draw_published(picture, truth, summary)
    about = About(plan, summary, run.read, len(sample), run.left_out, run.target, seed)
    if json:
        print_json(about.document() | {"truth": truth_json(truth, accept_model)})
    else:
        about.print(truth)
        print()
        print_truth(truth, accept_model)
    about.tell()
    if summary.breached:
        raise typer.Exit(1)


def _check_numbers(length: int | None, workers: int, learn_from: int) -> None:
    from discreet.publish.engines.pool import checked_workers
    from discreet.publish.plan import checked_length
    from discreet.publish.sample import checked_sample

    checked_length(length)
    checked_workers(workers)
    checked_sample(learn_from)


def _check_habits(habits: str, *, topics: int | None, sweeps: int | None, models: Path | None) -> None:
    """Refuse what is for topics alone."""
    if habits == "chain" and (topics is not None or sweeps is not None):
        raise DiscreetError("--topics and --sweeps are not for --habits chain; leave them out")
    if habits == "chain" and models is not None:
        raise DiscreetError("--models is not for --habits chain, which learns nothing beforehand; leave it out")


def _check(plan: Plan, sample: list[Trajectory], relearn: Callable[..., Plan], topics: int | None) -> Truth:
    """Whether the habits are true of the people; habits of their earlier events have as many topics."""
    from discreet.publish import TopicHabits
    from discreet.publish.truth import check_table

    if isinstance(plan.habits, TopicHabits):
        topics = plan.habits.model.topics
    with progress("holding habits against events") as tell:
        return check_table(plan, sample, partial(relearn, topics=topics), progress=tell)


def _loaded(sample: list[Trajectory] | None, models: Path) -> TopicHabits:
    """Habits that were kept; of a sample, where all others meet theirs in Spark's workers."""
    from discreet.publish.habits_file import load_habits, load_some

    return load_habits(models) if sample is None else load_some(models, (one.person for one in sample))


def _planned(
    learn: Callable[..., Plan],
    events: Events,
    models: Path | None,
    load: Callable[[Path], TopicHabits],
    stated: Policy,
    spec: Spec,
    length: int | None,
) -> Plan:
    """The plan by habits that were kept, or by habits that are learned now, and kept if a folder is named."""
    from discreet.publish import Plan, policy_for
    from discreet.publish.habits_file import save_habits

    if models is not None and models.exists():
        return Plan(load(models), policy_for(stated, events), spec, length)
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
