"""Phones that say little: where somebody lives and what they visit is found by what silence means."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.clock import Clock
from discreet.errors import DataError
from discreet.places import Circle, Place, Places, Sightings, find_places
from discreet.places.ellipsoid import points_of
from discreet.places.find import nights_at
from discreet.places.pace import CHANGES, STEADY, is_sparse, records_changes, stands_for, with_pauses
from discreet.places.sightings import SECOND
from tests.places.phones import KINDS, NAMES, OTHER, person, recorded, score

BARS = {"every minute": (6, 0.97), "moves only": (6, 0.95), "significant changes": (6, 0.9), "check-ins": (5, 0.09)}
"""Places that are found at least, and the part of the time that is told rightly."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_person_is_found_in_what_a_phone_of_each_kind_says(kind: str) -> None:
    one = person(0)
    found = score(one, recorded(one, kind, 0))
    places, explained = BARS[kind]
    assert found.found >= places
    assert found.invented == 0
    assert found.explained >= explained
    assert found.wrong <= (0.08 if kind == "check-ins" else 0.02)  # nobody says when they left
    assert found.home == (kind != "check-ins")  # nobody checks in at night: then none is named, and that is said
    assert not found.misplaced
    assert len(NAMES) == 6  # the clinic, visited twice, is one of them


@pytest.mark.parametrize("kind", KINDS[1:3])
def test_other_people_are_found_whom_no_threshold_was_chosen_on(kind: str) -> None:
    for seed in (500, 501, 502):
        one = person(seed, OTHER)
        found = score(one, recorded(one, kind, seed))
        assert found.home
        assert found.found >= 5  # the clinic is visited twice at most
        assert (found.invented, found.misplaced) == (0, False)
        assert found.explained >= 0.85


def test_which_sources_record_changes_only() -> None:
    one = person(1)
    assert [records_changes(recorded(one, kind, 1).instants) for kind in KINDS] == [False, True, True, False]
    assert [is_sparse(recorded(one, kind, 1).instants) for kind in KINDS] == [False, True, True, True]
    hourly = np.arange(0, 30 * 86_400, 3600) * SECOND
    assert not records_changes(hourly)  # polls, however seldom
    assert stands_for(hourly) == STEADY
    off_at_night = np.concatenate([day * 86_400 + np.arange(7 * 3600, 23 * 3600, 600) for day in range(30)]) * SECOND
    assert not records_changes(off_at_night)
    assert not records_changes(hourly[:2])
    assert stands_for(recorded(one, "moves only", 1).instants) == CHANGES


def test_a_pause_ends_when_one_must_have_left() -> None:
    """Two hours, then 6 km away: at 10 m/s the way takes ten minutes."""
    where = points_of(np.array([[48.85, 2.35], [48.85, 2.35], [48.904, 2.35]]))
    instants = np.array([0, 60, 7260]) * SECOND
    when, points = with_pauses(instants, where, CHANGES)
    assert len(when) == 4
    assert when[2] / SECOND == pytest.approx(7260 - 600, abs=2)
    np.testing.assert_array_equal(points[2], points[1])
    assert with_pauses(instants, where, 3600.0)[0][2] == 3660 * SECOND  # and no later than is believed
    far = points_of(np.array([[48.85, 2.35], [40.64, -73.78]]))  # nobody flies at 10 m/s: when they left is not known
    assert len(with_pauses(np.array([0, 9 * 3600]) * SECOND, far, CHANGES)[0]) == 2


def test_a_home_is_found_by_nights_where_the_phone_is_off() -> None:
    """On from 7 to 20 only, at home at either end: of no hour of the night anything is known."""
    home, work = (48.85, 2.35), (48.87, 2.38)
    seconds, where = [], []
    for day in range(14):
        for minute in range(7 * 60, 20 * 60, 10):
            seconds.append(day * 86_400 + minute * 60)
            where.append(work if 9 * 60 <= minute < 18 * 60 else home)
    seen = Sightings.of([second * SECOND for second in seconds], where)
    assert stands_for(seen.instants) == STEADY
    places, _ = find_places(seen, Clock(24))
    (named,) = (place for place in places.places if place.name == "home")
    assert named.shape.middle == pytest.approx(home, abs=1e-3)
    assert named.properties["why"] == "13 nights begin and end there"
    drawn = Places([Place("a", Circle(*home, 100)), Place("b", Circle(*work, 100))])
    assert nights_at(drawn, seen, Clock(24)).tolist() == [13, 0]


def test_labels_alone_have_no_places() -> None:
    with pytest.raises(DataError, match="only labels"):
        find_places(Sightings.of([0, 1], [None, None], ["home", "home"]), Clock(24))
