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

from discreet.adversary.belief import Adversary, Belief, Outcomes
from discreet.contracts import Finite, Mechanism, is_finite
from discreet.numerics import FloatArray
from discreet.outputs import Output

MANY = 256
"""Histories of one slot from which on their growth is looked at: fewer are followed whatever becomes of them."""


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


class WorstGains:
    """The worst gain seen of each (secret, slot), with the node and output that caused it."""

    def __init__(self, adversary: Adversary) -> None:
        self.adversary = adversary
        self.gains = np.zeros(len(adversary.deltas))
        self._causes: dict[int, tuple[Node, Output]] = {}

    def record(self, node: Node, outputs: tuple[Output, ...], gains: FloatArray) -> None:
        """Take note of the gains (rows, O) that outputs would cause."""
        if not gains.size:
            return
        closed = node.belief.closed
        highest = gains.max(axis=1)
        for row in np.flatnonzero(highest > self.gains[closed:]):
            self.gains[closed + row] = highest[row]
            self._causes[closed + int(row)] = (node, outputs[int(gains[row].argmax())])

    def record_after(self, node: Node) -> None:
        """Take note of the gains of a node that was reached, where a kernel's outputs cannot be listed."""
        for row in np.flatnonzero(node.belief.gains > self.gains):
            assert node.parent is not None
            assert node.output is not None
            self.gains[row] = node.belief.gains[row]
            self._causes[int(row)] = (node.parent, node.output)

    def outputs(self, row: int) -> tuple[Output, ...]:
        """The outputs that reach a row's worst gain; none if nothing was ever gained on it."""
        if row not in self._causes:
            return ()
        node, output = self._causes[row]
        each = len(self.adversary.row_slot)
        return (*node.path(row - each if row >= each else None), output)


@dataclass
class Budget:
    """How many kernels may be looked at; `stopped` may also end the search, on a clock say."""

    most: int
    stopped: Callable[[], bool] = lambda: False
    at_slot: Callable[[int], object] = lambda slot: None  # told of each slot that is begun, for whoever waits
    used: int = 0

    def spend(self) -> bool:
        """Count one kernel; False when nothing is left."""
        if self.used >= self.most or self.stopped():
            return False
        self.used += 1
        return True

    @property
    def left(self) -> int:
        """How many more may be looked at."""
        return self.most - self.used


def multiplying(before: int, now: int, slots_left: int, budget: Budget) -> bool:
    """Whether histories multiply from slot to slot, and would exceed the budget if they went on like that.

    Where releases settle the past, every slot adds as many as there are contexts, so that after the second slot their
    number never more than doubles; where nothing merges, it grows by a factor.
    """
    return now > MANY and now > 2 * before and now * (now / before) ** min(slots_left, 32) > budget.left


def explore(
    mechanism: Mechanism[Any], adversary: Adversary, found: WorstGains, budget: Budget, *, patient: bool = True
) -> int:
    """Look at every output of every node, slot by slot; the number of slots that were seen whole.

    If those are all, `found` holds the exact worst gains. Without patience it ends as soon as histories are
    `multiplying`, not only when the budget does.
    """
    level = [Node(mechanism.start(), adversary.start())]
    for slot in range(adversary.process.slots):
        budget.at_slot(slot)
        settled: dict[Any, Node] = {}
        following: list[Node] = []
        for node in level:
            kernel = mechanism.kernel(node.state)
            if not is_finite(kernel) or not budget.spend():
                return slot
            outcomes = node.belief.outcomes(kernel.matrix)
            found.record(node, kernel.outputs, outcomes.gains)
            if slot + 1 < adversary.process.slots:
                _children(mechanism, node, kernel, outcomes, settled, following)
        before, level = len(level), [*settled.values(), *following]
        left = adversary.process.slots - slot - 2
        if len(level) > budget.left or (not patient and multiplying(before, len(level), left, budget)):
            return slot + 1
    return adversary.process.slots


def _children(
    mechanism: Mechanism[Any],
    node: Node,
    kernel: Finite,
    outcomes: Outcomes,
    settled: dict[Any, Node],
    following: list[Node],
) -> None:
    belief = node.belief
    joint = outcomes.joint
    states = np.count_nonzero(joint, axis=0)
    hidden = joint.argmax(axis=0)  # the revealed state, where there is only one
    at = hidden, np.arange(len(hidden))
    with np.errstate(invalid="ignore"):
        visited = [(seen[at] / joint[at]).tolist() for seen in outcomes.visited]
    for k in np.flatnonzero(states).tolist():
        output = kernel.outputs[k]
        state = mechanism.advance(node.state, output)
        if states[k] > 1:
            following.append(Node(state, belief.after(kernel.likelihood(output)), node, output))
            continue
        key = state, int(hidden[k])
        chances = [row[k] for row in visited]
        if key in settled:
            _merge_visits(settled[key], key[1], node, output, chances)
        else:
            revealed = belief.adversary.revealed(belief.slot + 1, key[1], np.array(chances))
            settled[key] = Node(state, revealed, node, output)


def _merge_visits(kept: Node, hidden: int, node: Node, output: Output, visited: list[float]) -> None:
    """Of two histories that reach one revealed state, keep the likelier visit of each secret at="any"."""
    belief = kept.belief
    before = belief.visited[:, hidden]
    likelier = np.flatnonzero(np.array(visited) > before)
    if len(likelier):
        kept.belief = belief.adversary.revealed(belief.slot, hidden, np.maximum(before, visited))
        kept.visited_via |= {int(a): (node, output) for a in likelier}
