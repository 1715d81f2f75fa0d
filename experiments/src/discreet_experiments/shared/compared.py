"""Several systems on the same people: what is released, and who is breached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from discreet.hierarchy import Hierarchy
from discreet_experiments.charts.lines import Look
from discreet_experiments.shared.figures import shares
from discreet_experiments.shared.sheets import Cell, Sheet, mean
from discreet_experiments.shared.subjects import Setting, Subject
from discreet_experiments.shared.systems import Judged, judge, label, system


@dataclass(frozen=True)
class Comparison:
    """Systems on one person at one delta."""

    number: int
    contexts: int
    impossible: float
    hidden: float
    systems: dict[str, Judged]


def compared(
    one: Subject,
    setting: Setting,
    systems: Sequence[str],
    *,
    days: int | None = None,
    tree: Hierarchy | None = None,
) -> Comparison:
    """Release one person's held-out days by every system; `days` and `tree` as in `judge`."""
    judged = {name: judge(name, one, setting.delta, setting.seed, days=days, tree=tree) for name in systems}
    return Comparison(one.number, len(one.chain.contexts), one.impossible, one.hidden, judged)


UP = ("utility", "share of people breached")
"""What goes up in the panels of `swept`."""


def swept(
    points: Mapping[float, Sequence[Comparison]], systems: Sequence[str]
) -> dict[str, dict[Look, tuple[float, ...]]]:
    """{measure: {system: its curve over the points}}: mean utility, and the share of people breached."""
    measures = {"utility": utility, "people breached": breached_share}
    return {
        measure: {system(name).look: tuple(of(people, name) for people in points.values()) for name in systems}
        for measure, of in measures.items()
    }


def utility(people: Sequence[Comparison], name: str) -> float:
    """Mean over people of what is released of their held-out days."""
    return mean([one.systems[name].learned.shown.utility for one in people])


def breached_share(people: Sequence[Comparison], name: str) -> float:
    """The share of people whose held-out days breach."""
    return mean([one.systems[name].learned.pairs > 0 for one in people])


def breaches(people: Sequence[Comparison], name: str) -> dict[str, Cell]:
    """What the exact adversary found, over all people."""
    learned = [one.systems[name].learned for one in people]
    return {
        "people breached": breached_share(people, name),
        "pairs over": sum(each.pairs for each in learned),
        "worst gain": max(each.worst_gain for each in learned),
        "off model": mean([each.off_model / each.shown.slots for each in learned]),
    }


def each_person(people: Sequence[Comparison], setting: Setting, data: str = "Reality Mining") -> Sheet:
    """A row a person and system."""
    rows: list[dict[str, Cell]] = [
        {
            "data": data,
            "delta": setting.delta,
            "person": one.number,
            "contexts": one.contexts,
            "hidden": one.hidden,
            "held-out steps impossible": one.impossible,
            "system": label(name),
            **judged.columns(),
            **shares(judged.learned),
        }
        for one in people
        for name, judged in one.systems.items()
    ]
    return Sheet.of(rows)
