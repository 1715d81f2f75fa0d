"""What each private state of a slot would tell: the coefficients of its programme, from a belief.

`Slot` is what a decision needs, with an `ObserverView` for each observer. `DaySlots` makes it for a day, all of whose
rows are known, `LiveSlots` for a stream without end, from its live rows. How fast a gain may use up its delta, its
pacing, is decided here too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from discreet.adversary.belief import Adversary, Belief
from discreet.adversary.endless_belief import EndlessBelief
from discreet.adversary.process import SeenProcess
from discreet.adversary.rows import DROPPED, Rows
from discreet.jit import product
from discreet.numerics import SLACK, FloatArray, IntArray, digest_of, tightness

SOLVED = SLACK / 4
"""What programmes are solved for beyond delta, so that a bound met with equality is not refused."""

HELD_BACK = 2.0**-30
"""What each slot leaves to every later one of a gain's delta."""

HELD_SHARE = 2.0**-10
"""Of a gain whose odds are bounded, at most this share is held back over a day: it may be less than HELD_BACK."""

HELD, FADING = 0.3, 0.8
"""With a hidden Markov model, the share of a gain's delta that is held back until its slot, and how it shrinks with
each slot after it. Where no output reveals the hidden state, every later one tells a little more about each earlier
slot; a gain at its limit forbids all of them for good. Chosen among a few on event models of 4 to 8 topics and 50
slots, where it raised what is released 3 to 5 times; 0.2 to 0.5 and 0.7 to 0.9 do about as well."""


class ObserverView(NamedTuple):
    """What the private states of a slot (A of them) would tell one observer."""

    mass: FloatArray  # (A,): P(m | outputs)
    beyond: FloatArray  # (J, A): P(event j | m, outputs) - (q_j + delta_j), of events that could exceed their limit;
    # in units of the row's slack (`numerics.tightness`), so that one tolerance serves all
    coefficients: FloatArray  # (J, A): the same, against the limit that the programme is solved for

    def by(self, number: IntArray) -> ObserverView:
        """States of one number as one: rows are then equal for all that it does not tell apart."""
        told = Groups.of(number, self.mass, self.beyond)
        return ObserverView(told.mass, told.rows, Groups.of(number, self.mass, self.coefficients).rows)

    def among(self, private: IntArray, every: IntArray) -> ObserverView:
        """The same among more private states, which this observer holds impossible."""
        if np.array_equal(private, every):
            return self
        place = np.searchsorted(every, private)
        mass, rows = np.zeros(len(every)), np.zeros((2, len(self.beyond), len(every)))
        mass[place] = self.mass
        rows[0][:, place], rows[1][:, place] = self.beyond, self.coefficients
        return ObserverView(mass, *rows)


class Slot(NamedTuple):
    """The private states that are possible now (A of them) and what each would tell each observer."""

    private: IntArray  # (A,): index of each private state
    context: IntArray  # (A,)
    mass: FloatArray  # (A,): P(m | outputs), of several observers the mean
    views: tuple[ObserverView, ...]  # the first is the mechanism's own

    @classmethod
    def of(cls, private: IntArray, context: IntArray, mass: FloatArray, beyond: FloatArray, limits: FloatArray) -> Slot:
        """A state that brings a gain to its delta and not beyond, up to rounding, may always be told."""
        coefficients = beyond - limits[:, None]
        equal = np.abs(beyond) <= SOLVED
        coefficients[equal] = np.minimum(coefficients[equal], 0.0)
        return cls(private, context, mass, (ObserverView(mass, beyond, coefficients),))

    @classmethod
    def joined(cls, slots: Sequence[Slot]) -> Slot:
        """What several observers would be told in one slot.

        The mean of their masses is what worth is reckoned by: against it no observer's mass is large, so that the rows
        of all are of one size.
        """
        if len(slots) == 1:
            return slots[0]
        private = np.unique(np.concatenate([slot.private for slot in slots]))
        views = tuple(view.among(slot.private, private) for slot in slots for view in slot.views)
        context = np.zeros(len(private), dtype=np.int64)
        for slot in slots:
            context[np.searchsorted(private, slot.private)] = slot.context
        mass = views[0].mass.copy()
        for view in views[1:]:
            mass += view.mass
        return cls(private, context, mass / len(views), views)

    @property
    def rows(self) -> int:
        """How many inequalities each output has."""
        return sum(len(view.beyond) for view in self.views)

    @property
    def sound(self) -> bool:
        """Whether all of it is a number, which it is not after underflow."""
        return all(np.isfinite(view.mass).all() and np.isfinite(view.beyond).all() for view in self.views)

    def digest(self) -> bytes:
        """Of all that a kernel is made from: slots of equal digests have equal kernels."""
        return digest_of((self.private, self.context, self.mass, *(part for view in self.views for part in view)))

    def by_context(self) -> Slot:
        """The states of one context as one: rows are then equal for all that memory could tell apart."""
        told = Groups.of(self.context, self.mass, np.zeros((0, len(self.mass))))
        context = self.context[told.first]
        return Slot(context, context, told.mass, tuple(view.by(self.context) for view in self.views))

    def gathered(self, number: IntArray) -> tuple[Groups, FloatArray]:
        """States of one number as one, with the coefficients of their flows; and (B,) each one's largest coefficient.

        Flows are shares of the mean mass, so an observer's coefficients are scaled by how likely that observer holds
        the states against it. What a state tells alone does not depend on that: the largest is of those not scaled.
        """
        told = Groups.of(number, self.mass, np.zeros((0, len(self.mass))))
        rows, largest = [], np.full(len(told.mass), -np.inf)
        for view in self.views:
            own = Groups.of(number, view.mass, view.coefficients)
            largest = np.maximum(largest, own.rows.max(axis=0, initial=-np.inf))
            rows.append(own.rows * (own.mass / told.mass))
        return told._replace(rows=np.concatenate(rows)), largest


class Groups(NamedTuple):
    """States that are told apart by a number alone, as one state a number, in the order of the numbers."""

    mass: FloatArray  # (B,)
    rows: FloatArray  # (J, B)
    first: IntArray  # (B,): the first state of each
    where: IntArray  # (A,): the group of each state

    @classmethod
    def of(cls, number: IntArray, mass: FloatArray, rows: FloatArray) -> Groups:
        """Masses add up; coefficients are averaged by mass."""
        if (number[1:] > number[:-1]).all():  # most often each state has a number of its own, in order
            every = np.arange(len(number))
            return cls(mass, rows, every, every)
        _, first, where = np.unique(number, return_index=True, return_inverse=True)
        if len(first) == len(number):
            return cls(mass[first], rows[:, first], first, where)
        total = np.bincount(where, weights=mass)
        gathered = np.array([np.bincount(where, weights=row * mass) for row in rows]).reshape(len(rows), len(first))
        rows = gathered / np.where(total > 0, total, 1.0)  # an observer may hold all states of a number impossible
        return cls(np.asarray(total, dtype=np.float64), np.asarray(rows), first, where)


def binding(beyond: FloatArray, limits: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The rows that some state brings beyond its limit, with their limits; the others hold whatever is output."""
    over = ~(beyond <= limits[:, None]).all(axis=1)  # what is not a number is over
    return beyond[over], limits[over]


class Slots(Protocol):
    """Makes a `Slot` of a belief."""

    def slot(self, belief: Any) -> Slot:
        """Private states and coefficients, from the belief."""


class Pacing(NamedTuple):
    """How much of a row's delta is held back while later outputs tell of it too.

    `held` of it until the row closes, `fading` times as much with every slot after that. A gain at its limit forbids
    everything that would raise it, and a programme with many of these is degenerate. So little is enough, but it has to
    be given back slowly, over the life of a row. Limits only shrink by pacing, so it is sound whatever the numbers are;
    they were chosen by measurement: `python -m benchmarks endless` and docs/reproduce-adaptive.md.
    """

    held: float
    fading: float
    kept: float = 0.0
    """Of what is held back, what is never given back: see HIDDEN_PACING."""


PACING = {
    ("suppress", "last"): Pacing(0.02, 0.95),
    ("suppress", "none"): Pacing(0.1, 0.95),
    ("deceive", "last"): Pacing(0.02, 0.95),
    ("deceive", "none"): Pacing(0.2, 0.95),
}
"""On chains, by vocabulary and memory; of other vocabularies, as for "deceive"."""

HIDDEN_PACING = Pacing(HELD, FADING, 0.2)
"""Over hidden models, whose outputs never settle the past.

A fifth of it is never given back. Otherwise a row comes to sit at its limit, where every state says nearly the same of
it: live for as long as the habits remember, and in the way of every output. Published as streams of 200 events, four
people of random topics showed 0.446 of their attributes with nothing kept, and 0.520 with a fifth; elsewhere it changes
little.

`python -m benchmarks._hidden_pacing`, over 20 random streams: with "suppress" 0.186 of the positions are released, with
"deceive" 0.669; with nothing kept, 0.189 and 0.671 (on 20 others 0.256 and 0.757, and 0.252 and 0.756). The others are
with nothing kept, too: held back by nothing, 0.003 and 0.366; by 0.02 fading by 0.95, as over chains, 0.113
and 0.600; by 0.5 at the same fading, 0.153 and 0.670. Fading by 0.6 or 0.9 does as well, and a decision takes 1.3 to 2
ms with any of them, 2 to 3 where nothing is held back."""

LONG = 512
"""Slots after which nothing is held back any more."""


class LiveSlots:
    """The private states of a slot and what they tell, for a model without end: of the rows that are live."""

    def __init__(self, pacing: Pacing) -> None:
        self.pacing = pacing
        # Repeated products, not powers: a library's power may differ in the last bit from machine to machine.
        fading = np.cumprod(np.concatenate([[1.0], np.full(LONG - 1, pacing.fading), [0.0]]))
        self._fading = np.maximum(fading, pacing.kept)

    def slot(self, belief: EndlessBelief) -> Slot:
        """Private states and coefficients, from the belief."""
        return self.with_rows(belief)[0]

    def with_rows(self, belief: EndlessBelief) -> tuple[Slot, Rows]:
        """The same, and what its rows are about."""
        rows, believed, told = belief.tells()
        units = tightness(rows.limit)
        beyond = (told.known - rows.limit[:, None]) / units[:, None]
        live = np.asarray(~(beyond <= DROPPED).all(axis=1))  # what is not a number is live
        own = rows.only(live)
        limits = self._limits(own, believed[live], units[live], belief.slot)
        return Slot.of(told.private, told.context, told.mass, beyond[live], limits), own

    def _limits(self, rows: Rows, believed: FloatArray, units: FloatArray, t: int) -> FloatArray:
        """How far beyond its delta each gain may go now: less than nothing while some of it is held back.

        A gain that is there already may stay, so that silence is always possible. In units of each row's slack.
        """
        held = self.pacing.held * rows.delta * self._fading[np.clip(t - rows.closes, 0, LONG)]
        return np.asarray(np.minimum(SOLVED, np.maximum(-held / units, (believed - rows.limit) / units + SOLVED)))


class DaySlots:
    """The private states of a slot and what they tell, for a model of one day."""

    def __init__(self, adversary: Adversary, private_contexts: IntArray) -> None:
        self.adversary = adversary
        self.private_contexts = private_contexts
        process = adversary.process
        self._pairs = isinstance(process, SeenProcess) and len(process.private) > 1
        self._hidden = not isinstance(process, SeenProcess) and any(
            (process.emission(t) > 0).sum(axis=0).max() > 1
            for t in range(process.slots)  # a context leaves its state open
        )
        # Repeated products, not powers: a library's power may differ in the last bit from machine to machine.
        self._fading = np.cumprod(np.concatenate([[1.0], np.full(process.slots - 1, FADING)]))
        self._a_slot = self._held_back()
        self._ahead = [self._beyond_ahead(t) for t in range(process.slots)] if self._pairs else []

    def _held_back(self) -> FloatArray:
        """(R + A,): what each slot leaves to every later one: of a bound on odds a share of what there is to gain."""
        adversary = self.adversary
        by_odds = np.isfinite(adversary.secrets.least_factor)[
            np.concatenate([adversary.row_secret, adversary.any_index])
        ]
        share = HELD_SHARE / adversary.process.slots * adversary.deltas
        return np.where(by_odds, np.minimum(HELD_BACK, share), HELD_BACK)

    def _beyond_ahead(self, t: int) -> FloatArray:
        """(rows from slot t on, K): by how much a state of slot t brings each of them beyond its delta."""
        adversary = self.adversary
        rows = slice(int(adversary.row_start[t]), len(adversary.row_slot))
        members = adversary.row_members[rows.start : int(adversary.row_start[t + 1])]
        here = product(members, adversary.process.emission(t).T)
        reached = np.concatenate([here, adversary.ahead[t]])
        return np.asarray(reached - (adversary.priors + adversary.deltas)[rows, None]) / adversary.tightness[rows, None]

    def slot(self, belief: Belief) -> Slot:
        """Private states and coefficients, from the belief."""
        return self._slot_of_pairs(belief) if self._pairs else self._slot_of_contexts(belief)

    def _limits(self, belief: Belief) -> FloatArray:
        """(R + A,): how far beyond its delta each gain may go now, a little less than nothing until the last slot.

        What is held back, HELD_BACK a slot, leaves the next programme room: where a gain is at its limit, every output
        must keep it there exactly, and no solver finds such points. A gain that is there already may stay. In units of
        each row's slack.
        """
        adversary, closed = self.adversary, belief.closed
        held = self._a_slot[closed:] * (adversary.process.slots - 1 - belief.slot) + self._paced(belief)
        units = adversary.tightness[closed:]
        spent = (belief.gains - adversary.deltas[closed:]) / units
        return np.asarray(np.minimum(SOLVED, np.maximum(-held / units, spent + SOLVED)))

    def _paced(self, belief: Belief) -> FloatArray:
        """(R + A,): what is held back of each gain's delta because later outputs tell of it too; nothing at the end."""
        adversary, slots = self.adversary, self.adversary.process.slots
        deltas = adversary.deltas[belief.closed :]
        if not self._hidden or belief.slot + 1 == slots:
            return np.zeros(len(deltas))
        since = np.maximum(belief.slot - adversary.row_slot, 0)[belief.closed :]
        left = np.full(len(adversary.any_index), 1 - (belief.slot + 1) / slots)  # of the day, for secrets at="any"
        held = HELD * deltas * np.concatenate([self._fading[since], left])
        limits = (adversary.priors + adversary.deltas)[belief.closed :]
        return np.where(limits < 1, held, 0.0)  # a gain that cannot exceed its delta needs no room

    def _slot_of_contexts(self, belief: Belief) -> Slot:
        outcomes = belief.outcomes(np.eye(len(self.private_contexts)))  # as if each private state were announced
        possible = np.flatnonzero(outcomes.total)
        adversary, closed = self.adversary, belief.closed
        beyond = (outcomes.gains[:, possible] - adversary.deltas[closed:, None]) / adversary.tightness[closed:, None]
        rows, limits = binding(beyond, self._limits(belief))
        return Slot.of(possible, self.private_contexts[possible], outcomes.total[possible], rows, limits)

    def _slot_of_pairs(self, belief: Belief) -> Slot:
        """Past rows depend on the context before alone, the others on the one now: little is computed for each pair."""
        adversary, t = self.adversary, belief.slot
        process = adversary.process
        assert isinstance(process, SeenProcess)
        weights, limits = belief.weights, self._limits(belief)
        if t == 0:
            before = now = np.flatnonzero(weights)
            private, mass = process.first[now], weights[now]
        else:
            steps = weights[:, None] * process.transitions[t - 1]
            before, now = np.nonzero(steps)
            private, mass = process.private[before, now], steps[before, now]
        visits, each = len(adversary.any_index), len(adversary.row_slot) - belief.closed
        past = belief.past
        known = np.flatnonzero(weights)
        line = np.searchsorted(known, before)
        delta = (adversary.priors + adversary.deltas)[belief.closed :, None]
        units = adversary.tightness[belief.closed :, None]
        earlier = (past[:, known] / weights[known] - delta[: len(past)]) / units[: len(past)]
        earlier, held = binding(earlier, limits[: len(past)])
        ahead, kept = binding(self._ahead[t], limits[len(past) : each])
        parts = [(earlier[:, line], held), (ahead[:, now], kept)]
        for a in range(visits):
            visited = belief.visited[a][before] / weights[before]
            if adversary.any_active[t, a]:
                visited = np.where(adversary.any_members[a][process.contexts[now]] > 0, 1.0, visited)
            reached = visited + (1 - visited) * adversary.first_visit[t][a][now]
            parts.append(
                binding(((reached - delta[each + a]) / units[each + a])[None], limits[each + a : each + a + 1])
            )
        beyond = np.concatenate([rows for rows, _ in parts])
        limits = np.concatenate([limit for _, limit in parts])
        told = Groups.of(private, mass, beyond)  # memory may not tell all steps apart
        context = process.contexts[now[told.first]]
        context = context if adversary.context_of is None else adversary.context_of[context]
        return Slot.of(private[told.first], context, told.mass, *binding(told.rows, limits))
