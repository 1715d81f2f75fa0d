"""Places that are found, against those that simulated people have; stays by hand (their twin is in test_twin.py)."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.clock import Clock
from discreet.errors import DataError
from discreet.places import Circle, Search, Sightings, find_places
from discreet.places.ellipsoid import chords, metres_around, points_of, positions_around, positions_of_points
from discreet.places.plane import distances
from discreet.places.sightings import SECOND
from discreet.places.stays import stays_of
from tests.places.people import FIRST, simulated
from tests.strategies import searches

MIDDLES = [(48.0, 11.0), (0.0, 0.0), (-17.0, 180.0), (65.0, -179.999), (89.995, 40.0), (-90.0, 0.0)]
"""Somewhere, the origin, both sides of the date line, and around both poles."""


@pytest.mark.parametrize("middle", MIDDLES)
def test_every_place_is_found_within_its_radius_and_no_phantom(middle: tuple[float, float]) -> None:
    for seed in searches(2):
        person = simulated(seed, middle)
        places, spent = find_places(person.sightings, Clock(48), Search(radius=100))
        found = points_of([place.shape.middle for place in places.places])
        true = points_of(positions_around(middle, person.spots))
        away = np.stack([chords(found, spot) for spot in true])  # (true, found)
        often = [k for k, days in enumerate(person.visits) if len(days) >= 3]
        assert len(often) > 4
        assert (away[often].min(axis=1) < 100).all(), (seed, middle)
        phantom = away.min(axis=0) > 100
        assert (spent.hours[: len(places)][phantom] <= 0.01 * spent.known).all(), (seed, middle)


def test_names_and_ranks_of_a_simulated_person() -> None:
    person = simulated(3)
    places, spent = find_places(person.sightings, Clock(48))
    assert [place.name for place in places.places[:3]] == ["home", "work", "place 3"]
    assert [place.number for place in places.places] == list(range(1, len(places) + 1))
    assert (np.diff(spent.hours[: len(places)]) <= 0).all()
    assert "of the hours from 0 to 6" in str(places.places[0].properties["why"])
    time = np.diff(person.sightings.instants)
    share = float(time[person.truth[:-1] == 0].sum() / time.sum())
    assert places.places[0].properties["share"] == pytest.approx(share, abs=0.01)  # noise, and steps before the door


def test_positions_get_the_place_that_is_true() -> None:
    person = simulated(4)
    places, _ = find_places(person.sightings, Clock(48))
    true = points_of(positions_around((48.0, 11.0), person.spots))
    nearest = np.array([int(np.argmin(chords(true, points_of([one.shape.middle])))) for one in places.places])
    at = places.at(person.sightings.positions)
    there = person.truth >= 0
    right = np.where(at >= 0, nearest[at], -1) == person.truth
    assert right[there].mean() > 0.99


def test_ways_of_moving_name_no_place() -> None:
    """A trip's first and last positions are at the places where it begins and ends."""
    person = simulated(5)
    labels = np.where(person.truth == 0, 0, np.where(person.truth == 2, 1, -1)).astype(np.int64)
    seen = Sightings(person.sightings.instants, person.sightings.positions, labels, ("in subway", "Walking"))
    places, _ = find_places(seen, Clock(48))
    assert [place.name for place in places.places[:3]] == ["home", "work", "place 3"]


def test_labels_of_the_source_name_places_before_rules_do() -> None:
    person = simulated(5)
    labels = np.where(person.truth == 0, 0, np.where(person.truth == 2, 1, -1)).astype(np.int64)
    seen = Sightings(person.sightings.instants, person.sightings.positions, labels, ("my flat", "unknown"))
    places, _ = find_places(seen, Clock(48))
    named = {place.name: place for place in places.places}
    assert named["my flat"].properties["why"] == "so called by the source"
    assert "unknown" not in named  # a reserved word names nothing
    assert "home" not in named or named["home"].number != 1


def test_two_people_far_apart_in_time_zones_have_local_nights() -> None:
    """Eight hours each day from 15:00 UTC on are nights in Auckland, and middays in London's winter they are not."""
    at_night = [FIRST + 86_400 * day + 60 * minute for day in range(5) for minute in range(11 * 60, 18 * 60, 5)]
    elsewhere = [FIRST + 86_400 * day + 60 * minute for day in range(5) for minute in range(20 * 60, 24 * 60, 5)]
    positions = [(-36.85, 174.76)] * len(at_night) + [(-36.80, 174.70)] * len(elsewhere)
    seen = Sightings.of([second * SECOND for second in at_night + elsewhere], positions)
    places, _ = find_places(seen, Clock(48, "Pacific/Auckland"))
    home = next(place for place in places.places if place.name == "home")
    assert home.shape.middle == pytest.approx((-36.85, 174.76), abs=1e-6)


def test_a_busy_quarter_does_not_chain_into_one_place() -> None:
    """Stays every 90 m along a street of 2 km: single links would join them all."""
    rng = np.random.default_rng(0)
    instants, metres, now = [], [], FIRST
    for _ in range(40):
        spot = np.array([90.0 * rng.integers(0, 22), 0.0])
        for _ in range(20):
            instants.append(now * SECOND)
            metres.append(spot)
            now += 120
        now += 3600
    seen = Sightings.of(instants, [tuple(one) for one in positions_around((48, 11), np.array(metres)).tolist()])
    places, _ = find_places(seen, Clock(48), Search(radius=100, days=1))
    assert len(places) > 4
    assert all(isinstance(one.shape, Circle) and one.shape.radius <= 200 for one in places.places)


@pytest.mark.parametrize(
    ("search", "part"),
    [
        ({"radius": 0}, "radius"),
        ({"radius": float("nan")}, "radius"),
        ({"minutes": -1}, "minutes"),
        ({"days": 0}, "days"),
        ({"hours": float("inf")}, "hours"),
    ],
)
def test_a_search_that_has_no_meaning_is_refused(search: dict[str, float], part: str) -> None:
    with pytest.raises(DataError, match=part):
        Search(**search)  # type: ignore[arg-type]


def test_nothing_to_find_says_what_to_do() -> None:
    with pytest.raises(DataError, match="labels"):
        find_places(Sightings.of([0], [None], ["home"]), Clock(48))
    with pytest.raises(DataError, match="--radius"):
        find_places(Sightings.of([0, SECOND], [(0, 0), (1, 1)]), Clock(48))


# --- stays


def test_a_stray_position_does_not_end_a_stay() -> None:
    metres = np.zeros((20, 2))
    metres[10] = 5000
    points = points_of(positions_around((48, 11), metres))
    assert len(stays_of(np.arange(20) * 60, points, 100.0, 600, 3600)) == 1
    metres[10:12] = 5000
    points = points_of(positions_around((48, 11), metres))
    assert len(stays_of(np.arange(20) * 60, points, 100.0, 300, 3600)) == 2


# --- the ellipsoid


def test_a_degree_on_the_ellipsoid_is_as_published() -> None:
    """Lengths of a degree on WGS 84: of latitude at the equator and the pole, of longitude at 45 degrees."""
    for a, b, metres in [
        ((-0.5, 0), (0.5, 0), 110_574.3),
        ((89.0, 0), (90.0, 0), 111_693.9),
        ((45.0, 0), (45.0, 1.0), 78_846.8),
    ]:
        ((chord,),) = (chords(points_of([a]), points_of([b])),)
        assert chord == pytest.approx(metres, abs=2.5)  # a chord of 111 km is 1.4 m short, of a parallel a little more


def test_positions_come_back_and_agree_with_the_sphere_within_its_flattening() -> None:
    rng = np.random.default_rng(1)
    some = np.stack([rng.uniform(-90, 90, 500), rng.uniform(-180, 180, 500)], axis=1)
    assert chords(points_of(positions_of_points(points_of(some))), points_of(some)).max() < 1e-6
    near = np.stack([some[:, 0].clip(-89, 89) + 0.01, some[:, 1]], axis=1)
    some[:, 0] = some[:, 0].clip(-89, 89)
    ratio = chords(points_of(some), points_of(near)) / distances(some, near)
    assert np.abs(ratio - 1).max() < 0.006


def test_metres_around_a_middle_come_back_at_the_poles_and_the_date_line() -> None:
    metres = np.array([[0, 0], [300, -400], [-5000, 2000]])
    for middle in MIDDLES:
        back = metres_around(middle, positions_around(middle, metres))
        assert np.abs(back - metres).max() < 0.01
