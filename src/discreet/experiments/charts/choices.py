"""What each choice of delta and vocabulary shows: a line a vocabulary, with intervals."""

from __future__ import annotations

from pathlib import Path

from discreet.choosing.choices import Choice, Choices
from discreet.experiments.charts.canvas import BLUE, GREEN, ORANGE, axes_in, figure_at

COLOURS = {"suppress": BLUE, "deceive": ORANGE, "generalize": GREEN}
MARKS = {"suppress": "o", "deceive": "s", "generalize": "^"}

SIZE = (6.4, 4.0)

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
            axes.annotate(
                vocabulary,
                (x[-1], y[-1]),
                (9, 0),
                textcoords="offset points",
                va="center",
                color=COLOURS[vocabulary],
                fontweight="bold",
            )
        axes.set_xticks(range(len(deltas)), [f"{delta:g}" for delta in deltas])
        axes.set_xlabel("delta: how much belief anybody may gain in a secret")
        axes.set_ylabel("shown as it was, of the time")
        axes.set_ylim(0, 103)
        axes.set_yticks(range(0, 101, 20), [f"{tick} %" for tick in range(0, 101, 20)])
        axes.grid(axis="x", visible=False)


def _widths(own: list[Choice]) -> list[float]:
    return [100 * one.utility.half_width for one in own]
