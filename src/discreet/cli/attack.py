"""`discreet attack`: what an observer who only has data learns from what was shown."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from discreet.batch.reading import ReadingOptions
from discreet.cli import options
from discreet.cli.inputs import in_options, slots_of
from discreet.cli.terminal import TERMINAL, note, percent, print_json, progress, table
from discreet.clock import Clock
from discreet.contexts import Day
from discreet.errors import DataError, PolicyError, did_you_mean

if TYPE_CHECKING:
    from discreet.data import Columns, EventColumns, Readings
    from discreet.evaluation.attack import Attack, Attacked
    from discreet.outputs import Output, Release
    from discreet.policy import Policy

NOT_TESTED = 3
"""The exit status where there was too little data to say anything of any secret."""

ENOUGH = "An attack takes at least 20 people, or some 30 days of one, on which each secret occurs and does not."


def attack(
    shown: Annotated[
        Path,
        typer.Argument(
            metavar="SHOWN", help="What was shown: a file of discreet release (.csv, .jsonl), or of discreet publish."
        ),
    ],
    truth: Annotated[
        Path, typer.Argument(metavar="TRUTH", help="What was true: the readings or events that it was made from.")
    ],
    policy: options.PolicyFile,
    split: Annotated[
        Literal["auto", "people", "days"],
        typer.Option(help="Judge on people never seen, or on other days; auto: on people, if there are 20."),
    ] = "auto",
    false_alarms: Annotated[
        float, typer.Option(metavar="RATE", help="How often a table that tells nothing may be called beyond.")
    ] = 0.01,
    seed: Annotated[int, typer.Option(help="Repeats the same attack.")] = 0,
    zone: Annotated[
        str, typer.Option(metavar="ZONE", help="The clock of the slots or events.", rich_help_panel=options.READING)
    ] = "UTC",
    cut: Annotated[
        str, typer.Option(metavar="HH:MM", help="Releases: where days are cut.", rich_help_panel=options.READING)
    ] = "00:00",
    carry: options.Carry = "4h",
    intervals: Annotated[
        str,
        typer.Option(metavar="RULE", help="Events: the parts of the day.", rich_help_panel=options.READING),
    ] = "night 00:00, morning 06:00, afternoon 12:00, evening 18:00",
    piece: options.Piece = 50,
    window: options.Window = None,
    places: options.PlacesFile = None,
    naive_zone: options.NaiveZone = None,
    skip_bad: options.SkipBad = False,
    user: options.UserColumn = "user",
    time: options.TimeColumn = "timestamp",
    context: options.ContextColumn = "context",
    start: options.StartColumn = None,
    end: options.EndColumn = None,
    location: Annotated[
        str, typer.Option("--location", metavar="COLUMN", help="Events: where.", rich_help_panel=options.COLUMNS)
    ] = "location",
    activity: Annotated[
        str, typer.Option("--activity", metavar="COLUMN", help="Events: doing what.", rich_help_panel=options.COLUMNS)
    ] = "activity",
    json: options.Json = False,
) -> None:
    """Attack what was shown as somebody would who has no model, only outputs and truth of other people or other days.

    They learn to guess each secret, and are judged on people or days held out. A secret is "beyond" if its claims prove
    a belief above prior + delta, where the prior is what the same observer believes who sees the hour and no output.
    Nothing is asked of the mechanism or its habits. Exits with status 1 if a secret is beyond, with 3 if there was too
    little data to test any. Needs discreet\\[attack].

    Example: discreet attack releases.csv readings.csv --policy examples/policy.toml --zone Europe/Paris
    """
    from discreet.data import Columns, EventColumns
    from discreet.evaluation.attack import attack as run_attack

    try:
        if _is_releases(shown):
            reading = _Readings(
                Columns(user or None, time, context, start, end), zone, cut, carry, naive_zone, skip_bad, places
            )
            given = reading.given(shown, truth, policy)
        else:
            events = EventColumns(user or None, time, location, activity)
            given = _Events(events, zone, intervals, options.piece_length(piece, window), naive_zone, skip_bad).given(
                shown, truth, policy
            )
    except DataError as error:
        raise DataError(in_options(str(error))) from None
    _tell(given, policy)
    with progress("attacking") as report:
        found = run_attack(
            given.days,
            given.outputs,
            given.policy,
            by_hour=given.by_hour,
            split=split,
            false_alarms=false_alarms,
            seed=seed,
            progress=report,
        )
    if json:
        print_json({**found.to_wire(), "left_out": given.left_out})
    else:
        _print(found, given)
    if found.found:
        raise typer.Exit(1)
    if all(secret.verdict == "not tested" for secret in found.secrets):
        note(f"no secret could be tested. {ENOUGH}")
        raise typer.Exit(NOT_TESTED)


# --- what was shown, beside what was true


@dataclass(frozen=True)
class _Given:
    """Days as they were and what was shown of each; `left_out` are days that only one of the files has whole."""

    days: list[Day]
    outputs: list[list[Output]]
    policy: Policy
    by_hour: bool
    left_out: int = 0
    bad_rows: int = 0


def _is_releases(path: Path) -> bool:
    """Whether the file is one of releases; else it is a table of events."""
    from discreet.data import open_source
    from discreet.data.releases import HEADER

    if path.name.lower().endswith((".jsonl", ".jsonl.gz")):
        return True
    return tuple(open_source(path).header) == HEADER


@dataclass(frozen=True)
class _Readings:
    """How releases and readings are read."""

    columns: Columns
    zone: str
    cut: str
    carry: str
    naive_zone: str | None
    skip_bad: bool
    places: Path | None = None

    def given(self, shown: Path, truth: Path, policy: Path) -> _Given:
        from discreet.data import read_releases

        rows = list(read_releases(shown))
        if not rows:
            raise DataError(f"{shown}: holds no release; give a file that discreet release has written")
        clock = Clock(1 + max(row.slot for row in rows), self.zone, self.cut)
        whole = _whole_days(shown, rows, clock)
        readings = self._read(truth, clock)
        _rename_the_only_one(whole, readings.people)
        days = [day for day in readings.days if (day.person, day.date) in whole]
        if not days:
            raise DataError(
                f"{shown}: none of its whole days is in {truth}; give the readings that were released, and --user"
            )
        return _Given(
            days,
            [whole[day.person, day.date] for day in days],
            _policy_on(policy, clock),
            by_hour=True,
            left_out=len({(row.person, row.date) for row in rows}) - len(days),
            bad_rows=readings.bad.count,
        )

    def _read(self, truth: Path, clock: Clock) -> Readings:
        """What was true: contexts of the table, or the places of --places that its positions are in."""
        from discreet.data import read_days

        if self.places is not None:
            reading = ReadingOptions(
                user=self.columns.user or "",
                time=self.columns.timestamp,
                context=self.columns.context,
                naive_zone=self.naive_zone,
                carry=self.carry,
                skip_bad=self.skip_bad,
                places=self.places,
            )
            return reading.read(truth, clock, listener=TERMINAL)
        with progress(f"reading {truth.name}") as report:
            return read_days(
                truth,
                clock,
                columns=self.columns,
                naive_zone=self.naive_zone,
                carry=slots_of(self.carry, clock),
                empty_days=True,
                skip_bad=self.skip_bad,
                progress=report,
            )


Whole = dict[tuple[str | None, dt.date | None], list["Output"]]
"""The outputs of whole days, by person and date."""


def _whole_days(path: Path, rows: Sequence[Release], clock: Clock) -> Whole:
    """Days with an output for every slot, if they are on this clock."""
    days: dict[tuple[str | None, dt.date | None], dict[int, Output]] = {}
    for row in rows:
        own = days.setdefault((row.person, row.date), {})
        if row.slot in own:
            raise DataError(f"{path}: slot {row.slot} of {row.date} is there twice; give each release once")
        if row.slot == 0 and row.start is not None and row.start != clock.start_of(row.date, 0):
            raise DataError(
                f"{path}: {row.date} starts at {row.start.isoformat()}, by --zone {clock.zone} --cut {clock.cut} at "
                f"{clock.start_of(row.date, 0).isoformat()}; give the zone and cut that the habits were learned with"
            )
        own[row.slot] = row.output
    return {key: [own[slot] for slot in range(clock.slots)] for key, own in days.items() if len(own) == clock.slots}


def _rename_the_only_one(whole: Whole, people: Mapping[str, object]) -> None:
    """Where both files are of one person, it is the same one, whatever they are called."""
    shown = {person for person, _ in whole}
    if len(shown) == len(people) == 1:
        (name,) = people
        for key in list(whole):
            whole[name, key[1]] = whole.pop(key)


def _policy_on(path: Path, clock: Clock) -> Policy:
    from discreet.policy import read_policy

    policy, own = read_policy(path, clock)
    if own != clock:
        raise PolicyError(f"{path}: its [clock] is {own}, the outputs are on {clock}; give the clock of the outputs")
    return policy


@dataclass(frozen=True)
class _Events:
    """How published and true events are read."""

    columns: EventColumns
    zone: str
    intervals: str
    piece_length: int | None
    naive_zone: str | None
    skip_bad: bool

    def given(self, shown: Path, truth: Path, policy: Path) -> _Given:
        from discreet.data import read_published, read_trajectories
        from discreet.events import Events, Intervals
        from discreet.policy import read_policy
        from discreet.publish.plan import checked_length, cut, policy_for

        checked_length(self.piece_length)
        rule = Intervals.of(self.intervals, self.zone)
        published = read_published(shown, self.columns)
        with progress(f"reading {truth.name}") as report:
            read = read_trajectories(
                truth, rule, columns=self.columns, naive_zone=self.naive_zone, skip_bad=self.skip_bad, progress=report
            )
        if self.columns.user is None:  # each file is one person's, named after itself
            published = {read.people[0]: next(iter(published.values()))}
        days: list[Day] = []
        outputs: list[list[Output]] = []
        for trajectory in read:
            rows = published.get(trajectory.person, [])
            if len(rows) != len(trajectory):
                raise DataError(
                    f"{shown}: has {len(rows)} rows of {trajectory.person!r}, and {truth} {len(trajectory)} events; "
                    "give the table that it was published from, whole"
                )
            done = 0
            for piece in cut(trajectory, self.piece_length):
                days.append(Day(tuple(event.label for event in piece.events), person=trajectory.person))
                outputs.append(list(rows[done : done + len(piece)]))
                done += len(piece)
        try:
            laid = policy_for(read_policy(policy)[0], Events.from_trajectories(read, occurring_only=True))
        except PolicyError as error:
            raise PolicyError(f"{policy}: {error}") from None
        return _Given(days, outputs, laid, by_hour=False, bad_rows=read.bad.count)


def _tell(given: _Given, policy: Path) -> None:
    """What was left out, and secrets that are nowhere in the truth, which may be mistyped."""
    if given.bad_rows:
        note(f"{given.bad_rows} bad rows were skipped")
    if given.left_out:
        note(f"{given.left_out} days were left out: not whole, or not in the truth")
    known = {context for day in given.days for context in day.contexts}
    for context in sorted(given.policy.contexts - known):
        note(f"{policy}: {context!r} is nowhere in the truth; {did_you_mean(context, known)}")


# --- what is printed


def _print(found: Attack, given: _Given) -> None:
    from discreet.factors import in_words

    slots, day = ("slots", "day") if given.by_hour else ("events", "piece")
    one, many = ("person", "people") if found.split == "people" else (day, f"{day}s")
    print(
        f"{found.slots} {slots} in {found.days} {day}s of {found.people} people. An observer without a model learned "
        f"from {found.learned} {many}, was calibrated on {found.calibrated} and judged on {found.judged} others.\n"
    )
    tested = [secret for secret in found.secrets if secret.verdict != "not tested"]
    if tested:
        header = ["secret", "", "right", "supported", "at most", "prior", "limit", "beyond", "true", "AUC", "blind"]
        print(table(header, [_line(secret) for secret in tested], left=2) + "\n")
        print(
            f"right: of the claims that it staked, one a {one}, so many were true; supported, at most: their share, "
            f"with confidence; prior, limit: of these claims, limit = prior + delta; beyond: {slots} in which it "
            "believes more than their limit, and those of them that are true; blind: the AUC of one who sees no output"
            "\n"
        )
    for secret in tested:
        print(f"{secret.name}: its claims' odds were at most {in_words(secret.odds)} those before")
    for secret in found.secrets:
        if secret.verdict == "not tested":
            print(f"{secret.name}: not tested: {secret.reason}")
        elif secret.verdict == "beyond":
            print(
                f"{secret.name}: BEYOND: what is shown supports a belief of {percent(secret.supported)}, and prior + "
                f"delta is {percent(secret.limit)}"
            )
    print(
        "A table that tells no more than its limits is called beyond, or one that tells more within, "
        f"{percent(found.false_alarms)} of the time at most. That this observer finds nothing does not say that "
        "nobody would."
    )


def _line(secret: Attacked) -> list[str]:
    numbers = (secret.supported, secret.at_most, secret.prior, secret.limit)
    return [
        secret.name,
        secret.verdict,
        f"{secret.right} of {secret.claims}",
        *(f"{number:.3f}" for number in numbers),
        str(secret.beyond),
        str(secret.beyond_true),
        f"{secret.auc:.3f}",
        f"{secret.auc_blind:.3f}",
    ]
