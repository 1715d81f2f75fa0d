"""Learning habits that change, so that what a routine believes is about as often true: `smoothing="calibrated"`.

Counts are too sure in two ways. They are few, and they are of the past: people take up places and leave them. So

1. **Recent dates count more.** With every date that is learned, all counts are multiplied by `FADE`, and the date's own
   are added whole: d dates later a step counts FADE^d, half after 22 dates.
2. **Rows borrow.** With c the faded counts, s the strength, 1_a the row that stays at a, and e_a the row that leaves a
   for where moves lead on average,

       row of context a               A_a = (c_a + OWN base_a) / (|c_a| + OWN),  base_a = z 1_a + (1 - z) e_a
       at slot t, days of all kinds   W_ta = (c_{t-1,a} + c_ta + c_{t+1,a} + s A_a) / (their sum + s)
       at slot t, days of kind k      R_kta = (c_kta + s W_ta) / (|c_kta| + s)

   where z is how much contexts are stayed in, the mean over those seen. Each is the mean of a Dirichlet posterior whose
   prior mean is the row above: the fewer the counts, the more is borrowed. A night of two kinds borrows from all nights
   and those from A_a (strength `NIGHTS`); the first slot from all kinds, and those from how much time is spent where.
3. **Some departures lead anywhere.** The share v of what leaves a context is spread by u_a: to `unknown` as many as
   moves lead there, of the rest `NEW` to `other`, which stands for places not known yet, and what remains evenly over
   the places visited:

       P(a -> b) = (1 - v) R_kta(b) + v (1 - R_kta(a)) u_a(b)  for b other than a,  P(a -> a) = R_kta(a).

   How long one stays is learned well; where one goes is what changes. It moves priors by about v.
4. **s and v are chosen in time order.** What had been learned after 7, 14, 28, 56, ... dates predicts each step of
   every date until twice as many, labels that were new then being `other`. Of the candidates whose mean log-loss
   is within the share `PRICE` of the best, those with the largest v are kept, and the likeliest of these is taken:
   habits that predict nearly as well and claim less. Before the eighth date v and s are `FIRST`.

All of it is kept up date by date (`LearningState`), so that learning more dates later is the same as learning all at
once, and no day is stored. Scores are summed in alphabetical order of labels: they do not depend on how contexts are
ordered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from discreet.contexts import OTHER, UNKNOWN
from discreet.errors import ModelError
from discreet.numerics import FloatArray, IntArray

FADE = 31 / 32
"""What remains of a count when one more date is learned; exact in floats, and a half after 22 dates."""

OWN, NIGHTS = 4.0, 8.0
"""Strengths, in steps, that are not chosen: of a context's row, and of nights and first slots. They matter little."""

NEW = 0.75
"""The share of departures that lead anywhere that lead to `other`."""

EVERYTHING = 0.1
"""The share of the broad distribution that is the same for every context; the rest is the person's average."""

WEEK = 7
"""Dates after which predictions are judged for the first time."""

PRICE = 0.05
"""By which share of it the mean log-loss of habits that claim less may be larger than the best."""


class Candidate(NamedTuple):
    """Which share of departures leads anywhere, and the strength with which rows borrow, in steps."""

    anywhere: float
    strength: float


CANDIDATES = tuple(Candidate(v, s) for v in (0.0, 0.1, 0.2, 0.4, 0.6) for s in (0.5, 2.0, 8.0, 32.0))
FIRST = Candidate(0.4, 32.0)
"""What is taken while nothing could be judged."""


@dataclass(frozen=True)
class Lived:
    """One day as it is counted: the number of its kind, its contexts by number (T,), and how the day before ended."""

    kind: int
    codes: IntArray
    before: tuple[int, int] | None = None  # kind and last context; None where the date before was not lived


class HabitArrays(NamedTuple):
    """Habits as arrays, over kinds of day K."""

    initial: FloatArray  # (K, n)
    transitions: FloatArray  # (K, T-1, n, n)
    nights: FloatArray  # (K, K, n, n)


@dataclass(frozen=True)
class Faded:
    """Counts in which recent dates count more."""

    initial: FloatArray  # (K, n)
    transitions: FloatArray  # (K, T-1, n, n)
    nights: FloatArray  # (K, K, n, n)

    @classmethod
    def nothing(cls, kinds: int, slots: int, n: int) -> Faded:
        """Counts of zero."""
        return cls(np.zeros((kinds, n)), np.zeros((kinds, slots - 1, n, n)), np.zeros((kinds, kinds, n, n)))

    def with_date(self, days: Sequence[Lived]) -> Faded:
        """One more date: all that was counted fades, its days count one each."""
        initial, transitions, nights = FADE * self.initial, FADE * self.transitions, FADE * self.nights
        slot = np.arange(transitions.shape[1])
        for day in days:
            initial[day.kind, day.codes[0]] += 1
            transitions[day.kind, slot, day.codes[:-1], day.codes[1:]] += 1
            if day.before is not None:
                kind, last = day.before
                nights[kind, day.kind, last, day.codes[0]] += 1
        return Faded(initial, transitions, nights)

    def placed(self, at: IntArray, n: int) -> Faded:
        """The same counts over n contexts, the k-th of them now the at[k]-th; where that is -1 it is left out."""
        kept, to = np.flatnonzero(at >= 0), at[at >= 0]
        kinds, slots = self.initial.shape[0], self.transitions.shape[1] + 1
        new = Faded.nothing(kinds, slots, n)
        new.initial[:, to] = self.initial[:, kept]
        new.transitions[:, :, to[:, None], to] = self.transitions[:, :, kept[:, None], kept]
        new.nights[:, :, to[:, None], to] = self.nights[:, :, kept[:, None], kept]
        return new

    @property
    def occupancy(self) -> FloatArray:
        """(n,): how many slots each context filled."""
        return np.asarray(self.initial.sum(axis=0) + self.transitions.sum(axis=(0, 1, 2)))


# --- what counts amount to


def habits(counts: Faded, contexts: Sequence[str], chosen: Candidate, floor: float) -> HabitArrays:
    """The rows of the module's equations, each mixed with `floor` of a broad distribution so that none holds a zero."""
    n, occupancy = len(contexts), counts.occupancy
    time_spent = occupancy / occupancy.sum()
    steps = counts.transitions.sum(axis=(0, 1))  # (n, n): of all kinds and slots
    moves = steps - np.diag(np.diag(steps))
    arrivals = (moves.sum(axis=0) + 1 / n) / (moves.sum() + 1)
    own = _backed(steps, _base(steps, arrivals), OWN)
    days = _backed(
        counts.transitions, _backed(_around(counts.transitions.sum(axis=0)), own, chosen.strength), chosen[1]
    )
    nights = _backed(counts.nights, _backed(counts.nights.sum(axis=(0, 1)), own, NIGHTS), NIGHTS)
    first = _backed(counts.initial, _backed(counts.initial.sum(axis=0), time_spent, NIGHTS), NIGHTS)
    spread = _anywhere(contexts, occupancy, float(arrivals[contexts.index(UNKNOWN)]))
    broad = (1 - EVERYTHING) * time_spent + EVERYTHING / n
    return HabitArrays(
        _mixed((1 - chosen.anywhere) * first + chosen.anywhere * spread, floor, broad),
        _mixed(_astray(days, spread, chosen.anywhere), floor, broad),
        _mixed(_astray(nights, spread, chosen.anywhere), floor, broad),
    )


def _backed(counts: FloatArray, usual: FloatArray, strength: float) -> FloatArray:
    """Rows of counts that borrow from rows that are usual."""
    return np.asarray((counts + strength * usual) / (counts.sum(axis=-1, keepdims=True) + strength))


def _base(steps: FloatArray, arrivals: FloatArray) -> FloatArray:
    """(n, n): what is known of a context's row before it was seen: it is stayed in like others, and left likewise."""
    left = steps.sum(axis=1)
    seen = left > 0
    stays = float((np.diag(steps)[seen] / left[seen]).sum() / seen.sum()) if seen.any() else 0.5
    return np.asarray(stays * np.eye(len(steps)) + (1 - stays) * _elsewhere(arrivals))


def _elsewhere(shares: FloatArray) -> FloatArray:
    """(n, n): in row a the shares of all contexts but a."""
    rows = np.where(np.eye(len(shares), dtype=np.bool_), 0.0, shares)
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def _around(steps: FloatArray) -> FloatArray:
    """(T-1, n, n): counts of each slot with those of the slots before and after it."""
    around = steps.copy()
    around[1:] += steps[:-1]
    around[:-1] += steps[1:]
    return around


def _anywhere(contexts: Sequence[str], occupancy: FloatArray, unknown: float) -> FloatArray:
    """(n,): where a departure that leads anywhere leads; places never visited are part of `other`."""
    spread = np.zeros(len(contexts))
    places = [k for k, label in enumerate(contexts) if occupancy[k] > 0 and label not in (OTHER, UNKNOWN)]
    spread[places] = (1 - NEW) / max(1, len(places))
    spread[contexts.index(OTHER)] = NEW if places else 1.0
    spread *= 1 - unknown
    spread[contexts.index(UNKNOWN)] = unknown
    return spread


def _astray(rows: FloatArray, spread: FloatArray, share: float) -> FloatArray:
    """Rows (..., n, n) of which that share of what leaves a context leads anywhere."""
    stays = rows * np.eye(len(spread))
    leaves = rows - stays
    return np.asarray(stays + (1 - share) * leaves + share * leaves.sum(axis=-1, keepdims=True) * _elsewhere(spread))


def _mixed(rows: FloatArray, floor: float, broad: FloatArray) -> FloatArray:
    mixed = (1 - floor) * rows + floor * broad
    return np.asarray(mixed / mixed.sum(axis=-1, keepdims=True))


# --- what is kept of the dates learned, and how candidates fared


@dataclass(frozen=True)
class LearningState:
    """All that it takes to learn more dates: counts, those when predictions were last made from, and their scores."""

    counts: Faded
    floor: float
    dates: int = 0
    judged_from: Faded | None = None  # the counts after 7, 14, 28, ... dates, whichever was last
    scores: FloatArray = field(default_factory=lambda: np.zeros(len(CANDIDATES)))  # log-likelihood of each candidate
    steps: int = 0  # that were predicted

    def __post_init__(self) -> None:
        if self.scores.shape != (len(CANDIDATES),) or not np.isfinite(self.scores).all():
            raise ModelError(f"scores of how habits predicted later dates are no {len(CANDIDATES)} numbers")
        for counts in (self.counts, self.judged_from):
            for array in () if counts is None else (counts.initial, counts.transitions, counts.nights):
                if array.dtype != np.float64 or not np.isfinite(array).all() or (array < 0).any():
                    raise ModelError("counts of recent days are no numbers from 0 on")

    def over(self, at: IntArray, n: int) -> LearningState:
        """The same over n contexts, the k-th of them now the at[k]-th."""
        before = None if self.judged_from is None else self.judged_from.placed(at, n)
        return replace(self, counts=self.counts.placed(at, n), judged_from=before)

    def with_dates(self, dates: Sequence[Sequence[Lived]], contexts: Sequence[str]) -> LearningState:
        """More dates, in order, each with the days of it; predicted first, then learned."""
        now, judge = self, None
        for days in dates:
            if now.dates >= WEEK and _doubled(now.dates):
                now, judge = replace(now, judged_from=now.counts), None
            if now.judged_from is not None:
                judge = _Judge(now.judged_from, contexts, now.floor) if judge is None else judge
                added = [judge.scores(day) for day in days]
                now = replace(
                    now,
                    scores=now.scores + np.sum(added, axis=0),
                    steps=now.steps + sum(len(day.codes) for day in days),
                )
            now = replace(now, counts=now.counts.with_date(days), dates=now.dates + 1)
        return now

    @property
    def chosen(self) -> Candidate:
        """The candidate that claims least of those that predict about as well as the best."""
        if not self.steps:
            return FIRST
        means = self.scores / self.steps
        good = [k for k in range(len(CANDIDATES)) if means[k] >= (1 + PRICE) * means.max()]
        most = max(CANDIDATES[k].anywhere for k in good)
        return CANDIDATES[max((k for k in range(len(CANDIDATES)) if CANDIDATES[k].anywhere == most), key=means.item)]

    def habits(self, contexts: Sequence[str]) -> HabitArrays:
        """What the counts amount to."""
        return habits(self.counts, contexts, self.chosen, self.floor)


def _doubled(dates: int) -> bool:
    """Whether that many dates are 7, 14, 28, ..."""
    weeks, rest = divmod(dates, WEEK)
    return rest == 0 and weeks & (weeks - 1) == 0


class _Judge:
    """Every candidate's habits from the same counts, over the labels seen by then, in alphabetical order."""

    def __init__(self, counts: Faded, contexts: Sequence[str], floor: float) -> None:
        occupancy = counts.occupancy
        seen = {label for k, label in enumerate(contexts) if occupancy[k] > 0} | {OTHER, UNKNOWN}
        labels = sorted(seen)
        self.place = np.array([labels.index(label if label in seen else OTHER) for label in contexts])
        at = np.array([labels.index(label) if label in seen else -1 for label in contexts])
        known = counts.placed(at, len(labels))
        self.habits = [habits(known, labels, candidate, floor) for candidate in CANDIDATES]

    def scores(self, day: Lived) -> FloatArray:
        """(candidates,): the log-likelihood of the day's steps, the night before it included."""
        codes, slot = self.place[day.codes], np.arange(len(day.codes) - 1)
        found = np.empty(len(CANDIDATES))
        for k, rows in enumerate(self.habits):
            if day.before is None:
                first = rows.initial[day.kind, codes[0]]
            else:
                first = rows.nights[day.before[0], day.kind, self.place[day.before[1]], codes[0]]
            steps = rows.transitions[day.kind, slot, codes[:-1], codes[1:]]
            found[k] = np.log(first) + np.log(steps).sum()
        return found
