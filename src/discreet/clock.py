"""Time: the clock that cuts it into days and slots."""

from __future__ import annotations

import datetime as dt
import difflib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from discreet.errors import DiscreetError
from discreet.given import as_date, as_zone, words_for

DAY_SECONDS = 86_400

FIRST_YEAR, LAST_YEAR = 1970, 2099
"""The dates that are dealt with: those of epoch seconds, as far ahead as time zones are foreseeable at all."""


def seconds_of(time: str, what: str) -> int:
    """Seconds after midnight of a clock time such as "04:00" or "24:00"."""
    try:
        hours, minutes = (int(part) for part in time.split(":"))
    except (ValueError, AttributeError):  # not two numbers, or not a string
        hours, minutes = -1, -1
    seconds = hours * 3600 + minutes * 60
    if not (0 <= minutes < 60 and 0 <= seconds <= DAY_SECONDS):
        raise DiscreetError(f"{what} is {time!r}; write it as HH:MM, for example 04:00")
    return seconds


def duration_text(seconds: float) -> str:
    """A time as settings and options have it: 4h, 30m, 90s."""
    for unit, length in (("h", 3600), ("m", 60)):
        if seconds % length == 0:
            return f"{seconds / length:.0f}{unit}"
    return f"{seconds:.10g}s"


def unknown_zone(name: object) -> str:
    """What is wrong with a name that is no time zone; of a city's name, the zone that is named after it."""
    remedy = "use an IANA name such as Europe/Paris"
    if isinstance(name, str) and name.strip():
        word = name.strip().replace(" ", "_").casefold()
        known = sorted(available_timezones())
        cities = [zone for zone in known if zone.rpartition("/")[2].casefold() == word and "/" in zone]
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
        if cities or near:
            remedy = f"did you mean {(cities or near)[0]!r}?"
    return f"time zone {name!r} is not known; {remedy}"


@dataclass(frozen=True)
class Clock:
    """Cuts time into days of `slots` equal slots, by the wall clock of `zone`, each day starting at `cut`.

    Every day has the same number of slots. When clocks go back, the repeated hour falls into slots that were there
    already (the later reading stands); when they go forward, the skipped hour has no reading.

    As instants, slots follow each other without gap or overlap over every midnight and every change of the clock:
    `end_of` a slot is `start_of` the next, and none is before the one before it. A slot of a skipped hour is empty: it
    starts and ends when clocks go forward. For an instant t in the slot that `locate` gives, start <= t always, and
    t < end except in the second run of a repeated hour, whose slots have ended.
    """

    slots: int
    zone: str = "UTC"
    cut: str = "00:00"

    def __init__(self, slots: int, zone: str | dt.tzinfo = "UTC", cut: str | dt.time = "00:00") -> None:
        object.__setattr__(self, "slots", slots)
        object.__setattr__(self, "zone", zone if isinstance(zone, str) else as_zone(zone))
        object.__setattr__(self, "cut", str(cut).removesuffix(":00") if isinstance(cut, dt.time) else cut)
        if isinstance(slots, bool) or not isinstance(slots, int) or slots < 1 or DAY_SECONDS % slots:
            raise DiscreetError(
                f"a day cannot be cut into {self.slots!r} slots of whole seconds; "
                "use a divisor of 86400 such as 24, 48, 96"
            )
        if seconds_of(self.cut, "the clock's cut") >= DAY_SECONDS:
            raise DiscreetError("the clock's cut is 24:00; write it as 00:00")
        try:
            _ = self._zoneinfo
        except (ZoneInfoNotFoundError, ValueError, TypeError, AttributeError, OSError):
            raise DiscreetError(unknown_zone(self.zone)) from None

    @cached_property
    def _zoneinfo(self) -> ZoneInfo:
        return ZoneInfo(self.zone)

    @property
    def slot_seconds(self) -> int:
        """Length of a slot."""
        return DAY_SECONDS // self.slots

    @cached_property
    def cut_seconds(self) -> int:
        """Where the day starts, in seconds after midnight."""
        return seconds_of(self.cut, "the clock's cut")

    def locate(self, timestamp: dt.datetime) -> tuple[dt.date, int]:
        """The (date, slot) of a timestamp; one without a zone is taken as wall-clock time in the clock's zone."""
        if not isinstance(timestamp, dt.datetime):
            raise DiscreetError(
                f"the timestamp is {words_for(timestamp)}; give a datetime: datetime.fromisoformat(...) of text, "
                "datetime.fromtimestamp(..., UTC) of epoch seconds"
            )
        wall = timestamp if timestamp.tzinfo is None else timestamp.astimezone(self._zoneinfo)
        shifted = wall.replace(tzinfo=None) - dt.timedelta(seconds=self.cut_seconds)
        second = shifted.hour * 3600 + shifted.minute * 60 + shifted.second
        return shifted.date(), second // self.slot_seconds

    def start_of(self, date: dt.date, slot: int) -> dt.datetime:
        """When a slot of that day starts: the first instant at which the wall clock has reached its time.

        It has the clock's zone. Python compares and subtracts two times of one zone as wall clocks show them: turn them
        to UTC, or take their `timestamp()`, to compare instants.
        """
        midnight = dt.datetime.combine(as_date(date), dt.time())
        wall = midnight + dt.timedelta(seconds=self.cut_seconds + slot * self.slot_seconds)
        start = wall.replace(tzinfo=self._zoneinfo)  # of a time that is shown twice, the first
        late, early = int(start.timestamp()), int(start.replace(fold=1).timestamp())
        # A time that is skipped is read on the clock of before, which is late, or (fold=1) on that of after, early.
        return start if early >= late else self._forward(wall, early, late)

    def _forward(self, wall: dt.datetime, early: int, late: int) -> dt.datetime:
        """The instant at which clocks go forward over a wall-clock time, after `early` and not after `late`."""
        while late - early > 1:
            middle = (early + late) // 2
            if self._at(middle).replace(tzinfo=None) >= wall:
                late = middle
            else:
                early = middle
        return self._at(late)

    def _at(self, epoch: int) -> dt.datetime:
        return dt.datetime.fromtimestamp(epoch, self._zoneinfo)

    def end_of(self, date: dt.date, slot: int) -> dt.datetime:
        """When a slot of that day ends: the same instant at which the next slot starts, of the next day after the last.

        Never before the slot's start or the end of the slot before it; equal where clocks skip the slot.
        """
        return self.start_of(date, slot + 1)

    def label(self, slot: int) -> str:
        """The wall-clock time at which a slot starts, such as 07:30."""
        second = (self.cut_seconds + slot * self.slot_seconds) % DAY_SECONDS
        return f"{second // 3600:02d}:{second % 3600 // 60:02d}"

    def times(self, slots: Iterable[int]) -> str:
        """Slots of a day as clock times: "12:00 to 13:00, 22:00 to 06:00", runs joined over the cut."""
        held = set(slots)
        if len(held) == self.slots:
            return "all day"
        begins = sorted(slot for slot in held if (slot - 1) % self.slots not in held)
        runs = []
        for first in begins:
            after = first + 1
            while after % self.slots in held:
                after += 1
            runs.append(f"{self.label(first)} to {self.label(after)}")
        return ", ".join(runs)

    def between(self, start: str, end: str) -> tuple[int, ...]:
        """The slots that overlap the clock times from start to end, over midnight where end is not after start."""
        low, high = self._reach(start, end)
        return tuple(sorted({slot % self.slots for slot in range(low, high)}))

    def begins(self, start: str, end: str) -> int:
        """The slot at which these times begin where they run over the cut; 0 where they lie within one day."""
        low, high = self._reach(start, end)
        return low if high > self.slots else 0

    def _reach(self, start: str, end: str) -> tuple[int, int]:
        """The first slot that overlaps the times, and the one after the last, counted on over the cut."""
        first = (seconds_of(start, "the start time") - self.cut_seconds) % DAY_SECONDS
        length = (seconds_of(end, "the end time") - seconds_of(start, "the start time")) % DAY_SECONDS or DAY_SECONDS
        return first // self.slot_seconds, -(-(first + length) // self.slot_seconds)


def local_zone() -> str:
    """The time zone of this computer, as far as it says; else UTC."""
    found = os.environ.get("TZ", "").lstrip(":")
    if not found:
        try:
            found = str(Path("/etc/localtime").resolve()).partition("zoneinfo/")[2]
        except OSError:
            found = ""
    try:
        return Clock(24, found).zone
    except DiscreetError:
        return "UTC"


_UNITS = {"h": 3600, "m": 60, "min": 60, "s": 1}


def slots_of(duration: str, clock: Clock | None) -> int:
    """How many whole slots 4h or 30m are; none where no clock says how long a slot is."""
    seconds = seconds_of_duration(duration)
    return 0 if clock is None else int(seconds // clock.slot_seconds)


def seconds_of_duration(duration: str) -> float:
    """How many seconds 4h or 30m are."""
    if duration.strip() == "0":
        return 0
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(h|min|m|s)\s*", duration)
    if match is None:
        raise DiscreetError(f"--carry is {duration!r}; write a time such as 4h, 30m or 0")
    return float(match[1]) * _UNITS[match[2]]
