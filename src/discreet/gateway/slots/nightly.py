"""Every night, on the owner's side: are the habits still true? Where the last weeks speak against them, a notice.

Each night's test has a false-alarm rate of 1 %, and nights share most of their days: one notice is a reason to look,
not a proof. What is found depends on the truth: it is for the owner alone, and changes nothing that is told.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from discreet.contexts import UNKNOWN, Day
from discreet.evaluation.truth import Truth, check_days
from discreet.gateway.store.own_store import OwnStore
from discreet.models.routine.routine import Routine
from discreet.policy import Policy

WEEKS = 4
"""How far back a night looks, as far as the truth is kept."""

REMEDY = (
    "the habits have changed: learn the last weeks (discreet learn --update), look at the report, and give the gateway "
    "the new routine, which takes over at a cut"
)


@dataclass(frozen=True)
class Notice:
    """What the owner is told in the morning."""

    person: str
    date: dt.date
    truth: Truth

    @property
    def drifted(self) -> bool:
        """Whether the last weeks speak against the habits."""
        return self.truth.holds is False

    @property
    def words(self) -> str:
        """In a sentence or two."""
        if self.truth.untested:
            return f"{self.person}: whether the habits are still true cannot be said: {self.truth.untested}"
        if not self.drifted:
            return f"{self.person}: the habits hold: {self.truth.figure}"
        return f"{self.person}: THE HABITS DO NOT HOLD ANY MORE: {self.truth.figure}. What to do: {REMEDY}"


def days_of(own: OwnStore, person: str, slots: int, first: dt.date, last: dt.date) -> list[Day]:
    """What was true on each date, `unknown` where nothing is kept; dates of which nothing is kept are left out."""
    days = []
    for number in range((last - first).days + 1):
        date = first + dt.timedelta(days=number)
        kept = own.truth(person, date)
        if kept:
            days.append(Day(tuple(kept.get(slot, UNKNOWN) for slot in range(slots)), date, person))
    return days


def look(own: OwnStore, person: str, routine: Routine, policy: Policy, today: dt.date) -> Notice:
    """Hold the habits against the last weeks before today, those that they were not learned from."""
    first = today - dt.timedelta(weeks=WEEKS)
    learned = routine.learned
    if learned is not None and learned.until:
        first = max(first, max(until for until, _ in learned.until.values()) + dt.timedelta(days=1))
    days = [
        day.fitted(routine.contexts) for day in days_of(own, person, routine.slots, first, today - dt.timedelta(days=1))
    ]
    on = f"the {len(days)} days up to {today - dt.timedelta(days=1)}"
    if not days:
        return Notice(person, today, Truth(on, (), "no day is kept that the habits were not learned from", REMEDY))
    return Notice(person, today, check_days(routine, days, policy, on=on, held_out=True, remedy=REMEDY))
