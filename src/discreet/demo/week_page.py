"""The week on the demo's page: seven days as strips, and the belief in each secret along all of them."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import numpy as np

from discreet.demo.beliefs import SecretBelief
from discreet.demo.drawing import WIDE, Line, axis, over, ribbon, row, steps, words
from discreet.demo.story import numbers, percent, week_told
from discreet.demo.week import DAYS, Week, WeekShowing
from discreet.outputs import text_of

TITLES = {True: "One stream without end", False: "Started anew each day"}


def week_section(week: Week, colours: Mapping[str, str]) -> str:
    """The week, a card a mechanism."""
    first, last = week.dates[0], week.dates[-1]
    cards = "\n".join(_card(week, showing, colours) for showing in week.showings)
    return f"""<section class="week">
<h2 class="part">And then comes the next day</h2>
<p class="how">The week from {first:%A %d %B} to {last:%A %d %B}, as one stream. Where somebody wakes up says where they
went to bed, so what is shown tomorrow tells of today: this observer knows how nights join the days and has seen the
whole week. {words(week_told(week))}</p>
{cards}
</section>"""


def _card(week: Week, showing: WeekShowing, colours: Mapping[str, str]) -> str:
    out, total = sum(one.breached for one in showing.beliefs), len(showing.beliefs)
    chip = (
        f'<span class="chip good">✓ {total} of {total} secrets kept, every day</span>'
        if showing.kept
        else f'<span class="chip bad">✗ {out} of {total} secrets given away</span>'
    )
    days = "\n".join(_day(week, showing, number, colours) for number in range(len(week.days)))
    plots = "\n".join(_secret(week, one) for one in showing.beliefs)
    part = f"{percent(showing.utility)} of the week as it was"
    return f"""<article>
<div class="top"><h2>{escape(TITLES[showing.endless])} <small>{escape(showing.mechanism)}</small></h2>{chip}</div>
<p class="told">Above the truth, below what applications saw: {words(part)}.</p>
{days}
{axis(week.clock)}
{plots}
{_dates(week)}
</article>"""


def _day(week: Week, showing: WeekShowing, number: int, colours: Mapping[str, str]) -> str:
    slots, day = week.clock.slots, week.days[number]
    seen = [text_of(output) for output in showing.outputs[number * slots : (number + 1) * slots]]
    pair = f'<div class="pair">{ribbon(week.clock, day.contexts, colours)}{ribbon(week.clock, seen, colours)}</div>'
    date = week.dates[number]
    return row(f"{date:%A}", f"{date:%d %B}", pair)


def _secret(week: Week, one: SecretBelief) -> str:
    slots, worst = week.clock.slots, one.worst
    day, within = (worst, None) if one.at == "any" else divmod(worst, slots)
    when = f"{week.dates[day]:%A}" + ("" if within is None else f" {week.clock.label(within)}")
    word, sign = ("over", "✗") if one.breached else ("under", "✓")
    said = f"{sign} {percent(one.final[worst])} on {when}, limit {percent(one.limit[worst])}"
    each = "at each of these times" if np.isnan(one.prior).any() else "at each time of each day"
    how = "at some time of each day" if one.at == "any" else each
    return row(f"“{one.name}”", how, _plot(week, one), f'<small class="{word}">{words(said)}</small>')


def _plot(week: Week, one: SecretBelief) -> str:
    slots, wide = week.clock.slots, week.clock.slots * DAYS * WIDE
    prior, limit, belief = (_line(values, slots, one.at == "any") for values in (one.prior, one.limit, one.final))
    midnights = "".join(f"M{day * slots * WIDE},0V100" for day in range(1, DAYS))
    told = f"Belief in {escape(one.name)} along the week: {percent(one.final[one.worst])} at most"
    return f"""<div class="long-plot">
<span class="y" style="top:0">100 %</span><span class="y zero" style="top:100%">0 %</span>
<svg viewBox="0 0 {wide} 100" preserveAspectRatio="none" role="img" aria-label="{told}">
<title>{told}</title>
<path class="grid" d="M0,0H{wide}M0,50H{wide}M0,100H{wide}{midnights}"/>
<path class="area" d="{steps(belief, closed=True)}"/>
<path class="over-area" d="{over(belief, limit)}"/>
<path class="prior" d="{steps(prior)}"/>
<path class="limit" d="{steps(limit)}"/>
<path class="belief" d="{steps(belief)}"/>
</svg></div>"""


def _line(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]], slots: int, daily: bool) -> Line:
    """A value a slot; a day's stands for all of its slots."""
    return numbers(np.repeat(values, slots) if daily else values)


def _dates(week: Week) -> str:
    marks = "".join(
        f'<span style="left:{100 * (day + 0.5) / DAYS:.4g}%">{date:%a}</span>' for day, date in enumerate(week.dates)
    )
    days = f'<div class="hours week-days" aria-hidden="true">{marks}</div>'
    return f'<div class="row axis"><div class="name"></div>{days}</div>'
