"""What a map leaves unexplained: readings of the last days in no place, and where the person stays among them.

It is made of readings, so it is for the owner alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.clock import DAY_SECONDS, Clock
from discreet.errors import DataError
from discreet.gateway.store.own_store import OwnStore, Reading
from discreet.places.find import Search, find_places
from discreet.places.named import Places
from discreet.places.plane import distances
from discreet.places.shapes import CORNERS
from discreet.places.sightings import SECOND, Sightings, coded
from discreet.places.spent import spent_at

DAYS = 14
"""How far back it looks, as far as readings are kept."""

ENOUGH = 30_000
"""Readings after which no further day is looked at: one every 40 seconds for a fortnight."""

MOST = 2_000
"""Dots on a map; of more, every second, third, ... is taken."""

ACCURACY = 200.0
"""Metres: a position that may be further off says no place (as `discreet places` has it)."""

SUGGESTED = 8
"""Places that are suggested, those with most time first."""


def unexplained(own: OwnStore, person: str, places: Places, clock: Clock, hold: float, now: float) -> dict[str, Any]:
    """Of the last days: positions in no place, the share of time they are, suggestions, the time at each place."""
    kept, days = _last_days(own, person, now)
    nothing = {"dots": [], "count": 0, "share": None, "suggestions": [], "hours": {}, "days": days}
    if not kept:
        return nothing
    seen = Sightings.of([one.instant for one in kept], [one.position for one in kept], [one.label for one in kept])
    outside = np.flatnonzero(seen.placed & (seen.labels < 0) & (coded(seen, places).at < 0))
    spent = spent_at(seen, places, clock, hold)
    hours: dict[str, float] = {}
    for place, time in zip(places.places, spent.hours[: len(places)].tolist(), strict=True):
        hours[place.name] = hours.get(place.name, 0.0) + time
    step = -(-len(outside) // MOST) or 1
    return {
        "dots": np.round(seen.positions[outside[::step]], 6).tolist(),
        "count": len(outside),
        "share": spent.unexplained if spent.known else None,
        "suggestions": _suggested(seen, places, clock),
        "hours": {name: round(time, 1) for name, time in hours.items()},
        "days": days,
    }


def _last_days(own: OwnStore, person: str, now: float) -> tuple[list[Reading], int]:
    """Readings that can say a place, and of how many days: a day at a time, for slots are decided meanwhile."""
    found: list[Reading] = []
    for days in range(DAYS):
        until = now + 1 - days * DAY_SECONDS
        some = own.readings(person, round((until - DAY_SECONDS) * SECOND), round(until * SECOND))
        found[:0] = [one for one in some if one.accuracy is None or one.accuracy <= ACCURACY]
        if len(found) > ENOUGH:
            return found, days + 1
    return found, DAYS


def _suggested(seen: Sightings, places: Places, clock: Clock) -> list[dict[str, Any]]:
    """Where the person stays, and no place is; places are found among all readings, or a visit home would not count."""
    try:
        found, spent = find_places(seen, clock, Search(days=2, hours=1.0))
    except DataError:  # nobody stays anywhere, or there are only labels
        return []
    suggestions: list[dict[str, Any]] = []
    for k, place in enumerate(found.places):
        middle = place.shape.middle
        if places.at(np.array([middle]))[0] < 0:
            radius = float(distances([middle] * CORNERS, place.shape.rings[0]).max())
            hours, days = round(float(spent.hours[k]), 1), int(spent.days[k])
            suggestions.append({"middle": list(middle), "radius": round(radius), "hours": hours, "days": days})
    return sorted(suggestions, key=lambda one: -one["hours"])[:SUGGESTED]
