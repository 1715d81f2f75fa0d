"""MaskIt's reproduction as a whole: reads the data once, computes what several figures share once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Literal, TypeVar

from discreet.errors import DataError, DiscreetError
from discreet.evaluation import plots
from discreet.evaluation.experiments import maskit_study
from discreet.evaluation.experiments.maskit import (
    FEWEST_CONTEXTS,
    MOST_CONTEXTS,
    Bound,
    Checks,
    Compared,
    compare,
    sweep,
    weaken,
)
from discreet.evaluation.experiments.maskit_figures import Curve, Figure, curves, figure4, figure5, table1
from discreet.evaluation.experiments.people import Rules, Trace, meals, reality_mining
from discreet.evaluation.experiments.runs import Report, Workers
from discreet.evaluation.experiments.subjects import Setting
from discreet.evaluation.experiments.tables import Table

Which = Literal["4", "5", "6", "7", "8", "table1"]
ALL: tuple[Which, ...] = ("4", "5", "6", "7", "8", "table1")

Bar = Callable[[str], AbstractContextManager[Report]]
"""Opens a progress bar with that name; the block is given what to report to."""

Answer = TypeVar("Answer")

MEALS_RULES = Rules(level="meal", carry_hours=0.0, backward=False)
"""A meal says nothing of the hours after it, so nothing is carried: a slot without one is `unknown`, no meal."""


@dataclass(frozen=True)
class Reproduction:
    """The experiments on the data of a folder; `people` takes that many, evenly spread over the file."""

    folder: Path
    setting: Setting
    checks: Checks
    workers: Workers
    bar: Bar
    people: int | None = None

    def __post_init__(self) -> None:
        if self.people is not None and self.people < 1:
            raise DiscreetError(f"{self.people} people cannot be looked at; give 1 or more")

    def figure(self, which: Which) -> Figure:
        """A figure or table of the paper."""
        make = {
            "4": self._figure4,
            "5": self._figure5,
            "6": self._figure6,
            "7": self._figure7,
            "8": self._figure8,
            "table1": self._table1,
        }
        return make[which]()

    @cached_property
    def traces(self) -> list[Trace]:
        """The people of Reality Mining."""
        return self._read(self.setting.rules)

    def _read(self, rules: Rules, reader: Callable[..., list[Trace]] = reality_mining) -> list[Trace]:
        with self.bar("reading") as report:
            found = reader(self.folder, rules, report)
        if not found:
            raise DataError(f"{self.folder}: nobody has {rules.least_days} days; lower --least-days")
        count = len(found) if self.people is None else min(self.people, len(found))
        return [found[k * len(found) // count] for k in range(count)]

    def _over(self, what: str, work: Callable[[Trace], Answer | None], traces: Sequence[Trace]) -> list[Answer]:
        """The answers of those who take part."""
        with self.bar(what) as report:
            return [one for one in self.workers.map(work, traces, report) if one is not None]

    @cached_property
    def _compared(self) -> list[Compared]:
        work = partial(compare, setting=self.setting, checks=self.checks)
        found = self._over("figures 4, 5, table 1", work, self.traces)
        if not found:
            raise DiscreetError(
                "nobody has two contexts to tell apart; choose a finer --level or a lower --merge-below"
            )
        return found

    def _left_out(self, took_part: int) -> tuple[str, ...]:
        missing = len(self.traces) - took_part
        return (f"{missing} people have no context that could be a secret and are left out",) if missing else ()

    def _with_left_out(self, figure: Figure) -> Figure:
        return replace(figure, remarks=figure.remarks + self._left_out(len(self._compared)))

    def _figure4(self) -> Figure:
        return self._with_left_out(figure4(self._compared, self.setting))

    def _figure5(self) -> Figure:
        return self._with_left_out(figure5(self._compared, self.setting))

    def _table1(self) -> Figure:
        return self._with_left_out(table1(self._compared, self.setting))

    def _figure6(self) -> Figure:
        panels = []
        for title, setting in (
            ("one at random", replace(self.setting, secrets=1, sensitive="random")),
            ("home", replace(self.setting, secrets=1, sensitive="home")),
        ):
            work = partial(sweep, setting=setting, checks=self.checks)
            panels.append(Curve(title, setting, self._over(f"figure 6, {title}", work, self.traces)))
        remarks = ("the paper, one secret at random, delta 0.1: Hybrid 0.84, MaskSensitive 0.91",)
        return curves("figure6", "Figure 6: utility and delta", "delta", panels, remarks)

    def _figure7(self) -> Figure:
        panels = []
        bounds: tuple[tuple[str, Bound], ...] = (("each set within delta", "each"), ("the secret within delta", "kept"))
        for title, bound in bounds:
            work = partial(weaken, setting=self.setting, checks=self.checks, bound=bound)
            panels.append(Curve(title, self.setting, self._over(f"figure 7, {title}", work, self.traces)))
        remarks = (
            f"people with {FEWEST_CONTEXTS} to {MOST_CONTEXTS} learned contexts, one secret at random, delta "
            f"{self.setting.delta:g}; where each set is within delta, the secret is within delta times their number",
        )
        return curves("figure7", "Figure 7: adversaries who know sets", "sets with the secret", panels, remarks)

    def _figure8(self) -> Figure:
        rules = replace(MEALS_RULES, slots=self.setting.rules.slots, least_days=self.setting.rules.least_days)
        setting = replace(self.setting, rules=rules, secrets=1, sensitive="random", pool="places")
        work = partial(sweep, setting=setting, checks=self.checks)
        traces = self._read(rules, meals)
        panel = Curve("one meal at random", setting, self._over("figure 8", work, traces))
        remarks = ("StudentLife meals (breakfast, lunch, supper, snack), nothing carried",)
        return curves("figure8", "Figure 8: activities", "delta", [panel], remarks)

    def study(self) -> Figure:
        """Utility with one choice changed at a time, then some together."""
        rows = []
        found = list(maskit_study.variants(self.setting, self.checks))
        traces = {self.setting.rules.cut: self.traces}
        for number, variant in enumerate(found, 1):
            rules = variant.setting.rules
            if rules.cut not in traces:
                traces[rules.cut] = self._read(rules)
            with self.bar(f"study {number}/{len(found)}: {variant.choice} {variant.value}".rstrip()) as report:
                rows.append(maskit_study.row(variant, traces[rules.cut], self.workers, report))
        table = Table.of(rows)
        shown = [(f"{row['choice']} {row['value']}".strip(), row["Hybrid"], row["Hybrid expected"]) for row in rows]
        dots = tuple(plots.Dot(label, float(ours or 0), float(model or 0)) for label, ours, model in shown)
        title = "What moves the hybrid check's utility"
        note = f"{len(self.traces)} people; as given: {self.setting.described()}"
        remarks = (
            "contexts: learned ones; hidden: held-out slots in which a secret is true; impossible: held-out steps that "
            "the model holds impossible; expected: by the model",
        )
        return Figure("study", title, note, table, Table((), ()), remarks, partial(plots.dots, title, note, dots))
