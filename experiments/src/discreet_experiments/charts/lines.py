"""Lines in panels: plain, legible in grey, safe for the colour-blind, labelled where the eye is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.charts.canvas import BLUE, DASHED, GREEN, INK, ORANGE, QUIET, axes_in, figure_at


@dataclass(frozen=True)
class Look:
    """What a line is called and how it is drawn; `grid` dashes those that are not solid."""

    label: str
    colour: str
    marker: str
    solid: bool = True
    width: float = 1.5


def in_turn(labels: Sequence[str]) -> list[Look]:
    """Looks for lines that have none of their own: four are told apart."""
    looks = ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"), (QUIET, "D"))
    return [Look(label, colour, marker) for label, (colour, marker) in zip(labels, looks, strict=False)]


@dataclass(frozen=True)
class Panel:
    """Curves over one axis."""

    title: str
    across: str
    x: tuple[float, ...]
    series: Mapping[Look, tuple[float, ...]]
    up: str = "utility"
    logarithmic: bool = False  # upwards
    doubling: bool = False  # across


def ranked(
    title: str,
    note: str,
    series: Mapping[Look, Sequence[float]],
    path: Path,
    *,
    across: str,
) -> None:
    """A point a person and check, people in the order given."""
    with figure_at(title, note, path, (7.2, 3.5)) as figure:
        axes = axes_in(figure, left=0.65, right=0.2, bottom=0.5)
        for look, values in series.items():
            rank = range(1, len(values) + 1)
            axes.plot(rank, values, look.marker, color=look.colour, label=look.label, alpha=0.85, clip_on=False)
        axes.set_ylim(0, max(0.05, *(max(values, default=0.0) * 1.05 for values in series.values())))
        axes.set_xlabel(across)
        axes.set_ylabel("utility")
        axes.yaxis.set_major_formatter("{x:.2f}")
        axes.xaxis.get_major_locator().set_params(integer=True)
        place: Any = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "ncols": len(series), "borderaxespad": 0.2}
        axes.legend(frameon=False, handletextpad=0.2, columnspacing=1.2, **place)


def curves(title: str, note: str, panels: Sequence[Panel], path: Path, *, under: str, dashed: str) -> None:
    """A panel beside another, each line named at its end.

    A line that follows one of the others lies `under` them, wide and pale, so that both are seen; one is `dashed`.
    """
    weights: dict[str, Any] = {
        under: {"zorder": 3, "linewidth": 5.5, "markersize": 7.5, "alpha": 0.45},
        dashed: {"zorder": 2, "linestyle": DASHED, "linewidth": 1.4},
    }
    width, count = 4.5, max(1, len(panels))
    highest = max((value for panel in panels for values in panel.series.values() for value in values), default=1.0)
    top = 1.0 if highest > 0.4 else max(0.1, math.ceil(12 * highest) / 10)
    with figure_at(title, note, path, (width * count, 3.6)) as figure:
        for place, panel in enumerate(panels):
            axes = axes_in(figure, left=width * place + 0.6, right=width * (count - 1 - place) + 1.4, top=0.95)
            axes.set_title(panel.title, loc="left", fontsize=9, color=INK)
            for look, values in panel.series.items():
                weight = weights.get(look.label, {"zorder": 4})
                axes.plot(panel.x, values, marker=look.marker, color=look.colour, clip_on=False, **weight)
            axes.set_ylim(0, top)
            axes.set_xlim(min(panel.x, default=0), max(panel.x, default=1))
            axes.set_xlabel(panel.across)
            if place == 0:
                axes.set_ylabel("utility")
            _name_lines(axes, panel, 0.07 * top)


def grid(title: str, note: str, rows: Sequence[Sequence[Panel]], path: Path, *, legend: str) -> None:
    """Panels below and beside each other on an axis from 0 to 1, with one legend; a row shares what goes up."""
    columns = max(len(row) for row in rows)
    looks = list(dict.fromkeys(look for row in rows for panel in row for look in panel.series))
    room = 0.2 if any(panel.up != row[0].up for row in rows for panel in row) else 0.0  # for words beside inner panels
    wide, high, beside = 2.75 + room, 2.35, 1.95
    with figure_at(title, note, path, (wide * columns + beside + 0.3, high * len(rows) + 0.7)) as figure:
        for down, row in enumerate(rows):
            for place, panel in enumerate(row):
                left, right = wide * place + 0.62 + room, wide * (columns - 1 - place) + beside + 0.18
                below, above = high * (len(rows) - 1 - down) + 0.5, high * down + 0.95
                axes = axes_in(figure, left=left, right=right, bottom=below, top=above)
                axes.set_title(panel.title, loc="left", fontsize=9, color=INK)
                for look, values in panel.series.items():
                    axes.plot(panel.x, values, **_line(look))
                axes.set_ylim(0, 1)
                axes.set_xlim(min(panel.x), max(panel.x))
                axes.set_xticks(panel.x, [f"{x:g}" for x in panel.x])
                axes.set_xlabel(panel.across)
                if place == 0 or panel.up != row[place - 1].up:
                    axes.set_ylabel(panel.up)
        _line_legend(figure, looks, legend)


def amounts(title: str, note: str, panels: Sequence[Panel], path: Path) -> None:
    """Panels beside each other, each on an axis of its own from 0, each line named at its end."""
    width, count = 4.2, max(1, len(panels))
    with figure_at(title, note, path, (width * count, 3.2)) as figure:
        for place, panel in enumerate(panels):
            axes = axes_in(figure, left=width * place + 0.65, right=width * (count - 1 - place) + 1.15, top=0.95)
            axes.set_title(panel.title, loc="left", fontsize=9, color=INK)
            top = 1.15 * max((max(values) for values in panel.series.values()), default=1.0)
            ends = sorted(panel.series, key=lambda look: (panel.series[look][-1], look.label))
            heights = apart([panel.series[look][-1] for look in ends], 0.08 * top)
            for height, look in zip(heights, ends, strict=True):
                axes.plot(panel.x, panel.series[look], marker=look.marker, color=look.colour, clip_on=False)
                axes.annotate(
                    look.label,
                    (1.04, height),
                    xycoords=("axes fraction", "data"),
                    va="center",
                    color=look.colour,
                    annotation_clip=False,
                )
            axes.set_ylim(0, top)
            axes.set_xlim(min(panel.x), max(panel.x))
            axes.set_xlabel(panel.across)
            axes.set_ylabel(panel.up)


MARKED = 12
"""Points of a line up to which each is marked."""


def courses(title: str, note: str, rows: Sequence[Sequence[Panel]], path: Path) -> None:
    """Panels below and beside each other, each on an axis of its own, with one legend above."""
    from matplotlib.lines import Line2D

    columns = max(len(row) for row in rows)
    wide, high = 3.6, 2.3
    with figure_at(title, note, path, (wide * columns + 0.1, high * len(rows) + 0.85)) as figure:
        for down, row in enumerate(rows):
            for place, panel in enumerate(row):
                left, right = wide * place + 0.65, wide * (columns - 1 - place) + 0.2
                below, above = high * (len(rows) - 1 - down) + 0.5, high * down + 1.15
                axes = axes_in(figure, left=left, right=right, bottom=below, top=above)
                axes.set_title(panel.title, loc="left", fontsize=9, color=INK)
                for look, values in panel.series.items():
                    marker = look.marker if len(panel.x) <= MARKED else None
                    axes.plot(panel.x, values, color=look.colour, marker=marker, clip_on=False, solid_capstyle="round")
                _upwards(axes, panel)
                if panel.doubling:
                    axes.set_xscale("log", base=2)
                    axes.minorticks_off()
                axes.set_xlim(min(panel.x), max(panel.x))
                if len(panel.x) <= MARKED:
                    axes.set_xticks(panel.x, [f"{x:g}" for x in panel.x])
                axes.set_xlabel(panel.across)
                axes.set_ylabel(panel.up)
        looks = list(dict.fromkeys(look for row in rows for panel in row for look in panel.series))
        handles = [Line2D([], [], color=look.colour, marker=look.marker, label=look.label) for look in looks]
        place_of: Any = {"loc": "upper left", "bbox_to_anchor": (0.0, 1 - 0.47 / (high * len(rows) + 0.85))}
        figure.legend(handles=handles, ncols=len(looks), frameon=False, columnspacing=1.6, fontsize=8.5, **place_of)


def _upwards(axes: Any, panel: Panel) -> None:
    """From zero, or in equal ratios with plain numbers."""
    highest = max((max(values) for values in panel.series.values()), default=1.0)
    if not panel.logarithmic:
        axes.set_ylim(0, 1.08 * highest if highest > 0 else 1.0)
        return
    from matplotlib.ticker import NullFormatter

    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def _line(look: Look) -> dict[str, Any]:
    """How one of many is drawn."""
    return {
        "color": look.colour,
        "marker": look.marker,
        "linestyle": "-" if look.solid else DASHED,
        "linewidth": look.width,
        "zorder": 3 if look.solid else 2,
        "clip_on": False,
        "label": look.label,
    }


def _line_legend(figure: Any, looks: Sequence[Look], title: str) -> None:
    from matplotlib.lines import Line2D

    width, height = figure.get_size_inches()
    handles = [Line2D([], [], **_line(look)) for look in looks]
    place = {"loc": "upper right", "bbox_to_anchor": (1 - 0.05 / width, 1 - 0.8 / height)}
    legend = figure.legend(handles=handles, frameon=False, fontsize=8.5, handlelength=3.2, labelspacing=0.75, **place)
    legend.set_title(title, prop={"size": 7.5})


def _name_lines(axes: Any, panel: Panel, gap: float) -> None:
    """Each line's name and last value beside its end, pushed apart where they would overlap."""
    named = [look for look, values in panel.series.items() if values]
    named.sort(key=lambda look: (panel.series[look][-1], look.label))
    ends = [panel.series[look][-1] for look in named]
    for height, end, look in zip(apart(ends, gap), ends, named, strict=True):
        place = {"xycoords": ("axes fraction", "data"), "va": "center", "color": look.colour, "fontsize": 8.5}
        axes.annotate(f"{look.label} {end:.2f}", (1.04, height), annotation_clip=False, **place)


def apart(heights: Sequence[float], gap: float) -> list[float]:
    """Rising heights moved as little as needed, up and down alike, for `gap` between neighbours."""
    groups: list[tuple[float, int]] = []  # (middle, members), members `gap` apart
    for height in heights:
        groups.append((height, 1))
        while len(groups) > 1 and groups[-1][0] - groups[-2][0] < gap * (groups[-1][1] + groups[-2][1]) / 2:
            (low, few), (high, many) = groups[-2:]
            groups[-2:] = [((low * few + high * many) / (few + many), few + many)]
    return [middle + gap * (k - (members - 1) / 2) for middle, members in groups for k in range(members)]
