"""One picture: utility and breaches against delta, for every mechanism on every data set that has days."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from discreet.hierarchy import Hierarchy
from discreet_experiments.charts import lines
from discreet_experiments.charts.lines import Look
from discreet_experiments.shared.cohort import Cohort
from discreet_experiments.shared.compared import UP, Comparison, breaches, compared, each_person, swept, utility
from discreet_experiments.shared.figures import Figure
from discreet_experiments.shared.people import Level, Rules, Trace, check_ins, meals, reality_mining
from discreet_experiments.shared.positions import BEIJING, LOS_ANGELES
from discreet_experiments.shared.sheets import Cell, Sheet
from discreet_experiments.shared.subjects import Setting, subject
from discreet_experiments.shared.systems import PROVEN, label, system

DELTAS = (0.05, 0.1, 0.2, 0.3)
DAYS = 10
"""Held-out days of a person that are judged, unless the setting says."""

SYSTEMS = (
    "mask-sensitive",
    "simulatable",
    "hybrid",
    "fdh",
    "efficient-fake",
    "capp",
    "capp-bayes",
    "suppress",
    "generalize",
    "deceive",
)
"""NoMask releases everything; Hybrid is the better of Probabilistic and Simulatable."""


@dataclass(frozen=True)
class Pictured:
    """A data set: how it is read, what its contexts are, and the level above them if there is one."""

    name: str
    level: Level
    reader: Callable[..., list[Trace]]
    above: Level | None = None
    carried: bool = False  # a reading says where somebody is until the next; else it says nothing of the hours after it

    def rules(self, given: Rules) -> Rules:
        """The rules for this data set."""
        if self.carried:
            return replace(given, level=self.level)
        return replace(given, level=self.level, carry_hours=0.0, backward=False)


PICTURED = (
    Pictured("Reality Mining", "area", reality_mining, "region", carried=True),
    Pictured("StudentLife", "meal", meals),
    Pictured("Foursquare", "category", check_ins, "kind"),
    Pictured("GeoLife", "cell", BEIJING.read),
    Pictured("Gowalla", "cell", LOS_ANGELES.read),
)


def everything(
    trace: Trace, setting: Setting, above: Level | None, deltas: Sequence[float]
) -> dict[float, Comparison] | None:
    """Every system on one person at every delta; those that need a hierarchy only where there is one."""
    one = subject(trace, setting)
    if one is None:
        return None
    tree = None if above is None else two_layers(one.chain.contexts, trace, setting.rules.level, above)
    return {delta: compared(one, replace(setting, delta=delta), systems_for(above), tree=tree) for delta in deltas}


def systems_for(above: Level | None) -> tuple[str, ...]:
    """The systems that can be built."""
    return SYSTEMS if above is not None else tuple(name for name in SYSTEMS if "hierarchy" not in system(name).given)


def two_layers(contexts: Sequence[str], trace: Trace, level: Level, above: Level) -> Hierarchy:
    """The contexts below their level above; one that has none there (unknown, other) is below a node of its own."""
    names, higher = trace.names[level], trace.names[above]
    parent = {name: higher[label] for label, name in names.items() if label in higher}
    root = "anywhere"
    parents: dict[str, str | None] = {}
    for context in contexts:
        node = f"{above}: {parent.get(context, context)}"
        parents |= {context: node, node: root}
    return Hierarchy.from_parents(parents)


def on_data_sets(
    cohort: Cohort, setting: Setting, pictured: Sequence[Pictured] = PICTURED, deltas: tuple[float, ...] = DELTAS
) -> Figure:
    """The picture."""
    days = DAYS if setting.days is None else setting.days
    own = replace(setting, pool="places", days=days)
    settings = [replace(own, rules=source.rules(setting.rules)) for source in pictured]
    traces = [cohort.read(each.rules, source.reader) for source, each in zip(pictured, settings, strict=True)]
    columns, rows, tables = [], [], []
    for source, each, own_traces in zip(pictured, settings, traces, strict=True):
        work = partial(everything, setting=each, above=source.above, deltas=deltas)
        found = cohort.over(source.name, work, own_traces, needed=True)
        points = {delta: [one[delta] for one in found] for delta in deltas}
        columns.append((source, len(found), swept(points, systems_for(source.above))))
        rows += _rows(source, points, systems_for(source.above))
        tables += [each_person(people, replace(each, delta=delta), source.name) for delta, people in points.items()]
    return _picture(columns, deltas, rows, Sheet.joined(tables), own)


def _rows(source: Pictured, points: dict[float, list[Comparison]], systems: Sequence[str]) -> list[dict[str, Cell]]:
    return [
        {
            "data": source.name,
            "system": label(name),
            "delta": delta,
            "people": len(people),
            "utility": utility(people, name),
            **breaches(people, name),
        }
        for name in systems
        for delta, people in points.items()
    ]


Column = tuple[Pictured, int, dict[str, dict[Look, tuple[float, ...]]]]


def _picture(
    columns: Sequence[Column], deltas: tuple[float, ...], rows: list[dict[str, Cell]], each: Sheet, setting: Setting
) -> Figure:
    title = "Utility and breaches against delta"
    plural = "place" if setting.secrets == 1 else "places"
    note = (
        f"{setting.rules.slots} slots, smoothing {setting.smoothing}, secret: {setting.secrets} {plural} at random; "
        f"{setting.days} held-out days a person, judged by the exact adversary"
    )
    measures = list(columns[0][2])
    panels = tuple(
        tuple(
            lines.Panel(_caption(source, count, measure), "delta", deltas, curves[measure], up)
            for source, count, curves in columns
        )
        for measure, up in zip(measures, UP, strict=True)
    )
    remarks = (
        "utility: the fraction of held-out slots released truthfully (an ancestor one layer up counts half)",
        "people breached: those with a (slot, secret) pair over delta after some prefix of a judged day",
        "nothing is carried but Reality Mining's readings: most slots of the others are unknown, and count when "
        "released",
    )
    chart = partial(lines.grid, title, note, panels, legend=PROVEN)
    return Figure("picture", title, note, Sheet.of(rows), each, remarks, chart)


def _caption(source: Pictured, count: int, measure: str) -> str:
    return f"{source.name}, {source.level}: {count} people" if measure == "utility" else ""
