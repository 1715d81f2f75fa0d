"""How much time was spent at each place, and in which hours of the week: by the same rule as contexts of slots."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.clock import Clock
from discreet.numerics import FloatArray, IntArray
from discreet.places.dwell import bounds_of, dates_of, pieces_in, stand_until
from discreet.places.named import AWAY, MOVING, Places
from discreet.places.sightings import SECOND, Sightings, coded

HOUR = 3600 * SECOND


@dataclass(frozen=True, eq=False)
class TimeSpent:
    """Hours of time, for each place and then `away`, `moving` and labels of the source that are no place.

    week (n + 3, 7, 24): by weekday from Monday, and hour of the wall clock; days (n + 3,): dates with any.
    """

    week: FloatArray
    days: IntArray
    unknown: float
    """Hours between the first and the last sighting in which nothing stood."""
    first: dt.date
    last: dt.date

    @property
    def hours(self) -> FloatArray:
        """(n + 3,): in all."""
        return np.asarray(self.week.sum(axis=(1, 2)))

    @property
    def known(self) -> float:
        """Hours in which something stood."""
        return float(self.week.sum())

    def share(self, k: int) -> float:
        """The part of the known time, in ten thousandths."""
        return round(float(self.hours[k]) / self.known, 4) if self.known else 0.0

    @property
    def unexplained(self) -> float:
        """The part of the known time at no place: away or moving."""
        return float(self.hours[-3:-1].sum()) / self.known if self.known else 0.0

    def reordered(self, order: Sequence[int]) -> TimeSpent:
        """With the places in another order."""
        rows = [*order, *range(len(order), len(order) + 3)]
        return replace(self, week=self.week[rows], days=self.days[rows])


def spent_at(sightings: Sightings, places: Places, clock: Clock, hold: float) -> TimeSpent:
    """The time at each place; `hold` in seconds, as for contexts of slots."""
    hourly = Clock(24, clock.zone)
    first, days = dates_of(hourly, sightings)
    bounds = bounds_of(hourly, first, days)
    found = coded(sightings, places)
    between = {AWAY: len(places), MOVING: len(places) + 1}
    of_context = np.array([*(between.get(name, len(places) + 2) for name in found.contexts), -1])
    rows = np.where(found.at >= 0, found.at, of_context[found.codes])
    instants = sightings.instants
    until = stand_until(found, instants, instants[:1], round(hold * SECOND))  # to no slot's end, but by `hold` alone
    pieces = pieces_in(rows, instants, np.minimum(until, instants[-1]), bounds)
    weekday = (first.weekday() + pieces.slot // 24) % 7
    flat = (pieces.code * 7 + weekday) * 24 + pieces.slot % 24
    week = np.bincount(flat, pieces.length, minlength=(len(places) + 3) * 168).reshape(-1, 7, 24) / HOUR
    dates = np.unique(pieces.code * days + pieces.slot // 24) // days
    whole = int(instants[-1]) - int(instants[0])
    unknown = (whole - int(pieces.length.sum())) / HOUR
    last = first + dt.timedelta(days=days - 1)
    return TimeSpent(week, np.bincount(dates, minlength=len(places) + 3), unknown, first, last)
