"""Adaptive release: one linear programme a slot keeps every gain within delta, exactly, and releases the most.

The proof stands beside this file, in proof.md.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.adversary.belief import Adversary, Belief
from discreet.contracts import Kernel, Model, Needs, Utility
from discreet.errors import DiscreetError
from discreet.events import ATTRIBUTES, Events
from discreet.hierarchy import Hierarchy
from discreet.kernels import FiniteKernel
from discreet.mechanisms.adaptive.decision import Decider, Value, Vocabulary
from discreet.mechanisms.adaptive.table import SuppressTable
from discreet.mechanisms.base import events_of
from discreet.mechanisms.maskit.hybrid import Hybrid
from discreet.mechanisms.utility import DAYS, TREE, simulated_utility, tree_utility
from discreet.numerics import IntArray
from discreet.outputs import Generalized, Output, Released, truthful
from discreet.policy import Guarantee, Policy

Outputs = Literal["suppress", "generalize", "deceive", "attributes"]
Memory = Literal["last", "none"]
Plan = Literal["full", "lazy"]

PAIRS = 400
"""Pairs (previous, current) of a slot that memory keeps apart; programmes grow with them."""

AHEAD = 1e-9
"""Hybrid is followed where it is ahead by more than this: the silence that is mixed in costs 2**-40."""

KEPT = 512
"""Kernels kept for histories seen before (a day's outputs lead along one path of them); up to 0.2 MB each."""


@dataclass(frozen=True)
class History:
    """The public state where nothing shorter is enough: the outputs so far. The belief is their function, kept along."""

    outputs: tuple[Output, ...]
    belief: Belief = field(compare=False, repr=False)


class Histories:
    """Kernels decided for each history of outputs as it occurs; the latest are kept."""

    def __init__(self, adversary: Adversary, decider: Decider) -> None:
        self._adversary, self._decider = adversary, decider
        self._kernels: OrderedDict[tuple[Output, ...], FiniteKernel] = OrderedDict()

    def start(self) -> History:
        """No outputs yet."""
        return History((), self._adversary.start())

    def kernel(self, state: History) -> FiniteKernel:
        """Decided once for each history."""
        kernel = self._kernels.get(state.outputs)
        if kernel is None:
            kernel = self._kernels[state.outputs] = self._decider.kernel(self._decider.decide(state.belief))
            if len(self._kernels) > KEPT:
                self._kernels.popitem(last=False)
        return kernel

    def advance(self, state: History, output: Output) -> History:
        """Bayes with the kernel that was used."""
        return History((*state.outputs, output), state.belief.after(self.kernel(state).likelihood(output)))


class Adaptive:
    """The kernel of each slot is the best that keeps every secret's gain within its delta, given the outputs so far.

    outputs="suppress": truth or silence; "generalize": any ancestor in the hierarchy; "deceive": any context, true or
    not, or silence; "attributes": any of the attributes of an event (`events`; by default read off the contexts), or silence.
    memory="last" lets the kernel look at the previous true context too (default for chains), which is never published.
    `value(context, output)` says what an output is worth: by default truth 1, an ancestor k layers up max(0, 1 - k/2), a
    partial event the fraction of attributes that it shows, everything else 0.

    Suppressing on a chain with secrets at each slot is tabled. plan="full" decides all that is likely to occur before the
    first release, compares with `Hybrid` and follows the better: `follows` says which. Likewise "generalize" follows
    "suppress" where that is better, on days short enough to know. plan="lazy" starts at once and decides as it goes. `effort` counts programmes, those given up (silence instead), and kernels mended after rounding.
    """

    needs: ClassVar[Needs] = "any"
    pairs: ClassVar[int] = PAIRS  # of memory; a class of one's own may keep others, as an experiment does

    def __init__(
        self,
        model: Model,
        policy: Policy,
        *,
        outputs: Outputs = "suppress",
        memory: Memory | None = None,
        hierarchy: Hierarchy | None = None,
        events: Events | None = None,
        value: Value | None = None,
        plan: Plan = "full",
    ) -> None:
        self.model, self.policy = model, policy
        self.outputs: Outputs = outputs
        self.memory: Memory = _memory(model, memory)
        if plan not in ("full", "lazy"):
            raise DiscreetError(f"plan={plan!r} is not known; use 'full' or 'lazy'")
        self.guarantee = Guarantee(
            "exact delta",
            "whatever is output, the gain on each secret, at each slot or at any, stays within its delta",
            covers=frozenset({"each", "any"}),
        )
        every = np.arange(len(model.contexts))
        self._group = remembered(model, self.pairs)
        pairs = np.concatenate([every, np.tile(every, int(self._group.max()) + 1)])
        self.private_contexts: IntArray = every if self.memory == "none" else pairs
        self.vocabulary = _vocabulary(model, outputs, hierarchy, events, value)
        self.adversary = Adversary(self)
        self.decider = Decider(self.adversary, self.vocabulary, self.private_contexts)
        self.effort = self.decider.effort
        self.follows: Literal["adaptive", "hybrid", "suppress"] = "adaptive"
        self._utility: Utility | None = None
        self._large = False  # the tree of outputs is too large for an exact utility
        tabled = outputs == "suppress" and value is None and model.emissions is None and not policy.bounds_any
        table = SuppressTable(self.adversary, self.decider) if tabled else None
        self._machine: Any = Histories(self.adversary, self.decider) if table is None else table
        if table is not None and plan == "full":
            self._plan(table)
        elif outputs == "generalize" and plan == "full" and value is None:
            self._plan_layers()

    def _plan(self, table: SuppressTable) -> None:
        """Follow Hybrid where it is better: a function of model and policy, which are public, hence sound."""
        self._utility = table.plan()
        hybrid = Hybrid(self.model, self.policy)
        if float(hybrid.expected_utility()) > self._utility.mean + self._utility.half_width + AHEAD:
            self.follows, self._machine = "hybrid", hybrid
            self.private_contexts = hybrid.private_contexts
            self.memory = "none"
            self.adversary = Adversary(self)
            self._utility = hybrid.expected_utility()

    def _plan_layers(self) -> None:
        """Follow suppress where it is better, on days so short that both are known exactly; as sound as following Hybrid."""
        own = tree_utility(self, self.vocabulary.worth_of, TREE)
        if own is None:
            return
        self._utility = own
        plain = Adaptive(self.model, self.policy, memory=self.memory)
        known = plain._utility or tree_utility(plain, plain.vocabulary.worth_of, TREE)
        if known is not None and float(known) > float(own) + AHEAD:
            self.follows, self._machine = "suppress", plain._machine
            self.private_contexts, self.memory = plain.private_contexts, plain.memory
            self.adversary, self._utility = plain.adversary, known

    def remember(self, memory: int | None, context: int) -> int:
        """With memory, n + group of the previous * n + current; the current alone at the start."""
        if self.memory == "none" or memory is None:
            return context
        n = len(self.model.contexts)
        return n + int(self._group[self.private_contexts[memory]]) * n + context

    def worth(self, context: str, output: Output) -> float:
        """What an output is worth in a context: `value`, or its default."""
        return self.vocabulary.worth_of(context, output)

    @classmethod
    def law_cases(cls, model: Model) -> Iterable[Mapping[str, Any]]:
        """The defaults, fakes, and a hierarchy of two layers."""
        tree = Hierarchy({"top": list(model.contexts)})
        return {}, {"outputs": "deceive"}, {"outputs": "generalize", "hierarchy": tree, "memory": "none"}

    def start(self) -> Any:
        """The public state at the start of a day."""
        return self._machine.start()

    def kernel(self, state: Any) -> Kernel:
        """The best kernel that keeps every gain within its delta, or the one that `Hybrid` has."""
        kernel: Kernel = self._machine.kernel(state)
        return kernel

    def advance(self, state: Any, output: Output) -> Any:
        """The public state after an output."""
        return self._machine.advance(state, output)

    def expected_utility(self, days: int | None = None) -> Utility:
        """Expected worth of a slot: exact where it is tabled or days are short, else the mean over days of the model.

        half_width is then the 95 % half-width; the draws are seeded.
        """
        if self._utility is None and isinstance(self._machine, SuppressTable):
            self._utility = self._machine.plan()
        if self._utility is None and not self._large:
            self._utility = tree_utility(self, self.vocabulary.worth_of, TREE)
            self._large = self._utility is None
        if self._utility is None:
            return simulated_utility(self, self.vocabulary.worth_of, DAYS if days is None else days)
        return self._utility


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


def _memory(model: Model, memory: Memory | None) -> Memory:
    hidden = model.emissions is not None
    if memory is None:
        return "none" if hidden else "last"
    if memory not in ("last", "none"):
        raise DiscreetError(f"memory={memory!r} is not known; use 'last' or 'none'")
    if hidden and memory == "last":
        raise DiscreetError("a hidden Markov model is released without memory so far; use memory='none'")
    return memory


def _vocabulary(
    model: Model, outputs: Outputs, hierarchy: Hierarchy | None, events: Events | None, value: Value | None
) -> Vocabulary:
    contexts = model.contexts
    if outputs == "suppress":
        allowed: list[list[Output]] = [[Released(context)] for context in contexts]
    elif outputs == "deceive":
        allowed = [[Released(other) for other in contexts]] * len(contexts)
    elif outputs == "generalize":
        allowed = _ancestors(contexts, hierarchy)
    elif outputs == "attributes":
        own = events_of(model, events)
        kept = [subset for subset in itertools.product((True, False), repeat=len(ATTRIBUTES)) if any(subset)]
        allowed = [[own.partial(c, (a, t, where)) for a, t, where in kept] for c in range(len(contexts))]
    else:
        raise DiscreetError(
            f"outputs={outputs!r} is not known; use 'suppress', 'generalize', 'deceive' or 'attributes'"
        )

    def default(context: str, output: Output) -> float:
        if isinstance(output, Generalized) and hierarchy is not None:
            return max(0.0, 1 - hierarchy.layer_of(output.node) / 2)
        return truthful(context, output)

    return Vocabulary(contexts, allowed, default if value is None else value)


def _ancestors(contexts: tuple[str, ...], hierarchy: Hierarchy | None) -> list[list[Output]]:
    if hierarchy is None:
        raise DiscreetError("generalizing needs a hierarchy; pass hierarchy=Hierarchy({...}) over the model's contexts")
    for context in contexts:
        if context not in hierarchy or hierarchy.layer_of(context) != 0:
            raise DiscreetError(f"context {context!r} is not a leaf of the hierarchy; add it below a node")
    return [[Released(context), *map(Generalized, hierarchy.ancestors(context))] for context in contexts]
