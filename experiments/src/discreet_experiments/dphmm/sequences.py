"""The sequences of some cities, released by many parameters, in several processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from discreet.errors import DiscreetError
from discreet_experiments.dphmm.city import City, read_city
from discreet_experiments.dphmm.person import Measured, Parameters, Start, Work, work
from discreet_experiments.shared.cohort import Cohort
from discreet_experiments.shared.positions import BEIJING, LOS_ANGELES, Recording

SYSTEMS = ("util", "trs", "dpls")

TOGETHER = 2
"""Sequences a process takes at a time."""


@dataclass(frozen=True)
class Trial:
    """What is released, and how."""

    sequences: int = 20
    slots: int = 100
    epsilon: float = 1.0
    start: Start = "known"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.start not in ("known", "habit"):
            raise DiscreetError(f"start={self.start!r} is not known; use 'known' or 'habit'")


@dataclass(frozen=True)
class Sequences:
    """The sequences of some cities, released by any parameters; what figures share is computed once."""

    cohort: Cohort
    setting: Trial
    recordings: tuple[Recording, ...] = (BEIJING, LOS_ANGELES)
    _cities: list[City] = field(default_factory=list)
    _found: dict[tuple[str, Parameters], list[Measured]] = field(default_factory=dict)

    @property
    def cities(self) -> list[City]:
        """Read once."""
        if not self._cities:
            for recording in self.recordings:
                with self.cohort.bar(f"reading {recording.name}") as report:
                    self._cities.append(
                        read_city(self.cohort.folder, recording, self.setting.sequences, self.setting.slots, report)
                    )
        return self._cities

    @property
    def note(self) -> str:
        """Whom and how, in a line."""
        start = "a known start" if self.setting.start == "known" else "a start by habit"
        return f"{'; '.join(city.described() for city in self.cities)}; {start}"

    @property
    def caption(self) -> str:
        """The same, as short as a chart's second line."""
        cells = ", ".join(f"{city.recording.name} ({len(city.contexts)} cells)" for city in self.cities)
        counts = " and ".join(sorted({str(len(city.tracks)) for city in self.cities}))
        return f"{cells}: {counts} sequences of {self.setting.slots} slots" + (
            "; the start is known" if self.setting.start == "known" else ""
        )

    def run_of(self, city: City, name: str) -> Parameters:
        """The paper's defaults."""
        return Parameters(name, self.setting.epsilon, city.recording.radius if name == "util" else None)

    def released(self, what: str, city: City, runs: Sequence[Parameters]) -> dict[Parameters, list[Measured]]:
        """Every sequence by every run, those computed before not again."""
        name = city.recording.name
        wanted = tuple(dict.fromkeys(run for run in runs if (name, run) not in self._found))
        if wanted:
            numbers = range(len(city.tracks))
            items = [
                Work(city, tuple(numbers[k : k + TOGETHER]), wanted, self.setting.start, self.setting.seed)
                for k in range(0, len(numbers), TOGETHER)
            ]
            answers = [one for some in self.cohort.over(f"{what}, {name}", work, items) for one in some]
            for run in wanted:
                self._found[name, run] = [one[run] for one in answers]
        return {run: self._found[name, run] for run in runs}

    def defaults(self, what: str, city: City) -> dict[str, list[Measured]]:
        """Every sequence by the systems with the paper's defaults."""
        runs = {name: self.run_of(city, name) for name in SYSTEMS}
        found = self.released(what, city, list(runs.values()))
        return {name: found[run] for name, run in runs.items()}
