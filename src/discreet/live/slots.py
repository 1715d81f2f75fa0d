"""Time: when a slot begins, ends, is due and is skipped. Instants are microseconds since 1970."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from discreet.clock import Clock

ONE_DAY = dt.timedelta(days=1)

SECOND = 1_000_000

MARGIN = 2.0
"""Seconds from the end of a slot to its telling, by default."""

GRACE = 60.0
"""Seconds that a decision may be late; after that the slot is skipped. Public, hence fixed."""

AHEAD = 120
"""Seconds that a reading may be ahead of the clock; if it is further ahead, its clock is wrong."""


def micros(seconds: float) -> int:
    """Seconds as microseconds."""
    return round(seconds * SECOND)


def instants(clock: Clock, date: dt.date, slot: int) -> tuple[int, int]:
    """When a slot begins and ends: it holds the first instant and not the last. Equal where clocks skip it."""
    begins, ends = clock.start_of(date, slot), clock.end_of(date, slot)
    return int(begins.timestamp()) * SECOND, int(ends.timestamp()) * SECOND


def slot_at(clock: Clock, instant: int) -> tuple[dt.date, int]:
    """The date and slot in which an instant lies.

    `Clock.locate` goes by the wall clock: in the second run of a repeated hour it names slots that have ended.
    """
    date, slot = clock.locate(dt.datetime.fromtimestamp(instant // SECOND, dt.UTC))
    while instants(clock, date, slot)[1] <= instant:
        date, slot = next_slot(clock, date, slot)
    return date, slot


def next_slot(clock: Clock, date: dt.date, slot: int) -> tuple[dt.date, int]:
    """The slot after a slot: after a day's last, the next day's first."""
    return (date, slot + 1) if slot + 1 < clock.slots else (date + ONE_DAY, 0)


def latest(now: int) -> int:
    """The last instant that a reading may have which comes now."""
    return now + micros(AHEAD)


@dataclass(frozen=True)
class Schedule:
    """When slots are decided: `wait` seconds after their end, or up to `grace` seconds later."""

    wait: float = 0.0
    grace: float | None = GRACE
    """None where time is that of the readings: nothing is ever skipped."""

    def due(self, ends: int) -> int:
        """When a slot is decided that ends then."""
        return ends + micros(self.wait)

    def skips(self, ends: int, now: int) -> bool:
        """Whether a slot that ended then is skipped if nothing was decided by now."""
        return self.grace is not None and now - self.due(ends) > micros(self.grace)
