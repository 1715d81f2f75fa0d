"""What is rare and may be secret is kept, by one rule for `learn` and `setup`."""

from __future__ import annotations

import datetime as dt

from discreet.choosing.kept_labels import MOST, is_unnamed, telling, worth_keeping
from discreet.clock import Clock
from discreet.contexts import MERGE_BELOW, Day, merge_rare
from discreet.places import Circle, Place, Places
from discreet.setup import habits


def _place(number: int, name: str, hours: float, days: int) -> Place:
    return Place(name, Circle(48 + number / 100, 2, 100), number, {"hours": hours, "days": days})


def test_places_visited_seldom_are_kept_and_those_passed_by_are_not() -> None:
    places = Places(
        [
            _place(1, "home", 1000, 60),
            _place(2, "place 2", 1.5, 2),  # a clinic, twice
            _place(3, "place 3", 0.4, 2),  # a bus stop
            _place(4, "place 4", 3.0, 1),
            _place(5, "Kim's flat", 0.2, 1),
        ]
    )
    assert worth_keeping(places) == ("home", "Kim's flat", "place 2")
    many = Places([_place(k, f"place {k}", 2.0, 3) for k in range(1, 30)])
    assert len(worth_keeping(many)) == MOST
    assert worth_keeping(None) == ()


def test_names_that_nobody_gave() -> None:
    assert all(map(is_unnamed, ("place 12", "night place", "weekday place 3", "evening place")))
    assert not any(map(is_unnamed, ("place", "my place", "night place of Kim", "market place 2x")))


def test_a_label_that_speaks_is_kept_by_learn_and_by_setup_alike() -> None:
    day = ("home",) * 46 + ("work", "work")
    days = [Day(day, date=dt.date(2026, 1, 5) + dt.timedelta(days=k), person="p") for k in range(28)]
    days[3] = Day(("home",) * 45 + ("clinic", "kiosk", "work"), date=days[3].date, person="p")
    merged = merge_rare(days, MERGE_BELOW, telling=telling)
    assert {label for one in merged for label in one.contexts} == {"home", "work", "clinic", "other"}
    routine = habits.learned(days, Clock(48), ())
    assert "clinic" in routine.contexts
    assert "kiosk" not in routine.contexts
