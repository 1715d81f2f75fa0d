"""Hidden Markov models: hidden states with habits of their own, contexts seen through them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np
import numpy.typing as npt

from discreet.clock import Clock
from discreet.contexts import Day
from discreet.contracts import computed_once
from discreet.errors import DiscreetError, ModelError
from discreet.models import arrays
from discreet.models.sampling import drawn
from discreet.numerics import FloatArray, IntArray, ordered_product

if TYPE_CHECKING:
    from discreet.models.hidden.endless import EndlessHidden


class HiddenMarkovModel(arrays.DayArrays):
    """P(Y_0), P(Y_t | Y_{t-1}), P(X_t | Y_t): initial (K,), transitions (T-1, K, K), emissions (K, n) or (T, K, n)."""

    first = 0

    def __init__(
        self,
        contexts: Iterable[str],
        initial: npt.ArrayLike,
        transitions: npt.ArrayLike,
        emissions: npt.ArrayLike,
        *,
        clock: Clock | None = None,
    ) -> None:
        self.contexts = arrays.labels(contexts)
        self.initial = arrays.probabilities(initial, (None,), "initial")
        k, n = len(self.initial), len(self.contexts)
        if k == 0:
            raise ModelError("the model has no hidden states; give at least one")
        self.transitions = arrays.probabilities(transitions, (None, k, k), "transitions")
        slots = len(self.transitions) + 1
        if arrays.dimensions(emissions) == 3:
            self.emissions = arrays.probabilities(emissions, (slots, k, n), "emissions")
        else:
            one = arrays.probabilities(emissions, (k, n), "emissions")
            self.emissions = np.broadcast_to(one, (slots, k, n))
        if clock is not None and clock.slots != slots:
            raise DiscreetError(f"the clock has {clock.slots} slots a day, the model {slots}; use the same")
        self.clock = clock

    @overload
    @classmethod
    def homogeneous(
        cls,
        contexts: Iterable[str],
        initial: npt.ArrayLike,
        transition: npt.ArrayLike,
        emission: npt.ArrayLike,
        slots: int,
    ) -> HiddenMarkovModel: ...
    @overload
    @classmethod
    def homogeneous(
        cls,
        contexts: Iterable[str],
        initial: npt.ArrayLike,
        transition: npt.ArrayLike,
        emission: npt.ArrayLike,
        slots: None = None,
    ) -> EndlessHidden: ...
    @classmethod
    def homogeneous(
        cls,
        contexts: Iterable[str],
        initial: npt.ArrayLike,
        transition: npt.ArrayLike,
        emission: npt.ArrayLike,
        slots: int | None = None,
    ) -> HiddenMarkovModel | EndlessHidden:
        """The same transition (K, K) and emission (K, n) at every slot; without `slots`, positions without end."""
        if slots is None:
            from discreet.models.hidden.endless import EndlessHidden

            return EndlessHidden(contexts, initial, transition, emission)
        k = len(arrays.probabilities(initial, (None,), "initial"))
        model = cls(contexts, initial, np.zeros((0, k, k)), emission)
        model.transitions = arrays.homogeneous(transition, k, slots)
        model.emissions = np.broadcast_to(model.emissions[0], (slots, *model.emissions.shape[1:]))
        return model

    @cached_property
    def state_prior(self) -> FloatArray:
        """(T, K): P(Y_t)."""
        return arrays.state_prior(self.initial, self.transitions)

    @computed_once
    def prior(self) -> FloatArray:
        """(T, n): P(X_t)."""
        rows = [ordered_product(*pair) for pair in zip(self.state_prior, self.emissions, strict=True)]
        prior: FloatArray = np.array(rows)
        prior.setflags(write=False)
        return prior

    def emission(self, t: int) -> FloatArray:
        """(K, n): P(X_t | Y_t)."""
        return arrays.at_slot(self.emissions, t, "emission")

    @computed_once
    def fingerprint(self) -> str:
        """A digest: equal models have equal fingerprints."""
        return arrays.fingerprint(["hidden", self.contexts, self.initial, self.transitions, self.emissions])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HiddenMarkovModel) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"HiddenMarkovModel({len(self.initial)} states, {len(self.contexts)} contexts, {self.slots} slots)"

    def codes(self, days: arrays.Labels, missing: int | None = None) -> IntArray:
        """(D, T) indices of the days' labels."""
        rows = arrays.as_rows(days)
        if len(rows[0]) != self.slots:
            raise DiscreetError(
                f"the days have {len(rows[0])} slots, the model has {self.slots}; cut them with its clock"
            )
        return arrays.encoded(rows, self.contexts, missing)

    def log_likelihood(self, days: arrays.Labels) -> FloatArray:
        """(D,): natural logarithm of each day's probability; -inf for a day that the model holds impossible."""
        codes = self.codes(days, missing=-1)
        scores = np.zeros(len(codes))
        for d, row in enumerate(codes):
            belief = self.initial
            for t, code in enumerate(row):
                if t:
                    belief = belief @ self.transitions[t - 1]
                belief = belief * self.emissions[t, :, code] if code >= 0 else np.zeros_like(belief)
                total = belief.sum()
                if not total > 0:
                    scores[d] = -np.inf
                    break
                scores[d] += np.log(total)
                belief = belief / total
        return scores

    def sample(self, days: int, seed: int) -> list[Day]:
        """Draw days for experiments."""
        return [Day(tuple(self.contexts[c] for c in row)) for row in self.sample_codes(days, seed)]

    def sample_codes(self, days: int, seed: int) -> IntArray:
        """(D, T) indices of drawn days."""
        rng = np.random.default_rng(seed)
        codes = np.empty((days, self.slots), dtype=np.int64)
        state = drawn(np.broadcast_to(self.initial, (days, len(self.initial))), rng)
        for t in range(self.slots):
            if t:
                state = drawn(self.transitions[t - 1][state], rng)
            codes[:, t] = drawn(self.emissions[t][state], rng)
        return codes
