"""Learning a routine: counts of each kind's days and of the nights between them, and the total chains they amount to.

Total (theory, section 11): every learned row is mixed with a little of a broad distribution, and `other` and `unknown`
are always contexts, so that no day is off the model. How rows are made of counts is `calibrated.py`'s matter for
`smoothing="calibrated"`, and `learn.py`'s otherwise.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal, get_args

import numpy as np

from discreet.clock import Clock
from discreet.contexts import OTHER, UNKNOWN, Day, by_frequency
from discreet.errors import DiscreetError, ModelError
from discreet.models import arrays
from discreet.models.chain.markov import MarkovChain
from discreet.models.kinds import KINDS, ONE_DAY, RULES, By
from discreet.models.learning.calibrated import EVERYTHING, Faded, HabitArrays, LearningState, Lived
from discreet.models.learning.counts import Counts, backed_off, estimate
from discreet.numerics import FloatArray, IntArray

Pair = tuple[str, str]

Learning = Literal["calibrated", "auto", "none"]
"""How rows are made of counts: so that beliefs come true as often as they say, backed off, or divided."""

FLOOR = 1e-3
"""How much of a broad distribution every learned row is mixed with; its size hardly matters (theory, section 11)."""


@dataclass(frozen=True)
class Learned:
    """What a routine was learned from, and by which rules: all that it takes to learn more.

    A kind of which there was no day has counts of zero. `until` is the last date learned of each person and the context
    of its last slot: the night that follows it is counted when the next day is learned. `recent` is there where
    `smoothing` is "calibrated".
    """

    days: Mapping[str, Counts]
    nights: Mapping[Pair, IntArray]  # (n, n): from the last slot of one kind to the first of another
    until: Mapping[str | None, tuple[dt.date, str]]
    by: By | None
    smoothing: Learning
    floor: float
    declared: tuple[str, ...] = ()  # contexts that are there whether or not they were visited
    fixed: bool = False  # contexts were given: another label is `other`
    recent: LearningState | None = None

    def __post_init__(self) -> None:
        if self.smoothing not in get_args(Learning):
            raise DiscreetError(f"smoothing={self.smoothing!r} is not known; use 'calibrated', 'auto' or 'none'")
        if isinstance(self.floor, bool) or not isinstance(self.floor, int | float) or not 0 < self.floor < 1:
            raise ModelError(f"the floor is {self.floor}; give a number above 0 and below 1, such as {FLOOR:g}")
        kinds = KINDS[self.by]
        pairs = {(a, b) for a in kinds for b in kinds}
        if set(self.days) != set(kinds) or set(self.nights) != pairs:
            raise ModelError(f"counts are of {', '.join(self.days)}; by={self.by!r} needs {', '.join(kinds)}")
        contexts, slots = self.contexts, len(next(iter(self.days.values())).transitions)
        n = len(contexts)
        for kind, counts in self.days.items():
            if counts.contexts != contexts:
                raise ModelError(f"counts of a {kind} have contexts of their own; count all days over the same")
            _checked(counts.initial, (n,), f"initial counts of a {kind}")
            _checked(counts.transitions, (slots, n, n), f"transition counts of a {kind}")
        for pair, steps in self.nights.items():
            _checked(steps, (n, n), f"counts of nights {pair}")
        for person, (_, last) in self.until.items():
            if last not in contexts:
                raise ModelError(f"the last slot learned of {_named(person)} is {last!r}, which is no context")
        if (self.recent is not None) != (self.smoothing == "calibrated"):
            raise ModelError(f"recent counts are for smoothing='calibrated' alone, and this is {self.smoothing!r}")
        if self.recent is not None and self.recent.counts.transitions.shape != (len(kinds), slots, n, n):
            raise ModelError(f"recent counts are no arrays of {len(kinds)} kinds, {slots + 1} slots and {n} contexts")

    @property
    def contexts(self) -> tuple[str, ...]:
        """The contexts that are counted."""
        return next(iter(self.days.values())).contexts

    @property
    def slots(self) -> int:
        """T."""
        return len(next(iter(self.days.values())).transitions) + 1

    @classmethod
    def of(
        cls,
        days: Iterable[Day],
        by: By | None,
        smoothing: Learning,
        floor: float,
        declared: Iterable[str],
        contexts: Iterable[str] | None,
    ) -> Learned:
        """Count days; contexts default to those seen."""
        dated = _dated(days)
        wanted = _labels(declared)
        given = None if contexts is None else arrays.labels(contexts)
        order = _ordered(by_frequency(_seen(dated.values())) if given is None else given, wanted)
        nothing = _nothing(order, len(next(iter(dated.values()))), by, smoothing, floor)
        return replace(nothing, declared=wanted, fixed=given is not None)._with(dated)

    def with_days(self, days: Iterable[Day], declared: Iterable[str] = ()) -> Learned:
        """The counts with more days, later than those counted: the same as counting all of them at once."""
        dated = _dated(days)
        for person, date in dated:
            if person not in self.until:
                people = ", ".join(sorted(_named(person) for person in self.until))
                raise DiscreetError(
                    f"the day {date} is of {_named(person)}, and the routine was learned from {people}; "
                    "learn a routine for each person"
                )
            if date <= self.until[person][0]:
                raise DiscreetError(
                    f"{date} is not after {self.until[person][0]}, the last date that was learned; give later days, "
                    "or learn again from all of them"
                )
        wanted = _labels((*self.declared, *declared))
        known = self.contexts
        if not self.fixed:
            counted = Counter(dict(zip(self.contexts, self.occupancy.tolist(), strict=True)))
            known = by_frequency(counted + _seen(dated.values()))  # a sum of counters leaves out what was never seen
        return replace(self.over(_ordered(known, wanted)), declared=wanted)._with(dated)

    @property
    def occupancy(self) -> IntArray:
        """(n,): how many slots each context filled, on days of all kinds."""
        return np.asarray(sum(counts.occupancy for counts in self.days.values()), dtype=np.int64)

    def over(self, contexts: tuple[str, ...]) -> Learned:
        """The same counts with more contexts, or the same in another order."""
        place = {label: k for k, label in enumerate(contexts)}
        at = np.array([place[label] for label in self.contexts])
        nights = {}
        for pair, steps in self.nights.items():
            nights[pair] = np.zeros((len(contexts), len(contexts)), dtype=np.int64)
            nights[pair][at[:, None], at[None, :]] = steps
        days = {kind: counts.over(contexts) for kind, counts in self.days.items()}
        recent = None if self.recent is None else self.recent.over(at, len(contexts))
        return replace(self, days=days, nights=nights, recent=recent)

    def _with(self, dated: Mapping[tuple[str | None, dt.date], Day]) -> Learned:
        """More days counted, over the contexts as they are."""
        known, kind_of = set(self.contexts), RULES[self.by].of
        rows = {key: [c if c in known else OTHER for c in day.contexts] for key, day in dated.items()}
        days = dict(self.days)
        for kind in days:
            mine = [row for (_, date), row in rows.items() if kind_of(date) == kind]
            if mine:
                days[kind] = days[kind].with_days(arrays.as_rows(mine))
        nights = {pair: steps.copy() for pair, steps in self.nights.items()}
        place = {label: k for k, label in enumerate(self.contexts)}
        number = {kind: k for k, kind in enumerate(self.days)}
        until = dict(self.until)
        lived: list[tuple[dt.date, Lived]] = []
        for (person, date), row in sorted(rows.items(), key=lambda item: (item[0][1], _named(item[0][0]))):
            codes, kind, ended = np.array([place[label] for label in row]), kind_of(date), None
            before = until.get(person)
            if before is not None and before[0] + ONE_DAY == date:
                nights[kind_of(before[0]), kind][place[before[1]], codes[0]] += 1
                ended = number[kind_of(before[0])], place[before[1]]
            until[person] = date, row[-1]
            lived.append((date, Lived(number[kind], codes, ended)))
        recent = self.recent
        if recent is not None:
            by_date = groupby(lived, key=lambda item: item[0])
            recent = recent.with_dates([[day for _, day in own] for _, own in by_date], self.contexts)
        return replace(self, days=days, nights=nights, until=until, recent=recent)


def _nothing(order: tuple[str, ...], slots: int, by: By | None, smoothing: Learning, floor: float) -> Learned:
    """Counts of zero."""
    n, kinds = len(order), KINDS[by]
    none = counts_of(smoothing, order, np.zeros(n, dtype=np.int64), np.zeros((slots - 1, n, n), dtype=np.int64))
    nights = {(a, b): np.zeros((n, n), dtype=np.int64) for a in kinds for b in kinds}
    recent = LearningState(Faded.nothing(len(kinds), slots, n), floor) if smoothing == "calibrated" else None
    return Learned(dict.fromkeys(kinds, none), nights, {}, by, smoothing, floor, recent=recent)


def counts_of(smoothing: Learning, contexts: tuple[str, ...], initial: IntArray, transitions: IntArray) -> Counts:
    """Counts of one kind of day, as a routine learned in that way holds them."""
    return Counts(contexts, initial, transitions, "auto" if smoothing == "calibrated" else smoothing, fixed=True)


def _ordered(known: Sequence[str], declared: Iterable[str]) -> tuple[str, ...]:
    """The contexts of a routine: those known, then those declared, `other` and `unknown` where missing."""
    return (*known, *(label for label in dict.fromkeys((*declared, OTHER, UNKNOWN)) if label not in known))


def _labels(declared: Iterable[str]) -> tuple[str, ...]:
    given = set(declared)
    return tuple(sorted(arrays.labels(given))) if given else ()


def _seen(days: Iterable[Day]) -> Counter[str]:
    seen: Counter[str] = Counter()
    for day in days:
        seen.update(day.contexts)
    return seen


def _dated(days: Iterable[Day]) -> dict[tuple[str | None, dt.date], Day]:
    found: dict[tuple[str | None, dt.date], Day] = {}
    for day in days:
        if not isinstance(day, Day) or day.date is None:
            raise DiscreetError("a routine is learned from dated days; give Day(contexts, date=...)")
        if (day.person, day.date) in found:
            raise DiscreetError(f"there are two days of {_named(day.person)} on {day.date}; give each date once")
        found[day.person, day.date] = day
    if not found:
        raise DiscreetError("there are no days to learn from; give at least one")
    arrays.as_rows(list(found.values()))  # all of one length, or an error that says which is not
    return found


def _named(person: str | None) -> str:
    return person or "one person"


def _checked(counts: IntArray, shape: tuple[int, ...], what: str) -> None:
    if counts.shape != shape or counts.dtype != np.int64 or (counts < 0).any():
        raise ModelError(f"{what} are no array {shape} of whole numbers from 0 on")


# --- what counts amount to


def chains_of(learned: Learned, clock: Clock | None) -> tuple[dict[str, MarkovChain], dict[Pair, FloatArray]]:
    """The chain of each kind of day, and the overnight rows of each pair; a kind without days is learned from all."""
    if learned.recent is not None:
        return chains_from(learned.recent.habits(learned.contexts), learned.contexts, tuple(learned.days), clock)
    every = _every_day(learned)
    days = {kind: counts if counts.days else every for kind, counts in learned.days.items()}
    occupancy = every.occupancy
    broad = np.asarray((1 - EVERYTHING) * occupancy / occupancy.sum() + EVERYTHING / len(occupancy))
    chains = {kind: _day_chain(counts, learned.floor, broad, clock) for kind, counts in days.items()}
    return chains, _night_rows(learned, days, broad)


def chains_from(
    rows: HabitArrays, contexts: tuple[str, ...], kinds: Sequence[str], clock: Clock | None = None
) -> tuple[dict[str, MarkovChain], dict[Pair, FloatArray]]:
    """The chain of each kind of day and the overnight rows of each pair, of habits as arrays over kinds."""
    chains = {
        kind: MarkovChain(contexts, rows.initial[k], rows.transitions[k], clock=clock) for k, kind in enumerate(kinds)
    }
    return chains, {(a, b): rows.nights[j, k] for j, a in enumerate(kinds) for k, b in enumerate(kinds)}


def _every_day(learned: Learned) -> Counts:
    several = list(learned.days.values())
    return replace(
        several[0],
        initial=np.sum([counts.initial for counts in several], axis=0),
        transitions=np.sum([counts.transitions for counts in several], axis=0),
    )


def _day_chain(counts: Counts, floor: float, broad: FloatArray, clock: Clock | None) -> MarkovChain:
    initial, transitions = estimate(counts)
    never = counts.transitions.sum(axis=(0, 2)) == 0  # never left: such a context is no trap, it leads anywhere
    transitions = np.where(never[:, None], broad, transitions)
    return MarkovChain(counts.contexts, _mixed(initial, floor, broad), _mixed(transitions, floor, broad), clock=clock)


def _night_rows(learned: Learned, days: Mapping[str, Counts], broad: FloatArray) -> dict[Pair, FloatArray]:
    """Overnight rows: of the pair of kinds, backed off to all nights, backed off to how the next kind's days begin."""
    every = np.sum(list(learned.nights.values()), axis=0)
    found = {}
    for (before, after), counts in learned.nights.items():
        first = days[after].initial / days[after].days
        if learned.smoothing == "none":
            seen = counts.sum(axis=1, keepdims=True)
            rows = np.where(seen > 0, counts / np.maximum(seen, 1), first)
        else:
            rows = backed_off(counts, every, backed_off(every, every.sum(axis=0)[None, :].repeat(len(every), 0), first))
        found[before, after] = _mixed(rows, learned.floor, broad)
    return found


def _mixed(rows: FloatArray, floor: float, broad: FloatArray) -> FloatArray:
    mixed = (1 - floor) * rows + floor * broad
    return np.asarray(mixed / mixed.sum(axis=-1, keepdims=True))
