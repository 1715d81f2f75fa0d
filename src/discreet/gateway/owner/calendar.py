"""Many days at a glance: how much was shown on each, and a week's strips. For the owner alone, like `day`."""

from __future__ import annotations

import datetime as dt
from typing import Any, NamedTuple

from cachetools import LRUCache

from discreet.clock import Clock
from discreet.gateway.runtime import Gateway
from discreet.outputs import to_wire

CACHED_DAYS = 1_000
"""Days that are over whose labels are kept, of all people together."""

MOST = 42
"""Days of one question: a month as a calendar shows it."""

STRIPS = 7
"""Days of one question with their strips."""


class DayTold(NamedTuple):
    """One day: each slot's label, empty for silence, None where nothing was decided."""

    labels: tuple[str | None, ...]

    @property
    def decided(self) -> int:
        """Slots of which something was told, be it silence."""
        return sum(one is not None for one in self.labels)

    @property
    def shown(self) -> int:
        """Slots with a label."""
        return sum(bool(one) for one in self.labels)


class CalendarDays:
    """Days that are over do not change, so that they are read once."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._over: LRUCache[tuple[str, dt.date], DayTold] = LRUCache(CACHED_DAYS)

    def told(self, person: str, clock: Clock, date: dt.date) -> DayTold:
        """What was told on a date."""
        found = self._over.get((person, date))
        if found is None:
            found = self._read(person, clock, date)
            shown = self._gateway.shown(person)
            if shown is not None and date < shown[0]:
                self._over[person, date] = found
        return found

    def _read(self, person: str, clock: Clock, date: dt.date) -> DayTold:
        labels: list[str | None] = [None] * clock.slots
        for row in self._gateway.rows(person, (date, -1), (date, clock.slots)):
            wire = to_wire(row.output)
            labels[row.slot] = str(wire.get("context", wire.get("node", "")))
        return DayTold(tuple(labels))

    def of(self, person: str, clock: Clock, dates: list[dt.date], *, strips: bool) -> list[dict[str, Any]]:
        """Each date of which something was told: how much, and its strips where they are asked for."""
        found = [(date, told) for date in dates if (told := self.told(person, clock, date)).decided]
        return [
            {"date": date.isoformat(), "shown": told.shown, "decided": told.decided}
            | (self._strips(person, date, told) if strips else {})
            for date, told in found
        ]

    def _strips(self, person: str, date: dt.date, told: DayTold) -> dict[str, Any]:
        true = self._gateway.keeper.own.truth(person, date)
        shown = [true.get(slot) if label is not None else None for slot, label in enumerate(told.labels)]
        return {"told": list(told.labels), "true": shown}
