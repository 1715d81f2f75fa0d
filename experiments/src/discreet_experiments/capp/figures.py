"""CAPP's figures from what was computed for each person, with what the exact adversary learns beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from discreet_experiments.capp.person import SYSTEMS
from discreet_experiments.charts import bars as bar_charts
from discreet_experiments.charts import lines
from discreet_experiments.shared.compared import UP, Comparison, breaches, each_person, swept, utility
from discreet_experiments.shared.figures import FAKED, SHOWN, Figure, bar, shares
from discreet_experiments.shared.sheets import Cell, Sheet, mean
from discreet_experiments.shared.subjects import Setting
from discreet_experiments.shared.systems import PROVEN, label

PAPER: dict[str, str] = {
    "mask-sensitive": "1",
    "hybrid": "> 0.8",
    "efficient-fake": "~ 1.2",
    "capp": "~ 1.2",
}
"""Utility as a multiple of MaskSensitive's, from the paper's text: its bars are lost."""


def privacy_breaches(which: str, secret: str, people: Sequence[Comparison], setting: Setting) -> Figure:
    """Figures 2 and 3: what became of the slots, and what is breached."""
    title = f"Figure {which}: privacy breaches, {secret} as sensitive"
    rows, bars = [], []
    masked = utility(people, "mask-sensitive")
    for name in SYSTEMS:
        found = [shares(one.systems[name].learned) for one in people]
        at = {key: mean([share[key] for share in found]) for key in found[0]}
        row: dict[str, Cell] = {"system": label(name), "smoothing": setting.smoothing}
        row["utility"] = utility(people, name)
        row["of MaskSensitive's"] = utility(people, name) / masked if masked else None
        row["paper"] = PAPER.get(name)
        row.update({key: at[key] for key in (*SHOWN, *FAKED, "breached")})
        row.update(breaches(people, name))
        row["expected"] = mean([one.systems[name].expected for one in people])
        rows.append(row)
        bars.append(bar(label(name), at))
    note = f"{len(people)} people, {setting.described()}"
    remarks = (
        "shares of the held-out slots, means over people; breached: secret slots whose posterior, given the day's "
        "whole output, is over prior + delta",
        "people breached: the share of people with a (slot, secret) pair, true or not, over delta after some prefix "
        "of a held-out day; pairs over: those pairs, all people together; expected: utility by the model",
    )
    chart = partial(bar_charts.bars, title, note, tuple(bars))
    return Figure(f"figure{which}", title, note, Sheet.of(rows), each_person(people, setting), remarks, chart)


def tradeoff(which: str, secret: str, points: Mapping[float, Sequence[Comparison]], setting: Setting) -> Figure:
    """Figures 4 and 5: what is released and who is breached, over delta."""
    deltas = tuple(points)
    title = f"Figure {which}: privacy and utility, {secret} as sensitive"
    count = len(next(iter(points.values())))
    note = f"{count} people, {replace(setting, delta=0).described().removesuffix(', delta 0')}"
    curves = swept(points, SYSTEMS)
    panels = tuple(
        lines.Panel(caption, "delta", deltas, curves[measure], up)
        for caption, measure, up in zip(("what is released", "who is breached"), curves, UP, strict=True)
    )
    rows: list[dict[str, Cell]] = [
        {
            "measure": measure,
            "smoothing": setting.smoothing,
            "delta": delta,
            **{look.label: ys[k] for look, ys in drawn.items()},
        }
        for measure, drawn in curves.items()
        for k, delta in enumerate(deltas)
    ]
    each = Sheet.joined([each_person(people, replace(setting, delta=delta)) for delta, people in points.items()])
    chart = partial(lines.grid, title, note, (panels,), legend=PROVEN)
    return Figure(f"figure{which}", title, note, Sheet.of(rows), each, (), chart)
