"""FDH's table and figures from what was computed for each person, and the chart that shows each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from discreet_experiments.charts import bars as bar_charts
from discreet_experiments.charts import lines, marks
from discreet_experiments.fdh.person import SYSTEMS, LayeredSweep, Outcome, Timed
from discreet_experiments.shared.figures import Figure
from discreet_experiments.shared.sheets import Cell, Sheet, mean
from discreet_experiments.shared.subjects import Setting
from discreet_experiments.shared.systems import PROVEN, label, system

PAPER_TIMES: dict[str, tuple[str, float, str, float]] = {
    "hybrid": ("8 min", 480.0, "<= 30 ms", 0.030),
    "fdh": ("12 min", 720.0, "<= 45 ms", 0.045),
}
"""Table I, on a PC (2.4 GHz): training and release, as printed and in seconds."""

PAPER_OF_WITHHELD = "0.106 to 0.426"
"""Figure 4: the least and the most that is released as an ancestor, of what is suppressed at the lowest layer."""

PAPER_MEMORY = "at most 75 MB"
"""Figure 5, on a phone."""

TIMED = ("hybrid", "fdh", "generalize")
LAYERED = ("fdh", "generalize")


@dataclass(frozen=True)
class Group:
    """Everybody of a data set with one choice of secrets: a curve of a figure."""

    data: str
    secret: str
    setting: Setting
    levels: tuple[str, ...]
    people: Sequence[LayeredSweep]

    @property
    def deltas(self) -> tuple[float, ...]:
        """Where the curve has points."""
        return tuple(self.people[0].points) if self.people else ()

    def outcomes(self, delta: float, name: str) -> list[Outcome]:
        """Everybody's at one point."""
        return [one.points[delta].systems[name] for one in self.people]

    def mean(self, delta: float, name: str, of: Callable[[Outcome], float | None]) -> float:
        """The mean over people of something; those who have none of it are left out."""
        return mean([value for each in self.outcomes(delta, name) if (value := of(each)) is not None])

    def of_withheld(self, delta: float, name: str) -> float:
        """As an ancestor, of all that is withheld: everybody's slots together, for some withhold almost nothing."""
        withheld = self.mean(delta, name, lambda each: each.withheld)
        shown = self.mean(delta, name, lambda each: each.as_ancestor)
        return shown / withheld if withheld > 1e-12 else float("nan")

    def utility(self, delta: float, name: str) -> float:
        """Everybody's, on average."""
        return self.mean(delta, name, lambda each: each.utility)

    def breached(self, delta: float, name: str) -> float:
        """The share of people with a gain above delta on some held-out day."""
        return mean([float(each.breached_days > 0) for each in self.outcomes(delta, name)])

    def worst(self, delta: float, name: str) -> float:
        """The largest gain of anybody."""
        return max((each.worst_gain for each in self.outcomes(delta, name)), default=float("nan"))


def figure4(groups: Sequence[Group]) -> Figure:
    """How much of what is withheld is shown as an ancestor, for more and fewer secrets."""
    rows: list[dict[str, Cell]] = []
    for group in groups:
        for delta in group.deltas:
            row: dict[str, Cell] = {"data": group.data, "secrets": group.secret, "smoothing": group.setting.smoothing}
            row["delta"] = delta
            for name in LAYERED:
                row[label(name)] = group.of_withheld(delta, name)
            row["paper's FDH"] = PAPER_OF_WITHHELD
            for name in ("hybrid", *LAYERED):
                row[f"utility {label(name)}"] = group.utility(delta, name)
            for name in LAYERED:
                row[f"breached {label(name)}"] = group.breached(delta, name)
            row["worst FDH"] = group.worst(delta, "fdh")
            rows.append(row)
    panels = [
        [_panel(group, "as an ancestor, of withheld", LAYERED, group.of_withheld) for group in row]
        for row in _by_data(groups)
    ]
    title = "Figure 4: shown as an ancestor, of what is withheld"
    remarks = (
        "FDH and Adaptive generalize: of the slots that the model has a place for and that are not shown themselves, "
        "the share that is shown as an ancestor below the root; everybody's slots together",
        "utility: 1 for the context, 0.5 one layer up, 0 above; breached: share of people with a gain above delta on a "
        "held-out day, and the worst gain of anybody",
    )
    return Figure(
        "figure4", title, _note(groups), Sheet.of(rows), people_of(groups), remarks, _grid(title, groups, panels)
    )


def figure5(groups: Sequence[Group]) -> Figure:
    """What FDH's checks hold in memory."""
    rows: list[dict[str, Cell]] = []
    for group in groups:
        for delta in group.deltas:
            row: dict[str, Cell] = {"data": group.data, "secrets": group.secret, "smoothing": group.setting.smoothing}
            row["delta"] = delta
            for name in ("hybrid", "fdh"):
                row[f"{label(name)} (MB)"] = mean([_megabytes(one, delta, name) for one in group.people])
            row["largest FDH (MB)"] = max((_megabytes(one, delta, "fdh") for one in group.people), default=None)
            row["paper's FDH"] = PAPER_MEMORY
            rows.append(row)
    panels = []
    for beside in _by_data(groups):
        series = {
            look: tuple(mean([_megabytes(one, delta, "fdh") for one in group.people]) for delta in group.deltas)
            for look, group in zip(lines.in_turn([group.secret for group in beside]), beside, strict=True)
        }
        panels.append(lines.Panel(beside[0].data, "delta", beside[0].deltas, series, "MB held by FDH"))
    title = "Figure 5: memory"
    remarks = (
        "what the checks hold after they were built and have released the days: chains, vectors, tables and kernels; "
        "the paper measures a phone's whole process",
    )
    chart = partial(lines.amounts, title, _note(groups), tuple(panels))
    return Figure("figure5", title, _note(groups), Sheet.of(rows), _memory_of(groups), remarks, chart)


def figure6(groups: Sequence[Group]) -> Figure:
    """Utility and delta with home as the secret, with and without the hierarchy; and who is breached."""
    rows: list[dict[str, Cell]] = []
    for group in groups:
        for delta in group.deltas:
            row: dict[str, Cell] = {"data": group.data, "smoothing": group.setting.smoothing, "delta": delta}
            row.update({label(name): group.utility(delta, name) for name in SYSTEMS})
            row.update({f"breached {label(name)}": group.breached(delta, name) for name in SYSTEMS})
            rows.append({**row, "worst FDH": group.worst(delta, "fdh")})
    above = [_panel(group, "utility", SYSTEMS, group.utility) for group in groups]
    below = [_panel(group, "people breached", SYSTEMS, group.breached) for group in groups]
    title = "Figure 6: utility and delta, home is the secret"
    remarks = (
        "utility: 1 for the context, 0.5 one layer up, 0 above; means over people",
        "breached: share of people with a gain above delta on a held-out day; worst FDH: the largest gain of anybody",
    )
    chart = _grid(title, groups, [above, below])
    return Figure("figure6", title, _note(groups), Sheet.of(rows), people_of(groups), remarks, chart)


def layers(groups: Sequence[Group], delta: float, secrets: Sequence[str]) -> Figure:
    """Which layer is shown, at one delta; the chart is of these choices of secrets alone."""
    deepest = max((len(group.levels) for group in groups), default=0)
    rows: list[dict[str, Cell]] = []
    bars = []
    for group in groups:
        for name in SYSTEMS:
            parts = _parts(group, delta, name)
            row: dict[str, Cell] = {"data": group.data, "secrets": group.secret, "system": label(name)}
            row["smoothing"] = group.setting.smoothing
            row["utility"] = group.utility(delta, name)
            row["of readings"] = group.mean(delta, name, lambda each: each.of_readings)
            row.update(zip(_columns(deepest), _filled(parts, deepest), strict=True))
            outcomes = group.outcomes(delta, name)
            row["breached"] = group.breached(delta, name)
            row["days breached"] = sum(each.breached_days for each in outcomes)
            row["pairs over"] = sum(each.pairs for each in outcomes)
            row["worst gain"] = group.worst(delta, name)
            rows.append(row)
            named = dict(zip(_columns(len(group.levels)), parts, strict=True))
            if group.secret in secrets:
                bars.append(bar_charts.Bar(f"{group.data}, {group.secret}: {label(name)}", named))
    title = f"Layers shown at delta {delta:g}"
    remarks = (
        "shares of the slots, means over people; off model: silent because the model holds the reading impossible; of "
        "readings: utility over the slots that have one",
        "breached: share of people with a gain above delta on a held-out day; pairs over: (slot, secret) pairs over "
        "delta after some prefix of a day, all people together",
    )
    chart = partial(bar_charts.bars, title, _note(groups), tuple(bars), fates=bar_charts.LAYERS)
    return Figure("layers", title, _note(groups), Sheet.of(rows), people_of(groups), remarks, chart)


def _columns(levels: int) -> list[str]:
    return ["itself", *(f"{k} up" for k in range(1, levels)), "root", "silent", "off model"]


def _parts(group: Group, delta: float, name: str) -> list[float]:
    """Mean shares of the layers, the root, chosen silence and silence outside the model: together 1."""
    outcomes = group.outcomes(delta, name)
    layered = [mean([each.layers[k] for each in outcomes]) for k in range(len(group.levels) + 1)]
    off = mean([each.off_model for each in outcomes])
    return [*layered, mean([each.silent for each in outcomes]) - off, off]


def table1(timed: Sequence[tuple[str, Setting, Sequence[Timed]]]) -> Figure:
    """Times with and without the hierarchy, the paper's beside ours."""
    rows: list[dict[str, Cell]] = []
    chart: list[marks.Timing] = []
    each: list[dict[str, Cell]] = []
    for data, setting, people in timed:
        for name in TIMED:
            training = [one.training[name] for one in people]
            decision = [one.decision[name] for one in people]
            trained, trained_seconds, released, released_seconds = PAPER_TIMES.get(name, ("-", None, "-", None))
            rows.append(
                {
                    "data": data,
                    "system": label(name),
                    "smoothing": setting.smoothing,
                    "people": len(people),
                    "training (ms)": 1e3 * mean(training),
                    "slowest (ms)": 1e3 * max(training, default=float("nan")),
                    "paper": trained,
                    "release (ms)": 1e3 * mean(decision),
                    "slowest person's (ms)": 1e3 * max(decision, default=float("nan")),
                    "paper's PC": released,
                }
            )
            chart.append(marks.Timing(f"{data}, {label(name)}: train", mean(training), trained_seconds))
            chart.append(marks.Timing(f"{data}, {label(name)}: release", mean(decision), released_seconds))
        each += [
            {
                "data": data,
                "person": one.number,
                "contexts": one.contexts,
                "system": label(name),
                "training (s)": one.training[name],
                "release (s)": one.decision[name],
            }
            for one in people
            for name in TIMED
        ]
    title = "Table I: times"
    own = ", ".join(f"{len(people)} of {data}" for data, _, people in timed)
    setting = timed[0][1]
    how = f"{setting.rules.slots} slots, smoothing {setting.smoothing}, secret: home, delta {setting.delta:g}"
    note = f"people: {own}; {how}"
    remarks = (
        "means over people; training: learning the chain and building the name; release: Session.release, with the "
        "observer's belief in every secret and slot",
    )
    draw = partial(marks.timings, title, note, tuple(chart))
    return Figure("table1", title, note, Sheet.of(rows), Sheet.of(each), remarks, draw)


def people_of(groups: Sequence[Group]) -> Sheet:
    """A row a person, delta and name."""
    deepest = max((len(group.levels) for group in groups), default=0)
    rows: list[dict[str, Cell]] = [
        {
            "data": group.data,
            "secrets": group.secret,
            "person": one.number,
            "contexts": one.nodes[0],
            "trained days": one.trained_days,
            "days": one.judged_days,
            "held-out steps impossible": one.impossible,
            "hidden": one.hidden,
            "delta": delta,
            "system": label(name),
            **_details(found, deepest),
        }
        for group in groups
        for one in group.people
        for delta, point in one.points.items()
        for name, found in point.systems.items()
    ]
    return Sheet.of(rows)


def _details(found: Outcome, deepest: int) -> dict[str, Cell]:
    shown = [*found.layers, found.silent - found.off_model, found.off_model]
    return {
        "utility": found.utility,
        "of readings": found.of_readings,
        **dict(zip(_columns(deepest), _filled(shown, deepest), strict=True)),
        "days breached": found.breached_days,
        "pairs over": found.pairs,
        "worst gain": found.worst_gain,
    }


def _filled(parts: Sequence[float], deepest: int) -> list[Cell]:
    """Shares of the layers, the root, silence and silence outside the model, with gaps for layers that others have."""
    return [*parts[:-3], *[None] * (deepest + 3 - len(parts)), *parts[-3:]]


def _memory_of(groups: Sequence[Group]) -> Sheet:
    return Sheet.of(
        [
            {
                "data": group.data,
                "secrets": group.secret,
                "person": one.number,
                "contexts": one.nodes[0],
                "delta": delta,
                **{f"{label(name)} (bytes)": point.memory[name] for name in point.memory},
            }
            for group in groups
            for one in group.people
            for delta, point in one.points.items()
        ]
    )


def _megabytes(one: LayeredSweep, delta: float, name: str) -> float:
    return one.points[delta].memory[name] / 1e6


def _by_data(groups: Sequence[Group]) -> list[list[Group]]:
    """Groups of the same data together, in the order given."""
    found: dict[str, list[Group]] = {}
    for group in groups:
        found.setdefault(group.data, []).append(group)
    return list(found.values())


def _panel(group: Group, up: str, systems: Sequence[str], of: Callable[[float, str], float]) -> lines.Panel:
    series = {system(name).look: tuple(of(delta, name) for delta in group.deltas) for name in systems}
    return lines.Panel(f"{group.data}, {group.secret}", "delta", group.deltas, series, up)


def _grid(title: str, groups: Sequence[Group], panels: Sequence[Sequence[lines.Panel]]) -> partial[None]:
    return partial(lines.grid, title, _note(groups), tuple(tuple(row) for row in panels), legend=PROVEN)


def _note(groups: Sequence[Group]) -> str:
    """Whom and how, in a line."""
    own = [f"{len(group.people)} of {group.data} ({' > '.join(group.levels)})" for group in groups]
    setting = groups[0].setting
    return f"people: {', '.join(dict.fromkeys(own))}; {setting.rules.slots} slots, smoothing {setting.smoothing}"
