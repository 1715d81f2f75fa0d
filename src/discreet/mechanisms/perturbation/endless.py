"""DPHMM over a model without end: a filter and a support that never end, in the room of a day.

The public state is the slot, the belief, and what is possible; kernels depend on nothing else. What a day keeps of all
its outputs, a stream keeps as sums (`OdometerSums`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from discreet.adversary.endless import EndlessAdversary
from discreet.adversary.endless_belief import EndlessBelief
from discreet.adversary.filters import ChainFilter
from discreet.adversary.rows import Tables
from discreet.errors import DiscreetError
from discreet.mechanisms.perturbation.odometer import OdometerReading, OdometerSums
from discreet.models.routine.changing import ChangingChain
from discreet.numerics import BoolArray, FloatArray
from discreet.outputs import Output

if TYPE_CHECKING:
    from discreet.mechanisms.perturbation.dphmm import Dphmm
    from discreet.mechanisms.perturbation.kernel import PerturbedKernel

LIVE = 512
"""Past rows of secrets that are kept to be shown. No kernel depends on them, so the oldest may go."""


@dataclass(frozen=True)
class EndlessState:
    """The public state of a stream without end. States are equal if slot, belief and what is possible are."""

    slot: int
    key: bytes  # a digest of the belief and of what is possible
    skipped: bool  # nothing was decided in the slot before; kernels do not depend on it
    belief: EndlessBelief = field(compare=False, repr=False)
    spent: OdometerSums = field(compare=False)
    cuts: tuple[int, ...] = ()  # habits do not change
    others: tuple[EndlessBelief, ...] = ()  # noise has no observers in mind

    @property
    def reached(self) -> BoolArray:
        """(n,): contexts of the slot before that outputs leave possible: exactly, where the belief may underflow.

        Where it underflowed to zero everywhere, and so was taken to say nothing, what it holds possible is among them.
        """
        return self.belief.possible


CHANGES = (
    "noise goes on with the habits and the policy that it was made for; begin a new stream where they change: "
    "Dphmm(routine.since(date, initial=...), ...), where initial is what the belief has predicted for its first slot"
)


class EndlessFilter:
    """The filter of a model without end."""

    def __init__(self, mechanism: Dphmm, tables: Tables | None = None) -> None:
        if isinstance(mechanism.model, ChangingChain):
            raise DiscreetError(CHANGES)
        self.adversary = EndlessAdversary(mechanism, tables=tables)
        if not isinstance(self.adversary.filter, ChainFilter):
            raise DiscreetError(
                "noise without end is for Markov chains; give routine.since(date), or a hidden Markov model that ends "
                "(slots=...)"
            )
        self._chain = self.adversary.filter
        try:
            self.horizon = self.adversary.horizon
        except DiscreetError as error:
            raise DiscreetError(f"{error}; or leave the policy out: noise needs none, it only shows gains") from None

    def start(self) -> EndlessState:
        """No outputs yet."""
        belief = self.adversary.start()
        return self._state(belief, False, self._from(belief.slot))

    def restored(self, belief: EndlessBelief, skipped: bool) -> EndlessState:
        """The public state of a checkpoint. What is spent is counted from there on."""
        return self._state(belief, skipped, self._from(belief.slot))

    def _from(self, slot: int) -> OdometerSums:
        date, of_day = self.adversary.model.date_of(slot)
        return OdometerSums(slot, date, of_day)

    def _state(self, belief: EndlessBelief, skipped: bool, spent: OdometerSums) -> EndlessState:
        return EndlessState(belief.slot, belief.digest(), skipped, belief, spent)

    def possible(self, state: EndlessState) -> BoolArray:
        """(n,): the contexts that are possible in the slot that comes next (Definition 4.1)."""
        step = self._chain.arrival(state.slot)[0]
        return np.asarray((step[state.reached] > 0).any(axis=0))

    def skipped(self, state: EndlessState) -> EndlessState:
        """One slot on in which nothing was decided: it tells nothing and costs nothing."""
        ones = np.ones(self.adversary.private_states)
        belief = state.belief.unsettled(LIVE).after(ones).holding(self.possible(state))
        return self._state(belief, True, state.spent.and_a_skip())

    def advance(
        self,
        state: EndlessState,
        output: Output,
        kernel: PerturbedKernel,
        reading: OdometerReading,
        column: FloatArray | None = None,
    ) -> EndlessState:
        """Bayes with the kernel that was used (Equation 2); silence, or what is never output, tells nothing.

        `column` is the likelihood that the output had when it was drawn, if that is known.
        """
        before = self.possible(state)
        reached = before & kernel.possible(output)
        if not reached.any():
            reached = before
        told = kernel.likelihood(output) if column is None else column
        belief = state.belief.unsettled(LIVE).after(told).holding(reached)
        return self._state(belief, False, state.spent.and_then(reading))
