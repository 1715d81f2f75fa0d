"""What must have the same bits on every machine, of small cases of all kinds: one digest each.

Inputs are made of integers and quotients alone, so that no library's logarithm is among them. tests/golden/kernels.py
collects them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from discreet.mechanisms.perturbation import Dphmm, Hull, PerturbedKernel, PolicyGraph
from discreet.models import MarkovChain
from discreet.numerics import FloatArray
from discreet.randomness import SeededEntropy
from tests.mechanisms.perturbation.examples import random_graph

GRAPHS = ("complete", "categories", "within", "transitions", "edges")
SLOTS = 3


def cases() -> Iterator[tuple[str, Callable[[], str]]]:
    """The name of each case, and how to make its digest."""
    for seed in range(12):
        yield f"hull {seed}", partial(_hull_digest, seed)
    ways = product(GRAPHS, (1, 2, 3), ("knorm", "laplace"), ("possible", "mass"))
    for seed, (graph, d, noise, support) in enumerate(ways):
        planar = d == 2 or noise == "laplace"
        protect = "minimum" if planar and seed % 4 < 2 else "greedy"
        name = f"{seed}: {graph}, {d}-D, {noise}, {protect}, {support}"
        yield name, partial(_day_digest, seed, partial(_mechanism, seed, graph, d, noise, support, protect))


def _hull_digest(seed: int) -> str:
    return _digest(_hull_facts(seed))


def _day_digest(seed: int, make: Callable[[], Dphmm]) -> str:
    return _digest(_day_facts(make(), seed))


def _mechanism(seed: int, graph: str, d: int, noise: Any, support: str, protect: Any) -> Dphmm:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 9))
    chain = _chain(rng, n)
    queries = [_answers(rng, n, d) for _ in range(2 if protect == "greedy" and seed % 5 == 0 else 1)]
    return Dphmm(
        chain,
        graph=_graph(rng, graph, chain, queries[0]),
        query=queries,
        epsilon=[float(rng.choice([0.01, 0.3, 1.0, 2.5, 40.0])) for _ in queries],
        noise=noise,
        protect=protect,
        support="possible" if support == "possible" else ("mass", 0.2),
        step=None if rng.random() < 0.7 else 2.0**-6,
    )


def _chain(rng: np.random.Generator, n: int) -> MarkovChain:
    rows = rng.integers(1, 100, size=(SLOTS, n, n)) * (rng.random((SLOTS, n, n)) < 0.6) + np.eye(n, dtype=np.int64)
    shares = rows / rows.sum(axis=-1, keepdims=True)
    return MarkovChain([f"c{k}" for k in range(n)], shares[0, 0], shares[1:])


def _answers(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    """Cells of a map, any numbers, or numbers on a line or in a plane."""
    kind = rng.integers(3)
    if kind == 0:
        return np.asarray(rng.integers(-4, 5, size=(n, d)) * 0.34)
    if kind == 1:
        return np.asarray(rng.random((n, d)) * 10 - 5)
    rank = int(rng.integers(1, d + 1))
    flat: FloatArray = (rng.integers(-5, 6, size=(n, rank)) @ rng.integers(-3, 4, size=(rank, d))).astype(np.float64)
    return flat


def _graph(rng: np.random.Generator, kind: str, chain: MarkovChain, answers: FloatArray) -> PolicyGraph:
    n = len(chain.contexts)
    if kind == "complete":
        return PolicyGraph.complete(n)
    if kind == "categories":
        return PolicyGraph.categories([range(0, n, 2), range(1, n, 2)])
    if kind == "within":
        return PolicyGraph.within(answers, 0.34 * 5)  # of cells, five apart along an axis are a tie
    if kind == "transitions":
        return PolicyGraph.transitions(chain)
    return random_graph(rng, n)


def _day_facts(mechanism: Dphmm, seed: int) -> Iterable[object]:
    """Kernels of a day, each with likelihoods at a few outputs, and what the odometer reads."""
    state, entropy, outputs = mechanism.start(), SeededEntropy(seed), []
    for _ in range(SLOTS):
        kernel = mechanism.kernel(state)
        output = kernel.sample(int(kernel.support[seed % len(kernel.support)]), entropy)
        yield from _kernel_facts(kernel, (output, *kernel.telling()[:3], *kernel.telling()[-2:]))
        outputs.append(output)
        state = mechanism.advance(state, output)
    odometer = mechanism.odometer(outputs)
    yield [astuple(reading) for reading in odometer.readings], odometer.realised, odometer.epsilon


def _kernel_facts(kernel: PerturbedKernel, outputs: Iterable[Any]) -> Iterable[object]:
    yield kernel.support, kernel.added, kernel.stand_ins, kernel.realised(), [kernel.degree(int(kernel.support[0]))]
    for ball, noise in zip(kernel.balls, kernel.noises, strict=True):
        yield ball.rows, ball.offsets, ball.equations, ball.basis, ball.widths, ball.vertices, noise.parts
    for output in outputs:
        yield output.point, kernel.likelihood(output), kernel.possible(output)
    for hull in kernel.hulls:
        yield from _shape(hull)


def _hull_facts(seed: int) -> Iterable[object]:
    """Hulls of floats that have no step in common, thin and flat ones among them."""
    rng = np.random.default_rng(1000 + seed)
    d, rank = 1 + seed % 4, int(rng.integers(1, 2 + seed % 4))
    points = (rng.random((7, rank, 1)) * (rng.random((1, rank, d)) - 0.5)).sum(axis=1)
    points[:, 0] *= rng.choice([1.0, 1e-4, 300.0])
    hull = Hull.of_differences(points)
    yield from _shape(hull)
    yield hull.norm(points), hull.contains(points), hull.norm(rng.random((4, d)))


def _shape(hull: Hull) -> Iterable[object]:
    yield hull.dimension, hull.basis, hull.vertices, hull.facets, hull.volume, hull.norm(np.eye(hull.space))


def _digest(facts: Iterable[object]) -> str:
    told = hashlib.sha256()
    for fact in facts:
        told.update(_spelled(fact).encode())
    return told.hexdigest()


def _spelled(fact: object) -> str:
    """Numbers as they are: integers in full, floats in hexadecimal."""
    if isinstance(fact, float | np.floating):
        return float(fact).hex() + ";"
    if isinstance(fact, int | np.integer | np.bool_):
        return f"{int(fact)};"
    assert isinstance(fact, list | tuple | np.ndarray), type(fact)
    return "[" + "".join(_spelled(part) for part in fact) + "]"
