"""FDH (Jiang, Huang, Wei): release the finest layer of a hierarchy whose own hybrid check allows it.

Every layer has a Markov chain over its nodes, secrets of its own (the nodes above the secrets) and MaskIt's hybrid
check. From the contexts upwards each check is asked in turn; the first that says yes is released, and the root is
always possible. A layer's past is what is known at that layer: a finer release reveals its ancestor, a coarser one is
silence there.

Chains. The paper trains each layer on the same days, mapped to that layer. What such training tends to is the leaf
chain *lumped*: P(A -> B at slot t) = sum over leaves a in A of P(X_t = a) P(a -> B) / P(X_t in A). That is used unless
`chains` are given.

Secrets. At a layer a secret is the set of its contexts' ancestors. Where these are all nodes of the layer (as at the
root) the event is certain there, nothing can be gained on it, and the layer does not ask about it.

What is proven. The contexts that are released, with every coarser output taken for silence, are those of the leaf
layer's hybrid check and nothing else: its state moves with its own releases only. So an observer *of that layer alone*
gains at most delta (MaskIt, Theorem 5). What is not, and is the paper's claim for all layers: (a) the layer that is
shown is itself seen, and says that finer checks said no, which a probabilistic check says more often of secrets; (b)
lumped chains are not Markov, so a coarse release may tell of slots before the last one: let s and x (1/2 each) be
followed by a1 and a2, under one node A, and these by c and d, under C and D; the chain of layers believes that A
separates the past from the future, releases A and then C, and C means s; (c) a finer release passes by the coarser
checks. The audit finds such breaches, and `Adaptive` with generalized outputs has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.contracts import DayModel, Needs, Utility, is_finite
from discreet.errors import DiscreetError, HierarchyError, did_you_mean
from discreet.hierarchy import Hierarchy
from discreet.jit import product
from discreet.kernels import FiniteKernel
from discreet.mechanisms.base import ContextMechanism
from discreet.mechanisms.maskit.hybrid import Hybrid
from discreet.mechanisms.maskit.probabilistic import Search
from discreet.mechanisms.maskit.simulatable import LastRelease
from discreet.mechanisms.utility import simulated_utility
from discreet.models import MarkovChain
from discreet.models.arrays import require_chain
from discreet.numerics import TOTAL, FloatArray, IntArray
from discreet.outputs import SUPPRESSED, Generalized, Output, Released, Skipped, Suppressed, text_of
from discreet.policy import Guarantee, Policy

State = tuple[LastRelease | int, ...]
"""The public state: that of each layer's check, leaves first."""

STATES = 20_000
"""Public states over a day up to which the expected utility is computed exactly: some seconds."""

DAYS = 2_000
"""Days drawn where there are more: a half-width of at most 0.022."""

CACHED_KERNELS = 50_000
"""Kernels that are kept; when there are more, all are forgotten."""

LAYER_ALONE = (
    "seen alone, the contexts that are released keep every gain within its delta (coarser outputs taken for silence); "
    "the layers together are not bounded, and breach. Secrets at='any' are not bounded"
)

OTHER_CHAINS = "to an observer who takes the given chain of contexts for the person's habits: "


class Fdh(ContextMechanism):
    """Releases the true context, or its nearest ancestor that its layer's hybrid check allows.

    `weights` says what an output of each layer is worth, leaves first; by default 1, 0.5, 0, 0, ... `chains` are Markov
    chains over each layer's nodes, leaves first, learned from data; the root needs none. `lookahead`, `search`, `grid`
    and `budget` are the hybrid checks' own options; `checks` are these checks, leaves first, the root having none.
    """

    needs: Needs = "chain"

    def __init__(
        self,
        model: DayModel,
        policy: Policy,
        *,
        hierarchy: Hierarchy,
        weights: Sequence[float] | None = None,
        chains: Sequence[DayModel] | None = None,
        lookahead: bool = False,
        search: Search = "exact",
        grid: int = 10,
        budget: int | None = None,
    ) -> None:
        super().__init__(model, policy)
        self.hierarchy = hierarchy
        self._layers = [_Layer(hierarchy, k, model) for k in range(_depth(hierarchy, model))]
        self.weights = _weights(weights, len(self._layers))
        self.checks: tuple[Hybrid, ...] = tuple(
            Hybrid(chain, layer.policy(policy), lookahead=lookahead, search=search, grid=grid, budget=budget)
            for layer, chain in zip(self._layers[:-1], self._chains(chains), strict=True)
        )
        self._named: dict[Output, tuple[int, str]] = {  # the layer and node of each output, leaves first
            output: (k, node)
            for k, layer in enumerate(self._layers)
            for output, node in zip(layer.outputs, layer.nodes, strict=True)
        }
        own = chains is None or not self.checks or _same(self.checks[0].model, model)
        self.guarantee = Guarantee("window only", LAYER_ALONE if own else OTHER_CHAINS + LAYER_ALONE, proven=own)
        self._kernels: dict[State, FiniteKernel] = {}

    def _chains(self, given: Sequence[DayModel] | None) -> list[DayModel]:
        """One chain for each layer but the root."""
        layers = self._layers[:-1]
        if given is None:
            return [self.model if k == 0 else layer.lumped(self.model) for k, layer in enumerate(layers)]
        if len(given) not in (len(layers), len(layers) + 1):
            raise DiscreetError(
                f"chains has {len(given)} chains, the hierarchy {len(layers) + 1} layers; give one a layer, leaves "
                "first (the root needs none)"
            )
        return [layer.checked(chain, self.model) for layer, chain in zip(layers, given, strict=False)]

    @classmethod
    def law_cases(cls, model: DayModel) -> Iterable[Mapping[str, Any]]:
        """The first contexts under one node, the last under another."""
        first, last = list(model.contexts[:-1]), [model.contexts[-1]]
        return ({"hierarchy": Hierarchy({"top": {"left": first, "right": last} if first else {"right": last}})},)

    def start(self) -> State:
        """Every layer's check at its start."""
        return tuple(check.start() for check in self.checks)

    def kernel(self, state: State) -> FiniteKernel:
        """Each layer's check in turn, its coin included; what all refuse is the root's."""
        found = self._kernels.get(state)
        if found is None:
            if len(self._kernels) >= CACHED_KERNELS:
                self._kernels.clear()
            found = self._kernels[state] = self._combined(state)
        return found

    def _combined(self, state: State) -> FiniteKernel:
        """P(layer k) = P(check k says yes) times P(all finer ones say no), the coins being independent.

        What is left to a context is split in integers, layer by layer: a check that always says yes takes all of it, so
        that rounding never makes an output possible that is not.
        """
        n = len(self.model.contexts)
        weights = np.zeros((n, len(self._named)), dtype=np.int64)
        left = [TOTAL] * n
        column = 0
        for k, layer in enumerate(self._layers):
            yes, total = self._yes(k, state)
            for c, node in enumerate(layer.node_of.tolist()):
                taken = left[c] * yes[node] // total
                weights[c, column + node] = taken
                left[c] -= taken
            column += len(layer.nodes)
        used = np.asarray(weights.any(axis=0))
        outputs = tuple(output for output, use in zip(self._named, used.tolist(), strict=True) if use)
        return FiniteKernel(outputs, weights[:, used], TOTAL)

    def _yes(self, k: int, state: State) -> tuple[list[int], int]:
        """For each node of a layer the weight with which its check releases it, and the weights' total."""
        layer = self._layers[k]
        if k == len(self.checks):
            return [1], 1
        kernel = self.checks[k].kernel(state[k])
        assert is_finite(kernel)
        column = {output: number for number, output in enumerate(kernel.outputs)}
        yes = [0] * len(layer.nodes)
        for number, node in enumerate(self.checks[k].model.contexts):
            if Released(node) in column:
                yes[layer.index[node]] = int(kernel.weights[number, column[Released(node)]])
        return yes, kernel.total

    def advance(self, state: State, output: Output) -> State:
        """Every layer moves on with what the output tells at that layer."""
        known, line = self._told(output)
        return tuple(
            check.advance(state[k], SUPPRESSED if k < known else Released(line[k - known]))
            for k, check in enumerate(self.checks)
        )

    def _told(self, output: Output) -> tuple[int, tuple[str, ...]]:
        """The layer of the node that an output names, and that node with those above it; nothing for silence."""
        if isinstance(output, Suppressed | Skipped):
            return len(self._layers), ()
        if output not in self._named:
            raise DiscreetError(
                f"{output!r} is never output by this mechanism: it releases contexts and generalizes to the nodes "
                f"above them; {did_you_mean(text_of(output), (node for _, node in self._named.values()))}"
            )
        layer, node = self._named[output]
        return layer, (node, *self.hierarchy.ancestors(node))

    def worth(self, context: str, output: Output) -> float:
        """Its layer's weight, for whatever is shown is true; silence is worth nothing."""
        return self._worth(output)

    def _worth(self, output: Output) -> float:
        return 0.0 if isinstance(output, Suppressed | Skipped) else self.weights[self._told(output)[0]]

    def expected_utility(self, days: int | None = None) -> Utility:
        """Expected worth of a slot's output: exact where a day has at most `STATES` public states, else drawn.

        Where it is drawn, half_width is the 95 % half-width; the draws are seeded, and `days` is by default `DAYS`.
        """
        if self._exact is not None:
            return Utility(self._exact)
        return self._drawn if days is None else simulated_utility(self, self.worth, days, averaged=True)

    @cached_property
    def _drawn(self) -> Utility:
        return simulated_utility(self, self.worth, DAYS, averaged=True)

    @cached_property
    def _exact(self) -> float | None:
        """By recursion over (public state, context): outputs move the state, the chain moves the context."""
        model = self.model
        level: dict[State, FloatArray] = {self.start(): np.array(model.initial)}
        total, states = 0.0, 0
        for t in range(model.slots):
            states += len(level)
            if states > STATES:
                return None
            following: dict[State, FloatArray] = {}
            for state, mass in level.items():
                kernel = self.kernel(state)
                joint = product(mass, kernel.matrix)
                total += float((joint * [self._worth(output) for output in kernel.outputs]).sum())
                for number in np.flatnonzero(joint).tolist() if t + 1 < model.slots else ():
                    after = self.advance(state, kernel.outputs[number])
                    arrived = mass * kernel.matrix[:, number]
                    following[after] = following[after] + arrived if after in following else arrived
            level = {state: product(mass, model.transitions[t]) for state, mass in following.items()}
        return total / model.slots


class _Layer:
    """The nodes of one layer that stand above some context of the model."""

    def __init__(self, hierarchy: Hierarchy, number: int, model: DayModel) -> None:
        self.hierarchy, self.number = hierarchy, number
        above = [hierarchy.at_layer(context, number) for context in model.contexts]
        self.nodes = tuple(dict.fromkeys(above))
        self.index = {node: k for k, node in enumerate(self.nodes)}
        self.node_of: IntArray = np.array([self.index[node] for node in above])  # (n,)
        self.outputs: tuple[Output, ...] = tuple(
            Released(node) if number == 0 else Generalized(node) for node in self.nodes
        )

    def policy(self, policy: Policy) -> Policy:
        """The nodes above each secret's contexts; a secret that is above all is certain here and left out."""
        secrets = []
        for secret in policy.secrets:
            above = {self.hierarchy.at_layer(context, self.number) for context in secret.contexts}
            if len(above) < len(self.nodes):
                secrets.append(replace(secret, contexts=frozenset(above)))
        return replace(policy, secrets=tuple(secrets))

    def lumped(self, model: DayModel) -> MarkovChain:
        """The chain over nodes that days drawn from the model and mapped to this layer would teach."""
        members = np.eye(len(self.nodes))[self.node_of]  # (n, nodes)
        steps = np.empty((model.slots - 1, len(self.nodes), len(self.nodes)))
        for t in range(model.slots - 1):
            shares = members.T * model.prior[t]  # (nodes, n): P(X_t = a) for the leaves of each node
            never = ~shares.any(axis=1)
            shares[never] = members.T[never]  # a node that never occurs at the slot: any row will do
            arrived = product(product(shares, model.transitions[t]), members)
            steps[t] = arrived / shares.sum(axis=1, keepdims=True)
        return MarkovChain(self.nodes, product(members.T, model.initial), steps)

    def checked(self, chain: DayModel, model: DayModel) -> DayModel:
        """A given chain, if it is one over this layer's nodes and the model's slots."""
        require_chain(chain, "Fdh")
        odd = set(chain.contexts) ^ set(self.nodes)
        if odd:
            name = min(odd)
            what = "lacks" if name in self.index else "has"
            raise DiscreetError(
                f"the chain of layer {self.number} {what} {name!r}; "
                f"its contexts must be the layer's nodes: {self.nodes}"
            )
        if chain.slots != model.slots:
            raise DiscreetError(
                f"the chain of layer {self.number} has {chain.slots} slots, the model {model.slots}; use the same clock"
            )
        return chain


def _depth(hierarchy: Hierarchy, model: DayModel) -> int:
    """The number of layers, if every context of the model is a leaf."""
    leaves = set(hierarchy.leaves)
    for context in model.contexts:
        if context not in leaves:
            what = "is an inner node of" if context in hierarchy else "is missing from"
            raise HierarchyError(
                f"context {context!r} of the model {what} the hierarchy under {hierarchy.root!r}; "
                "every context must be one of its leaves"
            )
    return len(hierarchy.layers)


def _same(chain: DayModel, model: DayModel) -> bool:
    return (
        chain.contexts == model.contexts
        and np.array_equal(chain.initial, model.initial)
        and np.array_equal(chain.transitions, model.transitions)
    )


def _weights(given: Sequence[float] | None, layers: int) -> tuple[float, ...]:
    if given is None:
        return tuple(max(0.0, 1 - k / 2) for k in range(layers))
    weights = tuple(float(weight) for weight in given)
    if len(weights) != layers or not np.isfinite(weights).all():
        raise DiscreetError(f"weights is {given!r}; give {layers} finite numbers, one a layer, leaves first")
    return weights
