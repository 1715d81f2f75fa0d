"""Stays and places against trackintel's staypoints and locations, on recordings of real people, same parameters.

Neither is part of the project. `DISCREET_POSITIONS` names a table with user, timestamp (epoch seconds), lat and lon,
such as GeoLife's; `DISCREET_TRACKINTEL` a Python that has trackintel, in an environment of its own. Without them there
is nothing to compare. Only counts and shares are printed.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from discreet.clock import Clock
from discreet.data import SightingColumns, read_sightings
from discreet.errors import DataError
from discreet.numerics import FloatArray, IntArray
from discreet.places import Search, Sightings, find_places
from discreet.places.ellipsoid import chords, points_of
from discreet.places.sightings import SECOND
from discreet.places.stays import stays_of

GAP = 4 * 3600.0
SEARCH = Search(radius=100.0, minutes=10.0, days=3, hours=2.0, gap=GAP)
CLOCK = Clock(48, "Asia/Shanghai")


@dataclass(frozen=True)
class Found:
    """One person's stays, and the places that are kept: (k,) microseconds, (k, 3) and (n, 3) points."""

    start: IntArray
    end: IntArray
    middle: FloatArray
    places: FloatArray


def main() -> None:
    """Print how far both agree, and their times."""
    source, python = os.environ.get("DISCREET_POSITIONS"), os.environ.get("DISCREET_TRACKINTEL")
    if not source or not Path(source).exists():
        print("nothing to compare: DISCREET_POSITIONS names no file of positions, such as GeoLife's")
        return
    if not python or not Path(python).exists():
        print("nothing to compare: DISCREET_TRACKINTEL names no Python that has trackintel")
        return
    people = dict(read_sightings(source, columns=SightingColumns(context=None)).people)
    ours, seconds = found_here(people)
    theirs, told = found_there(people, python)
    print(
        f"{len(people)} people, {sum(map(len, people.values()))} positions; stays of {SEARCH.minutes:g} minutes within "
        f"{SEARCH.radius:g} m, silence up to {GAP / 3600:g} h\n"
        f"discreet: stays {seconds['stays']:.2f} s, all of places with names {seconds['places']:.2f} s\n"
        f"trackintel {told['version']}: staypoints {told['stays']:.1f} s, locations {told['locations']:.1f} s"
    )
    print("its staypoints as they are, which last until the next position elsewhere:")
    compare(ours, {person: _kept(own, "end") for person, own in theirs.items()})
    print("until their last position, as stays do here:")
    theirs_here = {person: _kept(own, "last") for person, own in theirs.items()}
    compare(ours, theirs_here)
    print("and by its rule here too: distances from a stay's first position, strays end it, silence drops it:")
    compare({person: plain_stays(seen) for person, seen in people.items()}, theirs_here)


def found_here(people: dict[str, Sightings]) -> tuple[dict[str, Found], dict[str, float]]:
    """What this project finds, and in which time; compiled beforehand."""
    shortest, gap = round(SEARCH.minutes * 60 * SECOND), round(GAP * SECOND)
    stays_of(np.arange(2), np.zeros((2, 3)), 1.0, 1, 1)
    found, seconds = {}, {"stays": 0.0, "places": 0.0}
    for person, seen in people.items():
        began = time.perf_counter()
        stays = stays_of(seen.instants, points_of(seen.positions), SEARCH.radius, shortest, gap)
        seconds["stays"] += time.perf_counter() - began
        began = time.perf_counter()
        try:
            places = points_of([place.shape.middle for place in find_places(seen, CLOCK, SEARCH)[0].places])
        except DataError:  # nobody stays, or no place is kept
            places = np.empty((0, 3))
        seconds["places"] += time.perf_counter() - began
        found[person] = Found(stays.start, stays.end, stays.middle, places)
    return found, seconds


def found_there(people: dict[str, Sightings], python: str) -> tuple[dict[str, pl.DataFrame], dict[str, float]]:
    """What trackintel finds: staypoints, each with the middle of its location."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("positions.csv", "stays.csv", "locations.csv")]
        pl.concat(
            pl.DataFrame({"user": [person] * len(seen), "timestamp": seen.instants // SECOND}).with_columns(
                latitude=pl.Series(seen.positions[:, 0]), longitude=pl.Series(seen.positions[:, 1])
            )
            for person, seen in people.items()
        ).write_csv(paths[0])
        given = [str(SEARCH.radius), str(SEARCH.minutes), str(GAP / 60)]
        command = [python, str(Path(__file__).with_name("_trackintel.py")), str(paths[0]), *given]
        ran = subprocess.run([*command, *map(str, paths[1:])], check=True, capture_output=True, text=True)
        stays = pl.read_csv(paths[1], schema_overrides={"user": pl.String})
        stays = stays.join(pl.read_csv(paths[2]), on="location", suffix="_of").sort("start")
    return {person: stays.filter(user=person) for person in people}, json.loads(ran.stdout)


def _kept(stays: pl.DataFrame, end: str) -> Found:
    """Its staypoints that are long enough when they end there, and of its locations those that our rule would keep."""
    stays = stays.filter(pl.col(end) - pl.col("start") >= SEARCH.minutes * 60 * SECOND)
    day = pl.from_epoch("start", time_unit="us").dt.replace_time_zone("UTC").dt.convert_time_zone(CLOCK.zone).dt.date()
    kept = stays.group_by("location").agg(
        pl.col("latitude_of", "longitude_of").first(),
        days=day.n_unique(),
        hours=(pl.col(end) - pl.col("start")).sum() / (3600 * SECOND),
    )
    kept = kept.filter((pl.col("days") >= SEARCH.days) | (pl.col("hours") >= SEARCH.hours))
    middles = points_of(stays.select("latitude", "longitude").to_numpy()).reshape(-1, 3)
    places = points_of(kept.select("latitude_of", "longitude_of").to_numpy()).reshape(-1, 3)
    return Found(stays["start"].to_numpy(), stays[end].to_numpy(), middles, places)


def compare(ours: dict[str, Found], theirs: dict[str, Found]) -> None:
    """Print the shares of each that the other has: stays at that time and place, and places."""
    for word, one, other in (("discreet", ours, theirs), ("trackintel", theirs, ours)):
        stays = [has for person in one for has in stays_shared(one[person], other[person])]
        places = [bool((chords(other[p].places, spot) <= SEARCH.radius).any()) for p in one for spot in one[p].places]
        print(f"  {word}: {len(stays)} stays, {hours(one):.0f} hours, {np.mean(stays):.1%} the other's too", end="")
        compared = any(len(found.places) for found in other.values()) and places
        print(f"; {len(places)} places, {np.mean(places):.1%} the other's too" if compared else "")
    both = sum(common(ours[person], theirs[person]) for person in ours) / (3600 * SECOND)
    print(f"  of the hours that either has, both have {both / (hours(ours) + hours(theirs) - both):.1%}")


def hours(found: dict[str, Found]) -> float:
    """In stays."""
    return sum(int((own.end - own.start).sum()) for own in found.values()) / (3600 * SECOND)


def plain_stays(seen: Sightings) -> Found:
    """Stays by trackintel's rule: while positions are near the first; what a long silence ends is none. No places."""
    instants, points = seen.instants.tolist(), points_of(seen.positions)
    found, start = [], 0
    for k in range(1, len(instants) + 1):
        if k < len(instants) and instants[k] - instants[k - 1] > GAP * SECOND:
            start = k
        elif k == len(instants) or np.linalg.norm(points[k] - points[start]) > SEARCH.radius:
            found.append((start, k))
            start = k
    long = [(a, b) for a, b in found if instants[b - 1] - instants[a] >= SEARCH.minutes * 60 * SECOND]
    first, last = (np.array([instants[k] for k in ends], dtype=np.int64) for ends in _ends(long))
    middle = np.array([points[a:b].mean(axis=0) for a, b in long]).reshape(-1, 3)
    return Found(first, last, middle, np.empty((0, 3)))


def _ends(stays: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [a for a, _ in stays], [b - 1 for _, b in stays]


def stays_shared(one: Found, other: Found) -> Iterator[bool]:
    """For each stay, whether the other has one at that time and within the radius."""
    for start, end, middle in zip(one.start, one.end, one.middle, strict=True):
        meets = (other.start < end) & (other.end > start)
        yield bool((chords(other.middle[meets], middle) <= SEARCH.radius).any())


def common(one: Found, other: Found) -> int:
    """Microseconds in stays of both; stays of one person do not overlap."""
    low = np.maximum(one.start[:, None], other.start[None, :])
    high = np.minimum(one.end[:, None], other.end[None, :])
    return int(np.maximum(high - low, 0).sum())
