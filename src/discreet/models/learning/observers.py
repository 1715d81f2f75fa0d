"""Observers who may have learned a person's habits elsewhere: a family of routines from the person's own days.

Whoever learned the same habits saw other days, counted them otherwise, or holds what is secret to be rarer or more
common. What they believe is not known, but it can be imitated. `Adaptive(..., observers=...)` keeps its promise before
each of them; how much that helps against observers who are not among them is measured (docs/reproduce-adaptive.md).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, islice

import numpy as np

from discreet.contexts import Day
from discreet.errors import DiscreetError
from discreet.models.chain.markov import MarkovChain
from discreet.models.learning.routine import Learning
from discreet.models.routine.routine import Routine
from discreet.numerics import FloatArray

TIMES = 3.0
"""How much more likely, or less, an observer may hold each step into a secret to be."""

LEAST = 6
"""Days from which on days can be left out."""

RECENT = 1 / 3
"""The share of the last days that is recent."""


def observers_of(routine: Routine, days: Sequence[Day], most: int, *, secrets: Iterable[str] = ()) -> list[Routine]:
    """At most so many routines of observers, those that help most first; fewer where there are few days.

    Those who hold each of the `secrets` more likely than the person's routine does, and less; who saw the earlier half
    of the days, the later half, the last third; who trust counts alone; and who saw every other half of the weeks,
    drawn by a seed, for as long as more are asked for. All are over the routine's contexts and hold nothing impossible.
    """
    if most < 0:
        raise DiscreetError(f"{most} observers cannot be made; give 0 or more")
    if routine.learned is None:
        raise DiscreetError("observers are made of a routine that was learned from days; use Routine.fit")
    return list(islice(_family(routine, sorted(days, key=_date), tuple(secrets)), most))


def _family(routine: Routine, days: Sequence[Day], secrets: Sequence[str]) -> Iterator[Routine]:
    assert routine.learned is not None
    learned = routine.learned

    def fit(some: Sequence[Day], smoothing: Learning = learned.smoothing) -> Routine:
        known, declared = routine.contexts, learned.declared
        return Routine.fit(
            some, learned.by, smoothing, learned.floor, secrets=declared, contexts=known, clock=routine.clock
        )

    if secrets:
        yield tilted(routine, secrets, TIMES)
        yield tilted(routine, secrets, 1 / TIMES)
    if len(days) < LEAST:
        return
    middle = len(days) // 2
    yield fit(days[:middle])
    yield fit(days[middle:])
    yield fit(days[-max(2, round(RECENT * len(days))) :])
    if learned.smoothing != "none":
        yield fit(days, "none")
    if len(_weeks(days)) > 1:
        yield from (fit(some_weeks(days, seed)) for seed in count())


def tilted(routine: Routine, secrets: Sequence[str], times: float) -> Routine:
    """The routine of somebody who holds every step into one of the secrets so many times as likely, before rows are
    made whole again."""
    factor = np.ones(len(routine.contexts))
    for label in secrets:
        if label in routine.contexts:
            factor[routine.contexts.index(label)] = times

    def rows(given: FloatArray) -> FloatArray:
        changed = given * factor
        return np.asarray(changed / changed.sum(axis=-1, keepdims=True))

    chains = {}
    for kind in routine.kinds:
        chain = routine.day(kind)
        chains[kind] = MarkovChain(chain.contexts, rows(chain.initial), rows(chain.transitions), clock=chain.clock)
    nights = {pair: rows(steps) for pair, steps in routine.nights.items()}
    return Routine(chains, nights, kind_of=routine.rule)


def some_weeks(days: Sequence[Day], seed: int) -> list[Day]:
    """A random half of the weeks: what a bootstrap of days would vary, with the nights between days left whole."""
    weeks = _weeks(days)
    kept = {weeks[k] for k in np.random.default_rng([seed, 12]).permutation(len(weeks))[: len(weeks) // 2]}
    return [day for day in days if _week(day) in kept]


def _weeks(days: Sequence[Day]) -> list[tuple[int, int]]:
    return sorted({_week(day) for day in days})


def _week(day: Day) -> tuple[int, int]:
    assert day.date is not None
    year, week, _ = day.date.isocalendar()
    return year, week


def _date(day: Day) -> dt.date:
    if day.date is None:
        raise DiscreetError("observers are made of dated days; give Day(contexts, date=...)")
    return day.date
