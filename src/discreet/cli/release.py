"""`discreet release`: what applications may see, from a file or line by line."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Iterable, Iterator, Mapping
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
from discreet.cli.terminal import note, print_json, progress
from discreet.cli.truth import warn
from discreet.errors import DiscreetError
from discreet.outputs import Release, text_of

if TYPE_CHECKING:
    from discreet.clock import Clock
    from discreet.live import Stream

STDIN = Path("-")


def release(
    model: options.ModelFile,
    policy: options.PolicyFile,
    mechanism: options.MechanismName,
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
    option: options.MechanismOptions = None,
    person: options.Person = None,
    carry: options.Carry = "4h",
    places: options.PlacesFile = None,
    naive_zone: options.NaiveZone = None,
    skip_bad: options.SkipBad = False,
    user: options.UserColumn = "user",
    time: options.TimeColumn = "timestamp",
    context: options.ContextColumn = "context",
    start: options.StartColumn = None,
    end: options.EndColumn = None,
    json: options.Json = False,
) -> None:
    """Decide slot by slot what applications may see of a person's day.

    From standard input each line is answered at once, so that it can stand in a pipe: the context that is shown, or an
    empty line for silence; with --json one object a line. After the day's last slot comes the next day's first. Of a
    routine, adaptive and dphmm release days without end: what they promise holds over midnight. Others start anew.

    Example: discreet release --model p01.model --policy examples/policy.toml --mechanism mask-sensitive today.csv
    """
    from discreet.live import Stream, span
    from discreet.models.parts import parts_of

    spec = read_spec(mechanism, option)
    habits = read_model(model)
    warn(model)
    make = Maker(spec, read_policy_for(policy, habits))
    carried = 0 if places else slots_of(carry, habits.clock)  # on a map, positions stand by the rule of places
    if data == STDIN:
        if places is not None:
            raise DiscreetError("--places is for a file of positions; standard input has one context a line and slot")
        if out is not None:
            raise DiscreetError("--out is for files of readings; redirect what comes from standard input with >")
        if not json:
            _check_lines(label for part in parts_of(habits).values() for label in part.contexts)
            _check_lines(_texts(spec.options))
        with Stream(habits, make, start=_first_date(date, habits.clock), carry=carried) as stream:
            _answer(stream, json)
        _tell(stream, spec.name, 0)
        return
    # The stream carries readings itself, over dates without any too: a file and a pipe release alike.
    reading = ReadingOptions(
        user, time, context, start, end, naive_zone, carry if places else "0", skip_bad, person, places
    )
    days, readings = reading.read_one(data, habits)
    first, dates = span(days)
    with Stream(habits, make, start=first, carry=carried, person=days[0].person) as stream:
        rows = _followed(stream.releases(days), dates * stream.slots)
        _write(rows, dates, spec.name, out, json)
    _tell(stream, spec.name, readings.bad.count)


def _first_date(date: str | None, clock: Clock | None) -> dt.date:
    if date is None:
        now = dt.datetime.now(dt.UTC)
        return now.date() if clock is None else clock.locate(now)[0]
    try:
        return dt.date.fromisoformat(date)
    except ValueError:
        raise DiscreetError(f"--date is {date!r}; write it as YYYY-MM-DD") from None


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


def _answer(stream: Stream, json: bool) -> None:
    """One line in, one line out, flushed: whoever waits for the output has it before the next input."""
    if sys.stdin.isatty():
        note("one context a line and slot, an empty line where there is no reading; Ctrl-D ends")
    for line in iter(sys.stdin.readline, ""):
        released = stream.release(line.strip() or None)
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
