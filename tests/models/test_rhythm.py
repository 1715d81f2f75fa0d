"""Where the time goes: shares of hours against a count by hand."""

from __future__ import annotations

import datetime as dt

import pytest

from discreet.clock import Clock
from discreet.contexts import UNKNOWN, Day
from discreet.models.learning.rhythm import rhythms, seldom

MONDAY = dt.date(2026, 3, 2)


def week(weekday: tuple[str, ...], weekend: tuple[str, ...]) -> list[Day]:
    dates = [MONDAY + dt.timedelta(days=k) for k in range(7)]
    return [Day(weekend if date.weekday() >= 5 else weekday, date) for date in dates]


def test_hours_of_the_wall_clock_whatever_the_slots_and_the_cut() -> None:
    """Eight slots of three hours from 06:00 on: slot 7 is from 03:00 to 06:00."""
    days = week((*"wwwhhhh", "n"), tuple("h" * 8))
    found = {one.context: one for one in rhythms(days, Clock(8, cut="06:00"))}
    assert found["n"].by_hour["weekday"] == (*(0.0,) * 3, *(1.0,) * 3, *(0.0,) * 18)
    assert found["w"].by_hour["weekday"] == (*(0.0,) * 6, *(1.0,) * 9, *(0.0,) * 9)
    assert set(found["n"].by_hour["weekend"]) == {0.0}
    assert (found["n"].days, found["n"].last, found["n"].share) == (5, MONDAY + dt.timedelta(days=4), 5 / 56)


@pytest.mark.parametrize("slots", [3, 24, 48, 96, 1440, 2880])
def test_the_hours_of_all_contexts_sum_to_one(slots: int) -> None:
    days = [Day(tuple("abc"[k % 3] for k in range(slots)), MONDAY), Day(("a",) * slots, MONDAY + dt.timedelta(days=5))]
    found = rhythms(days, Clock(slots))
    for part in ("weekday", "weekend"):
        assert [sum(one.by_hour[part][h] for one in found) for h in range(24)] == pytest.approx([1.0] * 24)


def test_seldom_is_a_tenth_of_the_days_and_never_unknown() -> None:
    dates = [MONDAY + dt.timedelta(days=k) for k in range(20)]
    rows = [["h", "h"] for _ in dates]
    rows[0][1] = rows[1][1] = "clinic"
    rows[2][1] = rows[3][1] = rows[4][1] = "gym"
    rows[5][1] = UNKNOWN
    days = [Day(tuple(row), date) for row, date in zip(rows, dates, strict=True)]
    (one,) = seldom(rhythms(days, Clock(2)), len(days))
    assert (one.context, one.days, one.last) == ("clinic", 2, dates[1])
