"""Truth or silence on a day's chain: the public past is (last release, when, how long ago): decisions are a table.

After a release the hidden state is known and the past is settled, so a *run*, the silent slots after one release, has
the same kernels whenever it occurs. Kernels are built from the canonical belief "X_a = i", without the rows of slots up
to a: ties and rounding then cannot make them depend on what came before. A run goes on for as long as it is asked for.
The table is a cache of the machine's decisions. After a skip, where memory starts anew, the machine decides by itself
until the next release.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import RLock
from typing import Any, NamedTuple

import numpy as np

from discreet.adversary.belief import Belief
from discreet.contracts import Utility
from discreet.kernels import FiniteKernel
from discreet.mechanisms.adaptive.kernel import ReleaseKernel
from discreet.mechanisms.adaptive.machine import AdaptiveMachine, AdaptiveState
from discreet.mechanisms.adaptive.observers import Beliefs
from discreet.mechanisms.maskit.simulatable import LastRelease
from discreet.numerics import TOTAL, FloatArray, IntArray
from discreet.outputs import SUPPRESSED, Output, Released, Skipped

UNLIKELY = 2.0**-36
"""Silence that is less likely, given the release before it, is not planned for: it is decided when it occurs."""

MOST_KERNELS = 4_096
"""Kernels kept ready; the table behind them is compact."""


class Entry(NamedTuple):
    """One decision of a run: which private states are released, how likely each context then is."""

    private: IntArray  # states with a positive weight
    weight: IntArray
    context: IntArray  # contexts that may be released now
    chance: FloatArray  # P(that release | the run so far)


class Run(NamedTuple):
    """The silent slots after a release (or from the start), decided as far as asked. Replaced whole, never changed."""

    first: int
    beliefs: Beliefs[Belief]  # before the slot that is decided next
    entries: tuple[Entry, ...] = ()
    silent: float = 1.0  # P(no release in the slots decided | the run)


class SuppressTable(AdaptiveMachine):
    """Kernels by (slot, last release), shared between days and between people with the same model."""

    def __init__(self, *habits: Any, **options: Any) -> None:
        super().__init__(*habits, **options)
        self._contexts = self.private_contexts
        self._outputs = self.decider.vocabulary.outputs
        self._place_of = {output: k for k, output in enumerate(self._outputs)}
        self._runs: dict[tuple[int, int], Run] = {}
        self._lock = RLock()  # two threads must not decide one slot twice
        self._kernels: OrderedDict[LastRelease, ReleaseKernel] = OrderedDict()

    @property
    def size(self) -> int:
        """Decisions in the table."""
        return sum(len(run.entries) for run in self._runs.values())

    @property
    def nbytes(self) -> int:
        """Bytes of the table's decisions, and of the beliefs' measures at the ends of its runs."""
        entries = sum(part.nbytes for run in self._runs.values() for entry in run.entries for part in entry)
        return entries + sum(run.beliefs.nbytes for run in self._runs.values())

    def start(self) -> LastRelease:  # type: ignore[override]  # or an Ongoing, after a skip
        """Nothing released yet."""
        return LastRelease(0)

    def advance(self, state: LastRelease | AdaptiveState, output: Output) -> LastRelease | AdaptiveState:  # type: ignore[override]
        """A release settles the past; anything else goes on being silent. A skip is no silence: it tells nothing."""
        if isinstance(output, Released):
            released = self._place_of.get(output)
            if released is not None:
                return LastRelease(state.slot + 1, state.slot, released)
        if isinstance(state, AdaptiveState):
            return super().advance(state, output)
        if isinstance(output, Skipped):
            return super().advance(self._ongoing(state), output)
        return state._replace(slot=state.slot + 1)

    def _ongoing(self, state: LastRelease) -> AdaptiveState:
        """The same public state with its beliefs, which the table does not keep."""
        beliefs = self._first(state.released_slot, state.released)
        for slot in range(state.released_slot + 1, state.slot):
            silent = self.kernel(state._replace(slot=slot)).likelihood(SUPPRESSED)
            beliefs = beliefs.after(silent)
        return AdaptiveState(state.slot, state, False, beliefs)

    def kernel(self, state: LastRelease | AdaptiveState) -> FiniteKernel | ReleaseKernel:
        """A look-up, or a decision where the run was never followed so far."""
        if isinstance(state, AdaptiveState):
            return super().kernel(state)
        kernel = self._kernels.get(state)
        return self._made(state) if kernel is None else kernel

    def _made(self, state: LastRelease) -> ReleaseKernel:
        key = (state.released_slot, state.released)
        with self._lock:
            run = self._run(*key)
            while len(run.entries) <= state.slot - run.first:
                run = self._extended(key)
            entry = run.entries[state.slot - run.first]
            release = np.zeros(len(self._contexts), dtype=np.int64)
            release[entry.private] = entry.weight
            kernel = self._kernels[state] = ReleaseKernel(self._outputs, self._contexts, release)
            if len(self._kernels) > MOST_KERNELS:
                self._kernels.popitem(last=False)
        return kernel

    def _run(self, slot: int, context: int) -> Run:
        run = self._runs.get((slot, context))
        if run is None:
            run = self._runs[slot, context] = Run(slot + 1, self._first(slot, context))
        return run

    def _first(self, slot: int, context: int) -> Beliefs[Belief]:
        """The beliefs that a run begins with: at the start, or after a release."""
        return Beliefs(tuple(one.start() if slot < 0 else one.revealed(slot + 1, context) for one in self.adversaries))

    def _extended(self, key: tuple[int, int]) -> Run:
        """Decide the next slot of a run and go on in silence; the run changes at once or, on an error, not at all."""
        run = self._runs[key]
        decision = self.decider.decide(run.beliefs)
        contexts = self._contexts[decision.private]
        weight = decision.weights[np.arange(len(contexts)), contexts]
        some = weight > 0
        chance = np.zeros(len(self._outputs) - 1)
        np.add.at(chance, contexts, decision.mass * weight / TOTAL)
        context = np.flatnonzero(chance)
        entry = Entry(decision.private[some], weight[some], context, chance[context])
        silence = np.ones(len(self._contexts))
        silence[decision.private] = (TOTAL - weight) / TOTAL
        silent = run.silent * max(0.0, 1.0 - float(chance.sum()))
        self._runs[key] = after = Run(run.first, run.beliefs.after(silence), (*run.entries, entry), silent)
        return after

    def plan(self) -> Utility:
        """Decide everything that is likely to occur, and the expected fraction of slots released, exactly.

        Runs are followed until silence is UNLIKELY; what that leaves out is the half-width.
        """
        slots = self.model.slots
        waiting: list[set[int]] = [set() for _ in range(slots)]
        order: list[tuple[int, int]] = []
        with self._lock:
            self._follow((-1, -1), waiting, order)
            for slot in range(slots - 1):
                for context in sorted(waiting[slot]):
                    self._follow((slot, context), waiting, order)
        worth: dict[tuple[int, int], tuple[float, float]] = {}
        for key in reversed(order):
            worth[key] = self._worth(key, worth)
        mean, missing = worth[-1, -1]
        return Utility((mean + missing / 2) / slots, missing / 2 / slots)

    def _follow(self, key: tuple[int, int], waiting: list[set[int]], order: list[tuple[int, int]]) -> None:
        """Decide a run as far as it is likely, and let the releases that it may end with wait for their turn."""
        order.append(key)
        run = self._run(*key)
        while run.first + len(run.entries) < len(waiting) and run.silent > UNLIKELY:
            run = self._extended(key)
        for slot, entry in enumerate(run.entries, run.first):
            waiting[slot].update(entry.context.tolist())

    def _worth(self, key: tuple[int, int], worth: dict[tuple[int, int], tuple[float, float]]) -> tuple[float, float]:
        """Expected releases after this one, and how many more there might be where runs were not followed."""
        run, slots = self._runs[key], self.model.slots
        silent, mean, missing = 1.0, 0.0, 0.0
        for t, entry in enumerate(run.entries, run.first):
            for context, chance in zip(entry.context.tolist(), entry.chance.tolist(), strict=True):
                after, unknown = worth[t, context] if t + 1 < slots else (0.0, 0.0)
                mean += silent * chance * (1 + after)
                missing += silent * chance * unknown
            silent *= max(0.0, 1.0 - float(entry.chance.sum()))
        return mean, missing + silent * (slots - run.first - len(run.entries))
