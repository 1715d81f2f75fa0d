"""The observer's belief over a long stream, in integers with a proven bound on what rounding can have done.

For chains whose rows are multiples of a power of two and sum to one exactly, so that nothing is unclear about what the
probabilities are. Numbers grow by some 70 bits a slot. Past `LARGE` they are cut to `KEPT` bits, rounded down,
and `lost` bounds by private state what any of them has lost so far: it goes through the same steps as they do,
and every cut adds one unit. Beliefs are judged by their upper bound.

A past row is forgotten once no possible state is beyond its limit: by theory, section 10, fact 1, it never matters
again (test_enumeration.py keeps every row). Rows are kept for `AT_LEAST` days all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.contracts import AnyMachine, Finite
from discreet.models.routine.routine import EndlessChain
from discreet.outputs import SKIPPED, Output
from discreet.policy import Policy
from tests.endless.oracle import events_of_day, whole_numbers
from tests.endless.searched import Event

LARGE, KEPT = 1200, 400
AT_LEAST = 2


@dataclass
class Row:
    event: Event
    prior: Fraction
    met: Any  # (P,) integers: P(private state, the event has been met)
    unmet: Any  # (P,)

    @property
    def limit(self) -> Fraction:
        return self.prior + self.event.tolerated(self.prior)


class Walk:
    """One stream: `kernel` of the slot, `excess` of each output that it can give, `advance` with one of them.

    Rows of `ahead` days are looked at, today included.
    """

    def __init__(self, machine: AnyMachine, endless: EndlessChain, policy: Policy, ahead: int = 3) -> None:
        self.machine, self.endless, self.policy = machine, endless, policy
        self.n, self.T = len(endless.contexts), endless.day_slots
        self.contexts = [int(c) for c in machine.private_contexts]
        private = range(len(self.contexts))
        self._after = [[machine.remember(z, c) for c in range(self.n)] for z in private]
        self._fresh = [machine.remember(None, c) for c in range(self.n)]
        self._step = lru_cache(maxsize=None)(self._whole_step)
        self._ahead = lru_cache(maxsize=4096)(self._look_ahead)
        self.t, self.days, self.most_rows = 0, 0, 0
        self.state: Any = machine.start()
        self.prior: list[int] = whole_numbers(endless.initial).tolist()  # of the first slot of day `days`
        self.everything = self._zeros()
        for c, weight in enumerate(self.prior):
            self.everything[self._fresh[c]] += weight
        self.lost = self._zeros()
        self.rows: list[Row] = []
        for _ in range(ahead):
            self._add_day()
        self._meet()

    def _zeros(self) -> Any:
        zeros = np.empty(len(self.contexts), dtype=object)
        zeros[:] = 0
        return zeros

    def _whole_step(self, place: int) -> tuple[Any, int]:
        """The step from a slot of the cycle to the next as integers, and what its rows sum to."""
        rows = whole_numbers(self.endless.transition(place))
        sums = set(rows.sum(axis=1).tolist())
        assert len(sums) == 1, "a walk needs rows that sum to one exactly"
        return rows.tolist(), sums.pop()

    def step(self, t: int) -> tuple[list[list[int]], int]:
        found: tuple[list[list[int]], int] = self._step(t % (7 * self.T))  # kinds repeat with the week at the latest
        return found

    def _add_day(self) -> None:
        """Rows of one day more, and the prior of the day after; priors are cut likewise, by far less than SLACK."""
        first, belief = self.days * self.T, self.prior
        events = list(events_of_day(self.policy, self.endless.contexts, self.T, self.days))
        never = dict.fromkeys(events, belief)
        for t in range(first, first + self.T):
            for event in events:
                if t in event.slots:
                    never[event] = [0 if c in event.members else w for c, w in enumerate(never[event])]
            rows, _ = self.step(t)
            never = {event: _through(weights, rows) for event, weights in never.items()}
            belief = _through(belief, rows)
        for event in events:
            prior = 1 - Fraction(sum(never[event]), sum(belief))
            self.rows.append(Row(event, prior, self._zeros(), self.everything.copy()))
        shift = max(0, max(belief).bit_length() - KEPT)
        self.prior = [weight >> shift for weight in belief]
        self.days += 1

    def _look_ahead(self, place: int, gaps: tuple[int, ...], members: frozenset[int]) -> tuple[list[int], int]:
        """(n,) integers over their scale: P(a member at one of the slots `gaps` ahead | X_t)."""
        found, scale = [0] * self.n, 1
        for gap in range(gaps[-1], 0, -1):
            there = [scale if gap in gaps and c in members else found[c] for c in range(self.n)]
            rows, whole = self.step(place + gap - 1)
            found = [sum(chance * there[c] for c, chance in enumerate(row)) for row in rows]
            scale *= whole
        return found, scale

    def _meet(self) -> None:
        for row in self.rows:
            if self.t in row.event.slots:
                for z, c in enumerate(self.contexts):
                    if c in row.event.members:
                        row.met[z] += row.unmet[z]
                        row.unmet[z] = 0

    def kernel(self) -> Finite:
        kernel: Any = self.machine.kernel(self.state)
        assert all(sum(row) == kernel.total for row in kernel.weights.tolist())
        return kernel  # type: ignore[no-any-return]

    def excesses(self, kernel: Finite) -> dict[Output, tuple[Fraction, Event | None]]:
        """For each output that can be next: the largest upper bound of a gain less its delta, and on which event."""
        found: dict[Output, tuple[Fraction, Event | None]] = {}
        ahead = [self._joint(row) for row in self.rows]
        for output, column in zip(kernel.outputs, kernel.weights.T.tolist(), strict=True):
            whole = sum(w * b for w, b in zip(self.everything, column, strict=True))
            if not whole:
                continue
            lost = 2 * sum(w * b for w, b in zip(self.lost, column, strict=True))  # of met and of unmet
            worst: tuple[Fraction, Event | None] = (Fraction(-1), None)
            for row, (joint, scale) in zip(self.rows, ahead, strict=True):
                part = sum(w * b for w, b in zip(joint, column, strict=True)) + lost * scale
                excess = _quotient(part, whole * scale) - row.limit
                worst = max(worst, (excess, row.event), key=lambda pair: pair[0])
            found[output] = worst
        return found

    def _joint(self, row: Row) -> tuple[list[int], int]:
        """(P,) integers over their scale: P(event, private state), the future included."""
        gaps = tuple(sorted(u - self.t for u in row.event.slots if u > self.t))
        if not gaps:
            return row.met.tolist(), 1
        ahead, scale = self._ahead(self.t % (7 * self.T), gaps, row.event.members)
        met, unmet = row.met.tolist(), row.unmet.tolist()
        return [m * scale + u * ahead[c] for m, u, c in zip(met, unmet, self.contexts, strict=True)], scale

    def advance(self, output: Output, kernel: Finite) -> None:
        """To the next slot."""
        column = None if output == SKIPPED else kernel.weights[:, kernel.outputs.index(output)].tolist()
        self.state = self.machine.advance(self.state, output)
        rows, _ = self.step(self.t)
        self.everything, self.lost = self._push(self.everything, column, rows), self._push(self.lost, column, rows)
        for row in self.rows:
            row.met, row.unmet = self._push(row.met, column, rows), self._push(row.unmet, column, rows)
        self.t += 1
        self._cut()
        if self.t % self.T == 0:
            self._add_day()
        self._meet()
        self.rows = [row for row in self.rows if not self._dead(row)]
        self.most_rows = max(self.most_rows, len(self.rows))

    def _push(self, weights: Any, column: list[int] | None, rows: list[list[int]]) -> Any:
        found = self._zeros()
        for z, weight in enumerate(weights):
            heavy = weight if column is None else weight * column[z]
            if heavy:
                following = self._fresh if column is None else self._after[z]
                for c, chance in enumerate(rows[self.contexts[z]]):
                    found[following[c]] += heavy * chance
        return found

    def _cut(self) -> None:
        shift = max(self.everything).bit_length() - KEPT
        if shift < LARGE - KEPT:
            return
        self.everything = self.everything >> shift
        self.lost = (self.lost >> shift) + 2  # one for what was cut from `lost` itself, one for the weights
        for row in self.rows:
            row.met, row.unmet = row.met >> shift, row.unmet >> shift

    def _dead(self, row: Row) -> bool:
        if max(row.event.slots) >= self.t - AT_LEAST * self.T:
            return False
        limit = row.limit
        return all(
            (met + lost) * limit.denominator <= limit.numerator * whole
            for met, lost, whole in zip(row.met, self.lost, self.everything, strict=True)
        )


def _through(weights: list[int], rows: list[list[int]]) -> list[int]:
    return [sum(w * row[c] for w, row in zip(weights, rows, strict=True)) for c in range(len(weights))]


def _quotient(part: int, whole: int) -> Fraction:
    """part / whole rounded up to a multiple of 2**-128: exact enough beside SLACK, and quick to compare."""
    return Fraction(-(-(part << 128) // whole), 1 << 128)
