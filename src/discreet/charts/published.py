"""What became of a published table, and below it whether the habits that judge it are true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.charts.canvas import BLUE, GREY, ORANGE, PALE, QUIET, figure_at
from discreet.charts.reliability import height_of, note_of, panels, width_of
from discreet.evaluation.truth import Truth

TOP, ROW, LEGEND, HEADING = 0.65, 2.4, 0.7, 0.42
"""Inches: title and note, the row of what is shown, what is left below it for its labels, and the second title."""

LEAST = 7.6
"""Inches: two panels side by side."""


@dataclass(frozen=True)
class Shares:
    """Of people and of events."""

    people: int
    breached: int
    events: int
    by_utility: tuple[int, ...]
    """People by tenths of utility."""
    shown: Mapping[str, float]
    """The share of events of which an attribute is shown, by attribute."""
    silent: float
    off_model: float
    settled: float


def published(shares: Shares, truth: Truth, path: Path) -> None:
    """People by utility, what is shown, what is not and why; and panels of belief where the habits were tested."""
    below = 0.0 if truth.untested else height_of(truth) + HEADING
    size = (max(LEAST, width_of(truth)), TOP + ROW + below)
    note = (
        f"{shares.events:,} events of {shares.people:,} people, {shares.people - shares.breached:,} of whom are "
        "breached nowhere"
    )
    with figure_at("What the published table shows", note, path, size) as figure:
        height = ROW - LEGEND
        bottom = (below + LEGEND) / size[1]
        half = size[0] / 2
        people = figure.add_axes((0.6 / size[0], bottom, (half - 0.85) / size[0], height / size[1]))
        _people(people, shares)
        events = figure.add_axes(((half + 1.35) / size[0], bottom, (half - 1.95) / size[0], height / size[1]))
        _events(events, shares)
        if not truth.untested:
            left, inch = 0.1 / size[0], 1 / size[1]
            asked = "Where an observer is 10 % sure, is it 10 %?"
            figure.text(left, below * inch, asked, va="top", fontsize=11, fontweight="bold")
            figure.text(left, (below - 0.24) * inch, note_of(truth), va="top", fontsize=7.5, color=QUIET)
            panels(figure, truth, size)


def _people(axes: Any, shares: Shares) -> None:
    tenths = len(shares.by_utility)
    axes.bar([(k + 0.5) / tenths for k in range(tenths)], shares.by_utility, width=0.9 / tenths, color=BLUE)
    axes.grid(axis="x", visible=False)
    axes.set_xlim(0, 1)
    ticks = [0, 0.25, 0.5, 0.75, 1]
    axes.set_xticks(ticks, [f"{100 * tick:.0f} %" for tick in ticks], fontsize=7)
    axes.tick_params(axis="y", labelsize=7)
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("utility: the share of a person's attributes that is shown", fontsize=7.5)
    axes.set_ylabel("people", fontsize=7.5)


def _events(axes: Any, shares: Shares) -> None:
    rows = [(f"{name} is shown", share, BLUE) for name, share in shares.shown.items()]
    rows += [
        ("nothing is shown", shares.silent, GREY),
        ("unknown to the habits", shares.off_model, ORANGE),
        ("told by habits alone", shares.settled, ORANGE),
    ]
    for place, (name, share, colour) in enumerate(rows):
        axes.barh(place, 1, color=PALE, alpha=0.45, height=0.66)
        axes.barh(place, share, color=colour, height=0.66)
        axes.text(1.03, place, f"{100 * share:.1f} %", va="center", fontsize=7.5, color=QUIET)
        axes.text(-0.03, place, name, va="center", ha="right", fontsize=7.5)
    axes.grid(visible=False)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.set_xlim(0, 1)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_xlabel("of all events", fontsize=7.5)
