"""People with habits, for the demo, tests and benchmarks: made up, and the same for the same seed.

A person has a home, perhaps a workplace, a few regular places with their weekdays, and a hospital to go to now and
then, with the pharmacy after it in most visits: whoever hides only the hospital is given away by the pharmacy. Weekends
differ, starts and lengths jitter, and slots fall without a reading (`unknown`), more often in some places.

The same arguments give the same days on the same NumPy; its generators may change between versions.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import numpy as np

from discreet.contexts import UNKNOWN, Day
from discreet.errors import DiscreetError
from discreet.numerics import BoolArray, FloatArray, IntArray

START = dt.date(2026, 1, 5)
"""The first day, a Monday."""

HOURS = {
    "home": 1.0,
    "work": 1.0,
    "hospital": 2.2,
    "pharmacy": 0.4,
    UNKNOWN: 1.0,
    "supermarket": 0.7,
    "cafe": 0.8,
    "friend": 2.5,
    "gym": 1.5,
    "bar": 2.0,
    "union office": 1.5,
    "restaurant": 1.5,
}
"""The named places, in the order in which fewer contexts leave them out, and how long a visit lasts in hours."""

SILENCE = {"home": 0.01, "work": 0.03, "hospital": 0.12, "gym": 0.2, "bar": 0.1}
"""The chance that a reading is missing in a slot, by place; elsewhere a twentieth."""

NOT_CHOSEN = ("home", "work", "hospital", "pharmacy", UNKNOWN, "union office")
"""Places that nobody picks for an outing: they have times of their own."""


def person(
    name: str = "p1",
    days: int = 100,
    slots: int = 48,
    contexts: int = 12,
    seed: int = 0,
    start: dt.date = START,
) -> list[Day]:
    """One person's days, dated from `start`."""
    labels, drawn = codes(1, days, slots, contexts, seed, start)
    return _days(name, labels, drawn[0], start)


def people(count: int, days: int, slots: int = 48, contexts: int = 12, seed: int = 0) -> dict[str, list[Day]]:
    """The days of several people, by name: p1, p2, ..., with leading zeros so that names sort."""
    labels, drawn = codes(count, days, slots, contexts, seed)
    width = len(str(count))
    names = [f"p{number:0{width}d}" for number in range(1, count + 1)]
    return {name: _days(name, labels, rows, START) for name, rows in zip(names, drawn, strict=True)}


def codes(
    count: int, days: int, slots: int = 48, contexts: int = 12, seed: int = 0, start: dt.date = START
) -> tuple[tuple[str, ...], IntArray]:
    """The labels, and (count, days, slots) indices of them.

    The days are cut at midnight. Four contexts are home, work, hospital and pharmacy; the fifth is `unknown`; from the
    thirteenth on they are "place 13", "place 14", ...
    """
    for what, value, least in (("people", count, 1), ("days", days, 1), ("slots", slots, 1), ("contexts", contexts, 4)):
        if value < least:
            raise DiscreetError(f"{value} {what} cannot be simulated; give at least {least}")
    labels = (*HOURS, *(f"place {number}" for number in range(13, contexts + 1)))[:contexts]
    rng = np.random.default_rng(seed)
    habits = _Habits.drawn(labels, count, rng)
    diary = _Diary(labels, habits, (start.weekday() + np.arange(days)) % 7, slots, rng)
    _live(diary, habits)
    return labels, diary.codes.astype(np.int64)


def _days(name: str, labels: tuple[str, ...], rows: IntArray, start: dt.date) -> list[Day]:
    return [
        Day(tuple(map(labels.__getitem__, row)), start + dt.timedelta(days=number), name)
        for number, row in enumerate(rows.tolist())
    ]


@dataclass(frozen=True)
class _Habits:
    """What P people do, R being the places that they choose among: hours and chances are (P, 1)."""

    works: BoolArray
    leaves: FloatArray  # hour of leaving home on a working day
    at_work: FloatArray  # hours
    coffee: FloatArray  # chance of a cafe on the way to work
    lunch: FloatArray  # chance of lunch outside
    appointment: FloatArray  # hour of the hospital's appointments
    illness: FloatArray  # hospital visits a day
    switched_off: BoolArray  # the phone is off at night
    silence: FloatArray  # factor on missing readings
    taste: FloatArray  # (P, R): cumulative share of each place among outings
    plan: IntArray  # (P, 7, 2): the usual place of each weekday's two outings
    after: IntArray  # (P, n): where one goes on to from a place

    @classmethod
    def drawn(cls, labels: tuple[str, ...], count: int, rng: np.random.Generator) -> _Habits:
        def between(low: float, high: float) -> FloatArray:
            return rng.uniform(low, high, (count, 1))

        chosen = np.array([k for k, label in enumerate(labels) if label not in NOT_CHOSEN], dtype=np.int64)
        liking = rng.gamma(0.6, size=(count, max(len(chosen), 1))) + 1e-3
        taste = np.cumsum(liking / liking.sum(axis=1, keepdims=True), axis=1)
        pick = chosen if len(chosen) else np.zeros(1, dtype=np.int64)  # nowhere to go but home
        return cls(
            works=rng.random((count, 1)) < 0.85,
            leaves=between(7.0, 9.2),
            at_work=between(7.5, 9.5),
            coffee=between(0.0, 0.5),
            lunch=between(0.1, 0.8),
            appointment=rng.choice([9.5, 11.0, 15.0], (count, 1)),
            illness=between(0.042, 0.064),
            switched_off=rng.random((count, 1)) < 0.15,
            silence=between(0.4, 1.6),
            taste=taste,
            plan=pick[_picked(taste, rng.random((count, 14)))].reshape(count, 7, 2),
            after=pick[_picked(taste, rng.random((count, len(labels))))],
        )


def _picked(cumulative: FloatArray, uniform: FloatArray) -> IntArray:
    """(P, X) indices into the places of each person's cumulative shares (P, R), for (P, X) uniform numbers."""
    below = cumulative[:, None, :-1] <= uniform[:, :, None]
    return np.asarray(below.sum(axis=2), dtype=np.int64)


class _Diary:
    """The days being written: home everywhere until somebody goes somewhere."""

    def __init__(
        self, labels: tuple[str, ...], habits: _Habits, weekdays: IntArray, slots: int, rng: np.random.Generator
    ) -> None:
        self.shape = len(habits.works), len(weekdays)
        self.codes = np.zeros((*self.shape, slots), dtype=np.int16)
        self.index = {label: k for k, label in enumerate(labels)}
        self.hours = np.array([HOURS.get(label, 1.2) for label in labels])
        self.silence = np.array([SILENCE.get(label, 0.05) for label in labels], dtype=np.float32)
        self.weekdays = weekdays
        self.rng = rng

    def slot(self, hour: FloatArray | float, spread: float) -> IntArray:
        """(P, D): the slot of an hour of the day, give or take."""
        hours = hour + spread * self.rng.standard_normal(self.shape)
        return np.floor(hours * self.codes.shape[2] / 24).astype(np.int64)

    def chance(self, probability: FloatArray | float) -> BoolArray:
        """(P, D): true that often."""
        return np.asarray(self.rng.random(self.shape) < probability)

    def now_and_then(self, rate: FloatArray | float, when: BoolArray) -> BoolArray:
        """(P, D): at that rate a day on days when it may be, at uneven intervals but without long droughts."""
        hazard = rate * self.rng.uniform(0.4, 1.6, self.shape) * when / max(when.mean(), 1e-9)
        due = np.floor(np.cumsum(hazard, axis=1) + self.rng.random((self.shape[0], 1)))
        return np.asarray(np.diff(due, axis=1, prepend=0) > 0)

    def stay(self, place: IntArray | int, first: IntArray, last: IntArray, when: BoolArray) -> None:
        """Be at a place from slot first to before slot last."""
        rows = np.nonzero(when)
        slots = np.arange(self.codes.shape[2])
        there = (slots >= first[rows][:, None]) & (slots < last[rows][:, None])
        places = np.broadcast_to(np.asarray(place, dtype=np.int16), self.shape)[rows]
        self.codes[rows] = np.where(there, places[:, None], self.codes[rows])

    def visit(self, place: IntArray | int | str, first: IntArray, when: BoolArray) -> IntArray:
        """Stay as long as such visits last, at least a slot; (P, D): the slot after it, or first where nobody went."""
        if isinstance(place, str):
            if place not in self.index:
                return first
            place = self.index[place]
        hours = np.broadcast_to(self.hours[place], self.shape) * self.rng.lognormal(0.0, 0.25, self.shape)
        slots = np.maximum(1, np.rint(hours * self.codes.shape[2] / 24)).astype(np.int64)
        last = np.where(when, first + slots, first)
        self.stay(place, first, last, when)
        return last


def _live(diary: _Diary, habits: _Habits) -> None:
    """Write everybody's days, what matters most last: it paints over the rest."""
    weekday = np.broadcast_to(diary.weekdays < 5, diary.shape)
    working = weekday & habits.works & diary.chance(0.96)
    free = ~working
    leaves = diary.slot(habits.leaves, 0.3)
    back = np.maximum(diary.slot(habits.leaves + habits.at_work, 0.5), leaves + 1)
    arrived = diary.visit("cafe", leaves, working & diary.chance(habits.coffee))
    diary.stay(diary.index["work"], arrived, back, working)
    diary.visit("restaurant", diary.slot(12.4, 0.3), working & diary.chance(habits.lunch))
    home = _outing(diary, habits, 1, back, working & diary.chance(0.7))
    _outing(diary, habits, 0, diary.slot(10.8, 0.9), free & diary.chance(0.85))
    _outing(diary, habits, 1, diary.slot(17.5, 1.5), free & diary.chance(0.8))
    diary.visit("pharmacy", home, diary.chance(0.005))
    _sensitive(diary, habits, weekday)
    _fall_silent(diary, habits)


def _outing(diary: _Diary, habits: _Habits, which: int, first: IntArray, when: BoolArray) -> IntArray:
    """The weekday's usual place or another, and perhaps one more on the way; the slot after it."""
    if not set(diary.index) - set(NOT_CHOSEN):
        return first
    usual = habits.plan[:, diary.weekdays, which]
    others = habits.plan.reshape(len(usual), -1)[np.arange(len(usual))[:, None], diary.rng.integers(0, 14, diary.shape)]
    place = np.where(diary.chance(0.75), usual, others)
    first = diary.visit(place, first, when)
    onwards = np.take_along_axis(habits.after, place, axis=1)
    return diary.visit(onwards, first, when & (onwards != place) & diary.chance(0.4))


def _sensitive(diary: _Diary, habits: _Habits, weekday: BoolArray) -> None:
    """The union's evenings, mostly with a bar after; the hospital, mostly with the pharmacy after."""
    meeting = diary.now_and_then(0.03, np.broadcast_to(diary.weekdays == 3, diary.shape))
    out = diary.visit("union office", diary.slot(18.5, 0.3), meeting)
    diary.visit("bar", out, meeting & diary.chance(0.7))
    treated = diary.now_and_then(habits.illness, weekday)
    out = diary.visit("hospital", diary.slot(habits.appointment, 0.4), treated)
    diary.visit("pharmacy", out, treated & diary.chance(0.88))


def _fall_silent(diary: _Diary, habits: _Habits) -> None:
    """Readings that are missing: here and there, for a while; and all night where the phone is switched off."""
    if UNKNOWN not in diary.index:
        return
    unknown = diary.index[UNKNOWN]
    risk = diary.silence[diary.codes] * habits.silence[:, :, None].astype(np.float32)
    lost = diary.rng.random(diary.codes.shape, dtype=np.float32) < risk
    lasting = diary.rng.random(diary.codes.shape, dtype=np.float32) < 0.4
    lost[:, :, 1:] |= lost[:, :, :-1] & lasting[:, :, 1:]
    diary.codes[lost] = unknown
    night = habits.switched_off & diary.chance(0.9)
    diary.stay(unknown, np.zeros(diary.shape, dtype=np.int64), diary.slot(6.5, 0.3), night)
