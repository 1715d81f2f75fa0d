"""MaskIt's simulatable check (paper, Section 4): decide from what was released before, then release whatever comes.

At slot t, with the last release of context i at slot a (or none since the start of the day), the check releases
whatever comes iff for every context j that can come, every secret and every slot u > a the posterior stays within
delta: P(X_u in g | X_a = i, X_t = j) for u < t, and P(X_u in g | X_t = j) for u >= t (Proposition 5, Lemma 5; the body
of Algorithm 4 is lost, theory section 3).

Proof. The decision depends on (a, i, t) alone, never on the truth, so silence says nothing: the posterior on X_u
depends on the releases around u only (Proposition 5). For u between two releases it was checked at the later one; for u
after the last release it is P(X_u in g | X_a = i), which was checked when i was released (u >= t above), whether or not
the day ends in silence. Before the first release it is the prior. So the whole check is a table of next release slots.

With `lookahead` the next release is, among the allowed slots, the one after which most releases are expected. Allowed
slots and their proof are the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.contracts import DayModel, Needs, Utility
from discreet.errors import DiscreetError, did_you_mean
from discreet.jit import product
from discreet.kernels import FiniteKernel, silent_kernel
from discreet.mechanisms.base import ContextMechanism
from discreet.mechanisms.maskit import loops
from discreet.mechanisms.maskit.windows import CompiledSteps
from discreet.models.arrays import reachable
from discreet.numerics import BoolArray, FloatArray, IntArray, slack_of
from discreet.outputs import SUPPRESSED, Output, Released, Skipped, Suppressed
from discreet.policy import Guarantee, Policy


class LastRelease(NamedTuple):
    """The public state: the slot to come, and the last release (its slot and context's index; -1 if there was none)."""

    slot: int
    released_slot: int = -1
    released: int = -1


class Simulatable(ContextMechanism):
    """Releases whatever comes in slots that the last release alone decides.

    `lookahead=False` is the paper's check: the first slot that is allowed. `lookahead=True` picks among the allowed
    slots the one with the best expected total (dynamic programming over slot and context). The table is built once; a
    decision is a look-up. A context that the model holds impossible after the last release is suppressed, which changes
    nothing: the check goes on as after any silence.
    """

    needs: Needs = "chain"
    guarantee = Guarantee(
        "exact delta",
        "whatever is output, the gain on each secret at each slot stays within its delta: release slots depend on "
        "earlier releases alone (MaskIt, Theorem 4). Secrets at='any' are not bounded",
    )

    def __init__(self, model: DayModel, policy: Policy, *, lookahead: bool = False) -> None:
        super().__init__(model, policy)
        self.lookahead = lookahead
        self._possible = reachable(model)
        self._initial = np.array(model.initial)
        self._steps = CompiledSteps.of(np.where(self._possible[:-1, :, None], model.transitions, 0.0))
        each = ~self.secrets.any_slot
        members = self.secrets.members[each].astype(np.float64)
        self._active = np.array(self.secrets.active[each], order="C")
        priors = product(members, model.prior.T)
        limits = priors + self.secrets.slot_deltas(priors, np.flatnonzero(each))  # (G, T): q + delta
        theta = limits + slack_of(limits) / 2
        self._tests = np.ascontiguousarray(members[:, None, :] - theta[:, :, None])  # (G, T, n)
        self._safe = self._safe_to_say(members, theta)
        self._next, self._worth, self._first, self._total = loops.release_table(
            self._initial, self._possible, *self._arrays(), lookahead
        )
        self._later: dict[LastRelease, int] = {}
        self._kernels: dict[tuple[int, bytes], FiniteKernel] = {}
        self._kernel_of: dict[LastRelease, FiniteKernel] = {}
        self._silent = silent_kernel(len(model.contexts))
        self._index = {context: k for k, context in enumerate(model.contexts)}

    def _arrays(self) -> tuple[FloatArray, IntArray, IntArray, BoolArray, FloatArray, BoolArray]:
        steps = self._steps
        return steps.matrices, steps.counts, steps.successors, self._safe, self._tests, self._active

    def _safe_to_say(self, members: FloatArray, theta: FloatArray) -> BoolArray:
        """(T, n): whether P(X_u in g | X_t = j) stays within theta for all u >= t and g.

        Read backwards these posteriors are averages of the next slot's: one that is nowhere above theta stays so.
        """
        slots = self.model.slots
        safe = np.ones((slots, len(self.model.contexts)), dtype=np.bool_)
        posteriors, bounds = np.empty((0, safe.shape[1])), np.empty(0)
        for t in range(slots - 1, -1, -1):
            if t + 1 < slots:
                posteriors = product(posteriors, self._steps.matrices[t].T)
            here = self._active[:, t]
            posteriors = np.concatenate([posteriors, members[here]])
            bounds = np.concatenate([bounds, theta[here, t]])
            breached = posteriors > bounds[:, None]
            safe[t] = ~breached.any(axis=0)
            kept = breached.any(axis=1)
            posteriors, bounds = posteriors[kept], bounds[kept]
        return safe

    def next_release(self, state: LastRelease) -> int:
        """The slot at which whatever comes is released, T if none: a look-up, save after an impossible reading."""
        slot, a, i = state
        following = self._first if a < 0 else int(self._next[a, i])
        return following if following >= slot else self._after(state)

    def _after(self, state: LastRelease) -> int:
        """The next release slot when the planned one has passed in silence because the reading was impossible."""
        if state not in self._later:
            slot, a, i = state
            x = self._initial if a < 0 else self._steps.matrices[a, i]
            found, _ = loops.next_release(a + 1, slot, x, *self._arrays(), self._worth, self.lookahead)
            self._later[state] = found
        return self._later[state]

    def start(self) -> LastRelease:
        """Nothing released yet."""
        return LastRelease(0)

    def kernel(self, state: LastRelease) -> FiniteKernel:
        """Truth in a release slot (of what can come), else silence."""
        found = self._kernel_of.get(state)
        if found is None:
            found = self._kernel_of[state] = self._telling(state)
        return found

    def shown(self, state: LastRelease) -> BoolArray:
        """(n,): the contexts released in the slot: in a release slot all that can come after the last, else none."""
        slot, a, i = state
        if self.next_release(state) != slot:
            return np.zeros(len(self._initial), dtype=np.bool_)
        reach = self._initial > 0 if a < 0 else self._steps.matrices[a, i] > 0
        for t in range(a + 1, slot):
            reach = (self._steps.matrices[t][reach] > 0).any(axis=0)
        return np.asarray(reach)

    def _telling(self, state: LastRelease) -> FiniteKernel:
        """Truth for what is shown, silence for what is not."""
        reach = self.shown(state)
        if not reach.any():
            return self._silent
        key = (state.slot, reach.tobytes())
        if key not in self._kernels:
            self._kernels[key] = self._truth(reach)
        return self._kernels[key]

    def _truth(self, reach: BoolArray) -> FiniteKernel:
        shown = np.flatnonzero(reach)
        outputs: list[Output] = [Released(self.model.contexts[j]) for j in shown]
        if len(shown) < len(reach):
            outputs.append(SUPPRESSED)
        weights = np.zeros((len(reach), len(outputs)), dtype=np.int64)
        weights[shown, np.arange(len(shown))] = 1
        weights[~reach, -1] = 1
        return FiniteKernel(tuple(outputs), weights, 1)

    def advance(self, state: LastRelease, output: Output) -> LastRelease:
        """The last release moves on with every release."""
        match output:
            case Suppressed() | Skipped():  # silence tells nothing here: it does not depend on the truth
                return LastRelease(state.slot + 1, state.released_slot, state.released)
            case Released(context):
                if context not in self._index:
                    raise DiscreetError(
                        f"{context!r} was never released by this mechanism; " + did_you_mean(context, self._index)
                    )
                return LastRelease(state.slot + 1, state.slot, self._index[context])
        raise DiscreetError(f"Simulatable releases contexts or nothing, never {output!r}")

    def expected_utility(self, days: int | None = None) -> Utility:
        """Exact, by the recursion of the paper's Section 5.1 over the table."""
        return Utility(self._total / self.model.slots)
