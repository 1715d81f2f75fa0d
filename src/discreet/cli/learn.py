"""`discreet learn`: a person's habits from their readings."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from discreet.cli import options
from discreet.cli.habits import (
    Summary,
    draw_truths,
    draw_weeks,
    hint_unknown,
    hint_unvisited,
    print_summaries,
    print_truths,
    summary_of,
)
from discreet.cli.inputs import ReadingOptions
from discreet.cli.known import Told, print_known
from discreet.cli.learners import (
    Anew,
    Found,
    Learner,
    More,
    declared_by,
    other_times,
    policy_of,
    read_routine,
    refuse,
    told_of,
)
from discreet.cli.people import Workers, each_person
from discreet.cli.terminal import note, print_json, progress
from discreet.cli.truth import AcceptModel, Picture, refused
from discreet.clock import Clock
from discreet.contexts import Day
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.evaluation.truth import Truth
    from discreet.models.rhythm import Rhythm

DAY_CLOCK = "The day's clock"
HABITS = "The kind of habits"


def learn(
    data: options.DataFile,
    out: Annotated[
        Path, typer.Option(metavar="PATH", help="Where the model goes; a folder where there are several people.")
    ],
    update: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="Add the days to this routine, by its own rules, instead of starting anew."),
    ] = None,
    slots: Annotated[
        int | None,
        typer.Option(help="Slots a day; 48 are half-hours.", show_default="48", rich_help_panel=DAY_CLOCK),
    ] = None,
    zone: Annotated[
        str | None,
        typer.Option(
            help="The person's time zone, such as Europe/Paris.", show_default="UTC", rich_help_panel=DAY_CLOCK
        ),
    ] = None,
    cut: Annotated[
        str | None,
        typer.Option(
            metavar="HH:MM",
            help="Where one day ends and the next begins.",
            show_default="00:00",
            rich_help_panel=DAY_CLOCK,
        ),
    ] = None,
    carry: options.Carry = "4h",
    merge_below: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Call contexts that fill less of the time 'other'.",
            rich_help_panel=options.READING,
        ),
    ] = 0.005,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONTEXT",
            help="Never merge this context, a secret for instance; in a routine it is there even if never visited. "
            "May be repeated.",
            rich_help_panel=options.READING,
        ),
    ] = None,
    secrets: Annotated[
        Path | None,
        typer.Option(
            metavar="POLICY", help="Keep every context that this policy file names.", rich_help_panel=options.READING
        ),
    ] = None,
    day_by_day: Annotated[
        bool,
        typer.Option(
            "--day-by-day/--routine",
            help="Habits of single days, or a routine of days without end, joined by nights.",
            rich_help_panel=HABITS,
        ),
    ] = False,
    weekparts: Annotated[
        bool | None,
        typer.Option(
            "--weekparts/--alike",
            help="Learn weekdays and weekends apart, or all days alike.",
            show_default="apart in a routine, alike day by day",
            rich_help_panel=HABITS,
        ),
    ] = None,
    smoothing: Annotated[
        Literal["calibrated", "auto", "none"] | None,
        typer.Option(
            help="auto: steps never seen at a slot are as likely as the person's average makes them; none: plain "
            "counts; calibrated, for routines: recent days count more, and habits that change claim less.",
            show_default="auto",
            rich_help_panel=HABITS,
        ),
    ] = None,
    floor: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="How much of everything a routine's rows are mixed with, so that nothing is impossible.",
            show_default="0.001",
            rich_help_panel=HABITS,
        ),
    ] = None,
    observers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Also make so many observers who may have learned the habits elsewhere; adaptive keeps its promise "
            "before each of them.",
            show_default="0",
            rich_help_panel=HABITS,
        ),
    ] = None,
    workers: Workers = 1,
    accept_model: AcceptModel = False,
    picture: Picture = None,
    chart: Annotated[
        Path | None,
        typer.Option(metavar="PNG", help="Draw where the time goes, by the hour, on weekdays and at weekends."),
    ] = None,
    person: options.Person = None,
    places: options.PlacesFile = None,
    naive_zone: options.NaiveZone = None,
    separator: options.Separator = None,
    time_format: options.TimeFormat = None,
    skip_bad: options.SkipBad = False,
    user: options.UserColumn = "user",
    time: options.TimeColumn = "timestamp",
    context: options.ContextColumn = "context",
    start: options.StartColumn = None,
    end: options.EndColumn = None,
    json: options.Json = False,
) -> None:
    """Learn a person's habits from a file of readings, and save them as a routine: days without end.

    Habits of the earlier days are held against the last fifth: the secrets of --secrets, or any context. Where they do
    not hold, it leaves with 1 and saves nothing, unless --accept-model is given.

    Example: discreet learn examples/readings.csv --zone Europe/Paris --keep hospital --out p01.model
    """
    from discreet.models.store import save_all

    reading = ReadingOptions(
        user, time, context, start, end, naive_zone, carry, skip_bad, person, separator, time_format, places
    )
    rules = {"smoothing": smoothing, "floor": floor, "weekparts": weekparts, "observers": observers}
    learner: Learner
    if update is None:
        clock = Clock(48 if slots is None else slots, zone or "UTC", cut or "00:00")
        named = policy_of(secrets, clock)
        learner = Anew(clock, declared_by(keep, named), named, day_by_day, **rules)  # type: ignore[arg-type]
    else:
        before = read_routine(update)
        refuse(update, **rules, **other_times(before.clock, slots=slots, zone=zone, cut=cut))
        named = policy_of(secrets, before.clock)
        learner = More(before, update, declared_by(keep, named), named)
    readings = reading.read(data, learner.clock, merge_below=merge_below, keep=learner.kept)
    files = _files(out, list(readings.people))
    models, summaries = {}, []
    truths: dict[Path, Truth] = {}
    weeks: dict[Path, Sequence[Rhythm]] = {}
    told: Told = {}
    work = partial(_learn, learner, secrets, accept_model)
    coming = ((name, files[name], days) for name, days in readings.people.items())
    with progress("learning") as report:
        for done, one in enumerate(each_person(work, coming, workers), 1):
            models[one.file], truths[one.file], weeks[one.file] = one.found.model, one.found.truth, one.week
            told = one.told
            summaries.append(one.summary)
            report(done, len(readings.people))
    hint_unvisited(learner.kept if update is None else (), readings.labels)
    hint_unknown(summaries, reading.carry)
    people = [one.person for one in summaries]
    no = any(refused(truth, accept_model) for truth in truths.values())
    draw_truths(picture, truths, people)
    draw_weeks(chart, weeks, summaries)
    if not no:
        save_all(out, models, {file: truth.summary() for file, truth in truths.items()}, reading.remembered())
    if json:
        bad = {"count": readings.bad.count, "first": list(readings.bad.first)}
        learned = [asdict(summary) for summary in summaries]
        print_json({"saved": not no, "rows": readings.rows, "bad_rows": bad, "people": learned})
    else:
        print_summaries(summaries, readings.rows, readings.bad)
        if len(summaries) == 1 and told:
            print()
            print_known(told, learner.clock)
        print_truths(truths, people, accept_model)
    if no:
        note(f"nothing was saved in {out}: the habits do not hold on held-out days")
        raise typer.Exit(1)


class _Learned(NamedTuple):
    """What came of one person."""

    file: Path
    found: Found
    told: Told
    week: Sequence[Rhythm]
    summary: Summary


def _learn(learner: Learner, secrets: Path | None, accepted: bool, person: tuple[str, Path, list[Day]]) -> _Learned:
    """One person's habits, and what is said of them."""
    from discreet.models.rhythm import rhythms

    name, file, days = person
    found = learner.learn(days)
    told = told_of(found.model, secrets, learner.clock)
    week = rhythms(found.days, learner.clock)
    summary = summary_of(name, file, found, learner.clock, told, week, accepted=accepted)
    return _Learned(file, found, told, week, summary)


def _files(out: Path, people: list[str]) -> dict[str, Path]:
    from discreet.models.store import files_for

    try:
        return files_for(out, people)
    except DiscreetError as error:
        raise DiscreetError(f"{error}, with --person") from None
