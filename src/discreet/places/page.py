"""Places as one HTML page that needs nothing else: no tiles, no script, no network; light or dark, wide or narrow."""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterator, Sequence
from html import escape

import numpy as np

from discreet.places.drawing import (
    NARROW,
    WIDE,
    across,
    areas_of,
    bearing,
    close_ups,
    colour,
    length,
    percent,
    svg_of,
)
from discreet.places.named import Places
from discreet.places.shapes import Circle
from discreet.places.spent import TimeSpent

LIGHT = (
    "#2f6f9f",
    "#b3543f",
    "#4d8a4d",
    "#8a5fa8",
    "#a87d1f",
    "#2f8f8a",
    "#a84f7d",
    "#6b6f2f",
    "#5b6fb8",
    "#96604a",
    "#3d7d5f",
    "#7a5b6e",
)
DARK = (
    "#6fb1e0",
    "#e58a72",
    "#86c586",
    "#bd97da",
    "#d9b45c",
    "#6cc7c1",
    "#dd8db4",
    "#b3b86a",
    "#96a8ec",
    "#cf9a83",
    "#7fcfa8",
    "#c3a0b5",
)
"""Colours of places, by their number; then they begin anew."""

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

NAMED_SHARE = 0.005
"""Places with less of the time are one entry beside the bar; each has a card below."""

MANY = 6
"""Close-ups of more places are as wide as the page."""

STYLE = (
    """
:root { color-scheme: light dark; --ink: #22262b; --soft: #5d656e; --line: #d9dde2; --page: #f5f6f8; --card: #fff;
  --grid: #eef0f3; --away: #c3c8ce; --moving: #9ca5b0; --labels: #dccfa4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7eb; --soft: #a0a8b2; --line: #363d46; --page: #15181c;
  --card: #1d2127; --grid: #262b32; --away: #525a64; --moving: #77818d; --labels: #8d8156; } }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 920px; margin: 0 auto; padding: 28px 16px 64px; }
h1 { font-size: 26px; margin: 0; overflow-wrap: anywhere; } p { margin: 4px 0; }
h2 { font-size: 18px; margin: 36px 0 2px; overflow-wrap: anywhere; } .soft { color: var(--soft); }
h3 { margin: 0; font-size: 15px; overflow-wrap: anywhere; font-weight: 600; }
.map { background: var(--card); border: 1px solid var(--line); border-radius: 8px; width: 100%; height: auto;
  display: block; box-sizing: border-box; margin-top: 8px; }
.map.narrow { max-width: 560px; } .both > .narrow { display: none; }
@media (max-width: 600px) { .both > .wide { display: none; } .both > .narrow { display: block; } }
.time { display: flex; height: 26px; border-radius: 6px; overflow: hidden; margin: 14px 0 8px; gap: 1px; }
.time div { background: var(--c); min-width: 1px; }
ul { list-style: none; padding: 0; margin: 0 0 12px; display: flex; flex-wrap: wrap; gap: 2px 18px; }
.cards, .closer { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 380px), 1fr)); gap: 14px; }
.row { grid-column: 1 / -1; } .cards { margin-top: 12px; } .closer { margin-top: 14px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px; min-width: 0; }
.card svg { width: 100%; height: auto; display: block; margin-top: 8px; } .card p { font-size: 13.5px; }
.spot { display: inline-block; width: 11px; height: 11px; border-radius: 50%; margin-right: 7px; background: var(--c); }
text { font: 12px system-ui, sans-serif; fill: var(--ink); } text.soft, tspan.soft { fill: var(--soft); }
.map text { paint-order: stroke; stroke: var(--card); stroke-width: 3px; stroke-linejoin: round; }
.name, .strong { font-weight: 600; } .name { unicode-bidi: isolate; } .number { fill: var(--soft); }
.week text { font-size: 10px; fill: var(--soft); }
.shape { fill: var(--c); fill-opacity: 0.22; fill-rule: evenodd; stroke: var(--c); stroke-width: 1.3; }
.dot, .hour { fill: var(--c); } .track { stroke: var(--grid); stroke-width: 13; stroke-dasharray: 12 1; }
.lead { stroke: var(--soft); stroke-width: 0.8; }
.grid { stroke: var(--grid); fill: none; } .bar { stroke: var(--soft); fill: none; }
.frame { fill: none; stroke: var(--soft); stroke-dasharray: 4 3; }
.away { --c: var(--away); } .moving { --c: var(--moving); } .labels { --c: var(--labels); }
"""
    + "".join(f".c{k} {{ --c: {one}; }} " for k, one in enumerate(LIGHT))
    + "\n@media (prefers-color-scheme: dark) { "
    + "".join(f".c{k} {{ --c: {one}; }} " for k, one in enumerate(DARK))
    + "}\n"
)


def places_page(places: Places, spent: TimeSpent, person: str) -> str:
    """The whole page."""
    shares = _shares(spent, len(places))
    areas = areas_of(places)
    letters = _letters()
    maps = "\n".join(_area(places, shares, area, areas[0], letters) for area in areas)
    cards = "\n".join(_card(places, spent, shares[k], k) for k in range(len(places)))
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
{_summary(places, spent, shares)}
{maps}
<h2>Hours of the week</h2>
<p class="soft">The fuller the colour, the more of that hour was spent there; each place has its own scale.</p>
<div class="cards">
{cards}
</div>
</main>
</body>
</html>
"""


def _shares(spent: TimeSpent, count: int) -> list[float]:
    """Of the known time: of each place, then away, moving and labels that are no place."""
    return [float(hours) / (spent.known or 1.0) for hours in spent.hours[: count + 3]]


def _summary(places: Places, spent: TimeSpent, shares: Sequence[float]) -> str:
    """What the time went to, with what no place explains."""
    n = len(places)
    away, moving, labelled = shares[n:]
    parts = [(place.name, shares[k], colour(k)) for k, place in enumerate(places.places)]
    parts += [("away", away, "away"), ("moving", moving, "moving"), ("labels that are no place", labelled, "labels")]
    bars = "".join(
        f'<div class="{kind}" style="flex:{share:.5f} 0 0" title="{escape(name)}: {percent(share)}"></div>'
        for name, share, kind in parts
        if share > 0
    )
    named = [part for part in parts if part[1] >= NAMED_SHARE or part[2] in ("away", "moving")]
    listed = "".join(
        f'<li><span class="spot {kind}"></span><bdi>{escape(name)}</bdi> '
        f'<span class="soft">{percent(share)}</span></li>'
        for name, share, kind in named
        if share > 0
    )
    fewer = sum(1 for part in parts[:n] if part[1] < NAMED_SHARE)
    if fewer:
        others = "one place" if fewer == 1 else f"each of {fewer} places"
        listed += f'<li class="soft">{others} less than {percent(NAMED_SHARE)}</li>'
    whole = spent.known + spent.unknown
    return f"""<p class="soft">{spent.first} to {spent.last} · {spent.known:,.0f} hours known · {n} places</p>
<div class="time">{bars}</div>
<ul>{listed}</ul>
<p><strong>No place explains {percent(spent.unexplained)} of the known time.</strong> Nothing is known of
{percent(spent.unknown / whole if whole else 1.0)} of all hours.</p>"""


# --- maps


def _letters() -> Iterator[str]:
    """A, B, ... Z, AA, AB, ...: the names of close-ups."""
    for size in itertools.count(1):
        for letters in itertools.product(string.ascii_uppercase, repeat=size):
            yield "".join(letters)


def _area(
    places: Places, shares: Sequence[float], area: Sequence[int], first: Sequence[int], letters: Iterator[str]
) -> str:
    """The map of an area, and the close-ups that it needs."""
    boxes = _boxes(places, area, letters)
    main = _map(places, shares, area, boxes, wide=len(area) > 1)
    closer, waiting = [], list(boxes.items())
    for letter, group in waiting:  # which grows as close-ups need close-ups
        inner = _boxes(places, group, letters)
        waiting.extend(inner.items())
        size = f'<span class="soft">· {len(group)} places, {length(across(places, group))} across</span>'
        wide = len(group) > MANY
        drawn = _map(places, shares, group, inner, wide=wide)
        closer.append(f'<div class="{"row" if wide else "part"}"><h3>{letter} {size}</h3>\n{drawn}</div>')
    more = f'\n<div class="closer">{"".join(closer)}</div>' if closer else ""
    return f"{_heading(places, area, first)}\n{main}{more}"


def _map(
    places: Places, shares: Sequence[float], drawn: Sequence[int], boxes: dict[str, list[int]], *, wide: bool
) -> str:
    """A narrow map, or one for each width of the page."""
    narrow = svg_of(places, shares, drawn, NARROW, boxes)
    return f'<div class="both">{svg_of(places, shares, drawn, WIDE, boxes)}\n{narrow}</div>' if wide else narrow


def _boxes(places: Places, drawn: Sequence[int], letters: Iterator[str]) -> dict[str, list[int]]:
    return {next(letters): group for group in close_ups(places, drawn)}


def _heading(places: Places, area: Sequence[int], first: Sequence[int]) -> str:
    """What an area is around, how large it is, and where it lies."""
    here, start = places.places[area[0]], places.places[first[0]]
    size = f"{len(area)} places, {length(across(places, area))} across" if len(area) > 1 else "one place"
    far = "" if area == first else f" · {bearing(start.shape.middle, here.shape.middle)} of {escape(start.name)}"
    return f'<h2>Around {escape(here.name)}</h2>\n<p class="soft">{size}{far}</p>'


# --- cards


def _card(places: Places, spent: TimeSpent, share: float, k: int) -> str:
    place = places.places[k]
    number = "" if place.number is None else f"{place.number}. "
    why = place.properties.get("why")
    reason = f" · {escape(str(why)[:120])}" if why else ""
    shape = f"radius {length(place.shape.radius)}" if isinstance(place.shape, Circle) else "drawn by hand"
    return f"""<section class="card">
<h3><span class="spot {colour(k)}"></span>{number}<bdi>{escape(place.name)}</bdi></h3>
<p class="soft">{spent.hours[k]:,.0f} hours · {percent(share)} · {spent.days[k]} days · {shape}{reason}</p>
{_week(spent, k)}
</section>"""


def _week(spent: TimeSpent, k: int) -> str:
    """Hours by weekdays: the part of the known time of that hour of the week, as a part of the largest."""
    known = spent.week.sum(axis=0)
    part = np.divide(spent.week[k], known, out=np.zeros((7, 24)), where=known > 0)
    most = float(part.max())
    cells = [
        f'<text x="0" y="{14 + 14 * day}">{DAYS[day]}</text><path d="M28,{10.5 + 14 * day:g} H339" class="track"/>'
        for day in range(7)
    ]
    for day, hour in np.argwhere(part > 0.001).tolist():
        here = float(part[day, hour])
        cells.append(
            f'<rect x="{28 + 13 * hour}" y="{4 + 14 * day}" width="12" height="13" class="hour {colour(k)}" '
            f'fill-opacity="{0.08 + 0.92 * here / most:.2f}">'
            f"<title>{DAYS[day]} {hour:02d}:00: {percent(here)}</title></rect>"
        )
    hours = "".join(f'<text x="{28 + 13 * hour}" y="114">{hour}</text>' for hour in range(0, 24, 6))
    legend = f'<text x="340" y="129" text-anchor="end">full colour: {percent(most)} of the hour</text>'
    return (
        '<svg class="week" viewBox="0 0 342 133" role="img" aria-label="hours by weekdays">'
        f"{''.join(cells)}{hours}{legend}</svg>"
    )
