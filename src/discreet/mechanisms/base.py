"""What mechanisms share: a model, a policy laid over it, and private states that are the contexts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.contracts import DayModel, Kernel, Needs, Utility
from discreet.errors import DiscreetError
from discreet.events import Events
from discreet.given import checked_pair, counted
from discreet.mechanisms.utility import mean_worth
from discreet.models.arrays import require
from discreet.models.routine.changing import Changing
from discreet.models.routine.pairs import PairRoutine
from discreet.models.routine.routine import Routine
from discreet.numerics import FloatArray, IntArray
from discreet.outputs import Output, truthful
from discreet.policy import Guarantee, Policy, SecretTable


def checked_given(model: object, policy: object, name: str) -> None:
    """Refuse what a mechanism of this name cannot be made of; a routine has no first day, an easy slip."""
    if isinstance(model, Routine | PairRoutine | Changing):
        raise DiscreetError("a routine has no first day; give routine.since(date), or routine.day(kind)")
    checked_pair(model, policy, name)


def described(name: str, model: object, policy: Policy, *options: str) -> str:
    """A mechanism in a line: its model, how much is secret, and what else was chosen."""
    secrets = counted(len(policy.secrets), "secret")
    return f"{name}({', '.join((repr(model), secrets, f'delta={policy.delta:g}', *options))})"


class ContextMechanism(ABC):
    """A mechanism whose private state is the current context: it keeps no memory of the true past.

    What is left to write: `guarantee`, `start`, `kernel` and `advance`; `needs`, where not every model will do;
    `worth`, where an output is worth something else than the truth it tells; `expected_utility`, where there is a
    quicker or exact way; and `law_cases`, where the constructor needs options.
    """

    needs: Needs = "any"
    guarantee: Guarantee

    def __init__(self, model: DayModel, policy: Policy) -> None:
        checked_given(model, policy, type(self).__name__)
        require(self.needs, model, type(self).__name__)
        self.model = model
        self.policy = policy
        self.secrets: SecretTable = self._laid()
        self.private_contexts: IntArray = np.arange(len(model.contexts))
        self.private_contexts.setflags(write=False)

    def _laid(self) -> SecretTable:
        """The policy over the model's slots, which are one day's unless a mechanism can do without an end."""
        return self.policy.for_model(self.model.contexts, self.model.slots)

    def remember(self, memory: int | None, context: int) -> int:
        """The private state is the context."""
        return context

    @abstractmethod
    def start(self) -> Any:
        """The public state at the start of a day."""

    @abstractmethod
    def kernel(self, state: Any) -> Kernel:
        """P(output | context), from public state alone, deterministic."""

    @abstractmethod
    def advance(self, state: Any, output: Output) -> Any:
        """The public state after an output; `Suppressed()` and `Skipped()` are always accepted."""

    def worth(self, context: str, output: Output) -> float:
        """How much of the truth an output tells."""
        return truthful(context, output)

    def expected_utility(self, days: int | None = None) -> Utility:
        """Over every sequence of outputs where these are few, else the mean over `days` days of the model."""
        return mean_worth(self, days)

    @classmethod
    def law_cases(cls, model: DayModel) -> Iterable[Mapping[str, Any]]:
        """It needs no options."""
        return ({},)

    def __repr__(self) -> str:
        return described(type(self).__name__, self.model, self.policy)


class MemoryMechanism(ContextMechanism):
    """A mechanism that remembers the context before: its private states are pairs of contexts.

    With n contexts, private state `before * n + now` is being at `now` after `before`; in the first slot of a day,
    where there is none before, a context follows itself. Kernels have n * n rows, in this order: `rows(per_pair)` makes
    them from an array (n, n, outputs). What is left to write is as for `ContextMechanism`.
    """

    def __init__(self, model: DayModel, policy: Policy) -> None:
        super().__init__(model, policy)
        n = len(model.contexts)
        self.private_contexts = np.tile(np.arange(n), n)
        self.private_contexts.setflags(write=False)

    def remember(self, memory: int | None, context: int) -> int:
        """The pair of the context before, which is what memory ended with, and this one."""
        n = len(self.model.contexts)
        before = context if memory is None else memory % n
        return before * n + context

    def rows(self, per_pair: npt.ArrayLike) -> FloatArray:
        """(n * n, outputs): the rows of a kernel from (n, n, outputs): the context before, this one, the output."""
        given = np.asarray(per_pair, dtype=np.float64)
        n = len(self.model.contexts)
        if given.ndim != 3 or given.shape[:2] != (n, n):
            raise DiscreetError(
                f"a kernel's rows have shape {given.shape}; give ({n}, {n}, outputs): context before, context, output"
            )
        return given.reshape(n * n, -1)


class SlotMechanism(ContextMechanism):
    """A mechanism whose public state is the slot: its kernels do not depend on what was output."""

    def start(self) -> int:
        """The first slot."""
        return 0

    def advance(self, state: int, output: Output) -> int:
        """The next slot, whatever was output."""
        return state + 1


def events_of(model: DayModel, events: Events | None) -> Events:
    """The events given, which must be those of the model, or else those that its contexts are the labels of."""
    if events is None:
        return Events.of_contexts(model.contexts)
    if model.contexts != events.contexts:
        raise DiscreetError(
            f"the model's contexts, {len(model.contexts)} of them, are not those of the events, "
            f"{len(events.contexts)}; learn the model from the same events (model.contexts == events.contexts)"
        )
    return events
