"""The two answers everybody tries first: release everything, or hide exactly the secrets."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from discreet.contracts import DayModel, Utility
from discreet.kernels import FiniteKernel
from discreet.mechanisms.base import SlotMechanism
from discreet.numerics import FloatArray
from discreet.outputs import SUPPRESSED, Output, Released
from discreet.policy import Guarantee, Policy


class NoMask(SlotMechanism):
    """Releases the true context at every slot."""

    guarantee = Guarantee("none", "every context is released as it is", proven=False)

    @cached_property
    def _kernel(self) -> FiniteKernel:
        outputs: tuple[Output, ...] = tuple(Released(context) for context in self.model.contexts)
        return FiniteKernel(outputs, np.eye(len(outputs), dtype=np.int64), 1)

    def kernel(self, state: int) -> FiniteKernel:
        """The identity."""
        return self._kernel

    def expected_utility(self, days: int | None = None) -> Utility:
        """Every slot is released."""
        return Utility(1.0)


class MaskSensitive(SlotMechanism):
    """Suppresses exactly the secrets, where they hold (the MaskIt paper's baseline).

    It breaches: silence says that a secret is there, and what is released around it says which.
    """

    guarantee = Guarantee(
        "none", "secrets are not released, but silence and the releases around it give them away", proven=False
    )

    def __init__(self, model: DayModel, policy: Policy) -> None:
        super().__init__(model, policy)
        hidden = np.einsum("gt,gn->tn", self.secrets.active.astype(np.int64), self.secrets.members.astype(np.int64)) > 0
        self._kernels = tuple(self._suppressing(row) for row in hidden)
        self._hidden: FloatArray = hidden.astype(np.float64)  # (T, n): how much of a context is suppressed

    def _suppressing(self, hidden: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> FiniteKernel:
        outputs: tuple[Output, ...] = (*(Released(context) for context in self.model.contexts), SUPPRESSED)
        weights = np.zeros((len(hidden), len(outputs)), dtype=np.int64)
        weights[np.arange(len(hidden)), np.where(hidden, len(hidden), np.arange(len(hidden)))] = 1
        return FiniteKernel(outputs, weights, 1)

    def kernel(self, state: int) -> FiniteKernel:
        """Truth for what is not secret at the slot, silence for what is."""
        return self._kernels[state]

    def expected_utility(self, days: int | None = None) -> Utility:
        """The prior of everything that is not secret."""
        return Utility(float(1 - (self.model.prior * self._hidden).sum() / self.model.slots))
