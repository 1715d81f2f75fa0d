"""A comparison as a picture: how much each mechanism shows, and how much that tells."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError
from discreet.files import written_whole
from discreet.policy import Policy

if TYPE_CHECKING:
    import polars as pl

BLUE, RED, GREY, INK = "#0072B2", "#D55E00", "#8f8f8f", "#222222"
"""Of the palette of Okabe and Ito."""


def draw(frame: pl.DataFrame, policy: Policy, path: Path) -> None:
    """Write the table of `compare` as PNG: utility on the left, gains on the days and of the audit on the right."""
    if importlib.util.find_spec("matplotlib") is None:
        raise DiscreetError("a picture needs matplotlib; install discreet with its extra, discreet[plots]")
    from matplotlib.figure import Figure

    rows = frame.to_dicts()
    figure = Figure(figsize=(9, 1.5 + 0.42 * len(rows)), dpi=144, layout="constrained")
    shown, told = figure.subplots(1, 2, sharey=True)
    for place, row in enumerate(rows):
        if row["why"] is not None:
            shown.text(0.01, place, "cannot run here", va="center", fontsize=8, color=GREY)
            continue
        breached = row["breached_days"] > 0
        shown.barh(place, row["utility"], color=RED if breached else BLUE, height=0.62)
        told.barh(place, row["worst_gain"], color=RED if breached else BLUE, height=0.62)
        told.plot([row["found"], row["bound"]], [place, place], color=INK, linewidth=1.2)
        told.plot(row["found"], place, "|", color=INK, markersize=13, markeredgewidth=2)
    shown.set_yticks(range(len(rows)), [row["mechanism"] for row in rows])
    shown.invert_yaxis()
    shown.set_xlabel("utility: the worth of a slot, 1 where it is shown as it was")
    told.set_xlabel("worst gain of belief: bar, on the days; line, the audit's (found to bound)")
    deltas = sorted({policy.delta_of(secret) for secret in policy.secrets})
    for delta in deltas:
        told.axvline(delta, color=GREY, linestyle=(0, (4, 2)), linewidth=1)
    told.set_title("delta " + ", ".join(f"{delta:g}" for delta in deltas), fontsize=8, color=GREY, loc="left")
    for colour, words in ((BLUE, "no secret was breached on these days"), (RED, "some secret was")):
        shown.plot([], [], "s", color=colour, label=words)
    figure.legend(loc="outside upper left", ncols=2, fontsize=8, frameon=False)
    for axes in (shown, told):
        _plain(axes)
    with written_whole(path) as file:
        figure.savefig(file, format="png", metadata={"Software": None})  # the same bytes for the same figures


def _plain(axes: Any) -> None:
    axes.set_xlim(0, 1)
    axes.xaxis.label.set_fontsize(7.5)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
