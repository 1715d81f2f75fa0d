"""A naive programme over a hidden Markov model, solved by HiGHS over the unrolled positions: something to break.

It is `Slow` (slow.py) with hidden states beneath: the programme is over private states, so it adds up over hidden ones.
`rows="live"` drops by what theory, section 15, allows: future rows by hidden states, past rows by hidden states without
memory and by pairs (context, hidden state) with it, and the present row never.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from discreet.kernels import FiniteKernel, silent_kernel
from discreet.models import HiddenMarkovModel
from discreet.numerics import FloatArray, IntArray
from discreet.policy import Policy
from tests.endless.hidden_oracle import HiddenMasses, HiddenRecursion, rows_of
from tests.endless.slow import HELD_BACK, Rows, Slow, State, _vocabulary


class SlowHidden(Slow):
    """Adaptive release over the positions of a finite hidden model."""

    def __init__(
        self,
        model: HiddenMarkovModel,
        policy: Policy,
        *,
        outputs: Literal["suppress", "deceive", "generalize"] = "suppress",
        memory: Literal["last", "none"] = "last",
        hierarchy: Any = None,
        rows: Rows = "all",
    ) -> None:
        self.model, self.policy, self.memory, self.rows = model, policy, memory, rows
        n = len(model.contexts)
        alone = np.arange(n)
        self.private_contexts: IntArray = alone if memory == "none" else np.concatenate([alone, np.tile(alone, n)])
        self.vocabulary, self.worth = _vocabulary(model.contexts, outputs, hierarchy)
        self.hidden = HiddenRecursion(self, model, rows_of(policy, model.contexts, model.slots))
        self.recursion: Any = self.hidden
        self._beliefs: dict[State, Any] = {(): self.hidden.start()}
        self._dropped: dict[State, frozenset[int]] = {(): frozenset()}
        self._kernels: dict[State, FiniteKernel] = {}
        self.limits: FloatArray = self.hidden.priors + self.hidden.deltas

    def past(self, masses: HiddenMasses) -> frozenset[int]:
        """Rows whose last position is this one or an earlier one."""
        return frozenset(e for e, row in enumerate(self.hidden.events) if max(row.slots) <= masses.t)

    def coming(self, masses: HiddenMasses) -> frozenset[int]:
        """Rows whose first position is a later one."""
        return frozenset(e for e, row in enumerate(self.hidden.events) if min(row.slots) > masses.t)

    def dead(self, masses: Any, likely: FloatArray) -> frozenset[int]:
        if self.rows == "all":
            return frozenset()
        return self.past(masses) & (self.by_state if self.memory == "none" else self.by_pair)(masses, likely)

    def kept(self, masses: Any) -> frozenset[int]:
        every = frozenset(range(len(self.hidden.events)))
        if self.rows == "all":
            return every
        return every - (self.coming(masses) & self.by_state(masses, np.ones(len(self.private_contexts))))

    def by_state(self, masses: HiddenMasses, likely: FloatArray) -> frozenset[int]:
        """Rows that no hidden state is beyond the limit of, after such an output."""
        return self._within((masses.everything * likely).sum(axis=1), (self.hidden.joint(masses) * likely).sum(axis=2))

    def by_context(self, masses: HiddenMasses, likely: FloatArray) -> frozenset[int]:
        """Rows that no context is beyond the limit of."""
        whole, joint = self._by_contexts(masses, likely)
        return self._within(whole.sum(axis=0), joint.sum(axis=1))

    def by_pair(self, masses: HiddenMasses, likely: FloatArray) -> frozenset[int]:
        """Rows that no pair of a hidden state and a context is beyond the limit of."""
        whole, joint = self._by_contexts(masses, likely)
        return self._within(whole.ravel(), joint.reshape(len(joint), whole.size))

    def _by_contexts(self, masses: HiddenMasses, likely: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(K, n) and (E, K, n): private states of one context added up."""
        one = np.eye(len(self.model.contexts))[self.private_contexts]
        return (masses.everything * likely) @ one, (self.hidden.joint(masses) * likely) @ one

    def _within(self, whole: FloatArray, joint: FloatArray) -> frozenset[int]:
        possible = whole > 0
        beliefs = joint[:, possible] / whole[possible]
        return frozenset(int(e) for e in np.flatnonzero((beliefs <= self.limits[:, None]).all(axis=1)))

    def _decide(self, state: State) -> FiniteKernel:
        masses = self._beliefs[state]
        kept = sorted(self.kept(masses) - self._dropped[state])
        everything = masses.everything.sum(axis=0)
        joint, limits = self.hidden.joint(masses).sum(axis=1)[kept], self.limits[kept]
        held = limits - HELD_BACK * (self.model.slots - masses.t)
        held = np.maximum(held, joint.sum(axis=1) / everything.sum())  # silence stays feasible
        solved = self._solved(everything, joint, held)
        if solved is None:
            return silent_kernel(len(self.private_contexts))
        return self._checked(solved, everything, joint - limits[:, None] * everything)
