"""The time zone that somebody lives in, by where they were at night.

`tzfpy` (the extra `[places]`) knows the zone of a position without asking anybody. Where it is not installed nothing is
known here, and zones are asked for as before.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from discreet.clock import Clock
from discreet.numerics import BoolArray, IntArray
from discreet.places.named import Places
from discreet.places.sightings import SECOND, Sightings

NIGHT = dt.time(3)
"""Where somebody is at this time of the wall clock is where they spend the night."""

STANDS = 24 * 3600
"""Seconds for which a position may say where a night was spent: a phone that lies still says nothing."""

FINE = 100
"""Positions are told apart by hundredths of a degree, about a kilometre: zones are larger than that."""

MOST = 20
"""Zones whose nights are counted, those with most positions first; a world tour has fewer."""


def can_find() -> bool:
    """Whether positions can be looked up here."""
    try:
        import tzfpy  # noqa: F401
    except ImportError:
        return False
    return True


def zone_at(latitude: float, longitude: float) -> str | None:
    """The zone of a position; None where nobody lives, where it is not known, or where tzfpy is not installed."""
    try:
        from tzfpy import get_tz
    except ImportError:
        return None
    name = get_tz(longitude, latitude)
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
    return None if not name or name.startswith("Etc/") else name


@dataclass(frozen=True)
class Zones:
    """Where nights were spent: `nights` by zone, most first; `home` is the first of them."""

    home: str
    nights: Mapping[str, int]

    def sentence(self) -> str:
        """In words: the zone, and how many nights there were elsewhere."""
        total, own = sum(self.nights.values()), self.nights.get(self.home, 0)
        if len(self.nights) < 2:
            return f"days are cut by {self.home}, where the positions are"
        others = ", ".join(name for name in list(self.nights)[:4] if name != self.home)
        return f"days are cut by {self.home}, where {own} of {total} nights were spent; there are others in {others}"

    def differs(self, zone: str, when: int) -> bool:
        """Whether another zone's wall clock shows another time than home's, in winter or summer of a year."""
        stamps = [dt.datetime.fromtimestamp(when // SECOND + days * 86_400, dt.UTC) for days in (0, 91, 182, 273)]
        offsets = [[stamp.astimezone(ZoneInfo(name)).utcoffset() for stamp in stamps] for name in (zone, self.home)]
        return offsets[0] != offsets[1]

    def warning(self, clock: Clock, when: int) -> str | None:
        """What to say where somebody gave a zone in which the nights were not spent."""
        if not self.differs(clock.zone, when):
            return None
        total, own = sum(self.nights.values()), self.nights.get(self.home, 0)
        where = f"{own} of {total} nights were" if total else "most positions are"
        return f"the time zone is {clock.zone}, but {where} in {self.home}: are days and nights cut where you live?"


def zones_of(sightings: Sightings) -> Zones | None:
    """The zones in which a person's nights were spent; None where no position says one."""
    there = np.flatnonzero(sightings.placed)
    if not len(there) or not can_find():
        return None
    cells, which = np.unique(np.round(sightings.positions[there] * FINE).astype(np.int64), axis=0, return_inverse=True)
    names = [zone_at(latitude / FINE, longitude / FINE) or "" for latitude, longitude in cells.tolist()]
    found = np.array(names, dtype=object)[which.reshape(-1)]
    counts = Counter(found.tolist())
    del counts[""]
    if not counts:
        return None
    nights = {zone: _nights(zone, sightings.instants[there], found == zone) for zone, _ in counts.most_common(MOST)}
    ranked = dict(sorted(nights.items(), key=lambda item: (-item[1], -counts[item[0]])))
    return Zones(next(iter(ranked)), {zone: count for zone, count in ranked.items() if count})


def _nights(zone: str, instants: IntArray, own: BoolArray) -> int:
    """How many nights the last position before `NIGHT` of this zone's wall clock was in the zone."""
    info, mine = ZoneInfo(zone), instants[own]
    first, last = (dt.datetime.fromtimestamp(int(one) // SECOND, info).date() for one in (mine[0], mine[-1]))
    dates = [first + dt.timedelta(days=day) for day in range((last - first).days + 2)]
    when = np.array([int(dt.datetime.combine(date, NIGHT, info).timestamp()) * SECOND for date in dates])
    before = np.searchsorted(instants, when, side="right") - 1
    known = (before >= 0) & (when - instants[before] <= STANDS * SECOND)
    return int((known & own[before]).sum())


def zone_of_places(places: Places) -> str | None:
    """The zone of a map's `home`, else of the place with most hours; None where that is not known."""
    if not places.places:
        return None

    def rank(k: int) -> tuple[bool, float]:
        hours = places.places[k].properties.get("hours")
        return places.places[k].name == "home", float(hours) if isinstance(hours, int | float) else 0.0

    best = max(range(len(places.places)), key=rank)
    return zone_at(*places.places[best].shape.middle)
