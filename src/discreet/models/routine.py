"""A routine: habits of days without end. Kinds of day, a chain for each, and how nights join them (theory, section 10).

From a date on, a routine is one endless chain, whose slots are counted on over midnight. It starts from the stationary
distribution of its cycle, so that priors repeat with it: a gain means the same on every Monday. A routine that is
learned is *total*: nothing is impossible in it, and every label has a context (theory, section 11), so that no day is
off the model.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from discreet.clock import Clock
from discreet.contexts import OTHER, UNKNOWN, Day, by_frequency
from discreet.errors import DiscreetError, ModelError
from discreet.models import arrays
from discreet.models.chain import MarkovChain
from discreet.models.learn import Counts, Smoothing, backed_off, checked_smoothing, estimate
from discreet.models.stationary import stationary
from discreet.models.week import WEEKPARTS, weekpart
from discreet.numerics import FloatArray, IntArray, ordered_product
from discreet.policy import Policy

By = Literal["weekpart"]
Nights = Mapping[tuple[str, str], npt.ArrayLike]

ALIKE = "day"
"""The one kind of day, where all are alike."""

FLOOR = 1e-3
"""How much of a broad distribution every learned row is mixed with; its size hardly matters (theory, section 11)."""

EVERYTHING = 0.1
"""The share of that broad distribution that is the same for every context; the rest is the person's average."""

ONE_DAY = dt.timedelta(days=1)
MONDAY = dt.date(2024, 1, 1)  # where cycles are counted from


@dataclass(frozen=True)
class Kinds:
    """A rule that says of which kind a date is, and after how many days it repeats (None where it does not)."""

    of: Callable[[dt.date], str]
    period: int | None = None

    def __post_init__(self) -> None:
        if self.period is not None and self.period < 1:
            raise ModelError(
                f"kinds of day repeat after {self.period} days; give at least 1, or None where they do not"
            )


RULES: dict[str | None, Kinds] = {None: Kinds(lambda date: ALIKE, 1), "weekpart": Kinds(weekpart, 7)}
"""The rules that a file can name."""


@dataclass(frozen=True)
class Learned:
    """What a routine was learned from: counts of each kind's days and of nights, and by which rules."""

    days: Mapping[str, Counts]
    nights: Mapping[tuple[str, str], IntArray]  # (n, n): from the last slot of one kind to the first of another
    smoothing: Smoothing
    floor: float


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
    ) -> None:
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
        self._kinds, self.by = _rule(self._days, kind_of)
        self._nights = self._checked(nights)
        self.learned = learned

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

    def _pairs(self) -> list[tuple[str, str]]:
        """The kinds that follow each other; all pairs, where the rule has no period."""
        if self.period is None:
            return [(a, b) for a in self._days for b in self._days]
        kinds = [self.kind_of(MONDAY + k * ONE_DAY) for k in range(self.period + 1)]
        return list(dict.fromkeys(itertools.pairwise(kinds)))

    @classmethod
    def fit(
        cls,
        days: Sequence[Day],
        by: By | None = "weekpart",
        smoothing: Smoothing = "auto",
        floor: float = FLOOR,
        *,
        secrets: Policy | Iterable[str] = (),
        contexts: Iterable[str] | None = None,
        clock: Clock | None = None,
    ) -> Routine:
        """Learn from dated days. Nights are counted between consecutive dates of one person.

        `other`, `unknown` and the contexts of declared secrets are always contexts, visited or not; a label outside the
        `contexts` given is `other`. `smoothing` is `MarkovChain.fit`'s; every row is then mixed with `floor` of a broad
        distribution. A kind of which there is no day is learned from all days.
        """
        checked_smoothing(smoothing)
        if not 0 < floor < 1:
            raise ModelError(f"the floor is {floor}; give a number above 0 and below 1, such as {FLOOR:g}")
        if by not in RULES:
            raise ModelError(f"by={by!r} is not known; use 'weekpart', or None where all days are alike")
        dated = _dated(days)
        order = _contexts(dated.values(), secrets, contexts)
        return cls.from_counts(_counted(dated, by, smoothing, floor, order), by=by, clock=clock)

    @classmethod
    def from_counts(cls, learned: Learned, *, by: By | None, clock: Clock | None = None) -> Routine:
        """The routine that counts amount to."""
        broad = _broad(learned)
        chains = {kind: _day_chain(counts, learned.floor, broad, clock) for kind, counts in learned.days.items()}
        nights = _night_rows(learned, broad)
        return cls(chains, nights, kind_of=RULES[by], learned=learned)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of day."""
        return tuple(self._days)

    @property
    def period(self) -> int | None:
        """After how many days kinds repeat; None where the rule has no period."""
        return self._kinds.period

    def kind_of(self, date: dt.date) -> str:
        """The kind of a date."""
        kind = self._kinds.of(date)
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

    def prior(self, date: dt.date) -> FloatArray:
        """(T, n): what anybody who knows the routine believes of that date, long after it began."""
        if self.cycle is None:
            raise DiscreetError(
                "the routine has no one stationary distribution, so a date alone has no prior; "
                "use since(start).prior_at(slot)"
            )
        return np.asarray(self.cycle[(date - MONDAY).days % len(self.cycle)])

    def since(self, start: dt.date | str, initial: npt.ArrayLike | None = None) -> EndlessChain:
        """The endless chain from that date on; `initial` (n,) for an observer who knows where the stream began."""
        return EndlessChain(self, _date(start), initial)

    @cached_property
    def fingerprint(self) -> str:
        """A digest: equal routines have equal fingerprints."""
        parts: list[object] = ["routine", self.by, self.contexts]
        for kind, chain in sorted(self._days.items()):
            parts += [kind, chain.initial, chain.transitions]
        for pair, rows in sorted(self._nights.items()):
            parts += [pair, rows]
        return arrays.fingerprint(parts)

    def __repr__(self) -> str:
        return f"Routine({', '.join(self.kinds)}; {len(self.contexts)} contexts, {self.slots} slots)"


class EndlessChain:
    """One chain without end: slot t is slot t mod T of the date t div T days after the start.

    `transition(t)` leads from slot t to slot t + 1, `prior_at(t)` is P(X_t). Where the routine has a stationary
    distribution and no `initial` is given, priors repeat with its cycle: `place(t)` is then the slot's place in it.
    """

    emissions: None = None
    slots: None = None
    first: int = 0

    def __init__(self, routine: Routine, start: dt.date, initial: npt.ArrayLike | None = None) -> None:
        self.routine, self.start = routine, start
        self.contexts, self.day_slots, self.clock = routine.contexts, routine.slots, routine.clock
        n = len(self.contexts)
        self.periodic = initial is None and routine.cycle is not None
        if initial is not None:
            self.initial = arrays.probabilities(initial, (n,), "initial")
        elif routine.cycle is not None:
            self.initial = routine.prior(start)[0]
        else:
            self.initial = routine.day(routine.kind_of(start)).initial
        self._own: list[FloatArray] = [self.initial]  # priors so far, where they do not repeat

    def date_of(self, t: int) -> tuple[dt.date, int]:
        """The date and the slot of that day."""
        days, slot = divmod(t, self.day_slots)
        return self.start + days * ONE_DAY, slot

    def slot_of(self, date: dt.date, slot: int = 0) -> int:
        """The absolute slot of a date's slot."""
        return (date - self.start).days * self.day_slots + slot

    def transition(self, t: int) -> FloatArray:
        """(n, n): P(X_{t+1} | X_t)."""
        date, slot = self.date_of(t)
        if slot + 1 == self.day_slots:
            return self.routine.night(date)
        return np.asarray(self.routine.day(self.routine.kind_of(date)).transitions[slot])

    def step_name(self, t: int) -> tuple[str | int, ...]:
        """What the transition from slot t on is called: slots with equal names have equal ones."""
        date, slot = self.date_of(t)
        kind = self.routine.kind_of(date)
        return (kind, self.routine.kind_of(date + ONE_DAY)) if slot + 1 == self.day_slots else (kind, slot)

    def prior_at(self, t: int) -> FloatArray:
        """(n,): P(X_t)."""
        if self.periodic:
            date, slot = self.date_of(t)
            return np.asarray(self.routine.prior(date)[slot])
        while len(self._own) <= t:
            self._own.append(ordered_product(self._own[-1], self.transition(len(self._own) - 1)))
        return self._own[t]

    def place(self, t: int) -> int | None:
        """Where in the cycle a slot is; None where priors do not repeat."""
        if not self.periodic or self.routine.period is None:
            return None
        date, slot = self.date_of(t)
        return (date - MONDAY).days % self.routine.period * self.day_slots + slot

    def unrolled(self, days: int) -> MarkovChain:
        """The chain of the first `days` days, T slots each."""
        if days < 1:
            raise DiscreetError(f"{days} days are no time; give at least 1")
        steps = np.array([self.transition(t) for t in range(days * self.day_slots - 1)])
        n = len(self.contexts)
        return MarkovChain(self.contexts, self.initial, steps.reshape(-1, n, n))

    @cached_property
    def fingerprint(self) -> str:
        """A digest: equal chains have equal fingerprints."""
        return arrays.fingerprint(["endless", self.routine.fingerprint, self.start, self.periodic, self.initial])

    def __repr__(self) -> str:
        return f"EndlessChain({self.routine!r} since {self.start})"


def _rule(days: Mapping[str, MarkovChain], kind_of: Kinds | None) -> tuple[Kinds, By | Literal["own"] | None]:
    """The rule of kinds, and its name in a file."""
    if kind_of is not None:
        for name, rule in RULES.items():
            if rule is kind_of:
                return rule, name  # type: ignore[return-value]  # the names of RULES are those of By
        return kind_of, "own"
    if set(days) == set(WEEKPARTS):
        return RULES["weekpart"], "weekpart"
    if set(days) == {ALIKE}:
        return RULES[None], None
    raise ModelError(
        f"kinds of day are {', '.join(days)}; name them {' and '.join(WEEKPARTS)}, or the only one {ALIKE!r}, or give "
        "kind_of=Kinds(rule, period) that says which date is of which kind"
    )


def _date(date: dt.date | str) -> dt.date:
    try:
        return dt.date.fromisoformat(date) if isinstance(date, str) else date
    except ValueError:
        raise DiscreetError(f"{date!r} is no date; write it as YYYY-MM-DD") from None


def _dated(days: Iterable[Day]) -> dict[tuple[str | None, dt.date], Day]:
    found: dict[tuple[str | None, dt.date], Day] = {}
    for day in days:
        if not isinstance(day, Day) or day.date is None:
            raise DiscreetError("a routine is learned from dated days; give Day(contexts, date=...)")
        if (day.person, day.date) in found:
            raise DiscreetError(
                f"there are two days of {day.person or 'one person'} on {day.date}; give each date once"
            )
        found[day.person, day.date] = day
    if not found:
        raise DiscreetError("there are no days to learn from; give at least one")
    return found


def _contexts(days: Iterable[Day], secrets: Policy | Iterable[str], given: Iterable[str] | None) -> tuple[str, ...]:
    """The contexts: those given, or seen by falling frequency; then secrets, `other` and `unknown` where missing."""
    if given is None:
        seen: Counter[str] = Counter()
        for day in days:
            seen.update(day.contexts)
        known = by_frequency(seen)
    else:
        known = arrays.labels(given)
    declared = sorted(
        {c for one in secrets.secrets for c in one.contexts} if isinstance(secrets, Policy) else set(secrets)
    )
    return (*known, *(label for label in (*declared, OTHER, UNKNOWN) if label not in known))


def _counted(
    dated: Mapping[tuple[str | None, dt.date], Day],
    by: By | None,
    smoothing: Smoothing,
    floor: float,
    order: tuple[str, ...],
) -> Learned:
    rule, known = RULES[by], set(order)
    rows = {key: tuple(c if c in known else OTHER for c in day.contexts) for key, day in dated.items()}
    kinds = sorted({rule.of(MONDAY + k * ONE_DAY) for k in range(rule.period or 1)})
    days: dict[str, Counts] = {}
    for kind in kinds:
        mine = [row for (_, date), row in rows.items() if rule.of(date) == kind]
        days[kind] = Counts.of(arrays.as_rows(mine or list(rows.values())), smoothing, order)
    n, place = len(order), {label: k for k, label in enumerate(order)}
    nights = {(a, b): np.zeros((n, n), dtype=np.int64) for a in kinds for b in kinds}
    for (person, date), row in rows.items():
        following = rows.get((person, date + ONE_DAY))
        if following is not None:
            nights[rule.of(date), rule.of(date + ONE_DAY)][place[row[-1]], place[following[0]]] += 1
    return Learned(days, nights, smoothing, floor)


def _broad(learned: Learned) -> FloatArray:
    """(n,): the person's average over all slots, plus a little of everything."""
    occupancy = sum((counts.occupancy for counts in learned.days.values()), np.zeros(1, dtype=np.int64))
    return np.asarray((1 - EVERYTHING) * occupancy / occupancy.sum() + EVERYTHING / len(occupancy))


def _day_chain(counts: Counts, floor: float, broad: FloatArray, clock: Clock | None) -> MarkovChain:
    initial, transitions = estimate(counts)
    never = counts.transitions.sum(axis=(0, 2)) == 0  # never left: such a context is no trap, it leads anywhere
    transitions = np.where(never[:, None], broad, transitions)
    return MarkovChain(counts.contexts, _mixed(initial, floor, broad), _mixed(transitions, floor, broad), clock=clock)


def _night_rows(learned: Learned, broad: FloatArray) -> dict[tuple[str, str], FloatArray]:
    """Overnight rows: of the pair of kinds, backed off to all nights, backed off to how the next kind's days begin."""
    every = np.sum(list(learned.nights.values()), axis=0)
    found = {}
    for (before, after), counts in learned.nights.items():
        first = learned.days[after].initial / learned.days[after].days
        if learned.smoothing == "none":
            seen = counts.sum(axis=1, keepdims=True)
            rows = np.where(seen > 0, counts / np.maximum(seen, 1), first)
        else:
            rows = backed_off(counts, every, backed_off(every, every.sum(axis=0)[None, :].repeat(len(every), 0), first))
        found[before, after] = _mixed(rows, learned.floor, broad)
    return found


def _mixed(rows: FloatArray, floor: float, broad: FloatArray) -> FloatArray:
    mixed = (1 - floor) * rows + floor * broad
    return np.asarray(mixed / mixed.sum(axis=-1, keepdims=True))
