"""The oracle itself: its twins agree, it finds what is known to leak, and what is known to hold, holds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.kernels import FiniteKernel
from discreet.mechanisms import Adaptive
from discreet.models.routine.routine import Routine
from discreet.outputs import SKIPPED, Output
from tests.endless import walk as walk_module
from tests.endless.oracle import FLOATS, Paths, Recursion, events_of, search
from tests.endless.routines import random_case
from tests.endless.searched import SLACK, Event, Node, decided
from tests.endless.slow import Slow
from tests.endless.walk import Walk
from tests.strategies import RandomMechanism, searches


class Told:
    """Releases the truth in every slot: belief becomes certainty."""

    def __init__(self, model: Any, policy: d.Policy) -> None:
        self.model, self.policy = model, policy
        self.private_contexts = np.arange(len(model.contexts))

    def start(self) -> int:
        return 0

    def kernel(self, state: int) -> FiniteKernel:
        outputs = tuple(d.Released(context) for context in self.model.contexts)
        return FiniteKernel(outputs, np.eye(len(outputs), dtype=np.int64), 1)

    def advance(self, state: int, output: Output) -> int:
        return state + 1

    def remember(self, memory: int | None, context: int) -> int:
        return context


class Skippable(RandomMechanism):
    """Random kernels with memory that also take skips."""

    def advance(self, state: Any, output: Output) -> Any:
        return super().advance(state, d.Suppressed() if output == SKIPPED else output)


def test_truth_told_every_slot_gains_all_that_the_prior_leaves() -> None:
    half = [[0.5, 0.5], [0.25, 0.75]]
    routine = Routine({"day": d.MarkovChain(("s", "x"), [0.5, 0.5], [half])}, {("day", "day"): half})
    chain = routine.since("2026-11-16", initial=[0.5, 0.5]).unrolled(2)
    policy = d.Policy(["s", d.Secret("today", {"s"}, at="any", delta=0.25)], delta=0.25)
    events = events_of(policy, chain.contexts, 2, 2)
    assert len(events) == 2 * (2 + 1)
    told = Paths(Told(chain, policy), chain, events)
    # priors by hand: P(X_t = s) is 1/2, 3/8, 11/32, 43/128; never on a day is P(x) P(x -> x)
    assert told.priors == [
        Fraction(value) for value in (0.5, 0.375, 1 - 0.5 * 0.75, 11 / 32, 43 / 128, 1 - (21 / 32) * 0.75)
    ]
    worst = told.tree(4)
    assert worst.excess == 1 - Fraction(43, 128) - Fraction(1, 4)
    assert search(Told(chain, policy), chain, events, 4).worst.excess == worst.excess


def test_a_secret_may_be_betrayed_days_later_and_days_ahead() -> None:
    same = np.eye(2)
    routine = Routine({"day": d.MarkovChain(("s", "x"), [0.25, 0.75], [same])}, {("day", "day"): same})
    chain = routine.since("2026-11-16").unrolled(3)
    policy = d.Policy([d.Secret("first", {"s"}, slots={0})], delta=0.5)
    events = events_of(policy, chain.contexts, 2, 3)
    paths = Paths(Told(chain, policy), chain, events)
    later = [paths.beliefs([w * (path[5] == 0) for w, path in zip(paths.start, paths.paths, strict=True)])]
    assert later == [[1, 1, 1]]
    assert paths.along([d.Released("s")]).excess == Fraction(1, 4)


@pytest.mark.parametrize("skips", [(), (0,), (2, 3)])
def test_the_two_twins_agree_on_random_mechanisms(skips: tuple[int, ...]) -> None:
    for seed in searches(6):
        case = random_case(seed, slots=2)
        chain = case.unrolled(3)
        machine = Skippable(chain, case.policy, seed=seed, memory=seed % 2 == 0)
        events = events_of(case.policy, chain.contexts, 2, 3)
        exact = Paths(machine, chain, events).tree(4, skips)
        found = search(machine, chain, events, 4, skips=skips, budget=10**6)
        assert found.complete
        assert abs(found.worst.excess - exact.excess) < FLOATS, seed


def test_beliefs_agree_event_by_event() -> None:
    for seed in searches(8):
        case = random_case(seed, slots=2, contexts=3)
        chain = case.unrolled(2)
        machine = RandomMechanism(chain, case.policy, seed=seed, memory=True)
        events = events_of(case.policy, chain.contexts, 2, 2)
        paths, recursion = Paths(machine, chain, events), Recursion(machine, chain, events)
        np.testing.assert_allclose(recursion.priors, [float(p) for p in paths.priors], rtol=0, atol=FLOATS)
        kernel = machine.kernel(machine.start())
        for k in range(len(kernel.outputs)):
            _, weights = paths._after(0, kernel, k, [None] * len(paths.paths), paths.start)
            if any(weights):
                told = recursion.beliefs(recursion.start(), kernel.matrix[:, [k]])[:, 0]
                np.testing.assert_allclose(told, [float(p) for p in paths.beliefs(weights)], rtol=0, atol=FLOATS)


def test_the_days_adaptive_on_the_unrolled_chain_holds() -> None:
    """One long day with every event as a secret of its own: nothing may be found."""
    for seed in searches(6):
        case = random_case(seed, slots=2, contexts=2)
        chain = case.unrolled(3)
        events = events_of(case.policy, chain.contexts, 2, 3)
        policy = d.Policy(
            [
                d.Secret(str(k), {chain.contexts[c] for c in e.members}, slots=e.slots, delta=float(e.delta), at="any")
                for k, e in enumerate(events)
            ]
        )
        machine = Adaptive(chain, policy, outputs="deceive" if seed % 2 else "suppress", plan="lazy")
        assert not search(machine, chain, events, 6).worst.breached, seed


@pytest.mark.parametrize(("large", "kept"), [(walk_module.LARGE, walk_module.KEPT), (240, 160)])
def test_the_integer_walk_agrees_with_paths(large: int, kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut to few bits its bound stays above the truth, and near it."""
    monkeypatch.setattr(walk_module, "LARGE", large)
    monkeypatch.setattr(walk_module, "KEPT", kept)
    lost = 0
    for seed in searches(4):
        case = random_case(seed, "total", contexts=2 + seed % 2, slots=2, exact=True)
        machine = Slow(case.endless, case.policy, days=4, outputs="deceive", memory="last" if seed % 3 else "none")
        walk, rng = Walk(machine, case.endless, case.policy, ahead=4), np.random.default_rng(seed)
        outputs: list[Output] = []
        worst = Fraction(-1)
        for t in range(5):
            output: Output = SKIPPED
            kernel = walk.kernel()
            walk.rows = [row for row in walk.rows if max(row.event.slots) < 8]  # of the days that paths are listed of
            if t != 2:
                excesses = walk.excesses(kernel)
                output = list(excesses)[int(rng.integers(len(excesses)))]
                worst = max(worst, excesses[output][0])
            outputs.append(output)
            walk.advance(output, kernel)
        events = events_of(case.policy, case.endless.contexts, 2, 4)
        exact = Paths(machine, case.unrolled(4), events).along(outputs)
        assert -Fraction(1, 2**100) < worst - exact.excess < Fraction(1, 2**60), seed
        lost += bool(walk.lost.any())
        assert not exact.breached
    assert bool(lost) == (large == 240)


def test_of_nodes_that_floats_cannot_tell_apart_each_is_looked_at() -> None:
    """Floats hold the first the worst, and it is within the slack; the second is beyond it, by less than they err."""
    events = [Event(name, frozenset({0}), frozenset({0}), Fraction(0)) for name in "ab"]
    nodes = [Node((), None, None, float(SLACK) - k * FLOATS / 2, (event,)) for k, event in enumerate(events)]

    class Exactly:
        rounding = FLOATS

        def exact(self, event: Event, outputs: object) -> Fraction:
            return SLACK + Fraction(1, 10**14) * (1 if event is events[1] else -1)

    sums: Any = Exactly()
    worst = decided(sums, nodes)
    assert worst.breached
    assert worst.event is events[1]
