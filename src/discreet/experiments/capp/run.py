"""CAPP's experiments (Zhang et al., 2017, Section 5): Figures 2 to 5, with what the exact adversary learns beside them.

Utility is the fraction of held-out slots whose true context is released, and the paper's breaches are the slots whose
true context is a secret that the day's whole output tells, over all slots. The paper takes its own system and
EfficientFake for private by definition; here they are judged like the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from discreet.experiments.charts import plots
from discreet.experiments.shared.cohort import Cohort
from discreet.experiments.shared.compared import UP, Person, breaches, compared, each_person, swept, utility
from discreet.experiments.shared.figures import FAKED, SHOWN, Figure, bar, shares
from discreet.experiments.shared.people import Trace
from discreet.experiments.shared.subjects import Setting, subject
from discreet.experiments.shared.systems import NAMES, System
from discreet.experiments.shared.tables import Cell, Table, mean

DELTAS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
"""Of Figures 4 and 5: the range is the paper's, its steps are lost with the figures."""

SYSTEMS: tuple[System, ...] = ("mask-sensitive", "hybrid", "efficient-fake", "capp", "capp-bayes", "deceive")

PAPER: dict[System, str] = {
    "mask-sensitive": "1",
    "hybrid": "> 0.8",
    "efficient-fake": "~ 1.2",
    "capp": "~ 1.2",
}
"""Utility as a multiple of MaskSensitive's, from the paper's text: its bars are lost."""

DRAWN = 20
"""Days drawn from the model for an expected utility that is not known exactly."""

Which = Literal["2", "3", "4", "5"]
Scenario = Literal["home", "random"]
ALL: tuple[Which, ...] = ("2", "3", "4", "5")
SCENARIO: dict[Which, Scenario] = {"2": "home", "3": "random", "4": "home", "5": "random"}


def compare(trace: Trace, setting: Setting, days: int | None) -> Person | None:
    """Release one person's held-out days by every system; `days` as in `judge`."""
    one = subject(trace, setting)
    return None if one is None else compared(one, setting, SYSTEMS, days=days)


@dataclass(frozen=True)
class Reproduction:
    """The experiments on a cohort; what figures share is computed once."""

    cohort: Cohort
    setting: Setting
    deltas: tuple[float, ...] = DELTAS
    _traces: list[Trace] = field(default_factory=list)

    def figure(self, which: Which) -> Figure:
        """A figure of the paper."""
        setting = replace(self.setting, sensitive=SCENARIO[which])
        return self._breaches(which, setting) if which in ("2", "3") else self._tradeoff(which, setting)

    def _people(self, what: str, setting: Setting, days: int | None) -> list[Person]:
        if not self._traces:
            self._traces.extend(self.cohort.read(setting.rules))
        return self.cohort.over(what, partial(compare, setting=setting, days=days), self._traces, needed=True)

    def _breaches(self, which: Which, setting: Setting) -> Figure:
        people = self._people(f"figure {which}", setting, DRAWN)
        title = f"Figure {which}: privacy breaches, {SCENARIO[which]} as sensitive"
        rows, bars = [], []
        masked = utility(people, "mask-sensitive")
        for name in SYSTEMS:
            found = [shares(one.systems[name].learned) for one in people]
            at = {key: mean([share[key] for share in found]) for key in found[0]}
            row: dict[str, Cell] = {"system": NAMES[name], "smoothing": setting.smoothing}
            row["utility"] = utility(people, name)
            row["of MaskSensitive's"] = utility(people, name) / masked if masked else None
            row["paper"] = PAPER.get(name)
            row.update({key: at[key] for key in (*SHOWN, *FAKED, "breached")})
            row.update(breaches(people, name))
            row["expected"] = mean([one.systems[name].expected for one in people])
            rows.append(row)
            bars.append(bar(NAMES[name], at))
        note = f"{len(people)} people, {setting.described()}"
        remarks = (
            "shares of the held-out slots, means over people; breached: secret slots whose posterior, given the day's whole "
            "output, is over prior + delta",
            "people breached: the share of people with a (slot, secret) pair, true or not, over delta after some prefix of a "
            "held-out day; pairs over: those pairs, all people together; expected: utility by the model",
        )
        chart = partial(plots.bars, title, note, tuple(bars))
        return Figure(f"figure{which}", title, note, Table.of(rows), each_person(people, setting), remarks, chart)

    def _tradeoff(self, which: Which, setting: Setting) -> Figure:
        points = {
            delta: self._people(f"figure {which}, delta {delta:g}", replace(setting, delta=delta), None)
            for delta in self.deltas
        }
        title = f"Figure {which}: privacy and utility, {SCENARIO[which]} as sensitive"
        count = len(next(iter(points.values())))
        note = f"{count} people, {replace(setting, delta=0).described().removesuffix(', delta 0')}"
        curves = swept(points, SYSTEMS)
        panels = tuple(
            plots.Panel(caption, "delta", self.deltas, curves[measure], up)
            for caption, measure, up in zip(("what is released", "who is breached"), curves, UP, strict=True)
        )
        rows: list[dict[str, Cell]] = [
            {
                "measure": measure,
                "smoothing": setting.smoothing,
                "delta": delta,
                **{name: ys[k] for name, ys in lines.items()},
            }
            for measure, lines in curves.items()
            for k, delta in enumerate(self.deltas)
        ]
        each = Table.joined([each_person(people, replace(setting, delta=delta)) for delta, people in points.items()])
        chart = partial(plots.grid, title, note, (panels,))
        return Figure(f"figure{which}", title, note, Table.of(rows), each, (), chart)
