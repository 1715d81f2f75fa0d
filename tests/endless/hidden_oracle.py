"""What an observer of a hidden Markov model can learn, by brute force. It shares nothing with `discreet.adversary`.

`HiddenPaths` lists every path of pairs (hidden state, context) and weighs it in whole numbers: floats are taken as the
exact numbers that they are, and kernels are integers already. `HiddenRecursion` adds up the same paths in floats, by
hidden state, private state and which rows were visited. It is fast enough for trees of outputs that paths are too slow
for. It errs by less than `rounding(model)`, so that whatever it finds near the limit is decided by `exact_excess`: the
same sums in whole numbers, along one sequence of outputs and for one row.

A stream without end is judged on its first N positions: the model is that of N slots, of which the first S are output.
The rows of all N positions are judged after every prefix. A window must end before N, or it is an error.

A position that is skipped has one output, `Skipped`, of constant likelihood. At position 0 and after a skip, the
person's own side remembers nothing: the private state is `remember(None, context)`, otherwise `remember(before, ...)`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.contracts import AnyMachine
from discreet.models import HiddenMarkovModel
from discreet.numerics import FloatArray
from discreet.outputs import SKIPPED, Output, Skipped
from discreet.policy import Policy
from tests.endless.oracle import FLOATS, NOTHING, whole_numbers
from tests.endless.searched import Event, Search, Worst, searched

Path = tuple[int, ...]
"""Contexts, one a position."""

Private = list[int | None]
"""The private state of each path; None where nothing is remembered."""


def rounding(model: HiddenMarkovModel) -> float:
    """How far `HiddenRecursion` may be from the truth: nothing is subtracted, so errors add up position by position."""
    return FLOATS * max(1.0, model.slots / 20)


def rows_of(policy: Policy, contexts: Sequence[str], positions: int) -> tuple[Event, ...]:
    """A row for each secret at each of its positions below `positions`, and one for each window of at="any"."""
    found = []
    for secret in policy.secrets:
        members = frozenset(contexts.index(context) for context in secret.contexts)
        delta, cap = Fraction(policy.delta_of(secret)), None if secret.cap is None else Fraction(secret.cap)
        own = range(positions) if secret.slots is None else sorted(secret.slots)
        if secret.at == "any" and max(own) >= positions:
            raise ValueError(
                f"the window of {secret.name!r} ends at {max(own)}; judge at least {max(own) + 1} positions"
            )
        groups = [list(own)] if secret.at == "any" else [[u] for u in own if u < positions]
        found += [Event(secret.name, members, frozenset(group), delta, cap) for group in groups]
    return tuple(found)


def context_paths(model: HiddenMarkovModel) -> dict[Path, int]:
    """Every path of contexts with its probability, times one common factor.

    Paths of pairs are walked one by one. Those with equal contexts so far and equal hidden states now are added up,
    since outputs and rows depend on contexts alone.
    """
    steps, emissions = whole_numbers(model.transitions).tolist(), whole_numbers(model.emissions).tolist()
    before: dict[tuple[Path, int], int] = {((), y): weight for y, weight in enumerate(whole_numbers(model.initial))}
    for t in range(model.slots):
        shown: dict[tuple[Path, int], int] = defaultdict(int)
        for (path, y), weight in before.items():
            for c, chance in enumerate(emissions[t][y]):
                if weight and chance:
                    shown[(*path, c), y] += weight * chance
        if t == model.slots - 1:
            break
        before = defaultdict(int)
        for (path, y), weight in shown.items():
            for then, chance in enumerate(steps[t][y]):
                before[path, then] += weight * chance
    found: dict[Path, int] = defaultdict(int)
    for (path, _), weight in shown.items():
        found[path] += weight
    return dict(found)


class HiddenPaths:
    """Every path with its weight, exactly. `tree` walks all outputs, `along` one sequence of them."""

    def __init__(self, machine: AnyMachine, model: HiddenMarkovModel, rows: Sequence[Event]) -> None:
        self.machine, self.rows = machine, tuple(rows)
        paths = context_paths(model)
        self.paths, self.start = list(paths), np.array(list(paths.values()), dtype=object)
        self.told = [
            np.array([any(path[u] in row.members for u in row.slots) for path in self.paths]) for row in self.rows
        ]
        self.priors = self.beliefs(self.start)

    def beliefs(self, weights: Any) -> list[Fraction]:
        """P(row) for each row, where paths weigh so much."""
        whole = weights.sum()
        return [Fraction(weights[told].sum() if told.any() else 0, whole) for told in self.told]

    def worst(self, weights: Any, outputs: tuple[Output, ...]) -> Worst:
        """The largest excess where paths weigh so much."""
        found = NOTHING
        for row, belief, prior in zip(self.rows, self.beliefs(weights), self.priors, strict=True):
            excess = belief - prior - row.tolerated(prior)
            if excess > found.excess:
                found = Worst(excess, row, outputs)
        return found

    def along(self, outputs: Sequence[Output]) -> Worst:
        """The largest excess after any prefix of these outputs."""
        state: Any = self.machine.start()
        private, weights, found = self._nothing(), self.start, NOTHING
        for t, output in enumerate(outputs):
            if isinstance(output, Skipped):
                private = self._nothing()
            else:
                kernel: Any = self.machine.kernel(state)
                private = self._remembered(t, private)
                weights = self._after(kernel, kernel.outputs.index(output), private, weights)
            found = max(found, self.worst(weights, tuple(outputs[: t + 1])), key=lambda worst: worst.excess)
            state = self.machine.advance(state, output)
        return found

    def tree(self, positions: int, skips: Collection[int] = ()) -> Worst:
        """The largest excess after any outputs of positive probability at the first `positions` positions."""
        return self._below(0, positions, skips, self.machine.start(), (), self._nothing(), self.start)

    def _nothing(self) -> Private:
        return [None] * len(self.paths)

    def _remembered(self, t: int, private: Private) -> Private:
        pairs = zip(private, self.paths, strict=True)
        return [self.machine.remember(before, path[t]) for before, path in pairs]

    def _after(self, kernel: Any, output: int, private: Private, weights: Any) -> Any:
        column = kernel.weights[:, output].tolist()
        return weights * np.array([column[z] for z in private if z is not None], dtype=object)

    def _below(
        self,
        t: int,
        positions: int,
        skips: Collection[int],
        state: Any,
        outputs: tuple[Output, ...],
        private: Private,
        weights: Any,
    ) -> Worst:
        found = self.worst(weights, outputs)
        if t == positions:
            return found
        branches: list[tuple[Output, Private, Any]] = []
        if t in skips:
            branches.append((SKIPPED, self._nothing(), weights))
        else:
            kernel, now = self.machine.kernel(state), self._remembered(t, private)
            for k, output in enumerate(kernel.outputs):  # type: ignore[attr-defined]  # finite
                heavier = self._after(kernel, k, now, weights)
                if heavier.any():
                    branches.append((output, now, heavier))
        for output, then, weighed in branches:
            following = self.machine.advance(state, output)
            below = self._below(t + 1, positions, skips, following, (*outputs, output), then, weighed)
            found = max(found, below, key=lambda worst: worst.excess)
        return found


@dataclass(frozen=True)
class HiddenMasses:
    """Before the output of position t: P(hidden state, private state | outputs), and with each row visited or not.

    K hidden states, P private states, E rows.
    """

    t: int
    everything: FloatArray  # (K, P)
    met: FloatArray  # (E, K, P)
    unmet: FloatArray  # (E, K, P)


class HiddenRecursion:
    """The sums over paths by hidden and private state, in floats. Nothing is subtracted, so errors stay relative."""

    def __init__(self, machine: AnyMachine, model: HiddenMarkovModel, rows: Sequence[Event]) -> None:
        self.machine, self.model, self.events = machine, model, tuple(rows)
        self.contexts = np.asarray(machine.private_contexts)
        n, P = len(model.contexts), len(self.contexts)
        after = [[machine.remember(z, c) for c in range(n)] for z in range(P)]
        self.moves = np.eye(P)[np.array(after).T]  # (n, P, P): the private state after each, by the context that comes
        self.fresh = np.eye(P)[[machine.remember(None, c) for c in range(n)]]  # (n, P)
        self.there = np.array([np.isin(self.contexts, list(row.members)) for row in rows]).reshape(len(rows), P)
        self.ahead = self._ahead()
        self.priors = self.beliefs(self.start(), np.ones((P, 1)))[:, 0]
        tolerated = [row.tolerated(Fraction(prior)) for row, prior in zip(rows, self.priors.tolist(), strict=True)]
        self.deltas = np.array([float(delta) for delta in tolerated])

    def _ahead(self) -> FloatArray:
        """(N, E, K): P(a visit at a position after t | Y_t)."""
        model, n = self.model, len(self.model.contexts)
        found = np.zeros((model.slots, len(self.events), len(model.initial)))
        for t in range(model.slots - 2, -1, -1):
            for e, row in enumerate(self.events):
                inside = [t + 1 in row.slots and c in row.members for c in range(n)]
                visited = model.emissions[t + 1][:, inside].sum(axis=1)
                missed = model.emissions[t + 1][:, np.logical_not(inside)].sum(axis=1)
                found[t, e] = model.transitions[t] @ (visited + missed * found[t + 1, e])
        return found

    def start(self) -> HiddenMasses:
        everything = (self.model.initial[:, None] * self.model.emissions[0]) @ self.fresh
        none = np.zeros((len(self.events), *everything.shape))
        return self._met(HiddenMasses(0, everything, none, none + everything))

    def _met(self, masses: HiddenMasses) -> HiddenMasses:
        """Move what visits a row at this position from unmet to met."""
        now = np.array([masses.t in row.slots for row in self.events], dtype=bool)
        visits = (now[:, None] & self.there)[:, None, :]
        met = masses.met + np.where(visits, masses.unmet, 0)
        return HiddenMasses(masses.t, masses.everything, met, np.where(visits, 0, masses.unmet))

    def joint(self, masses: HiddenMasses) -> FloatArray:
        """(E, K, P): P(row, hidden state, private state | outputs so far), the future included."""
        return np.asarray(masses.met + masses.unmet * self.ahead[masses.t][:, :, None])

    def chances(self, masses: HiddenMasses, columns: FloatArray) -> FloatArray:
        """(O,): how likely each output is; columns (P, O)."""
        return np.asarray(masses.everything.sum(axis=0) @ columns)

    def beliefs(self, masses: HiddenMasses, columns: FloatArray) -> FloatArray:
        """(E, O): P(row | outputs so far and one more). What cannot be output has belief 0."""
        whole = self.chances(masses, columns)
        return np.asarray((self.joint(masses).sum(axis=1) @ columns) / np.where(whole > 0, whole, np.inf))

    @property
    def rounding(self) -> float:
        return rounding(self.model)

    def exact(self, event: Event, outputs: Sequence[Output]) -> Fraction:
        return exact_excess(self.machine, self.model, event, outputs)

    def push(self, masses: HiddenMasses, column: FloatArray | None) -> HiddenMasses:
        """To the next position, after an output with this column (P,); None after a skip."""
        t = masses.t
        if t + 1 == self.model.slots:
            return masses  # nothing follows
        likely = np.ones(len(self.contexts)) if column is None else column
        step, emission = self.model.transitions[t], self.model.emissions[t + 1]
        whole = masses.everything.sum(axis=0) @ likely

        def pushed(mass: FloatArray) -> FloatArray:
            hidden = step.T @ (mass * likely) / whole  # (..., K, P): the next hidden state, the private state before
            if column is None:
                return np.asarray((hidden.sum(axis=-1)[..., None] * emission) @ self.fresh)
            return np.asarray(sum((hidden @ move) * emission[:, [c]] for c, move in enumerate(self.moves)))

        return self._met(HiddenMasses(t + 1, pushed(masses.everything), pushed(masses.met), pushed(masses.unmet)))


def exact_excess(machine: AnyMachine, model: HiddenMarkovModel, row: Event, outputs: Sequence[Output]) -> Fraction:
    """Belief in one row after these outputs less what is tolerated, in whole numbers."""
    prior = _exact_belief(machine, model, row, ())
    return _exact_belief(machine, model, row, outputs) - prior - row.tolerated(prior)


def _exact_belief(machine: AnyMachine, model: HiddenMarkovModel, row: Event, outputs: Sequence[Output]) -> Fraction:
    initial, emissions = whole_numbers(model.initial).tolist(), whole_numbers(model.emissions).tolist()
    steps, state = whole_numbers(model.transitions).tolist(), machine.start()
    before: dict[tuple[int, int | None, bool], int] = {(y, None, False): weight for y, weight in enumerate(initial)}
    for t in range(model.slots):
        output = outputs[t] if t < len(outputs) else SKIPPED  # what is not output yet tells nothing
        column = None
        if not isinstance(output, Skipped):
            kernel: Any = machine.kernel(state)
            column = kernel.weights[:, kernel.outputs.index(output)].tolist()
        now: dict[tuple[int, int | None, bool], int] = defaultdict(int)
        for (y, memory, met), weight in before.items():
            for c, chance in enumerate(emissions[t][y]):
                private = None if column is None else machine.remember(memory, c)
                likely = chance if column is None or private is None else chance * column[private]
                if weight and likely:
                    now[y, private, met or (t in row.slots and c in row.members)] += weight * likely
        if t < len(outputs):
            state = machine.advance(state, output)
        if t < model.slots - 1:
            before = defaultdict(int)
            for (y, memory, met), weight in now.items():
                for then, chance in enumerate(steps[t][y]):
                    before[then, memory, met] += weight * chance
    return Fraction(sum(weight for (_, _, met), weight in now.items() if met), sum(now.values()))


def search(
    machine: AnyMachine,
    model: HiddenMarkovModel,
    rows: Sequence[Event],
    positions: int,
    *,
    skips: Collection[int] = (),
    budget: int = 300,
    seed: int = 0,
) -> Search:
    """Look at the tree of outputs of the first `positions` positions, whole if `budget` kernels suffice."""
    return searched(HiddenRecursion(machine, model, rows), positions, skips=skips, budget=budget, seed=seed)
