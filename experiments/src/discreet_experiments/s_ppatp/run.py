"""S-PPATP's reproduction as a whole: reads each data set once, computes what several figures share once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
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
BY_ATTRIBUTES = ("pa-markov", "adaptive-attributes")


def cells_of(figure: str, deltas: Sequence[float] = DELTAS) -> list[Cell]:
    """What has to be published for a figure, so that one of them alone takes no longer than it needs."""
    if figure in figures.SHOWN_IN:
        return list(product(("all", "one"), deltas, figures.SHOWN_IN[figure]))
    asked: dict[str, Iterable[Cell]] = {
        "table4": product(("activity",), deltas, SYSTEMS),
        "8": product(("one",), COMPOSED, (*BY_ATTRIBUTES, *WHOLE)),
        "9": product(KINDS, deltas, BY_ATTRIBUTES),
        "table5": product(("all",), (0.3,), SYSTEMS),
        "10": product(("one",), deltas, WHOLE),
    }
    return list(asked[figure])


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
            "4": lambda: figures.breaches("4", self._group("dining", "4"), setting),
            "5": lambda: figures.breaches("5", self._group("dining", "5"), setting),
            "6": lambda: figures.breaches("6", self._group("check-ins", "6"), setting),
            "7": lambda: figures.breaches("7", self._group("check-ins", "7"), setting),
            "8": lambda: figures.figure8([self._group(data, "8") for data in FILES]),
            "9": lambda: figures.figure9([self._group(data, "9") for data in FILES]),
            "table5": lambda: figures.table5([self._group(data, "table5") for data in FILES]),
            "10": lambda: figures.figure10([self._group(data, "10", count) for data in FILES for count in TOPICS_LOOK]),
        }

    def _group(self, data: EventData, figure: str, topics: int | None = None) -> PublishedGroup:
        """A data set's people, judged by a model of so many topics, with what the figure needs; all is made once."""
        count = self.setting.topics if topics is None else topics
        if (data, count) not in self._groups:
            model = self._model(data, count)
            people = self._subjects(data, model)
            self._groups[data, count] = PublishedGroup(data, model, people, [{} for _ in people])
        group = self._groups[data, count]
        missing = [cell for cell in cells_of(figure, self.deltas) if cell not in group.found[0]]
        if missing:
            made = self.cohort.over(f"figure {figure}: {data}, {count} topics", self._sweep(missing), group.people)
            found = [before | more for before, more in zip(group.found, made, strict=True)]
            group = self._groups[data, count] = replace(group, found=found)
        return group

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
        cells = cells_of("table4", self.deltas)
        return PublishedGroup("simulated", model, chosen, self.cohort.over("table 4", self._sweep(cells), chosen))
