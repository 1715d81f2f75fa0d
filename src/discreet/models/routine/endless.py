"""A routine from a date on: one chain without end (theory, section 10)."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from discreet.contracts import computed_once
from discreet.errors import DiscreetError
from discreet.models import arrays
from discreet.models.chain.markov import MarkovChain
from discreet.models.kinds import MONDAY, ONE_DAY
from discreet.numerics import RESOLUTION, BoolArray, FloatArray, ordered_product

if TYPE_CHECKING:
    from discreet.models.routine.routine import Routine

KEPT_DAYS = 16
"""Of how many days the priors of all slots are kept, where they do not repeat; those of others are computed again."""


class EndlessChain:
    """One chain without end: slot t is slot t mod T of the date t div T days after the start.

    `transition(t)` leads from slot t to slot t + 1, `prior_at(t)` is P(X_t). Where the routine has a stationary
    distribution and no `initial` is given, priors repeat with its cycle. `initial` holds at slot `first`; there are no
    slots before it. From the first cut on at which the priors that follow from it are those of the cycle (`cyclic_at`),
    they are the cycle's, and `phase(t)` is where in it the slot is.
    """

    emissions: None = None
    slots: None = None

    def __init__(self, routine: Routine, start: dt.date, initial: npt.ArrayLike | None = None, first: int = 0) -> None:
        if first < 0:
            raise DiscreetError(f"the chain's first slot is {first}; give 0 or more, counted from {start}")
        self.routine, self.start, self.first = routine, start, first
        self.legs: list[EndlessChain] = [self]  # the chains of habits that follow each other: one
        self.contexts, self.day_slots, self.clock = routine.contexts, routine.slots, routine.clock
        self.periodic = initial is None and routine.cycle is not None
        date, slot = self.date_of(first)
        if initial is not None:
            self.initial = arrays.probabilities(initial, (len(self.contexts),), "initial")
        elif routine.cycle is not None:
            self.initial = np.asarray(routine.prior(date)[slot])
        else:
            self.initial = np.asarray(routine.day(routine.kind_of(date)).prior[slot])
        self._first_day = first // self.day_slots
        self._settled_day = self._first_day if self.periodic else None
        self._starts: list[FloatArray] = []  # the prior of each day's first slot, until priors repeat
        self._kept: dict[int, FloatArray] = {}  # (T, n) of some days

    def date_of(self, t: int) -> tuple[dt.date, int]:
        """The date and the slot of that day."""
        days, slot = divmod(t, self.day_slots)
        return self.start + days * ONE_DAY, slot

    def slot_of(self, date: dt.date, slot: int = 0) -> int:
        """The absolute slot of a date's slot."""
        return (date - self.start).days * self.day_slots + slot

    def transition(self, t: int) -> FloatArray:
        """(n, n): P(X_{t+1} | X_t)."""
        self._require(t)
        date, slot = self.date_of(t)
        if slot + 1 == self.day_slots:
            return self.routine.night(date)
        return np.asarray(self.routine.day(self.routine.kind_of(date)).transitions[slot])

    def step_name(self, t: int) -> tuple[str | int, ...]:
        """What the transition from slot t on is called: slots with equal names have equal ones."""
        date, slot = self.date_of(t)
        kind = self.routine.kind_of(date)
        return (kind, self.routine.kind_of(date + ONE_DAY)) if slot + 1 == self.day_slots else (kind, slot)

    def prior_at(self, t: int) -> FloatArray:
        """(n,): P(X_t)."""
        date, slot = self.date_of(t)
        if self.cyclic_at(t):
            return np.asarray(self.routine.prior(date)[slot])
        return np.asarray(self._day(t // self.day_slots)[slot])

    def state_prior_at(self, t: int) -> FloatArray:
        """(n,): the same; states are contexts."""
        return self.prior_at(t)

    def emission(self, t: int) -> None:
        """None: contexts are seen."""
        return None

    def beginning(self, start: dt.date | str, initial: npt.ArrayLike | None = None, first: int = 0) -> EndlessChain:
        """The same habits from another date on."""
        return self.routine.since(start, initial, first)

    @property
    def cycle_slots(self) -> int:
        """After how many slots habits repeat, where they do."""
        return self.day_slots * (self.routine.period or 1)

    def possible_steps(self) -> BoolArray:
        """(steps of all kinds of day, n, n): those that are possible."""
        return np.concatenate([self.routine.day(kind).transitions > 0 for kind in self.routine.kinds])

    def once_cyclic(self) -> EndlessChain | None:
        """The same routine where priors repeat from the start; None where it has no one stationary distribution."""
        return None if self.routine.cycle is None else EndlessChain(self.routine, self.start)

    def cyclic_at(self, t: int) -> bool:
        """Whether the priors of that day are the cycle's, and so those of all days after it.

        At the day's first slot no event's probability differed by more than 2**-44 from the cycle's, in which case none
        does later: a step of a chain brings no two distributions further apart in total variation. What is possible is
        the same as well: a state that is left for good is possible for as long as it may not have been left, and tells
        what others do not.
        """
        self._require(t)
        day = t // self.day_slots
        while self._settled_day is None and self._first_day + len(self._starts) <= day:
            self._one_more_day()
        return self._settled_day is not None and day >= self._settled_day

    def _one_more_day(self) -> None:
        """The prior of the next day's first slot: kept, or found to be the cycle's."""
        day = self._first_day + len(self._starts)
        if not self._starts:
            start, whole = self.initial, self.first % self.day_slots == 0
        else:
            night = self.routine.night(self.start + (day - 1) * ONE_DAY)
            start, whole = ordered_product(self._day(day - 1)[-1], night), True
            start /= math.fsum(start)  # rows sum to one up to rounding alone, which would add up over years
        start.setflags(write=False)
        cycle = self.routine.cycle
        if whole and cycle is not None:
            settled = self.routine.prior(self.start + day * ONE_DAY)[0]
            apart = math.fsum(np.abs(start - settled))  # twice the total variation; the sum is exact, in any order
            if apart <= 2 * RESOLUTION and np.array_equal(start > 0, settled > 0):
                self._settled_day = day
                return
        self._starts.append(start)

    def _day(self, day: int) -> FloatArray:
        """(T, n): the priors of a day before they are the cycle's; zero before the first slot."""
        if day not in self._kept:
            slot = self.first % self.day_slots if day == self._first_day else 0
            date = self.start + day * ONE_DAY
            steps = self.routine.day(self.routine.kind_of(date)).transitions[slot:]
            priors = np.zeros((self.day_slots, len(self.initial)))
            priors[slot:] = arrays.state_prior(self._starts[day - self._first_day], steps)
            priors.setflags(write=False)
            if len(self._kept) == KEPT_DAYS:
                del self._kept[next(iter(self._kept))]  # the one kept longest
            self._kept[day] = priors
        return self._kept[day]

    def phase(self, t: int) -> int | None:
        """Where in the cycle a slot is; None where priors do not repeat (yet)."""
        if not self.cyclic_at(t) or self.routine.period is None:
            return None
        return ((self.start - MONDAY).days * self.day_slots + t) % (self.routine.period * self.day_slots)

    def unrolled(self, days: int) -> MarkovChain:
        """The chain of the first `days` days, T slots each, from the first slot on."""
        return MarkovChain(self.contexts, self.initial, self._steps_of(days))

    def _steps_of(self, days: int) -> FloatArray:
        """(days T - 1, S, S): the steps of the first days."""
        if days < 1:
            raise DiscreetError(f"{days} days are no time; give at least 1")
        steps = np.array([self.transition(self.first + t) for t in range(days * self.day_slots - 1)])
        return steps.reshape(-1, len(self.initial), len(self.initial))

    def _require(self, t: int) -> None:
        if t < self.first:
            raise DiscreetError(f"slot {t} is before the chain's first, {self.first}; give that or a later one")

    @computed_once
    def fingerprint(self) -> str:
        """A digest: equal chains have equal fingerprints."""
        parts = ["endless", self.routine.fingerprint, self.start, self.periodic, self.initial, self.first]
        return arrays.fingerprint(parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EndlessChain) and (self.fingerprint, self.clock) == (other.fingerprint, other.clock)

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"EndlessChain({self.routine!r} since {self.start})"
