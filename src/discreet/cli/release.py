"""`discreet release`: what applications may see, from a file or line by line."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options
from discreet.cli.inputs import (
    Maker,
    ReadingOptions,
    ends_at_midnight,
    read_model,
    read_policy_for,
    read_spec,
    slots_of,
)
from discreet.cli.live import Lines, Now, by_lines, by_the_clock, keep, opened, utc_now
from discreet.cli.terminal import note, print_json, progress
from discreet.cli.truth import warn
from discreet.errors import DiscreetError
from discreet.outputs import Release, text_of

if TYPE_CHECKING:
    from discreet.live import Stream

STDIN = Path("-")


def release(
    model: options.ModelFile,
    policy: options.PolicyFile,
    mechanism: options.MechanismName = options.DEFAULT,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="[DATA]",
            help="A file of readings as for learn, each day of which is released; or - for standard input, "
            "one context a line and slot, an empty line where there is no reading.",
        ),
    ] = STDIN,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write .csv, .jsonl (or .gz of them) or .parquet instead of stdout."),
    ] = None,
    date: Annotated[
        str | None,
        typer.Option(metavar="YYYY-MM-DD", help="The day on which standard input starts; today unless given."),
    ] = None,
    now: Annotated[
        bool,
        typer.Option(
            "--now",
            help="Standard input goes by the clock: it starts at the present slot, and each slot's output comes when "
            "it ends, of the last line until then.",
        ),
    ] = False,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep where standard input's stream is, and go on from there if the file is there. It holds the last "
            "readings: keep it to yourself.",
        ),
    ] = None,
    option: options.MechanismOptions = None,
    person: options.Person = None,
    carry: options.LearnedCarry = None,
    places: options.PlacesFile = None,
    naive_zone: options.NaiveZone = None,
    separator: options.Separator = None,
    time_format: options.TimeFormat = None,
    skip_bad: options.SkipBad = False,
    user: options.LearnedUser = None,
    time: options.LearnedTime = None,
    context: options.LearnedContext = None,
    start: options.StartColumn = None,
    end: options.EndColumn = None,
    json: options.Json = False,
) -> None:
    """Decide slot by slot what applications may see of a person's day.

    From standard input each line is answered at once, so that it can stand in a pipe: the context that is shown, or an
    empty line for silence; with --json one object a line. After the day's last slot comes the next day's first. With
    --now slots follow the clock instead, and with --state FILE the stream goes on after a restart. Of a routine,
    adaptive and dphmm release days without end: what they promise holds over midnight. Others start anew.

    Example: discreet release --model p01.model --policy examples/policy.toml today.csv
    """
    from discreet.live import Stream, span
    from discreet.models.parts import parts_of

    spec = read_spec(mechanism, option)
    habits = read_model(model)
    warn(model)
    make = Maker(spec, read_policy_for(policy, habits))
    reading = ReadingOptions.as_learned(
        model,
        user=user,
        time=time,
        context=context,
        start=start,
        end=end,
        naive_zone=naive_zone,
        carry=carry,
        skip_bad=skip_bad,
        person=person,
        separator=separator,
        time_format=time_format,
        places=places,
    )
    carried = 0 if places else slots_of(reading.carry, habits.clock)  # on a map, positions stand by the rule of places
    if data == STDIN:
        if places is not None:
            raise DiscreetError("--places is for a file of positions; standard input has one context a line and slot")
        if out is not None:
            raise DiscreetError("--out is for files of readings; redirect what comes from standard input with >")
        if not json:
            _check_lines(label for part in parts_of(habits).values() for label in part.contexts)
            _check_lines(_texts(spec.options))
        clock = utc_now if now else None
        with opened(habits, make, carry=carried, date=date, now=clock, state=state) as stream:
            lines = by_lines(stream) if clock is None else _by_the_clock(stream, clock)
            _answer(lines, stream, state, json)
        _tell(stream, spec.name, 0)
        return
    for given, name in ((date, "--date"), (now, "--now"), (state, "--state")):
        if given:
            raise DiscreetError(f"{name} is for standard input, and {data} has its own dates; leave it out")
    # The stream carries readings itself, over dates without any too: a file and a pipe release alike.
    days, readings = (reading if places else replace(reading, carry="0")).read_one(data, habits)
    first, dates = span(days)
    with Stream(habits, make, start=first, carry=carried, person=days[0].person) as stream:
        rows = _followed(stream.releases(days), dates * stream.slots)
        _write(rows, dates, spec.name, out, json)
    _tell(stream, spec.name, readings.bad.count)


def _by_the_clock(stream: Stream, now: Now) -> Iterator[Release]:
    assert stream.clock is not None  # `opened` has seen to it
    return by_the_clock(stream, stream.clock, Lines(sys.stdin), now)


def _check_lines(labels: Iterable[str]) -> None:
    """Refuse labels that would take more than a line: whoever reads the answers counts slots by lines."""
    for label in labels:
        if label.splitlines() not in ([label], []):
            raise DiscreetError(
                f"label {label!r} has a line break, and each line of standard output is one slot; use --json, or "
                "rename the label"
            )


def _texts(option: object) -> Iterator[str]:
    """Every text in the mechanism's options: nodes of a hierarchy are output too."""
    if isinstance(option, str):
        yield option
    elif isinstance(option, Mapping):
        for key, value in option.items():
            yield key
            yield from _texts(value)
    elif isinstance(option, tuple):
        for value in option:
            yield from _texts(value)


def _answer(rows: Iterator[Release], stream: Stream, state: Path | None, json: bool) -> None:
    """A line a slot, flushed: whoever waits for the output has it. Kept first: what was drawn is never drawn again."""
    for released in rows:
        keep(stream, state)
        print(released.to_json() if json else text_of(released.output), flush=True)


def _followed(rows: Iterator[Release], total: int) -> Iterator[Release]:
    with progress("releasing") as report:
        for done, row in enumerate(rows, 1):
            yield row
            report(done, total)


def _write(rows: Iterator[Release], days: int, mechanism: str, out: Path | None, json: bool) -> None:
    from discreet.data.releases import print_releases, write_releases

    if out is not None:
        written = write_releases(out, rows)
        if json:
            print_json({"mechanism": mechanism, "days": days, "releases": written, "out": str(out)})
        else:
            print(f"{written} outputs of {days} days, by {mechanism}, in {out}")
    elif json:
        print_json({"mechanism": mechanism, "days": days, "releases": [row.to_wire() for row in rows]})
    else:
        print_releases(sys.stdout, rows)


def _tell(stream: Stream, name: str, skipped: int) -> None:
    """What only the person may know goes to stderr."""
    from discreet.models.routine import Routine

    if isinstance(stream.model, Routine) and not stream.endless:
        note(ends_at_midnight(name))
    if skipped:
        note(f"{skipped} bad rows were skipped")
    if stream.off_model:
        note(f"off model: {stream.off_model} (readings the model has no place for; said here only, not on stdout)")
