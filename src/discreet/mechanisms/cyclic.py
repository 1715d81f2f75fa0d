"""Mechanisms whose kernels depend on the slot of the day alone, over one day or over days closed to a circle.

CAPP's paper takes time for cyclic (section 3.1: Z_{N+m} = Z_m): after the last slot of a day comes the first one. So it
is in a routine of one kind of day, whose priors repeat every day: the step from the last slot to the first is its
night.
"""

from __future__ import annotations

import datetime as dt
from abc import abstractmethod
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.adversary.endless import EndlessAdversary
from discreet.adversary.endless_belief import LIVE, EndlessBelief
from discreet.contracts import DayModel, computed_once, secrets_over
from discreet.errors import DiscreetError, HorizonError, OneDayError
from discreet.kernels import FiniteKernel
from discreet.mechanisms.base import ContextMechanism
from discreet.mechanisms.unchanging import UnchangingStream
from discreet.models.chain.markov import MarkovChain
from discreet.models.routine.changing import ChangingChain
from discreet.models.routine.endless import EndlessChain
from discreet.numerics import FloatArray
from discreet.outputs import Output, Skipped
from discreet.policy import Policy, SecretTable


@dataclass(frozen=True)
class Round:
    """The public state without end. Kernels depend on the slot alone; the belief is kept to be shown."""

    slot: int
    skipped: bool  # nothing was decided in the slot before
    belief: EndlessBelief = field(compare=False, repr=False)
    cuts: tuple[int, ...] = ()  # habits do not change
    others: tuple[EndlessBelief, ...] = ()  # no other observers are in mind


def day_of(model: EndlessChain, name: str) -> MarkovChain:
    """The chain of every day of a routine of one kind of day, from the prior that its first slot always has."""
    kind, *others = model.routine.kinds
    daily = f"{name}(routine.day({kind!r}), policy), which starts anew each day"
    if isinstance(model, ChangingChain):
        raise OneDayError(f"{name} over a model that has no end needs habits that do not change; use {daily}")
    if others:
        raise OneDayError(
            f"{name} over a model that has no end needs one kind of day, because its days are all alike (time is "
            f"cyclic), and the routine has {len(others) + 1}: {', '.join(model.routine.kinds)}; learn it with by=None, "
            f"or use {daily}"
        )
    cycle = model.routine.cycle
    if cycle is None:
        raise OneDayError(
            f"{name} over a model that has no end needs priors that repeat every day, and the routine has no one "
            f"stationary distribution; learn it with a floor, or use {daily}"
        )
    if not model.periodic:
        raise OneDayError(
            f"{name} over a model that has no end needs priors that repeat every day; leave initial out of "
            "routine.since(date)"
        )
    return MarkovChain(model.contexts, cycle[0, 0], model.routine.day(kind).transitions)


class CircleMechanism(UnchangingStream, ContextMechanism):
    """What is left to write is as for `ContextMechanism`, with `kernel_at(slot)` for `start`, `kernel` and `advance`.

    `day` is the chain that kernels are made from, the model itself where that is of one day. `steps[t]` leads from slot
    t to the next one: with `cyclic`, without end, there are as many as slots, and the last one leads to slot 0.
    """

    def __init__(self, model: DayModel | EndlessChain, policy: Policy, *, cyclic: bool = True) -> None:
        if not isinstance(cyclic, bool):
            raise DiscreetError(f"cyclic is {cyclic!r}; give True or False")
        given: Any = model
        self.day: DayModel = day_of(model, type(self).__name__) if isinstance(model, EndlessChain) else given
        super().__init__(given, policy)
        self.model: Any = given  # of one day, or without end
        self.cyclic = cyclic
        self.steps: FloatArray = self.day.transitions
        self._watching: EndlessAdversary | None = None
        if isinstance(model, EndlessChain):
            if cyclic:
                self.steps = np.concatenate([self.steps, model.routine.night(model.start)[None]])
            self._watching = self._observer()

    def _laid(self) -> SecretTable:
        """Over a day without end, windows over the cut stay whole."""
        return secrets_over(self.policy, self.model)

    def _observer(self) -> EndlessAdversary:
        adversary = EndlessAdversary(self)
        try:
            adversary.horizon  # noqa: B018  # asked for now: habits without one are refused before the first release
        except HorizonError as error:
            kind = self.model.routine.kinds[0]
            raise OneDayError(
                f"{error}. Or use {type(self).__name__}(routine.day({kind!r}), policy), which starts anew each day"
            ) from None
        return adversary

    @abstractmethod
    def kernel_at(self, slot: int) -> FiniteKernel:
        """The kernel of a slot of the day."""

    def start(self) -> Any:
        """The first slot; without end a `Round`."""
        return 0 if self._watching is None else self.restored(self._watching.start(), False)

    def kernel(self, state: Any) -> FiniteKernel:
        """The slot's, on every day."""
        return self.kernel_at(state.slot % self.day.slots if isinstance(state, Round) else state)

    def advance(self, state: Any, output: Output) -> Any:
        """The next slot, whatever was output; without end with the belief that it leads to."""
        if not isinstance(state, Round):
            return state + 1
        if isinstance(output, Skipped):
            return self.retraced(state, output, np.ones(len(self.private_contexts)))
        return self.retraced(state, output, self.kernel(state).likelihood(output))

    # --- without end

    def retraced(self, state: Round, output: Output, column: FloatArray) -> Round:
        """The public state after an output that had this likelihood (P,) when it was drawn."""
        return self.restored(state.belief.unsettled(LIVE).after(column), isinstance(output, Skipped))

    @property
    def adversary(self) -> EndlessAdversary:  # type: ignore[override]  # of a day there is none
        """Over a model without end, the observer whose belief public states hold."""
        if self._watching is None:
            raise DiscreetError(
                f"adversary is for days without end; give {type(self).__name__} a routine.since(date) of one kind of "
                "day, or use discreet.adversary.Adversary(mechanism)"
            )
        return self._watching

    @property
    def horizon(self) -> int | None:
        """Over a model without end, how many slots ahead rows of secrets are live; None for a day's."""
        return None if self._watching is None else self._watching.horizon

    def restored(
        self,
        belief: EndlessBelief,
        skipped: bool,
        cuts: tuple[int, ...] = (),
        others: tuple[EndlessBelief, ...] = (),
    ) -> Round:
        """The public state of a checkpoint, over a model without end."""
        return Round(belief.slot, skipped, belief)

    @computed_once
    def settings(self) -> str:
        """What, beside model and policy, kernels without end depend on; a day's are checked by their outputs."""
        name = type(self).__name__
        return name if self._watching is None else f"{name}, {self._options()}, cyclic {self.cyclic}"

    @abstractmethod
    def _options(self) -> str:
        """The options that kernels depend on, beside `cyclic`."""

    def since(self, date: dt.date | str) -> Any:
        """The same mechanism from another date on, with the kernels that it has made."""
        other = copy(self)
        other.model = self.adversary.model.routine.since(date)
        other._watching = EndlessAdversary(other, tables=self.adversary.tables)
        return other
