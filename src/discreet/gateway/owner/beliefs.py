"""What is believed of the days that the owner looks at, kept: a slot more costs one step, not the whole day again.

A day's belief takes in every output since its morning, also those of later days: they tell of it too. Filtering all of
them anew for each look would take seconds on a small machine.
"""

from __future__ import annotations

import datetime as dt

import numpy as np
from cachetools import LRUCache

from discreet.adversary.endless_belief import EndlessBelief
from discreet.jit import product
from discreet.numerics import FloatArray
from discreet.session import Session

DAYS = 16
"""Days that are kept, of all people together: some 200 kB each with ten secrets and 96 slots."""


AT_ONCE = 96
"""Outputs that are taken in at a time: some 20 ms, on a small machine 150, which a slot that ends may wait for."""


class WatchedDay:
    """One day: the belief by all that was told until now, and how belief in each window grew over the day."""

    def __init__(self, morning: EndlessBelief, date: dt.date) -> None:
        adversary = morning.adversary
        self.morning, self.date = morning, date
        self.belief = adversary.watching(morning)
        self.taken = 0
        self.windows = {
            g: opens
            for g in np.flatnonzero(adversary.secrets.any_slot).tolist()
            if (opens := window_of(morning, g, date)) is not None
        }
        """The slot at which each secret's window of the date opens, of those at="any" that have one."""
        self.lines: dict[int, list[float | None]] = {g: [None] * adversary.model.day_slots for g in self.windows}
        """Belief in each of these after each slot of the date, by what had been told until then."""

    def take(self, likelihood: FloatArray) -> None:
        """One output more."""
        slot = self.belief.slot - self.belief.adversary.model.slot_of(self.date)
        self.belief = self.belief.after(likelihood)
        self.taken += 1
        if slot < self.belief.adversary.model.day_slots:
            for g, line in self.lines.items():
                line[slot] = believed(self.belief, g, self.windows[g])


def window_of(belief: EndlessBelief, g: int, date: dt.date) -> int | None:
    """The slot at which the window that opens on a date does; None where none does, or before the secret is held."""
    adversary = belief.adversary
    morning, held = adversary.model.slot_of(date), max(adversary.model.first, int(adversary.held_from[g]))
    for t in range(max(morning, held), morning + adversary.model.day_slots):
        if adversary.secrets.active[g, t % adversary.model.day_slots] and adversary.window(g, t).opens == t:
            return t
    return None


def believed(belief: EndlessBelief, g: int, opens: int) -> float:
    """Belief in the window of a secret at="any" that opens at a slot, perhaps later."""
    rows = np.flatnonzero((belief.rows.secret == g) & (belief.rows.opens == opens))
    if len(rows):
        return float(belief.kept()[rows[0]])
    adversary, ahead = belief.adversary, belief.hidden()
    for t in range(belief.slot + 1, opens + 1):
        ahead = adversary.filter.ahead(t, ahead)
    return float(product(adversary.window(g, opens).chance[0][adversary.filter.hidden], ahead))


class Watching:
    """The days that were looked at last. For the thread that decides: tables are shared with what it does."""

    def __init__(self) -> None:
        self._days: LRUCache[tuple[str, dt.date], WatchedDay] = LRUCache(DAYS)

    def __len__(self) -> int:
        return len(self._days)

    def of(self, person: str, session: Session, date: dt.date) -> WatchedDay:
        """A date by all that was told until now; an error says from when on there are some (`Session.gains`)."""
        while not self.follow(person, session, date):
            pass
        return self._days[person, date]

    def follow(self, person: str, session: Session, date: dt.date) -> bool:
        """Take in up to AT_ONCE outputs more; whether that was all. A long past is taken in between other work."""
        morning, likelihoods = session.since(date)
        found = self._days.pop((person, date), None)
        if found is None or found.morning is not morning:  # habits or policy changed: it is judged by others
            found = WatchedDay(morning, date)
        for likelihood in likelihoods[found.taken : found.taken + AT_ONCE]:
            found.take(likelihood)
        self._days[person, date] = found
        return found.taken == len(likelihoods)
