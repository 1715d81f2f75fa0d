"""Machines of adaptive release: a decider over private states, and the public states that its kernels are kept by.

`Deciding` is what they share; `Histories` keeps kernels by the outputs so far, where nothing shorter is enough. The
other machine, which tables decisions, is in table.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from discreet.adversary.belief import Adversary, Belief
from discreet.contracts import Kernel, Model
from discreet.kernels import FiniteKernel
from discreet.mechanisms.adaptive.decision import Decider
from discreet.mechanisms.adaptive.family import Beliefs, FamilySlots
from discreet.mechanisms.adaptive.slots import DaySlots
from discreet.mechanisms.adaptive.vocabulary import Vocabulary
from discreet.numerics import IntArray
from discreet.outputs import Output
from discreet.policy import Policy

Memory = Literal["last", "none"]

PAIRS = 400
"""Pairs (previous, current) of a slot that memory keeps apart; programmes grow with them."""

KEPT = 512
"""Kernels kept for histories seen before (a day's outputs lead along one path of them); up to 0.2 MB each."""


class Remembering:
    """Private states: the current context, or with memory="last" a pair (group of the previous, current).

    Where memory starts, in a day's first slot or after a skip, a private state is the current context alone.
    """

    def __init__(self, contexts: tuple[str, ...], memory: Memory, group: IntArray) -> None:
        self.memory: Memory = memory
        every = np.arange(len(contexts))
        self._index = {context: k for k, context in enumerate(contexts)}
        self.group = group  # (n,): of the previous context, as far as memory can tell
        paired = np.concatenate([every, np.tile(every, int(group.max()) + 1)])
        self.private_contexts: IntArray = every if memory == "none" else paired
        self.private_contexts.setflags(write=False)

    def remember(self, memory: int | None, context: int) -> int:
        """With memory, n + group of the previous * n + current; the current alone at the start."""
        if self.memory == "none" or memory is None:
            return context
        n = len(self._index)
        return n + int(self.group[self.private_contexts[memory]]) * n + context


class Deciding(Remembering, ABC):
    """Private states of a day, the adversary who filters over them, and the decider of kernels with a row for each."""

    def __init__(
        self,
        model: Model,
        policy: Policy,
        vocabulary: Vocabulary,
        memory: Memory,
        pairs: int = PAIRS,
        observers: Sequence[Model] = (),
    ) -> None:
        super().__init__(model.contexts, memory, remembered(model, pairs))
        self.model, self.policy = model, policy
        self.adversary = Adversary(self)
        self.family = (self.adversary, *(Adversary(self, observer) for observer in observers))
        slots = FamilySlots([DaySlots(one, self.private_contexts) for one in self.family])
        self.decider = Decider(slots, vocabulary, self.private_contexts)
        self._prepare()

    @abstractmethod
    def _prepare(self) -> None:
        """Make room for what is kept of decisions."""

    @abstractmethod
    def start(self) -> Any:
        """The public state at the start of a day."""

    @abstractmethod
    def kernel(self, state: Any) -> Kernel:
        """Decided from the public state."""

    @abstractmethod
    def advance(self, state: Any, output: Output) -> Any:
        """The public state after an output."""


def remembered(model: Model, pairs: int = PAIRS) -> IntArray:
    """(n,): the group of each previous context that memory can tell apart.

    Every context is its own group while a slot has at most `pairs` possible steps on average. Beyond that the likeliest
    are kept apart, as many as `pairs` allows, and the rest are one group. A rule of the model alone, hence public.
    """
    n = len(model.contexts)
    if model.emissions is not None or model.slots == 1:
        return np.arange(n)
    steps = (model.transitions > 0) & (model.prior[:-1, :, None] > 0)
    if steps.sum() / len(steps) <= pairs:
        return np.arange(n)
    kept = max(1, pairs // n - 1)
    order = np.argsort(-model.prior.sum(axis=0), kind="stable")
    group = np.full(n, kept)
    group[order[:kept]] = np.arange(kept)
    return group


@dataclass(frozen=True)
class History:
    """The public state where nothing shorter is enough: the outputs so far. The beliefs, their function, are kept."""

    outputs: tuple[Output, ...]
    beliefs: Beliefs[Belief] = field(compare=False, repr=False)

    @property
    def belief(self) -> Belief:
        """The belief of the mechanism's own observer."""
        return self.beliefs.own


class Histories(Deciding):
    """Kernels decided for each history of outputs as it occurs; those used latest are kept."""

    def _prepare(self) -> None:
        self._kernels: OrderedDict[tuple[Output, ...], FiniteKernel] = OrderedDict()

    def start(self) -> History:
        """No outputs yet."""
        return History((), Beliefs(tuple(one.start() for one in self.family)))

    def kernel(self, state: History) -> FiniteKernel:
        """Decided once for each history; those that people share, a day's first, are asked for often and stay."""
        kernel = self._kernels.pop(state.outputs, None)
        if kernel is None:
            kernel = self.decider.kernel(self.decider.decide(state.beliefs))
        self._kernels[state.outputs] = kernel
        if len(self._kernels) > KEPT:
            self._kernels.popitem(last=False)
        return kernel

    def advance(self, state: History, output: Output) -> History:
        """Bayes with the kernel that was used."""
        return History((*state.outputs, output), state.beliefs.after(self.kernel(state).likelihood(output)))
