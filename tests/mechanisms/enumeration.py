"""Slow twins of MaskIt's checks: all paths, all outputs, fractions. They share nothing with the mechanisms' code."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.contracts import DayModel
from discreet.policy import Policy

Path = tuple[int, ...]
Output = int | None  # a context's index, or silence


@dataclass(frozen=True)
class Tiny:
    """A chain in fractions: initial (n,), transitions (T-1, n, n), secrets at each slot as (members, slots, delta)."""

    initial: Sequence[Any]
    transitions: Sequence[Any]
    secrets: Sequence[tuple[frozenset[int], frozenset[int], Fraction]]

    @property
    def slots(self) -> int:
        return len(self.transitions) + 1

    def paths(self) -> dict[Path, Fraction]:
        """Every path of positive probability."""
        found: dict[Path, Fraction] = {(i,): Fraction(chance) for i, chance in enumerate(self.initial) if chance > 0}
        for step in self.transitions:
            found = {
                (*path, j): weight * Fraction(chance)
                for path, weight in found.items()
                for j, chance in enumerate(step[path[-1]])
                if chance > 0
            }
        whole = sum(found.values(), Fraction(0))
        return {path: weight / whole for path, weight in found.items()}


def tiny(model: DayModel, policy: Policy) -> Tiny:
    """The floats of a model and policy as fractions; secrets at="any" are left out."""
    index = {context: k for k, context in enumerate(model.contexts)}
    secrets = [
        (
            frozenset(index[context] for context in secret.contexts),
            frozenset(range(model.slots) if secret.slots is None else secret.slots),
            Fraction(policy.delta_of(secret)),
        )
        for secret in policy.secrets
        if secret.at == "each"
    ]
    return Tiny(model.initial.tolist(), model.transitions.tolist(), secrets)


def gains(chain: Tiny, weights: dict[Path, Fraction]) -> Iterator[tuple[Fraction, Fraction]]:
    """(gain, delta) of every secret at every slot, given the weights of the paths that remain."""
    everything = chain.paths()
    total = sum(weights.values(), Fraction(0))
    for members, slots, delta in chain.secrets:
        for u in slots:
            prior = sum((weight for path, weight in everything.items() if path[u] in members), Fraction(0))
            posterior = sum((weight for path, weight in weights.items() if path[u] in members), Fraction(0)) / total
            yield posterior - prior, delta


def worst_suppressed(chain: Tiny, p: Sequence[Sequence[Any]], *, over_delta: bool = False) -> Fraction:
    """The largest gain over every prefix of outputs when context i is suppressed at slot t with probability p[t][i].

    With `over_delta`, the largest gain minus its delta.
    """
    worst = Fraction(-2) if over_delta else Fraction(0)
    stack = [(0, chain.paths())]
    while stack:
        t, weights = stack.pop()
        if t > 0:
            for gain, delta in gains(chain, weights):
                worst = max(worst, gain - delta if over_delta else gain)
        if t == chain.slots:
            continue
        shown: dict[Output, dict[Path, Fraction]] = {}
        for path, weight in weights.items():
            silent = Fraction(p[t][path[t]])
            if silent > 0:
                shown.setdefault(None, {})[path] = weight * silent
            if silent < 1:
                shown.setdefault(path[t], {})[path] = weight * (1 - silent)
        stack += [(t + 1, left) for left in shown.values()]
    return worst


def releases_suppressed(chain: Tiny, p: Sequence[Sequence[Any]]) -> Fraction:
    """Expected number of releases."""
    return sum(
        (weight * (1 - Fraction(p[t][c])) for path, weight in chain.paths().items() for t, c in enumerate(path)),
        Fraction(0),
    )


def allowed(chain: Tiny, weights: dict[Path, Fraction], t: int) -> bool:
    """Algorithm 4: whether releasing whatever comes at slot t keeps every gain within delta; weights: what remains."""
    for j in {path[t] for path in weights}:
        left = {path: weight for path, weight in weights.items() if path[t] == j}
        if any(gain > delta for gain, delta in gains(chain, left)):
            return False
    return True


def simulated(
    chain: Tiny, weights: dict[Path, Fraction] | None = None, t: int = 0, *, lookahead: bool = False
) -> tuple[Fraction, Fraction]:
    """Expected releases and worst gain of the simulatable check from slot t on, by trying all that can happen.

    With lookahead, silence is chosen even where release is allowed if more releases are expected from it.
    """
    weights = chain.paths() if weights is None else weights
    if t == chain.slots:
        return Fraction(0), max((gain for gain, _ in gains(chain, weights)), default=Fraction(0))
    silence = simulated(chain, weights, t + 1, lookahead=lookahead)
    if not allowed(chain, weights, t):
        return silence
    total = sum(weights.values(), Fraction(0))
    released, worst = Fraction(1), Fraction(0)
    for j in {path[t] for path in weights}:
        left = {path: weight for path, weight in weights.items() if path[t] == j}
        more, gain = simulated(chain, left, t + 1, lookahead=lookahead)
        released += sum(left.values(), Fraction(0)) / total * more
        worst = max(worst, gain)
    return silence if lookahead and silence[0] > released else (released, worst)


def grid_vectors(chain: Tiny, n: int, grid: int) -> Iterator[list[list[Fraction]]]:
    """Every p on the grid over contexts that can occur; 1 elsewhere."""
    possible = sorted({(t, c) for path in chain.paths() for t, c in enumerate(path)})
    for levels in itertools.product(range(grid + 1), repeat=len(possible)):
        p = [[Fraction(1)] * n for _ in range(chain.slots)]
        for (t, c), level in zip(possible, levels, strict=True):
            p[t][c] = Fraction(level, grid)
        yield p
