"""What was believed against how often it was so: a panel a secret, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.charts.canvas import BLUE, GREY, ORANGE, QUIET, RED, figure_at
from discreet.evaluation.calibration import ALARMS, Cell
from discreet.evaluation.truth import Look, Truth

ACROSS = 4
SIZE = 2.5
"""Panels in a row, and their width and height in inches."""

COLOURS = (GREY, BLUE, ORANGE)


def reliability(title: str, truth: Truth, path: Path) -> None:
    """Bins of belief: where the points lie on the diagonal, 10 % means 10 %. A bin that is off is red."""
    size = (width_of(truth), height_of(truth) + 0.75)
    with figure_at(title, note_of(truth), path, size) as figure:
        panels(figure, truth, size)


def note_of(truth: Truth) -> str:
    """What was looked at, and what the bars are."""
    return f"{truth.on.rstrip(',')}; bars: intervals that hold together, {100 * ALARMS:g} % of false alarms"


def names_of(truth: Truth) -> list[str]:
    """The secrets, in the order of the policy."""
    return list(dict.fromkeys(name for look in truth.looks for name in look.names))


def width_of(truth: Truth) -> float:
    """Inches of the panels of all secrets."""
    return max(5.4, SIZE * min(ACROSS, len(names_of(truth))) + 0.5)


def height_of(truth: Truth) -> float:
    """Inches of the panels of all secrets, with their legend."""
    return SIZE * -(-len(names_of(truth)) // ACROSS) + 0.35


def panels(figure: Any, truth: Truth, size: tuple[float, float]) -> None:
    """A panel a secret at the foot of a figure of this size in inches, with their legend below."""
    top = height_of(truth)
    first = len(figure.axes)
    for number, name in enumerate(names_of(truth)):
        row, column = divmod(number, ACROSS)
        left, bottom = 0.6 + SIZE * column, top - SIZE * (row + 1) + 0.45
        axes = figure.add_axes((left / size[0], bottom / size[1], (SIZE - 0.65) / size[0], (SIZE - 0.75) / size[1]))
        _panel(axes, name, truth.looks, first=column == 0)
    handles, labels = figure.axes[first].get_legend_handles_labels()
    place: Any = {"loc": "lower left", "bbox_to_anchor": (0.5 / size[0], 0.05 / size[1]), "ncols": len(labels)}
    figure.legend(handles, labels, frameon=False, fontsize=7.5, **place)


def _panel(axes: Any, name: str, looks: tuple[Look, ...], *, first: bool) -> None:
    axes.plot([0, 1], [0, 1], color=QUIET, linewidth=0.8, zorder=1)
    for look, colour in zip(looks, COLOURS, strict=False):
        _points(axes, look.calibration.of(name, "belief"), colour, look.observer)
    axes.set_title(name, fontsize=8.5)
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(-0.03, 1.03)
    ticks = [0, 0.25, 0.5, 0.75, 1]
    axes.set_xticks(ticks, [f"{100 * tick:.0f} %" for tick in ticks], fontsize=7)
    axes.set_yticks(ticks, [f"{100 * tick:.0f} %" for tick in ticks] if first else [], fontsize=7)
    axes.set_xlabel("believed", fontsize=7.5)
    if first:
        axes.set_ylabel("was so", fontsize=7.5)


def _points(axes: Any, cells: list[Cell], colour: str, label: str) -> None:
    axes.plot([], [], "o", color=colour, label=label)  # a legend also where there are no points
    for cell in cells:
        own = RED if cell.off else colour
        axes.plot([cell.said, cell.said], [cell.low, cell.high], color=own, linewidth=1.0, alpha=0.6, zorder=2)
        axes.plot(cell.said, cell.was, "o", color=own, markersize=3.5 if not cell.off else 4.5, zorder=3)
