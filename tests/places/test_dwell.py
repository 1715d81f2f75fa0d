"""From positions to a context a slot: the rule by hand (its twin, and file against stream, are in test_twin.py)."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

from discreet.clock import Clock
from discreet.contexts import UNKNOWN
from discreet.errors import DataError
from discreet.places import AWAY, MOVING, Circle, Place, Places, Sightings, SlotStream, day_contexts
from discreet.places.dwell import MOVING_HOLDS, bounds_of, instant_of
from discreet.places.sightings import SECOND, coded

HOME, WORK, BETWEEN = (48.0, 11.0), (48.0, 11.02), (48.0, 11.01)
MAP = Places([Place("home", Circle(*HOME, 100)), Place("work", Circle(*WORK, 100))])
DAY = dt.date(2026, 3, 2)
MIDNIGHT = int(dt.datetime(2026, 3, 2, tzinfo=dt.UTC).timestamp())
MINUTE = 60


def day(*seen: tuple[float, tuple[float, float] | str], hold: float = 0, slots: int = 24) -> list[str]:
    """The contexts of one day of UTC, from (minutes, position or label)."""
    instants = [round((MIDNIGHT + minutes * MINUTE) * SECOND) for minutes, _ in seen]
    positions = [None if isinstance(what, str) else what for _, what in seen]
    labels = [what if isinstance(what, str) else None for _, what in seen]
    ((date, contexts),) = day_contexts(Sightings.of(instants, positions, labels), MAP, Clock(slots), hold)
    assert date == DAY
    return contexts


def test_what_stood_longest_in_a_slot_is_its_context() -> None:
    assert day((0, HOME), (25, BETWEEN), (28, WORK))[0] == "work"
    assert day((0, HOME), (35, BETWEEN), (40, WORK))[0] == "home"


def test_parts_of_one_context_add_up() -> None:
    assert day((0, HOME), (20, WORK), (45, HOME))[0] == "home"


def test_of_equals_the_later_stands() -> None:
    assert day((0, HOME), (30, WORK))[0] == "work"
    assert day((0, WORK), (30, HOME))[0] == "home"
    assert day((0, WORK), (0, HOME))[0] == "home"  # at one instant, the later in the file


def test_a_sighting_stands_to_the_end_of_its_slot_and_then_for_hold() -> None:
    assert day((10, HOME))[:3] == ["home", UNKNOWN, UNKNOWN]
    assert day((10, HOME), hold=3600)[:3] == ["home", "home", UNKNOWN]  # to 01:10
    assert day((0, HOME), hold=3600)[:3] == ["home", UNKNOWN, UNKNOWN]  # to 01:00, and no further


def test_time_of_which_nothing_is_known_does_not_vote() -> None:
    assert day((59, HOME))[0] == "home"
    assert day((0, HOME), (1, UNKNOWN), hold=7200)[:2] == ["home", UNKNOWN]  # from there on, nothing is known


def test_between_places_is_away_or_moving_by_speed() -> None:
    assert day((0, BETWEEN))[0] == AWAY
    assert day((0, BETWEEN), (30, BETWEEN))[0] == AWAY
    assert day((0, (48.0, 11.004)), (2, (48.0, 11.006)), (4, (48.0, 11.008)))[0] == MOVING
    far = [(k * 0.1, (48.0, 11.01 + 0.0003 * (k % 2))) for k in range(10)]  # 22 m to and fro: noise
    assert day(*far)[0] == AWAY


def test_a_place_comes_before_movement_and_silence_makes_nobody_move() -> None:
    assert day((0, (48.0, 11.004)), (2, HOME))[0] == "home"  # 300 m in 2 minutes, and there
    assert day((0, (48.0, 11.004)), (2, BETWEEN))[0] == MOVING
    assert day((0, (48.0, 11.004)), (29, (48.0, 11.024)))[0] == AWAY  # 1.5 km in half an hour, and nothing between


def test_moving_stands_for_a_short_while_only() -> None:
    walk: list[tuple[float, tuple[float, float] | str]] = [(50 + 2 * k, (48.0, 11.004 + 0.002 * k)) for k in range(5)]
    told = day(*walk, hold=4 * 3600)
    assert told[0] == MOVING
    assert told[1] == MOVING  # 15 minutes of it
    assert told[2] == UNKNOWN
    assert MOVING_HOLDS == 15 * MINUTE * SECOND


def test_labels_stand_where_the_map_has_no_place() -> None:
    assert day((0, "cinema"))[0] == "cinema"
    both = Sightings.of([MIDNIGHT * SECOND] * 2, [HOME, BETWEEN], ["cinema", "cinema"])
    found = coded(both, MAP)
    assert [found.contexts[code] for code in found.codes] == ["home", "cinema"]


# --- clocks


@pytest.mark.parametrize("date", [dt.date(2026, 3, 29), dt.date(2026, 10, 25), dt.date(2026, 6, 1)])
def test_bounds_are_the_starts_of_slots_where_clocks_change_too(date: dt.date) -> None:
    clock = Clock(48, "Europe/Paris", "04:00")
    first = date - dt.timedelta(days=2)
    expected = [
        instant_of(clock.start_of(first + dt.timedelta(days=k), slot)) for k in range(4) for slot in range(48)
    ] + [instant_of(clock.start_of(first + dt.timedelta(days=4), 0))]
    assert bounds_of(clock, first, 4).tolist() == expected


def test_a_skipped_hour_takes_what_stands_and_a_repeated_one_is_one_slot() -> None:
    clock = Clock(24, "Europe/Paris")
    before = int(dt.datetime(2026, 3, 29, 0, 30, tzinfo=dt.UTC).timestamp()) * SECOND  # 01:30, clocks go to 03:00
    ((_, contexts),) = day_contexts(Sightings.of([before], [HOME]), MAP, clock, 2 * 3600)
    assert contexts[1:6] == ["home", "home", "home", "home", UNKNOWN]  # to 04:30
    repeated = [dt.datetime(2026, 10, 25, 0, 10, tzinfo=dt.UTC), dt.datetime(2026, 10, 25, 0, 50, tzinfo=dt.UTC)]
    seen = Sightings.of([instant_of(one) for one in repeated], [HOME, WORK])  # 02:10, and 02:50 of the first run
    ((_, contexts),) = day_contexts(seen, MAP, clock, 0)
    assert contexts[2] == "work"  # 70 minutes of the two hours


# --- streams


def test_a_stream_counts_what_comes_too_late_and_keeps_what_comes_early() -> None:
    stream = SlotStream(MAP, Clock(24), start=DAY, hold=0)
    at = dt.datetime(2026, 3, 2, 0, 10, tzinfo=dt.UTC)
    stream.see(at + dt.timedelta(hours=1), WORK)
    stream.see(at, HOME)
    assert stream.close() == "home"
    stream.see(at, WORK)
    assert stream.late == 1
    assert [stream.close(), stream.close()] == ["work", UNKNOWN]
    assert (stream.date, stream.slot) == (DAY, 3)
    with pytest.raises(DataError, match="neither"):
        stream.see(at + dt.timedelta(hours=5))


def test_a_stream_remembers_little() -> None:
    stream = SlotStream(MAP, Clock(24), start=DAY)
    for second in range(0, 7200, 5):
        if second == 3600:
            stream.close()
        stream.see((MIDNIGHT + second) * SECOND, HOME)
    stream.close()
    assert len(stream._before) <= 60 // 5 + 1


def test_wrong_holds_and_disorder_are_refused() -> None:
    with pytest.raises(DataError, match="stand for"):
        SlotStream(MAP, Clock(24), start=DAY, hold=-1)
    with pytest.raises(DataError, match="order of time"):
        Sightings(np.array([2, 1]), np.zeros((2, 2)), np.array([-1, -1]))
