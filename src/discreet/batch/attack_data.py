"""What was shown, beside what was true: days or pieces of two files, for an attack by data alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.batch.reading import ReadingOptions
from discreet.clock import Clock
from discreet.contexts import Day
from discreet.errors import DataError, PolicyError, did_you_mean
from discreet.listener import NOBODY, Listener, Note

if TYPE_CHECKING:
    from discreet.data import EventColumns
    from discreet.outputs import Output, Release
    from discreet.policy import Policy


@dataclass(frozen=True)
class ShownDays:
    """Days as they were and what was shown of each; `left_out` are days that only one of the files has whole."""

    days: list[Day]
    outputs: list[list[Output]]
    policy: Policy
    by_hour: bool
    left_out: int = 0
    bad_rows: int = 0


def is_releases(path: Path) -> bool:
    """Whether the file is one of releases; else it is a table of events."""
    from discreet.data import open_source
    from discreet.data.releases import HEADER

    if path.name.lower().endswith((".jsonl", ".jsonl.gz")):
        return True
    return tuple(open_source(path).header) == HEADER


@dataclass(frozen=True)
class ReleasedReadings:
    """How releases and readings are read."""

    reading: ReadingOptions
    zone: str
    cut: str

    def given(self, shown: Path, truth: Path, policy: Path, listener: Listener = NOBODY) -> ShownDays:
        """The days that both files have whole."""
        from discreet.data import read_releases

        rows = list(read_releases(shown))
        if not rows:
            raise DataError(f"{shown}: holds no release; give a file that discreet release has written")
        clock = Clock(1 + max(row.slot for row in rows), self.zone, self.cut)
        whole = _whole_days(shown, rows, clock)
        readings = self.reading.read(truth, clock, empty_days=True, listener=listener)
        _rename_the_only_one(whole, readings.people)
        days = [day for day in readings.days if (day.person, day.date) in whole]
        if not days:
            raise DataError(
                f"{shown}: none of its whole days is in {truth}; give the readings that were released, and --user"
            )
        return ShownDays(
            days,
            [whole[day.person, day.date] for day in days],
            _policy_on(policy, clock),
            by_hour=True,
            left_out=len({(row.person, row.date) for row in rows}) - len(days),
            bad_rows=readings.bad.count,
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
class PublishedEvents:
    """How published and true events are read."""

    columns: EventColumns
    zone: str
    intervals: str
    piece_length: int | None
    naive_zone: str | None
    skip_bad: bool

    def given(self, shown: Path, truth: Path, policy: Path, listener: Listener = NOBODY) -> ShownDays:
        """The days that both files have whole."""
        from discreet.data import read_published, read_trajectories
        from discreet.events import Events, Intervals
        from discreet.policy import read_policy
        from discreet.publish.plan import checked_length, cut, policy_for

        checked_length(self.piece_length)
        rule = Intervals.of(self.intervals, self.zone)
        published = read_published(shown, self.columns)
        with listener.progress(f"reading {truth.name}") as report:
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
        return ShownDays(days, outputs, laid, by_hour=False, bad_rows=read.bad.count)


def tell(given: ShownDays, policy: Path, note: Note) -> None:
    """What was left out, and secrets that are nowhere in the truth, which may be mistyped."""
    if given.bad_rows:
        note(f"{given.bad_rows} bad rows were skipped")
    if given.left_out:
        note(f"{given.left_out} days were left out: not whole, or not in the truth")
    known = {context for day in given.days for context in day.contexts}
    for context in sorted(given.policy.contexts - known):
        note(f"{policy}: {context!r} is nowhere in the truth; {did_you_mean(context, known)}")
