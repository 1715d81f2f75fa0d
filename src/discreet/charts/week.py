"""Where the time goes: shares of each hour by context, weekdays beside weekends."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discreet.charts.canvas import (
    BLUE,
    BROWN,
    GREEN,
    INK,
    NAVY,
    ORANGE,
    PALE,
    PINK,
    PURPLE,
    QUIET,
    RED,
    SKY,
    VIOLET,
    figure_at,
)
from discreet.models.learning.rhythm import HOURS, Rhythm

COLOURS = (BLUE, ORANGE, GREEN, PINK, SKY, RED, VIOLET, BROWN, NAVY, PURPLE)
SHOWN = len(COLOURS)
"""Contexts with a colour of their own, by time spent; the others are one."""

SIZE = (9.0, 3.6)


def week(title: str, note: str, rhythms: Sequence[Rhythm], path: Path) -> None:
    """Bars of the hours of a day, stacked by context, a panel a part of the week."""
    parts = list(rhythms[0].by_hour)
    with figure_at(title, note, path, SIZE) as figure:
        for number, part in enumerate(parts):
            wide = (SIZE[0] - 2.5) / len(parts)
            left = 0.6 + wide * number
            axes = figure.add_axes((left / SIZE[0], 0.5 / SIZE[1], (wide - 0.25) / SIZE[0], 1 - 1.35 / SIZE[1]))
            _panel(axes, part, rhythms, first=number == 0)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        place: Any = {"loc": "upper left", "bbox_to_anchor": (1 - 1.95 / SIZE[0], 1 - 0.75 / SIZE[1])}
        figure.legend(handles, labels, frameon=False, fontsize=8, **place)


def _panel(axes: Any, part: str, rhythms: Sequence[Rhythm], *, first: bool) -> None:
    floor = [0.0] * HOURS
    for one, colour in zip(rhythms, COLOURS, strict=False):
        floor = _stack(axes, one.by_hour[part], floor, colour, f"{one.context}, {100 * one.share:.2g} %")
    if len(rhythms) > SHOWN:
        others = [sum(one.by_hour[part][hour] for one in rhythms[SHOWN:]) for hour in range(HOURS)]
        share = sum(one.share for one in rhythms[SHOWN:])
        _stack(axes, others, floor, PALE, f"{len(rhythms) - SHOWN} more, {100 * share:.2g} %")
    axes.set_title(f"{part}s", fontsize=9, color=INK, loc="left")
    axes.set_xlim(0, HOURS)
    axes.set_ylim(0, 1)
    axes.set_xticks(range(0, HOURS, 6), [f"{hour}:00" for hour in range(0, HOURS, 6)], fontsize=7.5)
    ticks = [0, 0.5, 1]
    axes.set_yticks(ticks, [f"{100 * tick:.0f} %" for tick in ticks] if first else [], fontsize=7.5, color=QUIET)
    axes.grid(visible=False)


def _stack(axes: Any, shares: Sequence[float], floor: list[float], colour: str, label: str) -> list[float]:
    """One context's bars on those below it."""
    axes.bar(range(HOURS), shares, width=1.0, bottom=floor, align="edge", color=colour, label=label, linewidth=0)
    return [low + share for low, share in zip(floor, shares, strict=True)]
