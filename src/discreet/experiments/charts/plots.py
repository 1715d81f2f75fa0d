"""Charts in the house style: plain, legible in grey, safe for the colour-blind, labelled where the eye is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.experiments.charts.canvas import (
    BLUE,
    BROWN,
    GREEN,
    GREY,
    GRID,
    INK,
    LILAC,
    NAVY,
    ORANGE,
    PALE,
    PINK,
    PURPLE,
    QUIET,
    RED,
    SKY,
    VIOLET,
    axes_in,
    figure_at,
)

COLOURS = {
    "MaskSensitive": QUIET,
    "Simulatable": BLUE,
    "Probabilistic": ORANGE,
    "Hybrid": GREEN,
    "FDH": BROWN,
    "EfficientFake": PINK,
    "CAPP": RED,
    "CAPP, Bayes": ORANGE,
    "Adaptive suppress": SKY,
    "Adaptive generalize": VIOLET,
    "Adaptive deceive": NAVY,
    "NoMask": QUIET,
    "SensitiveMask": PURPLE,
    "NoInternal": ORANGE,
    "PA-Markov": RED,
    "PA-HMM": GREEN,
    "Adaptive events": SKY,
    "Adaptive attributes": NAVY,
    "an activity": BLUE,
    "a time": ORANGE,
    "a location": GREEN,
    "one of each": INK,
    "4 topics": SKY,
    "6 topics": BLUE,
    "8 topics": NAVY,
    "10 topics": ORANGE,
    "G_util": BLUE,
    "G_trs": ORANGE,
    "DPLS": GREEN,
    "G_cplt": QUIET,
}
MARKERS = {
    "MaskSensitive": "D",
    "Simulatable": "o",
    "Probabilistic": "^",
    "Hybrid": "s",
    "FDH": "P",
    "EfficientFake": "X",
    "CAPP": "v",
    "CAPP, Bayes": "^",
    "Adaptive suppress": "s",
    "Adaptive generalize": "^",
    "Adaptive deceive": "o",
    "NoMask": "D",
    "SensitiveMask": "P",
    "NoInternal": "^",
    "PA-Markov": "v",
    "PA-HMM": "X",
    "Adaptive events": "s",
    "Adaptive attributes": "o",
    "an activity": "o",
    "a time": "^",
    "a location": "s",
    "one of each": "D",
    "4 topics": "o",
    "6 topics": "^",
    "8 topics": "s",
    "10 topics": "D",
    "G_util": "o",
    "G_trs": "s",
    "DPLS": "^",
    "G_cplt": "D",
}

_DASHED = (0, (4, 2))
_WEIGHT: Any = {
    "MaskSensitive": {"zorder": 2, "linestyle": _DASHED, "linewidth": 1.4},
    "Simulatable": {"zorder": 4},
    "Probabilistic": {"zorder": 4},
    "Hybrid": {"zorder": 3, "linewidth": 5.5, "markersize": 7.5, "alpha": 0.45},
}
"""The hybrid check follows one of the others: it lies under them, wide and pale, so that both are seen."""

KEPT = (
    "Simulatable",
    "Hybrid",
    "Adaptive suppress",
    "Adaptive generalize",
    "Adaptive deceive",
    "Adaptive events",
    "Adaptive attributes",
)
"""Systems whose promise is proven: solid lines in `grid`, the others are dashed."""

CHOICES = ("an activity", "a time", "a location", "one of each", "4 topics", "6 topics", "8 topics", "10 topics")
"""Lines of `grid` that are no systems: solid as well."""


@dataclass(frozen=True)
class Bar:
    """A system's shares of the slots, by the names in `FATES` or `LAYERS`; what is left out is zero."""

    label: str
    parts: Mapping[str, float]


@dataclass(frozen=True)
class Panel:
    """Curves over one axis."""

    title: str
    across: str
    x: tuple[float, ...]
    series: Mapping[str, tuple[float, ...]]
    up: str = "utility"
    logarithmic: bool = False  # upwards
    doubling: bool = False  # across


@dataclass(frozen=True)
class Timing:
    """Seconds here, and in the paper where it says."""

    label: str
    ours: float
    paper: float | None


@dataclass(frozen=True)
class Dot:
    """A utility measured, and the one that the model expected."""

    label: str
    measured: float
    expected: float


FATES = {
    "released": (BLUE, "white"),
    "released, secret": (SKY, INK),
    "secret, breached": (RED, "white"),
    "faked, secret": (PURPLE, "white"),
    "faked, no secret": (LILAC, INK),
    "suppressed, secret": (GREY, "white"),
    "suppressed, no secret": (PALE, INK),
}
"""What becomes of a slot: the colour of its share, and of the number in it."""

LAYERS = {
    "itself": (BLUE, "white"),
    "1 up": (SKY, INK),
    "2 up": ("#A6D8F0", INK),
    "3 up": ("#D3ECF8", INK),
    "root": (GREY, "white"),
    "silent": (PALE, INK),
    "off model": ("#f0f0f0", INK),
}
"""The layer of a hierarchy that is shown: the paler, the less it says."""

PUBLISHED = {
    "other shown": (BLUE, "white"),
    "secret shown": (SKY, INK),
    "secret withheld": (GREY, "white"),
    "other withheld": (PALE, INK),
}
"""What becomes of an attribute or an event in a published table."""

LABELLED_FROM = 0.27
"""Inches of a bar that are wide enough for their number."""


def bars(
    title: str,
    note: str,
    systems: Sequence[Bar],
    path: Path,
    *,
    fates: Mapping[str, tuple[str, str]] = FATES,
    across: str = "share of the held-out slots",
) -> None:
    """Stacked bars: what became of the slots, system by system."""
    with figure_at(title, note, path, (7.2, 0.42 * len(systems) + 1.6)) as figure:
        margin = max(1.05, 0.1 + 0.073 * max(len(system.label) for system in systems))
        axes = axes_in(figure, left=margin, right=0.2, bottom=0.85)
        for row, system in enumerate(systems):
            left = 0.0
            for fate, (colour, ink) in fates.items():
                share = system.parts.get(fate, 0.0)
                axes.barh(row, share, left=left, height=0.72, color=colour, edgecolor="white", linewidth=0.6)
                if share * (7.0 - margin) >= LABELLED_FROM:
                    axes.text(left + share / 2, row, f"{share:.2f}", ha="center", va="center", color=ink, fontsize=8)
                left += share
        axes.set_yticks(range(len(systems)), [system.label for system in systems], color=INK)
        axes.set_ylim(len(systems) - 0.4, -0.6)
        axes.set_xlim(0, 1)
        axes.grid(axis="y", visible=False)
        axes.tick_params(length=0)
        axes.spines[["left", "bottom"]].set_visible(False)
        axes.set_xlabel(across)
        used = [fate for fate in fates if any(system.parts.get(fate, 0.0) > 0 for system in systems)]
        _legend(figure, {fate: fates[fate][0] for fate in used})


def _legend(figure: Any, fates: Mapping[str, str]) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(color=colour, label=fate) for fate, colour in fates.items()]
    size, gap = (8.0, 2.0) if len(fates) <= 5 else (6.8, 0.9)
    place = {"loc": "lower center", "ncols": max(1, len(fates)), "frameon": False, "columnspacing": gap}
    figure.legend(handles=handles, fontsize=size, handlelength=1.1, handletextpad=0.5, **place)


def ranked(
    title: str,
    note: str,
    series: Mapping[str, Sequence[float]],
    path: Path,
    *,
    across: str = "people, by what the probabilistic check releases",
) -> None:
    """A point a person and check, people in the order given."""
    with figure_at(title, note, path, (7.2, 3.5)) as figure:
        axes = axes_in(figure, left=0.65, right=0.2, bottom=0.5)
        for name, values in series.items():
            rank = range(1, len(values) + 1)
            axes.plot(rank, values, MARKERS[name], color=COLOURS[name], label=name, alpha=0.85, clip_on=False)
        axes.set_ylim(0, max(0.05, *(max(values, default=0.0) * 1.05 for values in series.values())))
        axes.set_xlabel(across)
        axes.set_ylabel("utility")
        axes.yaxis.set_major_formatter("{x:.2f}")
        axes.xaxis.get_major_locator().set_params(integer=True)
        place: Any = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "ncols": len(series), "borderaxespad": 0.2}
        axes.legend(frameon=False, handletextpad=0.2, columnspacing=1.2, **place)


def curves(title: str, note: str, panels: Sequence[Panel], path: Path) -> None:
    """A panel beside another, each line named at its end."""
    width, count = 4.5, max(1, len(panels))
    highest = max((value for panel in panels for values in panel.series.values() for value in values), default=1.0)
    top = 1.0 if highest > 0.4 else max(0.1, math.ceil(12 * highest) / 10)
    with figure_at(title, note, path, (width * count, 3.6)) as figure:
        for place, panel in enumerate(panels):
            axes = axes_in(figure, left=width * place + 0.6, right=width * (count - 1 - place) + 1.4, top=0.95)
            axes.set_title(panel.title, loc="left", fontsize=9, color=INK)
            for name, values in panel.series.items():
                axes.plot(panel.x, values, marker=MARKERS[name], color=COLOURS[name], clip_on=False, **_WEIGHT[name])
            axes.set_ylim(0, top)
            axes.set_xlim(min(panel.x, default=0), max(panel.x, default=1))
            axes.set_xlabel(panel.across)
            if place == 0:
                axes.set_ylabel("utility")
            _name_lines(axes, panel, 0.07 * top)


def grid(
    title: str, note: str, rows: Sequence[Sequence[Panel]], path: Path, *, legend: str = "solid: delta is proven"
) -> None:
    """Panels below and beside each other on an axis from 0 to 1, with one legend; a row shares what goes up."""
    columns = max(len(row) for row in rows)
    names = list(dict.fromkeys(name for row in rows for panel in row for name in panel.series))
    room = 0.2 if any(panel.up != row[0].up for row in rows for panel in row) else 0.0  # for words beside inner panels
    wide, high, beside = 2.75 + room, 2.35, 1.95
    with figure_at(title, note, path, (wide * columns + beside + 0.3, high * len(rows) + 0.7)) as figure:
        for down, row in enumerate(rows):
            for place, panel in enumerate(row):
                left, right = wide * place + 0.62 + room, wide * (columns - 1 - place) + beside + 0.18
                below, above = high * (len(rows) - 1 - down) + 0.5, high * down + 0.95
                axes = axes_in(figure, left=left, right=right, bottom=below, top=above)
                axes.set_title(panel.title, loc="left", fontsize=9, color=INK)
                for name, values in panel.series.items():
                    axes.plot(panel.x, values, **_line(name))
                axes.set_ylim(0, 1)
                axes.set_xlim(min(panel.x), max(panel.x))
                axes.set_xticks(panel.x, [f"{x:g}" for x in panel.x])
                axes.set_xlabel(panel.across)
                if place == 0 or panel.up != row[place - 1].up:
                    axes.set_ylabel(panel.up)
        _line_legend(figure, names, legend)


def amounts(title: str, note: str, panels: Sequence[Panel], path: Path) -> None:
    """Panels beside each other, each on an axis of its own from 0, each line named at its end."""
    width, count = 4.2, max(1, len(panels))
    with figure_at(title, note, path, (width * count, 3.2)) as figure:
        for place, panel in enumerate(panels):
            axes = axes_in(figure, left=width * place + 0.65, right=width * (count - 1 - place) + 1.15, top=0.95)
            axes.set_title(panel.title, loc="left", fontsize=9, color=INK)
            top = 1.15 * max((max(values) for values in panel.series.values()), default=1.0)
            looks = list(zip((BLUE, ORANGE, GREEN, QUIET), "os^D", strict=True))
            ends = sorted((values[-1], name, *looks[k]) for k, (name, values) in enumerate(panel.series.items()))
            heights = spread([end[0] for end in ends], 0.08 * top)
            for height, (_, name, colour, marker) in zip(heights, ends, strict=True):
                axes.plot(panel.x, panel.series[name], marker=marker, color=colour, clip_on=False)
                axes.annotate(
                    name,
                    (1.04, height),
                    xycoords=("axes fraction", "data"),
                    va="center",
                    color=colour,
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
                for name, values in panel.series.items():
                    marker = MARKERS[name] if len(panel.x) <= MARKED else None
                    axes.plot(
                        panel.x, values, color=COLOURS[name], marker=marker, clip_on=False, solid_capstyle="round"
                    )
                _upwards(axes, panel)
                if panel.doubling:
                    axes.set_xscale("log", base=2)
                    axes.minorticks_off()
                axes.set_xlim(min(panel.x), max(panel.x))
                if len(panel.x) <= MARKED:
                    axes.set_xticks(panel.x, [f"{x:g}" for x in panel.x])
                axes.set_xlabel(panel.across)
                axes.set_ylabel(panel.up)
        names = list(dict.fromkeys(name for row in rows for panel in row for name in panel.series))
        handles = [Line2D([], [], color=COLOURS[name], marker=MARKERS[name], label=name) for name in names]
        place_of: Any = {"loc": "upper left", "bbox_to_anchor": (0.0, 1 - 0.47 / (high * len(rows) + 0.85))}
        figure.legend(handles=handles, ncols=len(names), frameon=False, columnspacing=1.6, fontsize=8.5, **place_of)


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
        gain.axvline(delta, color=INK, linewidth=0.9, linestyle=_DASHED)
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


def _line(name: str) -> dict[str, Any]:
    """How a system is drawn among many: solid if its promise is proven."""
    kept = name in KEPT or name in CHOICES
    return {
        "color": COLOURS[name],
        "marker": MARKERS[name],
        "linestyle": "-" if kept else _DASHED,
        "linewidth": 2.2 if name.startswith("Adaptive") else 1.5,
        "zorder": 3 if kept else 2,
        "clip_on": False,
        "label": name,
    }


def _line_legend(figure: Any, names: Sequence[str], title: str) -> None:
    from matplotlib.lines import Line2D

    width, height = figure.get_size_inches()
    handles = [Line2D([], [], **_line(name)) for name in names]
    place = {"loc": "upper right", "bbox_to_anchor": (1 - 0.05 / width, 1 - 0.8 / height)}
    legend = figure.legend(handles=handles, frameon=False, fontsize=8.5, handlelength=3.2, labelspacing=0.75, **place)
    legend.set_title(title, prop={"size": 7.5})


def _name_lines(axes: Any, panel: Panel, gap: float) -> None:
    """Each line's name and last value beside its end, pushed apart where they would overlap."""
    ends = sorted((values[-1], name) for name, values in panel.series.items() if values)
    heights = spread([end for end, _ in ends], gap)
    for height, (end, name) in zip(heights, ends, strict=True):
        place = {"xycoords": ("axes fraction", "data"), "va": "center", "color": COLOURS[name], "fontsize": 8.5}
        axes.annotate(f"{name} {end:.2f}", (1.04, height), annotation_clip=False, **place)


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Rising heights moved as little as needed, up and down alike, for `gap` between neighbours."""
    groups: list[tuple[float, int]] = []  # (middle, members), members `gap` apart
    for height in heights:
        groups.append((height, 1))
        while len(groups) > 1 and groups[-1][0] - groups[-2][0] < gap * (groups[-1][1] + groups[-2][1]) / 2:
            (low, few), (high, many) = groups[-2:]
            groups[-2:] = [((low * few + high * many) / (few + many), few + many)]
    return [middle + gap * (k - (members - 1) / 2) for middle, members in groups for k in range(members)]


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
