"""`discreet release`: what applications may see, from a file or line by line."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.inputs import Habits, ReadingOptions, kebab, make_mechanism, read_habits, read_policy_for, slots_of
from discreet.cli.terminal import note, print_json, progress
from discreet.contexts import UNKNOWN, Carry, Day
from discreet.errors import DiscreetError
from discreet.outputs import Release, text_of

if TYPE_CHECKING:
    from discreet.adversary.belief import Adversary
    from discreet.contracts import Mechanism
    from discreet.session import Session

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
    empty line for silence; with --json one object a line. After the day's last slot a new day starts.

    Example: discreet release --model p01.model --policy examples/policy.toml --mechanism mask-sensitive today.csv
    """
    habits = read_habits(model)
    gate = _Gate(habits, [mechanism, *(option or ())], policy)
    if data == STDIN:
        if out is not None:
            raise DiscreetError("--out is for files of readings; redirect what comes from standard input with >")
        first = _first_date(date, habits)
        carried = Carry(0 if habits.clock is None else slots_of(carry, habits.clock))
        if sys.stdin.isatty():
            note("one context a line and slot, an empty line where there is no reading; Ctrl-D ends")
        _stream(gate, first, carried, json)
        gate.tell(0)
        return
    reading = ReadingOptions(user, time, context, start, end, naive_zone, carry, skip_bad, person)
    days, readings = reading.read_one(data, habits)
    rows = gate.rows(days)
    if out is not None:
        from discreet.data import write_releases

        written = write_releases(out, rows)
        if json:
            print_json({"mechanism": kebab(mechanism), "days": len(days), "releases": written, "out": str(out)})
        else:
            print(f"{written} outputs of {len(days)} days, by {kebab(mechanism)}, in {out}")
    elif json:
        print_json({"mechanism": kebab(mechanism), "days": len(days), "releases": [row.to_wire() for row in rows]})
    else:
        from discreet.data.releases import print_releases

        print_releases(sys.stdout, rows)
    gate.tell(readings.bad.count)


class _Gate:
    """The mechanism of each part of the week, drawing from the operating system's entropy."""

    def __init__(self, habits: Habits, mechanism: list[str], policy: Path) -> None:
        from discreet.adversary.belief import Adversary

        name, *given = mechanism
        secrets = read_policy_for(policy, habits)
        self.habits = habits
        self.off_model = 0
        self._parts: dict[str | None, tuple[Mechanism[Any], Adversary]] = {}
        for part, model in habits.parts.items():
            made = make_mechanism(name, model, secrets, given)
            self._parts[part] = made, Adversary(made)

    def session(self, day: Day) -> Session:
        """A new day."""
        from discreet.session import Session

        mechanism, adversary = self._parts[self.habits.part_of(day)]
        return Session(mechanism, adversary=adversary)

    def rows(self, days: list[Day]) -> Iterator[Release]:
        """Every slot of every day."""
        clock = self.habits.clock
        with progress("releasing") as report:
            for done, day in enumerate(days, 1):
                if day.date is None:
                    raise DiscreetError("a day of the data has no date; give timestamps")
                with self.session(day) as session:
                    for slot, context in enumerate(day.contexts):
                        start = None if clock is None else clock.start_of(day.date, slot)
                        yield Release(day.person, day.date, slot, start, session.release(context))
                    self.off_model += session.off_model
                report(done, len(days))

    def tell(self, skipped: int) -> None:
        """What only the person may know goes to stderr."""
        if skipped:
            note(f"{skipped} bad rows were skipped")
        if self.off_model:
            note(f"off model: {self.off_model} (readings the model has no place for; said here only, not on stdout)")


def _first_date(date: str | None, habits: Habits) -> dt.date:
    if date is None:
        now = dt.datetime.now(dt.UTC)
        return now.date() if habits.clock is None else habits.clock.locate(now)[0]
    try:
        return dt.date.fromisoformat(date)
    except ValueError:
        raise DiscreetError(f"--date is {date!r}; write it as YYYY-MM-DD") from None


def _stream(gate: _Gate, date: dt.date, carried: Carry, json: bool) -> None:
    """One line in, one line out, flushed: whoever waits for the output has it before the next input."""
    clock = gate.habits.clock
    lines = iter(sys.stdin.readline, "")
    for line in lines:
        with gate.session(Day(("today",), date=date)) as session:
            for slot, reading in enumerate(chain([line], islice(lines, session.mechanism.model.slots - 1))):
                context = carried.over(reading.strip() or UNKNOWN)
                output = session.release(None if context == UNKNOWN else gate.habits.fitted(context))
                start = None if clock is None else clock.start_of(date, slot)
                print(Release(None, date, slot, start, output).to_json() if json else text_of(output), flush=True)
        gate.off_model += session.off_model
        date += dt.timedelta(days=1)
