"""What each choice of delta and vocabulary shows: a line a vocabulary, with intervals."""

from __future__ import annotations

from pathlib import Path

from discreet.charts.canvas import BLUE, GREEN, ORANGE, axes_in, figure_at
from discreet.choosing.choices import Choice, Choices

COLOURS = {"suppress": BLUE, "deceive": ORANGE, "generalize": GREEN}
MARKS = {"suppress": "o", "deceive": "s", "generalize": "^"}

SIZE = (6.4, 4.0)

LINE = 5.5
"""The height of a line of text, in percent of the chart."""

APART = 0.06
"""How far intervals of one delta stand apart, in steps from one delta to the next."""


def chart(found: Choices, title: str, path: Path) -> None:
    """Delta across, on equal steps, and upwards the mean worth of a slot, with 95 % intervals."""
    note = f"{found.weeks} weeks drawn from the routine, the same for every choice; bars: 95 % intervals"
    with figure_at(title, note, path, SIZE) as figure:
        axes = axes_in(figure, left=0.75, right=1.25, bottom=0.6)
        deltas, several = found.deltas, len(found.vocabularies)
        for number, vocabulary in enumerate(found.vocabularies):
            own = [found.of(delta, vocabulary) for delta in deltas]
            x = [k + APART * (number - (several - 1) / 2) for k in range(len(own))]
            y = [100 * one.utility.mean for one in own]
            spread = [
                [y_ - max(0.0, y_ - w) for y_, w in zip(y, _widths(own), strict=True)],
                [min(100.0, y_ + w) - y_ for y_, w in zip(y, _widths(own), strict=True)],
            ]
            look = {"color": COLOURS[vocabulary], "marker": MARKS[vocabulary]}
            axes.errorbar(x, y, yerr=spread, capsize=2.5, elinewidth=1.0, **look)
        ends = {name: 100 * found.of(deltas[-1], name).utility.mean for name in found.vocabularies}
        for name, height in _apart(ends).items():
            where = (len(deltas) - 1 + 0.15, height)
            axes.annotate(name, where, va="center", color=COLOURS[name], fontweight="bold", annotation_clip=False)
        axes.set_xticks(range(len(deltas)), [f"{delta:g}" for delta in deltas])
        axes.set_xlabel("delta: how much belief anybody may gain in a secret")
        half = " (wider: half)" if "generalize" in found.vocabularies else ""
        axes.set_ylabel(f"shown as it was, of the time{half}")
        axes.set_xlim(-0.25, len(deltas) - 1 + 0.25)
        axes.set_ylim(0, 103)
        axes.set_yticks(range(0, 101, 20), [f"{tick} %" for tick in range(0, 101, 20)])
        axes.grid(axis="x", visible=False)


def _apart(heights: dict[str, float]) -> dict[str, float]:
    """Where names stand: at the height of what they name, or above it where another would be written over."""
    found: dict[str, float] = {}
    for name in sorted(heights, key=lambda name: heights[name]):
        found[name] = max([heights[name], *(below + LINE for below in found.values())])
    return found


def _widths(own: list[Choice]) -> list[float]:
    return [100 * one.utility.half_width for one in own]
