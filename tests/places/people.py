"""Simulated people with known places, anywhere on Earth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.numerics import FloatArray
from discreet.places.ellipsoid import positions_around
from discreet.places.sightings import SECOND, Sightings

FIRST = 1_700_438_400
"""A Monday, 00:00 UTC."""


@dataclass(frozen=True)
class Simulated:
    """Sightings, the true place of each (-1 on the way), and where the places are, in metres around the middle."""

    sightings: Sightings
    truth: FloatArray
    spots: FloatArray
    visits: list[set[int]]


def simulated(seed: int, middle: tuple[float, float] = (48.0, 11.0), days: int = 21, every: int = 300) -> Simulated:
    """Nights at place 0, weekdays at 1, and some of the others for 30 to 90 minutes in the evening; walks between."""
    rng = np.random.default_rng(seed)
    spots = _apart(rng, 8)
    plan: list[tuple[int, int]] = []  # (minutes, place)
    for day in range(days):
        plan.append((int(rng.integers(460, 500)), 0))
        if day % 7 < 5:
            plan.append((int(rng.integers(470, 500)), 1))
        evening = rng.choice(np.arange(2, 8), 2, replace=False).tolist()
        plan.extend((int(rng.integers(30, 90)), place) for place in evening)
        spent = sum(minutes for minutes, _ in plan)
        plan.append((max((day + 1) * 1440 - spent - 60, 60), 0))
    instants, metres, truth = [], [], []
    visits: list[set[int]] = [set() for _ in spots]
    now, here = float(FIRST), 0
    for minutes, place in plan:
        way = spots[place] - spots[here]
        walk = float(np.hypot(*way)) / 1.5
        for moment in np.arange(0, walk, 60):
            instants.append(now + moment)
            metres.append(spots[here] + way * moment / walk)
            truth.append(-1)
        now += walk
        here = place
        visits[place].add(int(now - FIRST) // 86_400)
        for moment in np.arange(0, minutes * 60, every):
            instants.append(now + moment)
            metres.append(spots[place] + rng.normal(0, 12, 2))
            truth.append(place)
        now += minutes * 60
    when = (np.array(instants) * SECOND).astype(np.int64)
    where = positions_around(middle, np.array(metres))
    sightings = Sightings(when, where, np.full(len(when), -1, dtype=np.int64))
    return Simulated(sightings, np.array(truth), spots, visits)


def _apart(rng: np.random.Generator, count: int) -> FloatArray:
    """Spots in a town of 4 km, none nearer than 300 m to another."""
    spots = [np.zeros(2)]
    while len(spots) < count:
        spot = rng.uniform(-2000, 2000, 2)
        if min(np.hypot(*(spot - other)) for other in spots) > 300:
            spots.append(spot)
    return np.array(spots)
