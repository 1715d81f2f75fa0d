"""Slow twin of the adversary: one walk along a mechanism's outputs, in integers.

The floats of a model are taken as the exact numbers that they are. A path weighs the product of its floats; beliefs are
quotients of such weights, so rows that sum to 1 only nearly are no error: the weights of all paths together are the
whole. Nothing is divided before a question is asked. Private states enter by `remember` alone. It shares no code with
`discreet.adversary` and none with the mechanisms.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.contracts import DayModel, Finite, Mechanism
from discreet.outputs import Output
from discreet.policy import Policy, Secret

Row = tuple[int, int | None]  # a secret's index and a slot, or None for "at some slot"
Measure = dict[tuple[int, int], int]  # (what is remembered or the private state, hidden state): weight


@dataclass(frozen=True)
class Gain:
    """What one output, were it the next, would tell on one secret: posterior part / whole against the prior."""

    output: Output
    secret: str
    slot: int | None
    part: int
    whole: int
    prior: Fraction
    delta: Fraction

    def within(self, slack: Fraction = Fraction(0)) -> bool:
        """Whether the gain is at most delta and slack, without reducing a fraction of thousands of digits."""
        bound = self.prior + self.delta + slack
        return self.part * bound.denominator <= bound.numerator * self.whole

    @property
    def excess(self) -> Fraction:
        """The gain less its delta."""
        return Fraction(self.part, self.whole) - self.prior - self.delta


def _whole_numbers(array: Any) -> Any:
    """The floats of an array times one power of two that makes all of them integers, as nested lists."""
    flat = np.asarray(array, dtype=np.float64)
    ratios = [value.as_integer_ratio() for value in flat.ravel().tolist()]
    scale = max(denominator for _, denominator in ratios)
    return np.array([top * (scale // bottom) for top, bottom in ratios] + [None], dtype=object)[:-1].reshape(flat.shape)


class ExactWalk:
    """The exact beliefs along one sequence of outputs; `model` and `policy` default to the mechanism's own."""

    def __init__(self, mechanism: Mechanism[Any], policy: Policy | None = None, model: DayModel | None = None) -> None:
        policy = mechanism.policy if policy is None else policy
        model = mechanism.model if model is None else model
        assert policy is not None
        self.mechanism = mechanism
        self.slots = model.slots
        self.contexts = len(model.contexts)
        self.states = len(model.initial)
        self._initial: Sequence[int] = _whole_numbers(model.initial)
        self._transitions = [_whole_numbers(step) for step in model.transitions]
        seen = [np.eye(self.contexts)] * self.slots if model.emissions is None else model.emissions
        self._emissions = [
            [[(c, weight) for c, weight in enumerate(row) if weight] for row in _whole_numbers(step)] for step in seen
        ]
        index = {context: c for c, context in enumerate(model.contexts)}
        self._secrets: Sequence[Secret] = policy.secrets
        self._members = [frozenset(index[context] for context in secret.contexts) for secret in policy.secrets]
        self._active = [
            frozenset(range(model.slots) if secret.slots is None else secret.slots) for secret in policy.secrets
        ]
        self._deltas = [Fraction(policy.delta_of(secret)) for secret in policy.secrets]
        self._rows: list[Row] = [
            row
            for g, secret in enumerate(policy.secrets)
            for row in ([(g, None)] if secret.at == "any" else [(g, u) for u in sorted(self._active[g])])
        ]
        self._remembered = self._memories()
        self._look_ahead()
        self.slot = 0
        self.public = mechanism.start()
        start = {(0, y): weight for y, weight in enumerate(self._initial) if weight}
        self._coming: Measure = start  # before the slot's context: (memory, hidden state)
        self._told: dict[Row, Measure] = {(g, slot): start for g, slot in self._rows if slot is None}
        self.priors = self._start_beliefs()

    def _memories(self) -> list[list[int]]:
        """What can be remembered, as the private states that follow each context; private states that lead on
        alike share a memory. `self._memory_of` maps private states to memories."""
        private = self.mechanism.private_contexts
        found = [[self.mechanism.remember(None, c) for c in range(self.contexts)]]
        self._memory_of: list[int] = []
        for p in range(len(private)):
            follows = [self.mechanism.remember(p, c) for c in range(self.contexts)]
            if follows not in found:
                found.append(follows)
            self._memory_of.append(found.index(follows))
        assert all(private[p] == c for follows in found for c, p in enumerate(follows))
        return found

    def _look_ahead(self) -> None:
        """For each slot t and hidden state: the weight of all that can follow after t, and of what follows with the
        secret met at a later slot, or (for "at some slot") never met after t."""
        everywhere = frozenset(range(self.contexts))
        self._after = [[1] * self.states]
        self._later: list[dict[Row, list[int]]] = [{row: [1] * self.states for row in self._rows if row[1] is None}]
        for t in range(self.slots - 1, 0, -1):
            after, later = self._after[0], self._later[0]
            before: dict[Row, list[int]] = {}
            for row in self._rows:
                g, u = row
                if u is None:
                    avoided = self._members[g] if t in self._active[g] else frozenset()
                    before[row] = self._back(t, later[row], everywhere - avoided)
                elif u == t:
                    before[row] = self._back(t, after, self._members[g])
                elif u > t:
                    before[row] = self._back(t, later[row], everywhere)
            self._after.insert(0, self._back(t, after, everywhere))
            self._later.insert(0, before)

    def _back(self, t: int, values: list[int], contexts: frozenset[int]) -> list[int]:
        """The values of hidden states at slot t, seen from slot t-1, where the context at t is one of these."""
        here = [
            value * sum(chance for c, chance in self._emissions[t][y] if c in contexts)
            for y, value in enumerate(values)
        ]
        return [self._against(row, here) for row in self._transitions[t - 1]]

    def _start_beliefs(self) -> dict[Row, Fraction]:
        """P(X_u in g), or P(in g at some slot), before any output."""
        parts = self._parts()
        whole = sum(parts[None])
        return {row: Fraction(sum(parts[row]), whole) for row in self._rows}

    def _emit(self, coming: Measure) -> Measure:
        """Add the slot's context: (private state, hidden state)."""
        now: defaultdict[tuple[int, int], int] = defaultdict(int)
        for (memory, y), weight in coming.items():
            for c, chance in self._emissions[self.slot][y]:
                now[self._remembered[memory][c], y] += weight * chance
        return now

    def _now(self) -> tuple[Measure, dict[Row, Measure]]:
        """The slot's measure over (private state, hidden state), and those of what was met so far (or never met)."""
        t, private = self.slot, self.mechanism.private_contexts
        everything = self._emit(self._coming)
        told = {row: self._emit(measure) for row, measure in self._told.items()}
        for row in self._rows:
            g, u = row
            if u == t:
                told[row] = {z: weight for z, weight in everything.items() if private[z[0]] in self._members[g]}
            elif u is None and t in self._active[g]:
                told[row] = {z: weight for z, weight in told[row].items() if private[z[0]] not in self._members[g]}
        return everything, told

    def _parts(self) -> dict[Row | None, list[int]]:
        """For all paths (None) and each row: the weight by private state of the present slot, whatever follows."""
        t = self.slot
        everything, told = self._now()

        def collapse(measure: Measure, ahead: list[int]) -> list[int]:
            parts = [0] * len(self.mechanism.private_contexts)
            for (p, y), weight in measure.items():
                parts[p] += weight * ahead[y]
            return parts

        whole = collapse(everything, self._after[t])
        found: dict[Row | None, list[int]] = {None: whole}
        for row in self._rows:
            slot = row[1]
            if slot is None:
                never = collapse(told[row], self._later[t][row])
                found[row] = [a - b for a, b in zip(whole, never, strict=True)]
            elif slot <= t:
                found[row] = collapse(told[row], self._after[t])
            else:
                found[row] = collapse(everything, self._later[t][row])
        return found

    def kernel(self) -> Finite:
        """The mechanism's kernel at this slot."""
        kernel: Any = self.mechanism.kernel(self.public)
        weights = kernel.weights
        assert weights.shape == (len(self.mechanism.private_contexts), len(kernel.outputs))
        assert weights.min() >= 0
        assert all(sum(row) == kernel.total for row in weights.tolist())
        return kernel  # type: ignore[no-any-return]

    def gains(self, kernel: Finite) -> dict[Output, list[Gain]]:
        """The gain on every secret at every slot after each output that can be next; the impossible is left out."""
        parts = self._parts()
        found: dict[Output, list[Gain]] = {}
        for output, column in zip(kernel.outputs, kernel.weights.T.tolist(), strict=True):
            whole = self._against(column, parts[None])
            if whole:
                found[output] = [
                    Gain(
                        output,
                        self._secrets[g].name,
                        slot,
                        self._against(column, parts[g, slot]),
                        whole,
                        self.priors[g, slot],
                        self._deltas[g],
                    )
                    for g, slot in self._rows
                ]
        return found

    @staticmethod
    def _against(column: Sequence[int], parts: Sequence[int]) -> int:
        return sum(b * part for b, part in zip(column, parts, strict=True) if b and part)

    def follow(self, kernel: Finite, output: Output) -> None:
        """Take an output of the kernel as seen and go on to the next slot."""
        column = kernel.weights[:, kernel.outputs.index(output)].tolist()
        everything, told = self._now()
        self.public = self.mechanism.advance(self.public, output)
        self.slot += 1
        if self.slot < self.slots:
            self._coming = self._move(everything, column)
            self._told = {row: self._move(measure, column) for row, measure in told.items()}
            self._shorten()

    def _move(self, measure: Measure, column: list[int]) -> Measure:
        left: defaultdict[tuple[int, int], int] = defaultdict(int)
        for (p, y), weight in measure.items():
            if column[p]:
                left[self._memory_of[p], y] += weight * column[p]
        moved: defaultdict[tuple[int, int], int] = defaultdict(int)
        for (memory, y), weight in left.items():
            for z, chance in enumerate(self._transitions[self.slot - 1][y]):
                if chance:
                    moved[memory, z] += weight * chance
        return moved

    def _shorten(self) -> None:
        """Divide all measures by the power of two that they share."""
        measures = [self._coming, *self._told.values()]
        least = min((weight & -weight for measure in measures for weight in measure.values() if weight), default=1)
        shift = least.bit_length() - 1
        for measure in measures:
            for z in measure:
                measure[z] >>= shift
