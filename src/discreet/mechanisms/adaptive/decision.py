"""One slot's kernel by the linear programme of theory section 4: solved, rounded to integers, and checked as sampled.

For a belief after some outputs and private states m of the slot to come, with p[m] = P(m | outputs) and
    a[j, m] = P(event j | m, outputs) - (q_j + delta_j)
an output o with probabilities b(o | m) keeps event j within its delta iff sum_m p[m] b(o | m) a[j, m] <= 0. Each
`Decision` maximises the worth of the slot under these inequalities. How the project's slack of 2**-40 is spent: the
programme is solved for delta + 2**-42, so that a bound met with equality is not refused; the rounded kernel is checked,
with its own rounding error added, against delta + 2**-41; the rest covers the beliefs' own error (proof.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from discreet.jit import product
from discreet.kernels import FiniteKernel
from discreet.mechanisms import programme
from discreet.mechanisms.adaptive.slots import ObserverView, Slot, Slots
from discreet.mechanisms.adaptive.vocabulary import Vocabulary
from discreet.numerics import SLACK, TOTAL, FloatArray, IntArray, weights_to_likeliest

CHECKED = SLACK / 2

SILENCE = TOTAL >> 40
"""Weight of the silence that every kernel mixes in: a constant column breaks no inequality."""

OPERATIONS_OF_PAIRS = 200_000_000
"""Operations after which a programme over pairs (previous, current) is solved over contexts alone, far fewer states."""

OPERATIONS, OPERATIONS_OF_FEW = 50_000_000, 10_000_000
"""The same for a programme over contexts, and after it for one with few fakes. All of them take about 0.1 s."""

LARGE = 1_500
"""Flows from which on a programme is made smaller before it is solved."""

APART = 48
"""The likeliest private states of a large programme, which are kept apart; others of one context act alike."""

SHARED = 12
"""The likeliest outputs of a large programme, which may be fakes too; others may be told if they tell nothing alone."""

FEWER = 6
"""The same where a programme was not solved, over contexts alone either."""

SELDOM = 12
"""How often the share is halved with which a simple kernel tells the truth."""


class Decision(NamedTuple):
    """A kernel on the private states that are possible now; all others are silent."""

    private: IntArray  # (A,)
    mass: FloatArray  # (A,), as the mechanism's own observer believes
    weights: IntArray  # (A, O), over TOTAL
    worth: float  # expected, of the kernel as rounded


@dataclass
class Effort:
    """What deciding took, for reports.

    Programmes, those solved without memory too, those replaced by a simple kernel, those given up (silence instead),
    and kernels mended after rounding. `without_memory` counts slots whose programme with memory was not solved, and
    slots whose kernel with memory was not shown to be within `programme.GAP` of the optimum. Of those the better of
    both kernels is taken, which may be the one with memory: the number is the most slots that did not use it.
    """

    programmes: int = 0
    without_memory: int = 0
    simple: int = 0
    given_up: int = 0
    mended: int = 0
    pivots: int = 0


class Decider:
    """Makes kernels for one model, policy and vocabulary; shared between days and people with the same model.

    `slots` says what each private state would tell under a belief.
    """

    def __init__(self, slots: Slots, vocabulary: Vocabulary, private_contexts: IntArray) -> None:
        self.slot = slots.slot
        self.vocabulary = vocabulary
        self.private_contexts = private_contexts
        self.effort = Effort()
        self._gained = np.where(np.isfinite(vocabulary.worth), vocabulary.worth, 0.0)  # (n, O): 0 where not allowed

    def decide(self, belief: Any) -> Decision:
        """The kernel of the slot that comes next."""
        return self.decided(self.slot(belief))

    def decided(self, slot: Slot) -> Decision:
        """The best kernel on these private states."""
        self.effort.programmes += 1
        sound = slot.sound
        weights = self._best(slot) if sound else None
        if weights is None:
            weights = self._simple(slot) if sound else None
            self.effort.simple += weights is not None
        if weights is None:
            self.effort.given_up += 1
            return self.silent(slot)
        own = slot.views[0].mass
        return Decision(slot.private, own, weights, self._worth(slot, own, weights))

    def kernel(self, decision: Decision) -> FiniteKernel:
        """The decision for every private state: those that are not possible now are silent."""
        outputs = self.vocabulary.outputs
        weights = np.zeros((len(self.private_contexts), len(outputs)), dtype=np.int64)
        weights[:, self.vocabulary.silence] = TOTAL
        weights[decision.private] = decision.weights
        return FiniteKernel(outputs, weights, TOTAL)

    def _worth(self, slot: Slot, mass: FloatArray, weights: IntArray) -> float:
        """What is expected of weights, if the private states have this mass."""
        worth = self._gained[slot.context]
        return float((mass * (worth * weights).sum(axis=1)).sum()) / TOTAL

    def _best(self, slot: Slot) -> IntArray | None:
        """The first solution that holds as rounded and is near the optimum still; else the best that holds."""
        best, highest = None, -np.inf
        for flows, bound in self._flows(slot):
            weights = self._rounded(flows)
            if self._mended(weights, slot):
                worth = self._worth(slot, slot.mass, weights) / self.vocabulary.scale
                if worth > highest:
                    best, highest = weights, worth
                if worth >= bound - programme.GAP:
                    break
        return best

    def _flows(self, slot: Slot) -> Iterator[tuple[FloatArray, float]]:
        """(A, O): the programme's solution, each row up to a factor, and the most that any is worth; then others'.

        A programme over pairs that takes too long is solved over contexts alone: memory is then not used in this slot.
        If that is not solved either, few contexts may be fakes.
        """
        if not slot.rows:
            best = self.vocabulary.worth[slot.context].argmax(axis=1)
            yield np.where(np.arange(len(self.vocabulary.outputs)) == best[:, None], slot.mass[:, None], 0.0), -np.inf
            return
        if np.bincount(slot.context).max() > 1:  # memory tells states of one context apart
            yield from self._solved(slot, self._apart(slot), OPERATIONS_OF_PAIRS, SHARED)
            self.effort.without_memory += 1
        yield from self._solved(slot, slot.context, OPERATIONS, SHARED)
        yield from self._solved(slot, slot.context, OPERATIONS_OF_FEW, FEWER)

    def _apart(self, slot: Slot) -> IntArray:
        """(A,): a number for each private state; in a large programme those of little mass share their context's."""
        flows = np.isfinite(self.vocabulary.worth[slot.context]).sum()
        if flows <= LARGE or len(slot.private) <= APART:
            return slot.private
        apart = np.argsort(-slot.mass, kind="stable")[:APART]
        number = len(self.private_contexts) + slot.context
        number[apart] = slot.private[apart]
        return number

    def _solved(self, slot: Slot, group: IntArray, operations: int, shared: int) -> Iterator[tuple[FloatArray, float]]:
        """(A, O): the best flows of groups of states, which share a context and act alike; nothing at a limit."""
        (mass, coefficients, first, where), largest = slot.gathered(group)
        vocabulary = self.vocabulary
        worth = vocabulary.worth[slot.context[first]]
        used = np.logical_or.reduce(vocabulary.truth_of[slot.context], axis=0)
        columns = np.isfinite(worth) & used
        if columns.sum() > LARGE or shared < SHARED:
            truth = vocabulary.truth_of[slot.context[first]]
            likeliest = np.argsort(-(truth * mass[:, None]).sum(axis=0), kind="stable")
            columns[:, likeliest[shared + 1 :]] &= truth[:, likeliest[shared + 1 :]]  # silence is always among them
        # An output of one state alone tells that state whole: it may be used or not, whatever the others do. Those that
        # may be used violate no row, alone or together, so that one number serves all of them.
        alone = columns.sum(axis=0) == 1
        alone[vocabulary.silence] = False  # always possible
        columns &= ~alone | (largest <= programme.FEASIBLE)[:, None]
        state, output = np.nonzero(columns)
        number = np.where(alone, 0, np.cumsum(used & ~alone))
        solution = programme.solve(
            mass,
            state,
            number[output],
            worth[state, output] / vocabulary.scale,
            coefficients,
            int(number.max()) + 1,
            operations=operations,
        )
        self.effort.pivots += solution.pivots
        if solution.solved:
            flows = np.zeros((len(mass), len(vocabulary.outputs)))
            flows[state, output] = solution.flows
            yield flows[where], solution.bound

    def _simple(self, slot: Slot) -> IntArray | None:
        """Where no programme was solved: the truth of contexts that tell nothing too much, as often as silence allows.

        Every second, fourth, ... time where always is too often: silence then is more of the others'. None where even
        seldom is.
        """
        told, largest = slot.gathered(slot.context)
        harmless = np.asarray(largest <= 0)[told.where]
        best = self.vocabulary.worth[slot.context].argmax(axis=1)
        states = np.flatnonzero(harmless & (best != self.vocabulary.silence))
        for share in range(SELDOM) if len(states) else ():
            flows = np.zeros((len(slot.mass), len(self.vocabulary.outputs)))
            flows[:, self.vocabulary.silence] = 1.0
            flows[states, self.vocabulary.silence] = 1 - 0.5**share
            flows[states, best[states]] = 0.5**share
            weights = self._rounded(flows)
            if (self._excess(weights, slot) <= 0).all():
                return weights
        return None

    def _rounded(self, flows: FloatArray) -> IntArray:
        """Weights over TOTAL, with silence mixed in: rounded down, what is left goes to each state's likeliest output.

        There it is lost among at least TOTAL / O; in a column that is otherwise empty it would tell something.
        """
        flows = np.maximum(flows, 0.0)  # they sum to the state's mass up to rounding, which counts where it has little
        weights = weights_to_likeliest(flows, TOTAL - SILENCE)
        weights[:, self.vocabulary.silence] += SILENCE
        return weights

    def _mended(self, weights: IntArray, slot: Slot) -> bool:
        """Mend columns that rounding pushed over a limit, in place; False if that does not succeed.

        Most are mended by a few parts in 2**52 (`_hushed`, `_trimmed`). Where that is not enough: rows are homogeneous,
        so the sum of columns that hold holds as well, and a failing column, which is a small one (noise is lost
        in large ones), is merged whole into the likeliest column that all its states may use. If it is silence that
        fails, a share of every column is given to it, so that it is small no longer.
        """
        if not slot.rows:
            return True
        silence = self.vocabulary.silence
        for share in (0, 0, 0, 13, 13, 10, 7, 4, 2):
            excess = self._excess(weights, slot)
            failing = np.flatnonzero(~(excess <= 0).all(axis=1))
            if not len(failing):
                return True
            if silence in failing and self._hushed(weights, slot):
                return True
            self.effort.mended += 1
            if not share:
                self._trimmed(weights, slot, failing[failing != silence], excess)
                continue
            allowed = np.isfinite(self.vocabulary.worth[slot.context])
            for o in failing[failing != silence]:
                likely = np.where(
                    allowed[weights[:, o] > 0].all(axis=0), product(slot.mass, weights.astype(np.float64)), -1.0
                )
                likely[o] = -2.0
                weights[:, int(likely.argmax())] += weights[:, o]
                weights[:, o] = 0
            if silence in failing:
                moved = weights >> share
                moved[:, silence] = 0
                weights -= moved
                weights[:, silence] += moved.sum(axis=1)
        return bool((self._excess(weights, slot) <= 0).all())

    def _trimmed(self, weights: IntArray, slot: Slot, failing: IntArray, excess: FloatArray) -> None:
        """Cut twice what is over from the states that bring each failing column over its limits, in place.

        What is cut goes to the state's likeliest other output, where it is lost; a state that has none keeps it.
        """
        states, silence = np.arange(len(weights)), self.vocabulary.silence
        views = slot.views
        if len(views) == 1:
            beyond, mass = views[0].beyond, np.broadcast_to(views[0].mass, views[0].beyond.shape)
        else:
            beyond = np.concatenate([view.beyond for view in views])
            mass = np.repeat([view.mass for view in views], [len(view.beyond) for view in views], axis=0)
        for o in failing.tolist():
            over = (excess[o] > 0).nonzero()[0]
            raising = np.maximum(beyond[over], 0.0)  # (rows, A)
            told = (raising * mass[over] * weights[:, o]).sum(axis=1)
            shares = np.ones(len(over))  # of what raises each row; all, where nothing that is told does
            np.divide(2 * excess[o, over], told, out=shares, where=told > 0)
            np.minimum(shares, 1.0, out=shares)
            share = ((raising > 0) * shares[:, None]).max(axis=0)  # (A,)
            cut = np.ceil(share * weights[:, o]).astype(np.int64)
            others = weights.copy()
            others[:, o] = others[:, silence] = 0
            likeliest = others.argmax(axis=1)
            cut[others[states, likeliest] >> 20 < cut] = 0  # also where there is no other output
            weights[:, o] -= cut
            weights[states, likeliest] += cut

    def _hushed(self, weights: IntArray, slot: Slot) -> bool:
        """Take back silence that is only rounding, in place; False, and nothing is changed, where that does not help.

        Flows of 1e-17 that should be zero tell something in a column that is otherwise constant: a silence of 7 parts
        in 2**52 more for one state than for the others. Without them silence is constant again and holds.
        """
        silence, states = self.vocabulary.silence, np.arange(len(weights))
        hushed = weights.copy()
        hushed[:, silence] = 0
        likeliest = hushed.argmax(axis=1)
        extra = np.where(hushed[states, likeliest] > TOTAL >> 1, weights[:, silence] - SILENCE, 0)
        hushed[:, silence] = weights[:, silence] - extra
        hushed[states, likeliest] += extra
        if not (self._excess(hushed, slot) <= 0).all():
            return False
        weights[:] = hushed
        return True

    def _excess(self, weights: IntArray, slot: Slot) -> FloatArray:
        """(O, J): by how much each output's gain may exceed what is checked, its own rounding error included."""
        return np.concatenate([_excess_before(view, weights) for view in slot.views], axis=1)

    def silent(self, slot: Slot) -> Decision:
        """Silence whatever is true: it changes no belief, hence always holds."""
        weights = np.zeros((len(slot.mass), len(self.vocabulary.outputs)), dtype=np.int64)
        weights[:, self.vocabulary.silence] = TOTAL
        return Decision(slot.private, slot.views[0].mass, weights, 0.0)


def _excess_before(view: ObserverView, weights: IntArray) -> FloatArray:
    """(O, J): the same, before one observer."""
    told = weights.T * view.mass  # (O, A)
    total = told.sum(axis=1)
    inside = product(told, view.beyond.T)
    error = (len(view.mass) + 8) * 2.0**-53 * product(told, np.abs(view.beyond).T)
    return np.asarray(inside + error - CHECKED * total[:, None])
