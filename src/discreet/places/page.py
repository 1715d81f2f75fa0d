"""Places as one HTML page that needs nothing else: no tiles, no script, no network. Drawn to scale, as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

import numpy as np

from discreet.numerics import FloatArray
from discreet.places.ellipsoid import metres_around, points_of, positions_of_points
from discreet.places.named import Places
from discreet.places.shapes import Circle
from discreet.places.spent import Spent

APART = 30_000.0
"""Metres between neighbours from which on they are drawn as maps of their own: a flight would shrink all to dots."""

WIDE, HIGH, EDGE = 760.0, 480.0, 56.0
"""The size of a map, and the room around the places, in the units of the drawing."""

SMALLEST = 3.0
"""Circles below this radius on the drawing get a dot of it, so that they are seen."""

LETTER, LINE = 7.2, 15.0
"""The size of a letter of a name, and of a line of them, by which names are kept apart."""

COLOURS = ("#2f6f9f", "#b3543f", "#4d8a4d", "#8a5fa8", "#b08a2e", "#3f8f8a", "#a84f7d", "#6b6f2f", "#5b6fb8", "#96604a")
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

STYLE = """
:root { color-scheme: light; --ink: #22262b; --soft: #626a73; --line: #d9dde2; }
body { margin: 0; background: #f6f7f8; color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 860px; margin: 0 auto; padding: 24px 16px 64px; }
h1 { font-size: 24px; margin: 0 0 4px; } h2 { font-size: 17px; margin: 32px 0 8px; } p { margin: 4px 0; }
.soft { color: var(--soft); }
.map { background: #fff; border: 1px solid var(--line); border-radius: 6px; width: 100%; height: auto; display: block; }
.bar { display: flex; height: 22px; border-radius: 4px; overflow: hidden; margin: 10px 0 4px; background: #e8eaed; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 370px), 1fr)); gap: 14px; }
.card { background: #fff; border: 1px solid var(--line); border-radius: 6px; padding: 12px 14px; min-width: 0; }
.card h3 { margin: 0; font-size: 16px; overflow-wrap: anywhere; } .card svg { width: 100%; height: auto; }
.dot { display: inline-block; width: 11px; height: 11px; border-radius: 50%; margin-right: 7px; }
text { font: 12px system-ui, sans-serif; fill: var(--ink); } text.soft { fill: var(--soft); font-size: 10px; }
"""


def places_page(places: Places, spent: Spent, person: str) -> str:
    """The whole page."""
    areas = _areas(places)
    maps = "\n".join(
        f"<h2>Map {k}{_across(places, area)}</h2>\n{_map(places, area)}" for k, area in enumerate(areas, 1)
    )
    cards = "\n".join(_card(places, spent, k) for k in range(len(places)))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Places of {escape(person)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>Places of {escape(person)}</h1>
{_summary(places, spent)}
{maps}
<h2>Hours of the week</h2>
<p class="soft">The darker, the more of that hour was spent there, on the mean over all weeks.</p>
<div class="cards">
{cards}
</div>
</main>
</body>
</html>
"""


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _summary(places: Places, spent: Spent) -> str:
    """What the time went to, with what no place explains."""
    known, n = spent.known or 1.0, len(places)
    away, moving, labelled = (float(hours) / known for hours in spent.hours[n:])
    parts = [(place.name, float(spent.hours[k]) / known, _colour(k)) for k, place in enumerate(places.places)]
    parts += [("away", away, "#c3c8ce"), ("moving", moving, "#a3abb5"), ("labels only", labelled, "#e0d6b8")]
    bars = "".join(
        f'<div style="width:{100 * share:.3f}%;background:{colour}" title="{escape(name)}: {_percent(share)}"></div>'
        for name, share, colour in parts
        if share > 0
    )
    rest = f", and labels of the source that are no place {_percent(labelled)}" if labelled > 0 else ""
    whole = known + spent.unknown
    return f"""<p class="soft">{spent.first} to {spent.last}: {known:.0f} hours known, {n} places</p>
<div class="bar">{bars}</div>
<p><strong>No place explains {_percent(spent.unexplained)} of the known time</strong>: away {_percent(away)}, moving
{_percent(moving)}{rest}. Of {_percent(spent.unknown / whole)} of all hours nothing is known.</p>"""


def _colour(k: int) -> str:
    return COLOURS[k % len(COLOURS)]


# --- maps


def _areas(places: Places) -> list[list[int]]:
    """The places that are drawn together, those with the first places first."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    middles = points_of([place.shape.middle for place in places.places])
    pairs = cKDTree(middles).query_pairs(APART, output_type="ndarray")
    near = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(places), len(places)))
    which = connected_components(near, directed=False)[1]
    return [np.flatnonzero(which == area).tolist() for area in dict.fromkeys(which.tolist())]


def _across(places: Places, area: Sequence[int]) -> str:
    if len(area) == 1:
        return ": one place"
    points = points_of([places.places[k].shape.middle for k in area])
    widest = float(np.sqrt(((points[:, None] - points[None, :]) ** 2).sum(axis=2)).max())
    return f": {len(area)} places, {_length(widest)} across"


def _length(metres: float) -> str:
    return f"{metres / 1000:.3g} km" if metres >= 1000 else f"{metres:.0f} m"


def _map(places: Places, area: Sequence[int]) -> str:
    """One drawing: metres around the middle of its places, north up."""
    points = points_of([places.places[k].shape.middle for k in area])
    ((latitude, longitude),) = positions_of_points(points.mean(axis=0)[None, :]).tolist()
    middle = (latitude, longitude)
    rings = {k: [metres_around(middle, ring) for ring in places.places[k].shape.rings] for k in area}
    corners = np.concatenate([ring for own in rings.values() for ring in own])
    low, high = corners.min(axis=0), corners.max(axis=0)
    size = np.maximum(high - low, 1.0)
    scale = min((WIDE - 2 * EDGE) / size[0], (HIGH - 2 * EDGE) / size[1])
    centre = (low + high) / 2

    def drawn(metres: FloatArray) -> FloatArray:
        """(k, 2): x to the right and y down."""
        return np.asarray((metres - centre) * [scale, -scale] + [WIDE / 2, HIGH / 2])

    shapes, spots = [], {}
    for k in sorted(area, key=lambda k: -places.places[k].shape.area):
        own = [drawn(ring) for ring in rings[k]]
        shapes.append(_outline(own, _colour(k)))
        spots[k] = drawn(metres_around(middle, [places.places[k].shape.middle]))[0]
        radius = scale * np.sqrt(places.places[k].shape.area / np.pi)
        if radius < SMALLEST:
            shapes.append(f'<circle cx="{spots[k][0]:.1f}" cy="{spots[k][1]:.1f}" r="{SMALLEST}" fill="{_colour(k)}"/>')
    names = "".join(_names(places, area, spots, scale))
    inner = "\n".join(shapes)
    return f"""<svg class="map" viewBox="0 0 {WIDE:g} {HIGH:g}" role="img" aria-label="map of places, north up">
{inner}
{names}
{_scale_bar(scale)}</svg>"""


def _outline(rings: Sequence[FloatArray], colour: str) -> str:
    path = " ".join("M" + " L".join(f"{x:.1f},{y:.1f}" for x, y in ring.tolist()) + " Z" for ring in rings)
    return (
        f'<path d="{path}" fill="{colour}" fill-opacity="0.25" fill-rule="evenodd" stroke="{colour}" '
        'stroke-width="1.2"/>'
    )


def _names(places: Places, area: Sequence[int], spots: dict[int, FloatArray], scale: float) -> Iterator[str]:
    """Names beside their places, those with most time first; one that would cover another is its number alone."""
    taken: list[tuple[float, float, float, float]] = []
    for k in area:
        place = places.places[k]
        number = "" if place.number is None else f"{place.number} "
        x, y = spots[k].tolist()
        reach = scale * place.shape.radius if isinstance(place.shape, Circle) else 0.0
        for text in (f"{number}{place.name}", number.strip()):
            wide = LETTER * len(text)
            tries = ((x + reach + 5, y + 4), (x - reach - wide - 5, y + 4), (x - wide / 2, y - reach - 6))
            for left, base in (*tries, (x - wide / 2, y + reach + LINE)):
                box = (left, base - LINE, left + wide, base + 3)
                inside = box[0] >= 0 and box[2] <= WIDE and box[1] >= 0 and box[3] <= HIGH - 34
                if text and inside and not any(_cover(box, other) for other in taken):
                    taken.append(box)
                    yield f'<text x="{left:.1f}" y="{base:.1f}">{escape(text)}</text>\n'
                    break
            else:
                continue
            break


def _cover(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _scale_bar(scale: float) -> str:
    """A round length of at most a quarter of the width."""
    most = WIDE / 4 / scale
    power = 10 ** np.floor(np.log10(most))
    length = float(max(step * power for step in (1, 2, 5) if step * power <= most))
    x, y, wide = 16, HIGH - 16, length * scale
    return (
        f'<path d="M{x},{y - 5} V{y} H{x + wide:.1f} V{y - 5}" fill="none" stroke="#626a73"/>'
        f'<text class="soft" x="{x + 4}" y="{y - 6:g}">{_length(length)}</text>\n'
        f'<text class="soft" x="{WIDE - 40:g}" y="{y:g}">north up</text>\n'
    )


# --- cards


def _card(places: Places, spent: Spent, k: int) -> str:
    place = places.places[k]
    number = "" if place.number is None else f"{place.number}. "
    why = place.told.get("why")
    reason = f" · {escape(str(why)[:120])}" if why else ""
    shape = f"radius {_length(place.shape.radius)}" if isinstance(place.shape, Circle) else "drawn by hand"
    share = float(spent.hours[k]) / (spent.known or 1.0)
    return f"""<section class="card">
<h3><span class="dot" style="background:{_colour(k)}"></span>{number}{escape(place.name)}</h3>
<p class="soft">{spent.hours[k]:.0f} hours · {_percent(share)} · {spent.days[k]} days · {shape}{reason}</p>
{_week(spent, k)}
</section>"""


def _week(spent: Spent, k: int) -> str:
    """Hours by weekdays: the part of the known time of that hour of the week."""
    known = spent.week.sum(axis=0)
    part = np.divide(spent.week[k], known, out=np.zeros((7, 24)), where=known > 0)
    cells = []
    for day in range(7):
        cells.append(f'<text class="soft" x="0" y="{14 + 14 * day}">{DAYS[day]}</text>')
        for hour in range(24):
            there = f"{DAYS[day]} {hour:02d}:00: {_percent(float(part[day, hour]))}"
            cells.append(
                f'<rect x="{28 + 13 * hour}" y="{4 + 14 * day}" width="12" height="13" fill="{_colour(k)}" '
                f'fill-opacity="{0.06 + 0.94 * float(part[day, hour]):.2f}"><title>{there}</title></rect>'
            )
    hours = "".join(f'<text class="soft" x="{28 + 13 * hour}" y="114">{hour}</text>' for hour in range(0, 24, 6))
    return f'<svg viewBox="0 0 342 118" role="img" aria-label="hours by weekdays">{"".join(cells)}{hours}</svg>'
