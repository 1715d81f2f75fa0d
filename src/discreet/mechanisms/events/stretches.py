"""Stretches of positions in an event model: what PA-HMM's privacy check (S-PPATP, Algorithm 5) computes with.

Event e is published at slot t with probability 1 - s[t, e], whatever else is output. An observer of the outputs of
`window` slots in a row weighs hidden states by b[y, e] where e was published and by sum_e b[y, e] s[t, e] where nothing
was (theory, section 7b). The posterior on X_u is 1 or 0 where an event was published at u; only silent slots u need a
check. It reads N <= theta D, theta = q_g(u) + delta_g, where

    D = P(outputs of the stretch)          and          N = the same on paths with X_u in g.

Both are linear in what is known at each slot of the stretch, one vector over hidden states a slot: columns of b, and
the *silence* sum_e b[., e] s[t, e]. Seen from slot t, the outputs before it are a *point* f (measure of the hidden
state at t) and constraints are *rows* (N - theta D as a vector of the same kind); the outputs after it likewise. So
what is known at t, a vector v >= 0, must satisfy c.v <= 0 for c = row * point of the two sides, and at a silent t

    sum_y f(y) y'(y) [silence in g - theta silence](y) <= 0        for every point f before and y' after.

Consequences, all exact:
- How likely an event is published does not matter to what its publication tells, only whether it ever is.
- s is private iff every stretch passes, and privacy is monotone: raising s[t, e] adds a multiple of e's vector to the
  silence, which satisfies the constraints if e may be published (Proposition 3).
- The smallest s[t, e] that the others allow has a closed form: constraints are linear in it.
- A row without a positive entry can never be violated and is dropped.
Cost of a slot: (events published + 1) ** (window - 1) vectors of K numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.contracts import DayModel
from discreet.jit import product
from discreet.mechanisms.events.loops import lower_levels
from discreet.models.arrays import reachable, state_prior
from discreet.numerics import ROOM, SLACK, BoolArray, FloatArray, IntArray
from discreet.policy import SecretTable


class Side(NamedTuple):
    """One side of a slot: points (P, K), rows (R, K) and beside each row the mass D that it belongs to (R, K)."""

    points: FloatArray
    rows: FloatArray
    masses: FloatArray


class SlotEvidence(NamedTuple):
    """What a slot's output may tell: vectors (O, K), and the silence against each secret there (secrets, K)."""

    told: FloatArray  # published events, then the silence if it can occur
    silence: FloatArray  # (K,)
    inside: FloatArray  # (secrets at the slot, K): silence in g - theta silence
    masses: FloatArray  # beside each row of `inside` what it belongs to: here the silence


class Stretches:
    """All stretches of `window` slots of a model, and its secrets at each slot; those at="any" are left out."""

    def __init__(self, model: DayModel, secrets: SecretTable, window: int) -> None:
        self.slots, self.contexts = model.slots, len(model.contexts)
        self.window = min(window, model.slots)
        self.emissions = [self._emission(model, t) for t in range(self.slots)]  # (K, n) each
        self.steps: FloatArray = model.transitions
        self.states = state_prior(model.initial, model.transitions)  # (T, K)
        self.prior: FloatArray = model.prior
        each = ~secrets.any_slot
        self.members: FloatArray = secrets.members[each].astype(np.float64)  # (G, n)
        self.active: BoolArray = secrets.active[each]  # (G, T)
        self.secret_prior: FloatArray = product(self.members, self.prior.T)  # (G, T)
        self.deltas: FloatArray = secrets.slot_deltas(self.secret_prior, np.flatnonzero(each))  # (G, T)
        self.possible: BoolArray = reachable(model) if model.emissions is None else np.asarray(self.prior > 0)  # (T, n)

    @staticmethod
    def _emission(model: DayModel, t: int) -> FloatArray:
        return np.eye(len(model.contexts)) if model.emissions is None else np.asarray(model.emissions[t])

    def theta(self, t: int, over: FloatArray) -> FloatArray:
        """(secrets at t,): q + over, of which there is one for each secret and slot (G, T)."""
        here = self.active[:, t]
        return np.asarray(self.secret_prior[here, t] + over[here, t])

    def known(self, t: int, silent: FloatArray, over: FloatArray) -> SlotEvidence:
        """What the outputs of slot t tell if its events are silent with probabilities (n,)."""
        told, silence = self._told(t, silent)
        inside = self.silence_over(t, silent, over)
        return SlotEvidence(told, silence, inside, np.broadcast_to(silence, inside.shape))

    def _told(self, t: int, silent: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(outputs, K) and (K,): the vectors of the outputs that can occur at slot t, and that of the silence."""
        emission = self.emissions[t]
        silence = product(emission, silent)
        told = emission[:, np.flatnonzero((silent < 1) & self.possible[t])].T
        return (np.concatenate([told, silence[None]]) if silence.any() else told), silence

    def silence_over(self, t: int, silent: FloatArray, over: FloatArray) -> FloatArray:
        """(secrets at t, K): silence in g - theta silence."""
        emission, here = self.emissions[t], self.active[:, t]
        silence = product(emission, silent)
        return product(self.members[here] * silent, emission.T) - self.theta(t, over)[:, None] * silence

    def events_over(self, t: int, silent: FloatArray, points: FloatArray, over: FloatArray) -> BoolArray:
        """(n,): the events that tell too much of slot t itself if published, seen from points (P, K).

        A published event tells a secret that it is in for certain.
        """
        barred: BoolArray = np.asarray((self.members[self.active[:, t]][self.theta(t, over) < 1] > 0).any(axis=0))
        return barred

    def edge(self, t: int, *, before: bool) -> Side:
        """A slot with nothing of the stretch on that side: the hidden state's prior before it, nothing after it."""
        nothing = np.empty((0, self.states.shape[1]))
        return Side(self.states[t : t + 1] if before else np.ones((1, self.states.shape[1])), nothing, nothing)

    def beyond(self, side: Side, t: int, known: SlotEvidence, *, forwards: bool) -> Side:
        """A side of slot t as seen from its neighbour, the outputs of t included."""
        step = self.steps[t] if forwards else self.steps[t - 1].T
        points = product(_products(side.points, known.told), step)
        old, old_masses = _products(side.rows, known.told), _products(side.masses, known.told)
        new, new_masses = _products(side.points, known.inside), _products(side.points, known.masses)
        rows = product(np.concatenate([old, new]), step)
        masses = product(np.concatenate([old_masses, new_masses]), step)
        positive = (rows > 0).any(axis=1)
        total = points.sum(axis=1)
        scale = masses[positive].sum(axis=1, keepdims=True)
        return Side(points[total > 0] / total[total > 0, None], rows[positive] / scale, masses[positive] / scale)

    def side(self, t: int, reach: int, knowns: list[SlotEvidence], *, before: bool) -> list[Side]:
        """What is seen of t's side with 0, 1, ..., reach slots of the stretch on it, as far as the day goes."""
        sides = [self.edge(t, before=before)]
        for depth in range(1, reach + 1):
            far = t - depth if before else t + depth
            if not 0 <= far < self.slots:
                break
            side = self.edge(far, before=before)
            for k in range(far, t, 1 if before else -1):
                side = self.beyond(side, k, knowns[k], forwards=before)
            sides.append(side)
        return sides

    def excess(self, silent: FloatArray, over: FloatArray) -> float:
        """The largest posterior - q_g(u) - over[g, u] in any stretch, if positive; else some number that is not."""
        knowns = [self.known(t, silent[t], over) for t in range(self.slots)]
        worst = -1.0
        for t in range(self.slots):
            worst = max(worst, self.certain(t, silent[t], over))
            if t >= self.window - 1 and len(self.members):
                worst = max(worst, self.ending(t, knowns))
        return worst

    def certain(self, t: int, silent: FloatArray, over: FloatArray) -> float:
        """The same of the events published at slot t (n,): a published event is known for certain."""
        shown = (silent < 1) & self.possible[t]
        certain = self.members[self.active[:, t]][:, shown] - self.theta(t, over)[:, None]
        return float(certain.max(initial=-1.0))

    def ending(self, t: int, knowns: list[SlotEvidence]) -> float:
        """The same in the stretch that ends at slot t."""
        seen = self.side(t, self.window - 1, knowns, before=True)[-1]
        now, worst = knowns[t], -1.0
        if len(seen.rows):
            values, masses = product(seen.rows, now.told.T), product(seen.masses, now.told.T)
            worst = max(worst, float((values[masses > 0] / masses[masses > 0]).max(initial=-1.0)))
        values, masses = product(seen.points, now.inside.T), product(seen.points, now.masses.T)
        return max(worst, float((values[masses > 0] / masses[masses > 0]).max(initial=-1.0)))

    def worst_gain(self, silent: FloatArray) -> float:
        """The largest gain that the outputs of a stretch can cause on a secret in it; at least 0."""
        return max(0.0, self.excess(silent, np.zeros_like(self.deltas)))

    def is_private(self, silent: FloatArray, room: float = SLACK) -> bool:
        """Whether every gain within every stretch stays within its delta."""
        return self.excess(silent, self.deltas + room) <= 0

    def lowered(self, levels: IntArray, grid: int, orders: list[IntArray]) -> tuple[IntArray, int]:
        """A minimal private (T, n) of levels below the private ones given, silent = levels / grid; and the checks made.

        Slots in order, the events of each in its own order: each falls to the lowest level that the others allow.
        """
        levels, over = levels.copy(), self.deltas + ROOM
        knowns = [self.known(t, levels[t] / grid, over) for t in range(self.slots)]
        checks = 0
        for t in range(self.slots):
            self._lower_slot(t, levels[t], grid, orders[t], knowns, over)
            knowns[t] = self.known(t, levels[t] / grid, over)
            checks += len(orders[t])
        return levels, checks

    def _lower_slot(
        self, t: int, levels: IntArray, grid: int, order: IntArray, knowns: list[SlotEvidence], over: FloatArray
    ) -> None:
        """Lower slot t's levels (n,) in place."""
        constraints, points = self.constraints(t, knowns)
        emission = self.emissions[t]
        theta, members = self.theta(t, over), self.members[self.active[:, t]]
        slopes = product(constraints, emission)
        barred = (slopes > 0).any(axis=0) | self.events_over(t, levels / grid, points, over)
        free = order[~barred[order]]
        if not len(free):
            return
        told = [
            product(points, emission * row) for row in members - theta[:, None]
        ]  # what each event adds to a silence
        lower_levels(levels, free, np.concatenate([slopes, *told]))  # (constraints, n)

    def constraints(self, t: int, knowns: list[SlotEvidence]) -> tuple[FloatArray, FloatArray]:
        """Rows that any vector at t must meet (C, K), and the points that a silence at t is seen through (P, K)."""
        reach = self.window - 1
        before = self.side(t, reach, knowns, before=True)
        after = self.side(t, reach, knowns, before=False)
        rows, points = [np.empty((0, self.states.shape[1]))], [np.empty((0, self.states.shape[1]))]
        for depth, left in enumerate(before):
            if reach - depth < len(after):
                right = after[reach - depth]
                rows += [_products(left.rows, right.points), _products(left.points, right.rows)]
                points.append(_products(left.points, right.points))
        constraints = np.concatenate(rows)
        return constraints[(constraints > 0).any(axis=1)], np.concatenate(points)


def _products(left: FloatArray, right: FloatArray) -> FloatArray:
    """(L * R, K): every vector of one side times every vector of the other."""
    return np.asarray((left[:, None, :] * right[None, :, :]).reshape(-1, left.shape[1]))
