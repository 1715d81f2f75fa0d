"""A routine over the last two contexts: `Routine.fit(days, order=2)`, and from a date on one model without end.

It is a routine over pairs (`models/pairs.py`), nights included, of which the current context is seen. Everything that a
routine knows of dates, nights, cycles and stationary distributions is that inner routine's.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any, Never

import numpy as np
import numpy.typing as npt

from discreet.clock import Clock
from discreet.contexts import Day
from discreet.contracts import computed_once
from discreet.errors import DiscreetError, ModelError
from discreet.given import as_date
from discreet.models import arrays
from discreet.models.chain.markov import MarkovChain
from discreet.models.hidden.pairs import PairChain
from discreet.models.kinds import ONE_DAY, RULES, Kinds
from discreet.models.learning.order_two import factors, tilted, triples
from discreet.models.learning.routine import Learned, chains_of
from discreet.models.pairs import Pairs
from discreet.models.routine.endless import EndlessChain
from discreet.models.routine.routine import Routine
from discreet.numerics import FloatArray, IntArray, ordered_product

UPDATE = "habits over two contexts do not learn more days; learn again from all days, or learn with order=1"


class PairRoutine:
    """Chains over pairs, by kind of day, and the nights between them; `learned` is the routine over one context."""

    observers: tuple[Never, ...] = ()

    def __init__(self, pairs: Pairs, over: Routine, learned: Learned | None = None) -> None:
        """`over` has the pairs as its contexts, in their order."""
        if len(over.contexts) != pairs.states:
            raise ModelError(f"the routine has {len(over.contexts)} contexts, and there are {pairs.states} pairs")
        self.pairs, self.over, self.learned = pairs, over, learned
        self.contexts, self.slots, self.clock = pairs.contexts, over.slots, over.clock

    @classmethod
    def from_counts(cls, learned: Learned, days: Sequence[Day], clock: Clock | None = None) -> PairRoutine:
        """The routine over one context that counts amount to, with what the days say of the context before."""
        chains, nights = chains_of(learned, clock)
        contexts = learned.contexts
        pairs = Pairs.of(contexts, np.argsort(-learned.occupancy, kind="stable").tolist())
        factor = factors(triples(_in_a_row(days, contexts), len(contexts)), pairs)
        lifted = {
            kind: MarkovChain(
                pairs.labels, pairs.start(chain.initial), tilted(chain.transitions, factor, pairs), clock=clock
            )
            for kind, chain in chains.items()
        }
        between = {pair: tilted(rows, factor, pairs) for pair, rows in nights.items()}
        return cls(pairs, Routine(lifted, between, kind_of=RULES[learned.by]), learned)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of day."""
        return self.over.kinds

    @property
    def period(self) -> int | None:
        """After how many days kinds repeat."""
        return self.over.period

    @property
    def rule(self) -> Kinds:
        """Which date is of which kind."""
        return self.over.rule

    @property
    def by(self) -> Any:
        """The name of that rule."""
        return self.over.by

    def kind_of(self, date: dt.date | str) -> str:
        """The kind of a date."""
        return self.over.kind_of(date)

    def day(self, kind: str) -> PairChain:
        """The habits of a kind of day, on its own."""
        chain = self.over.day(kind)
        return PairChain(self.pairs, chain.initial, chain.transitions, clock=chain.clock)

    def prior(self, date: dt.date | str) -> FloatArray:
        """(T, n): what anybody who knows the routine believes of that date, long after it began."""
        return ordered_product(self.over.prior(date), self.pairs.emission)

    def since(self, start: dt.date | str, initial: npt.ArrayLike | None = None, first: int = 0) -> EndlessPairs:
        """The model without end from that date on; `initial` (S,) is over pairs."""
        return EndlessPairs(self, as_date(start), initial, first)

    def lifted(self, days: Sequence[Day]) -> list[Day]:
        """Days in order of their dates as days of `over`: each context is its pair, over midnight too."""
        index = {context: k for k, context in enumerate(self.contexts)}
        labels, table, found = self.pairs.labels, self.pairs.table, []
        before: Day | None = None
        for day in days:
            codes = [index[context] for context in day.fitted(self.contexts).contexts]
            last = codes[0]  # where nothing is known of what came before, as if it had been stayed in
            if before is not None and before.date is not None and day.date == before.date + ONE_DAY:
                last = index[before.fitted(self.contexts).contexts[-1]]
            pairs = [labels[table[a, b]] for a, b in zip([last, *codes], codes, strict=False)]
            found.append(Day(tuple(pairs), day.date, day.person))
            before = day
        return found

    def updated(self, *_: object, **__: object) -> Never:
        """Not possible: say so."""
        raise DiscreetError(UPDATE)

    def then(self, *_: object) -> Never:
        """Not possible: say so."""
        raise DiscreetError("habits over two contexts do not change in mid-stream; begin a new stream with the others")

    @computed_once
    def fingerprint(self) -> str:
        """A digest: equal routines have equal fingerprints."""
        return arrays.fingerprint(["pairs", self.contexts, self.pairs.table, self.over.fingerprint])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PairRoutine) and (self.fingerprint, self.clock) == (other.fingerprint, other.clock)

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"PairRoutine({', '.join(self.kinds)}; {self.pairs.states} pairs of {len(self.contexts)} contexts)"


class EndlessPairs(EndlessChain):
    """A routine over pairs from a date on; states are pairs, contexts what they show."""

    def __init__(
        self, pair_routine: PairRoutine, start: dt.date, initial: npt.ArrayLike | None = None, first: int = 0
    ) -> None:
        super().__init__(pair_routine.over, start, initial, first)
        self.pair_routine, self.pairs = pair_routine, pair_routine.pairs
        self.contexts = pair_routine.contexts

    def emission(self, t: int) -> FloatArray:  # type: ignore[override]  # a chain has none
        """(S, n): one-hot, in every slot."""
        return self.pairs.emission

    def state_prior_at(self, t: int) -> FloatArray:
        """(S,): P(pair in slot t)."""
        return super().prior_at(t)

    def prior_at(self, t: int) -> FloatArray:
        """(n,): P(X_t)."""
        return ordered_product(super().prior_at(t), self.pairs.emission)

    def beginning(self, start: dt.date | str, initial: npt.ArrayLike | None = None, first: int = 0) -> EndlessPairs:
        """The same habits from another date on."""
        return self.pair_routine.since(start, initial, first)

    def once_cyclic(self) -> EndlessPairs | None:
        """The same where priors repeat from the start."""
        return None if self.routine.cycle is None else EndlessPairs(self.pair_routine, self.start)

    def unrolled(self, days: int) -> PairChain:  # type: ignore[override]  # hidden states
        """The first `days` days as one."""
        return PairChain(self.pairs, self.initial, self._steps_of(days))

    @computed_once
    def fingerprint(self) -> str:
        """A digest: equal models have equal fingerprints."""
        return arrays.fingerprint(["endless pairs", self.pairs.table, super().fingerprint])


def _in_a_row(days: Sequence[Day], contexts: tuple[str, ...]) -> list[IntArray]:
    """The numbers of the contexts of dates that follow each other, each person's."""
    index = {context: k for k, context in enumerate(contexts)}
    found: list[list[int]] = []
    before: Day | None = None
    for day in sorted(days, key=lambda one: (one.person or "", one.date or dt.date.min)):
        codes = [index[context] for context in day.fitted(contexts).contexts]
        joined = before is not None and before.person == day.person and None not in (before.date, day.date)
        if joined and before is not None and before.date is not None and before.date + ONE_DAY == day.date:
            found[-1] += codes
        else:
            found.append(codes)
        before = day
    return [np.array(codes, dtype=np.int64) for codes in found]
