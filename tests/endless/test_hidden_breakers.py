"""The oracle of hidden models finds out each mechanism that leaves out one thing of theory, section 15."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pytest

import discreet as d
from discreet.contracts import AnyMachine
from discreet.kernels import FiniteKernel, suppressing_kernel
from discreet.numerics import FloatArray
from discreet.outputs import Output, Released
from tests.endless.hidden_models import Family, HiddenCase, one_secret
from tests.endless.hidden_oracle import HiddenPaths, exact_excess, rows_of, search
from tests.endless.hidden_slow import SlowHidden
from tests.endless.slow import State
from tests.strategies import searches

POSITIONS = 5


class ByChance:
    """Releases the truth with a fixed chance for each context, whatever was output before."""

    def __init__(self, model: d.HiddenMarkovModel, policy: d.Policy) -> None:
        self.model, self.policy = model, policy
        n = len(model.contexts)
        self.private_contexts = np.arange(n)
        inside = np.array([context in policy.contexts for context in model.contexts])
        self._kernel = suppressing_kernel(model.contexts, np.where(inside, 1.0, 0.25))

    def start(self) -> int:
        return 0

    def kernel(self, state: int) -> FiniteKernel:
        return self._kernel

    def advance(self, state: int, output: Output) -> int:
        return state + 1

    def remember(self, memory: int | None, context: int) -> int:
        return context


class JudgesThePresentByState(SlowHidden):
    """The row of the present position is left out where no hidden state is beyond its limit, like a future row."""

    def kept(self, masses: Any) -> frozenset[int]:
        present = frozenset(e for e, row in enumerate(self.hidden.events) if row.slots == {masses.t})
        return super().kept(masses) - (present & self.by_state(masses, np.ones(len(self.private_contexts))))


class JudgesThePastByState(SlowHidden):
    """Past rows are dropped by hidden states though the mechanism remembers a context too."""

    def dead(self, masses: Any, likely: FloatArray) -> frozenset[int]:
        return self.past(masses) & self.by_state(masses, likely)


class JudgesThePastByContext(SlowHidden):
    """Past rows are dropped by contexts though hidden states know more."""

    def dead(self, masses: Any, likely: FloatArray) -> frozenset[int]:
        return self.past(masses) & self.by_context(masses, likely)


class DropsThePast(SlowHidden):
    """Past rows are dropped though a state is beyond the limit."""

    def kept(self, masses: Any) -> frozenset[int]:
        return frozenset(e for e in super().kept(masses) if max(self.hidden.events[e].slots) >= masses.t)


class DropsTheFuture(SlowHidden):
    """Rows of positions to come are born when they come."""

    def kept(self, masses: Any) -> frozenset[int]:
        return super().kept(masses) - self.coming(masses)


class DropsAnyInside(SlowHidden):
    """A row at="any" is dropped for good inside its window, once no hidden state is beyond the limit."""

    def dead(self, masses: Any, likely: FloatArray) -> frozenset[int]:
        every = frozenset(range(len(self.hidden.events)))
        return (every - self.coming(masses)) & self.by_state(masses, likely)


class GuessesTheMemory(SlowHidden):
    """After a skip the kernel looks at pairs, and the person puts in the context that is in front for the unknown."""

    def remember(self, memory: int | None, context: int) -> int:
        return super().remember(0 if memory is None else memory, context)

    def after_skip(self, masses: Any) -> Any:
        return self.hidden.push(masses, np.ones(len(self.private_contexts)))  # as though everybody remembered


class KeyedOnTheLastRelease(SlowHidden):
    """A release closes the past, as on a chain: the belief starts anew from "X_a = i", and rows up to a are dropped."""

    def advance(self, state: State, output: Output) -> State:
        following = (*state, output)
        if isinstance(output, Released) and following not in self._beliefs:
            masses: Any = self.hidden.start()
            for _ in state:
                masses = self.hidden.push(masses, None)
            shown = np.eye(len(self.model.contexts))[self.model.contexts.index(output.context)]
            self._beliefs[following] = self.hidden.push(masses, shown)
            self._dropped[following] = self.past(masses)
        return super().advance(state, output)


class Piece(NamedTuple):
    number: int
    inner: State


@dataclass(frozen=True, eq=False)
class InPieces:
    """A programme for each two positions alone, from the prior at the first of them: what joins pieces is forgotten."""

    case: HiddenCase
    length: int = 2

    @property
    def model(self) -> Any:
        return self.case.unrolled(POSITIONS)

    @property
    def policy(self) -> d.Policy:
        return self.case.policy

    @property
    def private_contexts(self) -> Any:
        return np.arange(len(self.case.contexts))

    @lru_cache  # noqa: B019  # a few pieces of a few models
    def of(self, number: int) -> SlowHidden:
        whole = self.case.unrolled(number * self.length + 1)
        case = replace(self.case, initial=whole.state_prior[-1])
        return SlowHidden(case.unrolled(self.length), case.policy, memory="none")

    def start(self) -> Piece:
        return Piece(0, ())

    def kernel(self, state: Piece) -> FiniteKernel:
        return self.of(state.number).kernel(state.inner)

    def advance(self, state: Piece, output: Output) -> Piece:
        if len(state.inner) + 1 == self.length:
            return Piece(state.number + 1, ())
        return Piece(state.number, self.of(state.number).advance(state.inner, output))

    def remember(self, memory: int | None, context: int) -> int:
        return context


def judged(machine: AnyMachine, case: HiddenCase, skips: tuple[int, ...] = ()) -> bool:
    """Whether the oracle finds a breach. One that it finds is confirmed by both exact twins."""
    model = case.unrolled(POSITIONS)
    rows = rows_of(case.policy, case.contexts, POSITIONS)
    found = search(machine, model, rows, POSITIONS, skips=skips, budget=60).worst
    if found.breached:
        assert found.event is not None
        exact = HiddenPaths(machine, model, [found.event]).along(found.outputs).excess
        assert exact >= found.excess == exact_excess(machine, model, found.event, found.outputs)
    return found.breached


def built(kind: Callable[..., AnyMachine], **options: Any) -> Callable[[HiddenCase], AnyMachine]:
    return lambda case: kind(case.unrolled(POSITIONS), case.policy, **options)


def live(kind: type[SlowHidden], memory: str, outputs: str = "suppress") -> Callable[[HiddenCase], AnyMachine]:
    return built(kind, memory=memory, outputs=outputs, rows="live")


@dataclass(frozen=True)
class Breaker:
    name: str
    make: Callable[[HiddenCase], AnyMachine]
    family: Family | None = "sticky"
    window: int = 0
    skips: tuple[int, ...] = ()
    contexts: int | None = 2
    seeds: range = range(24)


BREAKERS = [
    Breaker("fixed chances", built(ByChance)),
    Breaker("pieces", InPieces),
    Breaker("present", live(JudgesThePresentByState, "none"), None),
    Breaker("state, memory", live(JudgesThePastByState, "last"), None),
    Breaker("context, memory", live(JudgesThePastByContext, "last"), None),
    Breaker("context, order two", live(JudgesThePastByContext, "none"), "order two"),
    Breaker("private states", live(JudgesThePastByContext, "none", "deceive"), "dense", seeds=range(10, 50)),  # rare
    Breaker("past", live(DropsThePast, "none")),
    Breaker("future", live(DropsTheFuture, "none"), "order two"),
    Breaker("any", live(DropsAnyInside, "none"), None, 4),
    Breaker("guess", live(GuessesTheMemory, "last", "deceive"), None, 0, (1, 3)),
    Breaker("last release", live(KeyedOnTheLastRelease, "none"), "order two"),
]


@pytest.mark.parametrize("breaker", BREAKERS, ids=lambda breaker: breaker.name)
def test_a_breaker_is_found_out(breaker: Breaker) -> None:
    for seed in breaker.seeds:
        case = one_secret(seed, breaker.family, breaker.window, breaker.contexts)
        if judged(breaker.make(case), case, breaker.skips):
            return
    pytest.fail("the oracle missed it")


@pytest.mark.parametrize("memory", ["none", "last"])
@pytest.mark.parametrize("window", [0, 4])
def test_where_breakers_are_found_out_the_right_one_holds(window: int, memory: str) -> None:
    for seed in searches(6):
        case = one_secret(seed, None, window, 2)
        for skips in ((), (1, 3)):
            machine = live(SlowHidden, memory, "deceive" if seed % 2 else "suppress")(case)
            assert not judged(machine, case, skips), seed
