"""Slow twins of stays and of the rule from positions to slots, in plain Python, as docs/places.md words them.

They share nothing with `discreet.places`: no arrays, no compiled loop, and geometry of their own.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.clock import Clock

Point = tuple[float, float, float]


def point(latitude: float, longitude: float) -> Point:
    """A position as a point on the WGS 84 ellipsoid, by its two axes."""
    long, short = 6_378_137.0, 6_356_752.314245
    phi, lam = math.radians(latitude), math.radians(longitude)
    depth = math.hypot(long * math.cos(phi), short * math.sin(phi))
    across = long * long * math.cos(phi) / depth
    return across * math.cos(lam), across * math.sin(lam), short * short * math.sin(phi) / depth


# --- stays


def stays(
    instants: Sequence[int], points: Sequence[Point], radius: float, shortest: int, carry: int
) -> list[list[int]]:
    """A person stays while each position is within the radius of the mean of those before it in the stay, and no more
    than `carry` passes without one. A single position outside, with the next one back, is a stray.
    """
    found: list[list[int]] = []
    left = list(range(len(instants)))
    while left:
        stay = [left.pop(0)]
        while left:
            if _goes_on(stay, left[0], instants, points, radius, carry):
                stay.append(left.pop(0))
            elif len(left) > 1 and _goes_on(stay, left[1], instants, points, radius, carry):
                left.pop(0)
                stay.append(left.pop(0))
            else:
                break
        found.append(stay)
    return [stay for stay in found if instants[stay[-1]] - instants[stay[0]] >= shortest]


def _goes_on(
    stay: list[int], k: int, instants: Sequence[int], points: Sequence[Point], radius: float, carry: int
) -> bool:
    mean = [sum(points[i][axis] for i in stay) / len(stay) for axis in range(3)]
    return instants[k] - instants[stay[-1]] <= carry and math.dist(points[k], mean) <= radius


# --- slots


@dataclass(frozen=True)
class Seen:
    """A sighting, its instant in microseconds."""

    instant: int
    position: tuple[float, float] | None
    label: str | None


Circles = dict[str, tuple[float, float, float]]
"""{name: (latitude, longitude, radius)}"""


def called(seen: Sequence[Seen], k: int, places: Circles) -> str:
    """The place that holds it; else the source's label; else `moving`, where the person came at 1 m/s or faster since
    the last position at least a minute older; else `away`.
    """
    one = seen[k]
    if one.position is not None:
        here = point(*one.position)
        holding = [(radius, name) for name, (a, b, radius) in places.items() if math.dist(here, point(a, b)) <= radius]
        if holding:
            return min(holding)[1]
    if one.label is not None:
        return one.label
    assert one.position is not None
    older = [other for other in seen[:k] if other.position is not None and other.instant <= one.instant - 60_000_000]
    if not older:
        return "away"
    last = older[-1]
    assert last.position is not None
    metres, seconds = math.dist(point(*one.position), point(*last.position)), (one.instant - last.instant) / 1_000_000
    return "moving" if metres >= seconds else "away"


def slots(seen: Sequence[Seen], places: Circles, clock: Clock, carry: int) -> list[str]:
    """A sighting stands until the next one, for at most `carry` (of `moving`, 15 minutes), but to the end of its own
    slot at least. A slot's context is the one that stood longest in it; of equals, the one that stood last.
    """
    bounds = _bounds(seen, clock)
    standing = []  # (context, from, to, to if none followed)
    for k, one in enumerate(seen):
        context = called(seen, k, places)
        holds = min(carry, 15 * 60 * 1_000_000) if context == "moving" else carry
        own_end = min(end for end in bounds if end > one.instant)
        alone = max(one.instant + holds, own_end)
        until = min(alone, seen[k + 1].instant) if k + 1 < len(seen) else alone
        standing.append((context, one.instant, until, alone))
    return [_told(standing, start, end) for start, end in itertools.pairwise(bounds)]


def _bounds(seen: Sequence[Seen], clock: Clock) -> list[int]:
    """When the slots of the dates from the first sighting's to the last's begin, and the last ends."""
    first, last = (clock.locate(dt.datetime.fromtimestamp(seen[k].instant // 1_000_000, dt.UTC))[0] for k in (0, -1))
    dates = [first + dt.timedelta(days=k) for k in range((last - first).days + 1)]
    starts = [clock.start_of(date, slot) for date in dates for slot in range(clock.slots)]
    return [int(when.timestamp()) * 1_000_000 for when in [*starts, clock.end_of(last, clock.slots - 1)]]


def _told(standing: list[tuple[str, int, int, int]], start: int, end: int) -> str:
    if start == end:  # a slot that clocks skip takes what stands up to then, though another follows at that instant
        now = [context for context, since, until, alone in standing if since < start <= until and start < alone]
        return now[-1] if now else "unknown"
    time: dict[str, int] = {}
    latest: dict[str, int] = {}
    for context, since, until, _ in standing:
        here = min(until, end) - max(since, start)
        if here > 0 and context != "unknown":
            time[context] = time.get(context, 0) + here
            latest[context] = min(until, end)
    return max(time, key=lambda context: (time[context], latest[context])) if time else "unknown"
