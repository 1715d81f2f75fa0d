"""What could have been true, given what was shown: exact beliefs of every slot in the end, and draws of whole paths.

If habits are as learned, the true path given the outputs is one draw from what the exact observer believes of paths.
Filtered forwards and drawn backwards (Carter and Kohn 1994), such draws are exact and keep every dependence that the
habits have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from discreet.numerics import FloatArray, IntArray


class PathSteps(Protocol):
    """Hidden states z of N places with outputs o, and what is asked of each place: which class c it is in."""

    @property
    def places(self) -> int:
        """N."""

    def first(self, *, seen: bool) -> FloatArray:
        """(Z,): P(z_0, o_0); without the output where it is not `seen`."""

    def step(self, t: int, *, seen: bool) -> FloatArray:
        """(Z, Z): P(z_t, o_t | z_{t-1}), t from 1 on."""

    def classes(self, t: int, *, seen: bool) -> FloatArray:
        """(Z, C): P(class | z_t, o_t)."""


@dataclass(frozen=True)
class Paths:
    """What is believed of each place in the end, and draws of all places together."""

    beliefs: FloatArray  # (N, C)
    draws: npt.NDArray[np.uint8]  # (K, N): the class of each place in each draw


def paths(steps: PathSteps, draws: int, rng: np.random.Generator) -> Paths:
    """Beliefs and draws of one stream; an output that the habits hold impossible is taken to say nothing."""
    count = steps.places
    forward, seen = _forward(steps)
    after = np.ones_like(forward[0])
    state = _draw(forward[-1][:, None], np.zeros(draws, dtype=np.int64), rng)
    beliefs, drawn = [], np.empty((draws, count), dtype=np.uint8)
    for t in range(count - 1, -1, -1):
        classes = steps.classes(t, seen=seen[t])
        here = forward[t] * after
        beliefs.append(here / here.sum() @ classes)
        drawn[:, t] = _draw(classes.T, state, rng)
        if t:
            step = steps.step(t, seen=seen[t])
            state = _draw(forward[t - 1][:, None] * step, state, rng)
            after = step @ after
            after /= after.max()
    return Paths(np.array(beliefs[::-1]), drawn)


def _forward(steps: PathSteps) -> tuple[list[FloatArray], list[bool]]:
    """(Z,) of each place: P(z_t | outputs so far); and whether its output was possible."""
    forward: list[FloatArray] = []
    seen: list[bool] = []
    for t in range(steps.places):
        weights = _pushed(steps, forward, t, seen=True)
        seen.append(bool(weights.sum() > 0))
        if not seen[-1]:
            weights = _pushed(steps, forward, t, seen=False)
        forward.append(np.asarray(weights / weights.sum()))
    return forward, seen


def _pushed(steps: PathSteps, forward: list[FloatArray], t: int, *, seen: bool) -> FloatArray:
    return steps.first(seen=seen) if t == 0 else np.asarray(forward[t - 1] @ steps.step(t, seen=seen))


def _draw(weights: FloatArray, columns: IntArray, rng: np.random.Generator) -> IntArray:
    """(K,): of each of the columns (K,) of weights (R, S), not normalised, a row drawn in proportion."""
    lots = rng.random(len(columns))
    sums = np.cumsum(weights, axis=0)
    if len(weights) == 1:
        return np.zeros(len(columns), dtype=np.int64)
    lots *= sums[-1][columns]
    return np.asarray((sums[:-1, columns] <= lots).sum(axis=0))
