"""The slot clock: at each boundary, and only then, every person's slot is decided once, written down, and told.

`turn` does all that is due at an instant that it is given; it reads no clock and tells nobody, so that tests can walk
it through any night of the year, and kill it between any two writes. Waiting and telling is the application's.

How long deciding took must not be seen: outputs leave a fixed margin after the boundary, whatever was decided; what
misses that leaves at the next multiple of the margin.
"""

from __future__ import annotations

import datetime as dt
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence

from discreet.errors import DiscreetError
from discreet.gateway.journal.base import Journal, Row
from discreet.gateway.own_store import OwnStore, Reading
from discreet.gateway.person import Drawn, Person, Settled, begun, gone_on
from discreet.places.sightings import SECOND

MARGIN = 2.0
"""Seconds from a boundary to telling."""

GRACE = 60.0
"""Seconds after a boundary within which it is still decided from the readings before it; public, hence fixed."""

AHEAD = 120.0
"""Seconds that a reading may be ahead of the clock; one further ahead is of a clock that is wrong."""

BACK = 60.0
"""Seconds that the wall clock may be behind the last boundary that was decided."""


class Keeper:
    """The people of a gateway, and their slots."""

    def __init__(
        self,
        people: Iterable[Settled],
        journal: Journal,
        own: OwnStore,
        key: bytes,
        now: float,
        *,
        grace: float = GRACE,
        margin: float = MARGIN,
        bits: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self.journal, self.own = journal, own
        self.grace, self.margin = grace, margin
        self._key, self._bits = key, bits
        self.people: Mapping[str, Person] = {one.name: self._opened(one, now) for one in people}

    def _opened(self, settled: Settled, now: float) -> Person:
        last = self.journal.last(settled.name)
        if last is not None and now < last.ends - BACK:
            raise DiscreetError(
                f"the clock says {_utc(now)}, and {settled.name}'s slot that ended {_utc(last.ends)} is decided; set "
                "the clock right, or wait"
            )
        head = self.journal.head(settled.name)
        if head is None:
            return begun(settled, self.journal, dt.datetime.fromtimestamp(now, dt.UTC), "the first")
        return gone_on(settled, self.journal, self.own, head)

    def read(self, readings: Sequence[Reading], now: float) -> tuple[int, int]:
        """Keep readings durably: how many are new, and how many were refused because they lie in the future.

        What belongs to a slot that is decided changes nothing of it; it stands in later slots as the rule says.
        """
        edge = self.latest(now)
        present = [one for one in readings if one.instant <= edge and one.person in self.people]
        return (self.own.read(present) if present else 0), len(readings) - len(present)

    def latest(self, now: float) -> float:
        """The last instant, in microseconds, that a reading may have: clocks differ, but not by more."""
        return (now + AHEAD) * SECOND

    @property
    def next(self) -> float:
        """When the next slot of anybody ends."""
        return min((person.ends for person in self.people.values()), default=math.inf)

    def turn(self, now: float) -> list[Row]:
        """Decide every slot that has ended by now, earliest first, and write it: what is returned may be told.

        A slot that ended longer ago than the grace is skipped, unless it was stamped before the machine stopped.
        """
        told: list[Row] = []
        while True:
            due = [person for person in self.people.values() if person.ends <= now]
            if not due:
                return told
            first = min(person.ends for person in due)
            together = [person for person in due if person.ends == first]
            if now - first > self.grace:
                told += self._pass([person for person in together if not person.pending])
                together = [person for person in together if person.pending]
            told += self._decide(together)

    def _pass(self, people: Sequence[Person]) -> list[Row]:
        """Skip slots that are over, one of each person, in one commit."""
        return self._write([(person, person.skipped(self._key)) for person in people])

    def _decide(self, people: Sequence[Person]) -> list[Row]:
        """Stamp, sync, draw, commit, sync: people whose slots end together share each sync."""
        if not people:
            return []
        stamps = [person.stamped(self.own, self._bits) for person in people]
        self.own.stamp(stamps)
        drawn = [(person, person.drawn(stamp, self._key)) for person, stamp in zip(people, stamps, strict=True)]
        rows = self._write(drawn)
        self.own.settle(
            (one.stamp, one.row.date, one.row.slot, one.session.private) for _, one in drawn if one.stamp is not None
        )
        return rows

    def _write(self, drawn: Sequence[tuple[Person, Drawn]]) -> list[Row]:
        rows = [one.row for _, one in drawn]
        points = [
            (one.row.stream, one.session.slot, one.session.checkpoint().to_json())
            for person, one in drawn
            if one.session.slot % person.settled.clock.slots == 0
        ]
        if rows:
            self.journal.append(rows, points)
        for person, one in drawn:
            person.take(one)
        return rows

    def prepare(self) -> None:
        """Compute everybody's next kernel, between boundaries."""
        for person in self.people.values():
            person.prepare()

    def leaves(self, row: Row, now: float) -> float:
        """When a row may leave: the first multiple of the margin after its boundary that is not past."""
        return row.ends + self.margin * max(1, math.ceil((now - row.ends) / self.margin))


def _utc(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat(timespec="seconds")
