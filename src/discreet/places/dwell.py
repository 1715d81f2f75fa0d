"""From sightings to a context a slot: one rule, for files and for streams.

**The rule.** A sighting stands from its instant until the next one, but for no longer than `hold`, or than to the end
of its own slot where that is later. For `moving`, `MOVING_HOLDS` takes the place of a longer `hold`. A slot's context
is the one that stood longest in it; of equals, the one that stood last. Where nothing stood, it is `unknown`.

**Its reasons.** Dwell, not the last sighting: a phone sends most where it moves, and the last of a slot is often the
pavement in front of the door. Equals go to the later, which is where the person is when the slot is told. A sighting
stands until the next because phones save power by sending nothing while they lie still. It does not stand for ever,
because a phone that is off says nothing. Time that nothing is known of does not vote: a slot that is known in part is
told by that part. Movement stands for a short while only, because it is no state that lasts unseen.

Slots are intervals between instants (`Clock.start_of`), so that an hour that clocks repeat is in the slot before it
ends, as in a stream, where a slot is told once. A slot that clocks skip is empty, and takes what stands at its instant.

A slot is a function of the sightings before its end, so a stream tells it when it ends: `SlotStream` calls
`contexts_in` with one slot, a file with all.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.clock import DAY_SECONDS, Clock
from discreet.contexts import UNKNOWN
from discreet.errors import DataError
from discreet.numerics import IntArray
from discreet.places.named import MOVING, Places
from discreet.places.sightings import SECOND, Coded, Sightings, coded, remembered

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

MOVING_HOLDS = 15 * 60 * SECOND
"""How long `moving` stands when nothing follows, if it is not to the end of its slot."""


class Pieces(NamedTuple):
    """Standing time, cut at slots: in slot (k,), code (k,) stood for `length` (k,) until `end` (k,)."""

    slot: IntArray
    code: IntArray
    length: IntArray
    end: IntArray


def stand_until(found: Coded, instants: IntArray, bounds: IntArray, hold: int) -> IntArray:
    """(m,): until when each sighting would stand if none followed."""
    own = np.clip(np.searchsorted(bounds, instants, side="right"), 0, len(bounds) - 1)
    moves = found.contexts.index(MOVING) if MOVING in found.contexts else len(found.contexts)
    holds = np.where(found.codes == moves, min(hold, MOVING_HOLDS), hold)
    return np.asarray(np.maximum(instants + holds, bounds[own]))


def pieces_in(codes: IntArray, instants: IntArray, until: IntArray, bounds: IntArray) -> Pieces:
    """What stood in each slot: `bounds` (slots + 1,) are the instants at which slots start, and the end of the last."""
    end = np.minimum(until, np.append(instants[1:], np.iinfo(np.int64).max))
    known = (codes >= 0) & (end > instants)
    start, end, codes = np.maximum(instants[known], bounds[0]), np.minimum(end[known], bounds[-1]), codes[known]
    low = np.searchsorted(bounds, start, side="right") - 1
    high = np.searchsorted(bounds, end, side="left")  # the slot after the last that is touched
    count = np.where(end > start, np.maximum(high - low, 0), 0)
    of = np.repeat(np.arange(len(start)), count)
    slot = np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count) + low[of]
    since, ends = np.maximum(start[of], bounds[slot]), np.minimum(end[of], bounds[slot + 1])
    real = ends > since
    return Pieces(slot[real], codes[of][real], (ends - since)[real], ends[real])


def contexts_in(found: Coded, instants: IntArray, bounds: IntArray, hold: int) -> IntArray:
    """(slots,): the code of each slot between `bounds`, by the rule; -1 where it is unknown."""
    if not len(instants):
        return np.full(len(bounds) - 1, -1, dtype=np.int64)
    until = stand_until(found, instants, bounds, hold)
    chosen = longest_in(found.codes, len(found.contexts), instants, until, bounds)
    empty = np.flatnonzero(np.diff(bounds) == 0)
    before = np.searchsorted(instants, bounds[empty], side="left") - 1
    stands = (before >= 0) & (until[before] > bounds[empty])
    chosen[empty[stands]] = found.codes[before[stands]]
    return chosen


def longest_in(codes: IntArray, count: int, instants: IntArray, until: IntArray, bounds: IntArray) -> IntArray:
    """(slots,): which of `count` codes stood longest in each slot, of equals the later; -1 where none did."""
    chosen = np.full(len(bounds) - 1, -1, dtype=np.int64)
    pieces = pieces_in(codes, instants, until, bounds)
    key, which = np.unique(pieces.slot * count + pieces.code, return_inverse=True)
    total, last = np.zeros(len(key), dtype=np.int64), np.zeros(len(key), dtype=np.int64)
    np.add.at(total, which, pieces.length)
    np.maximum.at(last, which, pieces.end)
    slot, code = np.divmod(key, count)
    best = np.lexsort((last, total, slot))  # the last of each slot is its longest, of equals the later
    chosen[slot[best]] = code[best]
    return chosen


# --- slots as instants


def instant_of(when: dt.datetime) -> int:
    """Microseconds since 1970 of a time with a zone."""
    return (when - EPOCH) // dt.timedelta(microseconds=1)


def bounds_of(clock: Clock, first: dt.date, days: int) -> IntArray:
    """(days * slots + 1,): when the slots of these days start, and the last ends."""
    starts = [instant_of(clock.start_of(first + dt.timedelta(days=k), 0)) for k in range(days + 1)]
    even = np.arange(clock.slots, dtype=np.int64) * clock.slot_seconds * SECOND
    parts = []
    for k in range(days):
        if starts[k + 1] - starts[k] == DAY_SECONDS * SECOND:
            parts.append(starts[k] + even)
        else:  # the clocks change on this day
            date = first + dt.timedelta(days=k)
            parts.append(np.array([instant_of(clock.start_of(date, slot)) for slot in range(clock.slots)]))
    return np.concatenate([*parts, starts[-1:]]).astype(np.int64)


def dates_of(clock: Clock, sightings: Sightings) -> tuple[dt.date, int]:
    """The date of the first sighting, and how many dates there are up to the last."""
    first, last = (
        clock.locate(dt.datetime.fromtimestamp(int(instant) // SECOND, dt.UTC))[0]
        for instant in (sightings.instants[0], sightings.instants[-1])
    )
    return first, (last - first).days + 1


# --- a whole file, and slot by slot


def day_contexts(sightings: Sightings, places: Places, clock: Clock, hold: float) -> list[tuple[dt.date, list[str]]]:
    """Each date from the first sighting's to the last's, with a context a slot. `hold` is in seconds."""
    if not len(sightings):
        return []
    first, days = dates_of(clock, sightings)
    found = coded(sightings, places)
    chosen = contexts_in(found, sightings.instants, bounds_of(clock, first, days), _micros(hold))
    names = np.array([*found.contexts, UNKNOWN], dtype=object)[chosen].reshape(days, clock.slots)
    return [(first + dt.timedelta(days=k), row) for k, row in enumerate(names.tolist())]


@dataclass(frozen=True)
class _Seen:
    instant: int
    position: tuple[float, float] | None
    label: str | None


class SlotStream:
    """The same, slot by slot: `see` what comes in, in any order, and `close` each slot when it ends.

    What is seen of slots that are closed already cannot be told any more: it is left out, and counted in `late`.
    Memory is that of one slot, and of the minute before the last sighting.
    """

    def __init__(self, places: Places, clock: Clock, *, start: dt.date, slot: int = 0, hold: float = 4 * 3600) -> None:
        self._places, self._clock, self._hold = places, clock, _micros(hold)
        self.date, self.slot = start, slot
        self.late = 0
        self._begins = instant_of(clock.start_of(start, slot))
        self._before: list[_Seen] = []
        self._now: list[_Seen] = []

    def see(
        self, when: dt.datetime | int, position: tuple[float, float] | None = None, label: str | None = None
    ) -> None:
        """Take a sighting: a position, a label of the source, or both; a time with a zone, or microseconds."""
        instant = when if isinstance(when, int) else instant_of(when)
        if position is None and label is None:
            raise DataError("a sighting needs a position or a label; it has neither")
        if instant < self._begins:
            self.late += 1
        else:
            self._now.append(_Seen(instant, position, label))

    def close(self) -> str:
        """The context of the slot that ends now; the next slot begins. Later sightings wait for their slots."""
        ends = instant_of(self._clock.end_of(self.date, self.slot))
        inside = [one for one in self._now if one.instant < ends]
        self._now = [one for one in self._now if one.instant >= ends]
        seen = [*self._before, *inside]
        sightings = Sightings.of(
            [one.instant for one in seen], [one.position for one in seen], [one.label for one in seen]
        )
        found = coded(sightings, self._places)
        bounds = np.array([self._begins, ends], dtype=np.int64)
        (chosen,) = contexts_in(found, sightings.instants, bounds, self._hold).tolist()
        ordered = sorted(seen, key=lambda one: one.instant)
        self._before = ordered[remembered(sightings) :]
        self._begins = ends
        self.slot += 1
        if self.slot == self._clock.slots:
            self.date, self.slot = self.date + dt.timedelta(days=1), 0
        return UNKNOWN if chosen < 0 else found.contexts[chosen]


def _micros(hold: float) -> int:
    if not 0 <= hold <= 366 * DAY_SECONDS:  # also catches NaN
        raise DataError(f"a position cannot stand for {hold} seconds; give 0 or more, up to a year")
    return round(hold * SECOND)
