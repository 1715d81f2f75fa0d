"""Every night, on the owner's side: are the habits still true? Where the last weeks speak against them, a notice.

Each night's test has a false-alarm rate of 1 %, and nights share most of their days: one notice is a reason to look,
not a proof. Where the policy spends a share of delta (`discreet policy hold`), the share is tried on the same weeks; it
is never changed from here. What is found depends on the truth: it is for the owner alone, and changes nothing that is
told.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass

from discreet.contexts import UNKNOWN, Day
from discreet.contracts import AnyMechanism
from discreet.evaluation.hold import holding, weeks_of
from discreet.evaluation.truth import Truth, check_days
from discreet.gateway.store.own_store import OwnStore
from discreet.models.routine.routine import Routine
from discreet.policy import Policy

WEEKS = 4
"""How far back a night looks, as far as the truth is kept."""

BEYOND = 0.1
"""The share of days beyond delta from which on the owner hears of it: what `discreet policy hold 0.9` chooses by."""

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
    beyond: float | None = None
    """Where a share of delta is spent: how many days were beyond delta before observers who learned elsewhere."""

    @property
    def drifted(self) -> bool:
        """Whether the last weeks speak against the habits, or against the share of delta."""
        return self.truth.holds is False or self.exceeded

    @property
    def exceeded(self) -> bool:
        """Whether too many days were beyond delta."""
        return self.beyond is not None and self.beyond > BEYOND

    @property
    def words(self) -> str:
        """In a sentence or two."""
        if self.truth.untested:
            return f"{self.person}: whether the habits are still true cannot be said: {self.truth.untested}"
        if self.exceeded and self.truth.holds is not False:
            return (
                f"{self.person}: {100 * (self.beyond or 0):.0f} % of the last weeks' days were beyond delta before "
                "somebody who learned the habits elsewhere. Run discreet policy hold on recent weeks, and give the "
                "gateway the policy that it writes."
            )
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


def look(
    own: OwnStore,
    person: str,
    routine: Routine,
    policy: Policy,
    today: dt.date,
    make: Callable[..., AnyMechanism] | None = None,
) -> Notice:
    """Test the habits, and the share of delta, on the last weeks before today that habits were not learned from."""
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
    truth = check_days(routine, days, policy, on=on, held_out=True, remedy=REMEDY)
    weeks = weeks_of(days) if make is not None and policy.share < 1 and learned is not None else []
    if make is None or not weeks:
        return Notice(person, today, truth)
    found = list(holding(routine, weeks, policy, make))
    return Notice(person, today, truth, sum(found) / len(found))
