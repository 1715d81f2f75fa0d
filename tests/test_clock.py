"""Slots as instants: without gap or overlap, over midnights and changes of the clock."""

from __future__ import annotations

import datetime as dt
from functools import cache
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.clock import Clock

MINUTE = dt.timedelta(minutes=1)
ONE_DAY = dt.timedelta(days=1)

CHANGES = [  # zone, date on which clocks change
    ("Europe/Paris", dt.date(2026, 3, 29)),
    ("Europe/Paris", dt.date(2026, 10, 25)),
    ("America/New_York", dt.date(2026, 3, 8)),
    ("America/New_York", dt.date(2026, 11, 1)),
    ("Australia/Lord_Howe", dt.date(2026, 10, 4)),  # by half an hour
    ("Australia/Lord_Howe", dt.date(2026, 4, 5)),
    ("Asia/Gaza", dt.date(2011, 8, 1)),
    ("America/Sao_Paulo", dt.date(2018, 11, 4)),  # at midnight, which that day does not have
    ("America/Sao_Paulo", dt.date(2018, 2, 17)),  # an hour before midnight is repeated
    ("Pacific/Apia", dt.date(2011, 12, 30)),  # a date that was skipped
    ("UTC", dt.date(2026, 3, 29)),
]
CUTS = ["00:00", "04:00", "02:30", "02:10", "23:30"]  # some inside the hour that is skipped or repeated


def utc(time: dt.datetime) -> dt.datetime:
    return time.astimezone(dt.UTC)


def slots_around(clock: Clock, date: dt.date) -> list[tuple[dt.date, int]]:
    return [(date + days * ONE_DAY, slot) for days in range(-2, 3) for slot in range(clock.slots)]


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("slots", [1, 5, 48])
@pytest.mark.parametrize(("zone", "date"), CHANGES)
def test_a_slot_ends_when_the_next_starts_and_never_before_it_started(
    zone: str, date: dt.date, slots: int, cut: str
) -> None:
    clock = Clock(slots, zone, cut)
    around = slots_around(clock, date)
    starts = [utc(clock.start_of(*at)) for at in around]
    ends = [utc(clock.end_of(*at)) for at in around]
    assert ends[:-1] == starts[1:]
    assert starts == sorted(starts)
    assert all(start <= end for start, end in zip(starts, ends, strict=True))


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("slots", [5, 48])
@pytest.mark.parametrize(("zone", "date"), CHANGES)
def test_a_slot_starts_when_the_wall_clock_first_reaches_its_time(
    zone: str, date: dt.date, slots: int, cut: str
) -> None:
    """The slow twin walks through five days of UTC, minute by minute."""
    clock, minutes, number = Clock(slots, zone, cut), walked(zone, date), 0
    for at in slots_around(clock, date):
        wall = dt.datetime.combine(at[0], dt.time()) + dt.timedelta(
            seconds=clock.cut_seconds + at[1] * clock.slot_seconds
        )
        while minutes[number][1] < wall:
            number += 1
        assert utc(clock.start_of(*at)) == minutes[number][0], at


@cache
def walked(zone: str, date: dt.date) -> list[tuple[dt.datetime, dt.datetime]]:
    """Each minute around a date, in UTC and as the wall clock shows it."""
    first = dt.datetime.combine(date, dt.time(), dt.UTC) - 4 * ONE_DAY
    moments = [first + minute * MINUTE for minute in range(9 * 24 * 60)]
    return [(moment, moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None)) for moment in moments]


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("slots", [5, 48])
@pytest.mark.parametrize(("zone", "date"), CHANGES)
def test_an_instant_is_in_the_slot_that_holds_it_but_for_a_second_run_of_an_hour(
    zone: str, date: dt.date, slots: int, cut: str
) -> None:
    clock = Clock(slots, zone, cut)
    start = dt.datetime.combine(date, dt.time(), dt.UTC) - ONE_DAY
    for minute in range(0, 3 * 24 * 60, 5):
        moment = start + minute * MINUTE
        at = clock.locate(moment)
        assert utc(clock.start_of(*at)) <= moment
        again = moment.astimezone(ZoneInfo(zone)).fold == 1
        assert again or moment < utc(clock.end_of(*at))


@given(
    moment=st.datetimes(dt.datetime(1990, 1, 1), dt.datetime(2040, 1, 1), timezones=st.just(dt.UTC)),
    zone=st.sampled_from(["Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Asia/Gaza", "Africa/Casablanca"]),
    slots=st.sampled_from([1, 24, 25, 48, 96, 86_400]),
    cut=st.sampled_from(CUTS),
)
def test_what_holds_of_instants_holds_at_any_time(moment: dt.datetime, zone: str, slots: int, cut: str) -> None:
    clock = Clock(slots, zone, cut)
    date, slot = clock.locate(moment)
    assert utc(clock.start_of(date, slot)) <= moment
    assert moment < utc(clock.end_of(date, slot)) or moment.astimezone(ZoneInfo(zone)).fold == 1
    following = (date, slot + 1) if slot + 1 < slots else (date + ONE_DAY, 0)
    assert utc(clock.end_of(date, slot)) == utc(clock.start_of(*following)) <= utc(clock.end_of(*following))


def test_a_spring_and_an_autumn_day_in_paris() -> None:
    clock = Clock(24, "Europe/Paris")
    spring, autumn = dt.date(2026, 3, 29), dt.date(2026, 10, 25)
    assert [clock.start_of(spring, k).isoformat()[11:] for k in (1, 2, 3, 4)] == [
        "01:00:00+01:00",
        "03:00:00+02:00",  # two o'clock is skipped: the slot is empty
        "03:00:00+02:00",
        "04:00:00+02:00",
    ]
    lengths = [
        (utc(clock.end_of(autumn, k)) - utc(clock.start_of(autumn, k))) // dt.timedelta(hours=1) for k in range(24)
    ]
    assert lengths == [1, 1, 2] + [1] * 21  # from two to three twice
