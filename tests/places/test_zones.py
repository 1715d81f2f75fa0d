"""The zone in which nights were spent, of histories at home and on journeys."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pytest

from discreet.clock import Clock
from discreet.places import Circle, Place, Places, Sightings
from discreet.places.sightings import SECOND
from discreet.places.zones import can_find, zone_at, zone_of_places, zones_of

pytestmark = pytest.mark.skipif(not can_find(), reason="needs tzfpy (discreet[places])")

PARIS, BERLIN, TOKYO = (48.8566, 2.3522), (52.52, 13.405), (35.68, 139.69)


def _seen(*parts: tuple[str, tuple[float, float], int, int]) -> Sightings:
    """A position an hour, of so many days from a day of 2024 on, where the wall clock is that of a zone."""
    instants, where = [], []
    for zone, at, first, days in parts:
        start = dt.datetime(2024, 1, 1, tzinfo=ZoneInfo(zone)) + dt.timedelta(days=first)
        instants += [int((start + dt.timedelta(hours=k)).timestamp()) * SECOND for k in range(24 * days)]
        where += [at] * (24 * days)
    return Sightings.of(instants, where)


def test_most_nights_decide() -> None:
    zones = zones_of(
        _seen(("Europe/Paris", PARIS, 0, 20), ("Asia/Tokyo", TOKYO, 21, 5), ("Europe/Paris", PARIS, 27, 3))
    )
    assert zones is not None
    assert zones.home == "Europe/Paris"
    assert zones.nights["Asia/Tokyo"] == 6  # the last of them begins with the last position
    assert "where 2" in zones.sentence()
    assert "there are others in Asia/Tokyo" in zones.sentence()


def test_a_zone_with_another_time_is_warned_of_and_one_with_the_same_is_not() -> None:
    zones = zones_of(_seen(("Europe/Berlin", BERLIN, 0, 7)))
    assert zones is not None
    assert zones.warning(Clock(24, "Europe/Paris"), 0) is None
    warning = zones.warning(Clock(24, "UTC"), 1_700_000_000 * SECOND)
    assert warning is not None
    assert "8 of 8 nights were in Europe/Berlin" in warning
    assert zones.differs("Europe/London", 1_700_000_000 * SECOND)


def test_where_nobody_lives_there_is_no_zone() -> None:
    assert zone_at(0.0, -150.0) is None
    assert zones_of(_seen(("UTC", (0.0, -150.0), 0, 2))) is None
    assert zones_of(Sightings.of([0], [None], ["home"])) is None


def test_a_map_has_the_zone_of_its_home() -> None:
    drawn = [Place("work", Circle(*TOKYO, 100), properties={"hours": 90.0}), Place("home", Circle(*PARIS, 100))]
    assert zone_of_places(Places(drawn)) == "Europe/Paris"
    assert zone_of_places(Places(drawn[:1])) == "Asia/Tokyo"
