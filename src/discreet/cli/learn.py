"""`discreet learn`: a person's habits from their readings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

import typer

from discreet.cli import options
from discreet.cli.inputs import ReadingOptions, in_options
from discreet.cli.known import Told, known_json, print_known
from discreet.cli.terminal import note, percent, print_json, progress, table
from discreet.cli.truth import DAYS_REMEDY, AcceptModel, Picture, days_learned, draw, print_truth, refused, truth_json
from discreet.clock import Clock
from discreet.contexts import UNKNOWN, Day, shares
from discreet.errors import DiscreetError, PolicyError, did_you_mean

if TYPE_CHECKING:
    from discreet.data import BadRows
    from discreet.evaluation.truth import Truth
    from discreet.models.chain import MarkovChain
    from discreet.models.held_out import HeldOut
    from discreet.models.parts import AnyModel
    from discreet.models.routine import Routine
    from discreet.models.week import Models
    from discreet.policy import Policy

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
    accept_model: AcceptModel = False,
    picture: Picture = None,
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
        named = _policy(secrets, clock)
        learner = Anew(clock, _declared(keep, named), named, day_by_day, **rules)  # type: ignore[arg-type]
    else:
        before = _read_routine(update)
        _refuse(update, **rules, **_other_times(before.clock, slots=slots, zone=zone, cut=cut))
        named = _policy(secrets, before.clock)
        learner = More(before, update, _declared(keep, named), named)
    readings = reading.read(data, learner.clock, merge_below=merge_below, keep=learner.kept)
    files = _files(out, list(readings.people))
    models, summaries, truths = {}, [], {}
    told: Told = {}
    with progress("learning") as report:
        for done, (name, days) in enumerate(readings.people.items(), 1):
            found = learner.learn(days)
            models[files[name]] = found.model
            truths[files[name]] = found.truth
            told = _told(found.model, secrets, learner.clock)
            summaries.append(_summary(name, files[name], found, learner.clock, told, accept_model))
            report(done, len(readings.people))
    hint_unvisited(learner.kept if update is None else (), readings.labels)
    hint_unknown(summaries, reading.carry)
    no = any(refused(truth, accept_model) for truth in truths.values())
    _draw_all(picture, truths, [one.person for one in summaries])
    if not no:
        save_all(out, models, {file: truth.summary() for file, truth in truths.items()}, reading.remembered())
    if json:
        bad = {"count": readings.bad.count, "first": list(readings.bad.first)}
        people = [asdict(summary) for summary in summaries]
        print_json({"saved": not no, "rows": readings.rows, "bad_rows": bad, "people": people})
    else:
        _print(summaries, readings.rows, readings.bad)
        if len(summaries) == 1 and told:
            print()
            print_known(told, learner.clock)
        _print_truths(truths, [one.person for one in summaries], accept_model)
    if no:
        note(f"nothing was saved in {out}: the habits do not hold on held-out days")
        raise typer.Exit(1)


# --- what is learned


@dataclass(frozen=True)
class Found:
    """One person's model, the days that it learned, and how habits of the days before fare on the last ones."""

    model: MarkovChain | Models | Routine
    days: list[Day]
    last: HeldOut
    truth: Truth


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
    policy: Policy | None
    day_by_day: bool
    smoothing: Literal["calibrated", "auto", "none"] | None
    floor: float | None
    weekparts: bool | None
    observers: int | None

    def learn(self, days: list[Day]) -> Found:
        """The model of all days; one of the earlier ones is tried on the last."""
        from discreet.models.held_out import HeldOut, judged, split

        earlier, last = split(days)
        if not last:
            return Found(self._observed(days), days, HeldOut(0, None, None), _too_few())
        before = self._fit(earlier)
        on = f"the last {len(last)} days, by habits of the {len(earlier)} before,"
        truth = _truth(before, last, self.policy, on, len(earlier))
        return Found(self._observed(days), days, judged(before, last), truth)

    def _observed(self, days: Sequence[Day]) -> MarkovChain | Models | Routine:
        """The model, with its observers where they are asked for."""
        from discreet.models.observers import observers_of
        from discreet.models.routine import Routine

        model = self._fit(days)
        if not self.observers:
            return model
        if not isinstance(model, Routine):
            raise DiscreetError(
                "--observers are for routines, and --day-by-day learns single days; leave one of them out"
            )
        found = observers_of(model, days, self.observers, secrets=self.kept)
        if len(found) < self.observers:
            note(f"{len(days)} days make {len(found)} observers, not {self.observers}")
        return model.with_observers(found)

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
    policy: Policy | None

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
        on = f"the {len(new)} new days, by habits as they were before,"
        truth = _truth(self.before, new, self.policy, on, days_learned(self.before))
        return Found(model, new, judged(self.before, new), truth)


def _truth(
    before: MarkovChain | Models | Routine, last: Sequence[Day], policy: Policy | None, on: str, learned: int | None
) -> Truth:
    """Habits held against days that they have not learned."""
    from discreet.evaluation.truth import any_context, check_days

    labels = list(dict.fromkeys(label for one in _chains(before) for label in one.contexts))
    return check_days(
        before,
        last,
        any_context(labels) if policy is None or not policy.secrets else policy,
        on=on,
        held_out=True,
        learned_from=learned,
        remedy=DAYS_REMEDY,
    )


def _chains(model: MarkovChain | Models | Routine) -> list[MarkovChain]:
    from discreet.models.parts import parts_of

    return list(parts_of(model).values())  # type: ignore[arg-type]  # none of these is hidden


def _too_few() -> Truth:
    from discreet.evaluation.truth import FEWEST, Truth

    return Truth("held-out days", (), f"too few days (it takes {FEWEST} that are held out)", DAYS_REMEDY)


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


def _policy(secrets: Path | None, clock: Clock | None) -> Policy | None:
    from discreet.policy import read_policy

    return None if secrets is None else read_policy(secrets, clock)[0]


def _declared(keep: Sequence[str] | None, policy: Policy | None) -> tuple[str, ...]:
    named = frozenset() if policy is None else policy.contexts
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

MUCH_UNKNOWN = 0.2
"""A share of slots without a reading that is worth a word."""


def hint_unvisited(declared: Sequence[str], labels: Sequence[str]) -> None:
    """Say which declared contexts the table does not have: on purpose, or a slip that merges the real one."""
    for label in declared:
        if label not in labels:
            near = did_you_mean(label, labels)
            note(f"{label!r} is kept, and was never visited{f'; {near}' if near.startswith('did') else ''}")


def hint_unknown(summaries: Sequence[Summary], carry: str) -> None:
    """Say where of much time nothing is known."""
    for one in summaries:
        if (unknown := one.contexts.get(UNKNOWN, 0.0)) >= MUCH_UNKNOWN:
            note(
                f"{one.person}: {percent(unknown)} of the slots are unknown: a reading stands for {carry} (--carry). "
                "Where the data say changes only, as Home Assistant's history does, give --carry 24h or more"
            )


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
    observers: int  # who may have learned the habits elsewhere, kept with the model
    held_out_days: int
    held_out_impossible: float | None  # share of the held-out steps that have probability zero
    held_out_log_likelihood: float | None  # natural logarithm, mean of the steps that are possible
    known: list[dict[str, object]]  # what habits alone tell of each secret
    truth: dict[str, Any]  # whether the habits hold on the held-out days


def _summary(person: str, file: Path, found: Found, clock: Clock, told: Told, accepted: bool) -> Summary:
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
        observers=len(getattr(found.model, "observers", ())),
        held_out_days=last.days,
        held_out_impossible=last.impossible,
        held_out_log_likelihood=last.log_likelihood,
        known=known_json(told),
        truth=truth_json(found.truth, accepted),
    )


def _files(out: Path, people: list[str]) -> dict[str, Path]:
    from discreet.models.store import files_for

    try:
        return files_for(out, people)
    except DiscreetError as error:
        raise DiscreetError(f"{error}, with --person") from None


def _draw_all(picture: Path | None, truths: Mapping[Path, Truth], people: Sequence[str]) -> None:
    """A picture of one person as named, of several with their names in the names of the files."""
    if picture is None:
        return
    for person, (file, truth) in zip(people, truths.items(), strict=True):
        own = picture if len(people) == 1 else picture.with_stem(f"{picture.stem}-{file.stem}")
        draw(own, truth, f"{person}: where habits say 10 %, is it 10 %?")


def _print_truths(truths: Mapping[Path, Truth], people: Sequence[str], accepted: bool) -> None:
    if len(people) == 1:
        print()
        print_truth(next(iter(truths.values())), accepted)
        return
    word = {True: "holds", False: "does not hold", None: "not tested"}
    print("\nAre the habits true of the last fifth of the days?")
    for person, truth in zip(people, truths.values(), strict=True):
        print(f"{person}: {word[truth.holds]}: {truth.figure}")
    if any(truth.holds is False for truth in truths.values()):
        print(f"What to do: {DAYS_REMEDY}" + ("" if accepted else "; or go on all the same, with --accept-model"))


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
    print(f"{one.person}: {one.days} days, {one.first} to {one.last}, for {one.model}")
    print(f"Clock: {one.clock['slots']} slots a day, {one.clock['zone']}, days cut at {one.clock['cut']}\n")
    print(table(["context", "share"], [[label, percent(share)] for label, share in one.contexts.items()]))
    print()
    if one.observers:
        print(f"With {one.observers} observers who may have learned the habits elsewhere\n")
    if one.held_out_impossible is None:
        print("too few days to hold some out; from three on, the last fifth is predicted from the others")
        return
    likelihood = one.held_out_log_likelihood
    print(f"The last {one.held_out_days} days, by a model of the earlier ones:")
    print(f"  held impossible       {percent(one.held_out_impossible)} of the steps")
    print(f"  log-likelihood        {'-' if likelihood is None else f'{likelihood:.3f}'} a step, over the others")
