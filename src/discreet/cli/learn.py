"""`discreet learn`: a person's habits from their readings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Protocol

import typer

from discreet.cli import options
from discreet.cli.inputs import ReadingOptions, in_options
from discreet.cli.known import Told, known_json, print_known
from discreet.cli.terminal import note, percent, print_json, progress, table
from discreet.clock import Clock
from discreet.contexts import Day, shares
from discreet.errors import DiscreetError, PolicyError

if TYPE_CHECKING:
    from discreet.data import BadRows
    from discreet.models.chain import MarkovChain
    from discreet.models.held_out import HeldOut
    from discreet.models.parts import AnyModel
    from discreet.models.routine import Routine
    from discreet.models.week import Models

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
    """Learn a person's habits from a file of readings, and save them as a routine: days without end.

    Example: discreet learn examples/readings.csv --zone Europe/Paris --keep hospital --out p01.model
    """
    from discreet.models.store import save_all

    reading = ReadingOptions(user, time, context, start, end, naive_zone, carry, skip_bad, person)
    rules = {"smoothing": smoothing, "floor": floor, "weekparts": weekparts}
    learner: Learner
    if update is None:
        clock = Clock(48 if slots is None else slots, zone or "UTC", cut or "00:00")
        learner = Anew(clock, _declared(keep, secrets, clock), day_by_day, **rules)  # type: ignore[arg-type]
    else:
        before = _read_routine(update)
        _refuse(update, **rules, **_other_times(before.clock, slots=slots, zone=zone, cut=cut))
        learner = More(before, update, _declared(keep, secrets, before.clock))
    readings = reading.read(data, learner.clock, merge_below=merge_below, keep=learner.kept)
    files = _files(out, list(readings.people))
    models, summaries = {}, []
    told: Told = {}
    with progress("learning") as report:
        for done, (name, days) in enumerate(readings.people.items(), 1):
            found = learner.learn(days)
            models[files[name]] = found.model
            told = _told(found.model, secrets, learner.clock)
            summaries.append(_summary(name, files[name], found, learner.clock, told))
            report(done, len(readings.people))
    save_all(out, models)
    if json:
        bad = {"count": readings.bad.count, "first": list(readings.bad.first)}
        print_json({"rows": readings.rows, "bad_rows": bad, "people": [asdict(summary) for summary in summaries]})
    else:
        _print(summaries, readings.rows, readings.bad)
        if len(summaries) == 1 and told:
            print()
            print_known(told, learner.clock)


# --- what is learned


@dataclass(frozen=True)
class Found:
    """One person's model, the days that it learned, and how a model of the days before fares on the last ones."""

    model: MarkovChain | Models | Routine
    days: list[Day]
    last: HeldOut


class Learner(Protocol):
    """Learns each person's days, cut by its clock; the contexts `kept` are not merged."""

    @property
    def clock(self) -> Clock:
        """How the days are cut."""

    @property
    def kept(self) -> Sequence[str]:
        """Contexts that stay what they are, however rare."""

    def learn(self, days: list[Day]) -> Found:
        """The habits of one person."""


@dataclass(frozen=True)
class Anew:
    """Habits from these days alone, by the rules that options give."""

    clock: Clock
    kept: Sequence[str]
    day_by_day: bool
    smoothing: Literal["calibrated", "auto", "none"] | None
    floor: float | None
    weekparts: bool | None

    def learn(self, days: list[Day]) -> Found:
        """The model of all days; one of the earlier ones is tried on the last."""
        from discreet.models.held_out import held_out

        return Found(self._fit(days), days, held_out(days, self._fit))

    def _fit(self, days: Sequence[Day]) -> MarkovChain | Models | Routine:
        from discreet.models.chain import MarkovChain
        from discreet.models.learn_routine import FLOOR
        from discreet.models.routine import Routine

        smoothing = self.smoothing or "auto"
        if not self.day_by_day:
            by = None if self.weekparts is False else "weekpart"
            floor = FLOOR if self.floor is None else self.floor
            return Routine.fit(days, by, smoothing, floor, secrets=self.kept, clock=self.clock)  # type: ignore[arg-type]
        if smoothing == "calibrated":
            raise DiscreetError(
                "--smoothing calibrated is for routines, and --day-by-day learns single days; leave one of them out"
            )
        if self.floor is not None:
            raise DiscreetError("--floor is for routines, and --day-by-day learns single days; leave one of them out")
        if self.weekparts:
            return MarkovChain.fit(days, smoothing, by="weekpart", clock=self.clock)
        return MarkovChain.fit(days, smoothing, clock=self.clock)


@dataclass(frozen=True)
class More:
    """Days added to a routine, by the rules that it was learned with; those that it learned before are left out."""

    before: Routine
    file: Path
    declared: Sequence[str]

    @property
    def clock(self) -> Clock:
        """The routine's."""
        if self.before.clock is None:
            raise DiscreetError(f"{self.file}: the routine carries no clock; make it with discreet learn")
        return self.before.clock

    @property
    def kept(self) -> Sequence[str]:
        """Contexts of the routine stay what they are."""
        return (*self.declared, *self.before.contexts)

    def learn(self, days: list[Day]) -> Found:
        """The routine with the new days; as it was before, it is tried on them."""
        from discreet.models.held_out import judged

        learned = self.before.learned
        until = {} if learned is None else learned.until
        new = [
            day for day in days if day.date is not None and (day.person not in until or day.date > until[day.person][0])
        ]
        if not new:
            raise DiscreetError(f"{self.file}: all {len(days)} days were learned before; give a file with later ones")
        model = self.before.updated(new, secrets=self.declared)
        if len(new) < len(days):
            note(f"{len(days) - len(new)} days up to {days[len(days) - len(new) - 1].date} were learned before")
        return Found(model, new, judged(self.before, new))


def _read_routine(path: Path) -> Routine:
    from discreet.models.routine import Routine
    from discreet.models.store import load

    model = load(path)
    if not isinstance(model, Routine):
        raise DiscreetError(f"{path}: is no routine, so --update cannot add days to it; learn anew from all days")
    return model


def _other_times(clock: Clock | None, **given: object) -> dict[str, object]:
    """The options that say other times than the clock."""
    return {name: value for name, value in given.items() if value is not None and value != getattr(clock, name, None)}


def _refuse(update: Path, **given: object) -> None:
    for name, value in given.items():
        if value is not None:
            option = {"weekparts": "--weekparts or --alike"}.get(name, f"--{name}")
            raise DiscreetError(
                f"{update}: an update goes by the clock and the rules that the routine was learned with; "
                f"leave {option} out, or learn anew from all days"
            )


def _declared(keep: Sequence[str] | None, secrets: Path | None, clock: Clock | None) -> tuple[str, ...]:
    from discreet.policy import read_policy

    named = frozenset() if secrets is None else read_policy(secrets, clock)[0].contexts
    return tuple(sorted(named.union(keep or ())))


def _told(model: AnyModel, secrets: Path | None, clock: Clock) -> Told:
    """What the habits tell of each secret; of none where no policy is given, or the model has no place for it."""
    from discreet.adversary.known import known
    from discreet.policy import read_policy

    if secrets is None:
        return {}
    try:
        return known(model, read_policy(secrets, clock)[0])
    except PolicyError as error:
        note(f"{secrets}: what habits alone tell of its secrets cannot be said: {in_options(str(error))}")
        return {}


# --- what is said of it


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
    known: list[dict[str, object]]  # what habits alone tell of each secret


def _summary(person: str, file: Path, found: Found, clock: Clock, told: Told) -> Summary:
    days, last, seen = found.days, found.last, shares(found.days)
    unseen = [] if isinstance(found.model, Mapping) else [label for label in found.model.contexts if label not in seen]
    return Summary(
        person=person,
        model=str(file),
        days=len(days),
        first=str(days[0].date),
        last=str(days[-1].date),
        clock={"slots": clock.slots, "zone": clock.zone, "cut": clock.cut},
        contexts=seen | dict.fromkeys(unseen, 0.0),
        held_out_days=last.days,
        held_out_impossible=last.impossible,
        held_out_log_likelihood=last.log_likelihood,
        known=known_json(told),
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
