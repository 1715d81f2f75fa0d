"""DPHMM's reproduction as a whole: reads each city once, releases a sequence by the same parameters once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

from discreet_experiments.dphmm import figures
from discreet_experiments.dphmm.families import families
from discreet_experiments.dphmm.sequences import Sequences, Trial
from discreet_experiments.shared.cohort import Cohort
from discreet_experiments.shared.figures import Figure, Reproduction
from discreet_experiments.shared.positions import BEIJING, LOS_ANGELES, Recording


@dataclass(frozen=True)
class DphmmReproduction(Reproduction):
    """The experiments on some cities."""

    cohort: Cohort
    setting: Trial
    recordings: tuple[Recording, ...] = (BEIJING, LOS_ANGELES)

    @cached_property
    def sequences(self) -> Sequences:
        """What is released, and by which parameters so far."""
        return Sequences(self.cohort, self.setting, self.recordings)

    def makers(self) -> dict[str, Callable[[], Figure]]:
        """The paper's results, and some beside them."""
        of = self.sequences
        return {
            "10": partial(figures.run_time, of),
            "11": partial(figures.over_time, of),
            "12": partial(figures.swept, of, "12"),
            "13": partial(figures.swept, of, "13"),
            "hulls": partial(figures.hulls, of),
            "noise": partial(figures.noise, of),
            "map": partial(figures.way, of),
            "families": lambda: families(self.cohort, of.cities[0], self.setting.seed),
        }
