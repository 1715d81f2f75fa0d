"""S-PPATP's reproduction as a whole: reads each data set once, computes what several figures share once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import product

from discreet.data import EventColumns, read_trajectories
from discreet.errors import DiscreetError
from discreet.events import Events, Trajectory
from discreet.models.topics.model import TopicModel
from discreet.models.topics.simulate import topic_model, trajectories
from discreet.publish.plan import cut_all
from discreet_experiments.s_ppatp import figures
from discreet_experiments.s_ppatp.figures import COMPOSED, DELTAS, TOPICS_LOOK, EventData, EventSetting, PublishedGroup
from discreet_experiments.s_ppatp.person import (
    PRINTED,
    SYSTEMS,
    Cell,
    EventSubject,
    Publication,
    SecretKind,
    subject,
    sweep,
)
from discreet_experiments.shared.cohort import Cohort
from discreet_experiments.shared.figures import Figure, Reproduction
from discreet_experiments.shared.people import CHECK_INS, MEALS, existing, spread

FILES: dict[EventData, tuple[str, EventColumns]] = {
    "dining": (MEALS, EventColumns(location="context", activity="meal")),
    "check-ins": (CHECK_INS, EventColumns(location="region", activity="category_l1")),
}
"""The paper's D11 and D15 were not used here: the dining data are the nearest to them, check-ins are another thing."""

PEOPLE = 30
"""In each data set, at most, unless more are asked for; the paper has 50."""

SIMULATED = 10
"""People in a simulated data set."""

KINDS: tuple[SecretKind, ...] = ("activity", "time", "location", "all")
WHOLE = ("pa-hmm", *PRINTED, "adaptive-events")


@dataclass
class SPpatpReproduction(Reproduction):
    """The experiments on a folder's data sets."""

    cohort: Cohort
    setting: EventSetting
    deltas: tuple[float, ...] = DELTAS
    _read: dict[EventData, list[Trajectory]] = field(default_factory=dict)
    _models: dict[tuple[EventData, int], TopicModel] = field(default_factory=dict)
    _groups: dict[tuple[EventData, int], PublishedGroup] = field(default_factory=dict)

    def makers(self) -> dict[str, Callable[[], Figure]]:
        """The paper's tables and figures: 4 and 5 are the dining data, 6 and 7 the check-ins."""
        setting = self.setting
        return {
            "table4": lambda: figures.table4(self._simulated(), setting),
            "4": lambda: figures.breaches("4", self._group("dining"), setting),
            "5": lambda: figures.breaches("5", self._group("dining"), setting),
            "6": lambda: figures.breaches("6", self._group("check-ins"), setting),
            "7": lambda: figures.breaches("7", self._group("check-ins"), setting),
            "8": lambda: figures.figure8(self._groups_of_files()),
            "9": lambda: figures.figure9(self._groups_of_files()),
            "table5": lambda: figures.table5(self._groups_of_files()),
            "10": lambda: figures.figure10([self._group(data, count) for data in FILES for count in TOPICS_LOOK]),
        }

    def _groups_of_files(self) -> list[PublishedGroup]:
        return [self._group(data) for data in FILES]

    def _group(self, data: EventData, topics: int | None = None) -> PublishedGroup:
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
            self._groups[data, count] = PublishedGroup(data, model, people, found)
        return self._groups[data, count]

    def _sweep(self, cells: list[Cell]) -> Callable[[EventSubject], dict[Cell, Publication]]:
        return partial(sweep, cells=cells, budget=self.setting.budget, seed=self.setting.seed)

    def _trajectories(self, data: EventData) -> list[Trajectory]:
        if data not in self._read:
            name, columns = FILES[data]
            with self.cohort.bar(f"reading {name}") as report:
                path = existing(self.cohort.folder, name)
                self._read[data] = list(read_trajectories(path, columns=columns, zone="UTC", progress=report))
        return self._read[data]

    def _model(self, data: EventData, topics: int) -> TopicModel:
        """Topics of everybody's windows, over the triples that occur."""
        if (data, topics) not in self._models:
            windows = list(cut_all(self._trajectories(data), self.setting.window))
            events = Events.from_trajectories(windows, occurring_only=True)
            with self.cohort.bar(f"learning {topics} topics, {data}") as report:
                self._models[data, topics] = TopicModel.fit(
                    windows, topics, events=events, sweeps=self.setting.sweeps, seed=self.setting.seed, progress=report
                )
        return self._models[data, topics]

    def _subjects(self, data: EventData, model: TopicModel) -> list[EventSubject]:
        setting = self.setting
        long = [whole for whole in self._trajectories(data) if len(whole) >= setting.window]
        found = [
            one
            for number, whole in enumerate(long, 1)
            if (one := subject(number, [whole], model, setting.window, setting.seed)) is not None
        ]
        if not found:
            raise DiscreetError(
                f"nobody of the {data} data has {setting.window} events and two values of each attribute; lower "
                "--window"
            )
        return spread(found, PEOPLE if self.cohort.people is None else self.cohort.people)

    def _simulated(self) -> PublishedGroup:
        """Data sets of the paper's sizes; who judges is the model that made them."""
        setting = self.setting
        people = []
        for number in range(setting.sets):
            model = topic_model(SIMULATED, setting.simulated_topics, seed=setting.seed + number)
            drawn = trajectories(model, setting.window, seed=setting.seed + number)
            for place, whole in enumerate(drawn, 1):
                one = subject(number * SIMULATED + place, [whole], model, setting.window, setting.seed, own=False)
                people += [] if one is None else [one]
        chosen = spread(people, self.cohort.people)
        cells: list[Cell] = list(product(("activity",), self.deltas, SYSTEMS))
        return PublishedGroup("simulated", model, chosen, self.cohort.over("table 4", self._sweep(cells), chosen))
