"""A mechanism: `discreet release --mechanism timetable`. docs/mechanisms.md explains this one."""

from __future__ import annotations

import numpy as np

import discreet as d
from discreet.contracts import DayModel
from discreet.kernels import FiniteKernel, silent_kernel
from discreet.mechanisms.base import ContextMechanism


class Timetable(ContextMechanism):
    """Open slots show the truth, closed slots nothing; which are open depends on the habits alone."""

    guarantee = d.Guarantee(
        "exact delta",
        "opened only where an exact audit of the whole timetable holds",
        covers=frozenset({"each", "any"}),
    )

    def __init__(self, model: DayModel, policy: d.Policy) -> None:
        super().__init__(model, policy)
        self._truth = FiniteKernel(tuple(map(d.Released, model.contexts)), np.eye(len(model.contexts), dtype=int), 1)
        self._silence = silent_kernel(len(model.contexts))
        self.open: frozenset[int] = frozenset()
        for slot in range(model.slots):
            closed, self.open = self.open, self.open | {slot}
            if not d.audit(self, method="exact").holds:
                self.open = closed

    def start(self) -> int:
        """The public state is the slot."""
        return 0

    def kernel(self, state: int) -> FiniteKernel:
        """The truth or silence, by the timetable."""
        return self._truth if state in self.open else self._silence

    def advance(self, state: int, output: d.Output) -> int:
        """The next slot."""
        return state + 1
