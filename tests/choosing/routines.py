"""Routines whose days are written down, so that what is to be found in them is known."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from discreet.clock import Clock
from discreet.contexts import Day
from discreet.models.routine.routine import Routine

MONDAY = dt.date(2026, 1, 5)
CLOCK = Clock(24, "Europe/Berlin")


def lived(days: int, visits: Mapping[str, tuple[int, range]], clock: Clock | None = CLOCK) -> Routine:
    """At home, at work on weekdays from 9 to 17; {place: (every so many days, at these hours)} besides."""
    written = []
    for number in range(days):
        date = MONDAY + dt.timedelta(days=number)
        hours = ["home"] * 24
        if date.weekday() < 5:
            hours[9:17] = ["work"] * 8
        for place, (every, when) in visits.items():
            if number % every == every - 1:
                for hour in when:
                    hours[hour] = place
        written.append(Day(tuple(hours), date, "p01"))
    return Routine.fit(written, clock=clock)
