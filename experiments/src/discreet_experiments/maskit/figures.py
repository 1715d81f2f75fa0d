"""MaskIt's figures from what was computed for each person: tables, and the chart that shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from discreet_experiments.charts import bars as bar_charts
from discreet_experiments.charts import lines, marks
from discreet_experiments.maskit.person import CHECKS, SINGLE, SYSTEMS, Compared, Swept
from discreet_experiments.shared.figures import SHOWN, Figure, bar, shares
from discreet_experiments.shared.sheets import Cell, Sheet, mean
from discreet_experiments.shared.subjects import Setting
from discreet_experiments.shared.systems import label, system

PAPER_UTILITY: dict[str, str] = {
    "mask-sensitive": "0.764",
    "simulatable": "> 0.665",
    "probabilistic": "> 0.527",
    "hybrid": "0.758",
}
"""Section 7.2. The two checks are given as losing less than 13 % and 31 % of MaskSensitive's utility."""

PAPER_BREACHED = {"mask-sensitive": 0.54}
"""Share of the suppressed secret slots that are breached; MaskIt's own checks breach none."""

PAPER_TIMES: dict[str, tuple[str, float | None, str, float]] = {
    "simulatable": ("-", None, "36 ms", 0.036),
    "probabilistic": ("15 min", 900.0, "< 1 ms", 0.001),
    "hybrid": ("18 min", 1080.0, "<= 36 ms", 0.036),
}
"""Table 1, on a PC (Xeon 2.33 GHz): initialisation and decision, as printed and in seconds."""


_PARTS = (*SHOWN, "breached")


def figure4(people: Sequence[Compared], setting: Setting) -> Figure:
    """Slots released and suppressed, secret or not, and breaches."""
    rows, bars = [], []
    for name in SYSTEMS:
        found = [shares(one.systems[name].learned) for one in people]
        at = {key: mean([share[key] for share in found]) for key in found[0]}
        told = [share["breached silent"] / share["secret silent"] for share in found if share["secret silent"] > 0]
        row: dict[str, Cell] = {"system": label(name), "smoothing": setting.smoothing}
        row["utility"] = at["secret shown"] + at["other shown"]
        row["paper"] = PAPER_UTILITY.get(name)
        row.update({key: at[key] for key in _PARTS})
        row["of silent"] = mean(told) if told and name != "no-mask" else None
        row["paper's"] = PAPER_BREACHED.get(name, 0.0 if name in (*CHECKS, *SINGLE) else None)
        row["pairs over"] = sum(one.systems[name].learned.pairs for one in people)
        row["expected"] = mean([one.systems[name].expected for one in people])
        rows.append(row)
        bars.append(bar(label(name), at))
    summary = Sheet.of(rows)
    title = "Figure 4: what is released and suppressed"
    remarks = (
        "shares of the held-out slots, means over people; breached: secret slots whose posterior, given the day's "
        "whole output, is over prior + delta; of silent: as a share of the silent secret slots",
        "what NoMask leaves silent is what the model holds impossible: no session releases that",
        "pairs over: (slot, secret) pairs, true or not, over delta after some prefix of a day, all people together",
    )
    note = _note(len(people), setting)
    chart = partial(bar_charts.bars, title, note, tuple(bars))
    return Figure("figure4", title, note, summary, _compared(people), remarks, chart)


def _compared(people: Sequence[Compared]) -> Sheet:
    rows: list[dict[str, Cell]] = []
    for one in people:
        for name in SYSTEMS:
            judged = one.systems[name]
            rows.append(
                {
                    "person": one.number,
                    "contexts": one.contexts,
                    "trained days": one.trained_days,
                    "held-out steps impossible": one.impossible,
                    "system": label(name),
                    **{key: share for key, share in shares(judged.learned).items() if "faked" not in key},
                    **judged.columns(),
                }
            )
    return Sheet.of(rows)


def figure5(people: Sequence[Compared], setting: Setting) -> Figure:
    """Both checks for every person, in the order of the probabilistic check's utility."""
    ranked = sorted(people, key=lambda one: (_measured(one, "probabilistic"), _measured(one, "simulatable")))
    points = Sheet.of(
        [
            {
                "rank": rank,
                "person": one.number,
                "smoothing": setting.smoothing,
                **{name: _measured(one, name) for name in SINGLE},
                **{f"{name} expected": one.systems[name].expected for name in SINGLE},
                "chosen": one.chosen,
            }
            for rank, one in enumerate(ranked, 1)
        ]
    )
    leads = [_measured(one, "simulatable") - _measured(one, "probabilistic") for one in people]
    right = [lead == 0 or (lead > 0) == (one.chosen == "simulatable") for one, lead in zip(people, leads, strict=True)]
    searched = [one.systems["algpr"].expected - one.systems["probabilistic"].expected for one in people]
    shares: list[tuple[str, float, Cell]] = [
        ("simulatable releases more", mean([lead > 0 for lead in leads]), 0.45),
        ("probabilistic releases more", mean([lead < 0 for lead in leads]), 0.55),
        ("they release the same", mean([lead == 0 for lead in leads]), None),
        ("hybrid chose one that releases no less", mean(right), 0.95),
        ("ALGPR expects more than the search used", mean([lead > 0 for lead in searched]), None),
        ("ALGPR expects less", mean([lead < 0 for lead in searched]), None),
    ]
    rows: list[dict[str, Cell]] = [
        {"people for whom": what, "smoothing": setting.smoothing, "share": share, "paper": paper}
        for what, share, paper in shares
    ]
    title = "Figure 5: both checks for every person"
    series = {system(name).look: tuple(_measured(one, name) for one in ranked) for name in SINGLE}
    across = "people, by what the probabilistic check releases"
    note = _note(len(people), setting)
    chart = partial(lines.ranked, title, note, series, across=across)
    return Figure("figure5", title, note, Sheet.of(rows), points, (), chart)


def _measured(one: Compared, name: str) -> float:
    return one.systems[name].learned.shown.utility


def table1(people: Sequence[Compared], setting: Setting) -> Figure:
    """Times, the paper's beside ours."""
    rows: list[dict[str, Cell]] = []
    chart = []
    for name in CHECKS:
        initialise = [one.systems[name].initialise for one in people]
        decisions = [one.systems[name].learned.decisions for one in people]
        released = mean([each.released for each in decisions if each.released is not None])
        suppressed = mean([each.suppressed for each in decisions if each.suppressed is not None])
        started, started_seconds, decided, decided_seconds = PAPER_TIMES[name]
        rows.append(
            {
                "check": label(name),
                "smoothing": setting.smoothing,
                "initialise (ms)": 1e3 * mean(initialise),
                "slowest (ms)": 1e3 * max(initialise, default=float("nan")),
                "paper": started,
                "decide: release (us)": 1e6 * released,
                "decide: suppress (us)": 1e6 * suppressed,
                "paper's PC": decided,
            }
        )
        chart.append(marks.Timing(f"{label(name)}: initialise", mean(initialise), started_seconds))
        chart.append(marks.Timing(f"{label(name)}: decide", max(released, suppressed), decided_seconds))
    each = [
        {
            "person": one.number,
            "check": label(name),
            "initialise (s)": one.systems[name].initialise,
            "release (s)": one.systems[name].learned.decisions.released,
            "suppress (s)": one.systems[name].learned.decisions.suppressed,
        }
        for one in people
        for name in CHECKS
    ]
    title = "Table 1: times"
    remarks = ("means over people; a decision is Session.release, with the observer's belief in every secret and slot",)
    note = _note(len(people), setting)
    draw = partial(marks.timings, title, note, tuple(chart))
    return Figure("table1", title, note, Sheet.of(rows), Sheet.of(each), remarks, draw)


@dataclass(frozen=True)
class Curve:
    """A sweep of everybody: one panel of a figure."""

    title: str
    setting: Setting
    people: Sequence[Swept]


def curves(figure: str, title: str, across: str, panels: Sequence[Curve], remarks: tuple[str, ...] = ()) -> Figure:
    """Figures 6, 7 and 8: utility along an axis, a panel for each way to choose."""
    rows: list[dict[str, Cell]] = []
    drawn_panels = []
    for panel in panels:
        points = _points(panel.people)
        means = {
            x: {name: mean([one.points[x].measured[name] for one in panel.people]) for name in names}
            for x, names in points.items()
        }
        for x, names in points.items():
            row: dict[str, Cell] = {"secret": panel.title, "smoothing": panel.setting.smoothing, across: _plain(x)}
            row["people"] = len(panel.people)
            row.update({label(name): means[x][name] for name in names})
            expected = [one.points[x].expected["hybrid"] for one in panel.people]
            rows.append({**row, "Hybrid expected": mean(expected)})
        drawn_panels.append(_panel(panel, across, means))
    note = "; ".join(dict.fromkeys(_note(len(panel.people), panel.setting, secrets=False) for panel in panels))
    chart = partial(
        lines.curves, title, note, tuple(drawn_panels), under=label("hybrid"), dashed=label("mask-sensitive")
    )
    return Figure(figure, title, note, Sheet.of(rows), _each(panels, across), remarks, chart)


def _plain(x: float) -> Cell:
    return int(x) if x.is_integer() else x


def _points(people: Sequence[Swept]) -> dict[float, list[str]]:
    """The places on the axis, and the systems there."""
    return {x: list(found.measured) for x, found in people[0].points.items()} if people else {}


def _panel(panel: Curve, across: str, means: dict[float, dict[str, float]]) -> lines.Panel:
    xs = tuple(means)
    names = list(next(iter(means.values()), {}))
    series = {system(name).look: tuple(means[x][name] for x in xs) for name in names}
    return lines.Panel(f"{panel.title} ({len(panel.people)} people)", across, xs, series)


def _each(panels: Sequence[Curve], across: str) -> Sheet:
    rows: list[dict[str, Cell]] = [
        {
            "secret": panel.title,
            "person": one.number,
            "contexts": one.contexts,
            "hidden": one.hidden,
            "held-out steps impossible": one.impossible,
            across: _plain(x),
            "system": label(name),
            "utility": found.measured[name],
            "expected": found.expected[name],
        }
        for panel in panels
        for one in panel.people
        for x, found in one.points.items()
        for name in found.measured
    ]
    return Sheet.of(rows)


def _note(people: int, setting: Setting, *, secrets: bool = True) -> str:
    return f"{people} people, " + setting.described(secrets=secrets)
