"""Adaptive over days without end, enumerated: no gain above delta + 2^-40 at any slot of any day, past or to come."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.contracts import AnyMachine
from discreet.mechanisms import Adaptive
from tests.endless.oracle import Paths, events_of, search
from tests.endless.routines import Case, random_case
from tests.endless.searched import Search
from tests.strategies import searches

REFUSED = 0.1
"""The largest share of total routines that may be refused for their horizon."""

AHEAD = 3
"""Days after the last that is released whose secrets are looked at too."""

BOTH = [(outputs, memory) for outputs in ("suppress", "deceive", "generalize") for memory in ("last", "none")]


def adaptive(case: Case, outputs: str, memory: str) -> Adaptive | None:
    """The mechanism; None where the routine is refused, for rows that stay live too long."""
    try:
        return Adaptive(case.endless, case.policy, memory=memory, **case.options(outputs))  # type: ignore[arg-type]
    except d.DiscreetError as refused:
        if "slots later" not in str(refused):
            raise
        return None


def searched(machine: AnyMachine, case: Case, days: int, **options: Any) -> Search:
    chain, slots = case.unrolled(days + AHEAD), days * case.endless.day_slots
    events = events_of(case.policy, chain.contexts, case.endless.day_slots, days + AHEAD)
    return search(machine, chain, events, slots, seed=case.seed, **options)


@pytest.mark.parametrize(("outputs", "memory"), BOTH)
def test_no_gain_exceeds_its_delta(outputs: str, memory: str) -> None:
    tried, refused, decisions, telling = Counter[str](), Counter[str](), 0, 0
    for seed in searches(8):
        case = random_case(seed)
        tried[case.family] += 1
        mechanism = adaptive(case, outputs, memory)
        if mechanism is None:
            refused[case.family] += 1
            continue
        days = 4 if case.endless.day_slots == 2 else 3
        found = searched(mechanism, case, days, budget=60)
        assert not found.worst.breached, (seed, case.family, float(found.worst.excess), found.worst)
        decisions, telling = decisions + found.decisions, telling + found.telling
    assert refused["total"] <= REFUSED * tried["total"], refused
    assert telling > decisions / 4  # a promise that is kept by silence is no release


@pytest.mark.parametrize(("outputs", "memory"), BOTH)
def test_no_belief_exceeds_its_cap(outputs: str, memory: str) -> None:
    """Also where a mechanism that keeps every delta, and knows of no cap, would."""
    checked = caught = 0
    for seed in searches(5, full=8):
        case = random_case(seed + 500, contexts=2 + seed % 2, slots=2, caps=True)
        mechanism = adaptive(case, outputs, memory)
        if mechanism is None:
            continue
        found = searched(mechanism, case, 3, budget=40)
        assert not found.worst.breached, (seed, case.family, float(found.worst.excess), found.worst)
        free = d.Policy([replace(secret, cap=None) for secret in case.policy.secrets], delta=case.policy.delta)
        blind = adaptive(replace(case, policy=free), outputs, memory)
        caught += blind is not None and searched(blind, case, 3, budget=40).worst.breached
        checked += 1
    assert checked >= 3
    assert caught > 0


@pytest.mark.parametrize(("outputs", "memory"), BOTH)
def test_whole_trees_of_the_smallest_in_fractions(outputs: str, memory: str) -> None:
    complete = 0
    for seed in searches(4):
        case = random_case(seed, contexts=2, slots=2)
        mechanism = adaptive(case, outputs, memory)
        if mechanism is None:
            continue
        chain = case.unrolled(3)
        events = events_of(case.policy, chain.contexts, 2, 3)
        worst = Paths(mechanism, chain, events).tree(4)
        assert not worst.breached, (seed, case.family, float(worst.excess), worst)
        complete += 1
    assert complete


def test_one_context_has_nothing_to_hide() -> None:
    case = random_case(0, contexts=1)
    mechanism = adaptive(case, "suppress", "last")
    assert mechanism is not None
    state, private = mechanism.start(), None
    for _ in range(3 * case.endless.day_slots):
        kernel: Any = mechanism.kernel(state)
        private = mechanism.remember(private, 0)
        assert kernel.likelihood(d.Released("c0"))[private] > 0.99
        state = mechanism.advance(state, d.Released("c0"))


def test_the_horizon_is_a_number_of_slots() -> None:
    for seed in searches(6):
        mechanism = adaptive(random_case(seed, "total"), "suppress", "last")
        if mechanism is not None:
            assert isinstance(mechanism.horizon, int)
            assert mechanism.horizon >= 0


def test_what_never_forgets_is_refused() -> None:
    turn = np.eye(2)[::-1]
    routine = d.Routine({"day": d.MarkovChain(("a", "b"), [0.5, 0.5], [turn])}, {("day", "day"): turn})
    with pytest.raises(d.DiscreetError, match="slots later"):
        Adaptive(routine.since("2026-11-16"), d.Policy(["a"], delta=0.1))
