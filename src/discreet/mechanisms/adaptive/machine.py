"""The machine of adaptive release: public states, the kernel of each, and the beliefs that outputs lead to.

One machine serves a day and a stream without end. A public state is the slot and the belief of every observer; kernels
are decided for each as it occurs, and the latest are kept, by what they were made from. Over a stream, beliefs hold
live rows alone (endless.md). Truth or silence on secrets at each slot of a chain is tabled: a release settles the past,
so a belief is a function of (phase of the last release, its context, how long ago), and so are kernels,
for as long as habits repeat; table.py does the same for a day.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from discreet.adversary.belief import Adversary
from discreet.adversary.endless import EndlessAdversary, Follows
from discreet.contracts import cycle_of, is_endless
from discreet.errors import DiscreetError
from discreet.kernels import FiniteKernel
from discreet.mechanisms.adaptive.decision import Decider, Decision
from discreet.mechanisms.adaptive.kernel import ReleaseKernel
from discreet.mechanisms.adaptive.observers import Beliefs, ObserverSlots
from discreet.mechanisms.adaptive.size import refuse_large_memory, refuse_long_day
from discreet.mechanisms.adaptive.slots import HIDDEN_PACING, PACING, DaySlots, LiveSlots, Pacing, Slot
from discreet.mechanisms.adaptive.vocabulary import Outputs, Vocabulary
from discreet.models.arrays import possible_steps
from discreet.models.pairs import Pairs
from discreet.numerics import FloatArray, IntArray
from discreet.outputs import SUPPRESSED, Output, Released, Skipped
from discreet.policy import Policy

Memory = Literal["last", "none"]

PAIRS = 400
"""Pairs (previous, current) of a slot that memory keeps apart; programmes grow with them."""

ROOM = 32_000_000
"""Bytes of kernels, and of beliefs where they are tabled, that a stream keeps."""

DAY_ROOM = 64_000_000
"""The same of a day, whose first slots many days and people share."""

STATES = 16_384
"""Public states of which it is known what their kernel was made from."""


class Remembering:
    """Private states: the current context, or with memory="last" a pair (group of the previous, current).

    Over habits of order two these pairs are the model's own. Where memory starts, in a day's first slot or after a
    skip, a private state is the current context alone.
    """

    def __init__(self, contexts: tuple[str, ...], memory: Memory, group: IntArray, pairs: Pairs | None = None) -> None:
        self.memory: Memory = memory
        self._pairs = pairs if memory == "last" else None
        every = np.arange(len(contexts))
        self._index = {context: k for k, context in enumerate(contexts)}
        self.group = group  # (n,): of the previous context, as far as memory can tell
        paired = np.concatenate([every, np.tile(every, int(group.max()) + 1)])
        self.private_contexts: IntArray = every if memory == "none" else paired
        if self._pairs is not None:
            self.private_contexts = self._pairs.private_contexts
        self.private_contexts.setflags(write=False)

    def remember(self, memory: int | None, context: int) -> int:
        """With memory, n + group of the previous * n + current; the current alone at the start."""
        if self._pairs is not None:
            return self._pairs.remember(memory, context)
        if self.memory == "none" or memory is None:
            return context
        n = len(self._index)
        return n + int(self.group[self.private_contexts[memory]]) * n + context


@dataclass(frozen=True)
class AdaptiveState:
    """The public state: the slot, and what every observer believes, by what it is a function of."""

    slot: int
    key: Hashable  # the last release and its slot, or a digest of the belief
    skipped: bool  # nothing was decided in the slot before: memory may not be what an observer assumes
    beliefs: Beliefs[Any] = field(compare=False, repr=False)
    cuts: tuple[int, ...] = ()  # at which habits or the policy changed so far

    @property
    def belief(self) -> Any:
        """The belief of the mechanism's own observer."""
        return self.beliefs.own

    @property
    def others(self) -> tuple[Any, ...]:
        """The beliefs of the other observers."""
        return self.beliefs.each[1:]


class DecidedKernel(NamedTuple):
    """A kernel, and the beliefs after silence where that is tabled."""

    kernel: FiniteKernel | ReleaseKernel
    silent: Beliefs[Any] | None

    @property
    def nbytes(self) -> int:
        """Roughly what it holds."""
        kernel, silent = self.kernel, self.silent
        held = kernel.nbytes if isinstance(kernel, ReleaseKernel) else 3 * kernel.weights.nbytes
        return held + (0 if silent is None else 2 * silent.nbytes)


class DecisionCache:
    """Kernels made before, the latest up to so many bytes.

    Where truth or silence is tabled, by the place in the table. Elsewhere by what they were made from (`Slot.digest`):
    another week, or another past, often leads to a slot that differs in no bit. Its programme is not solved again.
    """

    def __init__(self, room: int) -> None:
        self.room = room
        self.found: OrderedDict[Hashable, DecidedKernel] = OrderedDict()
        self.slots: OrderedDict[Hashable, Hashable] = OrderedDict()  # by public state, the key in `found`
        self.nbytes = 0

    def get(self, key: Hashable) -> DecidedKernel | None:
        """The one of this key, which is then the latest."""
        told = self.found.get(key)
        if told is not None:
            self.found.move_to_end(key)
        return told

    def keep(self, key: Hashable, told: DecidedKernel) -> None:
        """Take one in, and let those go that were not asked for longest."""
        self.found[key] = told
        self.nbytes += told.nbytes
        while self.nbytes > self.room and len(self.found) > 1:
            self.nbytes -= self.found.popitem(last=False)[1].nbytes

    def of_state(self, state: Hashable) -> DecidedKernel | None:
        """The one that was made for a public state."""
        key = self.slots.get(state)
        return None if key is None else self.get(key)

    def same(self, state: Hashable, key: Hashable) -> None:
        """Take note of what a public state's kernel is made from."""
        self.slots[state] = key
        if len(self.slots) > STATES:
            self.slots.popitem(last=False)


class AdaptiveMachine(Remembering):
    """Kernels decided for each public state as it occurs; tabled where truth or silence settles the past."""

    def __init__(
        self,
        model: Any,
        policy: Policy,
        vocabulary: Vocabulary,
        outputs: Outputs,
        memory: Memory,
        pairs: int = PAIRS,
        *,
        pacing: Pacing | None = None,
        tabled: bool = False,
        like: AdaptiveMachine | None = None,
        before: tuple[AdaptiveMachine, int] | None = None,
        observers: Sequence[Any] = (),
    ) -> None:
        """`like` shares what it has decided, of the same habits and policy; `before` is followed at a cut."""
        group = _groups(model, pairs) if before is None else before[0].group
        known = getattr(model, "pairs", None)
        lifted = memory == "last" and known is None  # pairs of the model's own are filtered without a table
        n = len(model.contexts)
        refuse_large_memory(n, n * (2 + int(group.max())) if lifted else n, outputs)
        super().__init__(model.contexts, memory, group, known)
        self.model, self.policy, self.tabled = model, policy, tabled
        self.adversaries: tuple[Any, ...]
        self.slots: tuple[Any, ...]
        self.horizon: int | None
        if is_endless(model):
            self.adversaries = self._streams((model, *observers), like, before)
            self.horizon = max(one.horizon for one in self.adversaries)  # refuses what looks too far ahead
            own = HIDDEN_PACING if model.emission(model.first) is not None else PACING.get((outputs, memory))
            self.pacing = pacing or own or PACING["deceive", memory]
            self.slots = tuple(LiveSlots(self.pacing) for _ in self.adversaries)
            room = ROOM
        else:
            refuse_long_day(model, policy, outputs)
            self.adversaries = tuple(Adversary(self, habits) for habits in (model, *observers))
            self.horizon, room = None, DAY_ROOM
            self.slots = tuple(DaySlots(one, self.private_contexts) for one in self.adversaries)
        self.adversary = self.adversaries[0]
        self.decider = Decider(ObserverSlots(self.slots), vocabulary, self.private_contexts)
        if like is not None:
            self.decider.effort = like.decider.effort
        self._known: DecisionCache = DecisionCache(room) if like is None else like._known
        self._last: tuple[AdaptiveState, DecidedKernel] | None = None  # a session asks twice: to draw, then to go on

    def _streams(
        self, habits: Sequence[Any], like: AdaptiveMachine | None, before: tuple[AdaptiveMachine, int] | None
    ) -> tuple[EndlessAdversary, ...]:
        return tuple(
            EndlessAdversary(
                self,
                one,
                tables=None if like is None else like.adversaries[number].tables,
                follows=None if before is None else Follows(before[0].adversaries[number], before[1]),
            )
            for number, one in enumerate(habits)
        )

    def start(self) -> AdaptiveState:
        """Nothing was output yet."""
        beliefs = Beliefs(tuple(one.start() for one in self.adversaries))
        return AdaptiveState(beliefs.slot, ("start", self.model.fingerprint), False, beliefs)

    def restored(
        self,
        belief: Any,
        skipped: bool,
        cuts: tuple[int, ...] = (),
        others: tuple[Any, ...] = (),
    ) -> AdaptiveState:
        """The public state of a checkpoint."""
        beliefs = Beliefs((belief, *others))
        return AdaptiveState(belief.slot, _digest(beliefs), skipped, beliefs, cuts)

    def adversaries_at(self, cuts: tuple[int, ...]) -> tuple[EndlessAdversary, ...]:
        """The adversaries after changes at these cuts; there are none."""
        if cuts:
            raise DiscreetError(f"the checkpoint is after {len(cuts)} changes, of which the mechanism knows none")
        return self.adversaries

    def kernel(self, state: AdaptiveState) -> FiniteKernel | ReleaseKernel:
        """Decided once for each public state that is kept."""
        return self._told(state).kernel

    def _told(self, state: AdaptiveState) -> DecidedKernel:
        last = self._last
        if last is None or last[0] is not state:
            last = self._last = state, self._looked_up(state)
        return last[1]

    def _looked_up(self, state: AdaptiveState) -> DecidedKernel:
        key = self._table_key(state)
        if not self.tabled:
            return self._known.of_state(key) or self._of_slot(state, key)
        told = self._known.get(key)
        if told is None:
            told = self._tabled(state)
            self._known.keep(key, told)
        silent, after = told.silent, state.slot + 1
        if silent is not None and (silent.slot != after or silent.own.adversary is not self.adversary):
            # decided at another phase, or for a stream that began on another date
            moved = tuple(one.at(after, own) for one, own in zip(silent.each, self.adversaries, strict=True))
            return told._replace(silent=Beliefs(moved))
        return told

    def _table_key(self, state: AdaptiveState) -> Hashable:
        """What decides the kernel: where habits repeat, the phase of the last release and its age."""
        declared = tuple(one.already_told for one in state.beliefs.each)
        if isinstance(state.key, LastTold) and not any(declared) and (phase := self._repeats(state.key.slot)):
            return phase, state.key.context, state.slot - state.key.slot, state.skipped
        # the phase as well: machines of streams that began on other dates share what was decided
        return self.model.phase(state.slot), state.slot, state.key, state.skipped, declared

    def _repeats(self, slot: int) -> tuple[int, ...] | None:
        """Where a slot is in the cycle of every observer's habits; None where some do not repeat (yet)."""
        found = []
        for one in self.adversaries:
            phase = one.model.phase(slot)
            if phase is None:
                return None
            found.append(phase)
        return tuple(found)

    def _of_slot(self, state: AdaptiveState, table_key: Hashable) -> DecidedKernel:
        """The kernel of a slot; of one that differs in no bit from another, that one's."""
        slot, ready = self._slot(state)
        key = slot.digest(), ready, state.skipped
        told = self._known.get(key)
        if told is None:
            decision = self._decision(slot, ready, state.skipped)
            told = DecidedKernel(self._spread(decision) if state.skipped else self.decider.kernel(decision), None)
            self._known.keep(key, told)
        self._known.same(table_key, key)
        return told

    def _slot(self, state: AdaptiveState) -> tuple[Slot, bool]:
        """What the kernel of a public state is made from, and whether a programme can be made of it."""
        return self.decider.slot(state.beliefs), all(one.ready for one in state.beliefs.each)

    def _tabled(self, state: AdaptiveState) -> DecidedKernel:
        decision = self._decision(*self._slot(state), state.skipped)
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
        return DecidedKernel(kernel, state.beliefs.after(kernel.likelihood(SUPPRESSED)))

    def _decision(self, slot: Slot, ready: bool, skipped: bool) -> Decision:
        """Silence where there are too many rows, or rows too far ahead, or a state too unlikely to divide by.

        Alike after a skip.
        """
        if not ready:
            self.decider.effort.given_up += 1
            return self.decider.silent(slot)
        return self.decider.decided(slot.by_context() if skipped else slot)

    def _spread(self, decision: Decision) -> FiniteKernel:
        """Equal rows for all private states of a context: nothing depends on what memory would say."""
        kernel = self.decider.kernel(decision)
        weights = np.zeros_like(kernel.weights)
        weights[:, self.decider.vocabulary.silence] = kernel.total
        for number, context in enumerate(self.private_contexts[decision.private].tolist()):
            weights[self.private_contexts == context] = decision.weights[number]
        return FiniteKernel(kernel.outputs, weights, kernel.total)

    def advance(self, state: AdaptiveState, output: Output) -> AdaptiveState:
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

    def retraced(self, state: AdaptiveState, output: Output, column: FloatArray) -> AdaptiveState:
        """One slot on, by the likelihood that an output had when it was drawn, perhaps by another build's kernel.

        What is tabled goes by its table where this build's kernel says the same: the belief there is exact after a
        release, and the next kernel is to be the one of a machine that never stopped, to the last bit.
        """
        if self.tabled and np.array_equal(self._told(state).kernel.likelihood(output), column):
            return self.advance(state, output)
        return self._after(state, state.beliefs.after(column))

    def _after(
        self, state: AdaptiveState, beliefs: Beliefs[Any], key: Hashable = None, *, skipped: bool = False
    ) -> AdaptiveState:
        """One slot on; by default the beliefs are what they are a function of."""
        found = _digest(beliefs) if key is None else key
        return replace(state, slot=state.slot + 1, key=found, skipped=skipped, beliefs=beliefs)

    def _revealed(self, state: AdaptiveState, context: int) -> Beliefs[Any]:
        """A release settles the past; what was told before a secret was declared stays as it is."""
        after = state.slot + 1
        return Beliefs(
            tuple(
                replace(
                    adversary.revealed(after, context),
                    already_told=tuple(one for one in belief.already_told if one[1] >= after),
                )
                for adversary, belief in zip(self.adversaries, state.beliefs.each, strict=True)
            )
        )


def _digest(beliefs: Beliefs[Any]) -> tuple[bytes, ...]:
    return tuple(one.digest() for one in beliefs.each)


class LastTold(NamedTuple):
    """The last release of a stream: its slot and its context."""

    slot: int
    context: int


def _groups(model: Any, pairs: int) -> IntArray:
    """(n,): the group of each previous context that memory can tell apart.

    Every context is its own group while a slot has at most `pairs` possible steps on average. Beyond that the likeliest
    are kept apart, as many as `pairs` allows, and the rest are one group. A rule of the model alone, hence public.
    """
    n = len(model.contexts)
    if model.emission(model.first) is not None or model.slots == 1:
        return np.arange(n)
    steps = possible_steps(model)
    if not len(steps) or steps.sum() / len(steps) <= pairs:
        return np.arange(n)
    kept = max(1, pairs // n - 1)
    order = np.argsort(-np.sum([model.prior_at(t) for t in cycle_of(model)], axis=0), kind="stable")
    group = np.full(n, kept)
    group[order[:kept]] = np.arange(kept)
    return group
