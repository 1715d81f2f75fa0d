"""The demo as one HTML page that needs nothing else: no network, no fonts, no library."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from itertools import groupby

import numpy as np

from discreet.contexts import UNKNOWN
from discreet.demo.beliefs import DayBelief
from discreet.demo.drawing import WIDE, Line, axis, over, ribbon, row, steps, time_of, words
from discreet.demo.picture import picture
from discreet.demo.story import Demo, Showing, already_known, as_json, headline, how_true, numbers, percent, sentence_of
from discreet.demo.week_page import week_section
from discreet.numerics import exceeds
from discreet.outputs import Suppressed, text_of
from discreet.places.palette import colours_of, numbered

UNKNOWN_COLOUR = "#dfe1e5"

TITLES = {
    "NoMask": "Show everything",
    "MaskSensitive": "Hide exactly the secrets",
    "Adaptive": "Show what the secrets can bear",
}

WHY = {
    "NoMask": "Applications see every place, and so does whoever watches them.",
    "MaskSensitive": "Silence falls exactly where a secret is, so the silence says it. Whoever knows the habits and "
    "the rule reads the hidden day as if it were shown.",
    "Adaptive": "What is shown is drawn by lot, with odds that leave the observer within the limits whatever is drawn.",
}


def page(demo: Demo) -> str:
    """The whole page."""
    colours = _colours(demo)
    cards = "\n".join(_card(demo, number, colours) for number in range(len(demo.showings)))
    delta = percent(demo.policy.delta).removesuffix(" %")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>discreet: hiding a secret is not keeping it</title>
<style>
{_part("page.css")}</style>
</head>
<body>
<main>
<header>
<h1>Hiding a secret is not keeping it</h1>
{picture(demo, colours)}
</header>
<section>
<h2 class="part">How this was found out</h2>
<p class="how">The stranger, or observer, has learned this person's habits from {demo.learned} earlier days, sees only
what applications see, knows how it is chosen, and draws every conclusion from it. A secret is kept while their guess
stays within {delta} points of what the habits alone reveal. The person is simulated; the numbers are exact.
Below, two more secrets are kept on the same day: a visit at any time today, and being home at night.
{words(how_true(demo))}</p>
<p class="how">What is known already: {words(" ".join(already_known(demo)))}</p>
{_key(demo, colours)}
<p class="headline">{words(headline(demo))}</p>
</section>
<div class="watch"><label for="seen">The observer has watched until
<output for="seen">{time_of(demo.clock, demo.clock.slots)}</output></label>
<input id="seen" type="range" min="0" max="{demo.clock.slots}" value="{demo.clock.slots}"></div>
{cards}
{week_section(demo.week, colours)}
<footer>Made by <code>discreet demo --seed {demo.seed}</code>: {demo.date:%A %d %B %Y},
{demo.clock.slots} slots a day.</footer>
</main>
<script type="application/json" id="demo">{_embedded(as_json(demo))}</script>
<script type="application/json" id="moments">{_embedded(_moments(demo))}</script>
<script>
{_part("page.js")}</script>
</body>
</html>
"""


def _part(name: str) -> str:
    return files("discreet.demo").joinpath(name).read_text(encoding="utf-8")


def _embedded(document: object) -> str:
    """JSON that cannot end its script element."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _moments(demo: Demo) -> dict[str, object]:
    """What the script replays: the belief after every output."""
    return {
        "times": [time_of(demo.clock, slot) for slot in range(demo.clock.slots + 1)],
        "truth": list(demo.day.contexts),
        "mechanisms": [
            {
                "shown": [text_of(output) for output in showing.outputs],
                "secrets": [
                    {
                        "name": one.name,
                        "at": one.at,
                        "prior": numbers(one.prior),
                        "limit": numbers(one.limit),
                        "moments": [numbers(row) for row in one.moments],
                    }
                    for one in showing.beliefs
                ],
            }
            for showing in demo.showings
        ],
    }


# --- colours and the key


def _colours(demo: Demo) -> dict[str, str]:
    """A colour for each label that is seen on the page."""
    seen = [*demo.day.contexts, *(text_of(output) for showing in demo.showings for output in showing.outputs)]
    seen += [*demo.week.truth, *(text_of(output) for showing in demo.week.showings for output in showing.outputs)]
    return {UNKNOWN: UNKNOWN_COLOUR} | colours_of(numbered(None, ["home", "work", *(label for label in seen if label)]))


def _key(demo: Demo, colours: dict[str, str]) -> str:
    swatches = [f'<li><i style="background:{colour}"></i>{escape(label)}</li>' for label, colour in colours.items()]
    if any(isinstance(output, Suppressed) for showing in demo.showings for output in showing.outputs):
        swatches.append('<li><i class="silence"></i>silence: nothing is shown</li>')
    lines = [
        ("belief", "what the observer believes"),
        ("limit", "the limit"),
        ("prior", "the guess of anybody who sees nothing"),
    ]
    strokes = [
        f'<li><svg viewBox="0 0 26 14" aria-hidden="true"><path class="{name}" d="M0,7H26"/></svg>{words}</li>'
        for name, words in lines
    ]
    strokes.append('<li><i style="background:var(--over)"></i>over the limit: the secret is out</li>')
    return f'<ul class="key">{"".join(swatches)}</ul>\n<ul class="key">{"".join(strokes)}</ul>'


# --- a mechanism


LONG = 6
"""Slots of silence that want a word."""


def _silence(demo: Demo, showing: Showing) -> str:
    """Why a mechanism that keeps the secrets is silent for so long, where it is."""
    runs = [list(run) for silent, run in groupby(range(demo.clock.slots), lambda slot: _quiet(showing, slot)) if silent]
    longest = max(runs, key=len, default=[])
    if not showing.kept or len(longest) < LONG:
        return ""
    first, after = time_of(demo.clock, longest[0]), time_of(demo.clock, longest[-1] + 1)
    return (
        f"Why so long a silence, from {first} to {after}? Were it to last just as long as what is hidden, its "
        "beginning and its end would tell. So it is drawn at other times too, and once belief in a secret is near "
        "its limit, little can be shown that would not bring it over."
    )


def _quiet(showing: Showing, slot: int) -> bool:
    return isinstance(showing.outputs[slot], Suppressed)


def _card(demo: Demo, number: int, colours: dict[str, str]) -> str:
    showing = demo.showings[number]
    out = sum(one.breached for one in showing.beliefs)
    total = len(showing.beliefs)
    chip = (
        f'<span class="chip good">✓ {total} of {total} secrets kept</span>'
        if showing.kept
        else f'<span class="chip bad">✗ {out} of {total} secrets given away</span>'
    )
    title = TITLES.get(showing.mechanism, showing.mechanism)
    sentence = sentence_of(demo, showing)
    if headline(demo).startswith(sentence):  # said at the top already
        sentence = ""
    shown = [text_of(output) for output in showing.outputs]
    part = f"{percent(showing.utility)} of the day as it was"
    plots = "\n".join(_secret_row(demo, number, k, one) for k, one in enumerate(showing.beliefs))
    return f"""<article data-mechanism="{number}">
<div class="top"><h2>{escape(title)} <small>{escape(showing.mechanism)}</small></h2>{chip}</div>
<p class="told">{words(WHY.get(showing.mechanism, ""))} {words(sentence)} {words(_silence(demo, showing))}</p>
{row("The true day", "only the person knows it", ribbon(demo.clock, demo.day.contexts, colours))}
{row("What applications saw", part, ribbon(demo.clock, shown, colours, veiled=True))}
{axis(demo.clock)}
{plots}
{axis(demo.clock)}
<p class="read" aria-live="polite">Point at the day to read a moment.</p>
{_numbers_table(demo, showing)}
</article>"""


# --- a secret


def _secret_row(demo: Demo, mechanism: int, number: int, one: DayBelief) -> str:
    worst = one.worst
    always = "at each of these times" if np.isnan(one.prior).any() else "at each time of the day"
    when = "at some time of the day" if one.at == "any" else always
    moment = "" if one.at == "any" else f" at {demo.clock.label(worst)}"
    word, sign = ("over", "✗") if one.breached else ("under", "✓")
    said = f"{sign} {percent(one.final[worst])}{moment}, limit {percent(one.limit[worst])}"
    verdict = f'<small class="verdict {word}">{words(said)}</small>'
    return row(f"“{one.name}”", when, _plot(demo, mechanism, number, one), verdict)


def _plot(demo: Demo, mechanism: int, number: int, one: DayBelief) -> str:
    slots = demo.clock.slots
    prior, limit, belief = _drawn(one, slots)
    name = escape(one.name)
    off = "".join(
        f'<rect class="off" x="{run[0] * WIDE}" y="0" width="{len(run) * WIDE}" height="100"/>'
        for outside, group in groupby(range(slots), key=lambda slot: prior[slot] is None)
        for run in [list(group)]
        if outside
    )
    described = (
        f"Belief in {name}: {percent(one.final[one.worst])} at most, the limit there {percent(one.limit[one.worst])}"
    )
    return f"""<div class="plot" data-mechanism="{mechanism}" data-secret="{number}">
<span class="y" style="top:0">100 %</span><span class="y zero" style="top:100%">0 %</span>
<svg viewBox="0 0 {slots * WIDE} 100" preserveAspectRatio="none" role="img" aria-label="{described}">
<title>{described}</title>
<g>{f"<title>not a secret at these times</title>{off}" if off else ""}</g>
<path class="grid" d="M0,0H{slots * WIDE}M0,50H{slots * WIDE}M0,100H{slots * WIDE}"/>
<path class="area" d="{steps(belief, closed=True)}"/>
<path class="over-area" d="{over(belief, limit)}"><title>over the limit</title></path>
<path class="prior" d="{steps(prior)}"><title>the guess of anybody who sees nothing</title></path>
<path class="limit" d="{steps(limit)}"><title>the limit: that guess and delta = {one.delta:g}</title></path>
<path class="belief" d="{steps(belief)}"><title>belief in {name}</title></path>
<line class="cursor" y1="0" y2="100"/>
</svg></div>"""


def _drawn(one: DayBelief, slots: int) -> tuple[Line, Line, Line]:
    """Prior, limit and belief of each slot; for at="any" the belief is its history over the day."""
    if one.at == "any":
        history = numbers(one.moments[1:, 0])
        return numbers(one.prior) * slots, numbers(one.limit) * slots, history
    return numbers(one.prior), numbers(one.limit), numbers(one.final)


def _numbers_table(demo: Demo, showing: Showing) -> str:
    """Every slot's numbers after the whole day, for those who read rather than look."""
    each = [one for one in showing.beliefs if one.at == "each"]
    head = "".join(f"<th>{escape(one.name)}</th><th>limit</th>" for one in each)
    rows = []
    for slot, (truth, output) in enumerate(zip(demo.day.contexts, showing.outputs, strict=True)):
        cells = "".join(_cells(one, slot) for one in each)
        shown = escape(text_of(output)) or "<i>silence</i>"
        rows.append(f"<tr><td>{demo.clock.label(slot)}</td><td>{escape(truth)}</td><td>{shown}</td>{cells}</tr>")
    anytime = "".join(
        f"<p>“{escape(one.name)}”: belief {one.final[0]:.4f}, guess {one.prior[0]:.4f}, limit {one.limit[0]:.4f}.</p>"
        for one in showing.beliefs
        if one.at == "any"
    )
    return f"""<details><summary>The numbers</summary>{anytime}<div class="scroll"><table>
<tr><th>time</th><th>truth</th><th>seen</th>{head}</tr>
{"".join(rows)}</table></div></details>"""


def _cells(one: DayBelief, slot: int) -> str:
    belief, limit = one.final[slot], one.limit[slot]
    if np.isnan(belief):  # the secret does not hold here
        return "<td></td><td></td>"
    over = ' class="over"' if exceeds(belief, limit) else ""
    return f"<td{over}>{belief:.4f}</td><td>{limit:.4f}</td>"
