"""Which context stands in a slot: one rule, for the command, the gateway and Spark's stream.

**One source.** A reading stands from its instant until the source's next one, but for no longer than `hold` seconds, or
than to the end of its own slot where that is later; `moving` stands for a quarter of an hour at most. Of readings at
the same instant the last by label stands, whichever came first. What a position is called, and why, is in
`places.dwell`, by whose rule files of positions are learned from too.

**Several sources.** At each instant the source with the newest *change* is believed: the one that last began to say
what it says. A source that says the same again prolongs it and has no news. Changes of more than a day (`NEWS`) before
the slot are equally old. Of equally new changes the source that the settings name first is believed. A source that says
`unknown` leaves it to the others.

**The slot.** The context that stood longest in it, of equals the one that stood last; `unknown` where none stood. A
slot that clocks skip is empty, and takes what stands at its instant.

The rule reads instants and labels, never when a reading came. A reading that comes after its slot was decided changes
nothing of that slot, and may stand in later ones like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import NamedTuple, Protocol

import numpy as np

from discreet.contexts import UNKNOWN
from discreet.live.slots import SECOND, micros
from discreet.places.dwell import MOVING_HOLDS, longest_in
from discreet.places.named import MOVING, Places
from discreet.places.sightings import APART, Sightings, coded

NEWS = 24 * 3600 * SECOND
"""How long before a slot it is told apart which source changed last."""


@dataclass(frozen=True)
class Reading:
    """What a source said: a position, a label, or both, at an instant in microseconds since 1970."""

    person: str
    source: str
    instant: int
    position: tuple[float, float] | None = None
    accuracy: float | None = None
    label: str | None = None
    since: int | None = None
    """Since when the source says this label, where it knows: before the instant, it is still the same."""


class ReadingStore(Protocol):
    """Where one person's readings lie."""

    def between(self, since: int, until: int) -> Sequence[Reading]:
        """Those from one instant to before another, in any order."""

    def before(self, source: str, instant: int) -> Reading | None:
        """The source's last position at that instant or before it."""


class Spell(NamedTuple):
    """What a source said, and how long it stands if nobody has newer news."""

    begins: int
    ends: int
    context: str
    news: int
    """When the source began to say it."""
    rank: int
    """Of sources with equally new changes the one of the lowest rank is believed."""
    source: str


@dataclass(frozen=True)
class StandingRule:
    """The rule, with what one person's settings say: how long readings stand, the map, the order of sources."""

    hold: float
    """Seconds that a reading stands when none follows."""
    places: Places = Places([])  # noqa: RUF009  never changed
    sources: tuple[str, ...] = ()

    def context(self, readings: ReadingStore, begins: int, ends: int) -> str:
        """The context of the slot between two instants, from the readings that are there when it is asked."""
        reach = begins - micros(self.hold)
        seen = readings.between(reach, ends)
        if len({one.source for one in seen}) > 1:
            seen = readings.between(reach - NEWS, ends)
        if not seen:
            return UNKNOWN
        said = [self._spells(source, readings, begins, ends) for source in self._by_source(seen)]
        if begins == ends:
            return _believed([one for spells in said for one in spells if one.begins < begins < one.ends])
        standing = [[one for one in spells if one.ends > begins and one.begins < ends] for spells in said]
        contexts = {one.context for spells in standing for one in spells}
        if len(contexts) <= 1:  # most slots, and much quicker
            return contexts.pop() if contexts else UNKNOWN
        return _longest(standing[0] if len(standing) == 1 else list(_joined(standing, begins, ends)), begins, ends)

    def believed(self, readings: ReadingStore, instant: int) -> str | None:
        """The source that is believed at an instant; None where nothing stands."""
        seen = readings.between(instant - micros(self.hold) - NEWS, instant + 1)
        said = (self._spells(source, readings, instant, instant + 1) for source in self._by_source(seen))
        newest = _newest([one for spells in said for one in spells if one.begins <= instant < one.ends])
        return None if newest is None else newest.source

    def _by_source(self, seen: Sequence[Reading]) -> list[list[Reading]]:
        """Each source's readings in order; sources as the settings name them, then by name."""
        known = {source: rank for rank, source in enumerate(self.sources)}
        ordered = sorted(
            seen, key=lambda one: (known.get(one.source, len(known)), one.source, one.instant, one.label or "")
        )
        return [list(said) for _, said in groupby(ordered, key=lambda one: one.source)]

    def _spells(self, said: list[Reading], readings: ReadingStore, begins: int, ends: int) -> list[Spell]:
        """What one source's readings in order say of the slot, each until the next."""
        rank = self.sources.index(said[0].source) if said[0].source in self.sources else len(self.sources)
        names, news = self._names(said, readings)
        found = []
        for k, (one, name) in enumerate(zip(said, names, strict=True)):
            hold = min(micros(self.hold), MOVING_HOLDS) if name == MOVING else micros(self.hold)
            until = max(one.instant + hold, ends if one.instant >= begins else begins)
            if k + 1 < len(said):
                until = min(until, said[k + 1].instant)
            if name != UNKNOWN and until > one.instant:
                known = news[k] if news[k] >= begins - NEWS else 0
                found.append(Spell(one.instant, until, name, known, rank, one.source))
        return found

    def _names(self, said: list[Reading], readings: ReadingStore) -> tuple[list[str], list[int]]:
        """What each reading of a source is called, and when the source began to say so.

        A state that is still the same is what the reading before it was, if that was of the same state: it may have
        come with a position, which says more than the label. Movement does not last unseen.
        """
        first = said[0]
        earlier = readings.before(first.source, first.instant - (0 if _still(first) else APART))
        every = said if earlier is None else [earlier, *said]
        names, news = self._called(every), [one.instant if one.since is None else one.since for one in every]
        for k, (before, one) in enumerate(pairwise(every), 1):
            unchanged = one.since is not None and before.instant >= one.since
            if unchanged and one.position is None and names[k - 1] != MOVING:
                names[k] = names[k - 1]
            if names[k] == names[k - 1]:
                news[k] = news[k - 1]
            elif unchanged:
                news[k] = one.instant
        return names[len(every) - len(said) :], news[len(every) - len(said) :]

    def _called(self, said: list[Reading]) -> list[str]:
        if all(one.position is None for one in said):
            return [one.label or UNKNOWN for one in said]
        sightings = Sightings.of(
            [one.instant for one in said], [one.position for one in said], [one.label for one in said]
        )
        found = coded(sightings, self.places)
        return [UNKNOWN if code < 0 else found.contexts[code] for code in found.codes.tolist()]


def _still(one: Reading) -> bool:
    return one.since is not None and one.since < one.instant and one.position is None


def _newest(standing: Sequence[Spell]) -> Spell | None:
    """Of what sources say at one instant, the newest change."""
    return max(standing, key=lambda one: (one.news, -one.rank), default=None)


def _believed(standing: Sequence[Spell]) -> str:
    newest = _newest(standing)
    return UNKNOWN if newest is None else newest.context


def _joined(said: Sequence[Sequence[Spell]], begins: int, ends: int) -> Iterator[Spell]:
    """What is believed of several sources from one instant to another, in order."""
    edges = sorted({begins, ends, *(edge for spells in said for one in spells for edge in one[:2])})
    at = [0] * len(said)
    for low, high in pairwise(edge for edge in edges if begins <= edge <= ends):
        standing = []
        for number, spells in enumerate(said):
            while at[number] < len(spells) and spells[at[number]].ends <= low:
                at[number] += 1
            if at[number] < len(spells) and spells[at[number]].begins <= low:
                standing.append(spells[at[number]])
        if standing:
            yield Spell(low, high, _believed(standing), 0, 0, "")


def _longest(believed: Sequence[Spell], begins: int, ends: int) -> str:
    """The context that stood longest between two instants; at no time stood more than one."""
    names = list(dict.fromkeys(one.context for one in believed))
    codes = np.array([names.index(one.context) for one in believed], dtype=np.int64)
    low, high = (np.array([one[k] for one in believed], dtype=np.int64) for k in (0, 1))
    chosen = longest_in(codes, len(names), low, high, np.array([begins, ends], dtype=np.int64))
    return names[int(chosen[0])]


class Label(NamedTuple):
    """A label at an instant, in microseconds since 1970."""

    instant: int
    label: str


@dataclass(frozen=True)
class Heard:
    """The labels of one source that whoever has no store must keep, in order: those that may still matter."""

    labels: tuple[Label, ...] = ()

    def hear(self, labels: Iterable[Label]) -> Heard:
        """Take some more, in any order, twice or once."""
        return Heard(tuple(sorted({*self.labels, *labels})))

    def since(self, opens: int, hold: float) -> Heard:
        """What matters from the slot on that begins then: the labels in it or later, and the one that stands there."""
        before = [one for one in self.labels if opens - micros(hold) <= one.instant < opens]
        return Heard((*before[-1:], *(one for one in self.labels if one.instant >= opens)))

    def between(self, since: int, until: int) -> list[Reading]:
        """As the rule asks for them."""
        return [Reading("", "", one.instant, label=one.label) for one in self.labels if since <= one.instant < until]

    def before(self, source: str, instant: int) -> None:
        """Labels alone have no positions."""
