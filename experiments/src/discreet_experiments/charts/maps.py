"""Pictures in the plane of a query's answers: policy graphs, hulls, and a way through cells with what was released."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.charts.canvas import BLUE, GREY, INK, ORANGE, PALE, RED, SKY, axes_in, figure_at


def policy_graph(
    title: str,
    note: str,
    answers: Sequence[Sequence[float]],
    edges: Sequence[tuple[int, int]],
    path: Path,
    *,
    added: Sequence[tuple[int, int]] = (),
    possible: Sequence[int] | None = None,
    hulls: Mapping[int, Sequence[Sequence[float]]] | None = None,
    labels: Sequence[str] | None = None,
) -> None:
    """A policy graph in the plane of the query's answers: edges, those that protection added, and hulls around
    contexts.

    `hulls` maps a context to the corners of the hull around the origin, drawn around its answer. Contexts that are not
    `possible` are pale.
    """
    from matplotlib.patches import Polygon

    inside = set(range(len(answers)) if possible is None else possible)
    with figure_at(title, note, path, (5.6, 5.2)) as figure:
        axes = axes_in(figure, left=0.55, right=0.25, bottom=0.45)
        for context, corners in (hulls or {}).items():
            x, y = answers[context]
            around = _around([(x + float(corner[0]), y + float(corner[1])) for corner in corners])
            axes.add_patch(Polygon(around, closed=True, facecolor=SKY, edgecolor=BLUE, alpha=0.25, zorder=1))
            axes.plot(*zip(*around, strict=True), alpha=0.0)  # so that the axes reach as far
        for pairs, colour, style in ((edges, GREY, "-"), (added, RED, (0, (3, 2)))):
            for i, j in pairs:
                ends = [answers[i][0], answers[j][0]], [answers[i][1], answers[j][1]]
                axes.plot(*ends, color=colour, linestyle=style, linewidth=1.2, zorder=2)
        for context, (x, y) in enumerate(answers):
            axes.plot(x, y, "o", color=INK if context in inside else PALE, zorder=3)
            if labels is not None:
                axes.annotate(labels[context], (x, y), xytext=(4, 4), textcoords="offset points", fontsize=8)
        axes.set_aspect("equal", adjustable="datalim")


def _around(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Corners of a convex polygon in their order around it."""
    x, y = (sum(values) / len(points) for values in zip(*points, strict=True))
    return sorted(points, key=lambda point: math.atan2(point[1] - y, point[0] - x))


def trajectory(
    title: str,
    note: str,
    cells: Sequence[Sequence[tuple[float, float]]],
    truth: Sequence[tuple[float, float]],
    released: Sequence[tuple[float, float]],
    hulls: Mapping[int, Sequence[Sequence[float]]],
    path: Path,
) -> None:
    """Cells of a map, a way through them, the points that were released, and hulls around some of its answers."""
    from matplotlib.collections import LineCollection, PolyCollection
    from matplotlib.patches import Polygon

    with figure_at(title, note, path, (6.6, 6.9)) as figure:
        axes = axes_in(figure, left=0.65, right=0.25, bottom=0.5, top=0.85)
        axes.add_collection(PolyCollection(cells, facecolor="#f3f3f3", edgecolor="white", linewidth=0.4, zorder=0))
        for slot, corners in hulls.items():
            x, y = truth[slot]
            around = _around([(x + float(corner[0]), y + float(corner[1])) for corner in corners])
            axes.add_patch(Polygon(around, closed=True, facecolor=SKY, edgecolor=BLUE, alpha=0.16, zorder=1))
        pairs = list(zip(truth, released, strict=True))
        axes.add_collection(LineCollection(pairs, colors=ORANGE, linewidths=0.6, alpha=0.45, zorder=2))
        axes.plot(
            *zip(*truth, strict=True), color=INK, marker="o", markersize=3, linewidth=1.4, zorder=4, label="true cells"
        )
        dots: Any = {"linestyle": "", "marker": "x", "markersize": 4.5, "markeredgewidth": 1.1}
        axes.plot(*zip(*released, strict=True), color=ORANGE, zorder=3, label="released points", **dots)
        axes.plot([], [], color=BLUE, linewidth=6, alpha=0.3, label="sensitivity hull around some of them")
        places = [*truth, *released]
        spans = [(min(place[axis] for place in places), max(place[axis] for place in places)) for axis in (0, 1)]
        half = 0.55 * max(high - low for low, high in spans) + 0.5  # one scale for both directions
        axes.set_xlim(sum(spans[0]) / 2 - half, sum(spans[0]) / 2 + half)
        axes.set_ylim(sum(spans[1]) / 2 - half, sum(spans[1]) / 2 + half)
        axes.set_aspect("equal")
        axes.grid(visible=False)
        axes.set_xlabel("kilometres east")
        axes.set_ylabel("kilometres north")
        place_of: Any = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": 3, "borderaxespad": 0.3}
        axes.legend(frameon=False, fontsize=8, columnspacing=1.4, handletextpad=0.5, **place_of)
