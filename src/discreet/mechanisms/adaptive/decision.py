"""One slot's kernel by the linear programme of theory section 4: solved, rounded to integers, and checked as sampled.

For a belief after some outputs and private states m of the slot to come, with p[m] = P(m | outputs) and
    a[j, m] = P(event j | m, outputs) - (q_j + delta_j)
an output o with probabilities b(o | m) keeps event j within its delta iff sum_m p[m] b(o | m) a[j, m] <= 0. Each
`Decision` maximises the worth of the slot under these inequalities. How the project's slack of 2**-40 is spent: the
programme is solved for delta + 2**-42, so that a bound met with equality is not refused; the rounded kernel is checked,
with its own rounding error added, against delta + 2**-41; the rest covers the beliefs' own error (proof.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.adversary.belief import Adversary, Belief
from discreet.adversary.process import SeenProcess
from discreet.jit import product
from discreet.kernels import FiniteKernel
from discreet.mechanisms import programme
from discreet.mechanisms.adaptive.vocabulary import Vocabulary
from discreet.numerics import SLACK, TOTAL, FloatArray, IntArray, weights_to_likeliest

SOLVED = SLACK / 4
CHECKED = SLACK / 2

HELD_BACK = 2.0**-30
"""What each slot leaves to every later one of a gain's delta."""

HELD, FADING = 0.3, 0.8
"""With a hidden Markov model, the share of a gain's delta that is held back until its slot, and how it shrinks with
each slot after it. Where no output reveals the hidden state, every later one tells a little more about each earlier
slot; a gain at its limit forbids all of them for good. Chosen among a few on event models of 4 to 8 topics and 50
slots, where it raised what is released 3 to 5 times; 0.2 to 0.5 and 0.7 to 0.9 do about as well."""

SILENCE = TOTAL >> 40
"""Weight of the silence that every kernel mixes in: a constant column breaks no inequality."""

PIVOTS_OF_PAIRS = 1_000
"""Pivots after which a programme over pairs (previous, current) is solved over contexts alone, which is far smaller."""


class Slot(NamedTuple):
    """The private states that are possible now (A of them) and what each would tell."""

    private: IntArray  # (A,): index of each private state
    context: IntArray  # (A,)
    mass: FloatArray  # (A,): P(m | outputs)
    beyond: FloatArray  # (J, A): P(event j | m, outputs) - (q_j + delta_j), of events that could exceed their limit
    coefficients: FloatArray  # (J, A): the same, against the limit that the programme is solved for

    @classmethod
    def of(cls, private: IntArray, context: IntArray, mass: FloatArray, beyond: FloatArray, limits: FloatArray) -> Slot:
        """A state that brings a gain to its delta and not beyond, up to rounding, may always be told."""
        coefficients = beyond - limits[:, None]
        equal = np.abs(beyond) <= SOLVED
        coefficients[equal] = np.minimum(coefficients[equal], 0.0)
        return cls(private, context, mass, beyond, coefficients)


class Groups(NamedTuple):
    """States that are told apart by a number alone, as one state a number, in the order of the numbers."""

    mass: FloatArray  # (B,)
    rows: FloatArray  # (J, B)
    first: IntArray  # (B,): the first state of each
    where: IntArray  # (A,): the group of each state

    @classmethod
    def of(cls, number: IntArray, mass: FloatArray, rows: FloatArray) -> Groups:
        """Masses add up; coefficients are averaged by mass."""
        _, first, where = np.unique(number, return_index=True, return_inverse=True)
        if len(first) == len(number):
            return cls(mass[first], rows[:, first], first, where)
        total = np.bincount(where, weights=mass)
        gathered = np.array([np.bincount(where, weights=row * mass) for row in rows]).reshape(len(rows), len(first))
        return cls(np.asarray(total, dtype=np.float64), np.asarray(gathered / total), first, where)


def _binding(beyond: FloatArray, limits: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The rows that some state brings beyond its limit, with their limits; the others hold whatever is output."""
    over = ~(beyond <= limits[:, None]).all(axis=1)  # what is not a number is over
    return beyond[over], limits[over]


class Decision(NamedTuple):
    """A kernel on the private states that are possible now; all others are silent."""

    private: IntArray  # (A,)
    mass: FloatArray  # (A,)
    weights: IntArray  # (A, O), over TOTAL
    worth: float  # expected, of the kernel as rounded


@dataclass
class Effort:
    """What deciding took, for reports.

    Programmes, those solved without memory because that took long with it, those given up (silence instead), and
    kernels mended after rounding.
    """

    programmes: int = 0
    without_memory: int = 0
    given_up: int = 0
    mended: int = 0
    pivots: int = 0


class Decider:
    """Makes kernels for one model, policy and vocabulary; shared between days and people with the same model."""

    def __init__(self, adversary: Adversary, vocabulary: Vocabulary, private_contexts: IntArray) -> None:
        self.adversary = adversary
        self.vocabulary = vocabulary
        self.private_contexts = private_contexts
        self.effort = Effort()
        process = adversary.process
        self._pairs = isinstance(process, SeenProcess) and len(process.private) > 1
        self._hidden = not isinstance(process, SeenProcess) and any(
            (process.emission(t) > 0).sum(axis=0).max() > 1
            for t in range(process.slots)  # a context leaves its state open
        )
        # Repeated products, not powers: a library's power may differ in the last bit from machine to machine.
        self._fading = np.cumprod(np.concatenate([[1.0], np.full(process.slots - 1, FADING)]))
        self._ahead = [self._beyond_ahead(t) for t in range(process.slots)] if self._pairs else []

    def _beyond_ahead(self, t: int) -> FloatArray:
        """(rows from slot t on, K): by how much a state of slot t brings each of them beyond its delta."""
        adversary = self.adversary
        rows = slice(int(adversary.row_start[t]), len(adversary.row_slot))
        members = adversary.row_members[rows.start : int(adversary.row_start[t + 1])]
        here = product(members, adversary.process.emission(t).T)
        reached = np.concatenate([here, adversary.ahead[t]])
        return np.asarray(reached - (adversary.priors + adversary.deltas)[rows, None])

    def slot(self, belief: Belief) -> Slot:
        """Private states and coefficients, from the belief."""
        return self._slot_of_pairs(belief) if self._pairs else self._slot_of_contexts(belief)

    def _limits(self, belief: Belief) -> FloatArray:
        """(R + A,): how far beyond its delta each gain may go now, a little less than nothing until the last slot.

        What is held back, HELD_BACK a slot, leaves the next programme room: where a gain is at its limit, every output
        must keep it there exactly, and no solver finds such points. A gain that is there already may stay.
        """
        held = HELD_BACK * (self.adversary.process.slots - 1 - belief.slot) + self._paced(belief)
        spent = belief.gains - self.adversary.deltas[belief.closed :]
        return np.asarray(np.minimum(SOLVED, np.maximum(-held, spent + SOLVED)))

    def _paced(self, belief: Belief) -> FloatArray:
        """(R + A,): what is held back of each gain's delta because later outputs tell of it too; nothing at the end."""
        adversary, slots = self.adversary, self.adversary.process.slots
        deltas = adversary.deltas[belief.closed :]
        if not self._hidden or belief.slot + 1 == slots:
            return np.zeros(len(deltas))
        since = np.maximum(belief.slot - adversary.row_slot, 0)[belief.closed :]
        left = np.full(len(adversary.any_index), 1 - (belief.slot + 1) / slots)  # of the day, for secrets at="any"
        held = HELD * deltas * np.concatenate([self._fading[since], left])
        limits = (adversary.priors + adversary.deltas)[belief.closed :]
        return np.where(limits < 1, held, 0.0)  # a gain that cannot exceed its delta needs no room

    def _slot_of_contexts(self, belief: Belief) -> Slot:
        outcomes = belief.outcomes(np.eye(len(self.private_contexts)))  # as if each private state were announced
        possible = np.flatnonzero(outcomes.total)
        beyond = outcomes.gains[:, possible] - self.adversary.deltas[belief.closed :, None]
        binding, limits = _binding(beyond, self._limits(belief))
        return Slot.of(possible, self.private_contexts[possible], outcomes.total[possible], binding, limits)

    def _slot_of_pairs(self, belief: Belief) -> Slot:
        """Past rows depend on the context before alone, the others on the one now: little is computed for each pair."""
        adversary, t = self.adversary, belief.slot
        process = adversary.process
        assert isinstance(process, SeenProcess)
        weights, limits = belief.weights, self._limits(belief)
        if t == 0:
            before = now = np.flatnonzero(weights)
            private, mass = process.first[now], weights[now]
        else:
            steps = weights[:, None] * process.transitions[t - 1]
            before, now = np.nonzero(steps)
            private, mass = process.private[before, now], steps[before, now]
        visits, each = len(adversary.any_index), len(adversary.row_slot) - belief.closed
        past = belief.past
        known = np.flatnonzero(weights)
        line = np.searchsorted(known, before)
        delta = (adversary.priors + adversary.deltas)[belief.closed :, None]
        earlier = past[:, known] / weights[known] - delta[: len(past)]
        earlier, held = _binding(earlier, limits[: len(past)])
        ahead, kept = _binding(self._ahead[t], limits[len(past) : each])
        parts = [(earlier[:, line], held), (ahead[:, now], kept)]
        for a in range(visits):
            visited = belief.visited[a][before] / weights[before]
            if adversary.any_active[t, a]:
                visited = np.where(adversary.any_members[a][process.contexts[now]] > 0, 1.0, visited)
            reached = visited + (1 - visited) * adversary.first_visit[t][a][now]
            parts.append(_binding((reached - delta[each + a])[None], limits[each + a : each + a + 1]))
        beyond = np.concatenate([rows for rows, _ in parts])
        limits = np.concatenate([limit for _, limit in parts])
        told = Groups.of(private, mass, beyond)  # memory may not tell all steps apart
        binding = _binding(told.rows, limits)
        return Slot.of(private[told.first], process.contexts[now[told.first]], told.mass, *binding)

    def decide(self, belief: Belief) -> Decision:
        """The kernel of the slot that comes next."""
        slot = self.slot(belief)
        self.effort.programmes += 1
        sound = np.isfinite(slot.mass).all() and np.isfinite(slot.beyond).all()  # not after underflow
        flows = self._flows(slot) if sound else None
        weights = None if flows is None else self._rounded(flows)
        if weights is None or not self._mended(weights, slot):
            self.effort.given_up += 1
            return self._silent(slot)
        worth = np.where(np.isfinite(self.vocabulary.worth), self.vocabulary.worth, 0.0)[slot.context]
        return Decision(
            slot.private, slot.mass, weights, float((slot.mass * (worth * weights).sum(axis=1)).sum()) / TOTAL
        )

    def kernel(self, decision: Decision) -> FiniteKernel:
        """The decision for every private state: those that are not possible now are silent."""
        outputs = self.vocabulary.outputs
        weights = np.zeros((len(self.private_contexts), len(outputs)), dtype=np.int64)
        weights[:, self.vocabulary.silence] = TOTAL
        weights[decision.private] = decision.weights
        return FiniteKernel(outputs, weights, TOTAL)

    def _flows(self, slot: Slot) -> FloatArray | None:
        """(A, O): the programme's solution, each row up to a factor; None where it was given up.

        A programme over pairs that takes too long is solved over contexts alone: memory is then not used in this slot.
        """
        if not len(slot.coefficients):
            best = self.vocabulary.worth[slot.context].argmax(axis=1)
            return np.where(np.arange(len(self.vocabulary.outputs)) == best[:, None], slot.mass[:, None], 0.0)
        pairs = len(np.unique(slot.context)) < len(slot.context)
        if pairs and (flows := self._solved(slot, slot.private, PIVOTS_OF_PAIRS, 1)) is not None:
            return flows
        self.effort.without_memory += pairs
        return self._solved(slot, slot.context, programme.PIVOTS, programme.ATTEMPTS)

    def _solved(self, slot: Slot, group: IntArray, pivots: int, attempts: int) -> FloatArray | None:
        """(A, O): the best flows of each state's group, whose states share a context and act alike; None at a limit."""
        mass, coefficients, first, where = Groups.of(group, slot.mass, slot.coefficients)
        vocabulary = self.vocabulary
        worth = vocabulary.worth[slot.context[first]]
        used = np.logical_or.reduce(vocabulary.truth_of[slot.context], axis=0)
        columns = np.isfinite(worth) & used
        # An output of one state alone tells that state whole: it may be used or not, whatever the others do. Those that
        # may be used violate no row, alone or together, so that one number serves all of them.
        alone = columns.sum(axis=0) == 1
        alone[vocabulary.silence] = False  # always possible
        columns &= ~alone | (coefficients.max(axis=0) <= programme.FEASIBLE)[:, None]
        state, output = np.nonzero(columns)
        number = np.where(alone, 0, np.cumsum(used & ~alone))
        solution = programme.solve(
            mass,
            state,
            number[output],
            worth[state, output] / vocabulary.scale,
            coefficients,
            int(number.max()) + 1,
            pivots=pivots,
            attempts=attempts,
        )
        self.effort.pivots += solution.pivots
        if not solution.solved:
            return None
        flows = np.zeros((len(mass), len(vocabulary.outputs)))
        flows[state, output] = solution.flows
        return np.asarray(flows[where])

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
        if not len(slot.beyond):
            return True
        silence = self.vocabulary.silence
        allowed = np.isfinite(self.vocabulary.worth[slot.context])
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
        states = np.arange(len(weights))
        for o in failing.tolist():
            over = np.flatnonzero(excess[o] > 0)
            raising = np.maximum(slot.beyond[over], 0.0)  # (rows, A)
            told = (raising * slot.mass * weights[:, o]).sum(axis=1)
            shares = np.minimum(2 * excess[o, over] / told, 1.0)  # of what raises each row
            share = np.where(raising > 0, shares[:, None], 0.0).max(axis=0)  # (A,)
            cut = np.ceil(share * weights[:, o]).astype(np.int64)
            others = weights.copy()
            others[:, [o, self.vocabulary.silence]] = 0
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
        told = weights.T * slot.mass  # (O, A)
        total = told.sum(axis=1)
        inside = product(told, slot.beyond.T)
        error = (len(slot.mass) + 8) * 2.0**-53 * product(told, np.abs(slot.beyond).T)
        return np.asarray(inside + error - CHECKED * total[:, None])

    def _silent(self, slot: Slot) -> Decision:
        weights = np.zeros((len(slot.mass), len(self.vocabulary.outputs)), dtype=np.int64)
        weights[:, self.vocabulary.silence] = TOTAL
        return Decision(slot.private, slot.mass, weights, 0.0)
