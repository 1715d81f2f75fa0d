"""What charts and maps are drawn on: the palette, the style, and a figure that is written whole.

matplotlib is imported when something is drawn; `available` says whether it can be.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.files import picture_format, written_picture

INK, QUIET, GRID = "#222222", "#6b6b6b", "#e3e3e3"
BLUE, SKY, ORANGE, GREEN, RED, GREY, PALE = "#0072B2", "#56B4E9", "#D98200", "#009E73", "#D55E00", "#8f8f8f", "#d6d6d6"
PURPLE, LILAC, PINK, BROWN, NAVY, VIOLET = "#A5538A", "#E8C3DA", "#CC79A7", "#7A4B1E", "#12355B", "#7B61C9"
"""The palette of Okabe and Ito, the orange darkened so that it can be read as text."""

DASHED = (0, (4, 2))
"""A line's dashes and gaps, in its own widths."""

STYLE: Any = {  # matplotlib types the keys one by one
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
    "figure.dpi": 144,
}


def available() -> bool:
    """Whether charts can be drawn here."""
    return importlib.util.find_spec("matplotlib") is not None


def axes_in(figure: Any, *, left: float, right: float, bottom: float = 0.5, top: float = 0.75) -> Any:
    """Axes with these margins, in inches."""
    width, height = figure.get_size_inches()
    return figure.add_axes((left / width, bottom / height, 1 - (left + right) / width, 1 - (bottom + top) / height))


@contextmanager
def figure_at(title: str, note: str, path: Path, size: tuple[float, float]) -> Iterator[Any]:
    """A figure with its title and what it was measured on, written when the block ends."""
    import matplotlib
    from matplotlib.figure import Figure

    picture_format(path)  # a name that cannot be is told before the work
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size)
        left, inch = 0.1 / size[0], 1 / size[1]
        figure.text(left, 1 - 0.1 * inch, title, va="top", fontsize=11, fontweight="bold")
        figure.text(left, 1 - 0.34 * inch, note, va="top", fontsize=7.5, color=QUIET)
        yield figure
        written_picture(figure, path)
