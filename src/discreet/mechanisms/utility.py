"""Expected utility of any mechanism: exactly over its tree of outputs where that is small, else by simulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.adversary.belief import Adversary, Belief
from discreet.contracts import AnyMachine, AnyMechanism, Utility, is_finite
from discreet.models.sampling import sampled_days, sampled_stream
from discreet.outputs import Output
from discreet.randomness import SeededEntropy

Worth = Callable[[str, Output], float]

TREE = 2_000
"""Kernels of a tree of outputs that is small enough to know its utility exactly."""

STREAM_DAYS = 56
"""Days of a stream drawn where there is no last one: eight weeks."""

POSITIONS = 24
"""Positions of a stream without days that are one sample."""

DAYS = 200
"""Days drawn where it is not: a half-width of at most 0.07 for worths from 0 to 1."""


def mean_worth(mechanism: AnyMechanism, days: int | None = None) -> Utility:
    """The expected worth of a slot's output, as the mechanism counts worth."""
    exact = tree_utility(mechanism, mechanism.worth, TREE)
    return simulated_utility(mechanism, mechanism.worth, DAYS if days is None else days) if exact is None else exact


def tree_utility(mechanism: AnyMachine, worth: Worth, most: int) -> Utility | None:
    """Mean worth of a slot over every sequence of outputs; None if there are more than `most` kernels."""
    adversary = Adversary(mechanism)
    labels = [mechanism.model.contexts[c] for c in mechanism.private_contexts.tolist()]
    level: list[tuple[float, Any, Belief]] = [(1.0, mechanism.start(), adversary.start())]
    total, seen = 0.0, 0
    for slot in range(mechanism.model.slots):
        following: list[tuple[float, Any, Belief]] = []
        for chance, state, belief in level:
            kernel, seen = mechanism.kernel(state), seen + 1
            if not is_finite(kernel) or seen > most:
                return None
            told = belief.predicted()[:, None] * kernel.matrix  # (P, O)
            for k, output in enumerate(kernel.outputs):
                possible = np.flatnonzero(told[:, k]).tolist()
                total += chance * sum(told[m, k] * worth(labels[m], output) for m in possible)
                if possible and slot + 1 < mechanism.model.slots:
                    after = belief.after(kernel.likelihood(output))
                    following.append((chance * float(told[:, k].sum()), mechanism.advance(state, output), after))
        level = following
    return Utility(float(total) / mechanism.model.slots)


def simulated_utility(
    mechanism: AnyMachine, worth: Worth, days: int, seed: int = 0, *, averaged: bool = False
) -> Utility:
    """Mean worth of a slot over days drawn from the model, with its 95 % half-width. Seeded, hence repeatable.

    `averaged` counts for each slot what its outputs are worth on average, given the public state, instead of the one
    that was drawn: less spread for more work, where outputs are finitely many.
    """
    contexts = mechanism.model.contexts
    entropy = SeededEntropy(seed)
    means = []
    for path in sampled_days(mechanism.model, days, seed):
        state, private, total = mechanism.start(), None, 0.0
        for context in path:
            private = mechanism.remember(private, context)
            kernel = mechanism.kernel(state)
            output = kernel.sample(private, entropy)
            if averaged and is_finite(kernel):
                worths = np.array([worth(contexts[context], each) for each in kernel.outputs])
                total += float(kernel.matrix[private] @ worths)
            else:
                total += worth(contexts[context], output)
            state = mechanism.advance(state, output)
        means.append(total / mechanism.model.slots)
    spread = float(np.std(means, ddof=1)) if days > 1 else float("inf")
    # days that all came out alike do not make it exact: 3 / days bounds what was never seen, at the same 95 %
    return Utility(float(np.mean(means)), max(1.96 * spread / float(np.sqrt(days)), 3 / days if spread == 0 else 0.0))


def stream_utility(mechanism: Any, worth: Worth, days: int, seed: int = 0) -> Utility:
    """The same for a model without end: one stream of so many days, drawn from it; days are the samples.

    Of positions, which have no days, POSITIONS in a row are a sample.

    What outputs of a slot are worth on average counts, given the public state and the truth. Days in a row are not
    independent, so the half-width is a little too small where habits last longer than a day.
    """
    model, entropy = mechanism.model, SeededEntropy(seed)
    slots = model.day_slots or POSITIONS
    path = sampled_stream(model, days * slots, seed)
    state, private = mechanism.start(), None
    totals = np.zeros(days)
    for t, context in enumerate(path):
        private = mechanism.remember(private, context)
        kernel = mechanism.kernel(state)
        label = model.contexts[context]
        worths = np.array([worth(label, output) for output in kernel.outputs])
        totals[t // slots] += float((kernel.matrix[private] * worths).sum())
        state = mechanism.advance(state, kernel.sample(private, entropy))
    means = totals / slots
    spread = float(np.std(means, ddof=1)) if days > 1 else float("inf")
    return Utility(float(means.mean()), max(1.96 * spread / float(np.sqrt(days)), 3 / days if spread == 0 else 0.0))
