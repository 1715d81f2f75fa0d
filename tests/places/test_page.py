"""The page of places: whole, offline, with every name escaped, and drawn to scale."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from discreet.clock import Clock
from discreet.places import Circle, Place, Places, Sightings, find_places
from discreet.places.page import places_page
from discreet.places.placefile import places_of
from discreet.places.sightings import SECOND
from discreet.places.spent import spent_at
from tests.places.people import FIRST, simulated
from tests.places.test_placefile import box, collection, polygon

HOSTILE = "<script>alert('x')</script> \" onload=x & </title>"


class Reader(HTMLParser):
    """The tags, attributes and text of a page; unbalanced tags are noticed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta",):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def page_of(places: Places, sightings: Sightings, person: str = "p01") -> str:
    return places_page(places, spent_at(sightings, places, Clock(24), 4 * 3600), person)


def test_the_page_shows_places_times_and_what_no_place_explains() -> None:
    person = simulated(1, days=8)
    places, spent = find_places(person.sightings, Clock(48))
    page = places_page(places, spent, "p01")
    read = Reader(page)
    assert "No place explains" in page
    assert f"{100 * spent.unexplained:.1f} %" in page
    assert read.tags.count("rect") == 168 * len(places)
    assert all(any(place.name in text for text in read.text) for place in places.places)


def test_names_are_escaped_and_nothing_is_loaded_from_anywhere() -> None:
    seen = simulated(1, days=3).sightings
    hostile = Place(HOSTILE, Circle(48, 11, 100), 1, {"why": HOSTILE})
    read = Reader(page_of(Places([hostile]), seen, HOSTILE))
    assert "script" not in read.tags
    assert not {"src", "href", "onload", "xlink:href"} & {name for name, _ in read.attributes}
    assert any(HOSTILE in text for text in read.text)
    assert not any("http" in (value or "") for name, value in read.attributes if name != "http-equiv")


def test_circles_are_drawn_to_scale_and_far_places_on_maps_of_their_own() -> None:
    seen = simulated(1, days=3).sightings
    places = Places(
        [Place("a", Circle(48, 11, 100), 1), Place("b", Circle(48.02, 11, 300), 2), Place("c", Circle(-48, 180, 50), 3)]
    )
    page = page_of(places, seen)
    assert page.count('class="map"') == 2
    widths = []
    for path in re.findall(r'<path d="(M[^"]*Z)"', page):
        x = [float(pair.split(",")[0]) for pair in re.findall(r"[-0-9.]+,[-0-9.]+", path)]
        widths.append(max(x) - min(x))
    b, a, _ = widths  # larger ones are drawn first
    assert b / a == pytest.approx(3, rel=0.02)


def test_polygons_are_drawn_too() -> None:
    seen = Sightings.of([FIRST * SECOND, (FIRST + 600) * SECOND], [(48.005, 11.005)] * 2)
    page = page_of(places_of(collection(polygon("park", box(11, 48, 11.01, 48.01)))), seen)
    Reader(page)
    assert "drawn by hand" in page
    assert "100.0 %" in page


# --- time spent


def test_time_spent_is_all_of_the_time() -> None:
    person = simulated(2, days=10)
    places, spent = find_places(person.sightings, Clock(48, "Europe/Paris"))
    whole = (person.sightings.instants[-1] - person.sightings.instants[0]) / SECOND / 3600
    assert spent.known + spent.unknown == pytest.approx(whole)
    assert len(spent.hours) == len(places) + 3
    assert 0 < spent.unexplained < 0.2
    assert (spent.week.sum(axis=0) <= 3 + 1e-9).all()  # an hour of the week comes two times, or three, in 11 dates


def test_hours_of_the_week_are_those_of_the_zone() -> None:
    seen = Sightings.of([FIRST * SECOND, (FIRST + 3600) * SECOND], [(48, 11)] * 2)  # Monday, 00:00 to 01:00 UTC
    spent = spent_at(seen, Places([Place("home", Circle(48, 11, 100))]), Clock(48, "Asia/Kolkata"), 7200)
    expected = np.zeros((7, 24))
    expected[0, 5] = expected[0, 6] = 0.5  # 05:30 to 06:30
    assert np.allclose(spent.week[0], expected)
