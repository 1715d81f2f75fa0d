"""Truth or silence on a chain: the public past is (last release, when, how long ago), so decisions are a table.

After a release the hidden state is known and the past is settled, so a *run*, the silent slots after one release, has
the same kernels whenever it occurs. Kernels are built from the canonical belief "X_a = i", without the rows of slots up
to a: ties and rounding then cannot make them depend on what came before. A run goes on for as long as it is asked for.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property, lru_cache
from threading import RLock
from typing import NamedTuple

import numpy as np

from discreet.adversary.belief import Belief
from discreet.contracts import Rng, Utility
from discreet.mechanisms.adaptive.family import Beliefs
from discreet.mechanisms.adaptive.machines import Deciding
from discreet.mechanisms.maskit.simulatable import LastRelease
from discreet.numerics import TOTAL, WEIGHT_BITS, FloatArray, IntArray, digest_of
from discreet.outputs import SUPPRESSED, Output, Released

UNLIKELY = 2.0**-36
"""Silence that is less likely, given the release before it, is not planned for: it is decided when it occurs."""

KEPT = 4_096
"""Kernels kept ready; the table behind them is compact."""


@lru_cache(maxsize=64)
def _numbers(outputs: tuple[Output, ...]) -> dict[Output, int]:
    """The column of each output: one table for all kernels of a mechanism."""
    return {output: k for k, output in enumerate(outputs)}


class ReleaseKernel:
    """Truth with an integer weight for each private state, silence with the rest."""

    def __init__(self, outputs: tuple[Output, ...], contexts: IntArray, release: IntArray) -> None:
        self.outputs = outputs
        self.total = TOTAL
        self._contexts, self._release = contexts, release
        self._number = _numbers(outputs)

    def sample(self, private: int, rng: Rng) -> Output:
        """One comparison of integers."""
        if rng.bits(WEIGHT_BITS) < self._release[private]:
            return self.outputs[int(self._contexts[private])]
        return SUPPRESSED

    def likelihood(self, output: Output) -> FloatArray:
        """The output's column."""
        number = self._number.get(output)
        if number is None:
            return np.zeros(len(self._release))
        if output == SUPPRESSED:
            return np.asarray((TOTAL - self._release) / TOTAL)
        return np.asarray(np.where(self._contexts == number, self._release, 0) / TOTAL)

    @property
    def nbytes(self) -> int:
        """Bytes of its weights."""
        return self._release.nbytes

    @cached_property
    def weights(self) -> IntArray:
        """(P, n + 1)."""
        weights = np.zeros((len(self._release), len(self.outputs)), dtype=np.int64)
        weights[np.arange(len(weights)), self._contexts] = self._release
        weights[:, -1] = TOTAL - self._release
        weights.setflags(write=False)
        return weights

    @cached_property
    def matrix(self) -> FloatArray:
        """(P, n + 1): weights / total."""
        return self.weights / float(TOTAL)

    @cached_property
    def digest(self) -> bytes:
        """Of what the weights are made from."""
        return digest_of((self.outputs, self.total, self._contexts, self._release))


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


class SuppressTable(Deciding):
    """Kernels by (slot, last release), shared between days and between people with the same model."""

    def _prepare(self) -> None:
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

    def start(self) -> LastRelease:
        """Nothing released yet."""
        return LastRelease(0)

    def advance(self, state: LastRelease, output: Output) -> LastRelease:
        """A release settles the past; anything else goes on being silent."""
        if isinstance(output, Released):
            released = self._place_of.get(output)
            if released is not None:
                return LastRelease(state.slot + 1, state.slot, released)
        return state._replace(slot=state.slot + 1)

    def kernel(self, state: LastRelease) -> ReleaseKernel:
        """A look-up, or a decision where the run was never followed so far."""
        kernel = self._kernels.get(state)
        return self._made(state) if kernel is None else kernel

    def _made(self, state: LastRelease) -> ReleaseKernel:
        key = (state.released_slot, state.released)
        with self._lock:
            run = self._run(*key)
            while len(run.entries) <= state.slot - run.first:
                run = self._decided(key)
            entry = run.entries[state.slot - run.first]
            release = np.zeros(len(self._contexts), dtype=np.int64)
            release[entry.private] = entry.weight
            kernel = self._kernels[state] = ReleaseKernel(self._outputs, self._contexts, release)
            if len(self._kernels) > KEPT:
                self._kernels.popitem(last=False)
        return kernel

    def _run(self, slot: int, context: int) -> Run:
        run = self._runs.get((slot, context))
        if run is None:
            nothing = np.zeros(0)  # at="any" is not tabled
            starts = [one.start() if slot < 0 else one.revealed(slot + 1, context, nothing) for one in self.family]
            run = self._runs[slot, context] = Run(slot + 1, Beliefs(tuple(starts)))
        return run

    def _decided(self, key: tuple[int, int]) -> Run:
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
        slots = self.adversary.process.slots
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
            run = self._decided(key)
        for slot, entry in enumerate(run.entries, run.first):
            waiting[slot].update(entry.context.tolist())

    def _worth(self, key: tuple[int, int], worth: dict[tuple[int, int], tuple[float, float]]) -> tuple[float, float]:
        """Expected releases after this one, and how many more there might be where runs were not followed."""
        run, slots = self._runs[key], self.adversary.process.slots
        silent, mean, missing = 1.0, 0.0, 0.0
        for t, entry in enumerate(run.entries, run.first):
            for context, chance in zip(entry.context.tolist(), entry.chance.tolist(), strict=True):
                after, unknown = worth[t, context] if t + 1 < slots else (0.0, 0.0)
                mean += silent * chance * (1 + after)
                missing += silent * chance * unknown
            silent *= max(0.0, 1.0 - float(entry.chance.sum()))
        return mean, missing + silent * (slots - run.first - len(run.entries))
