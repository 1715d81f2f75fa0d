"""`discreet learn`: a person's habits from their readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from discreet.cli import options
from discreet.cli.inputs import ReadingOptions
from discreet.cli.terminal import note, percent, print_json, progress, table
from discreet.clock import Clock
from discreet.contexts import Day, shares
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.data import BadRows
    from discreet.models.held_out import HeldOut

DAY_CLOCK = "The day's clock"


def learn(
    data: options.DataFile,
    out: Annotated[
        Path, typer.Option(metavar="PATH", help="Where the model goes; a folder where there are several people.")
    ],
    slots: Annotated[int, typer.Option(help="Slots a day; 48 are half-hours.", rich_help_panel=DAY_CLOCK)] = 48,
    zone: Annotated[
        str, typer.Option(help="The person's time zone, such as Europe/Paris.", rich_help_panel=DAY_CLOCK)
    ] = "UTC",
    cut: Annotated[
        str, typer.Option(metavar="HH:MM", help="Where one day ends and the next begins.", rich_help_panel=DAY_CLOCK)
    ] = "00:00",
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
            help="Never merge this context, a secret for instance; may be repeated.",
            rich_help_panel=options.READING,
        ),
    ] = None,
    smoothing: Annotated[
        Literal["auto", "none"],
        typer.Option(
            help="auto: steps never seen at a slot are as likely as the person's average makes them; "
            "none: plain counts."
        ),
    ] = "auto",
    weekparts: Annotated[bool, typer.Option("--weekparts", help="Learn weekdays and weekends apart.")] = False,
    person: options.Person = None,
    naive_zone: options.NaiveZone = None,
    skip_bad: options.SkipBad = False,
    user: options.UserColumn = "user",
    time: options.TimeColumn = "timestamp",
    context: options.ContextColumn = "context",
    start: options.StartColumn = None,
    end: options.EndColumn = None,
    json: options.Json = False,
) -> None:
    """Learn a person's habits from a file of readings, and save them as a model.

    Example: discreet learn examples/readings.csv --zone Europe/Paris --keep hospital --out p01.model
    """
    from discreet.models.chain import MarkovChain
    from discreet.models.held_out import held_out
    from discreet.models.store import save_all

    reading = ReadingOptions(user, time, context, start, end, naive_zone, carry, skip_bad, person)
    clock = Clock(slots, zone, cut)
    readings = reading.read(data, clock, merge_below=merge_below, keep=keep or ())
    fit = partial(MarkovChain.fit, smoothing=smoothing, by="weekpart" if weekparts else None, clock=clock)
    files = _files(out, list(readings.people))
    models, summaries = {}, []
    with progress("learning") as report:
        for done, (name, days) in enumerate(readings.people.items(), 1):
            models[files[name]] = fit(days)
            summaries.append(_summary(name, files[name], days, clock, held_out(days, fit)))
            report(done, len(readings.people))
    save_all(out, models)
    if json:
        bad = {"count": readings.bad.count, "first": list(readings.bad.first)}
        print_json({"rows": readings.rows, "bad_rows": bad, "people": [asdict(summary) for summary in summaries]})
    else:
        _print(summaries, readings.rows, readings.bad)


@dataclass(frozen=True)
class Summary:
    """What was learned of one person, and how a model of the earlier days fares on the last ones."""

    person: str
    model: str
    days: int
    first: str
    last: str
    clock: dict[str, str | int]
    contexts: dict[str, float]  # share of the slots
    held_out_days: int
    held_out_impossible: float | None  # share of the held-out steps that have probability zero
    held_out_log_likelihood: float | None  # natural logarithm, mean of the steps that are possible


def _summary(person: str, file: Path, days: list[Day], clock: Clock, last: HeldOut) -> Summary:
    return Summary(
        person=person,
        model=str(file),
        days=len(days),
        first=str(days[0].date),
        last=str(days[-1].date),
        clock={"slots": clock.slots, "zone": clock.zone, "cut": clock.cut},
        contexts=shares(days),
        held_out_days=last.days,
        held_out_impossible=last.impossible,
        held_out_log_likelihood=last.log_likelihood,
    )


def _files(out: Path, people: list[str]) -> dict[str, Path]:
    from discreet.models.store import files_for

    try:
        return files_for(out, people)
    except DiscreetError as error:
        raise DiscreetError(f"{error}, with --person") from None


def _print(summaries: Sequence[Summary], rows: int, bad: BadRows) -> None:
    if len(summaries) == 1:
        _print_one(summaries[0])
    else:
        lines = [
            [
                one.person,
                str(one.days),
                str(len(one.contexts)),
                "-" if one.held_out_impossible is None else percent(one.held_out_impossible),
                "-" if one.held_out_log_likelihood is None else f"{one.held_out_log_likelihood:.3f}",
                one.model,
            ]
            for one in summaries
        ]
        print(table(["person", "days", "contexts", "impossible", "log-likelihood", "model"], lines))
        print("\nimpossible, log-likelihood: of the last fifth of the days, by a model of the earlier ones, per step")
    print(f"\n{rows} rows read, {bad.count} skipped")
    for fault in bad.first:
        note(f"skipped: {fault}")


def _print_one(one: Summary) -> None:
    print(f"{one.person}: {one.days} days, {one.first} to {one.last}, saved as {one.model}")
    print(f"Clock: {one.clock['slots']} slots a day, {one.clock['zone']}, days cut at {one.clock['cut']}\n")
    print(table(["context", "share"], [[label, percent(share)] for label, share in one.contexts.items()]))
    print()
    if one.held_out_impossible is None:
        print("too few days to hold some out; from three on, the last fifth is predicted from the others")
        return
    likelihood = one.held_out_log_likelihood
    print(f"The last {one.held_out_days} days, by a model of the earlier ones:")
    print(f"  held impossible       {percent(one.held_out_impossible)} of the steps")
    print(f"  log-likelihood        {'-' if likelihood is None else f'{likelihood:.3f}'} a step, over the others")
