"""Adaptive's experiments as a whole: recorded people, days in a row, the causal limit, what capping memory loses, one
picture, how true habits are, and how much of delta to spend."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from discreet.errors import DiscreetError
from discreet.models.learning.counts import Smoothing
from discreet_experiments.adaptive.attacked import on_attacks
from discreet_experiments.adaptive.figures import expectations, second_halves
from discreet_experiments.adaptive.frontier import DATA, on_observers
from discreet_experiments.adaptive.held import HISTORY, on_held
from discreet_experiments.adaptive.limits import CHAINS, HIDDEN, on_random_models
from discreet_experiments.adaptive.memory import VARIANTS, Variant, on_memory
from discreet_experiments.adaptive.odds import on_odds
from discreet_experiments.adaptive.person import Expected, Halves, expect, second_half
from discreet_experiments.adaptive.picture import DELTAS, PICTURED, Pictured, on_data_sets
from discreet_experiments.adaptive.truth import on_learners
from discreet_experiments.adaptive.weeks import LENGTHS, on_weeks
from discreet_experiments.shared.cohort import Cohort
from discreet_experiments.shared.figures import Figure, Reproduction
from discreet_experiments.shared.people import Trace
from discreet_experiments.shared.subjects import Setting

SMOOTHINGS: tuple[Smoothing, ...] = ("none", "auto")

PARTS = {
    "people": ("expected", "second_halves"),
    "weeks": ("weeks",),
    "truth": ("learners", "observers"),
    "attack": ("attacked",),
    "hold": ("held",),
    "limits": ("limit_chains", "limit_hidden"),
    "odds": ("odds",),
    "memory": ("memory",),
    "picture": ("picture",),
}


@dataclass(frozen=True)
class Extent:
    """How much of what is not the setting's: random models, variants of memory and people and days of each, deltas.

    `lengths` are those of runs of days, and `runs` how many of a length a person has at most. `only` is the one data
    set to look at, where there are several, and `history` the weeks that a share of delta is chosen by, at most.
    """

    chains: int = CHAINS
    hidden: int = HIDDEN
    variants: tuple[Variant, ...] = VARIANTS
    remembered: int = 4
    walked: int = 10
    deltas: tuple[float, ...] = DELTAS
    lengths: tuple[int, ...] = LENGTHS
    runs: int | None = None
    only: str | None = None
    history: int = HISTORY

    def of(self, sources: Sequence[Pictured]) -> Sequence[Pictured]:
        """Those of the data sets that are looked at."""
        found = [one for one in sources if self.only in (None, one.name)]
        if not found:
            names = ", ".join(one.name for one in sources)
            raise DiscreetError(f"there is no data set {self.only!r} here; give one of {names}")
        return found


@dataclass(frozen=True)
class AdaptiveReproduction(Reproduction):
    """The experiments on a cohort."""

    cohort: Cohort
    setting: Setting
    extent: Extent = field(default_factory=Extent)
    _halves: dict[Smoothing, tuple[list[Halves], float]] = field(default_factory=dict)

    def makers(self) -> dict[str, Callable[[], Figure]]:
        """A name a figure, in the order of `PARTS`."""
        extent, seed = self.extent, self.setting.seed
        return {
            "expected": self._expected,
            "second_halves": self._second_halves,
            "weeks": partial(on_weeks, self.cohort, self.setting, extent.lengths, extent.runs),
            "learners": lambda: on_learners(self.cohort, self.setting, extent.of(PICTURED)),
            "observers": lambda: on_observers(self.cohort, self.setting, extent.runs, extent.of(DATA)),
            "attacked": lambda: on_attacks(self.cohort, self.setting, extent.of(PICTURED)),
            "held": lambda: on_held(self.cohort, self.setting, extent.of(PICTURED), extent.history),
            "limit_chains": partial(on_random_models, self.cohort, seed, extent.chains, hidden=False),
            "limit_hidden": partial(on_random_models, self.cohort, seed, extent.hidden, hidden=True),
            "odds": lambda: on_odds(self.cohort, self.setting, extent.runs, extent.of(PICTURED)),
            "memory": partial(
                on_memory, self.cohort, self.setting, extent.variants, people=extent.remembered, days=extent.walked
            ),
            "picture": lambda: on_data_sets(self.cohort, self.setting, extent.of(PICTURED), extent.deltas),
        }

    def part(self, name: str) -> Iterator[Figure]:
        """The figures of one part, or of all."""
        names = [figure for own in PARTS.values() for figure in own] if name == "all" else PARTS[name]
        yield from (self.figure(figure) for figure in names)

    @cached_property
    def _traces(self) -> list[Trace]:
        return self.cohort.read(self.setting.rules)

    def _half(self, smoothing: Smoothing) -> tuple[list[Halves], float]:
        """Everybody's second half with one smoothing, and the seconds that took."""
        if smoothing not in self._halves:
            work = partial(second_half, setting=replace(self.setting, smoothing=smoothing))
            started = time.perf_counter()
            found = self.cohort.over(f"second halves, smoothing {smoothing}", work, self._traces, needed=True)
            self._halves[smoothing] = found, time.perf_counter() - started
        return self._halves[smoothing]

    @cached_property
    def _expectations(self) -> list[Expected]:
        return self.cohort.over("expected utility", partial(expect, setting=self.setting), self._traces, needed=True)

    def _left_out(self, took_part: int) -> tuple[str, ...]:
        missing = len(self._traces) - took_part
        return (f"people with one context only, left out: {missing}",) if missing else ()

    def _expected(self) -> Figure:
        halves, _ = self._half(self.setting.smoothing)
        return expectations(self._expectations, halves, self.setting, self._left_out(len(self._expectations)))

    def _second_halves(self) -> Figure:
        found = {each: self._half(each) for each in dict.fromkeys((self.setting.smoothing, *SMOOTHINGS))}
        halves = {each: people for each, (people, _) in found.items()}
        seconds = {each: taken for each, (_, taken) in found.items()}
        return second_halves(halves, seconds, self.setting, self._left_out(len(halves[self.setting.smoothing])))
