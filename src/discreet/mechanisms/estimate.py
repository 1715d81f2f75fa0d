"""Expected utility by simulation, where no recursion gives it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.contracts import Mechanism, Model, Utility
from discreet.outputs import Output
from discreet.randomness import SeededEntropy


def simulated_utility(
    mechanism: Mechanism[Any], worth: Callable[[str, Output], float], days: int, seed: int = 0
) -> Utility:
    """Mean worth of a slot over days drawn from the model, with its 95 % half-width. Seeded, hence repeatable."""
    contexts = mechanism.model.contexts
    entropy = SeededEntropy(seed)
    means = []
    for path in sampled_days(mechanism.model, days, seed):
        state, private, total = mechanism.start(), None, 0.0
        for context in path:
            private = mechanism.remember(private, context)
            output = mechanism.kernel(state).sample(private, entropy)
            total += worth(contexts[context], output)
            state = mechanism.advance(state, output)
        means.append(total / mechanism.model.slots)
    spread = float(np.std(means, ddof=1)) if days > 1 else float("inf")
    return Utility(float(np.mean(means)), 1.96 * spread / float(np.sqrt(days)))


def sampled_days(model: Model, days: int, seed: int) -> list[list[int]]:
    """Days of context indices drawn from any model."""
    rng = np.random.default_rng(seed)
    paths: list[list[int]] = []
    for _ in range(days):
        path: list[int] = []
        state = 0
        for slot in range(model.slots):
            row = model.initial if slot == 0 else model.transitions[slot - 1][state]
            state = int(rng.choice(len(row), p=row))
            if model.emissions is None:
                path.append(state)
            else:
                path.append(int(rng.choice(len(model.contexts), p=model.emissions[slot][state])))
        paths.append(path)
    return paths
