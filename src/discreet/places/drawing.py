"""Maps of places as SVG: drawn to scale, north up, with close-ups where places would lie on each other.

Places far apart are areas with a map each, for a flight would shrink all else to dots. Where places of an area are too
near each other to be told apart on its map, a box with a letter stands for them, and the letter's close-up shows them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

import numpy as np

from discreet.numerics import FloatArray, IntArray
from discreet.places.ellipsoid import metres_around, points_of, positions_of_points
from discreet.places.named import Places
from discreet.places.plane import EARTH

FAR = 80_000.0
"""Metres between neighbours from which on they are areas of their own."""

WIDE, NARROW = 800.0, 340.0
"""The widths of a map on a desk, and on a phone or as a close-up, in units of the drawing, which are about pixels."""

CLOSE = 30.0
"""Middles nearer than this on a wide map are too near to be told apart."""

SMALL = 70.0
"""Shapes wider than this on a wide map are never too small to be told apart."""

DOT = 4.0
"""Shapes with a smaller radius on the drawing get a dot, so that they are seen."""

LETTER, IDEOGRAPH, LINE = 7.4, 13.0, 15.0
"""The sizes of letters and lines of names, by which names are kept apart."""

COLOURS = 12
"""How many colours there are; a page defines them as --c of classes c0, c1, ..."""

WINDS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")


def length(metres: float) -> str:
    """In words."""
    if metres < 1000:
        return f"{metres:.0f} m"
    return f"{metres / 1000:.3g} km" if metres < 100_000 else f"{metres / 1000:,.0f} km"


def colour(k: int) -> str:
    """The class of a place's colour."""
    return f"c{k % COLOURS}"


# --- which places are drawn together


def areas_of(places: Places) -> list[list[int]]:
    """The places of each area, areas with the first places first."""
    return _linked(points_of([place.shape.middle for place in places.places]), FAR)


def _linked(points: FloatArray, near: float) -> list[list[int]]:
    """The groups in which each has a neighbour within `near`, in order of their first members."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    pairs = cKDTree(points).query_pairs(near, output_type="ndarray")
    links = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(points), len(points)))
    which: IntArray = connected_components(links, directed=False)[1]
    return [np.flatnonzero(which == group).tolist() for group in dict.fromkeys(which.tolist())]


def close_ups(places: Places, drawn: Sequence[int]) -> list[list[int]]:
    """The groups on one map that need a map of their own: too near to each other, and less than half of the map."""
    view = DrawnView.around(places, drawn, WIDE)
    small = [k for k in drawn if np.ptp(view.corners[k], axis=0).max() < SMALL]
    return list(_groups(view, small, CLOSE, view.span(drawn) / 2))


def _groups(view: DrawnView, some: Sequence[int], near: float, most: float) -> Iterator[list[int]]:
    """Those linked by `near` on the drawing; what is then wider than `most` is a busy quarter, linked more closely."""
    if len(some) < 2:
        return
    for linked in _linked(np.array([view.spots[k] for k in some]), near):
        group = [some[k] for k in linked]
        if len(group) > 1 and view.span(group) <= most:
            yield group
        elif len(group) > 1 and near > DOT:
            yield from _groups(view, group, near / 2, most)


def across(places: Places, drawn: Sequence[int]) -> float:
    """Metres between the two middles that are furthest apart."""
    points = points_of([places.places[k].shape.middle for k in drawn])
    return max(float(np.sqrt(((points - point) ** 2).sum(axis=1)).max()) for point in points)


def bearing(here: tuple[float, float], there: tuple[float, float]) -> str:
    """How far and in which direction, such as `820 km south`."""
    a, b = points_of([here, there])
    chord = float(np.sqrt(((b - a) ** 2).sum()))
    arc = 2 * EARTH * float(np.arcsin(min(chord / (2 * EARTH), 1.0)))
    ((east, north),) = metres_around(here, [there]).tolist()
    wind = WINDS[round(float(np.degrees(np.arctan2(east, north))) / 45) % 8]
    return f"{length(arc)} {wind}"


# --- one map


@dataclass(frozen=True)
class DrawnView:
    """How places lie on a drawing of `wide` by `high`: corners (m, 2) and middle (2,) of each; `scale` is per metre."""

    wide: float
    high: float
    scale: float
    corners: dict[int, FloatArray]
    rings: dict[int, list[FloatArray]]
    spots: dict[int, FloatArray]

    @classmethod
    def around(cls, places: Places, drawn: Sequence[int], wide: float) -> DrawnView:
        """Metres around the middle of the places, made to fit; the height is as they need it."""
        points = points_of([places.places[k].shape.middle for k in drawn])
        ((latitude, longitude),) = positions_of_points(points.mean(axis=0)[None, :]).tolist()
        middle = (latitude, longitude)
        rings = {k: [metres_around(middle, ring) for ring in places.places[k].shape.rings] for k in drawn}
        corners = np.concatenate([ring for own in rings.values() for ring in own])
        low, high = corners.min(axis=0), corners.max(axis=0)
        edge, highest = 36.0 + wide / 40, wide * (0.56 if wide == WIDE else 0.85)
        size, room = np.maximum(high - low, 1.0), np.array([wide - 2 * edge, highest - 2 * edge])
        scale = float((room / size).min()) * (0.5 if len(drawn) == 1 else 1.0)
        tall = float(np.clip(size[1] * scale + 2 * edge, 0.3 * wide, highest))

        def on_page(metres: FloatArray) -> FloatArray:
            """(k, 2): x to the right and y down."""
            return np.asarray((metres - (low + high) / 2) * [scale, -scale] + [wide / 2, tall / 2])

        paths = {k: [on_page(ring) for ring in own] for k, own in rings.items()}
        spots = {k: on_page(metres_around(middle, [places.places[k].shape.middle]))[0] for k in drawn}
        return cls(wide, tall, scale, {k: np.concatenate(own) for k, own in paths.items()}, paths, spots)

    def box(self, group: Sequence[int], more: float = 0.0) -> Box:
        """Around all of a group, and so much more on each side."""
        corners = np.concatenate([self.corners[k] for k in group])
        (left, top), (right, bottom) = (corners.min(axis=0) - more).tolist(), (corners.max(axis=0) + more).tolist()
        return Box(left, top, right, bottom)

    def span(self, group: Sequence[int]) -> float:
        """The longer side of the box around a group."""
        box = self.box(group)
        return max(box.right - box.left, box.bottom - box.top)


class Box(NamedTuple):
    """A rectangle on the drawing."""

    left: float
    top: float
    right: float
    bottom: float

    def holds(self, other: Box) -> bool:
        """Whether another lies in it."""
        beside = self.left <= other.left and other.right <= self.right
        return self != other and beside and self.top <= other.top and other.bottom <= self.bottom


def svg_of(
    places: Places, shares: Sequence[float], drawn: Sequence[int], wide: float, boxes: dict[str, list[int]]
) -> str:
    """One map. `boxes` are groups that their letter stands for; shares of time stand beside names."""
    view = DrawnView.around(places, drawn, wide)
    shapes = [_shape(view, k) for k in sorted(drawn, key=lambda k: -places.places[k].shape.area)]
    sign = _scale_bar(view)
    labels = Labels(view.wide, view.high)
    boxed = {k for group in boxes.values() for k in group}
    frames = {letter: view.box(group, more=7.0) for letter, group in boxes.items()}
    alone = [(k, _around(view, k)) for k in drawn if k not in boxed]
    every = [*frames.values(), *(box for _, box in alone)]
    labels.taken += [box for box in every if not any(box.holds(other) for other in every)]  # names may lie in a campus
    for letter, frame in frames.items():
        shapes.append(
            f'<rect x="{frame.left:.1f}" y="{frame.top:.1f}" width="{frame.right - frame.left:.1f}" '
            f'height="{frame.bottom - frame.top:.1f}" rx="4" class="frame"/>'
        )
        name = places.places[boxes[letter][0]].name
        labels.place(frame, letter, name, f"and {len(boxes[letter]) - 1} more", strong=True)
    for k, box in alone:
        place = places.places[k]
        labels.place(box, "" if place.number is None else str(place.number), place.name, percent(shares[k]))
    inner = "\n".join([*_grid(view), *shapes, *labels.drawn, sign])
    kind = "wide" if wide == WIDE else "narrow"
    return (
        f'<svg class="map {kind}" viewBox="0 0 {view.wide:g} {view.high:.0f}" role="img" '
        f'aria-label="map of places, north up">\n{inner}</svg>'
    )


def percent(share: float) -> str:
    """A share in words."""
    return f"{100 * share:.1f} %" if share < 0.0995 else f"{100 * share:.0f} %"


def _around(view: DrawnView, k: int) -> Box:
    """The box of a place, or of its dot where that is larger."""
    box, (x, y) = view.box([k]), view.spots[k].tolist()
    return Box(min(box.left, x - DOT), min(box.top, y - DOT), max(box.right, x + DOT), max(box.bottom, y + DOT))


def _shape(view: DrawnView, k: int) -> str:
    path = " ".join("M" + " L".join(f"{x:.1f},{y:.1f}" for x, y in ring.tolist()) + " Z" for ring in view.rings[k])
    found = f'<path d="{path}" class="shape {colour(k)}"/>'
    if max(np.ptp(view.corners[k], axis=0)) < 2 * DOT:
        x, y = view.spots[k].tolist()
        found += f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{DOT:g}" class="dot {colour(k)}"/>'
    return found


@dataclass
class Labels:
    """Names beside their places, none on another name or place; what finds no room is its number alone."""

    wide: float
    high: float
    taken: list[Box] = field(default_factory=list)
    drawn: list[str] = field(default_factory=list)

    def place(self, at: Box, number: str, name: str, more: str, *, strong: bool = False) -> None:
        """Write one label near a box, or in it where it is large; with a line to it where it is not beside it."""
        longest = int(self.wide / 3 / LETTER)
        short = name if len(name) <= longest else name[: longest - 1] + "…"
        taken = np.array([box for box in self.taken if box != at]).reshape(-1, 4).T
        for text, rest in ((short, more), (short, ""), ("", "")):
            words = [(number, "strong" if strong else "number"), (text, "name"), (rest, "soft")]
            size = sum(_width(word) for word, _ in words) + LETTER / 2 * (sum(bool(word) for word, _ in words) - 1)
            for box, anchor, far in self._tries(at, size):
                if size > 0 and self._fits(box, taken):
                    self._write(box, anchor, words, at if far else None)
                    return

    def _tries(self, at: Box, size: float) -> Iterator[tuple[Box, str, bool]]:
        """Boxes that the label may have, with where its text is anchored, and whether it needs a line."""
        middle, height = (at.left + at.right) / 2, (at.top + at.bottom) / 2
        centred = middle - size / 2
        if max(size, SMALL) + 16 < at.right - at.left and at.bottom - at.top > SMALL:
            for top in (height - LINE / 2, at.top + 8, at.bottom - 8 - LINE):
                yield Box(centred, top, centred + size, top + LINE), "middle", False
        for step in (5.0, 16.0, 30.0, 48.0):
            above, below, beside = at.top - step - LINE, at.bottom + step, height - LINE / 2
            east, west = at.right + step, at.left - step - size
            for left, top, anchor in (
                (east, beside, "start"), (west, beside, "end"), (centred, above, "middle"), (centred, below, "middle"),
                (east, above, "start"), (east, below, "start"), (west, above, "end"), (west, below, "end"),
            ):  # fmt: skip
                yield Box(left, top, left + size, top + LINE), anchor, step > 10

    def _fits(self, box: Box, taken: FloatArray) -> bool:
        if box.left < 4 or box.right > self.wide - 4 or box.top < 4 or box.bottom > self.high - 28:
            return False
        left, top, right, bottom = taken
        return not ((box.left < right) & (left < box.right) & (box.top < bottom) & (top < box.bottom)).any()

    def _write(self, box: Box, anchor: str, words: Sequence[tuple[str, str]], line_to: Box | None) -> None:
        self.taken.append(box)
        if line_to is not None:
            x, y = (line_to.left + line_to.right) / 2, (line_to.top + line_to.bottom) / 2
            ends = (min(max(x, box.left), box.right), min(max(y, box.top), box.bottom))
            self.drawn.append(f'<path d="M{x:.1f},{y:.1f} L{ends[0]:.1f},{ends[1]:.1f}" class="lead"/>')
        parts = " ".join(f'<tspan class="{kind}">{escape(word)}</tspan>' for word, kind in words if word)
        x = {"start": box.left, "middle": (box.left + box.right) / 2, "end": box.right}[anchor]
        self.drawn.append(f'<text x="{x:.1f}" y="{box.bottom - 3.5:.1f}" text-anchor="{anchor}">{parts}</text>')


def _width(text: str) -> float:
    """About as wide as it is written."""
    wide = {"W": IDEOGRAPH, "F": IDEOGRAPH, "A": 10.0}
    return sum(
        0.0 if unicodedata.combining(one) else wide.get(unicodedata.east_asian_width(one), LETTER) for one in text
    )


def _step(view: DrawnView) -> float:
    """A round length in metres of at most a quarter of the width."""
    most = view.wide / 4 / view.scale
    power = 10 ** np.floor(np.log10(most))
    return float(max(step * power for step in (1, 2, 5) if step * power <= most))


def _grid(view: DrawnView) -> list[str]:
    """Faint lines, as far apart as the scale bar is long."""
    step = _step(view) * view.scale
    x = np.arange(16 % step, view.wide, step).tolist()
    y = np.arange((view.high - 14) % step, view.high, step).tolist()
    lines = [f"M{one:.1f},0 V{view.high:.0f}" for one in x] + [f"M0,{one:.1f} H{view.wide:g}" for one in y]
    return [f'<path d="{" ".join(lines)}" class="grid"/>']


def _scale_bar(view: DrawnView) -> str:
    wide, y, right = _step(view) * view.scale, view.high - 14, view.wide - 16
    return (
        f'<path d="M16,{y - 4:.1f} V{y:.1f} H{16 + wide:.1f} V{y - 4:.1f}" class="bar"/>'
        f'<text x="20" y="{y - 5:.1f}" class="soft">{length(_step(view))}</text>\n'
        f'<path d="M{right:g},{y:.1f} v-16 m-4,6 l4,-7 l4,7" class="bar"/>'
        f'<text x="{right - 14:g}" y="{y:.1f}" class="soft">N</text>\n'
    )
