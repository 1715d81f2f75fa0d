"""FDH's experiments (Jiang, Huang, Wei, Section IV): what is computed for one person.

Utility is the mean worth of a slot's output on held-out days: 1 for the context itself, 0.5 one layer up, 0 above, as
in the paper. What the exact adversary gains stands beside it. The functions on traces are what `runs.Workers` maps over
people.
"""

from __future__ import annotations

import gc
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from discreet.contexts import OTHER, UNKNOWN
from discreet.contracts import Mechanism
from discreet.evaluation.metrics import evaluate
from discreet.hierarchy import Hierarchy
from discreet.mechanisms import Adaptive, Fdh, Hybrid, MaskSensitive
from discreet.mechanisms.adaptive.adaptive import Memory
from discreet.mechanisms.maskit.probabilistic import Search
from discreet.models.chain.markov import MarkovChain
from discreet.outputs import Generalized, Output, Released
from discreet.policy import Policy
from discreet_experiments.shared.people import Level, Trace, prepared, spread
from discreet_experiments.shared.subjects import Setting, Subject, chosen_secrets, parted, seed_for
from discreet_experiments.shared.tree import grown

DELTAS = (0.1, 0.25, 0.5, 0.75)
"""Of the sweeps; those of the paper are lost with its figures."""

SYSTEMS = ("mask-sensitive", "hybrid", "fdh", "generalize")
"""Hybrid is MaskIt on the contexts themselves: FDH without its hierarchy."""


@dataclass(frozen=True)
class Layers:
    """The layers, finest first and without the root, and how the systems are built."""

    levels: tuple[Level, ...]
    search: Search = "mondrian"
    memory: Memory = "last"


@dataclass(frozen=True)
class Layered:
    """One person in an experiment, with the hierarchy over the person's contexts; learning took `fit` seconds."""

    subject: Subject
    hierarchy: Hierarchy
    fit: float


def layered(trace: Trace, setting: Setting, layering: Layers) -> Layered | None:
    """The person by the rules; None for one who has no two contexts, or none that may be secret.

    Held-out leaves that were never learned are the merged leaf nearest to them that was, else suppressed.
    """
    rules = replace(setting.rules, level=layering.levels[0], merge_below=0.0)
    tree = grown(prepared(trace, rules), trace.names, layering.levels, setting.rules.merge_below)
    learned, held_out = parted(tree.days, setting.training)
    started = time.perf_counter()
    chain = MarkovChain.fit(learned, setting.smoothing)
    fit = time.perf_counter() - started
    as_labels = tuple(leaf if tree.is_place(leaf) or leaf == UNKNOWN else OTHER for leaf in chain.contexts)
    secrets = chosen_secrets(as_labels, replace(setting, pool="places"), trace.number)
    if not secrets:
        return None
    known = frozenset(chain.contexts)
    judged = [
        replace(day, contexts=tuple(tree.nearest(leaf, known) for leaf in day.contexts))
        for day in spread(held_out, setting.days)
    ]
    return Layered(Subject(trace.number, chain, tuple(judged), secrets, len(learned)), tree.hierarchy, fit)


@dataclass(frozen=True)
class Outcome:
    """One system on one person's held-out days; shares are of the slots.

    `layers` are the shares shown at each layer, the contexts themselves first and the root last. `off_model` is the
    part of `silent` that no mechanism decides: readings that the model holds impossible. `pairs` are (slot, secret)
    pairs whose gain exceeded delta after some prefix of a day.
    """

    utility: float
    of_readings: float | None  # utility over the slots with a reading, if there are any
    layers: tuple[float, ...]
    silent: float
    off_model: float
    pairs: int
    breached_days: int
    worst_gain: float
    seconds: float  # a decision, the observer's belief included

    @property
    def as_ancestor(self) -> float:
        """The share shown as something above the context; the root says nothing and does not count."""
        return sum(self.layers[1:-1])

    @property
    def withheld(self) -> float:
        """The share that the model has a place for and that is not shown itself."""
        return 1 - self.layers[0] - self.off_model


def outcome(mechanism: Mechanism[Any], one: Layered, seed: int) -> Outcome:
    """Release the person's held-out days before the eyes of the exact adversary."""
    root = len(one.hierarchy.layers) - 1
    shown: Counter[int | None] = Counter()
    readings: list[float] = []

    def worth(context: str, output: Output) -> float:
        layer = layer_of(output, one.hierarchy)
        shown[layer] += 1
        value = 0.0 if layer is None else max(0.0, 1 - layer / 2)
        if context != UNKNOWN:
            readings.append(value)
        return value

    own = seed_for(seed, one.subject.number, "release")
    found = evaluate(mechanism, one.subject.held_out, worth=worth, seed=own)
    return Outcome(
        found.utility,
        sum(readings) / len(readings) if readings else None,
        tuple(shown[layer] / found.slots for layer in range(root + 1)),
        found.suppressed,
        found.off_model / found.slots,
        round(found.breach_rate * found.slots),
        found.breached_days,
        found.worst_gain,
        found.seconds_per_decision,
    )


def layer_of(output: Output, hierarchy: Hierarchy) -> int | None:
    """The layer that an output is from; None for silence."""
    if isinstance(output, Released):
        return 0
    return hierarchy.layer_of(output.node) if isinstance(output, Generalized) else None


@dataclass(frozen=True)
class Point:
    """All systems on one person at one delta, and the bytes that Hybrid and FDH hold after releasing the days."""

    systems: dict[str, Outcome]
    memory: dict[str, int]


@dataclass(frozen=True)
class LayeredSweep:
    """One person's curves: Figures 4, 5 and 6."""

    number: int
    nodes: tuple[int, ...]  # learned, of each layer
    trained_days: int
    judged_days: int
    impossible: float
    hidden: float
    points: dict[float, Point]


def sweep(trace: Trace, setting: Setting, layering: Layers, deltas: Sequence[float] = DELTAS) -> LayeredSweep | None:
    """Every system at every delta. Hybrid is FDH's check of the lowest layer, as in the paper."""
    one = layered(trace, setting, layering)
    if one is None:
        return None
    points = {delta: _point(one, one.subject.policy(delta), layering, setting.seed) for delta in deltas}
    person = one.subject
    nodes = tuple(
        len({one.hierarchy.at_layer(leaf, layer) for leaf in person.chain.contexts})
        for layer in range(len(one.hierarchy.layers))
    )
    days = len(person.held_out)
    return LayeredSweep(person.number, nodes, person.trained_days, days, person.impossible, person.hidden, points)


def _point(one: Layered, policy: Policy, layering: Layers, seed: int) -> Point:
    chain = one.subject.chain
    fdh = Fdh(chain, policy, hierarchy=one.hierarchy, search=layering.search)
    systems: dict[str, Outcome] = {
        "mask-sensitive": outcome(MaskSensitive(chain, policy), one, seed),
        "hybrid": outcome(fdh.checks[0], one, seed),
        "fdh": outcome(fdh, one, seed),
        "generalize": outcome(adaptive(one, policy, layering), one, seed),
    }
    return Point(systems, {"hybrid": footprint(fdh.checks[0]), "fdh": footprint(fdh)})


def footprint(thing: object) -> int:
    """The bytes of an object and of all that it refers to, code left out."""
    seen: dict[int, object] = {}
    queue = [thing]
    while queue:
        each = queue.pop()
        if id(each) not in seen and not isinstance(each, type | ModuleType | FunctionType):
            seen[id(each)] = each
            queue.extend(gc.get_referents(each))
            if isinstance(each, np.ndarray) and each.base is not None:  # a view's data is its base's
                queue.append(each.base)
    return sum(sys.getsizeof(each) for each in seen.values())


def adaptive(one: Layered, policy: Policy, layering: Layers) -> Adaptive:
    """The sound one; lazy, because a day's tree of outputs is too large to compare with anything beforehand."""
    return Adaptive(
        one.subject.chain, policy, outputs="generalize", hierarchy=one.hierarchy, memory=layering.memory, plan="lazy"
    )


@dataclass(frozen=True)
class Timed:
    """Seconds of one person: to learn and build, and a decision on average (Table I)."""

    number: int
    contexts: int
    training: dict[str, float]
    decision: dict[str, float]


def timed(trace: Trace, setting: Setting, layering: Layers) -> Timed | None:
    """Each system built on its own."""
    one = layered(trace, setting, layering)
    if one is None:
        return None
    _compile()
    chain, policy = one.subject.chain, one.subject.policy(setting.delta)
    builders: dict[str, Callable[[], Mechanism[Any]]] = {
        "hybrid": lambda: Hybrid(chain, policy, search=layering.search),
        "fdh": lambda: Fdh(chain, policy, hierarchy=one.hierarchy, search=layering.search),
        "generalize": lambda: adaptive(one, policy, layering),
    }
    training: dict[str, float] = {}
    decision: dict[str, float] = {}
    for name, build in builders.items():
        started = time.perf_counter()
        mechanism = build()
        training[name] = one.fit + time.perf_counter() - started
        decision[name] = outcome(mechanism, one, setting.seed).seconds
    return Timed(one.subject.number, len(chain.contexts), training, decision)


@cache
def _compile() -> None:
    """Load compiled code once a process, so that the first person's times are not its."""
    chain = MarkovChain.homogeneous(("a", "b", "c"), [0.4, 0.3, 0.3], [[0.4, 0.3, 0.3]] * 3, 3)
    policy, tree = Policy("a", delta=0.1), Hierarchy({"root": {"x": ["a", "b"], "y": ["c"]}})
    Fdh(chain, policy, hierarchy=tree)
    generalize = Adaptive(chain, policy, outputs="generalize", hierarchy=tree, plan="lazy")
    generalize.kernel(generalize.start())
