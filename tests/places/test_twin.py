"""Stays, and contexts of slots, against twins in plain Python; a file against a stream."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.clock import Clock
from discreet.places import Circle, Place, Places, Sightings, SlotStream, day_contexts
from discreet.places.dwell import instant_of
from discreet.places.ellipsoid import points_of
from discreet.places.sightings import SECOND
from discreet.places.stays import stays_of
from tests.places import twin

MINUTE = 60 * SECOND

# --- stays


@given(
    steps=st.lists(st.tuples(st.integers(0, 40), st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=60),
    middle=st.sampled_from([(48.0, 11.0), (0.0, 180.0), (89.9999, 0.0)]),
    shortest=st.integers(0, 60),
    carry=st.integers(1, 60),
)
@settings(max_examples=300)
def test_stays_are_those_of_the_twin(
    steps: list[tuple[int, int, int]], middle: tuple[float, float], shortest: int, carry: int
) -> None:
    """Times in minutes; each position 30 m more or less along each axis than the one before, or back at the start."""
    instants, points, now = [], [], 0
    x, y, z = (float(round(axis)) for axis in twin.point(*middle))
    a = b = 0.0
    for minutes, east, north in steps:
        now += minutes
        a, b = (0.0, 0.0) if (east, north) == (3, 3) else (a + 29.0 * east, b + 31.0 * north)
        instants.append(now)
        points.append((x + a, y + b, z))
    found = stays_of(np.array(instants), np.array(points), 100.1, shortest, carry)
    expected = twin.stays(instants, points, 100.1, shortest, carry)
    assert list(zip(found.first.tolist(), found.last.tolist(), strict=True)) == [(s[0], s[-1]) for s in expected]
    means = [np.mean([points[k] for k in stay], axis=0) for stay in expected]
    assert np.allclose(found.middle, np.array(means).reshape(-1, 3), rtol=0, atol=1e-6)


@given(st.floats(-90, 90), st.floats(-180, 180))
def test_points_are_those_of_the_twin(latitude: float, longitude: float) -> None:
    assert points_of([(latitude, longitude)])[0] == pytest.approx(twin.point(latitude, longitude), abs=1e-6)


# --- slots

CIRCLES = {"home": (48.0, 11.0, 100.0), "hall": (48.0, 11.02, 400.0), "desk": (48.0, 11.021, 50.0)}
MAP = Places(Place(name, Circle(*circle)) for name, circle in CIRCLES.items())
SPOTS = [(48.0, 11.0), (48.0, 11.02), (48.0, 11.021), (48.0, 11.01), (48.0, 11.0104), (48.0, 11.006), (48.0, 11.004)]
"""In the places, and on the way between: some further apart than a minute's walk, some nearer."""

STARTS = [
    dt.datetime(2026, 3, 2, 3, 50, tzinfo=dt.UTC),
    dt.datetime(2026, 3, 28, 22, tzinfo=dt.UTC),  # the night in which clocks of Europe go forward
    dt.datetime(2026, 10, 24, 22, tzinfo=dt.UTC),  # and back
]

WAITS = st.sampled_from([0, 1, 30, 59, 60, 61, 299, 900, 1799, 1800, 3600, 7000, 20_000])


@st.composite
def histories(draw: st.DrawFn) -> list[twin.Seen]:
    """Sightings in order of time; some at one instant, some with labels, some with nothing else."""
    now = instant_of(draw(st.sampled_from(STARTS)))
    found = []
    for wait, spot, label in draw(
        st.lists(
            st.tuples(WAITS, st.integers(0, len(SPOTS)), st.sampled_from([None] * 4 + ["home", "cinema", "unknown"])),
            min_size=1,
            max_size=25,
        )
    ):
        now += wait * SECOND
        position = SPOTS[spot] if spot < len(SPOTS) else None
        found.append(twin.Seen(now, position, label if position is not None or label is not None else "cinema"))
    return found


CLOCKS = st.builds(
    Clock,
    st.sampled_from([24, 48, 96]),
    st.sampled_from(["UTC", "Europe/Paris", "Australia/Lord_Howe"]),
    st.sampled_from(["00:00", "04:00"]),
)


@pytest.mark.slow("simulates people and all their places")
@given(histories(), CLOCKS, st.sampled_from([0, 600, 3600, 4 * 3600]))
@settings(max_examples=200, deadline=None)
def test_a_file_is_told_as_the_twin_tells_it(seen: list[twin.Seen], clock: Clock, carry: int) -> None:
    assert whole(seen, clock, carry) == twin.slots(seen, CIRCLES, clock, carry * SECOND)


@pytest.mark.slow("simulates people and all their places")
@given(histories(), CLOCKS, st.sampled_from([0, 600, 4 * 3600]), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_a_stream_tells_what_the_file_does(seen: list[twin.Seen], clock: Clock, carry: int, chance: Any) -> None:
    """Within a slot in any order, save that those of one instant keep theirs."""
    told = whole(seen, clock, carry)
    first = clock.locate(dt.datetime.fromtimestamp(seen[0].instant // SECOND, dt.UTC))[0]
    stream = SlotStream(MAP, clock, start=first, hold=carry)
    coming, streamed = list(seen), []
    for _ in told:
        ends = instant_of(clock.end_of(stream.date, stream.slot))
        now, coming = [one for one in coming if one.instant < ends], [one for one in coming if one.instant >= ends]
        moments = sorted({one.instant for one in now}, key=lambda _: chance.random())
        for one in (one for moment in moments for one in now if one.instant == moment):
            stream.see(one.instant, one.position, one.label)
        streamed.append(stream.close())
    assert streamed == told
    assert stream.late == 0


def whole(seen: list[twin.Seen], clock: Clock, carry: int) -> list[str]:
    """What a file of these sightings is told as."""
    sightings = Sightings.of([one.instant for one in seen], [one.position for one in seen], [one.label for one in seen])
    return [context for _, row in day_contexts(sightings, MAP, clock, carry) for context in row]
