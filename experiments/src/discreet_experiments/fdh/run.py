"""FDH's reproduction as a whole: reads each data set once, computes what several figures share once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from discreet.errors import DiscreetError
from discreet_experiments.fdh import figures as fdh_figures
from discreet_experiments.fdh.figures import Group
from discreet_experiments.fdh.person import DELTAS, Layers, sweep, timed
from discreet_experiments.shared.cohort import Cohort
from discreet_experiments.shared.figures import Figure, Reproduction
from discreet_experiments.shared.people import TOWERS, VENUES, Level, Trace, check_ins, reality_mining
from discreet_experiments.shared.subjects import Sensitive, Setting

DataSet = Literal["reality-mining", "foursquare"]
DATA_SETS: dict[DataSet, str] = {"reality-mining": "Reality Mining", "foursquare": "Foursquare"}

Choice = tuple[str, int, Sensitive]
HOME: Choice = ("home", 1, "home")
THREE: Choice = ("3 at random", 3, "random")
FIVE: Choice = ("5 at random", 5, "random")
"""The paper's secrets: home in Table I and Figure 6, three and five at random in Figures 4 and 5."""


def levels_of(text: str) -> tuple[Level, ...]:
    """The layers of towers from a list such as "tower,area": some of the file's, finest first, towers among them."""
    given = [part.strip() for part in text.split(",")]
    levels = tuple(level for level in TOWERS if level in given)
    if list(levels) != given or levels[:1] != TOWERS[:1]:
        raise DiscreetError(f"layers are {text!r}; give tower and some of site, area, region, in that order")
    return levels


@dataclass(frozen=True)
class FdhReproduction(Reproduction):
    """The experiments on a cohort's data sets.

    The setting's delta is that of Table I and the layers; its secrets are the paper's own for each figure. Its rules
    are those of Reality Mining: a check-in says nothing of the hours after it, so in Foursquare nothing is carried.
    """

    cohort: Cohort
    setting: Setting
    layering: Layers
    data: tuple[DataSet, ...] = ("reality-mining", "foursquare")
    deltas: tuple[float, ...] = DELTAS
    _traces: dict[DataSet, list[Trace]] = field(default_factory=dict)
    _groups: dict[tuple[DataSet, Choice], Group] = field(default_factory=dict)

    def makers(self) -> dict[str, Callable[[], Figure]]:
        """The paper's table and figures, and which layers are shown."""
        return {
            "table1": self._table1,
            "4": lambda: fdh_figures.figure4(self._all(THREE, FIVE)),
            "5": lambda: fdh_figures.figure5(self._all(THREE, FIVE)),
            "6": lambda: fdh_figures.figure6(self._all(HOME)),
            "layers": lambda: fdh_figures.layers(self._all(HOME, THREE, FIVE), self.setting.delta, (HOME[0], THREE[0])),
        }

    def _all(self, *choices: Choice) -> list[Group]:
        return [self._group(data, choice) for data in self.data for choice in choices]

    def _group(self, data: DataSet, choice: Choice) -> Group:
        if (data, choice) not in self._groups:
            setting, layering = self._setting(data, choice), self._layering(data)
            deltas = tuple(sorted({*self.deltas, self.setting.delta}))
            work = partial(sweep, setting=setting, layering=layering, deltas=deltas)
            found = self.cohort.over(f"{DATA_SETS[data]}, {choice[0]}", work, self._people(data))
            self._some(found)
            self._groups[data, choice] = Group(DATA_SETS[data], choice[0], setting, layering.levels, found)
        return self._groups[data, choice]

    def _table1(self) -> Figure:
        found = []
        for data in self.data:
            setting = self._setting(data, HOME)
            work = partial(timed, setting=setting, layering=self._layering(data))
            people = self.cohort.over(f"{DATA_SETS[data]}, times", work, self._people(data))
            self._some(people)
            found.append((DATA_SETS[data], setting, people))
        return fdh_figures.table1(found)

    def _some(self, found: Sequence[object]) -> None:
        if not found:
            raise DiscreetError("nobody has two contexts to tell apart; choose a lower --merge-below")

    def _people(self, data: DataSet) -> list[Trace]:
        if data not in self._traces:
            reader = reality_mining if data == "reality-mining" else check_ins
            self._traces[data] = self.cohort.read(self._setting(data, HOME).rules, reader)
        return self._traces[data]

    def _layering(self, data: DataSet) -> Layers:
        return self.layering if data == "reality-mining" else replace(self.layering, levels=VENUES)

    def _setting(self, data: DataSet, choice: Choice) -> Setting:
        _, secrets, sensitive = choice
        rules = replace(self.setting.rules, level=self._layering(data).levels[0])
        if data == "foursquare":
            rules = replace(rules, carry_hours=0.0, backward=False)
        return replace(self.setting, rules=rules, secrets=secrets, sensitive=sensitive)
