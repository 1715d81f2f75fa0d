"""A made-up data folder with the columns of the recorded one: for tests without ../shared."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from pathlib import Path

from discreet.clock import Clock
from discreet.contexts import UNKNOWN, Day
from discreet.models.simulate import people
from discreet.places import Grid, Plane
from discreet_experiments.shared.people import CHECK_INS, HIERARCHY, MEALS, NO_SIGNAL, READINGS
from discreet_experiments.shared.positions import BEIJING, LOS_ANGELES, Recording

RECORDED = Path(__file__).parents[3] / "shared" / "data"
"""The folder of recorded data, where there is one."""

TOWERS = 3
"""Towers of a place, one a weekday in turn: so people have as many contexts as those of Figure 7."""


def made_up(folder: Path, count: int = 3, days: int = 16) -> Path:
    """Write the six files for so many people."""
    folder.mkdir(parents=True, exist_ok=True)
    lives = people(count, days, slots=96, seed=5)
    places = sorted({label for own in lives.values() for day in own for label in day.contexts} - {UNKNOWN})
    first = {place: 2 + TOWERS * number for number, place in enumerate(places)}
    readings = [
        (user, user, 0, when, NO_SIGNAL if place == UNKNOWN else f"c{first[place] + number % TOWERS:04d}")
        for user, own in enumerate(lives.values(), 1)
        for number, day in enumerate(own)
        for when, place in _readings(day)
    ]
    _write(folder / READINGS, ("user", "subject", "slot", "timestamp", "context"), readings)
    above = [
        (f"c{first[place] + tower:04d}", f"s{k}", f"a{k // 2}", f"r{k // 4}", 1)
        for k, place in enumerate(places)
        for tower in range(TOWERS)
    ]
    _write(folder / HIERARCHY, ("context", "site", "area", "region", "n"), [(NO_SIGNAL, "", "", "", 9), *above])
    _write(folder / MEALS, ("user", "timestamp", "context", "meal"), _meals(lives))
    columns = ("user", "timestamp", "context", "category", "category_l1", "region", "lat", "lon")
    _write(folder / CHECK_INS, columns, _check_ins(lives, first))
    for city, recording in enumerate((BEIJING, LOS_ANGELES)):
        _write(folder / recording.file, ("user", "timestamp", "lat", "lon"), _positions(lives, first, recording, city))
    return folder


def _readings(day: Day) -> list[tuple[str, str]]:
    assert day.date is not None
    clock = Clock(96)
    return [
        (clock.start_of(day.date, slot).replace(tzinfo=None).isoformat(), label)
        for slot, label in enumerate(day.contexts)
    ]


def _meals(lives: dict[str, list[Day]]) -> list[tuple[str, str, str, str]]:
    """Lunch every day, supper every other, breakfast and snacks now and then."""
    found = []
    for user, own in lives.items():
        for number, day in enumerate(own):
            eaten = [("Breakfast", 8), ("Lunch", 12 + number % 2), ("Supper", 18), ("Snack", 21)]
            kept = [meal for k, meal in enumerate(eaten) if k == 1 or number % (k + 2) == 0]
            found += [(user, f"{day.date}T{hour:02d}:30:00", "hall", meal) for meal, hour in kept]
    return found


def _check_ins(lives: dict[str, list[Day]], first: dict[str, int]) -> list[tuple[object, ...]]:
    """Where each is at four times of the day; a category is called like the kind above it, as some are."""
    found: list[tuple[object, ...]] = []
    for user, own in lives.items():
        for day in own:
            for hour in (8, 12, 17, 21):
                place = day.contexts[4 * hour]
                if place != UNKNOWN:
                    k = first[place]
                    found.append(
                        (user, f"{day.date}T{hour:02d}:10:00", f"v{k}", f"k{k % 3}", f"k{k % 3}", 0, 51.0, -114.0)
                    )
    return found


def _positions(
    lives: dict[str, list[Day]], first: dict[str, int], recording: Recording, city: int
) -> list[tuple[object, ...]]:
    """A position an hour within a cell for each place, as epoch; people are at different points of the cell."""
    clock, grid = Clock(96), Grid(recording.place, Plane(*recording.middle))
    found: list[tuple[object, ...]] = []
    for k, own in enumerate(lives.values()):
        for day in own:
            assert day.date is not None
            for slot in range(city, 96, 4):
                if day.contexts[slot] != UNKNOWN:
                    when = int(clock.start_of(day.date, slot).timestamp())
                    corner = grid.corners([f"e{city}n{first[day.contexts[slot]]}"])
                    ((lat, lon),) = grid.plane.degrees(corner + recording.place * (0.2 + 0.1 * k)).tolist()
                    found.append((k, when, lat, lon))
    return found


def _write(path: Path, header: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
