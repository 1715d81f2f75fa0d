"""MaskIt's hybrid check (paper, Section 5): the better of the other two for this person."""

from __future__ import annotations

from typing import Literal

from discreet.contracts import AnyMechanism, DayModel, Kernel, Needs, Utility
from discreet.mechanisms.base import ContextMechanism
from discreet.mechanisms.maskit.probabilistic import Probabilistic, Search
from discreet.mechanisms.maskit.simulatable import LastRelease, Simulatable
from discreet.outputs import Output
from discreet.policy import Policy


class Hybrid(ContextMechanism):
    """The simulatable or the probabilistic check, whichever releases more by exact expected utility (Theorem 5).

    `chosen` says which, `advantage` by how much it is ahead of the other; `simulatable` and `probabilistic` are both.
    Of equals the simulatable check is chosen: it needs no coins. The choice looks at model and policy alone, so it says
    nothing, and the chosen check's guarantee holds.
    """

    needs: Needs = "chain"

    def __init__(
        self,
        model: DayModel,
        policy: Policy,
        *,
        lookahead: bool = False,
        search: Search = "best",
        grid: int = 10,
        budget: int | None = None,
    ) -> None:
        super().__init__(model, policy)
        self.simulatable = Simulatable(model, policy, lookahead=lookahead)
        self.probabilistic = Probabilistic(model, policy, search=search, grid=grid, budget=budget)
        lead = float(self.probabilistic.expected_utility()) - float(self.simulatable.expected_utility())
        self.chosen: Literal["simulatable", "probabilistic"] = "probabilistic" if lead > 0 else "simulatable"
        self.advantage = abs(lead)
        self._check: AnyMechanism = self.probabilistic if lead > 0 else self.simulatable
        self.guarantee = self._check.guarantee

    def start(self) -> LastRelease | int:
        """The chosen check's public state."""
        return self.simulatable.start() if self.chosen == "simulatable" else self.probabilistic.start()

    def kernel(self, state: LastRelease | int) -> Kernel:
        """The chosen check's."""
        return self._check.kernel(state)

    def advance(self, state: LastRelease | int, output: Output) -> LastRelease | int:
        """The chosen check's."""
        following: LastRelease | int = self._check.advance(state, output)
        return following

    def expected_utility(self, days: int | None = None) -> Utility:
        """The better of the two, exact."""
        best = self.simulatable if self.chosen == "simulatable" else self.probabilistic
        return best.expected_utility()
