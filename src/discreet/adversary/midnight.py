"""Over midnight: the last slot of a day and the first of the next correlate, so a day's guarantee is not a week's.

A mechanism starts each day anew, but an observer does not. `DayByDay` is a day's mechanism over several days on one
long chain, for the audit and the adversary: `audit(mechanism, routine=routine, days=3)`. `DaysJoined` is the same
without end, for judging what was released. `AcrossMidnight` is of days of one kind and a matrix of nights, where there
is no routine.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.adversary.endless import EndlessAdversary
from discreet.contexts import Day
from discreet.contracts import AnyMechanism, Kernel, Needs, Utility, is_finite
from discreet.errors import DiscreetError
from discreet.kernels import FiniteKernel
from discreet.models.arrays import encoded
from discreet.models.chain import MarkovChain
from discreet.models.endless import EndlessChain
from discreet.models.kinds import MONDAY, ONE_DAY
from discreet.models.routine import Routine
from discreet.numerics import FloatArray, IntArray
from discreet.outputs import Output
from discreet.policy import Guarantee, Policy, Secret, on_day


def overnight(days: Iterable[Day], contexts: Sequence[str]) -> FloatArray:
    """(n, n): P(first slot | last slot of the day before), counted over consecutive dates of the same person.

    A context that was never last before another day leads to the average first slot, or stays put if there is none.
    """
    dated = {(day.person, day.date): day.contexts for day in days if day.date is not None}
    n = len(contexts)
    counts = np.zeros((n, n))
    for (person, date), labels in dated.items():
        assert date is not None
        following = dated.get((person, date + dt.timedelta(days=1)))
        if following is not None:
            last, first = encoded([[labels[-1], following[0]]], tuple(contexts))[0]
            counts[last, first] += 1
    if not counts.any():
        raise DiscreetError("no two of the days are consecutive dates of one person; give days with their dates")
    average = counts.sum(axis=0) / counts.sum()
    seen = counts.sum(axis=1, keepdims=True)
    return np.asarray(np.where(seen > 0, counts / np.where(seen > 0, seen, 1), average))


Daily = AnyMechanism | Mapping[str, AnyMechanism]
"""What releases each day on its own: one mechanism for all days, or one for each kind of day."""


class DayByDay:
    """Mechanisms of one day each, one day after another on one long chain: for the audit, and nothing else.

    On midnight a mechanism starts anew, its private memory too; the observer does not. Each secret holds on each day,
    at="any" day by day.
    """

    needs: ClassVar[Needs] = "chain"

    def __init__(self, mechanisms: Sequence[AnyMechanism], chain: MarkovChain, policy: Policy | None) -> None:
        self.model = chain
        self._mechanisms, self._day = tuple(mechanisms), chain.slots // len(mechanisms)
        self.policy = None if policy is None else _repeated(policy, self._day, len(mechanisms))
        self.guarantee = Guarantee("none", "a day's guarantee does not reach over midnight")
        self._blocks = _Blocks(self._mechanisms)
        self.private_contexts: IntArray = self._blocks.contexts
        every = range(len(chain.contexts))
        self.anew: Mapping[int, IntArray] = {
            day * self._day: np.array([self._blocks.first(day, context) for context in every])
            for day in range(1, len(mechanisms))
        }

    def start(self) -> tuple[int, Hashable]:
        """The public state: (slot, the state of that day)."""
        return 0, self._mechanisms[0].start()

    def kernel(self, state: tuple[int, Hashable]) -> Kernel:
        """The day's own."""
        day = min(state[0] // self._day, len(self._mechanisms) - 1)
        return self._blocks.widened(day, self._mechanisms[day].kernel(state[1]))

    def advance(self, state: tuple[int, Hashable], output: Output) -> tuple[int, Hashable]:
        """On midnight the next day's mechanism starts."""
        slot = state[0] + 1
        if slot % self._day == 0 and slot < self.model.slots:
            return slot, self._mechanisms[slot // self._day].start()
        return slot, self._mechanisms[state[0] // self._day].advance(state[1], output)

    def remember(self, memory: int | None, context: int) -> int:
        """The day's own; at midnight see `anew`."""
        return self._blocks.first(0, context) if memory is None else self._blocks.remember(memory, context)

    def worth(self, context: str, output: Output) -> float:
        """The first day's."""
        return self._mechanisms[0].worth(context, output)

    def expected_utility(self, days: int | None = None) -> Utility:
        """Not defined: what a day is worth is asked of the day's mechanism."""
        raise DiscreetError("days in a row are for judging; ask the day's mechanism for its expected utility")


class _Blocks:
    """The private states of several mechanisms side by side; mechanisms that remember alike share theirs."""

    def __init__(self, mechanisms: Sequence[AnyMechanism]) -> None:
        self._mechanisms = mechanisms
        tables = [_memory_of(mechanism) for mechanism in mechanisms]
        distinct = list(dict.fromkeys(tables))
        sizes = [len(contexts) for contexts, _ in distinct]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        self.contexts = np.array([context for contexts, _ in distinct for context in contexts], dtype=np.int64)
        self._block = [distinct.index(table) for table in tables]  # of each day
        self._start = [int(starts[block]) for block in self._block]  # of each day
        self._owner = np.repeat([self._block.index(block) for block in range(len(distinct))], sizes)  # a day of each

    def first(self, day: int, context: int) -> int:
        """The private state in a day's first slot."""
        return self._start[day] + self._mechanisms[day].remember(None, context)

    def remember(self, memory: int, context: int) -> int:
        """Within a day: by the mechanism whose private state it is."""
        day = int(self._owner[memory])
        return self._start[day] + self._mechanisms[day].remember(memory - self._start[day], context)

    def spread(self, day: int, likelihood: FloatArray) -> FloatArray:
        """A day's likelihood over all private states, zero for those that cannot occur then."""
        over_all = np.zeros(len(self.contexts))
        over_all[self._start[day] : self._start[day] + len(likelihood)] = likelihood
        return over_all

    def widened(self, day: int, kernel: Kernel) -> Kernel:
        """The kernel with rows for all private states; those of other days cannot occur, and whatever is there is fine.

        They get the first output, so that every row is a row of a kernel.
        """
        if len(set(self._block)) == 1:
            return kernel
        if not is_finite(kernel):
            raise DiscreetError(
                "mechanisms with continuous outputs that remember in different ways cannot be joined; "
                "audit days of one kind"
            )
        weights = np.zeros((len(self.contexts), len(kernel.outputs)), dtype=np.int64)
        weights[:, 0] = kernel.total
        weights[self._start[day] : self._start[day] + len(kernel.weights)] = kernel.weights
        return FiniteKernel(kernel.outputs, weights, kernel.total)


def _memory_of(mechanism: AnyMechanism) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """The context of each private state, and where each context leads from it (from nothing, in the first row)."""
    contexts, every = mechanism.private_contexts.tolist(), range(len(mechanism.model.contexts))
    before = (None, *range(len(contexts)))
    return tuple(contexts), tuple(tuple(mechanism.remember(memory, c) for c in every) for memory in before)


def day_by_day(
    mechanism: Daily,
    routine: Routine,
    days: int = 2,
    *,
    since: dt.date | str | None = None,
    policy: Policy | None = None,
) -> DayByDay:
    """A day's mechanism started anew each day, over the chain that a routine joins `days` days to.

    A mapping has a mechanism for each kind of day. The first day is `since`, a Monday if it is left out. `policy` is of
    one day, the mechanism's own if it is left out.
    """
    endless = routine.since(MONDAY if since is None else since)
    chain = endless.unrolled(days)
    kinds = [routine.kind_of(endless.start + day * ONE_DAY) for day in range(days)]
    chosen = _by_kind(mechanism, routine, kinds)
    return DayByDay([chosen[kind] for kind in kinds], chain, _policy_of(chosen, policy))


def _by_kind(mechanism: Daily, routine: Routine, kinds: Iterable[str]) -> dict[str, AnyMechanism]:
    """The mechanism of each of these kinds, if it is over the routine's contexts and slots."""
    chosen = {kind: _of_kind(mechanism, kind) for kind in kinds}
    for kind, one in chosen.items():
        if one.model.contexts != routine.contexts or one.model.slots != routine.slots:
            raise DiscreetError(
                f"the mechanism of a {kind} is for {one.model.slots} slots of {one.model.contexts}, the routine has "
                f"{routine.slots} of {routine.contexts}; make it for routine.day({kind!r})"
            )
    return chosen


def _policy_of(chosen: Mapping[str, AnyMechanism], policy: Policy | None) -> Policy | None:
    """The policy that is judged by: the one given, or the mechanisms' own."""
    own = [one.policy for one in chosen.values()]
    if policy is None and any(one != own[0] for one in own):
        raise DiscreetError("the mechanisms of the days have different policies; give policy= to judge all by one")
    return own[0] if policy is None else policy


def _of_kind(mechanism: Daily, kind: str) -> AnyMechanism:
    if not isinstance(mechanism, Mapping):
        return mechanism
    if kind not in mechanism:
        raise DiscreetError(
            f"no mechanism is given for a {kind}, which is among the days; those given are for {', '.join(mechanism)}"
        )
    return mechanism[kind]


class DaysJoined:
    """A day's mechanisms as one stream without end, started anew each day: what an `EndlessAdversary` is to judge.

    `of(date)` is the date's mechanism, `widened(date, likelihood)` a likelihood of its as one over the private states
    of all kinds of day.
    """

    def __init__(self, mechanism: Daily, routine: Routine, start: dt.date, policy: Policy | None = None) -> None:
        chosen = _by_kind(mechanism, routine, routine.kinds)
        self.model = routine.since(start)
        self.policy = _policy_of(chosen, policy)
        self._kinds, self._chosen = list(chosen), chosen
        self._blocks = _Blocks(list(chosen.values()))
        self.private_contexts: IntArray = self._blocks.contexts
        every = range(len(routine.contexts))
        self._first = [np.array([self._blocks.first(kind, c) for c in every]) for kind in range(len(chosen))]

    def _kind(self, date: dt.date) -> int:
        return self._kinds.index(self.model.routine.kind_of(date))

    def of(self, date: dt.date) -> AnyMechanism:
        """The mechanism that serves a date."""
        return self._chosen[self.model.routine.kind_of(date)]

    def remember(self, memory: int | None, context: int) -> int:
        """The day's own; at midnight see `anew`."""
        if memory is None:
            return int(self._first[self._kind(self.model.start)][context])
        return self._blocks.remember(memory, context)

    def anew(self, t: int) -> IntArray:
        """(n,): the private state of each context in the first slot of the day that begins at slot t."""
        return self._first[self._kind(self.model.date_of(t)[0])]

    def widened(self, date: dt.date, likelihood: FloatArray) -> FloatArray:
        """The likelihood over the private states of all kinds; those of others cannot occur then."""
        return self._blocks.spread(self._kind(date), likelihood)

    def judge(self) -> EndlessAdversary:
        """The observer who knows how nights join the days."""
        return EndlessAdversary(self, anew=self.anew)


class Unrolled:
    """A mechanism without end over its first `days` days, on their one long chain: for the audit, and nothing else."""

    needs: ClassVar[Needs] = "chain"

    def __init__(self, mechanism: Any, days: int, policy: Policy | None = None) -> None:
        self.model: MarkovChain = mechanism.model.unrolled(days)
        self._mechanism = mechanism
        slots, own = mechanism.model.day_slots, mechanism.policy
        self.promised = None if own is None else _repeated(own, slots, days)  # what the guarantee speaks of
        self.policy = self.promised if policy is None else _repeated(policy, slots, days)
        self.guarantee: Guarantee = mechanism.guarantee
        self.private_contexts: IntArray = mechanism.private_contexts
        self._days, self._in_mind = days, tuple(getattr(mechanism, "observers", ()))
        self.observers: tuple[MarkovChain, ...] = tuple(observer.unrolled(days) for observer in self._in_mind)

    def habits_of(self, routine: Routine) -> MarkovChain:
        """The days of an observer who has this routine in mind; of one whom the mechanism knows, one of `observers`."""
        for observer, chain in zip(self._in_mind, self.observers, strict=True):
            if observer.routine is routine:
                return chain
        own: EndlessChain = self._mechanism.model
        return routine.since(own.start, None if own.periodic else own.initial, own.first).unrolled(self._days)

    def start(self) -> Any:
        """The mechanism's own."""
        return self._mechanism.start()

    def kernel(self, state: Any) -> Kernel:
        """The mechanism's own."""
        kernel: Kernel = self._mechanism.kernel(state)
        return kernel

    def advance(self, state: Any, output: Output) -> Any:
        """The mechanism's own, for as long as the policy is the one that is judged by."""
        after = self._mechanism.advance(state, output)
        if after.cuts and after.slot < self.model.slots:
            raise DiscreetError(
                f"the policy changes at slot {after.slot}, within these days; judge the days before that, and a "
                "mechanism with the policy that holds after it"
            )
        return after

    def remember(self, memory: int | None, context: int) -> int:
        """The mechanism's own."""
        return int(self._mechanism.remember(memory, context))

    def worth(self, context: str, output: Output) -> float:
        """The mechanism's own."""
        return float(self._mechanism.worth(context, output))

    def expected_utility(self, days: int | None = None) -> Utility:
        """Not defined: what a day is worth is asked of the mechanism itself."""
        raise DiscreetError("unrolled days are for judging; ask the mechanism itself for its expected utility")


class AcrossMidnight(DayByDay):
    """One mechanism over `days` days of one kind, from the day's own initial distribution on; nights (n, n) join."""

    def __init__(self, mechanism: AnyMechanism, nights: npt.ArrayLike, days: int = 2) -> None:
        day = mechanism.model
        if day.emissions is not None:
            raise DiscreetError("days are joined for Markov chains")
        if days < 1:
            raise DiscreetError(f"{days} days are no time; give at least 1")
        steps = [day.transitions, np.asarray(nights, dtype=np.float64)[None]] * days
        chain = MarkovChain(day.contexts, day.initial, np.concatenate(steps[:-1]))
        super().__init__([mechanism] * days, chain, mechanism.policy)


def _repeated(policy: Policy, slots: int, days: int) -> Policy:
    secrets: list[Secret] = []
    for secret in policy.secrets:
        own = range(slots) if secret.slots is None else sorted(secret.slots)
        if secret.at == "any":
            for day in range(-1, days):  # of the window that began the day before the first, its end is left
                window = sorted(day * slots + slot + (slots if slot < secret.begins else 0) for slot in own)
                inside = [slot for slot in window if slot >= 0]
                if inside and window[-1] < days * slots:  # one that ends later is a secret of more days
                    name = on_day(secret.name, day + 1)
                    secrets.append(replace(secret, name=name, slots=frozenset(inside), begins=0))
        else:
            every = [day * slots + slot for day in range(days) for slot in own]
            secrets.append(replace(secret, slots=frozenset(every)))
    return Policy(secrets, delta=policy.delta)
