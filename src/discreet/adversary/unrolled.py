"""Over midnight: the last slot of a day and the first of the next correlate, so a day's guarantee is not a week's.

A mechanism starts each day anew, but an observer does not. `DaysJoined` is a day's mechanisms as one stream, for
judging what was released. `Unrolled` is the first days of a stream as one long chain that ends, for the audit:
`audit(mechanism, routine=routine, days=3)`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from discreet.adversary.endless import EndlessAdversary
from discreet.contracts import AnyMechanism, DayModel, Kernel, Needs, Utility, is_finite
from discreet.errors import DiscreetError
from discreet.given import as_date
from discreet.kernels import FiniteKernel
from discreet.models.kinds import MONDAY, ONE_DAY
from discreet.models.routine.endless import EndlessChain
from discreet.models.routine.parts import AnyRoutine
from discreet.numerics import FloatArray, IntArray
from discreet.outputs import Output
from discreet.policy import Guarantee, Policy, Secret, on_day

Daily = AnyMechanism | Mapping[str, AnyMechanism]
"""What releases each day on its own: one mechanism for all days, or one for each kind of day."""


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
    routine: AnyRoutine,
    days: int = 2,
    *,
    since: dt.date | str | None = None,
    policy: Policy | None = None,
) -> Unrolled:
    """A day's mechanism started anew each day, over the chain that a routine joins `days` days to.

    A mapping has a mechanism for each kind of day. The first day is `since`, a Monday if it is left out. `policy` is of
    one day, the mechanism's own if it is left out.
    """
    start = MONDAY if since is None else as_date(since)
    kinds = dict.fromkeys(routine.kind_of(start + day * ONE_DAY) for day in range(days))
    return Unrolled(DaysJoined(mechanism, routine, start, policy, kinds=tuple(kinds) or None), days)


def _by_kind(mechanism: Daily, routine: AnyRoutine, kinds: Iterable[str]) -> dict[str, AnyMechanism]:
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


class Today(NamedTuple):
    """The public state of days in a row: the slot, counted on over midnight, and the state of that day's mechanism."""

    slot: int
    inner: Any = None  # None before the day's first output
    cuts: tuple[int, ...] = ()  # habits do not change


class DaysJoined:
    """A day's mechanisms as one stream without end: for the audit and the adversary (`DayByDay` releases).

    On midnight a mechanism starts anew, its private memory too; the observer does not. `widened(date, likelihood)` is a
    likelihood of the date's mechanism as one over the private states of all kinds of day. `kinds` are those that occur,
    by default all.
    """

    needs: Needs = "chain"

    def __init__(
        self,
        mechanism: Daily,
        routine: AnyRoutine,
        start: dt.date,
        policy: Policy | None = None,
        kinds: Sequence[str] | None = None,
        first: int = 0,
    ) -> None:
        chosen = _by_kind(mechanism, routine, routine.kinds if kinds is None else kinds)
        self.model = routine.since(start, first=first)
        self.policy = _policy_of(chosen, policy)
        self.guarantee = Guarantee("none", "a day's guarantee does not reach over midnight")
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

    def start(self) -> Today:
        """Nothing was output yet."""
        return Today(0)

    def _today(self, state: Today) -> tuple[dt.date, AnyMechanism, Any]:
        """The date, its mechanism, and that one's public state."""
        date = self.model.date_of(state.slot)[0]
        today = self.of(date)
        return date, today, today.start() if state.inner is None else state.inner

    def kernel(self, state: Today) -> Kernel:
        """The day's own."""
        date, today, inner = self._today(state)
        return self._blocks.widened(self._kind(date), today.kernel(inner))

    def advance(self, state: Today, output: Output) -> Today:
        """The day's own; on midnight the next day's mechanism starts."""
        _, today, inner = self._today(state)
        slot = state.slot + 1
        return Today(slot) if slot % self.model.day_slots == 0 else Today(slot, today.advance(inner, output))

    def remember(self, memory: int | None, context: int) -> int:
        """The day's own; at midnight see `starting`."""
        if memory is None:
            return int(self._first[self._kind(self.model.start)][context])
        return self._blocks.remember(memory, context)

    def starting(self, t: int) -> IntArray:
        """(n,): the private state of each context in the first slot of the day that begins at slot t."""
        return self._first[self._kind(self.model.date_of(t)[0])]

    def widened(self, date: dt.date, likelihood: FloatArray) -> FloatArray:
        """The likelihood over the private states of all kinds; those of others cannot occur then."""
        return self._blocks.spread(self._kind(date), likelihood)

    def worth(self, context: str, output: Output) -> float:
        """The first kind's."""
        return next(iter(self._chosen.values())).worth(context, output)

    def judge(self) -> EndlessAdversary:
        """The observer who knows how nights join the days."""
        return EndlessAdversary(self, anew=self.starting)


class Unrolled:
    """A mechanism without end over its first days, or positions, as one model that ends: for the audit alone."""

    needs: Needs = "any"

    def __init__(self, mechanism: Any, days: int, policy: Policy | None = None) -> None:
        self.model: DayModel = mechanism.model.unrolled(days)
        self._mechanism = mechanism
        slots, own = mechanism.model.day_slots, mechanism.policy
        self.promised = (
            None if own is None else _unrolled(own, slots, days, mechanism.model)
        )  # what the guarantee speaks of
        self.policy = self.promised if policy is None else _unrolled(policy, slots, days, mechanism.model)
        self.guarantee: Guarantee = mechanism.guarantee
        self.private_contexts: IntArray = mechanism.private_contexts
        cuts = range(slots, days * slots, slots) if isinstance(mechanism, DaysJoined) else ()
        self.anew: Mapping[int, IntArray] = {t: mechanism.starting(t) for t in cuts}  # where memory starts anew
        self._days, self._in_mind = days, tuple(getattr(mechanism, "observers", ()))
        self.observers: tuple[DayModel, ...] = tuple(observer.unrolled(days) for observer in self._in_mind)

    def habits_of(self, routine: AnyRoutine) -> DayModel:
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


def ended(mechanism: Any, days: int, positions: int, policy: Policy | None = None) -> Any:
    """A mechanism that ends, as it is; of one without end its first days, or positions where it has no days."""
    model = mechanism.model
    if model.slots is not None:
        return mechanism
    return Unrolled(mechanism, positions if model.day_slots is None else days, policy)


def _unrolled(policy: Policy, slots: int | None, days: int, model: Any) -> Policy:
    """The policy of a stream's first days; where there are no days, of its first so many positions."""
    if slots is not None:
        return _repeated(policy, slots, days, model.date_of(0)[0] if policy.beyond_a_day else None)
    secrets = []
    for secret in policy.secrets:
        own = range(days) if secret.slots is None else sorted(slot for slot in secret.slots if slot < days)
        whole = secret.slots is None or len(own) == len(secret.slots)
        if own and (secret.at == "each" or whole):  # a window that ends later is a secret of more positions
            secrets.append(replace(secret, slots=frozenset(own)))
    return replace(policy, secrets=tuple(secrets))


def _repeated(policy: Policy, slots: int, days: int, start: dt.date | None) -> Policy:
    """One secret for each window; one that ends later is a secret of more days."""
    secrets: list[Secret] = []
    for secret in policy.secrets:
        own = range(slots) if secret.slots is None else sorted(secret.slots)
        if secret.at == "each":
            every = [day * slots + slot for day in range(days) for slot in own]
            secrets.append(replace(secret, slots=frozenset(every)))
            continue
        of_a_day = sorted(slot + (slots if slot < secret.begins else 0) for slot in own)
        for first, last in _spans(secret, days, start):
            window = [day * slots + slot for day in range(first, last + 1) for slot in of_a_day]
            inside = [slot for slot in window if slot >= 0]  # of one that began before the first day, its end is left
            if inside and window[-1] < days * slots:
                name, held = on_day(secret.name, first + 1, last + 1), frozenset(inside)
                secrets.append(replace(secret, name=name, slots=held, begins=0, over="day", sliding=False))
    return replace(policy, secrets=tuple(secrets))


def _spans(secret: Secret, days: int, start: dt.date | None) -> list[tuple[int, int]]:
    """The first and last day of each window that some of the days belongs to, counted from the stream's first."""
    if start is None or secret.over == "day":
        return [(day, day) for day in range(-1, days)]
    found: dict[tuple[int, int], None] = {}
    for day in range(-1, days):
        for first, length in secret.windows_of(start + day * ONE_DAY):
            found[(first - start).days, (first - start).days + length - 1] = None
    return list(found)
