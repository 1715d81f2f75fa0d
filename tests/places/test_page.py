"""The page of places: whole, offline, with every name escaped, and drawn to scale."""

from __future__ import annotations

import itertools
import re
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest

from discreet.clock import Clock
from discreet.places import Circle, Place, Places, Sightings, find_places
from discreet.places.drawing import (
    NARROW,
    WIDE,
    Box,
    DrawnView,
    _width,
    across,
    areas_of,
    bearing,
    close_ups,
    percent,
    svg_of,
)
from discreet.places.ellipsoid import metres_around, positions_around
from discreet.places.page import places_page
from discreet.places.placefile import places_of
from discreet.places.sightings import SECOND
from discreet.places.spent import spent_at
from tests.places.people import FIRST, simulated
from tests.places.test_placefile import box, collection, polygon
from tests.strategies import searches

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
    assert f"No place explains {percent(spent.unexplained)} of the known time." in page
    assert page.count('class="week"') == page.count('class="card"') == len(places)
    assert "<title>Wed 11:00: " in page
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
    assert page.count("<h2>Around ") == 2
    assert page.count('class="map wide"') == 1  # one place alone needs no wide map
    assert re.search(r"one place · 1\d,\d\d\d km \S+ of a<", page)
    first = page[page.index('class="map wide"') :]
    widths = []
    for path in re.findall(r'<path d="(M[^"]*Z)" class="shape', first[: first.index("</svg>")]):
        x = [float(pair.split(",")[0]) for pair in re.findall(r"[-0-9.]+,[-0-9.]+", path)]
        widths.append(max(x) - min(x))
    b, a = widths  # larger ones are drawn first
    assert b / a == pytest.approx(3, rel=0.02)


def test_the_scale_bar_is_as_long_as_it_says() -> None:
    places = Places([Place("a", Circle(48, 11, 100), 1), Place("b", Circle(48, 11.1, 100), 2)])
    view = DrawnView.around(places, [0, 1], WIDE)
    ((east, _),) = metres_around((48, 11), [(48, 11.1)]).tolist()
    picture = svg_of(places, [0.5, 0.5], [0, 1], WIDE, {})
    ((start, end, words),) = re.findall(r'<path d="M([0-9.]+),[0-9.]+ V[0-9.]+ H([0-9.]+) .*?>([^<]* km)<', picture)
    metres = 1000 * float(words.split()[0])
    drawn = float(view.spots[1][0] - view.spots[0][0])
    assert (float(end) - float(start)) / drawn == pytest.approx(metres / east, rel=0.01)


def test_places_that_would_lie_on_each_other_get_a_close_up() -> None:
    """Home, gym and bakery within 500 m, work 6 km off, parents 30 km off, a holiday 700 km away."""
    town, south = (48.1, 11.5), (41.9, 12.5)
    metres = [[0, 0], [400, 200], [250, -250], [6000, 0], [21_000, -21_000]]
    middles = [*positions_around(town, metres).tolist(), list(south)]
    names = ("home", "gym", "bakery", "work", "parents", "hotel")
    places = Places(Place(name, Circle(a, b, 100)) for name, (a, b) in zip(names, middles, strict=True))
    assert areas_of(places) == [[0, 1, 2, 3, 4], [5]]
    assert close_ups(places, [0, 1, 2, 3, 4]) == [[0, 1, 2]]
    assert close_ups(places, [0, 1, 2]) == []
    page = page_of(places, simulated(1, days=3).sightings)
    assert re.search(r"<h3>A <.*3 places, ", page)
    assert all(f'<tspan class="name">{name}</tspan>' in page for name in names)
    assert bearing(town, south).endswith("km south")


def texts_of(picture: str) -> list[Box]:
    """The boxes of names on a map, as wide as they are taken to be."""
    found = []
    label = r'<text x="([-0-9.]+)" y="([-0-9.]+)" text-anchor="(\w+)">(.*?)</text>'
    for x, y, anchor, inner in re.findall(label, picture):
        size = sum(_width(unescape(word)) for word in re.findall(r"<tspan[^>]*>(.*?)</tspan>", inner))
        left = float(x) - {"start": 0.0, "middle": size / 2, "end": size}[anchor]
        found.append(Box(left, float(y) - 10, left + size, float(y) + 2))
    return found


def cover(one: Box, other: Box) -> bool:
    beside = one.right <= other.left or other.right <= one.left
    return not beside and one.top < other.bottom and other.top < one.bottom


def test_no_name_covers_another_or_leaves_the_map() -> None:
    for seed in searches(10):
        rng = np.random.default_rng(seed)
        count = int(rng.integers(1, 40))
        where = positions_around((60, 25), rng.normal(0, 1, (count, 2)) * rng.choice([50, 2000, 20_000], (count, 1)))
        names = rng.choice(["home", "家と仕事場", "a café with a long name, a very long one indeed", "x"], count)
        places = Places(
            Place(str(names[k]), Circle(latitude, longitude, 100), k + 1)
            for k, (latitude, longitude) in enumerate(where.tolist())
        )
        everything = list(range(count))
        boxes = {f"A{k}": group for k, group in enumerate(close_ups(places, everything))}
        for wide in (WIDE, NARROW):
            labels = texts_of(svg_of(places, [1 / count] * count, everything, wide, boxes))
            assert labels, seed
            assert all(box.left >= 0 and box.right <= wide and box.top >= 0 for box in labels), seed
            assert not any(cover(one, other) for one, other in itertools.combinations(labels, 2)), seed


def test_maps_over_the_date_line_and_at_a_pole_are_small() -> None:
    for middle in [(-17.0, 180.0), (89.9999, 10.0), (-90.0, 0.0)]:
        around = positions_around(middle, [[-300, 0], [300, 0], [0, 400]]).tolist()
        places = Places(Place(f"p{k}", Circle(a, b, 50), k) for k, (a, b) in enumerate(around))
        assert areas_of(places) == [[0, 1, 2]]
        assert across(places, [0, 1, 2]) == pytest.approx(600, abs=1)
        assert 0.5 < DrawnView.around(places, [0, 1, 2], WIDE).scale < 1.2  # 700 by 500 m on 800 by 450


def test_polygons_are_drawn_too() -> None:
    seen = Sightings.of([FIRST * SECOND, (FIRST + 600) * SECOND], [(48.005, 11.005)] * 2)
    page = page_of(places_of(collection(polygon("park", box(11, 48, 11.01, 48.01)))), seen)
    Reader(page)
    assert "drawn by hand" in page
    assert "100 %" in page


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
