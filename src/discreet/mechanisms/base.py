"""What mechanisms share: a model, a policy laid over it, and private states that are the contexts."""

from __future__ import annotations

import numpy as np

from discreet.contracts import Model
from discreet.errors import DiscreetError
from discreet.events import Events
from discreet.numerics import IntArray
from discreet.outputs import Output
from discreet.policy import Policy, SecretTable


class ContextMechanism:
    """A mechanism whose private state is the current context: it keeps no memory of the true past."""

    def __init__(self, model: Model, policy: Policy) -> None:
        self.model = model
        self.policy = policy
        self.secrets: SecretTable = policy.for_model(model.contexts, model.slots)
        self.private_contexts: IntArray = np.arange(len(model.contexts))

    def remember(self, memory: int | None, context: int) -> int:
        """The private state is the context."""
        return context

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, {len(self.policy.secrets)} secrets, delta={self.policy.delta:g})"


class SlotMechanism(ContextMechanism):
    """A mechanism whose public state is the slot: its kernels do not depend on what was output."""

    def start(self) -> int:
        """The first slot."""
        return 0

    def advance(self, state: int, output: Output) -> int:
        """The next slot, whatever was output."""
        return state + 1


def events_of(model: Model, events: Events | None) -> Events:
    """The events given, which must be those of the model, or else those that its contexts are the labels of."""
    if events is None:
        return Events.of_contexts(model.contexts)
    if model.contexts != events.contexts:
        raise DiscreetError(
            f"the model's contexts, {len(model.contexts)} of them, are not those of the events, {len(events.contexts)}; "
            "learn the model from the same events (model.contexts == events.contexts)"
        )
    return events
