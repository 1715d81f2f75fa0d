"""MaskIt's reproduction as a whole: reads the data once, computes what several figures share once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

from discreet_experiments.charts import marks
from discreet_experiments.maskit import study as maskit_study
from discreet_experiments.maskit.figures import Curve, curves, figure4, figure5, table1
from discreet_experiments.maskit.person import (
    FEWEST_CONTEXTS,
    MOST_CONTEXTS,
    Bound,
    Checks,
    Compared,
    compare,
    sweep,
    weaken,
)
from discreet_experiments.shared.cohort import Cohort
from discreet_experiments.shared.figures import NOBODY, Figure, Reproduction
from discreet_experiments.shared.people import Rules, Trace, meals
from discreet_experiments.shared.sheets import Sheet
from discreet_experiments.shared.subjects import Setting

MEALS_RULES = Rules(level="meal", carry_hours=0.0, backward=False)
"""A meal says nothing of the hours after it, so nothing is carried: a slot without one is `unknown`, no meal."""


@dataclass(frozen=True)
class MaskitReproduction(Reproduction):
    """The experiments on a cohort."""

    cohort: Cohort
    setting: Setting
    checks: Checks

    def makers(self) -> dict[str, Callable[[], Figure]]:
        """The paper's figures and table."""
        return {
            "4": self._figure4,
            "5": self._figure5,
            "6": self._figure6,
            "7": self._figure7,
            "8": self._figure8,
            "table1": self._table1,
        }

    @cached_property
    def traces(self) -> list[Trace]:
        """The people of Reality Mining."""
        return self.cohort.read(self.setting.rules)

    @cached_property
    def _compared(self) -> list[Compared]:
        work = partial(compare, setting=self.setting, checks=self.checks)
        return self.cohort.over("figures 4, 5, table 1", work, self.traces, needed=True)

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
            panels.append(Curve(title, setting, self.cohort.over(f"figure 6, {title}", work, self.traces)))
        remarks = ("the paper, one secret at random, delta 0.1: Hybrid 0.84, MaskSensitive 0.91",)
        return curves("figure6", "Figure 6: utility and delta", "delta", panels, remarks)

    def _figure7(self) -> Figure:
        panels = []
        bounds: tuple[tuple[str, Bound], ...] = (("each set within delta", "each"), ("the secret within delta", "kept"))
        for title, bound in bounds:
            work = partial(weaken, setting=self.setting, checks=self.checks, bound=bound)
            panels.append(Curve(title, self.setting, self.cohort.over(f"figure 7, {title}", work, self.traces)))
        remarks = (
            f"people with {FEWEST_CONTEXTS} to {MOST_CONTEXTS} learned contexts, one secret at random, delta "
            f"{self.setting.delta:g}; where each set is within delta, the secret is within delta times their number",
        )
        return curves("figure7", "Figure 7: adversaries who know sets", "sets with the secret", panels, remarks)

    def _figure8(self) -> Figure:
        rules = replace(MEALS_RULES, slots=self.setting.rules.slots, least_days=self.setting.rules.least_days)
        setting = replace(self.setting, rules=rules, secrets=1, sensitive="random", pool="places")
        work = partial(sweep, setting=setting, checks=self.checks)
        traces = self.cohort.read(rules, meals)
        panel = Curve("one meal at random", setting, self.cohort.over("figure 8", work, traces))
        remarks = ("StudentLife meals (breakfast, lunch, supper, snack), nothing carried",)
        return curves("figure8", "Figure 8: activities", "delta", [panel], remarks)

    def study(self, choice: str | None = None) -> Figure:
        """Utility with one choice changed at a time, then some together; or one `choice` alone beside the default."""
        rows = []
        found = maskit_study.chosen(self.setting, self.checks, choice)
        traces = {self.setting.rules.cut: self.traces}
        for number, change in enumerate(found, 1):
            rules = change.setting.rules
            if rules.cut not in traces:
                traces[rules.cut] = self.cohort.read(rules)
            with self.cohort.bar(f"study {number}/{len(found)}: {change.choice} {change.value}".rstrip()) as report:
                rows.append(maskit_study.row(change, traces[rules.cut], self.cohort.workers, report))
        table = Sheet.of(rows)
        shown = [(f"{row['choice']} {row['value']}".strip(), row["Hybrid"], row["Hybrid expected"]) for row in rows]
        dots = tuple(marks.Dot(label, float(ours or 0), float(model or 0)) for label, ours, model in shown)
        title = "What moves the hybrid check's utility"
        note = f"{len(self.traces)} people; as given: {self.setting.described()}"
        remarks = (
            "contexts: learned ones; hidden: held-out slots in which a secret is true; impossible: held-out steps that "
            "the model holds impossible; expected: by the model",
        )
        return Figure("study", title, note, table, NOBODY, remarks, partial(marks.dots, title, note, dots))
