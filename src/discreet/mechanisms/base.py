"""What mechanisms share: a model, a policy laid over it, and private states that are the contexts."""

from __future__ import annotations

import numpy as np

from discreet.contracts import IntArray, Model
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
