"""How habits learned from the earlier days fare on the last ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.contexts import Day
from discreet.errors import DiscreetError
from discreet.models.chain import MarkovChain
from discreet.models.kinds import ONE_DAY
from discreet.models.routine import Routine
from discreet.models.week import Models, weekpart
from discreet.numerics import FloatArray

HELD_OUT = 0.2
"""The share of the last days that a model learned from the earlier ones is tried on."""


@dataclass(frozen=True)
class HeldOut:
    """The last days, judged by habits learned from the earlier ones; None where there are too few to hold some out."""

    days: int
    impossible: float | None  # share of the steps that have probability zero
    log_likelihood: float | None  # natural logarithm, mean of the steps that are possible


Fitted = MarkovChain | Models | Routine


def split(days: Sequence[Day]) -> tuple[Sequence[Day], Sequence[Day]]:
    """The days to learn from and the last fifth, to try what was learned on; none where there are too few."""
    kept = len(days) - round(HELD_OUT * len(days))
    return days[:kept], days[kept:]


def held_out(days: Sequence[Day], fit: Callable[[Sequence[Day]], Fitted]) -> HeldOut:
    """How much of the last fifth of the days a model of the others holds impossible, and how likely the rest is."""
    earlier, last = split(days)
    return judged(fit(earlier), last) if last else HeldOut(0, None, None)


def judged(model: Fitted, days: Sequence[Day]) -> HeldOut:
    """How much of these days, in order of their dates, a model holds impossible, and how likely the rest is."""
    logs = _joined(model, days) if isinstance(model, Routine) else np.concatenate([_steps(model, day) for day in days])
    possible = np.isfinite(logs)
    likelihood = float(logs[possible].mean()) if possible.any() else None
    return HeldOut(len(days), float(1 - possible.mean()), likelihood)


def _joined(routine: Routine, days: Sequence[Day]) -> FloatArray:
    """(D, T): the log-likelihood of each step, over the night where the day before is there; new labels are `other`."""
    logs = []
    before: Day | None = None
    for day in days:
        if day.date is None:
            raise DiscreetError("a routine judges dated days; give Day(contexts, date=...)")
        fitted = day.fitted(routine.contexts)
        chain = routine.day(routine.kind_of(day.date))
        steps = chain.step_log_likelihood([fitted])[0]
        if before is not None and before.date is not None and before.date + ONE_DAY == day.date:
            last, first = chain.index_of(before.contexts[-1]), chain.index_of(fitted.contexts[0])
            with np.errstate(divide="ignore"):
                steps[0] = np.log(routine.night(before.date)[last, first])
        logs.append(steps)
        before = fitted
    return np.array(logs)


def _steps(model: MarkovChain | Models, day: Day) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """(1, T): the log-likelihood of each step; a part of the week that was never seen holds nothing possible."""
    chain: MarkovChain | None
    if isinstance(model, Models):
        chain = None if day.date is None else model.get(weekpart(day.date))
    else:
        chain = model
    return np.full((1, len(day)), -np.inf) if chain is None else chain.step_log_likelihood([day])
