"""People as phones see them: shifts, journeys, noise, strays, silence; with the places that they truly have.

Everything that is hard about a phone's history is here at once, at random: positions that wander by 10 to 30 m and do
so slowly, single positions that are far off, runs of them at a mast nearby, hours in which the phone is off, work at
night or in turns, and weeks in another town, perhaps over the date line or near a pole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.numerics import BoolArray, FloatArray, IntArray
from discreet.places.ellipsoid import positions_around
from discreet.places.sightings import SECOND, Sightings

FIRST = 1_700_438_400
"""A Monday, 00:00 UTC."""

TOWNS = [(48.1, 11.5), (0.0, 0.0), (-17.0, 180.0), (65.0, -179.999), (89.99, 40.0), (-90.0, 0.0), (-36.9, 174.8)]
"""Somewhere, the origin, both sides of the date line, around both poles, and where days are a day ahead."""

NEAREST = 260.0
"""Metres between two places at least: nearer ones are one place by the rules, at a radius of 100 m."""


@dataclass(frozen=True)
class Visit:
    """A time at a place, in seconds."""

    place: int
    start: float
    end: float


@dataclass(frozen=True)
class Life:
    """What the phone recorded, and what was true: where the places are (k, 2), and the visits to them."""

    sightings: Sightings
    right: BoolArray
    """(m,): which positions are no strays."""
    places: FloatArray
    visits: tuple[Visit, ...]
    story: str

    def often(self, days: int = 3, minutes: float = 30.0) -> list[int]:
        """The places that were visited on so many days, each time for so long from the first to the last position.

        Strays do not count as positions, and where the phone was off, nobody can know of the visit.
        """
        seconds = self.sightings.instants[self.right] / SECOND
        dates: dict[int, set[int]] = {}
        for one in self.visits:
            low, high = np.searchsorted(seconds, [one.start - 1e-6, one.end])
            if high > low and seconds[high - 1] - seconds[low] >= minutes * 60:
                dates.setdefault(one.place, set()).add(int(one.start) // 86_400)
        return sorted(place for place, seen in dates.items() if len(seen) >= days)


@dataclass(frozen=True)
class Town:
    """Places around a middle: the first is where nights are spent, the second where work is."""

    middle: tuple[float, float]
    spots: FloatArray
    first: int
    """The number of its first place."""


def life(seed: int) -> Life:
    """One person, all of whose traits are drawn by the seed."""
    rng = np.random.default_rng(seed)
    home = _town(rng, TOWNS[seed % len(TOWNS)], int(rng.integers(5, 10)), 0)
    shift = str(rng.choice(["day", "night", "turns"]))
    travels = bool(rng.random() < 0.4)
    elsewhere = TOWNS[(seed + int(rng.integers(1, len(TOWNS)))) % len(TOWNS)]
    away = _town(rng, elsewhere, 4, len(home.spots)) if travels else None
    days = int(rng.integers(14, 29))
    visits = list(_visits(rng, home, away, shift, days))
    every = float(rng.choice([30, 60, 120, 300, 600]))
    spread = float(rng.uniform(10, 30))
    towns = [home] if away is None else [home, away]
    seconds, metres, town = _walked(rng, visits, towns, every, spread)
    metres, right = _strayed(rng, metres)
    on = _on(rng, seconds, days)
    seconds, metres, town, right = seconds[on], metres[on], town[on], right[on]
    where = np.zeros((len(seconds), 2))
    for number, one in enumerate(towns):
        where[town == number] = positions_around(one.middle, metres[town == number])
    sightings = Sightings((seconds * SECOND).astype(np.int64), where, np.full(len(seconds), -1, dtype=np.int64))
    places = np.concatenate([positions_around(one.middle, one.spots) for one in towns])
    story = f"{shift} shifts, {days} days, each {every:g} s, {spread:.0f} m, {'travels' if travels else 'stays'}"
    return Life(sightings, right, places, tuple(visits), f"seed {seed} at {home.middle}: {story}")


def _town(rng: np.random.Generator, middle: tuple[float, float], count: int, first: int) -> Town:
    spots = [np.zeros(2)]
    while len(spots) < count:
        spot = rng.uniform(-2500, 2500, 2)
        if min(np.hypot(*(spot - other)) for other in spots) > NEAREST:
            spots.append(spot)
    return Town(middle, np.array(spots), first)


def _visits(rng: np.random.Generator, home: Town, away: Town | None, shift: str, days: int) -> list[Visit]:
    """Day after day, with ways between that take as long as they are at walking or driving pace."""
    found: list[Visit] = []
    leaves = days // 2 if away is not None else days
    now, here, town = float(FIRST), home.spots[0], home
    for day in range(days):
        if day == leaves and away is not None:
            town, here, now = away, away.spots[0], now + 10 * 3600  # a flight, in which the phone is silent
        for place, minutes in _plan(rng, len(town.spots), shift, day):
            now += float(np.hypot(*(town.spots[place] - here))) / float(rng.choice([1.4, 8.0]))
            found.append(Visit(town.first + place, now, now + 60 * minutes))
            now, here = now + 60 * minutes, town.spots[place]
    return found


def _plan(rng: np.random.Generator, count: int, shift: str, day: int) -> list[tuple[int, float]]:
    """(place, minutes) of a day, which has 24 hours with its ways: sleep, work, and some of the others."""
    others = rng.choice(np.arange(2, count), min(int(rng.integers(1, 4)), count - 2), replace=False).tolist()
    errands = [(int(place), float(rng.uniform(30, 90))) for place in others]
    works = [(1, float(rng.uniform(420, 500)))] if day % 7 < 5 else []
    late = shift == "night" or (shift == "turns" and day // 7 % 2 == 1)
    rest = 1380 - sum(minutes for _, minutes in [*errands, *works])
    if late:  # sleep by day, errands in the evening, work at night
        return [(0, rest), *errands, *works]
    return [(0, rest / 2), *works, *errands, (0, rest / 2)]


def _walked(
    rng: np.random.Generator, visits: list[Visit], towns: list[Town], every: float, spread: float
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Seconds (m,), metres (m, 2) in the town of that number (m,): on the way the phone sends each half minute."""
    parts: list[tuple[FloatArray, FloatArray, IntArray]] = []
    before: Visit | None = None
    for one in visits:
        number = int(one.place >= len(towns[0].spots))
        town = towns[number]
        spot = town.spots[one.place - town.first]
        if before is not None and (before.place >= len(towns[0].spots)) == bool(number):
            start = town.spots[before.place - town.first]
            when = np.arange(before.end, one.start, 30.0)
            along = ((when - before.end) / max(one.start - before.end, 1))[:, None]
            parts.append((when, start + along * (spot - start), np.full(len(when), number)))
        when = np.arange(one.start, one.end, every)
        parts.append((when, np.repeat(spot[None, :], len(when), axis=0), np.full(len(when), number)))
        before = one
    seconds, metres, town_of = (np.concatenate(column) for column in zip(*parts, strict=True))
    return seconds, metres + _noise(rng, seconds, spread), town_of


def _noise(rng: np.random.Generator, seconds: FloatArray, spread: float) -> FloatArray:
    """Errors of `spread` metres along each axis, of which the better half wanders over some ten minutes."""
    drift = np.zeros((len(seconds), 2))
    fresh = rng.normal(0, 1, (len(seconds), 2))
    stays = np.exp(-np.diff(seconds, prepend=seconds[0]) / 600)
    for k in range(1, len(seconds)):
        drift[k] = stays[k] * drift[k - 1] + np.sqrt(1 - stays[k] ** 2) * fresh[k]
    return np.asarray(spread * np.sqrt(0.5) * (drift + rng.normal(0, 1, (len(seconds), 2))))


def _strayed(rng: np.random.Generator, metres: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Some positions far off, single ones anywhere and runs of a few at a mast; and which are right."""
    found, right = metres.copy(), np.ones(len(metres), dtype=np.bool_)
    alone = rng.random(len(metres)) < rng.uniform(0, 0.02)
    found[alone] += rng.normal(0, 3000, (int(alone.sum()), 2))
    right[alone] = False
    for start in np.flatnonzero(rng.random(len(metres)) < 0.002).tolist():
        run = slice(start, start + int(rng.integers(2, 5)))
        found[run] = metres[start] + rng.normal(0, 1500, 2)
        right[run] = False
    return found, right


def _on(rng: np.random.Generator, seconds: FloatArray, days: int) -> BoolArray:
    """(m,): whether the phone is on; about every third day it is off for some hours."""
    found = np.ones(len(seconds), dtype=np.bool_)
    for start in (FIRST + 86_400 * rng.uniform(0, days, rng.poisson(days / 3))).tolist():
        found &= (seconds < start) | (seconds >= start + 3600 * rng.uniform(1, 8))
    return found
