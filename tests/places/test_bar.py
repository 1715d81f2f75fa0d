"""The bar for finding places: people with known places, and everything that is hard about a phone's history at once."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.clock import Clock
from discreet.places import Circle, Place, Places, Search, find_places
from discreet.places.ellipsoid import chords, points_of
from discreet.places.spent import TimeSpent, spent_at
from tests.places.lives import TOWNS, Life, life
from tests.strategies import searches

RADIUS = 100.0
CLOCK = Clock(48)


def shortcomings(person: Life, places: Places, spent: TimeSpent) -> list[str]:
    """Places visited on 3 days for 30 minutes that were not found within the radius; phantoms over 1 % of the time."""
    found, true = points_of([place.shape.middle for place in places.places]), points_of(person.places)
    away = np.stack([chords(found, spot) for spot in true])  # (true, found)
    missed = [f"place {k} is missed" for k in person.often() if away[k].min() > RADIUS]
    phantoms = [
        f"{place.name} is none"
        for k, place in enumerate(places.places)
        if away[:, k].min() > RADIUS and spent.hours[k] > 0.01 * spent.known
    ]
    return missed + phantoms


@pytest.mark.slow("simulates people and all their places")
def test_every_place_is_found_and_no_phantom() -> None:
    often = 0
    for seed in searches(4 * len(TOWNS)):
        person = life(seed)
        places, spent = find_places(person.sightings, CLOCK, Search(radius=RADIUS))
        assert not shortcomings(person, places, spent), person.story
        often += len(person.often())
    assert often > 6 * len(searches(4 * len(TOWNS)))  # there was something to find


def test_the_bar_notices_a_place_that_is_missed_and_one_that_is_none() -> None:
    person = life(0)
    places, _ = find_places(person.sightings, CLOCK)
    home, work, *others = places.places
    middle = work.shape.middle
    moved = Place("work", Circle(middle[0] + 0.0015, middle[1], 200.0))  # 170 m north, and it holds what work did
    spent = spent_at(person.sightings, Places([home, moved, *others]), CLOCK, 4 * 3600)
    assert shortcomings(person, Places([home, moved, *others]), spent) == ["place 1 is missed", "work is none"]


@pytest.mark.slow("interrupts a release at every line")
def test_lives_have_what_is_hard() -> None:
    """Otherwise the bar would be low: strays, silence, night shifts, journeys, and noise of tens of metres."""
    people = [life(seed) for seed in range(len(TOWNS))]
    told = " ".join(one.story for one in people)
    assert all(word in told for word in ("day shifts", "night shifts", "turns shifts", "travels", "stays"))
    for one in people:
        assert 0 < (~one.right).mean() < 0.1
        assert np.diff(one.sightings.instants).max() > 3600e6
        assert len(one.often()) >= 3
