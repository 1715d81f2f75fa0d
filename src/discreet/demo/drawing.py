"""What the demo's page is drawn from: rows, ribbons of labels, and lines that are level within each slot."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from html import escape
from itertools import groupby

from discreet.clock import Clock

WIDE = 10
"""Width of a slot in a chart's own units; the height is 100, a unit a percent."""

HOURS = 3
"""Hours between the marks of a time axis."""

LONG = 7
"""Letters of a name that is shown in wide runs only."""

Line = list[float | None]
"""A value a slot, None where there is none."""


def words(text: str) -> str:
    """Text for the page; a number keeps its percent sign on the same line."""
    return escape(text).replace(" %", "&nbsp;%")


def time_of(clock: Clock, slot: int) -> str:
    """The clock time at which a slot starts; the end of the day is 24:00 where the day starts at midnight."""
    return "24:00" if slot == clock.slots and clock.cut_seconds == 0 else clock.label(slot)


def row(name: str, small: str, content: str, verdict: str = "") -> str:
    """A name at the left, and what it is the name of."""
    label = f'<div class="name"><b>{escape(name)}</b><small>{words(small)}</small>{verdict}</div>'
    return f'<div class="row">{label}{content}</div>'


def axis(clock: Clock) -> str:
    """The hours of a day, below a row."""
    return f'<div class="row axis"><div class="name"></div>{axis_marks(clock)}</div>'


def axis_marks(clock: Clock) -> str:
    """The hours of a day, over the whole width."""
    slots = clock.slots
    step = max(1, slots * HOURS // 24)
    marks = "".join(
        f'<span style="left:{100 * slot / slots:.4g}%">{time_of(clock, slot)}</span>'
        for slot in range(0, slots + 1, step)
    )
    return f'<div class="hours" aria-hidden="true">{marks}</div>'


def ribbon(
    clock: Clock,
    labels: Sequence[str],
    colours: Mapping[str, str],
    *,
    veiled: bool = False,
    secret: Collection[str] = (),
) -> str:
    """A day's labels, as runs of colour; silence is hatched, and what is `secret` outlined."""
    slots, runs, said = len(labels), [], []
    for label, group in groupby(range(slots), key=lambda slot: labels[slot]):
        run = list(group)
        first, after = run[0], run[-1] + 1
        shown = label or "silence"
        title = f"{time_of(clock, first)} to {time_of(clock, after)}: {shown}"
        said.append(title)
        kind = "run silence" if not label else "run secret" if label in secret else "run"
        kind += " long" if len(shown) > LONG else ""
        colour = f";background:{colours[label]}" if label else ""
        place = f"left:{100 * first / slots:.5g}%;width:{100 * len(run) / slots:.5g}%{colour}"
        runs.append(f'<div class="{kind}" style="{place}" title="{escape(title)}"><span>{escape(shown)}</span></div>')
    veil = '<div class="later"></div>' if veiled else ""
    return f'<div class="ribbon" role="img" aria-label="{escape("; ".join(said))}">{"".join(runs)}{veil}</div>'


def steps(values: Line, *, closed: bool = False) -> str:
    """A path that is level within each slot, interrupted where there is no value; closed down to zero for an area."""
    path = ""
    for slot, value in enumerate(values):
        if value is None:
            continue
        fresh = slot == 0 or values[slot - 1] is None
        height = f"{100 - 100 * value:.4g}"
        start = f"M{slot * WIDE},100V{height}" if closed else f"M{slot * WIDE},{height}"
        path += (start if fresh else f"V{height}") + f"H{(slot + 1) * WIDE}"
        if closed and (slot == len(values) - 1 or values[slot + 1] is None):
            path += "V100Z"
    return path


def over(values: Line, limits: Line) -> str:
    """The part of a belief that lies over its limit."""
    path = ""
    for slot, (value, limit) in enumerate(zip(values, limits, strict=True)):
        if value is not None and limit is not None and value > limit + 1e-4:  # drawn numbers have four digits
            left, right = slot * WIDE, (slot + 1) * WIDE
            path += f"M{left},{100 - 100 * value:.4g}H{right}V{100 - 100 * limit:.4g}H{left}Z"
    return path
