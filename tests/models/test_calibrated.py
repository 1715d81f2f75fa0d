"""Routines learned so that beliefs come true as often as they say: the equations, the choice, and habits that drift."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from discreet.contexts import OTHER, UNKNOWN, Day
from discreet.errors import DiscreetError, ModelError
from discreet.models.chain.week import weekpart
from discreet.models.kinds import MONDAY, ONE_DAY
from discreet.models.learning.calibrated import (
    CANDIDATES,
    EVERYTHING,
    FADE,
    FIRST,
    NEW,
    NIGHTS,
    OWN,
    PRICE,
    Candidate,
    LearningState,
)
from discreet.models.learning.held_out import judged
from discreet.models.routine.routine import Routine
from discreet.models.simulate import person
from discreet.numerics import FloatArray

FLOOR = 0.01
Row = dict[str, Fraction]


def made_up(seed: int, dates: int, slots: int = 3, gaps: bool = True) -> list[Day]:
    """Days of somebody whose habits change half-way, with a few dates missing."""
    rng = np.random.default_rng(seed)
    days = []
    for k in range(dates):
        if gaps and k % 9 == 5:
            continue
        labels = ["a", "b", UNKNOWN] if k < dates // 2 else ["b", "c", UNKNOWN]
        days.append(Day(tuple(str(rng.choice(labels, p=[0.6, 0.3, 0.1])) for _ in range(slots)), MONDAY + k * ONE_DAY))
    return days


def recent_of(routine: Routine) -> LearningState:
    assert routine.learned is not None
    assert routine.learned.recent is not None
    return routine.learned.recent


# --- the slow twin: the equations of the module, in fractions, from lists of weighted steps


class Twin:
    """Habits from days, each date a factor FADE less than the next."""

    def __init__(self, days: Sequence[Day], labels: Sequence[str], candidate: Candidate, floor: float) -> None:
        self.labels, self.slots = list(labels), len(days[0])
        self.share, self.strength = Fraction(candidate.anywhere), Fraction(candidate.strength)
        self.floor = Fraction(floor)
        self.starts: list[tuple[str, str, Fraction]] = []  # kind, label, weight
        self.steps: list[tuple[str, int, str, str, Fraction]] = []  # kind, slot, from, to, weight
        self.overnight: list[tuple[str, str, str, str, Fraction]] = []  # kinds, from, to, weight
        for age, day in enumerate(reversed(days)):
            weight, kind = Fraction(FADE) ** age, weekpart(day.date)  # type: ignore[arg-type]
            self.starts.append((kind, day.contexts[0], weight))
            for t, (a, b) in enumerate(itertools.pairwise(day.contexts)):
                self.steps.append((kind, t, a, b, weight))
            before = next((one for one in days if one.date == day.date - ONE_DAY), None)  # type: ignore[operator]
            if before is not None:
                self.overnight.append((weekpart(before.date), kind, before.contexts[-1], day.contexts[0], weight))  # type: ignore[arg-type]
        self.time: Row = {
            label: sum((w for _, b, w in self.starts if b == label), Fraction(0))
            + sum((w for *_, b, w in self.steps if b == label), Fraction(0))
            for label in self.labels
        }

    def borrowed(self, counted: list[tuple[str, Fraction]], usual: Row, strength: Fraction) -> Row:
        total = sum((w for _, w in counted), Fraction(0))
        return {
            b: (sum((w for c, w in counted if c == b), Fraction(0)) + strength * usual[b]) / (total + strength)
            for b in self.labels
        }

    def elsewhere(self, a: str, shares: Row) -> Row:
        rest = sum(share for b, share in shares.items() if b != a)
        return {b: Fraction(0) if b == a else share / rest for b, share in shares.items()}

    @property
    def arrivals(self) -> Row:
        moves = [(b, w) for *_, a, b, w in self.steps if a != b]
        return self.borrowed(moves, dict.fromkeys(self.labels, Fraction(1, len(self.labels))), Fraction(1))

    @property
    def anywhere(self) -> Row:
        places = [b for b in self.labels if self.time[b] > 0 and b not in (OTHER, UNKNOWN)]
        known = 1 - self.arrivals[UNKNOWN]
        shares = {b: known * (1 - Fraction(NEW)) / len(places) if b in places else Fraction(0) for b in self.labels}
        return shares | {OTHER: known * Fraction(NEW), UNKNOWN: self.arrivals[UNKNOWN]}

    def own(self, a: str) -> Row:
        stays = []
        for label in self.labels:
            left = [(b, w) for *_, c, b, w in self.steps if c == label]
            if left:
                stays.append(sum(w for b, w in left if b == label) / sum(w for _, w in left))
        z = Fraction(sum(stays)) / len(stays)
        away = self.elsewhere(a, self.arrivals)
        base = {b: z * (a == b) + (1 - z) * away[b] for b in self.labels}
        return self.borrowed([(b, w) for *_, c, b, w in self.steps if c == a], base, Fraction(OWN))

    def floored(self, row: Row) -> Row:
        time = sum(self.time.values())
        broad = {
            b: (1 - Fraction(EVERYTHING)) * self.time[b] / time + Fraction(EVERYTHING) / len(self.labels)
            for b in self.labels
        }
        return {b: (1 - self.floor) * row[b] + self.floor * broad[b] for b in self.labels}

    def astray(self, a: str, row: Row) -> Row:
        away, leaves = self.elsewhere(a, self.anywhere), 1 - row[a]
        return {b: row[b] if a == b else (1 - self.share) * row[b] + self.share * leaves * away[b] for b in self.labels}

    def step(self, kind: str, t: int, a: str) -> Row:
        around = [(b, w) for _, u, c, b, w in self.steps if c == a and abs(u - t) <= 1]
        here = [(b, w) for k, u, c, b, w in self.steps if (k, u, c) == (kind, t, a)]
        usual = self.borrowed(around, self.own(a), self.strength)
        return self.floored(self.astray(a, self.borrowed(here, usual, self.strength)))

    def night(self, kinds: tuple[str, str], a: str) -> Row:
        every = self.borrowed([(b, w) for _, _, c, b, w in self.overnight if c == a], self.own(a), Fraction(NIGHTS))
        here = [(b, w) for j, k, c, b, w in self.overnight if (j, k) == kinds and c == a]
        return self.floored(self.astray(a, self.borrowed(here, every, Fraction(NIGHTS))))

    def first(self, kind: str) -> Row:
        total = sum(self.time.values())
        spent = {b: self.time[b] / total for b in self.labels}
        every = self.borrowed([(b, w) for _, b, w in self.starts], spent, Fraction(NIGHTS))
        row = self.borrowed([(b, w) for k, b, w in self.starts if k == kind], every, Fraction(NIGHTS))
        spread = self.anywhere
        return self.floored({b: (1 - self.share) * row[b] + self.share * spread[b] for b in self.labels})

    def log_likelihood(self, day: Day, before: Day | None) -> float:
        """Of the day's steps, the night before it included; a label not known is `other`."""

        def told(label: str) -> str:
            return label if label in self.labels else OTHER

        kind = weekpart(day.date)  # type: ignore[arg-type]
        row = self.first(kind)
        if before is not None:
            row = self.night((weekpart(before.date), kind), told(before.contexts[-1]))  # type: ignore[arg-type]
        found = math.log(row[told(day.contexts[0])])
        for t, (a, b) in enumerate(itertools.pairwise(day.contexts)):
            found += math.log(self.step(kind, t, told(a))[told(b)])
        return found


@pytest.mark.parametrize(("seed", "dates"), [(0, 3), (1, 8), (2, 17)])
def test_rows_are_those_of_a_twin_in_fractions(seed: int, dates: int) -> None:
    days = made_up(seed, dates)
    routine = Routine.fit(days, smoothing="calibrated", floor=FLOOR)
    twin = Twin(days, routine.contexts, recent_of(routine).chosen, FLOOR)

    def same(array: FloatArray, row: Row) -> None:
        np.testing.assert_allclose(array, [float(row[b]) for b in routine.contexts], atol=1e-13)

    for kind in routine.kinds:
        same(routine.day(kind).initial, twin.first(kind))
        for (k, a), t in itertools.product(enumerate(routine.contexts), range(2)):
            same(routine.day(kind).transitions[t, k], twin.step(kind, t, a))
    for pair, rows in routine.nights.items():
        for k, a in enumerate(routine.contexts):
            same(rows[k], twin.night(pair, a))


def test_the_choice_is_that_of_a_twin_who_predicts_later_dates() -> None:
    days = made_up(5, 20)
    recent = recent_of(Routine.fit(days, smoothing="calibrated", floor=FLOOR))
    scores = np.zeros(len(CANDIDATES))
    for known, until in ((7, 14), (14, len(days))):
        labels = sorted({label for day in days[:known] for label in day.contexts} | {OTHER, UNKNOWN})
        for k, candidate in enumerate(CANDIDATES):
            twin = Twin(days[:known], labels, candidate, FLOOR)
            for number in range(known, until):
                before = days[number - 1] if days[number - 1].date == days[number].date - ONE_DAY else None  # type: ignore[operator]
                scores[k] += twin.log_likelihood(days[number], before)
    np.testing.assert_allclose(recent.scores, scores, rtol=1e-12)
    assert recent.steps == (len(days) - 7) * 3
    losses = -scores / recent.steps
    good = [c for c, loss in zip(CANDIDATES, losses, strict=True) if loss <= (1 + PRICE) * losses.min()]
    most = max(candidate.anywhere for candidate in good)
    likeliest = min((loss, c) for c, loss in zip(CANDIDATES, losses, strict=True) if c.anywhere == most)
    assert recent.chosen == likeliest[1]


def test_nothing_is_judged_in_the_first_week() -> None:
    assert recent_of(Routine.fit(made_up(0, 7, gaps=False), smoothing="calibrated")).chosen == FIRST
    assert recent_of(Routine.fit(made_up(0, 8, gaps=False), smoothing="calibrated")).steps == 3


# --- what it is for


def test_later_dates_count_more() -> None:
    old, new = ("home", "gym", "home"), ("home", "cafe", "home")
    days = [Day(old if k < 40 else new, MONDAY + k * ONE_DAY) for k in range(60)]
    priors = {
        smoothing: Routine.fit(days, by=None, smoothing=smoothing).day("day").prior[1]
        for smoothing in ("auto", "calibrated")
    }
    contexts = Routine.fit(days, by=None).contexts
    gym, cafe = contexts.index("gym"), contexts.index("cafe")
    assert priors["auto"][gym] > 1.5 * priors["auto"][cafe]  # two thirds of the dates
    assert priors["calibrated"][cafe] > priors["calibrated"][gym]


def drifting(seed: int, dates: int = 120, slots: int = 12) -> list[Day]:
    """Somebody who stays where they are four slots of five, and whose favourite places change every 24 dates."""
    rng = np.random.default_rng(seed)
    days = []
    likes = rng.dirichlet(np.full(10, 0.5))
    at = 0
    for k in range(dates):
        if k % 24 == 0:
            likes = rng.dirichlet(np.full(10, 0.5))
        row = []
        for _ in range(slots):
            at = at if rng.random() < 0.8 else int(rng.choice(10, p=likes))
            row.append(f"place {at}")
        days.append(Day(tuple(row), MONDAY + k * ONE_DAY))
    return days


def calibration_error(routine: Routine, days: Sequence[Day]) -> tuple[FloatArray, FloatArray]:
    """Priors of each known place at each slot of these days, and whether it was true."""
    places = [k for k, label in enumerate(routine.contexts) if label not in (OTHER, UNKNOWN)]
    beliefs, truth = [], []
    for day in days:
        assert day.date is not None
        beliefs.append(routine.prior(day.date)[:, places].ravel())
        truth.append([label == routine.contexts[k] for label in day.contexts for k in places])
    return np.concatenate(beliefs), np.concatenate(truth).astype(np.float64)


@pytest.mark.slow("compares with a slow twin on many random cases")
def test_where_habits_drift_the_calibration_error_falls_by_a_third_and_the_likelihood_rises() -> None:
    """Seeded, hence no chance of a false alarm: 12 people, the second half of whose days is held out."""
    errors, likelihoods = {}, {}
    for smoothing in ("auto", "calibrated"):
        pairs, logs = [], []
        for seed in range(12):
            days = drifting(seed)
            routine = Routine.fit(days[:60], smoothing=smoothing)
            pairs.append(calibration_error(routine, days[60:]))
            found = judged(routine, days[60:])
            assert found.impossible == 0
            assert found.log_likelihood is not None
            logs.append(found.log_likelihood)
        beliefs, truth = (np.concatenate(arrays) for arrays in zip(*pairs, strict=True))
        of = np.digitize(beliefs, np.arange(0.05, 1, 0.05))
        gaps = [abs(beliefs[of == k].sum() - truth[of == k].sum()) for k in range(20)]
        errors[smoothing], likelihoods[smoothing] = sum(gaps) / len(beliefs), np.mean(logs)
    assert errors["calibrated"] < 2 / 3 * errors["auto"]
    assert likelihoods["calibrated"] > likelihoods["auto"]


def test_it_is_total_and_a_secret_never_visited_stays_rare() -> None:
    routine = Routine.fit(person(days=30, slots=24), smoothing="calibrated", secrets=["casino"])
    for kind in routine.kinds:
        assert (routine.day(kind).transitions > 0).all()
        assert (routine.day(kind).initial > 0).all()
    assert all((rows > 0).all() for rows in routine.nights.values())
    never = routine.contexts.index("casino")
    assert 0 < routine.prior(MONDAY)[:, never].max() < 1e-2


def test_a_kind_without_days_borrows_all_of_the_others() -> None:
    weekdays = [day for day in made_up(3, 20) if day.date is not None and day.date.weekday() < 5]
    routine = Routine.fit(weekdays, smoothing="calibrated", floor=FLOOR)
    twin = Twin(weekdays, routine.contexts, recent_of(routine).chosen, FLOOR)
    for k, a in enumerate(routine.contexts):
        expected = [float(p) for p in twin.step("weekend", 1, a).values()]
        np.testing.assert_allclose(routine.day("weekend").transitions[1, k], expected, atol=1e-13)


def test_one_slot_a_day_and_one_context_are_learned() -> None:
    routine = Routine.fit([Day((UNKNOWN,), MONDAY + k * ONE_DAY) for k in range(10)], smoothing="calibrated")
    assert routine.slots == 1
    assert routine.prior(MONDAY)[0, routine.contexts.index(UNKNOWN)] > 0.5


# --- learning on


def test_more_dates_are_the_same_as_all_at_once() -> None:
    days = made_up(4, 34)  # the label c is new half-way
    whole = Routine.fit(days, smoothing="calibrated", secrets=["casino"])
    for split in (1, 6, 7, 8, 15, 29):
        first = Routine.fit(days[:split], smoothing="calibrated", secrets=["casino"])
        assert first.updated(days[split:]).fingerprint == whole.fingerprint
    one_by_one = Routine.fit(days[:1], smoothing="calibrated", secrets=["casino"])
    for day in days[1:]:
        one_by_one = one_by_one.updated(day)
    assert one_by_one.fingerprint == whole.fingerprint
    np.testing.assert_array_equal(recent_of(one_by_one).scores, recent_of(whole).scores)


def test_days_of_several_people_on_one_date_fade_together() -> None:
    monday = [Day(("a", "b"), MONDAY, "p"), Day(("b", "b"), MONDAY, "q")]
    tuesday = [Day(("a", "a"), MONDAY + ONE_DAY, "p")]
    recent = recent_of(Routine.fit([*monday, *tuesday], smoothing="calibrated"))
    assert recent.dates == 2
    assert recent.counts.initial.sum() == 1 + 2 * FADE


# --- what is refused


def test_what_is_no_smoothing_is_refused() -> None:
    with pytest.raises(DiscreetError, match=r"smoothing='some' is not known; use 'calibrated', 'auto' or 'none'"):
        Routine.fit(made_up(0, 3), smoothing="some")  # type: ignore[call-overload]


def test_recent_counts_that_make_no_sense_are_refused() -> None:
    routine = Routine.fit(made_up(0, 9), smoothing="calibrated")
    recent = recent_of(routine)
    with pytest.raises(ModelError, match="scores of how habits predicted"):
        LearningState(recent.counts, FLOOR, scores=np.zeros(3))
    bad = type(recent.counts)(-recent.counts.initial, recent.counts.transitions, recent.counts.nights)
    with pytest.raises(ModelError, match="no numbers from 0 on"):
        LearningState(bad, FLOOR)
