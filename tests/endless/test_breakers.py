"""The slow twin holds, and each mechanism that leaves out one thing of theory, section 10, is found out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pytest

import discreet as d
from discreet.contracts import AnyMachine
from discreet.kernels import FiniteKernel
from discreet.mechanisms import Adaptive
from discreet.models.routine.routine import EndlessChain
from discreet.numerics import FloatArray
from discreet.outputs import Output
from tests.endless.oracle import Masses, Paths, events_of, search
from tests.endless.routines import Case, random_case
from tests.endless.slow import Slow
from tests.strategies import searches

DAYS = 3


class DropsThePast(Slow):
    """Past rows are dropped though a state is beyond the limit."""

    def kept(self, masses: Masses) -> frozenset[int]:
        return frozenset(e for e in super().kept(masses) if max(self.recursion.events[e].slots) >= masses.t)


class DropsYesterday(Slow):
    """Likewise, but only rows of earlier days: what is told of yesterday counts no more."""

    def kept(self, masses: Masses) -> frozenset[int]:
        today = masses.t // self.day_slots * self.day_slots
        return frozenset(e for e in super().kept(masses) if max(self.recursion.events[e].slots) >= today)


class DropsTheFuture(Slow):
    """Rows of slots to come are born when they come."""

    def kept(self, masses: Masses) -> frozenset[int]:
        return frozenset(e for e in super().kept(masses) if min(self.recursion.events[e].slots) <= masses.t)


class DropsAnyInside(Slow):
    """A row at="any" is dropped for good inside its window, once no state is beyond the limit: as if it were past."""

    def dead(self, masses: Masses, likely: FloatArray) -> frozenset[int]:
        return frozenset(e for e in self.harmless(masses, likely) if min(self.recursion.events[e].slots) <= masses.t)


class GuessesTheMemory(Slow):
    """After a skip the kernel looks at pairs, and the person puts in the context that is in front for the unknown."""

    def remember(self, memory: int | None, context: int) -> int:
        return super().remember(0 if memory is None else memory, context)

    def after_skip(self, masses: Masses) -> Masses:
        return self.recursion.push(masses, np.ones(len(self.private_contexts)))  # as though everybody remembered


class Anew(NamedTuple):
    day: int
    inner: Any


@dataclass(frozen=True, eq=False)
class StartsAnew:
    """The day's `Adaptive` on each date's own chain, with that date's prior; what nights join is forgotten."""

    endless: EndlessChain
    policy: d.Policy
    outputs: str = "suppress"

    @property
    def model(self) -> Any:
        return self.endless

    @property
    def private_contexts(self) -> Any:
        return np.arange(len(self.endless.contexts))

    @lru_cache  # noqa: B019  # a few days of a few routines
    def of_day(self, day: int) -> Adaptive:
        first = day * self.endless.day_slots
        steps = [self.endless.transition(t) for t in range(first, first + self.endless.day_slots - 1)]
        chain = d.MarkovChain(self.endless.contexts, self.endless.prior_at(first), steps)
        return Adaptive(chain, self.policy, outputs=self.outputs, memory="none", plan="lazy")  # type: ignore[arg-type]

    def start(self) -> Anew:
        return Anew(0, (0, self.of_day(0).start()))

    def kernel(self, state: Anew) -> FiniteKernel:
        return self.of_day(state.day).kernel(state.inner[1])  # type: ignore[return-value]

    def advance(self, state: Anew, output: Output) -> Anew:
        slot, inner = state.inner
        if slot + 1 == self.endless.day_slots:
            return Anew(state.day + 1, (0, self.of_day(state.day + 1).start()))
        return Anew(state.day, (slot + 1, self.of_day(state.day).advance(inner, output)))

    def remember(self, memory: int | None, context: int) -> int:
        return context


def slow(kind: type[Slow], case: Case, **options: Any) -> Slow:
    return kind(case.endless, case.policy, days=DAYS, **options)


def judged(machine: AnyMachine, case: Case, skips: tuple[int, ...] = (), budget: int = 120) -> bool:
    """Whether the oracle finds a breach over the unrolled days; a breach is confirmed in whole numbers."""
    chain = case.unrolled(DAYS)
    events = events_of(case.policy, chain.contexts, case.endless.day_slots, DAYS)
    found = search(machine, chain, events, chain.slots, skips=skips, budget=budget).worst
    if found.breached:
        assert Paths(machine, chain, events).along(found.outputs).breached
    return found.breached


def total_case(seed: int, *, at: str | None = None) -> Case:
    """Two contexts, two slots; with `at`, one secret at each slot or at any of the day."""
    case = random_case(seed, "total" if seed % 3 else "nearly deterministic", contexts=2, slots=2)
    if at is None:
        return case
    secret = d.Secret("secret", {"c0"}, at=at, delta=(0.05, 0.1, 0.2)[seed % 3])  # type: ignore[arg-type]
    return replace(case, policy=d.Policy([secret]))


@pytest.mark.parametrize("memory", ["none", "last"])
@pytest.mark.parametrize("outputs", ["suppress", "deceive", "generalize"])
@pytest.mark.parametrize("rows", ["all", "live"])
def test_the_slow_twin_holds(outputs: str, memory: str, rows: str) -> None:
    for seed in searches(2, full=4):
        case = random_case(seed, contexts=2 + seed % 2, slots=2)
        machine = slow(Slow, case, memory=memory, rows=rows, **case.options(outputs))
        assert not judged(machine, case, skips=(seed % 6,) if seed % 4 == 0 else ()), seed


def test_live_rows_are_worth_what_all_rows_are() -> None:
    """The programmes with all rows and with live rows have equal optima at the start and after each first output."""
    compared = 0
    for seed in searches(6):
        case = random_case(seed, "total", contexts=2, slots=2)
        every, live = (slow(Slow, case, rows=rows, outputs="deceive") for rows in ("all", "live"))
        state: Any = ()
        for _ in range(3):
            if min(len(m.kernel(state).outputs) for m in (every, live)) == 1:
                break  # HiGHS gave up, as it does on one processor and not on another: that says nothing of worth
            chances = [m._beliefs[state].everything for m in (every, live)]
            worths = [
                float((chance[:, None] * m.kernel(state).matrix * m.worth[m.private_contexts]).sum())
                for m, chance in zip((every, live), chances, strict=True)
            ]
            assert worths[0] == pytest.approx(worths[1], abs=1e-6), seed
            compared += 1
            if every.kernel(state).digest != live.kernel(state).digest:
                break  # of several optima another one: from here on they differ
            likeliest = int((chances[0] @ every.kernel(state).matrix).argmax())
            output = every.kernel(state).outputs[likeliest]
            live.advance(state, output)
            state = every.advance(state, output)
    assert compared >= 6


def starts_anew(seed: int) -> StartsAnew:
    case = total_case(seed, at="each")
    return StartsAnew(case.endless, case.policy)


BREAKERS: list[tuple[str, Callable[[int], AnyMachine], str, tuple[int, ...]]] = [
    ("past", lambda seed: slow(DropsThePast, total_case(seed, at="each"), memory="none"), "each", ()),
    ("yesterday", lambda seed: slow(DropsYesterday, total_case(seed, at="each"), memory="none"), "each", ()),
    ("future", lambda seed: slow(DropsTheFuture, total_case(seed, at="each"), memory="none"), "each", ()),
    ("any", lambda seed: slow(DropsAnyInside, total_case(seed, at="any"), memory="none"), "any", ()),
    ("guess", lambda seed: slow(GuessesTheMemory, total_case(seed, at="each"), outputs="deceive"), "each", (1, 3)),
    ("anew", starts_anew, "each", ()),
]


@pytest.mark.parametrize(("make", "at", "skips"), [case[1:] for case in BREAKERS], ids=[case[0] for case in BREAKERS])
def test_a_breaker_is_found_out(make: Callable[[int], AnyMachine], at: str, skips: tuple[int, ...]) -> None:
    assert any(judged(make(seed), total_case(seed, at=at), skips) for seed in range(16)), "the oracle missed it"


@pytest.mark.parametrize("memory", ["none", "last"])
@pytest.mark.parametrize("at", ["each", "any"])
def test_where_breakers_are_found_out_the_right_one_holds(at: str, memory: str) -> None:
    for seed in searches(3):
        case = total_case(seed + 1, at=at)
        for skips in ((), (1, 3)):
            assert not judged(slow(Slow, case, memory=memory, rows="live", outputs="deceive"), case, skips), seed
