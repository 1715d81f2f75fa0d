"""How habits learned from the earlier days fare on the last ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.contexts import Day
from discreet.errors import DiscreetError
from discreet.models.chain.markov import MarkovChain
from discreet.models.chain.week import Models, weekpart
from discreet.models.hidden.pairs import PairChain
from discreet.models.kinds import ONE_DAY
from discreet.models.routine.pairs import PairRoutine
from discreet.models.routine.parts import AnyModel, AnyRoutine, parts_of
from discreet.models.routine.routine import Routine
from discreet.numerics import FloatArray
from discreet.policy import Policy

HELD_OUT = 0.2
"""The share of the last days that a model learned from the earlier ones is tried on."""


@dataclass(frozen=True)
class HeldOut:
    """The last days, judged by habits learned from the earlier ones; None where there are too few to hold some out."""

    days: int
    impossible: float | None  # share of the steps that have probability zero
    log_likelihood: float | None  # natural logarithm, mean of the steps that are possible


Fitted = MarkovChain | PairChain | Models | AnyRoutine


def split(days: Sequence[Day], held_out: float = HELD_OUT) -> tuple[Sequence[Day], Sequence[Day]]:
    """The days to learn from and the last fifth, to try what was learned on; none where there are too few."""
    kept = len(days) - round(held_out * len(days))
    return days[:kept], days[kept:]


def relearned(model: AnyModel, days: Sequence[Day], secrets: Policy) -> Fitted:
    """What the rules that a model was learned by make of other days; contexts of secrets are there in any case."""
    known = next(iter(parts_of(model).values())).contexts
    days = [day.fitted(known) for day in days]  # what was rare then is `other` now
    if isinstance(model, AnyRoutine) and model.learned is not None:
        rules = model.learned
        return Routine.fit(
            days,
            rules.by,
            rules.smoothing,
            rules.floor,
            secrets=[*rules.declared, *sorted(secrets.contexts)],
            contexts=model.contexts if rules.fixed else None,
            clock=model.clock,
            order=2 if isinstance(model, PairRoutine) else 1,
        )
    if isinstance(model, MarkovChain) and model.counts is not None:
        return MarkovChain.fit(days, model.counts.smoothing, model.contexts, clock=model.clock)
    if isinstance(model, Models) and all(one.counts is not None for one in model.values()):
        first = next(iter(model.values()))
        assert first.counts is not None  # as all have
        return MarkovChain.fit(days, first.counts.smoothing, first.contexts, by="weekpart", clock=model.clock)
    if isinstance(model, PairChain):
        raise DiscreetError(
            "single days over two contexts do not keep what they were learned from; learn a routine, without "
            "--day-by-day, or with order=1"
        )
    raise DiscreetError("the model was not learned from days, so it is not known how to learn it from others")


def held_out(days: Sequence[Day], fit: Callable[[Sequence[Day]], Fitted]) -> HeldOut:
    """How much of the last fifth of the days a model of the others holds impossible, and how likely the rest is."""
    earlier, last = split(days)
    return judged(fit(earlier), last) if last else HeldOut(0, None, None)


def judged(model: Fitted, days: Sequence[Day]) -> HeldOut:
    """How much of these days, in order of their dates, a model holds impossible, and how likely the rest is."""
    if isinstance(model, PairRoutine):
        logs = _joined(model.over, model.lifted(days))
    elif isinstance(model, Routine):
        logs = _joined(model, days)
    elif isinstance(model, PairChain):
        logs = model.step_log_likelihood(days)
    else:
        logs = np.concatenate([_steps(model, day) for day in days])
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
