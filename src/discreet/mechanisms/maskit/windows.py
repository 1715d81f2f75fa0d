"""Windows of silence on a Markov chain: what MaskIt's probabilistic check (paper, Section 3) computes with.

Context i is silent at slot t with probability p[t, i], else released. The posterior on X_u depends on the last release
at or before u and the first at or after it alone (Propositions 3 and 4), so p is private iff every *window*

    released k at slot a (or the start of the day), silence, released j at slot b (or the end of the day)

keeps every posterior strictly inside it within its bound, and every released context is no secret whose prior is below
1 - delta (Theorem 2; prefixes are averages of complete outputs and need no check of their own). For u in a window the
requirement reads N <= theta D, theta = q_g(u) + delta_g, with

    D = P(silence, X_b = j | X_a = k) = sum over c of x[c] p[t, c] y[c],      N the same on paths with X_u in g,

x being the window's left end seen from slot t (a *point*: D of the window from (a, k) to (t, c), for every c) and y its
right end seen from t. N - theta D is bilinear in the same way: either x or y is replaced by a *row*, the same
difference for the half window, or u = t and x[c] is multiplied by the *test* 1{c in g} - theta. Hence, for fixed t:

- The constraint is linear in p[t, i]: the smallest allowed value has a closed form (theory, section 3).
- Rows only ever meet non-negative factors: a row without a positive entry stays so, and one that is nowhere above
  another is violated only together with it. Both are dropped for good, and with them the windows that they stand for.
  Likewise a point all of whose silent paths meet a releasable context at t is a positive combination of the points
  (t, c), whose constraints imply its own. All this is exact: no cache of passed triples is kept, so Lemma 3, which is
  unsound at p = 1, is not used.
- Read from the end of the day, points and rows obey the same recursion with the transitions transposed: one code for
  both directions.

Numbers: D and N are sums of products of non-negative numbers, scaled at each slot, so their relative error is at most
about T n 2**-53 (1e-13 for 12 contexts and 96 slots) and far less in practice. The search allows half of the slack
beyond delta (`numerics.slack_of`), `is_private` all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.contracts import DayModel
from discreet.jit import product
from discreet.mechanisms.maskit import loops
from discreet.models.arrays import reachable, require_chain
from discreet.numerics import SLACK, BoolArray, FloatArray, IntArray, slack_of
from discreet.policy import SecretTable

LEAST = 2.0**-20
"""A release probability below this is set to zero: it is worth nothing and would open windows like any other."""


@dataclass(frozen=True)
class CompiledSteps:
    """Transitions between neighbouring slots in the form that the compiled loops read."""

    matrices: FloatArray  # (T-1, n, n)
    counts: IntArray  # (T-1, n)
    successors: IntArray  # (T-1, n, n)

    @classmethod
    def of(cls, matrices: FloatArray) -> CompiledSteps:
        """Index the positive entries of each row."""
        matrices = np.array(matrices, order="C")
        positive = matrices > 0
        return cls(matrices, positive.sum(axis=2), np.argsort(~positive, axis=2, kind="stable"))

    def at(self, t: int) -> tuple[FloatArray, IntArray, IntArray]:
        """The step from the t-th slot to the one after it, in reading order."""
        return self.matrices[t], self.counts[t], self.successors[t]


@dataclass(frozen=True)
class Sight:
    """Window ends and constraints as seen from one slot: points (m, n), rows (k, n) and the rows' ends' masses."""

    points: FloatArray
    rows: FloatArray
    masses: FloatArray


@dataclass(frozen=True)
class Order:
    """An order of coordinates: passes over the day, each with the contexts to visit at every slot, T arrays of indices.

    Passes alternate in direction, so that one reads on from what the other saw; the first is forwards, or `backwards`.
    """

    name: str
    passes: tuple[tuple[IntArray, ...], ...]
    backwards: bool = False

    def coordinates(self) -> list[tuple[int, int]]:
        """The (slot, context) pairs as they are visited."""
        found = []
        for number, visits in enumerate(self.passes):
            slots = range(len(visits))
            reading = slots[::-1] if self.backwards != bool(number % 2) else slots
            found += [(t, int(i)) for t in reading for i in visits[t]]
        return found


class Direction:
    """The day read from one side; k counts slots in reading order."""

    def __init__(
        self,
        edge: FloatArray,
        steps: CompiledSteps,
        possible: BoolArray,
        tests: Sequence[FloatArray],
        *,
        backwards: bool,
    ) -> None:
        self.backwards = backwards
        self.edge = edge / edge.sum()  # (n,): the day's first end, seen from the first slot
        self.steps = steps
        self.possible = possible  # (T, n)
        self.tests = tests  # per slot (secrets there, n): 1{c in g} - theta

    def slot(self, k: int) -> int:
        """The slot that is read k-th."""
        return len(self.possible) - 1 - k if self.backwards else k

    def first(self) -> Sight:
        """Before the first slot there is only the day's edge."""
        nothing = np.empty((0, len(self.edge)))
        return Sight(self.edge[None, :], nothing, nothing)

    def beyond(self, sight: Sight, k: int, p: FloatArray, tests: FloatArray) -> Sight:
        """What is seen from the slot after the k-th, given the k-th slot's silences p (n,) and tests."""
        step = self.steps.at(k)
        points = loops.next_points(sight.points, p, (p < 1) & self.possible[k], *step)
        return Sight(points, *loops.next_rows(sight.rows, sight.masses, sight.points, tests, p, *step))


class Windows:
    """All windows of a chain and its secrets at each slot; those at="any" are left out.

    Coordinates are (slot, context) pairs that can occur; elsewhere p is 1 and never lowered.
    """

    def __init__(self, model: DayModel, secrets: SecretTable) -> None:
        require_chain(model, "a probabilistic check")
        self.slots, self.contexts = model.slots, len(model.contexts)
        self.possible = reachable(model)
        each = ~secrets.any_slot
        self.members: BoolArray = secrets.members[each]  # (G, n)
        self.active: BoolArray = secrets.active[each]  # (G, T)
        self.prior = np.where(self.possible, model.prior, 0.0)
        self.secret_prior: FloatArray = product(self.members.astype(np.float64), self.prior.T)  # (G, T): q
        self.deltas: FloatArray = secrets.slot_deltas(self.secret_prior, np.flatnonzero(each))  # (G, T)
        self.slack = slack_of(self.secret_prior + self.deltas)  # (G, T)
        tests = [self._tests(t, self.deltas + self.slack / 2) for t in range(self.slots)]
        matrices = np.where(self.possible[:-1, :, None], model.transitions, 0.0)
        self.forward = Direction(
            np.asarray(model.initial), CompiledSteps.of(matrices), self.possible, tests, backwards=False
        )
        self.backward = Direction(
            self.possible[-1].astype(np.float64),
            CompiledSteps.of(matrices[::-1].transpose(0, 2, 1)),
            self.possible[::-1],
            tests[::-1],
            backwards=True,
        )

    def _tests(self, t: int, over: FloatArray) -> FloatArray:
        """1{c in g} - theta for the secrets at slot t, theta = q + over (G, T); (secrets there, n)."""
        here = self.active[:, t]
        theta = self.secret_prior[here, t] + over[here, t]
        return np.ascontiguousarray(self.members[here] - theta[:, None])

    def excess(self, p: FloatArray, over: FloatArray, floor: float, *, once: bool = False) -> float:
        """The largest posterior - q_g(u) - over[g, u], or `floor` if that is larger.

        `over` (G, T) is zero for gains, delta for how far a bound is exceeded. The largest ratio N / D is found as
        Dinkelbach does: with theta raised to the largest excess found, until no constraint fails; `once` stops after
        the first round, which finds a failing window if there is one.
        """
        worst = floor
        while True:
            found = self._round(p, over + worst)
            if found <= loops.TIE:
                return worst
            worst += found
            if once:
                return worst

    def _round(self, p: FloatArray, over: FloatArray) -> float:
        """The largest (N - theta D) / D over windows that are looked at, theta = q + over; 0 if no constraint fails."""
        worst = 0.0
        sight = self.forward.first()
        for t in range(self.slots):
            shown = (p[t] < 1) & self.possible[t]
            tests = self._tests(t, over)
            worst = max(worst, float(tests[:, shown].max(initial=0.0)))  # a released context is known for certain
            worst = loops.largest_ratio(sight.rows, sight.masses, shown, worst)
            if t + 1 < self.slots:
                sight = self.forward.beyond(sight, t, p[t], tests)
        return max(worst, _at_end(sight, p[-1], tests))

    def worst_gain(self, p: FloatArray) -> float:
        """The largest gain that any output can cause; 0 where there are no secrets."""
        return self.excess(p, np.zeros_like(self.deltas), 0.0)

    def is_private(self, p: FloatArray) -> bool:
        """Whether every gain stays within its delta (Theorem 2)."""
        return self.excess(p, self.deltas + (self.slack - SLACK), SLACK, once=True) <= SLACK

    def lowered(self, p: FloatArray, order: Order, *, grid: int = 0, least: float = LEAST) -> tuple[FloatArray, int]:
        """A minimal private vector below the private p, and the number of coordinates checked.

        Coordinates are visited in the order given; each falls to the smallest value that the others allow (the smallest
        multiple of 1/grid, if grid > 0). Lowering one never lets another fall further (Theorem 1), so one visit is
        enough. What is seen from the far side is kept from the pass before, which came from there.
        """
        p = np.array(p, dtype=np.float64, order="C")
        near, far = (self.backward, self.forward) if order.backwards else (self.forward, self.backward)
        ahead = self._sights(far, p)
        checks = 0
        for number, visits in enumerate(order.passes, 1):
            ahead, count = self._pass(near, p, ahead, visits, grid, least, keep=number < len(order.passes))
            checks += count
            near, far = far, near
        return p, checks

    def alone(self, grid: int = 0) -> FloatArray:
        """(T, n): the smallest value that each coordinate could take if all others were 1; none can ever go below."""
        lowest = np.ones((self.slots, self.contexts))
        silent = np.ones((self.slots, self.contexts))
        seen, ahead = self._sights(self.forward, silent), self._sights(self.backward, silent)[::-1]
        for t in range(self.slots):
            for i in range(self.contexts):
                p = silent[t].copy()
                self._lower_slot(t, p, np.array([i]), seen[t], ahead[t], grid, LEAST)
                lowest[t, i] = p[i]
        return lowest

    def _pass(
        self,
        near: Direction,
        p: FloatArray,
        ahead: list[Sight],
        visits: Sequence[IntArray],
        grid: int,
        least: float,
        *,
        keep: bool,
    ) -> tuple[list[Sight], int]:
        """Lower p in place, slot by slot in the direction's order; what was seen from each slot, and the checks."""
        seen = [near.first()]
        checks = 0
        for k in range(self.slots):
            t = near.slot(k)
            checks += self._lower_slot(t, p[t], visits[t], seen[-1], ahead[-1 - k], grid, least)
            if k + 1 < self.slots:
                seen.append(near.beyond(seen[-1], k, p[t], near.tests[k]))
                if not keep:
                    del seen[0]
        return seen, checks

    def _lower_slot(
        self, t: int, p: FloatArray, visits: IntArray, seen: Sight, ahead: Sight, grid: int, least: float
    ) -> int:
        """Lower slot t's p (n,) in place at contexts visited, from what both sides see; how many were checked."""
        tests = self.forward.tests[t]
        visits = visits[self.possible[t][visits]]
        if not len(visits):
            return 0
        worst = np.concatenate([seen.rows, ahead.rows, tests]).max(axis=0, initial=0.0)
        free = visits[worst[visits] <= 0]  # any other would end a window that fails, or is itself the secret
        if len(free):
            crossing = (tests[:, None, :] * ahead.points[None, :, :]).reshape(-1, self.contexts)
            points, constraints = _able(seen.points, np.concatenate([ahead.rows, crossing]), p, free)
            ends, rows = _able(ahead.points, seen.rows, p, free)
            loops.lower_slot(p, free, points, constraints, rows, ends, grid, least)
        return len(visits)

    def _sights(self, direction: Direction, p: FloatArray) -> list[Sight]:
        """What is seen from every slot of a direction, in its reading order."""
        sights = [direction.first()]
        for k in range(self.slots - 1):
            sights.append(direction.beyond(sights[-1], k, p[direction.slot(k)], direction.tests[k]))
        return sights


def _at_end(sight: Sight, p: FloatArray, tests: FloatArray) -> float:
    """Windows that end with the day: silence p (n,) in the last slot, and nothing after it."""
    crossing = (tests[:, None, :] * sight.points[None, :, :]).reshape(-1, len(p))
    values = product(np.concatenate([sight.rows, crossing]), p)
    masses = product(np.concatenate([sight.masses, np.tile(sight.points, (len(tests), 1))]), p)
    return float((values[masses > 0] / masses[masses > 0]).max(initial=0.0))


def _able(points: FloatArray, rows: FloatArray, p: FloatArray, free: IntArray) -> tuple[FloatArray, FloatArray]:
    """The points and rows whose constraint, sum of point p row <= 0, could ever stop a free context from falling.

    Some term must be positive, and some term of a free context negative.
    """
    positive = (rows > 0) & (p > 0)
    rows = rows[positive.any(axis=1) & (rows[:, free] < 0).any(axis=1)]
    betraying = ((rows > 0) & (p > 0)).any(axis=0)
    return points[(points[:, betraying] > 0).any(axis=1) & (points[:, free] > 0).any(axis=1)], rows
