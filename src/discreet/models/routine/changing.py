"""Habits that change: one routine until a date, another from then on, over the contexts of both (theory, section 10).

From the day on which a change is known, it is one chain without end, whose rows after the change are held within their
limits before it as well. Where it becomes known in mid-stream, `Session.change` looks for the first cut at which that
is possible.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from discreet.contexts import OTHER
from discreet.contracts import computed_once
from discreet.errors import DiscreetError, ModelError
from discreet.given import as_date
from discreet.models.arrays import fingerprint
from discreet.models.chain.markov import MarkovChain
from discreet.models.routine.endless import EndlessChain
from discreet.models.routine.routine import Routine
from discreet.numerics import FloatArray

FAR = 10_000
"""Slots, and three days, before a change from which on it is near: far more than rows are ever live ahead."""

PHASES = 1 << 40
"""More than a cycle has."""


class Changing:
    """A routine, and those that follow it, each from its date on: `routine.then(other, "2027-01-01")`.

    Of changes on one date the last counts: so one that was made known can be taken back until it holds.
    """

    def __init__(self, routine: Routine, changes: Sequence[tuple[dt.date, Routine]]) -> None:
        for (before, _), (after, _) in itertools.pairwise(changes):
            if after < before:
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

    def since(self, start: dt.date | str, initial: npt.ArrayLike | None = None, first: int = 0) -> ChangingChain:
        """The endless chain from that date on, from its slot `first`."""
        return ChangingChain(self, as_date(start), initial, first)


class ChangingChain(EndlessChain):
    """One chain without end, whose habits change on the dates of a `Changing`."""

    def __init__(
        self, changing: Changing, start: dt.date, initial: npt.ArrayLike | None = None, first: int = 0
    ) -> None:
        habits = over(changing.routine, changing.contexts)
        if initial is not None:
            given = np.asarray(initial, dtype=np.float64)
            initial = np.concatenate([given, np.zeros(len(changing.contexts) - len(given))])
        super().__init__(habits, start, initial, first)
        self.changing = changing
        self.changes = tuple(self.slot_of(date) for date, _ in changing.changes)
        for (date, _), slot in zip(changing.changes, self.changes, strict=True):
            if slot <= first:
                raise DiscreetError(f"habits change on {date}, before the stream begins on {start}; begin with those")
        self.legs = [EndlessChain(habits, start, initial, first)]
        for slot, (_, routine) in zip(self.changes, changing.changes, strict=True):
            before = self.legs[-1].prior_at(slot - 1)  # a leg begins one slot early, where the old prior holds
            self.legs.append(EndlessChain(over(routine, changing.contexts), start, before, first=slot - 1))
        self.periodic = False
        self._known = [frozenset(one.contexts) for one in (changing.routine, *(one for _, one in changing.changes))]

    def leg(self, t: int) -> int:
        """How many changes there were by slot t."""
        return sum(t >= slot for slot in self.changes)

    def known_at(self, t: int) -> frozenset[str]:
        """The contexts of the habits in force."""
        return self._known[self.leg(t)]

    def transition(self, t: int) -> FloatArray:
        """(n, n): P(X_{t+1} | X_t); the night before a change is the new habits'."""
        return self.legs[self.leg(t + 1)].transition(t)

    def step_name(self, t: int) -> tuple[str | int, ...]:
        """Those of each habits' steps, told apart."""
        leg = self.leg(t + 1)
        return (leg, *self.legs[leg].step_name(t))

    def prior_at(self, t: int) -> FloatArray:
        """(n,): P(X_t)."""
        return self.legs[self.leg(t)].prior_at(t)

    def phase(self, t: int) -> int | None:
        """Where in its habits' cycle a slot is, told apart; None where a change is so near that it may matter."""
        leg = self.leg(t)
        phase = self.legs[leg].phase(t)
        if phase is None or (leg < len(self.changes) and self.changes[leg] - t <= FAR + 3 * self.day_slots):
            return None
        return leg * PHASES + phase

    @computed_once
    def fingerprint(self) -> str:
        """A digest: equal chains have equal fingerprints."""
        parts: list[object] = ["changing", self.legs[0].fingerprint]
        for slot, leg in zip(self.changes, self.legs[1:], strict=True):
            parts += [slot, leg.routine.fingerprint]
        return fingerprint(parts)


def over(routine: Routine, contexts: tuple[str, ...]) -> Routine:
    """The routine over more contexts: others are never reached, and lead where `other` does."""
    if routine.contexts == contexts:
        return routine
    missing = [label for label in routine.contexts if label not in contexts]
    if missing:
        raise DiscreetError(f"contexts {contexts} lack {missing[0]!r}, which the routine has")
    index = np.array([contexts.index(label) for label in routine.contexts])
    stand_in = routine.contexts.index(OTHER) if OTHER in routine.contexts else 0

    def rows(steps: FloatArray) -> FloatArray:
        wide = np.zeros((*steps.shape[:-2], len(contexts), len(contexts)))
        wide[..., index] = steps[..., stand_in, None, :]
        wide[..., index[:, None], index] = steps
        return wide

    chains = {}
    for kind in routine.kinds:
        chain = routine.day(kind)
        initial = np.zeros(len(contexts))
        initial[index] = chain.initial
        chains[kind] = MarkovChain(contexts, initial, rows(chain.transitions), clock=chain.clock)
    nights = {pair: rows(night) for pair, night in routine.nights.items()}
    return Routine(chains, nights, kind_of=routine.rule)
