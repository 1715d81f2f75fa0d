"""The short way to a slot's context is the rule of `places.dwell`."""

from __future__ import annotations

import datetime as dt
import itertools
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import Clock
from discreet.contexts import UNKNOWN
from discreet.gateway import person as module
from discreet.gateway.own_store import OwnStore, Reading
from discreet.gateway.person import Settled, by_the_rule, context_of
from discreet.places import Circle, Place, Places
from discreet.places.dwell import instant_of
from discreet.places.sightings import SECOND
from tests.gateway.people import PLACES, WHERE, habits, settled

OVERLAPPING = Places([*PLACES.places, Place("quarter", Circle(*WHERE["home"], 2000))])
EDGES = (0, 1, SECOND)
"""How far from a slot's edges instants are tried."""


def slow(own: OwnStore, who: Settled, date: dt.date, slot: int) -> str:
    """By the rule alone."""
    begins, ends = (instant_of(edge) for edge in (who.clock.start_of(date, slot), who.clock.end_of(date, slot)))
    seen = own.readings(who.name, begins - round(who.hold * SECOND), ends)
    return by_the_rule(own, who, seen, begins, ends) if seen else UNKNOWN


PARIS = Clock(12, "Europe/Paris")
WHO = settled(routine=habits(PARIS), clock=PARIS)
SPRING = dt.date(2026, 3, 29)
"""Clocks go forward: slot 1 is an hour long."""

SOMEWHERE = st.sampled_from([*WHERE.values(), (48.101, 11.505), (40.0, 1.0), None])


@st.composite
def stories(draw: st.DrawFn) -> tuple[int, float, list[Reading]]:
    """A slot of that day, how long readings stand, and readings around the instants that matter."""
    slot, hold = draw(st.integers(0, 11)), draw(st.sampled_from([0.0, 60.0, 3600.0, 4 * 3600.0]))
    begins, ends = (instant_of(edge) for edge in (PARIS.start_of(SPRING, slot), PARIS.end_of(SPRING, slot)))
    moments = [begins - round(hold * SECOND), begins, ends]
    near = [moment + sign * edge for moment in moments for edge in EDGES for sign in (-1, 1)]
    instants = draw(st.lists(st.sampled_from(near) | st.integers(begins - 5 * 3600 * SECOND, ends), max_size=5))
    one = draw(SOMEWHERE)
    where = st.just(one) if draw(st.booleans()) else SOMEWHERE
    found = []
    for number, instant in enumerate(instants):
        position = draw(where)
        label = draw(st.sampled_from([None, "gym", "home"] if position else ["gym", "home"]))
        found.append(Reading("jane", f"phone{number}", instant, position, None, label))
    return slot, hold, found


def test_the_short_way_is_the_rule(tmp_path: Path) -> None:
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
    begins = instant_of(PARIS.start_of(SPRING, 5))
    own.read([Reading("jane", "phone", begins + k * SECOND, WHERE["work"]) for k in (-60, 0, 60)])
    monkeypatch.setattr(module, "by_the_rule", lambda *given: pytest.fail("the long way"))
    assert context_of(own, WHO, SPRING, 5) == "work"
    own.close()
