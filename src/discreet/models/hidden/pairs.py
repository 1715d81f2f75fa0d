"""Habits of one day over the last two contexts: `MarkovChain.fit(days, order=2)`.

A chain over pairs of which the current context is seen: a hidden Markov model, whose states a reader of the contexts
knows all the same. A release shows a context, not the pair, so it does not close the past as on a chain.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from discreet.clock import Clock
from discreet.contracts import computed_once
from discreet.models import arrays
from discreet.models.hidden.markov import HiddenMarkovModel
from discreet.models.learning.counts import Counts, estimate
from discreet.models.learning.order_two import factors, tilted, triples
from discreet.models.pairs import Pairs
from discreet.numerics import FloatArray


class PairChain(HiddenMarkovModel):
    """P(first state) and P(state | state before) for each slot: initial (S,), transitions (T-1, S, S)."""

    def __init__(
        self, pairs: Pairs, initial: npt.ArrayLike, transitions: npt.ArrayLike, *, clock: Clock | None = None
    ) -> None:
        super().__init__(pairs.contexts, initial, transitions, pairs.emission, clock=clock)
        self.pairs = pairs

    def step_log_likelihood(self, days: arrays.Labels) -> FloatArray:
        """(D, T): natural logarithm of each step's probability; -inf where impossible or never seen."""
        codes = self.codes(days, missing=-1)
        known = np.where(codes < 0, 0, codes)
        states = self.pairs.table[np.concatenate([known[:, :1], known[:, :-1]], axis=1), known]
        steps = np.empty(codes.shape)
        steps[:, 0] = self.initial[states[:, 0]]
        steps[:, 1:] = self.transitions[np.arange(self.slots - 1), states[:, :-1], states[:, 1:]]
        steps[(codes < 0).cumsum(axis=1) > 0] = 0
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(steps))

    @computed_once
    def fingerprint(self) -> str:
        """A digest: equal models have equal fingerprints."""
        return arrays.fingerprint(["pairs", self.contexts, self.pairs.table, self.initial, self.transitions])

    def __repr__(self) -> str:
        return f"PairChain({self.pairs.states} pairs of {len(self.contexts)} contexts, {self.slots} slots)"


def fit_pairs(counts: Counts, rows: Sequence[Sequence[str]], clock: Clock | None) -> PairChain:
    """The chain over one context that counts amount to, with what the days say of the context before."""
    initial, transitions = estimate(counts)
    pairs = Pairs.of(counts.contexts, np.argsort(-counts.occupancy, kind="stable").tolist())
    counted = triples(arrays.encoded(rows, counts.contexts), len(counts.contexts))
    steps = tilted(transitions, factors(counted, pairs), pairs)
    return PairChain(pairs, pairs.start(initial), steps, clock=clock)
