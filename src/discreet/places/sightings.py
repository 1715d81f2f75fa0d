"""Where a person was seen, and what that is called: a place, a label of the source, `away` or `moving`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.contexts import UNKNOWN
from discreet.errors import DataError
from discreet.numerics import BoolArray, FloatArray, IntArray
from discreet.places.ellipsoid import chords, points_of
from discreet.places.named import AWAY, MOVING, Places

SECOND = 1_000_000
"""Instants are microseconds since 1970."""

WALK = 1.0
"""Metres a second, on average since the position before, from which on a person is moving: slower than walking, and
faster than a phone's position wanders by itself (30 m in a minute is half of it)."""

APART = 60 * SECOND
"""Speeds are measured from the last position that is so much older: over a second or two, noise looks like speed."""


@dataclass(frozen=True, eq=False)
class Sightings:
    """One person's sightings in order of time.

    instants (m,): microseconds since 1970; positions (m, 2): degrees, NaN where only a label is known; labels (m,):
    numbers of `names`, -1 where the source has none.
    """

    instants: IntArray
    positions: FloatArray
    labels: IntArray
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.instants) > 1 and (np.diff(self.instants) < 0).any():
            raise DataError("sightings are not in order of time; sort them")

    def __len__(self) -> int:
        return len(self.instants)

    @classmethod
    def of(
        cls,
        instants: Sequence[int],
        positions: Sequence[tuple[float, float] | None],
        labels: Sequence[str | None] | None = None,
    ) -> Sightings:
        """From plain values, put in order of time."""
        given = [None] * len(instants) if labels is None else list(labels)
        names = tuple(dict.fromkeys(label for label in given if label is not None))
        numbers = {name: k for k, name in enumerate(names)} | {None: -1}
        nowhere = (np.nan, np.nan)
        when = np.array(instants, dtype=np.int64)
        order = np.argsort(when, kind="stable")
        where = np.array([nowhere if one is None else one for one in positions], dtype=np.float64).reshape(-1, 2)
        what = np.array([numbers[label] for label in given], dtype=np.int64)
        return cls(when[order], where[order], what[order], names)

    def part(self, low: int, high: int | None = None) -> Sightings:
        """Those from one index to before another."""
        return Sightings(self.instants[low:high], self.positions[low:high], self.labels[low:high], self.names)

    @property
    def placed(self) -> BoolArray:
        """(m,): which have a position."""
        return np.asarray(~np.isnan(self.positions).any(axis=1))


@dataclass(frozen=True, eq=False)
class Coded:
    """What sightings are called: codes (m,) number `contexts`; -1 is `unknown`. `at` (m,) is the place's own index."""

    codes: IntArray
    contexts: tuple[str, ...]
    at: IntArray


def coded(sightings: Sightings, places: Places) -> Coded:
    """The context of each sighting: its place; else the label of the source; else `moving` or `away`.

    The map comes first because the person has looked at it. A label `unknown` says that nothing is known from there on.
    """
    contexts = tuple(dict.fromkeys((*places.names, AWAY, MOVING, *sightings.names)))
    number = {name: k for k, name in enumerate(contexts)} | {UNKNOWN: -1}
    at = places.at(sightings.positions)
    of_place = np.array([*(number[place.name] for place in places.places), -1], dtype=np.int64)
    of_label = np.array([*(number[name] for name in sightings.names), -1], dtype=np.int64)
    between = np.where(moving(sightings), number[MOVING], number[AWAY])
    codes = np.where(sightings.labels >= 0, of_label[sightings.labels], between)
    return Coded(np.where(at >= 0, of_place[at], codes), contexts, at)


def moving(sightings: Sightings) -> BoolArray:
    """(m,): where the person has come at `WALK` or faster since the last position at least `APART` older.

    The mean speed is never above the true one, so that a long silence makes nobody move who did not.
    """
    found = np.zeros(len(sightings), dtype=np.bool_)
    there = np.flatnonzero(sightings.placed)
    instants = sightings.instants[there]
    before = np.searchsorted(instants, instants - APART, side="right") - 1
    known = np.flatnonzero(before >= 0)
    if len(known):
        points = points_of(sightings.positions[there])
        seconds = (instants[known] - instants[before[known]]) / SECOND
        found[there[known]] = chords(points[known], points[before[known]]) >= WALK * seconds
    return found


def remembered(sightings: Sightings) -> int:
    """The index from which on sightings still matter to later ones: what stands, and what its speed is measured from.

    Speeds of later ones are measured from that position or from later ones.
    """
    if not len(sightings):
        return 0
    there = np.flatnonzero(sightings.placed)
    before = np.searchsorted(sightings.instants[there], sightings.instants[-1] - APART, side="right") - 1
    reference = 0 if before < 0 else int(there[before])
    return min(reference, len(sightings) - 1)
