"""Habits that change: one routine until a date, another from then on, over the contexts of both (theory, section 10).

When a change is applied is not the model's to say alone: a mechanism checks first that nothing exceeds its limit by the
change itself, and waits for a later cut where it would (mechanisms/adaptive/changing.py). The chain here is the one
that changes on its dates.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from discreet.contexts import OTHER
from discreet.errors import DiscreetError, ModelError
from discreet.models.arrays import fingerprint
from discreet.models.chain import MarkovChain
from discreet.models.endless import EndlessChain
from discreet.models.kinds import as_date
from discreet.models.routine import Routine
from discreet.numerics import FloatArray


class Changing:
    """A routine, and those that follow it, each from its date on: `routine.then(other, "2027-01-01")`."""

    def __init__(self, routine: Routine, changes: Sequence[tuple[dt.date, Routine]]) -> None:
        for (before, _), (after, _) in itertools.pairwise(changes):
            if after <= before:
                raise DiscreetError(f"habits change on {after} after they changed on {before}; give dates in order")
        labels = [label for one in (routine, *(other for _, other in changes)) for label in one.contexts]
        self.contexts = tuple(dict.fromkeys(labels))
        self.slots, self.clock = routine.slots, routine.clock
        for date, other in changes:
            if other.slots != routine.slots or other.clock != routine.clock:
                raise ModelError(
                    f"the routine from {date} on has {other.slots} slots a day or another clock, the one before "
                    f"{routine.slots}; learn it with the same clock"
                )
        self.routine, self.changes = routine, tuple(changes)

    def then(self, other: Routine, date: dt.date | str) -> Changing:
        """One more change."""
        return Changing(self.routine, (*self.changes, (as_date(date), other)))

    def since(self, start: dt.date | str, initial: npt.ArrayLike | None = None) -> ChangingChain:
        """The endless chain from that date on."""
        return ChangingChain(self, as_date(start), initial)


class ChangingChain(EndlessChain):
    """One chain without end, whose habits change on the dates of a `Changing`."""

    def __init__(self, changing: Changing, start: dt.date, initial: npt.ArrayLike | None = None) -> None:
        first = over(changing.routine, changing.contexts)
        if initial is not None:
            given = np.asarray(initial, dtype=np.float64)
            initial = np.concatenate([given, np.zeros(len(changing.contexts) - len(given))])
        super().__init__(first, start, initial)
        self.changing = changing
        self.changes = tuple((self.slot_of(date), over(other, changing.contexts)) for date, other in changing.changes)
        for (date, _), (slot, _) in zip(changing.changes, self.changes, strict=True):
            if slot <= 0:
                raise DiscreetError(f"habits change on {date}, before the stream begins on {start}; begin with those")
        self.known = (frozenset(changing.routine.contexts), *(frozenset(one.contexts) for _, one in changing.changes))
        self._legs: list[EndlessChain] = []
        self.before = before = EndlessChain(first, start, initial)  # the first habits, as if they went on for ever
        for slot, routine in self.changes:
            before = joined(before, routine, slot)
            self._legs.append(before)

    @cached_property
    def fingerprint(self) -> str:
        """A digest: equal chains have equal fingerprints."""
        parts: list[object] = ["changing", self.before.fingerprint]
        for slot, routine in self.changes:
            parts += [slot, routine.fingerprint]
        return fingerprint(parts)

    def _leg(self, t: int) -> EndlessChain | None:
        """The chain of the last change before slot t; None before the first."""
        passed = [leg for (slot, _), leg in zip(self.changes, self._legs, strict=True) if t >= slot]
        return passed[-1] if passed else None

    def transition(self, t: int) -> FloatArray:
        """(n, n): P(X_{t+1} | X_t); the night before a change is the new habits'."""
        leg = self._leg(t + 1)
        return super().transition(t) if leg is None else leg.transition(t)

    def prior_at(self, t: int) -> FloatArray:
        """(n,): P(X_t)."""
        leg = self._leg(t)
        return super().prior_at(t) if leg is None else leg.prior_at(t)


def joined(before: EndlessChain, routine: Routine, cut: int) -> EndlessChain:
    """The chain of new habits from a cut on: it begins one slot earlier, where the old prior holds."""
    return EndlessChain(routine, before.start, before.prior_at(cut - 1), first=cut - 1)


def over(routine: Routine, contexts: tuple[str, ...]) -> Routine:
    """The routine over more contexts: others are never reached, and lead where `other` does."""
    if routine.contexts == contexts:
        return routine
    missing = [label for label in routine.contexts if label not in contexts]
    if missing:
        raise DiscreetError(f"contexts {contexts} lack {missing[0]!r}, which the routine has")
    place = np.array([contexts.index(label) for label in routine.contexts])
    stand_in = routine.contexts.index(OTHER) if OTHER in routine.contexts else 0

    def rows(steps: FloatArray) -> FloatArray:
        wide = np.zeros((*steps.shape[:-2], len(contexts), len(contexts)))
        wide[..., place] = steps[..., stand_in, None, :]
        wide[..., place[:, None], place] = steps
        return wide

    chains = {}
    for kind in routine.kinds:
        chain = routine.day(kind)
        initial = np.zeros(len(contexts))
        initial[place] = chain.initial
        chains[kind] = MarkovChain(contexts, initial, rows(chain.transitions), clock=chain.clock)
    nights = {pair: rows(night) for pair, night in routine.nights.items()}
    return Routine(chains, nights, kind_of=routine.rule)
