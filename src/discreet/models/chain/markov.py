"""Markov chains over contexts, one transition matrix a slot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, overload

import numpy as np
import numpy.typing as npt

from discreet.clock import Clock
from discreet.contexts import Day
from discreet.contracts import computed_once
from discreet.errors import DiscreetError, ModelError, did_you_mean
from discreet.frames import Rows
from discreet.given import checked_count, words_for
from discreet.models import arrays
from discreet.models.learning.counts import Counts, Smoothing, checked_order, divided, estimate, steps_of
from discreet.models.sampling import drawn
from discreet.numerics import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from discreet.models.chain.week import Models
    from discreet.models.hidden.pairs import PairChain


class MarkovChain(arrays.DayArrays):
    """P(X_0) and P(X_t | X_{t-1}) for each slot: initial (n,), transitions (T-1, n, n).

    `counts` is what the chain was learned from (None if it was given), `clock` says when slots are, where known.
    """

    emissions: None = None
    first = 0

    def __init__(
        self,
        contexts: Iterable[str],
        initial: npt.ArrayLike,
        transitions: npt.ArrayLike,
        *,
        counts: Counts | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.contexts = arrays.labels(contexts)
        n = len(self.contexts)
        if arrays.dimensions(transitions) == 2:
            raise ModelError(
                "transitions is one matrix; give one for each step, (T-1, n, n), or use MarkovChain.homogeneous, which "
                "takes one for all"
            )
        self.initial = arrays.probabilities(initial, (n,), "initial")
        self.transitions = arrays.probabilities(transitions, (None, n, n), "transitions")
        self.counts = counts
        self._set_clock(clock)

    def _set_clock(self, clock: Clock | None) -> None:
        if clock is not None and not isinstance(clock, Clock):
            raise DiscreetError(f"the clock is {words_for(clock)}; give Clock(slots={self.slots}, zone='Europe/Paris')")
        if clock is not None and clock.slots != self.slots:
            raise DiscreetError(f"the clock has {clock.slots} slots a day, the chain {self.slots}; use the same")
        self.clock = clock

    @classmethod
    def homogeneous(
        cls, contexts: Iterable[str], initial: npt.ArrayLike, transition: npt.ArrayLike, slots: int
    ) -> MarkovChain:
        """The same transition at every slot; it is stored once."""
        labels = arrays.labels(contexts)
        chain = cls(labels, initial, np.zeros((0, len(labels), len(labels))))
        chain.transitions = arrays.homogeneous(transition, len(labels), slots)
        return chain

    @overload
    @classmethod
    def fit(
        cls,
        days: arrays.Labels | Rows,
        smoothing: Smoothing = "auto",
        contexts: Iterable[str] | None = None,
        *,
        by: None = None,
        clock: Clock | None = None,
        order: Literal[1] = 1,
    ) -> MarkovChain: ...
    @overload
    @classmethod
    def fit(
        cls,
        days: arrays.Labels | Rows,
        smoothing: Smoothing = "auto",
        contexts: Iterable[str] | None = None,
        *,
        by: None = None,
        clock: Clock | None = None,
        order: Literal[2],
    ) -> PairChain: ...
    @overload
    @classmethod
    def fit(
        cls,
        days: arrays.Labels | Rows,
        smoothing: Smoothing = "auto",
        contexts: Iterable[str] | None = None,
        *,
        by: None = None,
        clock: Clock | None = None,
        order: int,
    ) -> MarkovChain | PairChain: ...
    @overload
    @classmethod
    def fit(
        cls,
        days: arrays.Labels | Rows,
        smoothing: Smoothing = "auto",
        contexts: Iterable[str] | None = None,
        *,
        by: Literal["weekpart"],
        clock: Clock | None = None,
        order: Literal[1] = 1,
    ) -> Models: ...
    @classmethod
    def fit(
        cls,
        days: arrays.Labels | Rows,
        smoothing: Smoothing = "auto",
        contexts: Iterable[str] | None = None,
        *,
        by: Literal["weekpart"] | None = None,
        clock: Clock | None = None,
        order: int = 1,
    ) -> MarkovChain | Models | PairChain:
        """Learn from days, or from a (D, T) table of labels; contexts default to those seen, by falling frequency.

        Days may also be what `read_days` gave, a table of days (`Readings.to_frame`), or readings in a data frame, an
        Arrow table, an open file or a path, which `clock` cuts into days.

        `smoothing="none"` divides counts, and a row never seen stays put; `"auto"` backs off from the slot's row to the
        person's average row. `by="weekpart"` learns weekdays and weekends apart, over the same contexts. `order=2`
        learns habits over the last two contexts (`models/learning/order_two.py`): a hidden Markov model over pairs.
        """
        days = arrays.given_days(days, clock, "MarkovChain.fit")
        if checked_order(order) == 2:
            from discreet.models.hidden.pairs import fit_pairs

            if by is not None:
                raise DiscreetError(
                    "order=2 of parts of a week is learned as a routine; use Routine.fit(days, order=2)"
                )
            return fit_pairs(Counts.of(arrays.as_rows(days), smoothing, contexts), arrays.as_rows(days), clock)
        if by == "weekpart":
            from discreet.models.chain.week import fit_weekparts

            return fit_weekparts(days, smoothing, contexts, clock)
        if by is not None:
            raise DiscreetError(f"by={by!r} is not known; use 'weekpart' or leave it out")
        return cls.from_counts(Counts.of(arrays.as_rows(days), smoothing, contexts), clock=clock)

    @classmethod
    def fit_sequences(
        cls,
        sequences: Sequence[Sequence[str]],
        slots: int,
        *,
        start: str | None = None,
        contexts: Iterable[str] | None = None,
    ) -> MarkovChain:
        """The same transition at every slot, learned from sequences of any length by plain counts: movements, not days.

        It starts at `start` for certain where that is given, otherwise anywhere as often as visited. A context that was
        never left stays put. Contexts default to those seen, by falling frequency.
        """
        labels, visits, steps = steps_of(sequences, contexts)
        initial = visits / visits.sum()
        if start is not None:
            initial = np.zeros(len(labels))
            initial[arrays.encoded([[start]], labels)[0, 0]] = 1.0
        return cls.homogeneous(labels, initial, divided(steps), slots)

    @classmethod
    def from_counts(cls, counts: Counts, *, clock: Clock | None = None) -> MarkovChain:
        """The chain that counts amount to."""
        return cls(counts.contexts, *estimate(counts), counts=counts, clock=clock)

    def updated(self, days: arrays.Labels | Rows | Day) -> MarkovChain:
        """The chain with more days learned: equal to fitting all days at once."""
        if self.counts is None:
            raise DiscreetError("this chain was not learned from days, so it cannot learn more; use MarkovChain.fit")
        more = [days] if isinstance(days, Day) else arrays.given_days(days, self.clock, "updated")
        return MarkovChain.from_counts(self.counts.with_days(arrays.as_rows(more)), clock=self.clock)

    @computed_once
    def prior(self) -> FloatArray:
        """(T, n): P(X_t)."""
        prior = arrays.state_prior(self.initial, self.transitions)
        prior.setflags(write=False)
        return prior

    def emission(self, t: int) -> None:
        """None: contexts are seen."""
        return None

    def possible_steps(self) -> BoolArray:
        """(T-1, n, n): the steps that occur."""
        return np.asarray((self.transitions > 0) & (self.prior[:-1, :, None] > 0))

    @computed_once
    def fingerprint(self) -> str:
        """A digest: equal chains have equal fingerprints."""
        return arrays.fingerprint(["chain", self.contexts, self.initial, self.transitions])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MarkovChain) and (self.fingerprint, self.clock) == (other.fingerprint, other.clock)

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"MarkovChain({len(self.contexts)} contexts, {self.slots} slots)"

    def index_of(self, context: str) -> int:
        """The index of a label."""
        if context not in self.contexts:
            hint = did_you_mean(str(context), self.contexts)
            raise DiscreetError(f"{context!r} is not a context of the model; {hint}")
        return self.contexts.index(context)

    def codes(self, days: arrays.Labels, missing: int | None = None) -> IntArray:
        """(D, T) indices of the days' labels; labels unknown to the chain are an error, or `missing` where given."""
        rows = arrays.as_rows(days)
        if len(rows[0]) != self.slots:
            raise DiscreetError(
                f"the days have {len(rows[0])} slots, the chain has {self.slots}; use the clock it was learned with"
            )
        return arrays.encoded(rows, self.contexts, missing)

    def log_likelihood(self, days: arrays.Labels) -> FloatArray:
        """(D,): natural logarithm of each day's probability; -inf for a day that the chain holds impossible."""
        return np.asarray(self.step_log_likelihood(days).sum(axis=1))

    def step_log_likelihood(self, days: arrays.Labels) -> FloatArray:
        """(D, T): natural logarithm of each step's probability; -inf where impossible or never seen."""
        codes = self.codes(days, missing=-1)
        t = np.arange(self.slots - 1)
        steps = np.empty(codes.shape)
        steps[:, 0] = self.initial[codes[:, 0]]
        steps[:, 1:] = self.transitions[t, codes[:, :-1], codes[:, 1:]]
        steps[codes < 0] = 0
        steps[:, 1:][codes[:, :-1] < 0] = 0
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(steps))

    def sample(self, days: int, seed: int) -> list[Day]:
        """Draw days for experiments."""
        return [Day(tuple(self.contexts[c] for c in row)) for row in self.sample_codes(days, seed)]

    def sample_codes(self, days: int, seed: int) -> IntArray:
        """(D, T) indices of drawn days."""
        checked_count(days, "the number of days")
        rng = np.random.default_rng(checked_count(seed, "the seed", least=0))
        codes = np.empty((days, self.slots), dtype=np.int64)
        codes[:, 0] = drawn(np.broadcast_to(self.initial, (days, len(self.initial))), rng)
        for t in range(1, self.slots):
            codes[:, t] = drawn(self.transitions[t - 1][codes[:, t - 1]], rng)
        return codes
