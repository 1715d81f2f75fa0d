"""CAPP's reproduction as a whole: Figures 2 to 5, the data read once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from discreet_experiments.capp.figures import privacy_breaches, tradeoff
from discreet_experiments.capp.person import compare
from discreet_experiments.shared.cohort import Cohort
from discreet_experiments.shared.compared import Comparison
from discreet_experiments.shared.figures import Figure, Reproduction
from discreet_experiments.shared.people import Trace
from discreet_experiments.shared.subjects import Sensitive, Setting

DELTAS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
"""Of Figures 4 and 5: the range is the paper's, its steps are lost with the figures."""

SECRETS = {"3": 3, "5": 1}
"""Contexts at random that are secret, by figure (section 5.2)."""

DRAWN = 20
"""Days drawn from the model for an expected utility that is not known exactly."""


@dataclass(frozen=True)
class CappReproduction(Reproduction):
    """The experiments on a cohort: home as the secret in Figures 2 and 4, some at random in 3 and 5.

    `secrets` says how many at random; without, as many as in the paper.
    """

    cohort: Cohort
    setting: Setting
    secrets: int | None = None
    deltas: tuple[float, ...] = DELTAS
    _traces: list[Trace] = field(default_factory=list)

    def makers(self) -> dict[str, Callable[[], Figure]]:
        """The paper's figures."""
        return {
            "2": partial(self._breaches, "2", "home"),
            "3": partial(self._breaches, "3", "random"),
            "4": partial(self._tradeoff, "4", "home"),
            "5": partial(self._tradeoff, "5", "random"),
        }

    def _people(self, what: str, setting: Setting, days: int | None) -> list[Comparison]:
        if not self._traces:
            self._traces.extend(self.cohort.read(setting.rules))
        return self.cohort.over(what, partial(compare, setting=setting, days=days), self._traces, needed=True)

    def setting_of(self, which: str, secret: Sensitive) -> Setting:
        """The setting of one figure."""
        count = self.secrets or SECRETS.get(which, 1)
        return replace(self.setting, sensitive=secret, secrets=count)

    def _breaches(self, which: str, secret: Sensitive) -> Figure:
        setting = self.setting_of(which, secret)
        return privacy_breaches(which, secret, self._people(f"figure {which}", setting, DRAWN), setting)

    def _tradeoff(self, which: str, secret: Sensitive) -> Figure:
        setting = self.setting_of(which, secret)
        points = {
            delta: self._people(f"figure {which}, delta {delta:g}", replace(setting, delta=delta), None)
            for delta in self.deltas
        }
        return tradeoff(which, secret, points, setting)
