"""Adaptive release over a model without end: the same programme, with the rows that are live (endless.md).

The public state is the slot and the belief, of which only live rows are kept. Truth or silence on secrets at each slot
is tabled: a release settles the past, so a belief is a function of (place in the cycle of the last release, its
context, how long ago), and so are kernels, for as long as habits repeat.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numba import types

from discreet.adversary.endless import EndlessAdversary, Follows
from discreet.adversary.endless_belief import EndlessBelief
from discreet.adversary.rows import DROPPED, Rows
from discreet.errors import DiscreetError
from discreet.jit import FLOATS, FLOATS_2D, INTS_2D, compiled, product
from discreet.kernels import FiniteKernel
from discreet.mechanisms.adaptive.decision import Decider, Decision
from discreet.mechanisms.adaptive.family import Beliefs, FamilySlots
from discreet.mechanisms.adaptive.machines import PAIRS, Memory, Remembering
from discreet.mechanisms.adaptive.slots import SOLVED, Slot
from discreet.mechanisms.adaptive.table import ReleaseKernel
from discreet.mechanisms.adaptive.vocabulary import Outputs, Vocabulary
from discreet.models.endless import EndlessChain
from discreet.numerics import FloatArray, IntArray
from discreet.outputs import SUPPRESSED, Output, Released, Skipped
from discreet.policy import Policy

ROOM = 16_000_000
"""Bytes of kernels and beliefs that are kept for public states seen before."""

LIVE = 512
"""Past rows that may be live; above it a slot is silent, and constant silence forgets at the habits' own rate."""


class Pacing(NamedTuple):
    """How much of a row's delta is held back while later outputs tell of it too.

    `held` of it until the row closes, `fading` times as much with every slot after that. A gain at its limit forbids
    everything that would raise it, and a programme with many of these is degenerate. So little is enough, but it has to
    be given back slowly, over the life of a row. Limits only shrink by pacing, so it is sound whatever the numbers are;
    they were chosen by measurement: `python -m benchmarks endless` and docs/reproduce-adaptive.md.
    """

    held: float
    fading: float


PACING = {
    ("suppress", "last"): Pacing(0.02, 0.95),
    ("suppress", "none"): Pacing(0.1, 0.95),
    ("deceive", "last"): Pacing(0.02, 0.95),
    ("deceive", "none"): Pacing(0.2, 0.95),
}

LONG = 512
"""Slots after which nothing is held back any more."""


@compiled(FLOATS, FLOATS_2D, INTS_2D, FLOATS_2D, types.int64)
def _gathered(
    weights: FloatArray, step: FloatArray, private: IntArray, before: FloatArray, kinds: int
) -> tuple[FloatArray, FloatArray]:
    """(P,) the probability of each private state, and (J, P): rows that depend on the state before, averaged over the
    steps that lead to it."""
    states = len(weights)
    mass, rows = np.zeros(kinds), np.zeros((len(before), kinds))
    for z in range(states):
        line = private[z if len(private) > 1 else 0]
        for k in range(states):
            chance = weights[z] * step[z, k]
            if chance > 0.0:
                m = line[k]
                mass[m] += chance
                for j in range(len(before)):
                    rows[j, m] += chance * before[j, z]
    for j in range(len(before)):
        for m in range(kinds):
            if mass[m] > 0.0:
                rows[j, m] /= mass[m]
    return mass, rows


class EndlessSlots:
    """The private states of a slot and what they tell, for a model without end."""

    def __init__(self, adversary: EndlessAdversary, private_contexts: IntArray, pacing: Pacing) -> None:
        self.adversary, self.private_contexts, self.pacing = adversary, private_contexts, pacing
        # Repeated products, not powers: a library's power may differ in the last bit from machine to machine.
        self._fading = np.cumprod(np.concatenate([[1.0], np.full(LONG - 1, pacing.fading), [0.0]]))

    def slot(self, belief: EndlessBelief) -> Slot:
        """Private states and coefficients, from the belief."""
        return self.with_rows(belief)[0]

    def with_rows(self, belief: EndlessBelief) -> tuple[Slot, Rows]:
        """The same, and what its rows are about.

        Past rows depend on the state before, future ones on the one now, those inside on both.
        """
        adversary, t = self.adversary, belief.slot
        step, _, private = adversary.arrival(t)
        possible_before = belief.stack[0] > 0
        known = belief.stack[1:] / np.where(possible_before, belief.stack[0], 1.0)  # (R, K): P(j so far | state before)
        mass, kept = _gathered(belief.weights, step, private, known, len(self.private_contexts))
        possible = np.flatnonzero(mass)
        context = self.private_contexts[possible]  # contexts are the hidden states
        kept = kept[:, possible]
        for r in np.flatnonzero(belief.rows.closes >= t).tolist():  # inside
            g = int(belief.rows.secret[r])
            kept[r] += (1 - kept[r]) * belief.later(r, t)[context]
            if adversary.secrets.active[g, t % adversary.model.day_slots]:
                kept[r][adversary.members[g, context]] = 1.0
        front = belief.front()
        rows = belief.rows.and_then(front.rows)
        beyond = np.concatenate([kept, front.chance[:, context]]) - rows.limit[:, None]
        live = np.asarray(~(beyond <= DROPPED).all(axis=1))  # what is not a number is live
        believed = np.concatenate([belief.kept(), product(front.chance, belief.hidden())])
        limits = self._limits(rows.only(live), believed[live], t)
        return Slot.of(possible, context, mass[possible], beyond[live], limits), rows.only(live)

    def _limits(self, rows: Rows, believed: FloatArray, t: int) -> FloatArray:
        """How far beyond its delta each gain may go now: less than nothing while some of it is held back.

        A gain that is there already may stay, so that silence is always possible.
        """
        held = self.pacing.held * rows.delta * self._fading[np.clip(t - rows.closes, 0, LONG)]
        return np.asarray(np.minimum(SOLVED, np.maximum(-held, believed - rows.limit + SOLVED)))


@dataclass(frozen=True)
class Ongoing:
    """The public state of a stream without end: the slot, and the belief, by what it is a function of."""

    slot: int
    key: Hashable  # the last release and its slot, or a digest of the belief
    skipped: bool  # nothing was decided in the slot before: memory may not be what an observer assumes
    beliefs: Beliefs[EndlessBelief] = field(compare=False, repr=False)
    cuts: tuple[int, ...] = ()  # at which habits or the policy changed so far

    @property
    def belief(self) -> EndlessBelief:
        """The belief of the mechanism's own observer."""
        return self.beliefs.own

    @property
    def others(self) -> tuple[EndlessBelief, ...]:
        """The beliefs of the other observers."""
        return self.beliefs.each[1:]


class Told(NamedTuple):
    """A kernel, and the beliefs after silence where that is tabled."""

    kernel: FiniteKernel | ReleaseKernel
    silent: Beliefs[EndlessBelief] | None

    @property
    def nbytes(self) -> int:
        """Roughly what it holds."""
        kernel, silent = self.kernel, self.silent
        held = kernel.nbytes if isinstance(kernel, ReleaseKernel) else 3 * kernel.weights.nbytes
        return held + (0 if silent is None else 2 * silent.nbytes)


class Known:
    """Decisions seen before, the latest up to ROOM bytes."""

    def __init__(self) -> None:
        self.found: OrderedDict[Hashable, Told] = OrderedDict()
        self.nbytes = 0

    def get(self, key: Hashable) -> Told | None:
        """The one of this key, which is then the latest."""
        told = self.found.get(key)
        if told is not None:
            self.found.move_to_end(key)
        return told

    def keep(self, key: Hashable, told: Told) -> None:
        """Take one in, and let those go that were not asked for longest."""
        self.found[key] = told
        self.nbytes += told.nbytes
        while self.nbytes > ROOM and len(self.found) > 1:
            self.nbytes -= self.found.popitem(last=False)[1].nbytes


class Endless(Remembering):
    """Kernels decided for each public state as it occurs; tabled where truth or silence settles the past."""

    def __init__(
        self,
        model: EndlessChain,
        policy: Policy,
        vocabulary: Vocabulary,
        outputs: Outputs,
        memory: Memory,
        pairs: int = PAIRS,
        *,
        pacing: Pacing | None = None,
        tabled: bool = False,
        like: Endless | None = None,
        before: tuple[Endless, int] | None = None,
        observers: Sequence[EndlessChain] = (),
    ) -> None:
        """`like` shares what it has decided, of the same habits and policy; `before` is followed at a cut."""
        super().__init__(model.contexts, memory, _groups(model, pairs) if before is None else before[0].group)
        self.model, self.policy, self.tabled = model, policy, tabled
        self.family: tuple[EndlessAdversary, ...] = tuple(
            EndlessAdversary(
                self,
                habits,
                tables=None if like is None else like.family[number].tables,
                follows=None if before is None else Follows(before[0].family[number], before[1]),
            )
            for number, habits in enumerate((model, *observers))
        )
        self.adversary = self.family[0]
        self.horizon = max(one.horizon for one in self.family)  # refuses what looks too far ahead
        self.pacing = PACING.get((outputs, memory), PACING["deceive", memory]) if pacing is None else pacing
        self.slots = tuple(EndlessSlots(one, self.private_contexts, self.pacing) for one in self.family)
        self.decider = Decider(FamilySlots(self.slots), vocabulary, self.private_contexts)
        if like is not None:
            self.decider.effort = like.decider.effort
        self._known: Known = Known() if like is None else like._known

    def start(self) -> Ongoing:
        """Nothing was output yet."""
        beliefs = Beliefs(tuple(one.start() for one in self.family))
        return Ongoing(beliefs.slot, ("start", self.model.fingerprint), False, beliefs)

    def restored(
        self,
        belief: EndlessBelief,
        skipped: bool,
        cuts: tuple[int, ...] = (),
        others: tuple[EndlessBelief, ...] = (),
    ) -> Ongoing:
        """The public state of a checkpoint."""
        beliefs = Beliefs((belief, *others))
        return Ongoing(belief.slot, _digest(beliefs), skipped, beliefs, cuts)

    def adversaries_at(self, cuts: tuple[int, ...]) -> tuple[EndlessAdversary, ...]:
        """The adversaries after changes at these cuts; there are none."""
        if cuts:
            raise DiscreetError(f"the checkpoint is after {len(cuts)} changes, of which the mechanism knows none")
        return self.family

    def kernel(self, state: Ongoing) -> FiniteKernel | ReleaseKernel:
        """Decided once for each public state that is kept."""
        return self._told(state).kernel

    def _told(self, state: Ongoing) -> Told:
        key = self._place(state)
        told = self._known.get(key)
        if told is None:
            told = self._decided(state)
            self._known.keep(key, told)
        silent, after = told.silent, state.slot + 1
        if silent is not None and (silent.slot != after or silent.own.adversary is not self.adversary):
            # decided at another place of the cycle, or for a stream that began on another date
            moved = tuple(one.at(after, own) for one, own in zip(silent.each, self.family, strict=True))
            return told._replace(silent=Beliefs(moved))
        return told

    def _place(self, state: Ongoing) -> Hashable:
        """What decides the kernel: where habits repeat, the place of the last release in the cycle and its age."""
        declared = tuple(one.told for one in state.beliefs.each)
        if isinstance(state.key, LastTold) and not any(declared) and (place := self._repeats(state.key.slot)):
            return place, state.key.context, state.slot - state.key.slot, state.skipped
        # the place as well: machines of streams that began on other dates share what was decided
        return self.model.place(state.slot), state.slot, state.key, state.skipped, declared

    def _repeats(self, slot: int) -> tuple[int, ...] | None:
        """Where a slot is in the cycle of every observer's habits; None where some do not repeat (yet)."""
        found = []
        for one in self.family:
            place = one.model.place(slot)
            if place is None:
                return None
            found.append(place)
        return tuple(found)

    def _decided(self, state: Ongoing) -> Told:
        decision = self._decision(state)
        if not self.tabled:
            return Told(self._spread(decision) if state.skipped else self.decider.kernel(decision), None)
        release = np.zeros(len(self.private_contexts), dtype=np.int64)
        contexts = self.private_contexts[decision.private]
        weights = decision.weights[np.arange(len(contexts)), contexts]
        if state.skipped:
            by_context = np.zeros(len(self.model.contexts), dtype=np.int64)
            by_context[contexts] = weights
            release = by_context[self.private_contexts]
        else:
            release[decision.private] = weights
        kernel = ReleaseKernel(self.decider.vocabulary.outputs, self.private_contexts, release)
        return Told(kernel, state.beliefs.after(kernel.likelihood(SUPPRESSED)))

    def _decision(self, state: Ongoing) -> Decision:
        """Silence where there are too many rows, or rows too far ahead, or a state too unlikely to divide by.

        Alike after a skip.
        """
        slot = self.decider.slot(state.beliefs)
        if not all(len(one.rows.secret) <= LIVE and one.front().whole and one.sound for one in state.beliefs.each):
            self.decider.effort.given_up += 1
            return self.decider.silent(slot)
        return self.decider.decided(slot.by_context() if state.skipped else slot)

    def _spread(self, decision: Decision) -> FiniteKernel:
        """Equal rows for all private states of a context: nothing depends on what memory would say."""
        kernel = self.decider.kernel(decision)
        weights = np.zeros_like(kernel.weights)
        weights[:, self.decider.vocabulary.silence] = kernel.total
        for number, context in enumerate(self.private_contexts[decision.private].tolist()):
            weights[self.private_contexts == context] = decision.weights[number]
        return FiniteKernel(kernel.outputs, weights, kernel.total)

    def advance(self, state: Ongoing, output: Output) -> Ongoing:
        """Bayes with the kernel that was used; a skip tells nothing."""
        if isinstance(output, Skipped):
            return self._after(state, state.beliefs.after(np.ones(len(self.private_contexts))), skipped=True)
        told = self._told(state)
        if self.tabled and isinstance(output, Released) and (context := self._index.get(output.context)) is not None:
            return self._after(state, self._revealed(state, context), LastTold(state.slot, context))
        if told.silent is not None and not isinstance(output, Released):
            known = state.key if isinstance(state.key, LastTold) and not state.skipped else None
            return self._after(state, told.silent, known)
        return self._after(state, state.beliefs.after(told.kernel.likelihood(output)))

    def retraced(self, state: Ongoing, output: Output, column: FloatArray) -> Ongoing:
        """One slot on, by the likelihood that an output had when it was drawn, perhaps by another build's kernel.

        What is tabled goes by its table where this build's kernel says the same: the belief there is exact after a
        release, and the next kernel is to be the one of a machine that never stopped, to the last bit.
        """
        if self.tabled and np.array_equal(self._told(state).kernel.likelihood(output), column):
            return self.advance(state, output)
        return self._after(state, state.beliefs.after(column))

    def _after(
        self, state: Ongoing, beliefs: Beliefs[EndlessBelief], key: Hashable = None, *, skipped: bool = False
    ) -> Ongoing:
        """One slot on; by default the beliefs are what they are a function of."""
        found = _digest(beliefs) if key is None else key
        return replace(state, slot=state.slot + 1, key=found, skipped=skipped, beliefs=beliefs)

    def _revealed(self, state: Ongoing, context: int) -> Beliefs[EndlessBelief]:
        """A release settles the past; what was told before a secret was declared stays as it is."""
        after = state.slot + 1
        return Beliefs(
            tuple(
                replace(adversary.revealed(after, context), told=tuple(one for one in belief.told if one[1] >= after))
                for adversary, belief in zip(self.family, state.beliefs.each, strict=True)
            )
        )


def _digest(beliefs: Beliefs[EndlessBelief]) -> tuple[bytes, ...]:
    return tuple(one.digest() for one in beliefs.each)


class LastTold(NamedTuple):
    """The last release of a stream: its slot and its context."""

    slot: int
    context: int


def _groups(model: EndlessChain, pairs: int) -> IntArray:
    """(n,): the group of each previous context that memory can tell apart, as for a day (machines.remembered)."""
    n = len(model.contexts)
    routine = model.routine
    steps = np.concatenate([routine.day(kind).transitions > 0 for kind in routine.kinds])
    if not len(steps) or steps.sum() / len(steps) <= pairs:
        return np.arange(n)
    kept = max(1, pairs // n - 1)
    cycle = range(model.first, model.first + (routine.period or 1) * model.day_slots)
    order = np.argsort(-np.sum([model.prior_at(t) for t in cycle], axis=0), kind="stable")
    group = np.full(n, kept)
    group[order[:kept]] = np.arange(kept)
    return group
