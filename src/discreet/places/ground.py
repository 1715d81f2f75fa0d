"""Whether a map that is drawn anew takes ground from some of its places: a secret's ground may only grow.

A position is called by the innermost place that holds it. So a place loses ground where its own shape no longer
reaches, and where another place that now counts as further in reaches. Each test here errs towards a loss: what is
said to lose nothing does not.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from discreet.numerics import BoolArray, FloatArray
from discreet.places.ellipsoid import chords, metres_around, points_of
from discreet.places.named import Places
from discreet.places.shapes import Circle, Shape

ROUNDED = 0.1
"""Metres that writing a circle to a file may take from it: the last digits of its middle and radius."""


ON_EDGE = 1e-9
"""Degrees from an edge, a tenth of a millimetre, at which a corner is on it."""


def taken_from(before: Places, after: Places, names: Collection[str]) -> tuple[str, str | None] | None:
    """The first place of these names that loses ground, and to which; to None where its own shape gives it up.

    None if none of them loses any.
    """
    for index, place in enumerate(before.places):
        if place.name not in names:
            continue
        heirs = [k for k, one in enumerate(after.places) if one.name == place.name and covers(one.shape, place.shape)]
        if not heirs:
            return place.name, None
        takers = [_taker(before, index, after, heir) for heir in heirs]
        if all(taker is not None for taker in takers):
            return place.name, takers[0]
    return None


def spreads(before: Places, after: Places) -> str | None:
    """The first place that may reach where no place was before: positions there were called otherwise, such as `away`.

    None if none does.
    """
    for place in after.places:
        if not any(covers(one.shape, place.shape) for one in before.places):
            return place.name
    return None


def _taker(before: Places, index: int, after: Places, heir: int) -> str | None:
    """The place of another name that is further in than the heir and was not before, and may reach the old ground."""
    place = before.places[index]
    held = [one for j, one in enumerate(before.places) if _further_in(before, j, index) and one.name != place.name]
    for k, other in enumerate(after.places):
        if other.name == place.name or not _further_in(after, k, heir) or _apart(other.shape, place.shape):
            continue
        if not any(one.name == other.name and covers(one.shape, other.shape) for one in held):
            return other.name
    return None


def _further_in(places: Places, k: int, j: int) -> bool:
    """Whether positions in both are in place k, as `Places.at` has it."""
    return (places.places[k].shape.area, k) < (places.places[j].shape.area, j)


def _apart(one: Shape, other: Shape) -> bool:
    """Whether circles around both have nothing in common."""
    (gap,) = chords(points_of([one.middle]), points_of([other.middle])).tolist()
    return bool(gap > _reach(one) + _reach(other))


def _reach(shape: Shape) -> float:
    if isinstance(shape, Circle):
        return shape.radius
    return float(chords(np.concatenate([points_of(ring) for ring in shape.rings]), points_of([shape.middle])).max())


def covers(outer: Shape, inner: Shape) -> bool:
    """Whether all of one shape is in another."""
    if same_shape(outer, inner):
        return True
    if isinstance(outer, Circle):
        middle = points_of([outer.middle])
        if isinstance(inner, Circle):
            (gap,) = chords(points_of([inner.middle]), middle).tolist()
            return bool(gap + inner.radius <= outer.radius + ROUNDED)
        return all(bool((chords(points_of(ring), middle) <= outer.radius).all()) for ring in inner.rings)
    if isinstance(inner, Circle):
        inside = bool(_holds(outer, np.array([inner.middle]))[0])
        return inside and _nearest_edge(outer, inner.middle) >= inner.radius
    return _polygon_covers(outer, inner)


def same_shape(one: Shape, other: Shape) -> bool:
    """Whether two shapes are drawn alike."""
    if isinstance(one, Circle) or isinstance(other, Circle):
        return one == other
    return len(one.rings) == len(other.rings) and all(map(np.array_equal, one.rings, other.rings))


def _holds(shape: Shape, positions: FloatArray) -> BoolArray:
    return shape.holds(positions, points_of(positions))


def _nearest_edge(shape: Shape, middle: tuple[float, float]) -> float:
    """Metres from a position to the nearest edge."""
    found = np.inf
    for ring in shape.rings:
        start = metres_around(middle, ring)
        along = np.roll(start, -1, axis=0) - start
        square = np.maximum((along * along).sum(axis=1), 1e-12)
        part = np.clip(-(start * along).sum(axis=1) / square, 0.0, 1.0)
        foot = start + along * part[:, None]
        found = min(found, float(np.sqrt((foot * foot).sum(axis=1)).min()))
    return float(found)


def _polygon_covers(outer: Shape, inner: Shape) -> bool:
    """No edges cross, no corner of the inner is outside, and nothing of the outer's edges is inside."""
    theirs, ours = np.concatenate(outer.rings), np.concatenate(inner.rings)
    shared = (ours[:, None, :] == theirs[None, :, :]).all(axis=2)
    if not (_holds(outer, ours) | shared.any(axis=1)).all():
        return False
    if (_holds(inner, theirs) & ~shared.any(axis=0)).any():
        return False
    return not _edges_cross(outer, inner) and not _edges_within(outer, inner)


def _edges_within(outer: Shape, inner: Shape) -> bool:
    """Whether an edge of the outer goes through the inner between corners that are on its edge, or are its own.

    Edges are cut at the inner's corners on them; each part is then in the inner, outside it, or along its edge.
    """
    start = float(outer.rings[0][0, 1])
    ours = _edges(inner, start)
    corners = np.stack([a for a, _ in ours])
    middles = []
    for a, b in _edges(outer, start):
        along, part, off = _beside(a, b, corners)
        cuts = np.unique([0.0, *part[(off < ON_EDGE) & (part > 0) & (part < 1)], 1.0])
        middles += [a + along * middle for middle in (cuts[1:] + cuts[:-1]) / 2]
    asked = np.array(middles)
    apart = np.min([_beside(a, b, asked)[2] for a, b in ours], axis=0)
    return bool((_holds(inner, asked) & (apart > ON_EDGE)).any())


def _beside(a: FloatArray, b: FloatArray, positions: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """An edge as a vector; how far along it each position is, from 0 to 1, and how many degrees off."""
    along = b - a
    part = np.clip((positions - a) @ along / max(float(along @ along), 1e-300), 0.0, 1.0)
    return along, part, np.abs(positions - a - part[:, None] * along).max(axis=1)


def _edges_cross(one: Shape, other: Shape) -> bool:
    """Whether an edge of one goes through an edge of the other, and not just to a corner that they share."""
    start = float(one.rings[0][0, 1])
    for a, b in _edges(one, start):
        for c, d in _edges(other, start):
            if _side(a, b, c) * _side(a, b, d) < 0 and _side(c, d, a) * _side(c, d, b) < 0:
                return True
    return False


def _edges(shape: Shape, start: float) -> list[tuple[FloatArray, FloatArray]]:
    found = []
    for ring in shape.rings:
        longitude = start + (ring[:, 1] - start + 180) % 360 - 180
        corners = np.stack([ring[:, 0], longitude], axis=1)
        found += list(zip(corners, np.roll(corners, -1, axis=0), strict=True))
    return found


def _side(a: FloatArray, b: FloatArray, c: FloatArray) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
