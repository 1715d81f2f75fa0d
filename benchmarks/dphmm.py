"""DPHMM: a slot's hull against a twin that gives every edge to Qhull, draws against rejection from a bounding box."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from benchmarks._timing import alternating
from discreet.contracts import Rng
from discreet.mechanisms.perturbation import ContinuousNoise, Dphmm, Hull, LatticeNoise, PolicyGraph
from discreet.mechanisms.perturbation.dphmm import Past
from discreet.mechanisms.perturbation.lattice import Ball, hull_ball
from discreet.models import MarkovChain
from discreet.numerics import FloatArray, IntArray
from discreet.outputs import Output
from discreet.randomness import SeededEntropy, SystemEntropy

CELL = 0.34
"""Kilometres: the side of a cell in the paper's GeoLife map."""


def town(side: int, reach: int, seed: int = 0) -> tuple[MarkovChain, FloatArray]:
    """A square of cells; from each cell some of those at most `reach` cells away (l2, and a half) can follow."""
    rng = np.random.default_rng(seed)
    cells = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2)
    near = np.linalg.norm(cells[:, None] - cells[None], axis=2) <= reach + 0.5
    steps = near * rng.random(near.shape) * (rng.random(near.shape) < 0.7) + np.eye(len(cells)) * 0.5
    steps /= steps.sum(axis=1, keepdims=True)
    labels = [f"{x},{y}" for x, y in cells.tolist()]
    return MarkovChain.homogeneous(labels, np.full(len(cells), 1 / len(cells)), steps, 50), np.asarray(
        cells * CELL, dtype=np.float64
    )


def twin(steps: FloatArray, answers: FloatArray, inside: FloatArray) -> tuple[ConvexHull, int]:
    """The graph's edges by its definition, all their differences, Qhull."""
    follows = steps > 0
    joined = (follows.T.astype(np.float32) @ follows.astype(np.float32)) > 0
    joined &= (inside[:, None] > 0) & (inside[None] > 0)
    first, second = np.nonzero(np.triu(joined, 1))
    differences = answers[first] - answers[second]
    return ConvexHull(np.concatenate([differences, -differences])), len(first)


def cold(side: int, reach: int, repetitions: int = 9) -> None:
    """One slot, nothing cached: support, graph cut to it, protection, hull, noise."""
    chain, answers = town(side, reach)
    graph = PolicyGraph.transitions(chain)
    mechanism = Dphmm(chain, graph=graph, query=answers, epsilon=1.0)
    lattice = mechanism.queries[0].answers
    rounded = np.asarray(lattice.integers * lattice.step, dtype=np.float64)
    state = mechanism.start()

    def cached() -> object:
        mechanism._met = None  # the kernel asked for last is kept apart from the cache
        return mechanism.kernel(state)

    def ours() -> object:
        mechanism._kernels.clear()
        return cached()

    best: dict[str, list[float]] = {"ours": [], "twin": [], "cached": []}
    calls: dict[str, Callable[[], object]] = {
        "ours": ours,
        "twin": lambda: twin(chain.transitions[0], rounded, chain.initial),
        "cached": cached,
    }
    for name, call in calls.items():
        call()
        for _ in range(repetitions):
            began = time.perf_counter()
            call()
            best[name].append((time.perf_counter() - began) * 1e3)
    hull, edges = twin(chain.transitions[0], rounded, chain.initial)
    ball = mechanism.kernel(state).balls[0]
    found = {tuple(corner) for corner in np.rint(hull.points[hull.vertices] / lattice.step).astype(int).tolist()}
    equal = found == {tuple(corner) for corner in ball.vertices.tolist()}
    middle = {name: float(np.median(times)) for name, times in best.items()}
    output = mechanism.kernel(state).sample(0, SystemEntropy())
    whole = _whole_slot(mechanism, state, output)
    print(
        f"{side * side} cells, reach {reach}, {edges} edges, {len(ball.vertices)} corners, equal hulls: {equal}; "
        f"cold {middle['ours']:.2f} ms, twin {middle['twin']:.1f} ms: {middle['twin'] / middle['ours']:.0f}x; "
        f"cached {middle['cached'] * 1e3:.0f} us; draw, likelihood and advance {whole:.2f} ms",
        flush=True,
    )


def _whole_slot(mechanism: Dphmm, state: Past, output: Output) -> float:
    """Milliseconds of what follows the kernel: a draw, and the public state after it."""
    rng = SystemEntropy()

    def follow() -> None:
        mechanism.kernel(state).sample(0, rng)
        mechanism.advance(state, output)

    return alternating({"slot": follow}, 9)["slot"] * 1e3


def needle(d: int) -> IntArray:
    """Corners of a hull 100 times longer than wide, turned by 45 degrees in every plane."""
    rng = np.random.default_rng(4)
    points = rng.normal(size=(40, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    points[:, 0] *= 100
    turn = np.array([[1, 1], [-1, 1]]) / math.sqrt(2)
    if d == 3:
        turn = Rotation.from_euler("zy", [45, 45], degrees=True).as_matrix().T
    return np.rint(points @ turn * (2**12 if d == 2 else 2**6)).astype(np.int64)


def boxed(ball: Ball) -> Ball:
    """The same hull with the box along the axes: what rejection from the bounding box draws from."""
    d = ball.rows.shape[1]
    widths = np.abs(ball.vertices).max(axis=0)
    return Ball(ball.rows, ball.offsets, ball.equations, np.eye(d, dtype=np.int64), widths, ball.vertices)


class Counting:
    """Entropy that counts what is asked of it: a measure of work that no machine's noise can touch."""

    def __init__(self) -> None:
        self.entropy, self.calls = SeededEntropy(0), 0

    def bits(self, count: int) -> int:
        self.calls += 1
        return self.entropy.bits(count)

    def below(self, bound: int) -> int:
        self.calls += 1
        return self.entropy.below(bound)


def calls_of(noise: LatticeNoise, draws: int = 300) -> float:
    rng = Counting()
    for _ in range(draws):
        noise.sample(rng)
    return rng.calls / draws


def drawn(noise: LatticeNoise, rng: Rng, count: int) -> None:
    for _ in range(count):
        noise.sample(rng)


def box_rejection(hull: Hull, epsilon: float, count: int, generator: np.random.Generator) -> FloatArray:
    """The continuous law in floats: uniform in the bounding box, in blocks, those inside kept, times a Gamma."""
    reach = np.abs(hull.vertices).max(axis=0)
    facets = (hull.facets @ hull.basis).T
    kept = np.zeros((0, hull.space))
    while len(kept) < count:
        points = generator.uniform(-reach, reach, size=(10_000, hull.space))
        kept = np.concatenate([kept, points[np.abs(points @ facets).max(axis=1) <= 1]])
    return np.asarray(kept[:count] * generator.gamma(hull.dimension + 1, 1 / epsilon, count)[:, None])


def draws(d: int) -> None:
    """A long, turned hull beside a round one."""
    corners = needle(d)
    ball = hull_ball(corners)
    points = np.random.default_rng(4).normal(size=(40, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    long, box = LatticeNoise(ball, 1.0), LatticeNoise(boxed(ball), 1.0)
    compact = LatticeNoise(hull_ball(np.rint(points * 2**10).astype(np.int64)), 1.0)
    entropy, generator = SystemEntropy(), np.random.default_rng(0)
    hull = Hull.of_differences(corners)
    continuous = ContinuousNoise(hull, 1.0)
    seconds = alternating(
        {
            "long": lambda: drawn(long, entropy, 100),
            "round": lambda: drawn(compact, entropy, 100),
            "box": lambda: drawn(box, entropy, 10),
            "floats": lambda: continuous.sample(1000, generator),
            "floats, box": lambda: box_rejection(hull, 1.0, 1000, generator),
        },
        3,
    )
    mine, theirs = seconds["long"] * 1e4, seconds["box"] * 1e5
    print(
        f"{d}-D, 100 times longer than wide, turned by 45 degrees: a draw {mine:.0f} us, of a round hull "
        f"{seconds['round'] * 1e4:.0f} us; by rejection from the bounding box {theirs:.0f} us: {theirs / mine:.0f}x "
        f"(random numbers asked for: {calls_of(box, 40) / calls_of(long):.0f}x); the continuous law in floats, 1000 at "
        f"a time, {seconds['floats'] * 1e3:.1f} us a draw, box {seconds['floats, box'] * 1e3:.0f} us: "
        f"{seconds['floats, box'] / seconds['floats']:.0f}x",
        flush=True,
    )


def main() -> None:
    """Print the tables."""
    cold(20, 4, 25)
    for side, reach in ((10, 4), (14, 4), (28, 4), (40, 4), (20, 1), (20, 2), (20, 8)):
        cold(side, reach, 5)
    for d in (2, 3):
        draws(d)
