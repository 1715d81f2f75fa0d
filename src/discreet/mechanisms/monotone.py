"""ALGPR: the best vector on a grid for which a monotone predicate holds (Arasu, Goetz, Kaushik, SIGMOD 2010).

If the predicate holds for a vector it holds for every vector above, and value falls as any coordinate rises. The best
vector is then *minimal*: no coordinate can be lowered alone. The search keeps regions `floor <= v <= ceiling` that
together contain every minimal vector not found yet. A region whose ceiling fails the predicate contains none. If the
ceiling holds and lies above no minimal vector found so far, greedy lowering from it finds a new one, m. Any other
minimal vector is below m somewhere: the region splits at the first such coordinate k into floor_j >= m_j for j < k and
ceiling_k = m_k - 1, the *excluded corners* of the paper, here disjoint. A region is dropped when even its floor is
worth no more than the best found. When no region is left, the best found is the best there is.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from discreet.errors import DiscreetError
from discreet.numerics import BoolArray, FloatArray, IntArray

Value = Callable[[IntArray], float]


class Oracle(Protocol):
    """What is asked about vectors of levels (K,); lower levels are worth more."""

    def holds(self, levels: IntArray) -> bool:
        """The predicate: if it holds for levels, it holds for all vectors above."""

    def minimal(self, levels: IntArray) -> tuple[IntArray, int]:
        """A minimal vector below levels, for which the predicate holds, and how many checks it took."""


class GridLevels:
    """Chances of silence (T, n) on a grid, as levels (K,) of the coordinates that can occur: levels / grid.

    What is impossible is always silent. Who says which levels are private makes an `Oracle` of this.
    """

    def __init__(self, possible: BoolArray, prior: FloatArray, grid: int) -> None:
        self.grid = grid
        self._shape, self._where = possible.shape, np.nonzero(possible)
        self._weights: FloatArray = prior[self._where] / (grid * len(prior))
        self.top: IntArray = np.full(len(self._weights), grid)

    def table(self, levels: IntArray) -> IntArray:
        """(T, n): the level of each slot and context."""
        table = np.full(self._shape, self.grid)
        table[self._where] = levels
        return table

    def silent(self, levels: IntArray) -> FloatArray:
        """(T, n): the chance that each context is silent."""
        return np.asarray(self.table(levels) / self.grid)

    def levels_of(self, silent: FloatArray) -> IntArray:
        """(K,): the levels nearest to chances (T, n)."""
        return np.rint(silent[self._where] * self.grid).astype(np.int64)

    def levels_in(self, table: IntArray) -> IntArray:
        """(K,): the levels that stand in a table (T, n)."""
        return np.asarray(table[self._where])

    def value(self, levels: IntArray) -> float:
        """The share of slots that is expected to be released."""
        return float((self._weights * (self.grid - levels)).sum())


@dataclass(frozen=True)
class Best:
    """The best minimal vector, its value, how many such vectors and checks it took, and whether none was left out."""

    levels: IntArray
    value: float
    vectors: int
    checks: int
    exhaustive: bool


@dataclass(frozen=True)
class _Region:
    """Made when it is looked at: most never are, and their arrays would fill memory."""

    ceiling: IntArray
    floor: IntArray
    split: IntArray | None = None
    k: int = 0

    def bounds(self) -> tuple[IntArray, IntArray]:
        if self.split is None:
            return self.ceiling, self.floor
        ceiling, floor = self.ceiling.copy(), self.floor.copy()
        ceiling[self.k] = self.split[self.k] - 1
        floor[: self.k] = np.maximum(floor[: self.k], self.split[: self.k])
        return ceiling, floor


class _Search:
    def __init__(self, value: Value) -> None:
        self.value = value
        self.vectors: list[IntArray] = []
        self.best = -np.inf
        self.levels = np.empty(0, dtype=np.int64)
        self._heap: list[tuple[float, int, _Region]] = []
        self._pushed = 0

    def add(self, levels: IntArray) -> None:
        self.vectors.append(levels)
        worth = self.value(levels)
        if worth > self.best:
            self.best, self.levels = worth, levels

    def below(self, ceiling: IntArray) -> IntArray | None:
        """A minimal vector found already that lies below the ceiling."""
        if not self.vectors:
            return None
        under = (np.stack(self.vectors) <= ceiling).all(axis=1)
        return self.vectors[int(under.argmax())] if under.any() else None

    def push(self, region: _Region) -> None:
        """File a region by the most it can be worth; of equals the first filed is looked at first."""
        bound = self.value(region.bounds()[1])
        if bound > self.best:
            heapq.heappush(self._heap, (-bound, self._pushed, region))
            self._pushed += 1

    def pop(self) -> _Region | None:
        """The most promising region; None if no region can beat the best."""
        if not self._heap or -self._heap[0][0] <= self.best:
            return None
        return heapq.heappop(self._heap)[2]

    def split(self, ceiling: IntArray, floor: IntArray, minimal: IntArray) -> None:
        for k in np.flatnonzero(minimal > floor):
            self.push(_Region(ceiling, floor, minimal, int(k)))


def best_minimal(
    top: IntArray,
    oracle: Oracle,
    value: Value,
    *,
    budget: int,
    floor: IntArray | None = None,
    seeds: Iterable[IntArray] = (),
) -> Best:
    """The best vector of levels from 0 to top (K,) for which the oracle's predicate holds, within a budget of checks.

    `floor` is a vector that every solution is known to dominate; `seeds` are minimal vectors known already. A check is
    one question to the predicate; a region that is merely split counts as one too, so that the budget bounds all work.
    """
    top = np.asarray(top, dtype=np.int64)
    if not oracle.holds(top):
        raise DiscreetError("the predicate fails even for the highest vector, so it holds for none; raise the top")
    search = _Search(value)
    for seed in {tuple(seed.tolist()): seed for seed in seeds}.values():
        search.add(np.asarray(seed, dtype=np.int64))
    search.push(_Region(top, np.zeros_like(top) if floor is None else np.asarray(floor, dtype=np.int64)))
    checks = 1
    while (region := search.pop()) is not None:
        if checks >= budget and search.vectors:
            return Best(search.levels, search.best, len(search.vectors), checks, False)
        ceiling, lowest = region.bounds()
        checks += 1
        known = search.below(ceiling)
        if known is None:
            if not oracle.holds(ceiling):
                continue
            known, used = oracle.minimal(ceiling)
            checks += used
            search.add(known)
        search.split(ceiling, lowest, known)
    return Best(search.levels, search.best, len(search.vectors), checks, True)
