"""When not every output can be looked at: the worst gain that a guided search finds, and a bound that is proven.

The search keeps a beam of histories, the most telling for each secret and slot, and looks one output ahead of each.

The bound walks the graph of public states. After outputs h and before those that follow, the posterior of "X_u in g" is
    sum F(z) A_g(z, z') B(z') / sum F(z) A(z, z') B(z'),
F(z) = P(Z_{u-1} = z | h), A the step of slot u with its output, B(z') = P(later outputs | Z_u = z'). It is a quotient
of forms linear in F and in B, so over a mixture of vectors it never exceeds its largest value over them (the mediant
inequality): it is enough to know vectors whose cone holds every F, and every B, that can occur. These generators are
pushed through the slots, and where they become too many, groups of similar ones are replaced by the corners of a
simplex around them (`compressed`). Every replacement only enlarges the cone, so the bound holds; the more generators
are kept, the smaller the groups, and as a rule the closer the bound. For a secret at="any" the vectors are pairs
(visited, not visited).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.adversary.belief import Adversary
from discreet.adversary.explore import Budget, Node, WorstGains, multiplying
from discreet.contracts import Kernel, Mechanism, is_finite, is_noisy
from discreet.numerics import RESOLUTION, SLACK, BoolArray, FloatArray, IntArray
from discreet.outputs import Output
from discreet.randomness import SeededEntropy

CHUNK = 512
"""Generators that are paired at a time with those of the other side: bounds the memory of the products."""


Columns = tuple[tuple[Output, ...], FloatArray]


def _columns(kernel: Kernel, secret: IntArray) -> Columns | None:
    """The outputs to look at and their columns (P, O): all of a finite kernel, those a noisy one names, or None."""
    if is_finite(kernel):
        return kernel.outputs, kernel.matrix
    if not is_noisy(kernel):
        return None
    outputs = kernel.telling(secret)
    return outputs, np.stack([kernel.likelihood(output) for output in outputs], axis=1)


def search(mechanism: Mechanism[Any], adversary: Adversary, found: WorstGains, budget: Budget, beam: int) -> int:
    """Follow the histories that tell most about each secret and slot, `beam` of them a slot; how many slots it reached.

    Every output of each kernel that is met is looked at, or every one that a noisy kernel names.
    """
    level = [Node(mechanism.start(), adversary.start())]
    hidden = np.asarray(adversary.secrets.members.any(axis=0), dtype=np.bool_)
    secret = np.flatnonzero(hidden[mechanism.private_contexts])
    for slot in range(adversary.process.slots):
        budget.at_slot(slot)
        candidates: list[tuple[Node, Output, FloatArray]] = []
        for node in level:
            columns = _columns(mechanism.kernel(node.state), secret)
            if columns is None or not budget.spend():
                return slot
            outputs, matrix = columns
            outcomes = node.belief.outcomes(matrix)
            found.record(node, outputs, outcomes.gains)
            candidates += [(node, outputs[int(k)], outcomes.gains[:, k]) for k in np.flatnonzero(outcomes.total)]
        if slot + 1 == adversary.process.slots or not candidates:
            break
        level = [_child(mechanism, *candidates[k][:2]) for k in _most_telling(candidates, beam)]
    return slot + 1


def walk(mechanism: Mechanism[Any], adversary: Adversary, found: WorstGains, budget: Budget) -> None:
    """Days drawn as the observer expects them, for kernels whose outputs cannot be listed."""
    rng = SeededEntropy(0)
    while True:
        node = Node(mechanism.start(), adversary.start())
        for _ in range(adversary.process.slots):
            if not budget.spend():
                return
            kernel = mechanism.kernel(node.state)
            predicted = node.belief.predicted()
            ticket = rng.bits(53) * 2.0**-53 * predicted.sum()
            private = min(int(np.searchsorted(np.cumsum(predicted), ticket, side="right")), len(predicted) - 1)
            output = kernel.sample(private, rng)
            belief = node.belief.after(kernel.likelihood(output))
            node = Node(mechanism.advance(node.state, output), belief, node, output)
            found.record_after(node)


def _child(mechanism: Mechanism[Any], node: Node, output: Output) -> Node:
    kernel = mechanism.kernel(node.state)
    return Node(mechanism.advance(node.state, output), node.belief.after(kernel.likelihood(output)), node, output)


def _most_telling(candidates: list[tuple[Node, Output, FloatArray]], beam: int) -> list[int]:
    """The best candidate of every row, then the second best, and so on, until the beam is full."""
    gains = np.array([row for _, _, row in candidates])  # (candidates, rows)
    if len(candidates) <= beam or not gains.shape[1]:
        return list(range(min(beam, len(candidates))))
    order = np.argsort(-gains, axis=0, kind="stable")
    picked = dict.fromkeys(order[: max(1, beam)].ravel().tolist())
    return list(picked)[:beam]


@dataclass(frozen=True)
class PublicStep:
    """One public state of a slot: its kernel columns and where each output leads (index of the next slot's state)."""

    columns: FloatArray  # (P, O)
    following: list[int]  # (O,)


def state_graph(
    mechanism: Mechanism[Any], adversary: Adversary, budget: Budget, *, patient: bool = True
) -> list[list[PublicStep]] | None:
    """The public states that can occur, slot by slot; None if there are more than the budget allows.

    Without patience it ends as soon as they are `multiplying`.
    """
    process = adversary.process
    states: dict[Hashable, BoolArray] = {mechanism.start(): process.initial > 0}
    graph: list[list[PublicStep]] = []
    for slot in range(process.slots):
        budget.at_slot(slot)
        following: dict[Hashable, BoolArray] = {}
        places: dict[Hashable, int] = {}
        steps: list[PublicStep] = []
        for state, support in states.items():
            kernel = mechanism.kernel(state)
            if not is_finite(kernel) or not budget.spend():
                return None
            joint = process.joint(slot, support.astype(np.float64), kernel.matrix) > 0
            possible = np.flatnonzero(joint.any(axis=0))
            reached = []
            for k in possible:
                after = mechanism.advance(state, kernel.outputs[int(k)]) if slot + 1 < process.slots else None
                reached.append(places.setdefault(after, len(places)))
                following[after] = joint[:, k] | following.get(after, np.False_)
            steps.append(PublicStep(kernel.matrix[:, possible], reached))
        graph.append(steps)
        left = process.slots - slot - 2
        if len(following) > budget.left or (not patient and multiplying(len(states), len(following), left, budget)):
            return None
        states = following
    return graph


def ratio_bound(adversary: Adversary, log_ratios: FloatArray) -> FloatArray:
    """(R + A,): bounds on the gains from (T,) bounds on the log-ratio of a slot's output between two possible contexts.

    Over a day the probability of the outputs differs between two sequences of contexts by e^sum at most, hence between
    an event and its opposite, which are mixtures of sequences: its odds rise by that factor at most.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        rise = np.exp(log_ratios.sum())
        belief = adversary.priors * rise / (adversary.priors * rise + 1 - adversary.priors)
    belief = np.where(np.isfinite(belief), np.minimum(belief + SLACK, 1.0), 1.0)  # SLACK is far above the rounding
    return np.asarray(np.where(adversary.priors > 0, belief, 0.0) - adversary.priors)


class TimeIsUp(Exception):  # noqa: N818  # not an error: the caller falls back on what it has
    """The bound was not ready in time."""


def bound(adversary: Adversary, graph: list[list[PublicStep]], generators: int, budget: Budget) -> FloatArray:
    """(R + A,): an upper bound on each gain over all outputs; `generators` vectors at most are kept a public state.

    Of the budget only the time counts.
    """
    stopped = budget.stopped
    forward = _forward(adversary, graph, generators, stopped)
    backward = _backward(adversary, graph, generators, stopped)
    bounds = np.full(len(adversary.deltas), -np.inf)
    for slot, steps in enumerate(graph):
        _in_time(stopped)
        budget.at_slot(slot)
        rows = slice(int(adversary.row_start[slot]), int(adversary.row_start[slot + 1]))
        for entered, step in zip(forward[slot], steps, strict=True):
            posteriors = _largest_posteriors(adversary, step, entered, backward[slot + 1], slot, rows)
            bounds[rows] = np.maximum(bounds[rows], posteriors)
    each = len(adversary.row_slot)
    for a in range(len(adversary.any_index)):
        _in_time(stopped)
        bounds[each + a] = _largest_visit(adversary, graph, generators, a)
    # Vectors that agree to RESOLUTION were taken as one. Non-negative matrices do not stretch such ratios (Birkhoff),
    # so over the day beliefs err by no more than RESOLUTION a slot, forward and backward.
    rounding = 2 * adversary.process.slots * RESOLUTION
    return np.asarray(np.minimum(bounds + rounding, 1.0) - adversary.priors)


def _in_time(stopped: Callable[[], bool]) -> None:
    if stopped():
        raise TimeIsUp


Sets = list[list[FloatArray]]  # slot, public state -> generators (N, K)


def _normalised(vectors: FloatArray) -> FloatArray:
    total = vectors.sum(axis=1)
    return np.asarray(vectors[total > 0] / total[total > 0, None])


def _forward(adversary: Adversary, graph: list[list[PublicStep]], generators: int, stopped: Callable[[], bool]) -> Sets:
    """Generators of the beliefs over Z_{t-1} (at t = 0 over Z_0, before any output) that enter each state."""
    process = adversary.process
    sets: Sets = [[process.initial[None]]]
    for slot, steps in enumerate(graph[:-1]):
        _in_time(stopped)
        arriving: list[list[FloatArray]] = [[] for _ in graph[slot + 1]]
        for entered, step in zip(sets[slot], steps, strict=True):
            for k, after in enumerate(step.following):
                arriving[after].append(_normalised(process.push(slot, entered, step.columns[:, k])))
        sets.append([compressed(np.concatenate(vectors), generators) for vectors in arriving])
    return sets


def _backward(
    adversary: Adversary, graph: list[list[PublicStep]], generators: int, stopped: Callable[[], bool]
) -> Sets:
    """Generators of P(outputs from slot t on | Z_{t-1}) for each public state of slot t; all ones after the day."""
    process = adversary.process
    states = len(process.initial)
    last = len(graph)
    sets: Sets = [[] for _ in range(last)]
    sets.append([np.ones((1, states)) / states])
    for slot in range(last - 1, 0, -1):
        _in_time(stopped)
        for step in graph[slot]:
            leaving = [
                # rows B(z'), pulled back: sum_z' A(z, z') B(z'), with A = push of the unit vectors
                _normalised(sets[slot + 1][after] @ process.push(slot, np.eye(states), step.columns[:, k]).T)
                for k, after in enumerate(step.following)
            ]
            sets[slot].append(compressed(np.concatenate(leaving), generators))
    return sets


def _largest_posteriors(
    adversary: Adversary, step: PublicStep, entered: FloatArray, later: list[FloatArray], slot: int, rows: slice
) -> FloatArray:
    """The largest P(X_u in g | outputs) of each row of slot u, over the generators before and after it."""
    process, members = adversary.process, adversary.row_members[rows]
    largest = np.zeros(len(members))
    for k, after in enumerate(step.following):
        column, remaining = step.columns[:, k], later[after].T
        for start in range(0, len(entered), CHUNK):
            before = entered[start : start + CHUNK]
            pushed = process.push(slot, before, column)
            total = pushed @ remaining
            possible = total > 0
            for g, member in enumerate(members):
                inside = process.present(slot, before, pushed, column, member[None]) @ remaining
                posterior = np.divide(inside, total, out=np.zeros_like(total), where=possible)
                largest[g] = max(largest[g], float(posterior.max(initial=0.0)))
    return largest


def _largest_visit(adversary: Adversary, graph: list[list[PublicStep]], generators: int, a: int) -> float:
    """The largest P(secret a at some slot | outputs): forward over pairs (visited, not visited), each (K,)."""
    process, member = adversary.process, adversary.any_members[a : a + 1]
    states = len(process.initial)
    entered: list[FloatArray] = [np.concatenate([np.zeros(states), process.initial])[None]]
    largest = 0.0
    for slot, steps in enumerate(graph):
        count = len(graph[slot + 1]) if slot + 1 < len(graph) else 1
        arriving: list[list[FloatArray]] = [[] for _ in range(count)]
        for vectors, step in zip(entered, steps, strict=True):
            for k, after in enumerate(step.following):
                column = step.columns[:, k]
                visited = process.push(slot, vectors[:, :states], column)
                fresh = process.push(slot, vectors[:, states:], column)
                if adversary.any_active[slot, a]:
                    entering = process.present(slot, vectors[:, states:], fresh, column, member)
                    # entering <= fresh up to rounding; a tiny negative rest would leave the cone
                    visited, fresh = visited + entering, np.maximum(fresh - entering, 0.0)
                both = _normalised(np.concatenate([visited, fresh], axis=1))
                if slot + 1 < len(graph):
                    arriving[after].append(both)
                else:
                    largest = max(largest, float(both[:, :states].sum(axis=1).max(initial=0.0)))
        entered = [compressed(np.concatenate(vectors), generators) for vectors in arriving if vectors]
    return largest


def compressed(vectors: FloatArray, most: int) -> FloatArray:
    """At most about `most` vectors (or as many as there are coordinates) whose cone holds all of `vectors` (N, D)."""
    # Truncating the last 8 of 52 mantissa bits makes vectors equal that agree entry by entry to RESOLUTION.
    bits = np.ascontiguousarray(vectors).view(np.int64) >> 8
    _, first = np.unique(bits, axis=0, return_index=True)
    vectors = vectors[np.sort(first)]
    if len(vectors) <= most:
        return vectors
    groups = [vectors]
    corners = vectors.shape[1]
    while len(groups) * corners < most:
        widest = max(range(len(groups)), key=lambda k: _width(groups[k])[0])
        width, axis = _width(groups[widest])
        if width == 0 or len(groups[widest]) <= corners:
            break
        group = groups.pop(widest)
        order = np.argsort(group[:, axis], kind="stable")
        half = len(order) // 2
        groups += [group[order[:half]], group[order[half:]]]
    return np.concatenate([_enclosed(group) for group in groups])


def _width(group: FloatArray) -> tuple[float, int]:
    """How far a group spreads, and along which coordinate; groups that are small enough already count as points."""
    if len(group) <= group.shape[1]:
        return 0.0, 0
    spread = group.max(axis=0) - group.min(axis=0)
    axis = int(np.argmax(spread))
    return float(spread[axis]), axis


def _enclosed(group: FloatArray) -> FloatArray:
    """The corners of a simplex around a group of vectors: their common part, plus what is left along each axis.

    Coordinates are first scaled by the group's mean, so that small ones count as much as large ones. With vectors v of
    sum 1 and m their minimum, v = m + (v - m) with v - m >= 0 of sum 1 - sum(m): a mixture of m + (1 - sum(m)) e_x.
    """
    if len(group) <= group.shape[1]:
        return group
    mean = group.mean(axis=0)
    used = mean > 0
    scaled = group[:, used] / mean[used]
    scaled /= scaled.sum(axis=1, keepdims=True)
    common = scaled.min(axis=0) * (1 - RESOLUTION)  # rounded inwards, so that the simplex is rounded outwards
    corners = np.zeros((int(used.sum()), group.shape[1]))
    corners[:, used] = (common + np.diag(np.full(len(common), 1 - common.sum()))) * mean[used]
    return np.asarray(corners / corners.sum(axis=1, keepdims=True))
