"""The running example of the DPHMM paper (Figures 3 and 4, Example 3.2) and random cases."""

from __future__ import annotations

import numpy as np

from discreet.mechanisms.perturbation import PolicyGraph
from discreet.models import MarkovChain
from discreet.numerics import FloatArray, IntArray

ANSWERS: FloatArray = np.array([(1, 0), (2, 1), (3, 0), (0, 1), (4, 2), (1, 2)], dtype=np.float64)
"""f(s1) .. f(s6); contexts are numbered from 0, so s2 is context 1."""

CATEGORIES = PolicyGraph.from_edges(6, [(1, 2), (3, 4), (4, 5), (3, 5)])
"""Figure 3b: cafeteria {s1}, school {s2, s3}, grocery {s4, s5, s6}."""


def chain(supports: list[list[int]], n: int = 6) -> MarkovChain:
    """A chain whose slot t has exactly these possible contexts, all equally likely."""
    rows = np.zeros((len(supports), n))
    for row, support in zip(rows, supports, strict=True):
        row[support] = 1 / len(support)
    return MarkovChain([f"s{k + 1}" for k in range(n)], rows[0], np.repeat(rows[1:, None], n, axis=1))


def random_graph(rng: np.random.Generator, n: int) -> PolicyGraph:
    """Some edges, perhaps none, and perhaps a group."""
    share = rng.choice([0.0, 0.1, 0.3, 0.8])
    edges = [(i, j) for i in range(n) for j in range(i) if rng.random() < share]
    groups = [rng.choice(n, size=int(rng.integers(1, n + 1)), replace=False)] if rng.random() < 0.3 else []
    return PolicyGraph(n, [*edges, *(group.tolist() for group in groups)])


def random_integers(rng: np.random.Generator, n: int, d: int) -> IntArray:
    """Answers on a coarse grid: duplicates, points on a line and zero coordinates are common; flat ones too."""
    points = rng.integers(-6, 7, size=(n, d))
    if rng.random() < 0.4:  # within a line or a plane
        rank = int(rng.integers(1, d + 1))
        points = rng.integers(-2, 3, size=(n, rank)) @ rng.integers(-3, 4, size=(rank, d))
    return np.asarray(points, dtype=np.int64)
