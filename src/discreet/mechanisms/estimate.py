"""Expected utility by simulation, where no recursion gives it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.contracts import Mechanism, Utility
from discreet.models.sampling import sampled_days
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
    # days that all came out alike do not make it exact: 3 / days bounds what was never seen, at the same 95 %
    return Utility(float(np.mean(means)), max(1.96 * spread / float(np.sqrt(days)), 3 / days if spread == 0 else 0.0))
