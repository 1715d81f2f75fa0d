"""A slot's context of one source is by the rule of `places.dwell`, as in files; of several, the newest change is."""

from __future__ import annotations

import datetime as dt
import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import Clock
from discreet.contexts import UNKNOWN
from discreet.gateway.slots.person import PersonConfig, believed, context_of
from discreet.gateway.store.own_store import OwnStore, Reading
from discreet.live import standing
from discreet.live.slots import instants
from discreet.places import Circle, Place, Places, Sightings
from discreet.places.dwell import contexts_in
from discreet.places.sightings import SECOND, coded
from tests.gateway.people import PLACES, WHERE, habits, person_config

OVERLAPPING = Places([*PLACES.places, Place("quarter", Circle(*WHERE["home"], 2000))])
EDGES = (0, 1, SECOND)
"""How far from a slot's edges instants are tried."""


def slow(own: OwnStore, who: PersonConfig, date: dt.date, slot: int) -> str:
    """By the rule for files, from all that was ever read before the slot's end."""
    begins, ends = instants(who.clock, date, slot)
    seen = own.readings(who.name, 0, ends)
    sightings = Sightings.of([one.instant for one in seen], [one.position for one in seen], [one.label for one in seen])
    found = coded(sightings, who.places)
    bounds = np.array([begins, ends], dtype=np.int64)
    (code,) = contexts_in(found, sightings.instants, bounds, round(who.hold * SECOND)).tolist()
    return UNKNOWN if code < 0 else found.contexts[code]


PARIS = Clock(12, "Europe/Paris")
WHO = person_config(routine=habits(PARIS), clock=PARIS)
SPRING = dt.date(2026, 3, 29)
"""Clocks go forward: slot 1 is an hour long."""

SOMEWHERE = st.sampled_from([*WHERE.values(), (48.101, 11.505), (40.0, 1.0), None])


@st.composite
def stories(draw: st.DrawFn) -> tuple[int, float, list[Reading]]:
    """A slot of that day, how long readings stand, and readings around the instants that matter."""
    slot, hold = draw(st.integers(0, 11)), draw(st.sampled_from([0.0, 60.0, 3600.0, 4 * 3600.0]))
    begins, ends = instants(PARIS, SPRING, slot)
    moments = [begins - round(hold * SECOND), begins, ends]
    near = [moment + sign * edge for moment in moments for edge in EDGES for sign in (-1, 1)]
    taken = draw(st.lists(st.sampled_from(near) | st.integers(begins - 5 * 3600 * SECOND, ends), max_size=5))
    one = draw(SOMEWHERE)
    where = st.just(one) if draw(st.booleans()) else SOMEWHERE
    found = []
    for instant in taken:
        position = draw(where)
        label = draw(st.sampled_from([None, "gym", "home"] if position else ["gym", "home"]))
        found.append(Reading("jane", "phone", instant, position, None, label))
    return slot, hold, found


def test_one_source_is_as_in_a_file(tmp_path: Path) -> None:
    own, names = OwnStore(tmp_path / "own.db"), itertools.count()

    @settings(max_examples=300, deadline=None)
    @given(stories(), st.sampled_from([PLACES, OVERLAPPING]))
    def holds(story: tuple[int, float, list[Reading]], places: Places) -> None:
        slot, hold, readings = story
        who = replace(WHO, name=f"p{next(names)}", hold=hold, places=places)
        own.read([replace(one, person=who.name) for one in readings])
        assert context_of(own, who, SPRING, slot) == slow(own, who, SPRING, slot)

    holds()
    own.close()
    assert next(names) >= 300


def test_a_slot_in_one_place_goes_the_short_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = OwnStore(tmp_path / "own.db")
    begins, _ = instants(PARIS, SPRING, 5)
    own.read([Reading("jane", "phone", begins + k * SECOND, WHERE["work"]) for k in (-60, 0, 60)])
    monkeypatch.setattr(standing, "longest_in", lambda *given: pytest.fail("the long way"))
    assert context_of(own, WHO, SPRING, 5) == "work"
    own.close()


# --- several sources

HOUR = 3600 * SECOND
BEGINS, ENDS = instants(PARIS, SPRING, 5)
"""Two hours."""


def said(source: str, hours: float, label: str, since: float | None = None, place: str | None = None) -> Reading:
    """A reading so many hours after the slot's start."""
    before = None if since is None else BEGINS + round(since * HOUR)
    position = None if place is None else WHERE[place]
    return Reading("jane", source, BEGINS + round(hours * HOUR), position, None, label, before)


@pytest.mark.parametrize(
    ("readings", "wanted"),
    [
        pytest.param(
            [said("tracker", -1, "clinic"), *(said("choice", h, "office", -30) for h in (-0.5, 0, 0.5, 1, 1.5))],
            "clinic",
            id="a choice that is left as it is",
        ),
        pytest.param(
            [said("choice", -1, "office"), *(said("tracker", h, "home", -9) for h in (-0.5, 0, 0.5, 1, 1.5))],
            "office",
            id="a choice that is newer than the tracker's change",
        ),
        pytest.param(
            [said("choice", -1, "office"), *(said("phone", h, "home") for h in (-3, -2, -0.5, 0, 0.5, 1))],
            "office",
            id="a source that says the same again, without saying since when",
        ),
        pytest.param(
            [said("choice", -1, "office"), said("phone", -0.5, "home"), said("phone", 0.5, "shop")],
            "shop",
            id="news for most of the slot",
        ),
        pytest.param(
            [said("choice", -1, "office"), said("phone", -2, "home"), said("phone", 1.5, "shop")],
            "office",
            id="news for less",
        ),
        pytest.param(
            [said("a", -1, "home"), said("b", -1, "office")],
            "office",
            id="equally new: the order of the settings, b first",
        ),
        pytest.param(
            [said("a", 0, "home", -40), said("b", 0, "office", -50)],
            "office",
            id="both older than a day: the order of the settings",
        ),
        pytest.param(
            [said("a", -0.5, "unknown"), said("b", -3, "office"), said("b", 0, "office")],
            "office",
            id="who knows nothing leaves it to others",
        ),
        pytest.param(
            [said("a", -3.9, "clinic"), said("b", -3.95, "office"), said("b", 0, "office", -3.95)],
            "office",
            id="news that have ceased to stand",
        ),
        pytest.param(
            [said("a", -5, "away", None, "clinic"), *(said("a", h, "away", -5) for h in (-3, -1, 1))],
            "clinic",
            id="still the same, with a position long ago",
        ),
        pytest.param(
            [
                said("a", -6, "away", -9, "home"),
                said("a", -2, "away", -9, "clinic"),
                said("b", -5, "office"),
                said("b", -1, "office"),
            ],
            "clinic",
            id="another place under the same state is a change",
        ),
    ],
)
def test_the_newest_change_is_believed(tmp_path: Path, readings: list[Reading], wanted: str) -> None:
    own = OwnStore(tmp_path / "own.db")
    own.read(readings)
    who = replace(WHO, sources=("b", "a"))
    assert context_of(own, who, SPRING, 5) == wanted
    own.close()


TWO_PHONES = [
    *(said("owntracks/tablet", hours, "home") for hours in (-3, -1, 0.5)),
    said("owntracks/pixel", -2, "home"),
    said("owntracks/pixel/event", -1.5, "clinic"),
    said("4f/watch", -0.5, "office"),
]


@pytest.mark.parametrize(
    ("phone", "wanted", "newest"),
    [
        pytest.param(None, "office", "4f/watch", id="the one that moved last"),
        ("pixel", "clinic", "owntracks/pixel/event"),
        ("tablet", "home", "owntracks/tablet"),
        ("owntracks", "clinic", "owntracks/pixel/event"),
        ("watch", "office", "4f/watch"),
        ("4f", "office", "4f/watch"),
        pytest.param("pix", UNKNOWN, None, id="part of a name is nobody's"),
    ],
)
def test_of_several_phones_the_one_that_the_settings_name_counts_alone(
    tmp_path: Path, phone: str | None, wanted: str, newest: str | None
) -> None:
    own = OwnStore(tmp_path / "own.db")
    own.read(TWO_PHONES)
    who = replace(WHO, phone=phone)
    assert context_of(own, who, SPRING, 5) == wanted
    assert believed(own, who, BEGINS / SECOND + 60) == newest
    assert believed(own, who, BEGINS / SECOND - 4 * 3600) is None, "before anything was said"
    own.close()


def test_of_one_source_at_one_instant_the_order_of_coming_does_not_matter(tmp_path: Path) -> None:
    both = [said("phone", 0, "home"), said("phone", 0, "work")]
    for number, readings in enumerate((both, both[::-1])):
        own = OwnStore(tmp_path / f"{number}.db")
        for one in (*readings, *readings):
            own.read([one])
        assert context_of(own, WHO, SPRING, 5) == "work"
        own.close()
