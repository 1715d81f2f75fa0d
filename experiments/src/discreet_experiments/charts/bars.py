"""Bars: what became of slots, attributes or events, as shares of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.charts.canvas import BLUE, GREY, INK, LILAC, PALE, PURPLE, RED, SKY, axes_in, figure_at


@dataclass(frozen=True)
class Bar:
    """A system's shares of the slots, by the names in `FATES`, `LAYERS` or `PUBLISHED`; what is left out is zero."""

    label: str
    parts: Mapping[str, float]


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
