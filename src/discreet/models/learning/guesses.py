"""How regular days are: how many of their slots somebody who knows the habits would guess."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.contexts import UNKNOWN, Day
from discreet.models.chain.markov import MarkovChain
from discreet.models.chain.week import Models, weekpart
from discreet.models.hidden.pairs import PairChain
from discreet.models.kinds import ONE_DAY
from discreet.models.learning.held_out import Fitted
from discreet.models.routine.pairs import PairRoutine
from discreet.models.routine.routine import Routine
from discreet.numerics import FloatArray, IntArray


@dataclass(frozen=True)
class Guesses:
    """Shares of the slots with a known context that are guessed; the guess is the likeliest context."""

    by_clock: float  # from the time alone
    by_step: float  # from the time and the context of the slot before


def guesses(model: Fitted, days: Sequence[Day]) -> Guesses | None:
    """How much of these days, in order of their dates, habits guess; None where they know no slot of them."""
    if isinstance(model, PairChain):
        return None
    if isinstance(model, PairRoutine):
        return guesses(model.over, model.lifted(days))
    counted = by_clock = by_step = 0
    before: Day | None = None
    for day in days:
        chain = _chain_of(model, day)
        if chain is None:
            continue
        own = day.fitted(chain.contexts)
        known = np.array([context != UNKNOWN for context in own.contexts])
        true = np.array([chain.contexts.index(c) if c in chain.contexts else -1 for c in own.contexts])
        counted += int(known.sum())
        by_clock += int((known & (_prior(model, chain, day.date).argmax(axis=1) == true)).sum())
        by_step += int((known & (_after(model, chain, own, before) == true)).sum())
        before = own
    return Guesses(by_clock / counted, by_step / counted) if counted else None


def _chain_of(model: MarkovChain | Models | Routine, day: Day) -> MarkovChain | None:
    if isinstance(model, MarkovChain):
        return model
    if day.date is None:
        return None
    return model.day(model.kind_of(day.date)) if isinstance(model, Routine) else model.get(weekpart(day.date))


def _prior(model: MarkovChain | Models | Routine, chain: MarkovChain, date: dt.date | None) -> FloatArray:
    """(T, n): what the time alone says; a routine that never settles says what its days say."""
    return model.prior(date) if isinstance(model, Routine) and model.cycle is not None and date else chain.prior


def _after(model: MarkovChain | Models | Routine, chain: MarkovChain, day: Day, before: Day | None) -> IntArray:
    """(T,): the likeliest context after that of the slot before; the first slot's over the night, if that is known."""
    rows = _prior(model, chain, day.date).copy()
    for t, context in enumerate(day.contexts[:-1]):
        if context in chain.contexts:
            rows[t + 1] = chain.transition(t)[chain.index_of(context)]
    if isinstance(model, Routine) and before is not None and before.date is not None and day.date is not None:
        last = before.contexts[-1]
        if before.date + ONE_DAY == day.date and last in chain.contexts:
            rows[0] = model.night(before.date)[chain.index_of(last)]
    return np.asarray(rows.argmax(axis=1))
