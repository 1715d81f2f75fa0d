"""What an observer of outputs sees, by hand on a few slots."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

from discreet.contexts import Day
from discreet.errors import DiscreetError
from discreet.evaluation.shown import VALUES, Features, Shown
from discreet.outputs import SKIPPED, SUPPRESSED, Generalized, Output, PartialEvent, Perturbed, Released

NONE = float("nan")
MONDAY = dt.date(2026, 1, 5)


def day(number: int, person: str = "ann", slots: int = 4) -> Day:
    return Day(("x",) * slots, MONDAY + dt.timedelta(days=number), person)


A, B = Released("a"), Released("b")
TINY = Shown(
    [day(1), day(0), day(3), day(0, "bob")],  # the second comes first, and there is a date without a day
    [[SUPPRESSED, A, A, SUPPRESSED], [A, SUPPRESSED, SUPPRESSED, SUPPRESSED], [B, B, A, A], [SKIPPED, B, A, A]],
)
"""Shown: a - - - | - a a - || b b a a ||| (skipped) b a a; a is met more often than b."""


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("shown", [1, 0, 0, 0, 0, 1, 1, 0, 2, 2, 1, 1, 0, 2, 1, 1]),
        ("shown before", [NONE, 1, 0, 0, 0, 0, 1, 1, NONE, 2, 2, 1, NONE, 0, 2, 1]),
        ("shown two after", [0, 0, 0, 1, 1, 0, NONE, NONE, 1, 1, NONE, NONE, 1, 1, NONE, NONE]),
        ("shown last", [NONE, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 1, NONE, NONE, 2, 1]),
        ("slots to shown last", [NONE, 1, 2, 3, 4, 4, 1, 1, 4, 1, 1, 1, NONE, NONE, 1, 1]),
        ("shown next", [1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, NONE, 2, 1, 1, NONE]),
        ("slots to shown next", [4, 4, 3, 2, 1, 1, 4, 4, 1, 1, 1, NONE, 1, 1, 1, NONE]),
        ("silent", [0, 1, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0]),
        ("skipped", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]),
        ("silence so far", [0, 1, 2, 3, 4, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0]),
        ("silence left", [0, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ("silence length", [0, 4, 4, 4, 4, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0]),
        ("day silent", [3 / 4] * 4 + [2 / 4] * 4 + [0] * 4 + [1 / 4] * 4),
        ("person silent", [5 / 12] * 12 + [1 / 4] * 4),
    ],
)
def test_slots_by_hand(name: str, wanted: list[float]) -> None:
    """Distances end at a day's slots, 4: from Tuesday's last to Thursday's first there are six."""
    found = TINY.of_slots.column(name)
    assert np.array_equal(found, np.array(wanted, dtype=float), equal_nan=True)


def test_what_is_public() -> None:
    known = TINY.public_of_slots(person=True)
    assert known.names == ("hour", "weekday", "person")
    assert known.column("hour").tolist() == [0, 1, 2, 3] * 4
    assert known.column("weekday").tolist() == [0] * 4 + [1] * 4 + [3] * 4 + [0] * 4
    assert known.column("person").tolist() == [0] * 12 + [1] * 4
    assert TINY.public_of_slots(person=False).names == ("hour", "weekday")


def test_days_by_hand() -> None:
    window = np.isin(TINY.slot, [1, 2, 3])
    found = TINY.of_days(window)
    wanted = {
        "silent": [1, 1 / 3, 0, 0],
        "person silent": [5 / 12, 5 / 12, 5 / 12, 1 / 4],
        "longest silence": [4, 1, 0, 0],
        "silence begins": [1, 3, NONE, NONE],
        "silence ends": [3, 3, NONE, NONE],
        "shown 1": [0, 2 / 3, 2 / 3, 2 / 3],
        "shown 2": [0, 0, 1 / 3, 1 / 3],
    }
    assert set(found.names) == set(wanted)
    for name, values in wanted.items():
        assert np.array_equal(found.column(name), np.array(values), equal_nan=True), name


def test_events_are_seen_by_attribute() -> None:
    outputs: list[list[Output]] = [[PartialEvent("eat", "noon", None), PartialEvent(), PartialEvent(None, "noon", "x")]]
    shown = Shown([Day(("e",) * 3)], outputs, by_hour=False)
    assert shown.of_slots.column("activity").tolist() == [1, 0, 0]
    assert shown.of_slots.column("location next").tolist()[:2] == [1, 1]
    assert shown.of_slots.column("person withholds activity").tolist() == [2 / 3] * 3
    assert shown.of_slots.column("silent").tolist() == [0, 1, 0]
    assert shown.public_of_slots(person=False).names == ("nothing",)


def test_points_and_ancestors() -> None:
    shown = Shown([day(0, slots=3)], [[Perturbed((1.0, 2.0)), Generalized("a"), Released("a")]])
    assert shown.of_slots.column("x1").tolist()[0] == 2
    assert np.isnan(shown.of_slots.column("x1")[1])
    codes = shown.of_slots.column("shown")
    assert codes[0] == 0
    assert codes[1] != codes[2]  # a node is not the context of its name


def test_rare_values_are_one() -> None:
    many = VALUES + 50
    shown = Shown([Day(("x",) * many)], [[Released(str(k)) for k in range(many)]])
    assert shown.of_slots.column("shown").max() == VALUES + 1


def test_no_feature_looks_at_the_truth() -> None:
    outputs: list[list[Output]] = [[A, SUPPRESSED, B, A], [B, A, SUPPRESSED, SUPPRESSED]]

    def seen(labels: str) -> list[Features]:
        shown = Shown([Day(tuple(labels), MONDAY), Day(tuple(labels[::-1]), MONDAY + dt.timedelta(1))], outputs)
        return [shown.of_slots, shown.of_days(shown.slot > 0), shown.public_of_slots(person=True)]

    for one, other in zip(seen("wxyz"), seen("xxww"), strict=True):
        assert one.names == other.names
        assert np.array_equal(one.values, other.values, equal_nan=True)


@pytest.mark.parametrize(
    ("days", "outputs", "told"),
    [
        ([], [], "no day"),
        ([day(0)], [], "1 days and the outputs of 0"),
        ([day(0)], [[A]], "4 slots and 1 outputs"),
        ([day(0), day(1, slots=2)], [[A] * 4, [A] * 2], "by_hour=False"),
    ],
)
def test_what_does_not_fit_is_told(days: list[Day], outputs: list[list[Output]], told: str) -> None:
    with pytest.raises(DiscreetError, match=told):
        Shown(days, outputs)
