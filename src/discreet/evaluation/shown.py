"""What an observer who knows no model sees of outputs, as numbers to learn from: a row a slot, or a row a day.

No feature looks at the truth. Public is what everybody knows before any output: the hour, the weekday and, where
their other days were seen, the person. All else is read off the outputs: what is shown in a slot and around it, what
is withheld and for how long, and how much this person withholds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.contexts import Day
from discreet.errors import DiscreetError
from discreet.events import ATTRIBUTES
from discreet.given import words_for
from discreet.numerics import BoolArray, FloatArray, IntArray
from discreet.outputs import Generalized, Output, PartialEvent, Perturbed, Released, Skipped

VALUES = 200
"""Values of a column that are told apart, the most frequent first; the rest are one. Learners take up to 255."""

COUNTED = 20
"""Values that are counted over a day."""

AROUND = {"two before": -2, "before": -1, "after": 1, "two after": 2}
"""The slots around one whose outputs are looked at."""


@dataclass(frozen=True)
class Features:
    """Numbers to learn from: (N, F) values under names; `categories` are codes without an order, NaN is none."""

    names: tuple[str, ...]
    values: FloatArray
    categories: BoolArray  # (F,)

    @classmethod
    def of(cls, numbers: dict[str, FloatArray], codes: dict[str, FloatArray], rows: int) -> Features:
        """Numbers first, then codes; none at all is one column that says nothing, for learners want one."""
        columns = {**numbers, **codes} or {"nothing": np.zeros(rows)}
        kinds = np.array([name in codes for name in columns], dtype=np.bool_)
        return cls(tuple(columns), np.column_stack(list(columns.values())), kinds)

    def hstack(self, other: Features) -> Features:
        """The columns of both."""
        return Features(
            (*self.names, *other.names),
            np.hstack([self.values, other.values]),
            np.concatenate([self.categories, other.categories]),
        )

    def column(self, name: str) -> FloatArray:
        """(N,): the column of that name."""
        return self.values[:, self.names.index(name)]


class Shown:
    """The outputs of days, one person after another and each in order of time, slot after slot."""

    def __init__(self, days: Sequence[Day], outputs: Sequence[Sequence[Output]], *, by_hour: bool = True) -> None:
        _check(days, outputs, by_hour)
        self.by_hour = by_hour
        numbers = {person: k for k, person in enumerate(dict.fromkeys(day.person for day in days))}
        dated = all(day.date is not None for day in days)
        dates = [day.date.toordinal() if day.date is not None else k for k, day in enumerate(days)]
        self.order = sorted(range(len(days)), key=lambda k: (numbers[days[k].person], dates[k] if dated else k))
        ordered = [days[k] for k in self.order]
        lengths = np.array([len(day) for day in ordered], dtype=np.int64)
        self._most = int(lengths.max())  # slots of a day
        self.day_person = np.array([numbers[day.person] for day in ordered], dtype=np.int64)  # (D,)
        self.day = np.repeat(np.arange(len(ordered)), lengths)  # (N,), as are the next four
        self.person = self.day_person[self.day]
        self.slot = np.arange(len(self.day)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        self.when = np.arange(len(self.day))
        if dated and by_hour:
            self.when = np.array([dates[k] for k in self.order])[self.day] * lengths.max() + self.slot
        weekdays = [float("nan") if day.date is None else float(day.date.weekday()) for day in ordered]
        self.day_weekday = np.array(weekdays, dtype=np.float64)  # (D,)
        labels: dict[str, int] = {}
        codes = [labels.setdefault(context, len(labels)) for day in ordered for context in day.contexts]
        self._truth, self._labels = np.array(codes, dtype=np.int64), tuple(labels)
        self._read([output for k in self.order for output in outputs[k]])

    def _read(self, outputs: Sequence[Output]) -> None:
        """Outputs as columns: codes of what is told in words (0: withheld), and coordinates (NaN: withheld)."""
        met: dict[Output, int] = {}
        which = np.array([met.setdefault(output, len(met)) for output in outputs], dtype=np.int64)
        words: dict[str, list[str | None]] = {}
        points: dict[str, list[float]] = {}
        for place, output in enumerate(met):
            for name, word in _words(output).items():
                words.setdefault(name, [None] * len(met))[place] = word
            for name, number in _point(output).items():
                points.setdefault(name, [float("nan")] * len(met))[place] = number
        counts = np.bincount(which, minlength=len(met))
        self.words = {name: _coded(values, counts)[which] for name, values in words.items()}
        self.points = {name: np.array(values)[which] for name, values in points.items()}
        self.skipped = np.array([isinstance(output, Skipped) for output in met], dtype=np.bool_)[which]
        told = [codes > 0 for codes in self.words.values()] + [~np.isnan(x) for x in self.points.values()]
        self.silent: BoolArray = ~np.any(told, axis=0) if told else np.ones(len(which), dtype=np.bool_)

    @property
    def people(self) -> int:
        """How many there are."""
        return int(self.day_person.max()) + 1

    def is_in(self, contexts: Collection[str]) -> BoolArray:
        """(N,): where the truth is one of these; for those who learn and judge, not for the observer."""
        return np.array([label in contexts for label in self._labels], dtype=np.bool_)[self._truth]

    # --- a row a slot

    def public_of_slots(self, *, person: bool) -> Features:
        """What is known before any output: the hour and weekday, and perhaps the person."""
        numbers = {"hour": self.slot.astype(np.float64)} if self.by_hour else {}
        if not np.isnan(self.day_weekday).all():
            numbers["weekday"] = self.day_weekday[self.day]
        return Features.of(numbers, {"person": self.person.astype(np.float64)} if person else {}, len(self.day))

    @cached_property
    def of_slots(self) -> Features:
        """What is read off the outputs, in every slot."""
        codes, numbers = {}, dict(self._silence())
        for name, own in self.words.items():
            shown = own.astype(np.float64)
            codes[name] = shown
            codes |= {f"{name} {where}": self._moved(shown, by) for where, by in AROUND.items()}
            for which, (value, distance) in self._nearest(shown, own > 0).items():
                codes[f"{name} {which}"] = value
                numbers[f"slots to {name} {which}"] = distance
            if len(self.words) > 1:
                numbers[f"person withholds {name}"] = self._share_of(own == 0, self.person)
        for name, point in self.points.items():
            numbers[name] = point
            numbers |= {f"{name} {where}": self._moved(point, by) for where, by in AROUND.items()}
            for which, (value, distance) in self._nearest(point, ~np.isnan(point)).items():
                numbers |= {f"{name} {which}": value, f"slots to {name} {which}": distance}
        return Features.of(numbers, codes, len(self.day))

    def _silence(self) -> dict[str, FloatArray]:
        """Whether nothing is shown, for how long before and after, and how much of the day and of the person's time."""
        begins = np.ones(len(self.silent), dtype=np.bool_)
        begins[1:] = (self.silent[1:] != self.silent[:-1]) | (np.diff(self.when) != 1) | (np.diff(self.person) != 0)
        run = np.cumsum(begins) - 1
        whole, place = np.bincount(run)[run], np.arange(len(run)) - np.flatnonzero(begins)[run]
        # Longer than a day is all the same: the length of a silence without end would be a calendar.
        so_far, left = np.minimum(place + 1, self._most), np.minimum(whole - place - 1, self._most)
        return {
            "silent": self.silent.astype(np.float64),
            "skipped": self.skipped.astype(np.float64),
            "silence so far": np.where(self.silent, so_far, 0).astype(np.float64),
            "silence left": np.where(self.silent, left, 0).astype(np.float64),
            "silence length": np.where(self.silent, np.minimum(whole, self._most), 0).astype(np.float64),
            "day silent": self._share_of(self.silent, self.day),
            "person silent": self._share_of(self.silent, self.person),
        }

    @staticmethod
    def _share_of(what: BoolArray, group: IntArray) -> FloatArray:
        """(N,): how much of the slot's group it is true of."""
        return np.asarray((np.bincount(group, what) / np.bincount(group))[group])

    def _moved(self, column: FloatArray, by: int) -> FloatArray:
        """The column so many slots later; NaN where there is no such slot of the person."""
        place = np.arange(len(column)) + by
        there = (place >= 0) & (place < len(column))
        place = np.where(there, place, 0)
        there &= (self.person[place] == self.person) & (self.when[place] - self.when == by)
        return np.where(there, column[place], np.nan)

    def _nearest(self, column: FloatArray, shown: BoolArray) -> dict[str, tuple[FloatArray, FloatArray]]:
        """What was shown last before the slot, what is next after it, and how many slots away; NaN where nothing is."""
        count = len(shown)
        last = np.maximum.accumulate(np.where(shown, np.arange(count), -1))
        last = np.concatenate([[-1], last[:-1]])
        following = np.minimum.accumulate(np.where(shown, np.arange(count), count)[::-1])[::-1]
        following = np.concatenate([following[1:], [count]])
        found = {}
        for which, place in (("last", last), ("next", following)):
            there = (place >= 0) & (place < count)
            place = np.where(there, place, 0)
            there &= self.person[place] == self.person
            away = np.minimum(np.abs(self.when[place] - self.when), self._most).astype(np.float64)
            found[which] = np.where(there, column[place], np.nan), np.where(there, away, np.nan)
        return found

    # --- a row a day

    def public_of_days(self, *, person: bool) -> Features:
        """What is known of a day before any output."""
        numbers = {} if np.isnan(self.day_weekday).all() else {"weekday": self.day_weekday}
        codes = {"person": self.day_person.astype(np.float64)} if person else {}
        return Features.of(numbers, codes, len(self.day_person))

    def of_days(self, window: BoolArray) -> Features:
        """What is read off the outputs of each day in a window, (N,): how much is silent, when, and what is shown."""
        days = len(self.day_person)
        day, silent = self.day[window], self.silent[window]
        slots = np.maximum(np.bincount(day, minlength=days), 1)
        numbers = {
            "silent": np.bincount(day, silent, minlength=days) / slots,
            "person silent": self._share_of(self.silent, self.person)[np.searchsorted(self.day, np.arange(days))],
        }
        length = np.where(self.silent, self.of_slots.column("silence length"), 0.0)[window]
        numbers["longest silence"] = _largest(length, day, days)
        numbers["silence begins"] = -_largest(np.where(silent, -self.slot[window], -np.inf), day, days)
        numbers["silence ends"] = _largest(np.where(silent, self.slot[window], -np.inf), day, days)
        for name, own in self.words.items():
            for code in range(1, min(COUNTED, int(own.max(initial=0))) + 1):
                numbers[f"{name} {code}"] = np.bincount(day, own[window] == code, minlength=days) / slots
        for name, point in self.points.items():
            there = np.isfinite(point[window])
            total = np.bincount(day, np.where(there, point[window], 0.0), minlength=days)
            numbers[name] = total / np.maximum(np.bincount(day, there, minlength=days), 1)
        return Features.of(numbers, {}, days)


def _largest(values: FloatArray, day: IntArray, days: int) -> FloatArray:
    """(D,): the largest value of each day, NaN where there is none."""
    most = np.full(days, -np.inf)
    np.maximum.at(most, day, values)
    return np.where(np.isfinite(most), most, np.nan)


def _words(output: Output) -> dict[str, str | None]:
    match output:
        case Released(context):
            return {"shown": context}
        case Generalized(node):
            return {"shown": f"{node} or below"}  # apart from a context of the same name
        case PartialEvent():
            return {attribute: getattr(output, attribute) for attribute in ATTRIBUTES}
    return {}


def _point(output: Output) -> dict[str, float]:
    return {f"x{k}": value for k, value in enumerate(output.point)} if isinstance(output, Perturbed) else {}


def _coded(values: Sequence[str | None], counts: IntArray) -> IntArray:
    """Codes from 1 on by falling frequency, those beyond `VALUES` all alike, 0 for None."""
    seen: Counter[str] = Counter()
    for value, count in zip(values, counts.tolist(), strict=True):
        if value is not None:
            seen[value] += count
    code = {value: min(k, VALUES + 1) for k, value in enumerate(sorted(seen, key=lambda v: (-seen[v], v)), 1)}
    return np.array([0 if value is None else code[value] for value in values], dtype=np.int64)


def _check(days: Sequence[Day], outputs: Sequence[Sequence[Output]], by_hour: bool) -> None:
    if not days:
        raise DiscreetError("there is no day to attack; give days and what was output on them")
    if len(days) != len(outputs):
        raise DiscreetError(f"there are {len(days)} days and the outputs of {len(outputs)}; give one list a day")
    for day, own in zip(days, outputs, strict=True):
        where = f"the day of {day.person or 'a person'} on {day.date or 'a date that is not given'}"
        if isinstance(own, str | Day) or not hasattr(own, "__len__"):
            raise DiscreetError(f"{where}: its outputs are {words_for(own)}; give what was shown, one output a slot")
        if len(day) != len(own):
            raise DiscreetError(f"{where} has {len(day)} slots and {len(own)} outputs; give one output a slot")
        if by_hour and len(day) != len(days[0]):
            raise DiscreetError(
                f"{where} has {len(day)} slots, the first one {len(days[0])}; cut days with one clock, or give "
                "by_hour=False where slots are no hours"
            )
