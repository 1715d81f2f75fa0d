"""A routine: habits of days without end. Kinds of day, a chain for each, and how nights join them (theory, section 10).

From a date on, a routine is one endless chain (`endless.py`), whose slots are counted on over midnight. It starts from
the stationary distribution of its cycle, so that priors repeat with it: a gain means the same on every Monday. A
routine that is learned (`learn_routine.py`) is *total*: nothing is impossible in it, and every label has a context
(theory, section 11), so that no day is off the model.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal, cast, overload

import numpy as np
import numpy.typing as npt

from discreet.clock import Clock
from discreet.contexts import Day
from discreet.contracts import computed_once
from discreet.errors import DiscreetError, ModelError
from discreet.frames import Rows
from discreet.given import as_date, words_for
from discreet.models import arrays
from discreet.models.chain.markov import MarkovChain
from discreet.models.chain.stationary import stationary
from discreet.models.kinds import MONDAY, ONE_DAY, RULES, By, Kinds, checked_by, rule_for
from discreet.models.learning.counts import checked_order
from discreet.models.learning.routine import FLOOR, Learned, Learning, chains_of
from discreet.models.routine.endless import EndlessChain
from discreet.numerics import FloatArray, ordered_product
from discreet.policy import Policy

if TYPE_CHECKING:
    from discreet.models.routine.changing import Changing
    from discreet.models.routine.pairs import PairRoutine

Nights = Mapping[tuple[str, str], npt.ArrayLike]

__all__ = ["MONDAY", "EndlessChain", "Kinds", "Routine"]


class Routine:
    """Chains of one day each, by kind, and a matrix P(first slot | last slot of the day before) for each pair of kinds.

    `Routine({"weekday": chain, "weekend": chain}, nights={("weekday", "weekend"): array, ...})`; where all days are
    alike, `Routine({"day": chain}, {("day", "day"): array})`. Taken as given: nothing is mixed in. `kind_of` is a
    `Kinds` of one's own; by default weekdays and weekends, or one kind for all.
    """

    def __init__(
        self,
        days: Mapping[str, MarkovChain],
        nights: Nights,
        *,
        kind_of: Kinds | None = None,
        learned: Learned | None = None,
        observers: Sequence[Routine] = (),
    ) -> None:
        for what, given, one in (("days", days, "{'day': chain}"), ("nights", nights, "{('day', 'day'): array}")):
            if not isinstance(given, Mapping):
                raise ModelError(f"the {what} of a routine are {words_for(given)}; give a mapping, such as {one}")
        self._days = dict(days)
        if not self._days:
            raise ModelError("a routine has no kinds of day; give a chain for at least one")
        first = next(iter(self._days.values()))
        self.contexts, self.slots, self.clock = first.contexts, first.slots, first.clock
        for kind, chain in self._days.items():
            if chain.contexts != self.contexts:
                raise ModelError(
                    f"the chain of a {kind} has contexts {chain.contexts}, others {self.contexts}; use the same"
                )
            if chain.slots != self.slots or chain.clock != self.clock:
                raise ModelError(
                    f"the chain of a {kind} has {chain.slots} slots or another clock; cut all days with one clock"
                )
        self._kinds, self.by = rule_for(self._days, kind_of)
        self._nights = self._checked(nights)
        self.learned = learned
        self.observers = self._fitting(observers)  # of whom `Adaptive` thinks, too: see models/learning/observers.py

    def _checked(self, nights: Nights) -> dict[tuple[str, str], FloatArray]:
        n, found = len(self.contexts), {}
        for pair in self._pairs():
            if pair not in nights:
                raise ModelError(
                    f"no night leads from a {pair[0]} to a {pair[1]}; give nights[{pair}], an array ({n}, {n})"
                )
        for pair, rows in nights.items():
            unknown = set(pair) - set(self._days)
            if unknown:
                raise ModelError(f"nights[{pair}] names {min(unknown)!r}, which is no kind of day; kinds: {self.kinds}")
            found[pair] = arrays.probabilities(rows, (n, n), f"nights[{pair}]")
        return found

    def _fitting(self, observers: Sequence[Routine]) -> tuple[Routine, ...]:
        """Observers, if they are over the routine's contexts, slots and kinds of day: a file says these once."""
        for number, one in enumerate(observers, 1):
            if (one.contexts, one.slots, one.rule) != (self.contexts, self.slots, self.rule):
                raise ModelError(
                    f"observer {number} has other contexts, slots or kinds of day than the routine; learn all over the "
                    "same (contexts=...), in the same order"
                )
            if set(one.kinds) != set(self.kinds) or set(one.nights) != set(self._nights):
                raise ModelError(f"observer {number} has other kinds of day or nights than the routine; give the same")
        return tuple(observers)

    def _pairs(self) -> list[tuple[str, str]]:
        """The kinds that follow each other; all pairs, where the rule has no period."""
        if self.period is None:
            return [(a, b) for a in self._days for b in self._days]
        kinds = [self.kind_of(MONDAY + k * ONE_DAY) for k in range(self.period + 1)]
        return list(dict.fromkeys(itertools.pairwise(kinds)))

    @overload
    @classmethod
    def fit(
        cls,
        days: Sequence[Day] | Rows,
        by: By | None = "weekpart",
        smoothing: Learning = "auto",
        floor: float = FLOOR,
        *,
        secrets: Policy | Iterable[str] = (),
        contexts: Iterable[str] | None = None,
        clock: Clock | None = None,
        order: Literal[1] = 1,
    ) -> Routine: ...
    @overload
    @classmethod
    def fit(
        cls,
        days: Sequence[Day] | Rows,
        by: By | None = "weekpart",
        smoothing: Learning = "auto",
        floor: float = FLOOR,
        *,
        secrets: Policy | Iterable[str] = (),
        contexts: Iterable[str] | None = None,
        clock: Clock | None = None,
        order: Literal[2],
    ) -> PairRoutine: ...
    @overload
    @classmethod
    def fit(
        cls,
        days: Sequence[Day] | Rows,
        by: By | None = "weekpart",
        smoothing: Learning = "auto",
        floor: float = FLOOR,
        *,
        secrets: Policy | Iterable[str] = (),
        contexts: Iterable[str] | None = None,
        clock: Clock | None = None,
        order: int,
    ) -> Routine | PairRoutine: ...
    @classmethod
    def fit(
        cls,
        days: Sequence[Day] | Rows,
        by: By | None = "weekpart",
        smoothing: Learning = "auto",
        floor: float = FLOOR,
        *,
        secrets: Policy | Iterable[str] = (),
        contexts: Iterable[str] | None = None,
        clock: Clock | None = None,
        order: int = 1,
    ) -> Routine | PairRoutine:
        """Learn from dated days. Nights are counted between consecutive dates of one person.

        Days may be a table, as for `MarkovChain.fit`.

        `other`, `unknown` and the contexts of declared secrets are always contexts, visited or not; a label outside the
        `contexts` given is `other`. `smoothing="calibrated"` counts recent dates more and claims less where habits
        change (`models/learning/calibrated.py`); "auto" and "none" are `MarkovChain.fit`'s. Every row is then mixed
        with `floor` of a broad distribution. A kind of which there is no day is learned from all days. `order=2` learns
        habits over the last two contexts, beside all that (`models/learning/order_two.py`).
        """
        days = cast(Sequence[Day], arrays.given_days(days, clock, "Routine.fit"))
        learned = Learned.of(days, checked_by(by), smoothing, floor, _declared(secrets), contexts)
        if checked_order(order) == 2:
            from discreet.models.routine.pairs import PairRoutine

            return PairRoutine.from_counts(learned, days, clock)
        return cls.from_counts(learned, clock=clock)

    @classmethod
    def from_counts(cls, learned: Learned, *, clock: Clock | None = None) -> Routine:
        """The routine that counts amount to."""
        chains, nights = chains_of(learned, clock)
        return cls(chains, nights, kind_of=RULES[learned.by], learned=learned)

    def updated(self, days: Sequence[Day] | Rows | Day, *, secrets: Policy | Iterable[str] = ()) -> Routine:
        """The routine with more days learned, by the same rules: equal to learning all days at once.

        Days are later than those learned, so that none is counted twice and the night before the first of them counts.
        A label that is new becomes a context, as if it had been there from the start (where `contexts` were given to
        `fit`, it is `other`); `secrets` declared now are contexts too.
        """
        if self.learned is None:
            raise DiscreetError("this routine was not learned from days, so it cannot learn more; use Routine.fit")
        if self.observers:
            raise DiscreetError(
                "the routine has observers, who saw some of its days and not others; learn again from all days "
                "(discreet learn --observers)"
            )
        more = [days] if isinstance(days, Day) else cast(Sequence[Day], arrays.given_days(days, self.clock, "updated"))
        return Routine.from_counts(self.learned.with_days(more, _declared(secrets)), clock=self.clock)

    def with_observers(self, observers: Sequence[Routine]) -> Routine:
        """The same routine, with the routines of others who may have learned the person's habits elsewhere."""
        return Routine(self._days, self._nights, kind_of=self._kinds, learned=self.learned, observers=observers)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of day."""
        return tuple(self._days)

    @property
    def period(self) -> int | None:
        """After how many days kinds repeat; None where the rule has no period."""
        return self._kinds.period

    def kind_of(self, date: dt.date | str) -> str:
        """The kind of a date."""
        kind = self._kinds.of(as_date(date))
        if kind not in self._days:
            raise DiscreetError(
                f"{date} is of kind {kind!r}, which the routine does not have; kinds: {', '.join(self.kinds)}"
            )
        return kind

    def day(self, kind: str) -> MarkovChain:
        """The chain of a kind of day; it starts as learned or given, whatever the night before."""
        if kind not in self._days:
            raise DiscreetError(f"the routine has no kind of day {kind!r}; kinds: {', '.join(self.kinds)}")
        return self._days[kind]

    def night(self, date: dt.date) -> FloatArray:
        """(n, n): P(first slot of the next date | last slot of this one)."""
        return self._nights[self.kind_of(date), self.kind_of(date + ONE_DAY)]

    @property
    def nights(self) -> Mapping[tuple[str, str], FloatArray]:
        """The overnight rows of each pair of kinds."""
        return dict(self._nights)

    @cached_property
    def cycle(self) -> FloatArray | None:
        """(period, T, n): the prior of every slot of a cycle from a Monday on; None where there is not exactly one.

        The stationary distribution of the whole cycle, pushed through it. Several, or a rule without a period: None.
        """
        if self.period is None:
            return None
        dates = [MONDAY + k * ONE_DAY for k in range(self.period)]
        once = np.eye(len(self.contexts))
        for date in dates:
            for step in self.day(self.kind_of(date)).transitions:
                once = ordered_product(once, step)
            once = ordered_product(once, self.night(date))
        start = stationary(once)
        if start is None:
            return None
        priors = np.empty((self.period, self.slots, len(self.contexts)))
        for k, date in enumerate(dates):
            priors[k] = arrays.state_prior(start, self.day(self.kind_of(date)).transitions)
            start = ordered_product(priors[k, -1], self.night(date))
        priors.setflags(write=False)
        return priors

    def prior(self, date: dt.date | str) -> FloatArray:
        """(T, n): what anybody who knows the routine believes of that date, long after it began."""
        date = as_date(date)
        if self.cycle is None:
            raise DiscreetError(
                "the routine has no one stationary distribution, so a date alone has no prior; "
                "use since(start).prior_at(slot)"
            )
        return np.asarray(self.cycle[(date - MONDAY).days % len(self.cycle)])

    def since(self, start: dt.date | str, initial: npt.ArrayLike | None = None, first: int = 0) -> EndlessChain:
        """The endless chain from that date on; `initial` (n,) for an observer who knows where the stream began.

        It begins at slot `first`, counted from the start of that date.
        """
        return EndlessChain(self, as_date(start), initial, first)

    def then(self, other: Routine, date: dt.date | str) -> Changing:
        """Habits change: this routine, and `other` from a date on, relearned since, say.

        A mechanism over it knows of the change from the first day on. `Session.change` is for changes in mid-stream.
        """
        from discreet.models.routine.changing import Changing

        return Changing(self, [(as_date(date), other)])

    @property
    def rule(self) -> Kinds:
        """Which date is of which kind."""
        return self._kinds

    @computed_once
    def fingerprint(self) -> str:
        """A digest: equal routines have equal fingerprints."""
        parts: list[object] = ["routine", self.by, self.contexts]
        for kind, chain in sorted(self._days.items()):
            parts += [kind, chain.initial, chain.transitions]
        for pair, rows in sorted(self._nights.items()):
            parts += [pair, rows]
        return arrays.fingerprint(parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Routine) and (self.fingerprint, self.clock) == (other.fingerprint, other.clock)

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"Routine({', '.join(self.kinds)}; {len(self.contexts)} contexts, {self.slots} slots)"


def _declared(secrets: Policy | Iterable[str]) -> Iterable[str]:
    if isinstance(secrets, Policy):
        return secrets.contexts
    return (secrets,) if isinstance(secrets, str) else secrets
