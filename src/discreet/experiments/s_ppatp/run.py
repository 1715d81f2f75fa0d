"""S-PPATP's reproduction as a whole: reads each data set once, computes what several figures share once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Literal

from discreet.data import EventColumns, read_trajectories
from discreet.errors import DiscreetError
from discreet.events import Events, Trajectory
from discreet.experiments.s_ppatp import figures
from discreet.experiments.s_ppatp.figures import COMPOSED, DELTAS, DataSet, Group, Setting
from discreet.experiments.s_ppatp.publishers import SYSTEMS, Cell, Kind, Outcome, Subject, System, subject, sweep
from discreet.experiments.shared.cohort import Cohort
from discreet.experiments.shared.figures import Figure
from discreet.experiments.shared.people import CHECK_INS, MEALS, existing
from discreet.models.simulate_events import topic_model, trajectories
from discreet.models.topics import TopicModel
from discreet.publish.plan import cut_all

Which = Literal["table4", "4", "5", "6", "7", "8", "9", "10", "table5"]
ALL: tuple[Which, ...] = ("table4", "4", "5", "6", "7", "8", "9", "table5", "10")

FILES: dict[DataSet, tuple[str, EventColumns]] = {
    "dining": (MEALS, EventColumns(location="context", activity="meal")),
    "check-ins": (CHECK_INS, EventColumns(location="region", activity="category_l1")),
}
"""The paper's D11 and D15 are not to be had: the dining data are the nearest to them, and check-ins something else again."""

PEOPLE = 30
"""In each data set, at most, unless more are asked for; the paper has 50."""

TOPICS = (4, 6, 8, 10)
"""Of Figure 10."""

SIMULATED = 10
"""People in a simulated data set."""

KINDS: tuple[Kind, ...] = ("activity", "time", "location", "all")
WHOLE: tuple[System, ...] = ("pa-hmm", "adaptive-events")


@dataclass
class Reproduction:
    """The experiments on a folder's data sets."""

    cohort: Cohort
    setting: Setting
    deltas: tuple[float, ...] = DELTAS
    _read: dict[DataSet, list[Trajectory]] = field(default_factory=dict)
    _models: dict[tuple[DataSet, int], TopicModel] = field(default_factory=dict)
    _groups: dict[tuple[DataSet, int], Group] = field(default_factory=dict)

    def figure(self, which: Which) -> Figure:
        """A figure or table of the paper."""
        setting = self.setting
        match which:
            case "table4":
                return figures.table4(self._simulated(), setting)
            case "4":
                return figures.breaches("4", self._group("dining"), setting)
            case "5":
                return figures.breaches("5", self._group("dining"), setting)
            case "6":
                return figures.breaches("6", self._group("check-ins"), setting)
            case "7":
                return figures.breaches("7", self._group("check-ins"), setting)
            case "8":
                return figures.figure8([self._group(data) for data in FILES], setting)
            case "9":
                return figures.figure9([self._group(data) for data in FILES], setting)
            case "10":
                return figures.figure10([self._group(data, count) for data in FILES for count in TOPICS], setting)
            case "table5":
                return figures.table5([self._group(data) for data in FILES], setting)

    def _group(self, data: DataSet, topics: int | None = None) -> Group:
        """A data set's people, judged by a model of so many topics; what only Figure 10 asks for is less."""
        count = self.setting.topics if topics is None else topics
        if (data, count) not in self._groups:
            cells: list[Cell] = list(product(("one",), self.deltas, WHOLE))
            if count == self.setting.topics:
                cells = [(kind, delta, system) for kind in KINDS for delta in self.deltas for system in SYSTEMS]
                cells += product(("one",), COMPOSED, ("pa-markov", "adaptive-attributes", *WHOLE))
            model = self._model(data, count)
            people = self._subjects(data, model)
            found = self.cohort.over(f"{data}, {count} topics", self._sweep(cells), people)
            self._groups[data, count] = Group(data, model, people, found)
        return self._groups[data, count]

    def _sweep(self, cells: list[Cell]) -> Callable[[Subject], dict[Cell, Outcome]]:
        return partial(sweep, cells=cells, budget=self.setting.budget, seed=self.setting.seed)

    def _trajectories(self, data: DataSet) -> list[Trajectory]:
        if data not in self._read:
            name, columns = FILES[data]
            with self.cohort.bar(f"reading {name}") as report:
                path = existing(self.cohort.folder, name)
                self._read[data] = list(read_trajectories(path, columns=columns, zone="UTC", progress=report))
        return self._read[data]

    def _model(self, data: DataSet, topics: int) -> TopicModel:
        """Topics of everybody's windows, over the triples that occur."""
        if (data, topics) not in self._models:
            windows = list(cut_all(self._trajectories(data), self.setting.window))
            events = Events.from_trajectories(windows, occurring_only=True)
            with self.cohort.bar(f"learning {topics} topics, {data}") as report:
                self._models[data, topics] = TopicModel.fit(
                    windows, topics, events=events, sweeps=self.setting.sweeps, seed=self.setting.seed, progress=report
                )
        return self._models[data, topics]

    def _subjects(self, data: DataSet, model: TopicModel) -> list[Subject]:
        setting = self.setting
        long = [whole for whole in self._trajectories(data) if len(whole) >= setting.window]
        found = [
            one
            for number, whole in enumerate(long, 1)
            if (one := subject(number, [whole], model, setting.window, setting.seed)) is not None
        ]
        if not found:
            raise DiscreetError(
                f"nobody of the {data} data has {setting.window} events and two values of each attribute; lower --window"
            )
        return spread(found, PEOPLE if self.cohort.people is None else self.cohort.people)

    def _simulated(self) -> Group:
        """Data sets of the paper's sizes; who judges is the model that made them."""
        setting = self.setting
        people = []
        for number in range(setting.sets):
            model = topic_model(SIMULATED, setting.simulated_topics, seed=setting.seed + number)
            drawn = trajectories(model, setting.window, seed=setting.seed + number)
            for place, whole in enumerate(drawn, 1):
                one = subject(number * SIMULATED + place, [whole], model, setting.window, setting.seed, own=False)
                people += [] if one is None else [one]
        chosen = people if self.cohort.people is None else spread(people, self.cohort.people)
        cells: list[Cell] = list(product(("activity",), self.deltas, SYSTEMS))
        return Group("simulated", model, chosen, self.cohort.over("table 4", self._sweep(cells), chosen))


def spread(people: Sequence[Subject], most: int) -> list[Subject]:
    """At most so many, evenly spread."""
    count = min(most, len(people))
    return [people[k * len(people) // count] for k in range(count)]
