"""A search for the outputs that tell most, over sums in floats; what floats cannot decide is decided in whole numbers.

It serves the oracles of chains (`oracle`) and of hidden models (`hidden_oracle`), and shares nothing with
`discreet.adversary`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from discreet.contracts import AnyMachine
from discreet.numerics import FloatArray
from discreet.outputs import SKIPPED, Output

SLACK = Fraction(1, 2**40)
"""A claimed delta means gain <= delta + SLACK (design, rules of number and chance)."""


@dataclass(frozen=True)
class Event:
    """In one of the contexts `members` at one of the absolute `slots`: a secret at a slot, or at some of a window."""

    secret: str
    members: frozenset[int]
    slots: frozenset[int]
    delta: Fraction
    cap: Fraction | None = None

    def tolerated(self, prior: Fraction) -> Fraction:
        """The gain that is tolerated: under a cap, what it leaves, where that is half of delta (and a hair less)."""
        if self.cap is None or prior > self.cap - self.delta / 2 + min(Fraction(1, 2**30), self.delta / 4):
            return self.delta
        return min(self.delta, self.cap - prior)


@dataclass(frozen=True)
class Worst:
    """The largest gain less its delta, on which event, after which outputs; None where there is nothing secret."""

    excess: Fraction
    event: Event | None = None
    outputs: tuple[Output, ...] = ()

    @property
    def breached(self) -> bool:
        return self.excess > SLACK


@dataclass(frozen=True)
class Search:
    """What a search over output sequences found."""

    worst: Worst
    complete: bool  # every sequence of outputs was looked at
    decisions: int
    telling: int  # of the decisions, those that were not plain silence


class Sums(Protocol):
    """The sums over paths in floats, and the same along one sequence of outputs in whole numbers."""

    machine: AnyMachine
    events: tuple[Event, ...]
    priors: FloatArray  # (E,)
    deltas: FloatArray  # (E,)

    @property
    def rounding(self) -> float:
        """How far the floats may be from the truth."""

    def start(self) -> Any:
        """The masses before the first output."""

    def push(self, masses: Any, column: FloatArray | None) -> Any:
        """To the next slot, after an output with this column; None after a skip."""

    def chances(self, masses: Any, columns: FloatArray) -> FloatArray:
        """(O,): how likely each output is."""

    def beliefs(self, masses: Any, columns: FloatArray) -> FloatArray:
        """(E, O): P(event | outputs so far and one more)."""

    def exact(self, event: Event, outputs: Sequence[Output]) -> Fraction:
        """The excess of one event after these outputs."""


@dataclass(frozen=True)
class Node:
    """After these outputs, of which the last brought some gain this near to its limit."""

    outputs: tuple[Output, ...]
    state: Any
    masses: Any
    excess: float = -1.0
    events: tuple[Event, ...] = ()  # the event of that gain, and those that floats cannot tell from it


def searched(sums: Sums, slots: int, *, skips: Collection[int] = (), budget: int = 300, seed: int = 0) -> Search:
    """Look at the tree of outputs of the first `slots` slots, whole if `budget` kernels suffice.

    If they do not, every other kernel goes to the node whose gain is nearest its limit, the others go anywhere.
    """
    rng = np.random.default_rng(seed)
    start = Node((), sums.machine.start(), sums.start())
    frontier, worst, decisions, telling = [start], [start], 0, 0
    while frontier and decisions < budget:
        greedy = bool(rng.random() < 0.5)
        chosen = max(range(len(frontier)), key=lambda k: frontier[k].excess) if greedy else rng.integers(len(frontier))
        node, frontier[chosen] = frontier[chosen], frontier[-1]
        frontier.pop()
        skipped = len(node.outputs) in skips
        children = [_skip(sums, node)] if skipped else _decide(sums, node)
        decisions += not skipped
        telling += len(children) > 1
        worst = _nearly_worst(sums, worst + children)
        frontier += [child for child in children if len(child.outputs) < slots]
    return Search(decided(sums, worst), not frontier, decisions, telling)


def _skip(sums: Sums, node: Node) -> Node:
    state = sums.machine.advance(node.state, SKIPPED)
    return Node((*node.outputs, SKIPPED), state, sums.push(node.masses, None))


def _decide(sums: Sums, node: Node) -> list[Node]:
    """The nodes that the slot's kernel can lead to."""
    machine, masses = sums.machine, node.masses
    kernel: Any = machine.kernel(node.state)
    columns = kernel.weights / float(kernel.total)
    excess = sums.beliefs(masses, columns) - (sums.priors + sums.deltas)[:, None]
    found = []
    for k in np.flatnonzero(sums.chances(masses, columns) > 0):
        output, largest = kernel.outputs[k], float(excess[:, k].max(initial=-1.0))
        near = np.flatnonzero(excess[:, k] >= largest - 2 * sums.rounding)
        found.append(
            Node(
                (*node.outputs, output),
                machine.advance(node.state, output),
                sums.push(masses, columns[:, k]),
                largest,
                tuple(sums.events[e] for e in near),
            )
        )
    return found


def _nearly_worst(sums: Sums, nodes: list[Node]) -> list[Node]:
    """The node with the largest excess, and those that floats cannot tell from it."""
    least = max(node.excess for node in nodes) - 2 * sums.rounding
    return [node for node in nodes if node.excess >= least]


def decided(sums: Sums, found: list[Node]) -> Worst:
    """What floats cannot decide is decided exactly: whether the worst is beyond the slack, and by how much.

    Of nodes that floats cannot tell apart each is looked at: the one that they hold the worst may be within the slack
    while another is beyond it.
    """
    worst = max(found, key=lambda node: node.excess)
    above = Fraction(worst.excess) - SLACK
    if not worst.events or above <= -Fraction(sums.rounding):
        return Worst(Fraction(worst.excess), next(iter(worst.events), None), worst.outputs)
    doubtful = [worst] if above > sums.rounding else found  # of clear breaches one is enough
    exact = [Worst(sums.exact(event, node.outputs), event, node.outputs) for node in doubtful for event in node.events]
    return max(exact, key=lambda one: one.excess)
