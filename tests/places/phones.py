"""Two months of people as four kinds of phones record them, with the truth: every place, and when somebody was there.

- `every minute`: a position a minute, all day;
- `moves only`: a position a minute on the way, and silence while the phone lies still;
- `significant changes`: one position a stay, some minutes after the arrival, as iOS gives where no more is asked for;
- `check-ins`: one position for two of three stays, at some time within them, and never for a night at home.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import numpy as np

from discreet.clock import Clock
from discreet.numerics import FloatArray
from discreet.places import Places, Sightings, find_places
from discreet.places.dwell import bounds_of, contexts_in, dates_of
from discreet.places.ellipsoid import chords, points_of, positions_around
from discreet.places.pace import stands_for
from discreet.places.sightings import SECOND, coded

MONDAY = dt.date(2026, 3, 2)
DAYS = 60
KINDS = ("every minute", "moves only", "significant changes", "check-ins")
RIDE = 25 * 60
"""Seconds from one place to the next."""

NAMES = ("home", "work", "gym", "friend", "shop", "clinic")
"""The clinic is visited twice in the two months."""


@dataclass(frozen=True)
class Life:
    """What people have in common: where they live, how far things are, and when they go there."""

    zone: str
    town: tuple[float, float]
    metres: tuple[float, float]
    """From the middle of the town to a place, at least and at most."""
    work: tuple[float, float]
    """Hours of arriving there, and of coming back."""
    at_home: float
    """The share of working days that are spent at home."""
    gym: float
    """The share of working days with an evening there."""
    weekend: tuple[float, float]
    """Hours of leaving and of coming back."""
    noise: tuple[float, float]
    """Of a position, in degrees of latitude and longitude."""


USUAL = Life("Europe/Paris", (48.85, 2.35), (1200, 4000), (8.5, 17.5), 0.0, 0.4, (14, 18), (15 * 9.0e-6, 15 * 1.37e-5))
"""Whom the thresholds of `find_places` were chosen on: 15 m of noise along each axis."""

OTHER = Life(
    "America/Argentina/Buenos_Aires",
    (-34.6, -58.4),
    (600, 9000),
    (7.0, 15.5),
    0.4,
    0.15,
    (11, 21),
    (30 * 9.0e-6, 30 * 1.09e-5),
)
"""People of another kind, whom nothing was chosen on: 30 m of noise, two working days in five at home."""


@dataclass(frozen=True)
class Person:
    """Where the places are (n, 2), and who is where from when to when: (place, start, end) in seconds."""

    places: FloatArray
    stays: list[tuple[int, int, int]]
    life: Life


def person(seed: int, life: Life = USUAL) -> Person:
    """Weekdays at work, evenings now and then at the gym, weekends with a friend or shopping, the clinic twice."""
    chance = np.random.default_rng(seed)
    angles = chance.permutation(len(NAMES)) * (2 * np.pi / len(NAMES))
    far = chance.uniform(*life.metres, len(NAMES))
    where = positions_around(life.town, np.stack([far * np.cos(angles), far * np.sin(angles)], axis=1))
    midnight = int(dt.datetime.combine(MONDAY, dt.time(), ZoneInfo(life.zone)).timestamp())
    visits: list[tuple[int, float]] = [(0, 0.0)]
    clinic = set(chance.choice(np.arange(1, DAYS - 7), 2, replace=False).tolist())
    for day in range(DAYS):
        late = float(chance.uniform(-0.5, 0.5))
        if day % 7 < 5 and life.at_home and chance.random() < life.at_home and day not in clinic:
            continue
        out, back = life.work if day % 7 < 5 else life.weekend
        if day % 7 < 5:
            visits += [(1, 24 * day + out + late)]
            if day in clinic:
                visits += [(5, 24 * day + back - 1 + late), (0, 24 * day + back + late)]
            elif chance.random() < life.gym:
                visits += [(2, 24 * day + back + late), (0, 24 * day + back + 2 + late)]
            else:
                visits += [(0, 24 * day + back + late)]
        else:
            if day in clinic:
                visits += [(5, 24 * day + 9.5 + late), (0, 24 * day + 10.5 + late)]
            other = 3 if chance.random() < 0.5 else 4
            visits += [(other, 24 * day + out + late), (0, 24 * day + back + late)]
    starts = [midnight + int(3600 * hour) for _, hour in visits]
    ends = [start - RIDE for start in starts[1:]] + [midnight + DAYS * 86_400]
    stays = [(place, a, b) for (place, _), a, b in zip(visits, starts, ends, strict=True)]
    return Person(where, stays, life)


def recorded(one: Person, kind: str, seed: int) -> Sightings:
    """What a phone of this kind has of the person."""
    chance = np.random.default_rng(seed + 1000)
    seconds: list[int] = []
    metres: list[FloatArray] = []

    def seen(second: float, at: FloatArray) -> None:
        seconds.append(int(second))
        metres.append(at)

    for k, (place, start, end) in enumerate(one.stays):
        at = one.places[place]
        if kind == "every minute":
            for second in range(start, end, 60):
                seen(second, at)
        elif kind == "significant changes" and end - start > 900:
            seen(start + chance.uniform(120, 600), at)
        elif kind == "check-ins" and (place != 0 or end - start < 10 * 3600) and chance.random() < 2 / 3:
            seen(chance.uniform(start, end), at)
        if kind in ("every minute", "moves only") and k + 1 < len(one.stays):
            after = one.places[one.stays[k + 1][0]]
            for second in range(end, one.stays[k + 1][1] + 60, 60):
                share = min((second - end) / RIDE, 1.0)
                seen(second, at + share * (after - at))
    where = np.array(metres) + chance.normal(0, 1, (len(metres), 2)) * np.array(one.life.noise)
    order = np.argsort(seconds, kind="stable")
    instants = np.array(seconds, dtype=np.int64)[order] * SECOND
    return Sightings(instants, where[order], np.full(len(instants), -1))


@dataclass(frozen=True)
class Score:
    """How much of the truth was found."""

    found: int
    """Of the person's places, those with a place of the map within 100 m."""
    invented: int
    """Places of the map that are none of the person's."""
    explained: float
    """Of the time that somebody was at a place, the part whose hours are given that place."""
    wrong: float
    """The part that is given another place."""
    home: bool
    """Whether what is called home is home."""
    misplaced: bool
    """Whether another place is called so."""


def score(one: Person, seen: Sightings) -> Score:
    """The places found in what was seen, and the hours of the two months, against the truth."""
    clock = Clock(24, one.life.zone)
    places, _ = find_places(seen, clock)
    middles = points_of(np.array([place.shape.middle for place in places.places]))
    truth = points_of(one.places)
    distance = np.stack([chords(middles, point) for point in truth], axis=1)  # (map, person's)
    of_map = np.where(distance.min(axis=1) <= 100, distance.argmin(axis=1), -1)
    right, wrong, total = _hours(one, seen, places, of_map.tolist())
    named = [k for k, place in enumerate(places.places) if place.name == "home"]
    home = bool(named) and int(of_map[named[0]]) == 0
    return Score(
        int((distance.min(axis=0) <= 100).sum()),
        int((of_map < 0).sum()),
        right / total,
        wrong / total,
        home,
        bool(named) and not home,
    )


def _hours(one: Person, seen: Sightings, places: Places, of_map: list[int]) -> tuple[float, float, float]:
    """Seconds at places that are told rightly, told as another place, and in all."""
    clock = Clock(48, one.life.zone)
    first, days = dates_of(clock, seen)
    bounds = bounds_of(clock, first, days)
    found = coded(seen, places)
    told = contexts_in(found, seen.instants, bounds, round(stands_for(seen.instants) * SECOND))
    place_of = {place.name: of_map[k] for k, place in enumerate(places.places)}
    right = wrong = total = 0.0
    for place, start, end in one.stays:
        total += end - start
        low, high = np.searchsorted(bounds, [start * SECOND, end * SECOND], side="right") - 1
        for slot in range(max(int(low), 0), min(int(high) + 1, len(told))):
            inside = (min(end * SECOND, bounds[slot + 1]) - max(start * SECOND, bounds[slot])) / SECOND
            name = found.contexts[told[slot]] if told[slot] >= 0 else ""
            if inside > 0 and name in place_of:
                right += inside if place_of[name] == place else 0.0
                wrong += inside if place_of[name] != place else 0.0
    return right, wrong, total
