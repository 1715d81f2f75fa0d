"""`discreet publish`: a table of events, with what may not be shown withheld."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from discreet.batch.truth import truth_json
from discreet.cli import options
from discreet.cli.inputs import read_spec
from discreet.cli.publish_output import About, draw_published
from discreet.cli.terminal import TERMINAL, note, print_json
from discreet.cli.truth import AcceptModel, Picture, check_picture, draw, print_truth
from discreet.errors import PolicyError

if TYPE_CHECKING:
    from discreet.evaluation.truth import Truth
    from discreet.policy import Policy

HABITS = "The habits"


def _print_schema(asked: bool) -> None:
    """Print the report's schema in place of publishing: it is the same whatever is published."""
    if asked:
        from discreet.publish.report_schema import json_schema

        print_json(json_schema())
        raise typer.Exit


@options.grouped
def publish(
    context: typer.Context,
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
            "--report",
            metavar="FILE",
            help="One row for each person: .csv, .csv.gz or .parquet. It contains private data.",
        ),
    ] = None,
    schema: Annotated[
        bool,
        typer.Option(
            "--schema",
            callback=_print_schema,
            is_eager=True,
            help="Print a row of the report as JSON Schema, and exit.",
        ),
    ] = False,
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
    own_secrets: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Secrets of each person besides those of everybody: a table with columns person, secret, delta, cap.",
        ),
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="The largest gain allowed on each --secret; by default 0.1.")
    ] = None,
    mechanism: Annotated[
        str,
        typer.Option(metavar="NAME", help="Who decides what is shown: adaptive, pa-markov, pa-hmm, ..."),
    ] = "adaptive",
    option: options.MechanismOptions = None,
    piece: Annotated[
        int | None,
        typer.Option(
            "--piece",
            metavar="N",
            help="Split trajectories into pieces of N events, each protected on its own; 0: whole. Unless given, whole "
            "for adaptive, and pieces of 50 for others.",
        ),
    ] = None,
    window: options.Window = None,
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
            help="How many topics; by default the number that predicts held-out secrets and events best.",
            rich_help_panel=HABITS,
        ),
    ] = None,
    sweeps: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Sweeps of the sampler that learns topics, at most; by default 2000. Use more if it says that "
            "its chains did not agree.",
            rich_help_panel=HABITS,
        ),
    ] = None,
    learn_from: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Learn and test the habits on at most this many people, chosen at random; all people are published.",
            rich_help_panel=HABITS,
        ),
    ] = 10_000,
    models: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="The folder of learned habits: read if it exists, otherwise written.",
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
        str,
        typer.Option(metavar="ZONE", help="The time zone of the parts of the day.", rich_help_panel=options.READING),
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
        typer.Option(help="Repeat the same draws, for tests. A table with a known seed hides nothing."),
    ] = None,
    engine: options.EngineOptions = options.ENGINE,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Resume the interrupted run that was writing this table."),
    ] = False,
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Replace an existing table. New draws for the same people are a second look at the truth: do "
            "this only if nobody has the first one.",
        ),
    ] = False,
    accept_model: AcceptModel = False,
    picture: Picture = None,
    json: options.Json = False,
) -> None:
    """Publish a table of events with attributes withheld, so that nobody who knows the habits learns the secrets.

    The table has one row for each event, person after person. The timestamp is replaced by the part of the day; columns
    that are not named are left out. The report on stdout contains private data: keep it to yourself. The exit status is
    1 if some secret was breached. First the model is tested on the people's events: where it does not hold, the exit
    status is 1 and nothing is written, unless --accept-model is given.

    Example: discreet publish cards.csv --secret activity=gambling --zone Europe/Paris --out published.csv
    """
    give_back()
    from discreet.batch.engines import TableReading
    from discreet.batch.publishing import PublishOrder
    from discreet.data import EventColumns
    from discreet.events import Intervals

    check_picture(picture)
    columns = EventColumns(user or None, time, location, activity)
    order = PublishOrder(
        TableReading(data, Intervals.of(intervals, zone), columns, naive_zone, skip_bad),
        out,
        _stated(secret, policy, delta),
        policy,
        read_spec(mechanism, option),
        own_secrets,
        partition_by=partition_by or (),
        report=report_file,
        piece_length=options.published_length(piece, window),
        habits=habits,
        topics=topics,
        sweeps=sweeps,
        learn_from=learn_from,
        models=models,
        seed=seed,
        workers=engine.workers,
        engine=engine.engine,
        master=engine.master,
        resume=resume,
        again=again,
        accept_model=accept_model,
        command=masked(context.obj or ()),
    )
    done = order.carried_out(TERMINAL)
    if done.summary is None or done.read is None:
        draw(picture, done.truth, "Where an observer of the table is 10 % sure, is it 10 %?")
        _refuse(done.truth, out, json)
        return
    draw_published(picture, done.truth, done.summary)
    about = About(done.plan, done.summary, done.read, done.sample, done.left_out, done.target, seed, done.joined)
    if json:
        print_json(about.document() | {"truth": truth_json(done.truth, accept_model)})
    else:
        about.print(done.truth)
        print()
        print_truth(done.truth, accept_model)
    about.tell()
    if done.summary.breached:
        raise typer.Exit(1)


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
    from discreet.clock import Clock
    from discreet.policy import Policy, Secret, read_policy

    if policy is not None:
        if secret or delta is not None:
            raise PolicyError(f"{policy}: --secret and --delta stand in the policy file; give one or the other")
        return read_policy(policy, Clock(48))[0]  # clock times become slots, which events are then said not to have
    return Policy([Secret(text) for text in secret or ()], delta=0.1 if delta is None else delta)


MASKED = ("--secret", "--seed")
"""Options whose values say what is secret, or give all draws away."""

CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@|(?<=\?)\S+")
"""Of an address: who asks with which password, and what a signed one carries behind its question mark."""


def masked(arguments: Sequence[str]) -> list[str]:
    """A command line for the manifest: without secrets, seeds, and the passwords of addresses."""
    shown: list[str] = []
    for before, argument in zip(("", *arguments), arguments, strict=False):
        name, equals, _ = argument.partition("=")
        if before in MASKED:
            shown.append("...")
        elif name in MASKED and equals:
            shown.append(f"{name}=...")
        else:
            shown.append(CREDENTIALS.sub("...", argument) if "://" in argument else argument)
    return ["discreet", *shown]


# --- memory that tables took while they were read


ALLOCATOR = "_RJEM_MALLOC_CONF"
"""Options of the allocator that polars brings along, which it reads when polars is first imported."""


def give_back() -> None:
    """Before polars is imported: what it frees goes to the system, unless the environment says otherwise.

    Polars keeps for seconds what it has freed. While a table is read in pieces that is more than the pieces: it comes
    to 145 MB instead of 42, for a quarter of a second of processor time in a million values.
    """
    os.environ.setdefault(ALLOCATOR, "dirty_decay_ms:0,muzzy_decay_ms:0")
