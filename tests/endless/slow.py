"""A slow twin of adaptive release over days without end: the programme of theory, section 4, over the unrolled chain.

It is solved by HiGHS. Every row is kept, or with `rows="live"` those that the three facts of section 10 call for.
Public states are the outputs so far. Private states are numbered: `c` is context c with nothing remembered (the first
slot, and after a skip), `n + a n + c` is context c after a. Without memory they are the contexts.

Subclasses in test_breakers.py each leave out one thing that the theory asks for.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.optimize import linprog

from discreet.kernels import FiniteKernel, silent_kernel
from discreet.models.routine.routine import EndlessChain
from discreet.numerics import FloatArray, IntArray
from discreet.outputs import SKIPPED, SUPPRESSED, Generalized, Output, Released
from discreet.policy import Policy
from tests.endless.oracle import Masses, Recursion, events_of
from tests.endless.searched import SLACK

State = tuple[Output, ...]
Rows = Literal["all", "live"]

HELD_BACK = 1e-6
"""What each slot leaves to the next: a row exactly at its limit forbids everything, and HiGHS errs by 1e-9."""


class Slow:
    """Adaptive release of the first `days` days of an endless chain."""

    def __init__(
        self,
        endless: EndlessChain,
        policy: Policy,
        *,
        days: int,
        outputs: Literal["suppress", "deceive", "generalize"] = "suppress",
        memory: Literal["last", "none"] = "last",
        hierarchy: Any = None,
        rows: Rows = "all",
    ) -> None:
        self.model: Any = endless.unrolled(days)
        self.policy, self.memory, self.rows = policy, memory, rows
        n, self.day_slots = len(endless.contexts), endless.day_slots
        alone = np.arange(n)
        self.private_contexts: IntArray = alone if memory == "none" else np.concatenate([alone, np.tile(alone, n)])
        self.vocabulary, self.worth = _vocabulary(endless.contexts, outputs, hierarchy)
        self.recursion = Recursion(self, self.model, events_of(policy, endless.contexts, endless.day_slots, days))
        self._beliefs: dict[State, Masses] = {(): self.recursion.start()}
        self._dropped: dict[State, frozenset[int]] = {(): frozenset()}
        self._kernels: dict[State, FiniteKernel] = {}

    def remember(self, memory: int | None, context: int) -> int:
        n = len(self.model.contexts)
        if memory is None or self.memory == "none":
            return context
        return n + int(self.private_contexts[memory]) * n + context

    def start(self) -> State:
        return ()

    def advance(self, state: State, output: Output) -> State:
        following = (*state, output)
        if following not in self._beliefs:
            masses, likely = self._beliefs[state], np.ones(len(self.private_contexts))
            if output == SKIPPED:
                self._beliefs[following] = self.after_skip(masses)
            else:
                likely = self.kernel(state).likelihood(output)
                self._beliefs[following] = self.recursion.push(masses, likely)
            self._dropped[following] = self._dropped[state] | self.dead(masses, likely)
        return following

    def after_skip(self, masses: Masses) -> Masses:
        """The belief after a skipped slot, over private states that remember nothing."""
        return self.recursion.push(masses, None)

    def dead(self, masses: Masses, likely: FloatArray) -> frozenset[int]:
        """Rows that never matter after this output: no possible state is beyond the limit (section 10, fact 1)."""
        if self.rows == "all":
            return frozenset()
        return frozenset(e for e in self.harmless(masses, likely) if max(self.recursion.events[e].slots) <= masses.t)

    def kept(self, masses: Masses) -> frozenset[int]:
        """The rows of this slot's programme that are not dropped for good."""
        every = frozenset(range(len(self.recursion.events)))
        if self.rows == "all":
            return every
        coming = {e for e, event in enumerate(self.recursion.events) if min(event.slots) > masses.t}
        return every - (self.harmless(masses, np.ones(len(self.private_contexts))) & coming)

    def harmless(self, masses: Masses, likely: FloatArray) -> frozenset[int]:
        """Rows for which no state that is possible with such an output is beyond the limit."""
        possible = masses.everything * likely > 0
        beliefs = self.recursion.joint(masses)[:, possible] / masses.everything[possible]
        limits = self.recursion.priors + self.recursion.deltas
        return frozenset(int(e) for e in np.flatnonzero((beliefs <= limits[:, None]).all(axis=1)))

    def kernel(self, state: State) -> FiniteKernel:
        if state not in self._kernels:
            self._kernels[state] = self._decide(state)
        return self._kernels[state]

    def _decide(self, state: State) -> FiniteKernel:
        masses = self._beliefs[state]
        kept = sorted(self.kept(masses) - self._dropped[state])
        joint = self.recursion.joint(masses)[kept]  # (R, P)
        limits = (self.recursion.priors + self.recursion.deltas)[kept]
        held = limits - HELD_BACK * (self.model.slots - masses.t)
        held = np.maximum(held, joint.sum(axis=1) / masses.everything.sum())  # silence stays feasible
        solved = self._solved(masses.everything, joint, held)
        if solved is None:
            return silent_kernel(len(self.private_contexts))
        return self._checked(solved, masses.everything, joint - limits[:, None] * masses.everything)

    def _solved(self, everything: FloatArray, joint: FloatArray, limits: FloatArray) -> FloatArray | None:
        """(P, O): the best kernel by HiGHS, in the variables P(private state, output)."""
        possible = np.flatnonzero(everything > 0)
        worth = self.worth[self.private_contexts[possible]]  # (Z, O), -inf where not allowed
        Z, outputs = worth.shape
        beyond = joint[:, possible] / everything[possible] - limits[:, None]  # (R, Z)
        upper = np.zeros((outputs * len(beyond), Z * outputs))
        for k in range(outputs):
            upper[k * len(beyond) : (k + 1) * len(beyond), k::outputs] = beyond
        equal = np.kron(np.eye(Z), np.ones(outputs))
        allowed = np.isfinite(worth).ravel()
        answer = linprog(
            -np.where(allowed, worth.ravel(), 0),
            A_ub=upper if len(upper) else None,
            b_ub=np.zeros(len(upper)) if len(upper) else None,
            A_eq=equal,
            b_eq=everything[possible],
            bounds=[(0, None) if free else (0, 0) for free in allowed],
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if answer.status != 0:
            return None
        shares = np.maximum(answer.x.reshape(Z, outputs), 0)
        rows = np.zeros((len(everything), outputs))
        rows[:, -1] = 1
        sums = shares.sum(axis=1, keepdims=True)
        rows[possible] = np.where(sums > 0, shares / np.where(sums > 0, sums, 1), np.eye(outputs)[-1])
        return self._alike(rows, everything)

    def _alike(self, rows: FloatArray, everything: FloatArray) -> FloatArray:
        """Where nothing is remembered, all private states of a context have the row of the one that is possible."""
        n = len(self.model.contexts)
        if self.memory == "last" and not everything[n:].any():
            rows[n:] = rows[self.private_contexts[n:]]
        return rows

    def _checked(self, rows: FloatArray, everything: FloatArray, beyond: FloatArray) -> FiniteKernel:
        """Rounded to integers; a column that is over its limit by more than half the slack becomes silence."""
        rows = rows * (1 - 2.0**-40)
        rows[:, -1] += 2.0**-40
        for _ in range(len(self.vocabulary)):
            kernel = FiniteKernel.rounded(self.vocabulary, rows, filler=len(self.vocabulary) - 1)
            columns = kernel.matrix
            over = beyond @ columns > float(SLACK) / 2 * (everything @ columns)
            wrong = np.flatnonzero(over.any(axis=0))
            if not len(wrong):
                return kernel
            if wrong[0] == len(self.vocabulary) - 1:
                break
            rows[:, -1] += rows[:, wrong[0]]
            rows[:, wrong[0]] = 0
        return silent_kernel(len(rows))


def _vocabulary(contexts: tuple[str, ...], outputs: str, hierarchy: Any) -> tuple[tuple[Output, ...], FloatArray]:
    """Outputs, silence last, and what each is worth in each context (-inf where it is not allowed)."""
    n = len(contexts)
    released: list[Output] = [Released(context) for context in contexts]
    if outputs != "generalize":
        worth = np.where(np.eye(n) > 0, 1.0, 0.0 if outputs == "deceive" else -np.inf)
        return (*released, SUPPRESSED), np.hstack([worth, np.zeros((n, 1))])
    nodes = [node for layer in hierarchy.layers[1:] for node in layer]
    worth = np.full((n, n + len(nodes) + 1), -np.inf)
    for c, context in enumerate(contexts):
        worth[c, c], worth[c, -1] = 1.0, 0.0
        for node in hierarchy.ancestors(context):
            worth[c, n + nodes.index(node)] = max(0.0, 1 - hierarchy.layer_of(node) / 2)
    return (*released, *map(Generalized, nodes), SUPPRESSED), worth
