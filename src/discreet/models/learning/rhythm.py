"""Where a person's time goes: by the hour, on weekdays and at weekends, and what is seldom."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.clock import Clock
from discreet.contexts import UNKNOWN, Day, shares
from discreet.models.chain.week import WEEKPARTS, weekpart
from discreet.numerics import FloatArray

HOURS = 24
SELDOM = 0.1
"""A context is seldom that was visited on no more than this share of the days."""


@dataclass(frozen=True)
class Rhythm:
    """One context's share of the time, the days on which it was visited, and its hours."""

    context: str
    share: float
    days: int
    last: dt.date | None
    by_hour: dict[str, tuple[float, ...]]
    """Its share of each hour of the wall clock, from midnight on, for the parts of the week that have days."""


def rhythms(days: Sequence[Day], clock: Clock) -> tuple[Rhythm, ...]:
    """The rhythm of each context of these days, the most frequent first."""
    return tuple(_rhythm(label, share, days, clock) for label, share in shares(days).items())


def seldom(found: Sequence[Rhythm], days: int) -> tuple[Rhythm, ...]:
    """Contexts visited on at most `SELDOM` of the days, the most seldom first; what stands out tells most."""
    few = [one for one in found if one.context != UNKNOWN and 0 < one.days <= SELDOM * days]
    return tuple(sorted(few, key=lambda one: (one.days, one.context)))


def _rhythm(label: str, share: float, days: Sequence[Day], clock: Clock) -> Rhythm:
    visited = [day for day in days if label in day.contexts]
    by_hour = {}
    for part in WEEKPARTS:
        own = [day for day in days if day.date is None or weekpart(day.date) == part]
        if own:
            visits = np.array([[context == label for context in day.contexts] for day in own])
            by_hour[part] = _hours(visits.mean(axis=0), clock)
    dates = [day.date for day in visited if day.date is not None]
    return Rhythm(label, share, len(visited), max(dates, default=None), by_hour)


def _hours(by_slot: FloatArray, clock: Clock) -> tuple[float, ...]:
    """A share of each hour of the wall clock: each minute takes the slot that it begins in."""
    minutes = by_slot[np.arange(HOURS * 60) * len(by_slot) // (HOURS * 60)]
    from_midnight = np.roll(minutes, clock.cut_seconds // 60)
    return tuple(from_midnight.reshape(HOURS, -1).mean(axis=1).tolist())
