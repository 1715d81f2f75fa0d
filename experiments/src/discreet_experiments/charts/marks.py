"""Marks, a line each: times beside a paper's, values and their mean, measured and expected, intervals of a gain."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.charts.canvas import (
    BLUE,
    DASHED,
    GREEN,
    GREY,
    GRID,
    INK,
    QUIET,
    RED,
    SKY,
    axes_in,
    figure_at,
)


@dataclass(frozen=True)
class Timing:
    """Seconds here, and in the paper where it says."""

    label: str
    ours: float
    paper: float | None


@dataclass(frozen=True)
class Choice:
    """What something costs and saves; `plain` ones are joined by a line."""

    label: str
    across: float
    up: float
    plain: bool = False


@dataclass(frozen=True)
class Dot:
    """A utility measured, and the one that the model expected."""

    label: str
    measured: float
    expected: float


def timings(title: str, note: str, rows: Sequence[Timing], path: Path) -> None:
    """Times on a logarithmic axis, the paper's as hollow marks."""
    with figure_at(title, note, path, (7.2, 0.32 * len(rows) + 1.1)) as figure:
        longest = max(len(timing.label) for timing in rows)
        axes = axes_in(figure, left=max(1.7, 0.1 + 0.073 * longest), right=0.3, bottom=0.35)
        for row, timing in enumerate(rows):
            if timing.paper is not None:
                axes.plot([timing.ours, timing.paper], [row, row], color=GRID, linewidth=3, zorder=1)
                axes.plot(timing.paper, row, "o", mfc="white", mec=QUIET, label="the paper's PC", zorder=2)
            if math.isfinite(timing.ours):
                axes.plot(timing.ours, row, "o", color=BLUE, label="here", zorder=3)
        axes.set_xscale("log")
        axes.set_xlim(5e-7, 1e4)
        ticks = {1e-6: "1 µs", 1e-3: "1 ms", 1.0: "1 s", 60.0: "1 min", 3600.0: "1 h"}
        axes.set_xticks(list(ticks), list(ticks.values()))
        axes.minorticks_off()
        axes.set_yticks(range(len(rows)), [timing.label for timing in rows], color=INK)
        axes.invert_yaxis()
        axes.tick_params(length=0)
        axes.grid(axis="y", visible=False)
        handles, labels = axes.get_legend_handles_labels()
        named = dict(zip(labels, handles, strict=True))
        figure.legend(named.values(), named.keys(), loc="upper right", ncols=2, frameon=False, fontsize=8)


def strips(title: str, note: str, rows: Mapping[str, Sequence[float]], path: Path, *, across: str) -> None:
    """A line a variant: every value as a pale tick, and their mean."""
    with figure_at(title, note, path, (7.2, 0.36 * len(rows) + 1.35)) as figure:
        axes = axes_in(figure, left=0.2 + 0.073 * max(len(name) for name in rows), right=0.35, bottom=0.5)
        for place, values in enumerate(rows.values()):
            axes.plot(values, [place] * len(values), "|", color=BLUE, alpha=0.35, markersize=11, markeredgewidth=1.2)
            middle = sum(values) / len(values)
            axes.plot(middle, place, "o", color=RED, markersize=5.5, zorder=3)
            axes.annotate(f"{middle:.3f}", (middle, place), (0, 7), textcoords="offset points", ha="center", fontsize=8)
        axes.set_yticks(range(len(rows)), list(rows), color=INK)
        axes.set_ylim(len(rows) - 0.5, -0.6)
        axes.set_xlim(0, 1.02)
        axes.set_xlabel(across)
        axes.tick_params(length=0)
        axes.grid(axis="y", visible=False)


def dots(title: str, note: str, rows: Sequence[Dot], path: Path) -> None:
    """A line a choice: measured and expected utility; the first line is the one the others are compared with."""
    with figure_at(title, note, path, (7.2, 0.2 * len(rows) + 1.2)) as figure:
        axes = axes_in(figure, left=3.0, right=0.3, bottom=0.5)
        axes.axvline(rows[0].measured, color=GREY, linewidth=0.9, linestyle=(0, (3, 3)))
        places = range(len(rows))
        axes.plot([row.expected for row in rows], places, "o", mfc="white", mec=GREEN, label="expected by the model")
        axes.plot([row.measured for row in rows], places, "s", color=GREEN, label="on held-out days")
        axes.set_yticks(places, [row.label for row in rows], color=INK, fontsize=8)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(0, 1)
        axes.set_xlabel("utility of the hybrid check")
        axes.tick_params(length=0)
        axes.legend(frameon=False, loc="center right", fontsize=8)


def pairs(title: str, note: str, rows: Sequence[tuple[str, float, float, float]], path: Path, *, delta: float) -> None:
    """A line a mechanism: the interval of its worst gain, and beside it how far off the observer stays."""
    with figure_at(title, note, path, (7.6, 0.3 * len(rows) + 1.45)) as figure:
        names, lefts = [row[0] for row in rows], 0.2 + 0.073 * max(len(row[0]) for row in rows)
        gain = axes_in(figure, left=lefts, right=2.75, bottom=0.5, top=0.85)
        off = axes_in(figure, left=5.05, right=0.35, bottom=0.5, top=0.85)
        for place, (_, found, bound, error) in enumerate(rows):
            colour = GREEN if bound <= delta + 1e-6 else RED if found > delta else GREY
            gain.plot([found, bound], [place, place], color=colour, linewidth=4, alpha=0.35, solid_capstyle="butt")
            gain.plot(found, place, "o", color=colour, clip_on=False)
            off.barh(place, error, height=0.6, color=SKY)
            off.annotate(f"{error:.2f}", (error, place), (3, 0), textcoords="offset points", va="center", fontsize=7.5)
        gain.axvline(delta, color=INK, linewidth=0.9, linestyle=DASHED)
        gain.annotate("delta", (delta, -0.75), (3, 0), textcoords="offset points", fontsize=7.5, annotation_clip=False)
        gain.set_yticks(range(len(rows)), names, color=INK, fontsize=8.5)
        gain.set_xlim(0, 1)
        gain.set_xlabel("worst gain on the secret: found, and bound")
        off.set_yticks([])
        off.set_xlim(0, 1.18 * max(row[3] for row in rows) or 1.0)
        off.set_xlabel("observer's error, km")
        for axes in (gain, off):
            axes.set_ylim(len(rows) - 0.4, -0.6)
            axes.grid(axis="y", visible=False)
            axes.tick_params(length=0)


def frontier(
    title: str, note: str, panels: Mapping[str, Sequence[Choice]], path: Path, *, across: str, up: str
) -> None:
    """Choices by number, two panels in a row, with their names below: what lies under the line beats what is plain."""
    names = [choice.label for choice in next(iter(panels.values()))]
    columns, height, below = min(2, len(panels)), 2.7, 0.16 * len(names) + 0.3
    rows = -(-len(panels) // columns)
    width, whole = 7.6 / columns, rows * height + below + 0.55
    with figure_at(title, note, path, (7.6, whole)) as figure:
        for place, (name, choices) in enumerate(panels.items()):
            row, column = divmod(place, columns)
            edge = {"left": 0.65 + column * width, "right": 7.6 - (column + 1) * width + 0.15}
            axes = axes_in(figure, **edge, bottom=below + (rows - 1 - row) * height + 0.45, top=0.8 + row * height)
            _choices(axes, choices)
            axes.set_title(name, fontsize=9, loc="left")
            axes.set_xlabel(across, fontsize=8)
            if column == 0:
                axes.set_ylabel(up, fontsize=8)
        for number, name in enumerate(names, 1):
            place_of = (0.1 + 0.16 * (len(names) - number)) / whole
            figure.text(0.65 / 7.6, place_of, f"{number}  {name}", fontsize=7.5, color=QUIET)


def _choices(axes: Any, choices: Sequence[Choice]) -> None:
    plain = sorted((choice for choice in choices if choice.plain), key=lambda choice: choice.across)
    axes.plot([one.across for one in plain], [one.up for one in plain], color=GREY, linewidth=0.9)
    for number, choice in enumerate(choices, 1):
        at = choice.across, choice.up
        axes.plot(*at, "o", color=GREY if choice.plain else BLUE, markersize=10, alpha=0.9)
        axes.annotate(str(number), at, color="white", fontsize=6.5, ha="center", va="center")
    axes.set_ylim(0, 1.15 * max(choice.up for choice in choices) or 1.0)
