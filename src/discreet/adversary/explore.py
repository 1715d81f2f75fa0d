"""The exact audit: every output of every reachable public state, merged where the past is settled.

The outputs form a tree. Where an output reveals the hidden state (a release, on a chain), the past is settled and the
future depends on (public state, hidden state) alone, so all histories that arrive there are one node: the tree becomes
windows between releases. A mechanism with truth and silence then has O(T n) windows of at most T silent slots each. Of
several arriving histories a secret at="any" keeps the likeliest visit: what follows rises with it, so that one is the
worst. Where nothing is ever revealed, the tree is enumerated, as far as the budget goes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.adversary.belief import Adversary, Belief
from discreet.contracts import Finite, FloatArray, Mechanism
from discreet.outputs import Output
from discreet.policy import BoolArray


@dataclass(eq=False)
class Node:
    """A public state with a belief, and how it was reached."""

    state: Any
    belief: Belief
    parent: Node | None = None
    output: Output | None = None
    visited_via: dict[int, tuple[Node, Output]] = field(default_factory=dict)  # per secret at="any", if not the parent

    def path(self, anytime: int | None = None) -> list[Output]:
        """The outputs that lead here; those of the likeliest visit for a secret at="any"."""
        outputs: list[Output] = []
        node: Node = self
        while node.parent is not None:
            assert node.output is not None
            before, output = node.parent, node.output
            if anytime is not None and anytime in node.visited_via:
                before, output = node.visited_via[anytime]
            outputs.append(output)
            node = before
        return outputs[::-1]


class Found:
    """The worst gain seen of each (secret, slot), with the node and output that caused it."""

    def __init__(self, adversary: Adversary) -> None:
        self.adversary = adversary
        self.gains = np.zeros(len(adversary.deltas))
        self._causes: dict[int, tuple[Node, Output]] = {}

    def record(self, node: Node, kernel: Finite, gains: FloatArray, possible: BoolArray) -> None:
        """Take note of the gains (rows, O) that outputs of positive probability would cause."""
        if not gains.size:
            return
        candidates = np.where(possible, gains, -np.inf)
        closed = node.belief.closed
        highest = candidates.max(axis=1)
        for row in np.flatnonzero(highest > self.gains[closed:]):
            self.gains[closed + row] = highest[row]
            self._causes[closed + int(row)] = (node, kernel.outputs[int(candidates[row].argmax())])

    def outputs(self, row: int) -> tuple[Output, ...]:
        """The outputs that reach a row's worst gain; none if nothing was ever gained on it."""
        if row not in self._causes:
            return ()
        node, output = self._causes[row]
        each = len(self.adversary.row_slot)
        return (*node.path(row - each if row >= each else None), output)


@dataclass
class Budget:
    """How many kernels may still be looked at; `stopped` may also end the search, on a clock say."""

    left: int
    stopped: Callable[[], bool] = lambda: False

    def spend(self) -> bool:
        """Count one kernel; False when nothing is left."""
        self.left -= 1
        return self.left >= 0 and not self.stopped()


def explore(mechanism: Mechanism[Any], adversary: Adversary, found: Found, budget: Budget) -> bool:
    """Look at every output of every node; True if all were seen, so that `found` holds the exact worst gains."""
    level = [Node(mechanism.start(), adversary.start())]
    for slot in range(adversary.process.slots):
        settled: dict[Any, Node] = {}
        following: list[Node] = []
        for node in level:
            kernel = mechanism.kernel(node.state)
            if not isinstance(kernel, Finite) or not budget.spend():
                return False
            total, gains, joint = node.belief.outcomes(kernel.matrix)
            found.record(node, kernel, gains, total > 0)
            if slot + 1 < adversary.process.slots:
                _children(mechanism, node, kernel, total, joint, settled, following)
        level = [*settled.values(), *following]
        if len(level) > budget.left:
            return False
    return True


def _children(
    mechanism: Mechanism[Any],
    node: Node,
    kernel: Finite,
    total: FloatArray,
    joint: FloatArray,
    settled: dict[Any, Node],
    following: list[Node],
) -> None:
    for k in np.flatnonzero(total > 0):
        output = kernel.outputs[int(k)]
        state = mechanism.advance(node.state, output)
        support = np.flatnonzero(joint[:, k] > 0)
        if len(support) > 1:
            following.append(Node(state, node.belief.after(kernel.likelihood(output)), node, output))
            continue
        key = (state, int(support[0]))
        visits = len(node.belief.adversary.any_index)
        if key not in settled:
            settled[key] = Node(state, node.belief.after(kernel.likelihood(output)).settled(), node, output)
        elif visits:
            _merge_visits(
                settled[key], node, output, node.belief.after(kernel.likelihood(output)).stack[1 : 1 + visits]
            )


def _merge_visits(kept: Node, node: Node, output: Output, visited: FloatArray) -> None:
    """Of two histories that reach one revealed state, keep the likelier visit of each secret at="any"."""
    held = kept.belief.stack[1 : 1 + len(visited)]
    for a in np.flatnonzero((visited > held).any(axis=1)):
        held[a] = visited[a]
        kept.visited_via[int(a)] = (node, output)
