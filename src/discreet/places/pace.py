"""How a source records: steadily, only when something changes, or now and then; and how long a sighting then stands.

A phone that saves power says nothing while it lies still, and Home Assistant writes changes only. There, silence means
that the person is still where they were. A phone that reports every few minutes and then does not is switched off. Who
checks in somewhere once a day has left, at some time, without a word.
"""

from __future__ import annotations

import numpy as np

from discreet.numerics import FloatArray, IntArray
from discreet.places.ellipsoid import chords
from discreet.places.sightings import SECOND

STEADY = 4 * 3600.0
"""Seconds that a sighting stands where a source reports steadily."""

CHANGES = 48 * 3600.0
"""The same where it reports changes only: from Saturday morning to Monday is a weekend at home."""

PAUSE = 45 * 60.0
"""Seconds without a sighting that are a silence, unless all sightings are as far apart as that."""

REGULAR, SLOWEST_POLL = 1.5, 3 * 3600.0
"""A source polls whose quartiles of waiting differ by no more than this factor, and are no longer than so many seconds.
Then three times as long is a silence."""

CHANGES_A_DAY = 2
"""Sightings on a usual date with any, from which on all changes may have been recorded: who leaves comes back."""

QUIET_SHARE = 0.5
"""Of the time, that silences fill where a source reports changes only. A phone that is off every night has a third."""

TRAVEL = 10.0
"""Metres a second from one place to the next, at which somebody must have left who has been seen far away."""


def is_sparse(instants: IntArray) -> bool:
    """Whether a source says nothing for most of the time, by the time that its silences fill."""
    waits = np.diff(instants)
    waits = waits[waits > 0] / SECOND
    if len(waits) < 2:
        return False
    low, high = np.quantile(waits, [0.25, 0.75])
    polls = high <= min(REGULAR * low, SLOWEST_POLL)
    pause = max(PAUSE, 3 * high) if polls else PAUSE
    counted = np.minimum(waits, CHANGES)  # a year in a drawer is no habit of the source
    return bool(counted[waits > pause].sum() >= QUIET_SHARE * counted.sum())


def records_changes(instants: IntArray) -> bool:
    """Whether a source is silent while nothing changes, and tells all changes."""
    if not is_sparse(instants):
        return False
    _, counts = np.unique(instants // (86_400 * SECOND), return_counts=True)
    return bool(np.median(counts) >= CHANGES_A_DAY)


def stands_for(instants: IntArray) -> float:
    """Seconds that a sighting stands when none follows: `STEADY`, or `CHANGES` where silence is no news."""
    return CHANGES if records_changes(instants) else STEADY


def with_pauses(instants: IntArray, points: FloatArray, hold: float) -> tuple[IntArray, FloatArray]:
    """Instants (m,) and points (m, 3) with the end of every silence added, where the person was before it.

    The end is the latest that allows for the way to the next position at `TRAVEL`, and no later than `hold` seconds
    after the last. So one position and the next one far away make a stay, within the bounds of the gap.
    """
    if len(instants) < 2:
        return instants, points
    waits = np.diff(instants) / SECOND
    away = chords(points[1:], points[:-1])
    stay = waits - np.where(away > 0, away / TRAVEL, 0.0)
    paused = np.flatnonzero((waits > PAUSE) & (stay > 0))
    ends = instants[paused] + (np.minimum(stay[paused], hold) * SECOND).astype(np.int64)
    return np.insert(instants, paused + 1, ends), np.insert(points, paused + 1, points[paused], axis=0)
