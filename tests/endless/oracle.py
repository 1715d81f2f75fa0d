"""What an observer of days without end can learn, by brute force. It shares nothing with `discreet.adversary`.

Two twins. `Paths` lists every path of the unrolled chain and weighs it in whole numbers: floats are taken as the exact
numbers that they are, and kernels are integers already, so beliefs are fractions without any rounding. `Recursion` adds
up the same paths by private state, in floats, and is fast enough for trees of outputs; it errs by less than `FLOATS`,
so whatever it finds near the limit is decided by `Paths`.

A slot that is skipped has one output, `Skipped`, of constant likelihood. In the very first slot and after a skip the
person's own side remembers nothing: the private state is `remember(None, context)`, otherwise `remember(before, ...)`.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet.contracts import AnyMachine, Finite
from discreet.models import MarkovChain
from discreet.numerics import FloatArray
from discreet.outputs import SKIPPED, Output, Skipped
from discreet.policy import Policy, Secret
from tests.endless.searched import Event, Search, Worst, searched

FLOATS = 1e-13
"""How far `Recursion` may be from the truth: some 20 slots, each a handful of roundings by 2**-53."""


def _terms(policy: Policy, secret: Secret) -> tuple[Fraction, Fraction | None]:
    return Fraction(policy.delta_of(secret)), None if secret.cap is None else Fraction(secret.cap)


def events_of(policy: Policy, contexts: Sequence[str], day_slots: int, days: int) -> tuple[Event, ...]:
    """Every secret at every slot of every day, and each at="any" once a day, in its window."""
    return tuple(event for day in range(days) for event in events_of_day(policy, contexts, day_slots, day))


def events_of_day(policy: Policy, contexts: Sequence[str], day_slots: int, day: int) -> Iterator[Event]:
    for secret in policy.secrets:
        members = frozenset(contexts.index(context) for context in secret.contexts)
        window = [day * day_slots + slot for slot in sorted(range(day_slots) if secret.slots is None else secret.slots)]
        groups = [window] if secret.at == "any" else [[slot] for slot in window]
        for group in groups:
            yield Event(secret.name, members, frozenset(group), *_terms(policy, secret))


def events_from(
    policy: Policy, contexts: Sequence[str], day_slots: int, slots: int, first: int = 0
) -> tuple[Event, ...]:
    """The same of slots from `first` on, windows that run over midnight whole; of one that began before, what is left.

    A window that ends after the last of the slots is left out.
    """
    found = []
    for secret in policy.secrets:
        members = frozenset(contexts.index(context) for context in secret.contexts)
        own = range(day_slots) if secret.slots is None else sorted(secret.slots)
        for day in range(-1, slots // day_slots):
            window = [day * day_slots + slot + (day_slots if slot < secret.begins else 0) for slot in own]
            groups = [window] if secret.at == "any" else [[slot] for slot in window]
            for group in groups:
                left = frozenset(slot for slot in group if slot >= first)
                if left and max(left) < slots:
                    found.append(Event(secret.name, members, left, *_terms(policy, secret)))
    return tuple(found)


NOTHING = Worst(Fraction(-1))


def whole_numbers(array: Any) -> Any:
    """The floats of an array times one power of two that makes all of them integers: an array of Python integers."""
    flat = np.asarray(array, dtype=np.float64)
    ratios = [value.as_integer_ratio() for value in flat.ravel().tolist()]
    scale = max(denominator for _, denominator in ratios)
    found = np.empty(len(ratios), dtype=object)
    found[:] = [top * (scale // bottom) for top, bottom in ratios]
    return found.reshape(flat.shape)


class Paths:
    """Every path of a chain with its weight, exactly; `at` finds what a sequence of outputs tells."""

    def __init__(self, machine: AnyMachine, chain: MarkovChain, events: Sequence[Event]) -> None:
        self.machine, self.events = machine, tuple(events)
        steps = [whole_numbers(step).tolist() for step in chain.transitions]
        found: list[tuple[tuple[int, ...], int]] = [
            ((c,), weight) for c, weight in enumerate(whole_numbers(chain.initial).tolist()) if weight
        ]
        for step in steps:
            found = [
                ((*path, c), weight * chance)
                for path, weight in found
                for c, chance in enumerate(step[path[-1]])
                if chance
            ]
        self.paths = [path for path, _ in found]
        self.start = [weight for _, weight in found]
        self.told = [
            [any(path[u] in event.members for u in event.slots) for path in self.paths] for event in self.events
        ]
        self.priors = self.beliefs(self.start)

    def beliefs(self, weights: Sequence[int]) -> list[Fraction]:
        """P(event) for each event, where paths weigh so much."""
        whole = sum(weights)
        return [Fraction(sum(itertools.compress(weights, told)), whole) for told in self.told]

    def worst(self, weights: Sequence[int], outputs: tuple[Output, ...]) -> Worst:
        """The largest excess where paths weigh so much."""
        found = NOTHING
        for event, belief, prior in zip(self.events, self.beliefs(weights), self.priors, strict=True):
            excess = belief - prior - event.tolerated(prior)
            if excess > found.excess:
                found = Worst(excess, event, outputs)
        return found

    def along(self, outputs: Sequence[Output]) -> Worst:
        """The largest excess after any prefix of these outputs."""
        state: Any = self.machine.start()
        private: list[int | None] = [None] * len(self.paths)
        weights, found = self.start, NOTHING
        for t, output in enumerate(outputs):
            if isinstance(output, Skipped):
                private = [None] * len(self.paths)
            else:
                kernel: Any = self.machine.kernel(state)
                private, weights = self._after(t, kernel, kernel.outputs.index(output), private, weights)
                found = max(found, self.worst(weights, tuple(outputs[: t + 1])), key=lambda worst: worst.excess)
            state = self.machine.advance(state, output)
        return found

    def _after(
        self, t: int, kernel: Finite, output: int, private: list[int | None], weights: Sequence[int]
    ) -> tuple[list[int | None], list[int]]:
        """Private states and weights of the paths after one output."""
        now: list[int | None] = []
        column = kernel.weights[:, output].tolist()
        heavier = []
        for path, before, weight in zip(self.paths, private, weights, strict=True):
            z = self.machine.remember(before, path[t])
            now.append(z)
            heavier.append(weight * column[z])
        return now, heavier

    def tree(self, slots: int, skips: Collection[int] = ()) -> Worst:
        """The largest excess after any outputs of positive probability in the first `slots` slots."""
        return self._below(0, slots, skips, self.machine.start(), (), [None] * len(self.paths), self.start)

    def _below(
        self,
        t: int,
        slots: int,
        skips: Collection[int],
        state: Any,
        outputs: tuple[Output, ...],
        private: list[int | None],
        weights: Sequence[int],
    ) -> Worst:
        found = self.worst(weights, outputs)
        if t == slots:
            return found
        branches: list[tuple[Output, list[int | None], Sequence[int]]] = []
        if t in skips:
            branches.append((SKIPPED, [None] * len(self.paths), weights))
        else:
            kernel: Any = self.machine.kernel(state)
            for k, output in enumerate(kernel.outputs):
                now, heavier = self._after(t, kernel, k, private, weights)
                if any(heavier):
                    branches.append((output, now, heavier))
        for output, then, weighed in branches:
            below = self._below(
                t + 1, slots, skips, self.machine.advance(state, output), (*outputs, output), then, weighed
            )
            found = max(found, below, key=lambda worst: worst.excess)
        return found


@dataclass(frozen=True)
class Masses:
    """Before the output of slot t: how likely each private state is, and that with each event met, or not met so far.

    P private states, E events; all of it given the outputs so far.
    """

    t: int
    everything: FloatArray  # (P,)
    met: FloatArray  # (E, P)
    unmet: FloatArray  # (E, P)


class Recursion:
    """The sums over paths, by private state, in floats. Nothing is subtracted, so errors stay relative."""

    rounding = FLOATS

    def __init__(self, machine: AnyMachine, chain: MarkovChain, events: Sequence[Event]) -> None:
        self.machine, self.chain, self.events = machine, chain, tuple(events)
        self.contexts = np.asarray(machine.private_contexts)
        n, P = len(chain.contexts), len(self.contexts)
        self.after = np.array([[machine.remember(z, c) for c in range(n)] for z in range(P)])  # (P, n)
        self.fresh = np.array([machine.remember(None, c) for c in range(n)])  # (n,)
        self.priors = self.beliefs(self.start(), np.ones((P, 1)))[:, 0]
        priors = zip(self.events, self.priors.tolist(), strict=True)
        self.deltas = np.array([float(event.tolerated(Fraction(prior))) for event, prior in priors])

    @cached_property
    def ahead(self) -> FloatArray:
        """(slots, E, n): P(event at a slot after t | X_t)."""
        n = len(self.chain.contexts)
        found = np.zeros((self.chain.slots, len(self.events), n))
        for t in range(self.chain.slots - 2, -1, -1):
            for e, event in enumerate(self.events):
                there = [t + 1 in event.slots and c in event.members for c in range(n)]
                found[t, e] = self.chain.transitions[t] @ np.where(there, 1.0, found[t + 1, e])
        return found

    def start(self) -> Masses:
        everything = np.zeros(len(self.contexts))
        np.add.at(everything, self.fresh, self.chain.initial)
        none = np.zeros((len(self.events), len(everything)))
        return self._met(Masses(0, everything, none, none + everything))

    def _met(self, masses: Masses) -> Masses:
        """Move what meets an event in this slot from unmet to met."""
        met, unmet = masses.met.copy(), masses.unmet.copy()
        for e, event in enumerate(self.events):
            if masses.t in event.slots:
                there = np.isin(self.contexts, list(event.members))
                met[e, there] += unmet[e, there]
                unmet[e, there] = 0
        return Masses(masses.t, masses.everything, met, unmet)

    def joint(self, masses: Masses) -> FloatArray:
        """(E, P): P(event, private state | outputs so far), the future included."""
        return np.asarray(masses.met + masses.unmet * self.ahead[masses.t][:, self.contexts])

    def beliefs(self, masses: Masses, columns: FloatArray) -> FloatArray:
        """(E, O): P(event | outputs so far and one more); columns (P, O). What cannot be output has belief 0."""
        whole = masses.everything @ columns
        return np.asarray((self.joint(masses) @ columns) / np.where(whole > 0, whole, np.inf))

    def chances(self, masses: Masses, columns: FloatArray) -> FloatArray:
        """(O,): how likely each output is; columns (P, O)."""
        return np.asarray(masses.everything @ columns)

    def exact(self, event: Event, outputs: Sequence[Output]) -> Fraction:
        """The largest excess of one event after any prefix of these outputs, in whole numbers."""
        slots = max(len(outputs), max(event.slots) + 1)
        short = MarkovChain(self.chain.contexts, self.chain.initial, self.chain.transitions[: slots - 1])
        return Paths(self.machine, short, (event,)).along(outputs).excess

    def push(self, masses: Masses, column: FloatArray | None) -> Masses:
        """To the next slot, after an output with this column; None after a skip."""
        likely = np.ones(len(self.contexts)) if column is None else column
        n, t = len(self.chain.contexts), masses.t
        if t + 1 == self.chain.slots:
            return masses  # nothing follows
        step = np.zeros((len(self.contexts), len(self.contexts)))
        for z, context in enumerate(self.contexts):
            for c in range(n):
                step[z, self.fresh[c] if column is None else self.after[z, c]] += self.chain.transitions[t][context, c]
        step = likely[:, None] * step / (masses.everything @ likely)
        return self._met(Masses(t + 1, masses.everything @ step, masses.met @ step, masses.unmet @ step))


def search(
    machine: AnyMachine,
    chain: MarkovChain,
    events: Sequence[Event],
    slots: int,
    *,
    skips: Collection[int] = (),
    budget: int = 300,
    seed: int = 0,
) -> Search:
    """Look at the tree of outputs of the first `slots` slots, whole if `budget` kernels suffice."""
    return searched(Recursion(machine, chain, events), slots, skips=skips, budget=budget, seed=seed)
