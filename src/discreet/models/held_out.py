"""How habits learned from the earlier days fare on the last ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.contexts import Day
from discreet.models.chain import MarkovChain
from discreet.models.week import Models, weekpart

HELD_OUT = 0.2
"""The share of the last days that a model learned from the earlier ones is tried on."""


@dataclass(frozen=True)
class HeldOut:
    """The last days, judged by habits learned from the earlier ones; None where too few days are there to hold some out."""

    days: int
    impossible: float | None  # share of the steps that have probability zero
    log_likelihood: float | None  # natural logarithm, mean of the steps that are possible


def held_out(days: Sequence[Day], fit: Callable[[Sequence[Day]], MarkovChain | Models]) -> HeldOut:
    """How much of the last fifth of the days a model of the others holds impossible, and how likely the rest is."""
    count = round(HELD_OUT * len(days))
    if not count:
        return HeldOut(0, None, None)
    model = fit(days[:-count])
    logs = np.concatenate([_steps(model, day) for day in days[-count:]])
    possible = np.isfinite(logs)
    likelihood = float(logs[possible].mean()) if possible.any() else None
    return HeldOut(count, float(1 - possible.mean()), likelihood)


def _steps(model: MarkovChain | Models, day: Day) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """(1, T): the log-likelihood of each step; a part of the week that was never seen holds nothing possible."""
    chain: MarkovChain | None
    if isinstance(model, Models):
        chain = None if day.date is None else model.get(weekpart(day.date))
    else:
        chain = model
    return np.full((1, len(day)), -np.inf) if chain is None else chain.step_log_likelihood([day])
