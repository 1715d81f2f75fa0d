"""What the demo's page shows first: one day, what a simple filter and discreet show of it, what a stranger concludes.

It names no mechanism and wants no explanation; both come below it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from discreet.demo.beliefs import DayBelief
from discreet.demo.drawing import axis_marks, ribbon, steps, words
from discreet.demo.story import WHERE, Demo, Showing, numbers, percent
from discreet.outputs import text_of

OURS = "Adaptive"


def picture(demo: Demo, colours: Mapping[str, str]) -> str:
    """Five strips below each other; nothing where the day was made for other mechanisms."""
    by_name = {one.mechanism: one for one in demo.showings}
    if OURS not in by_name:
        return ""
    naive, ours = demo.simple, by_name[OURS]
    true = ribbon(demo.clock, demo.day.contexts, colours, secret={WHERE})
    items = [
        _item(f"What you did (outlined: {WHERE})", true),
        _item(f"What a simple filter shows: all but the {WHERE}", _shown(demo, naive, colours)),
        _concluded(demo, naive),
        _item("What discreet shows", _shown(demo, ours, colours)),
        _concluded(demo, ours),
    ]
    return f"""<ul class="story">
{"".join(items)}</ul>
{axis_marks(demo.clock)}
<p class="headline">{words(_moral(demo, naive, ours))}</p>"""


def _item(title: str, strip: str, kind: str = "") -> str:
    return f'<li><b class="{kind}">{words(title)}</b>{strip}</li>\n'


def _shown(demo: Demo, showing: Showing, colours: Mapping[str, str]) -> str:
    return ribbon(demo.clock, [text_of(output) for output in showing.outputs], colours)


def _hospital(showing: Showing) -> DayBelief:
    """What is believed of being there, slot by slot."""
    return next(one for one in showing.beliefs if one.name == WHERE)


def _surest(one: DayBelief) -> int:
    """The slot of which the stranger is surest."""
    return int(np.nanargmax(one.final))


def _concluded(demo: Demo, showing: Showing) -> str:
    """How sure the stranger is at each time, as a hill, with the top in words."""
    one = _hospital(showing)
    top, kind = _surest(one), "bad" if one.breached else "good"
    sure = f"{percent(one.final[top])} sure of the {WHERE} at {demo.clock.label(top)}"
    title = f"What a stranger concludes: {sure}" if one.breached else f"What a stranger concludes: at most {sure}"
    wide = 10 * demo.clock.slots
    hill = f'''<div class="guess {kind}"><svg viewBox="0 0 {wide} 100" preserveAspectRatio="none" role="img"
aria-label="{words(sure)}"><path d="{steps(numbers(one.final), closed=True)}"/></svg></div>'''
    return _item(title, hill, kind)


def _moral(demo: Demo, naive: Showing, ours: Showing) -> str:
    """Why, in three sentences."""
    told, kept = _hospital(naive), _hospital(ours)
    top = _surest(told)
    sure, guessed = percent(told.final[top]), percent(told.prior[top])
    return (
        f"The filter goes silent exactly at the {WHERE}, so the silence gives it away: a stranger who knows your "
        f"routine is {sure} sure, where the routine alone lets them guess {guessed}. discreet is silent at other times "
        f"too. The stranger stays at {percent(kept.final[_surest(kept)])} or less, and apps still see "
        f"{percent(ours.utility)} of the day."
    )
