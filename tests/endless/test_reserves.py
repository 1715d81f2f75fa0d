"""Odds, doubt, share and cap without end: enumerated over skips, lost memory and windows whose border they touch."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.mechanisms import Adaptive
from tests.endless.oracle import NOTHING, Recursion, search
from tests.endless.routines import Case, random_case, random_rows
from tests.endless.searched import Event
from tests.endless.test_long_windows import events_by_hand
from tests.mechanisms.test_odds import with_odds
from tests.strategies import labels, searches

AHEAD = 3
"""Days after the last that is released whose rows are looked at too."""


def edge_case(seed: int) -> Case:
    """Two secrets that overlap, rare or nearly certain, one of them over a window; a cap, and bounds on odds."""
    rng = np.random.default_rng([seed, 91])
    case = random_case(seed, "total", contexts=4, slots=2)
    if seed % 2:
        rare = 10.0 ** -rng.uniform(1, 6)
        rest = rng.dirichlet([2.0, 2.0, 2.0]) * (1 - rare)
        row = rng.permutation([rare, *rest])
        steps = np.array([0.7 * row + 0.3 * other for other in random_rows(rng, "total", (4, 4))])
        chain = d.MarkovChain(labels(4), row, [steps])
        routine = d.Routine({"day": chain}, {("day", "day"): steps[::-1].copy()})
        case = replace(case, endless=routine.since("2026-11-16"))
    names = case.endless.contexts
    days = int(rng.integers(1, 4))
    over: Any = "day" if days == 1 else days
    sliding, begins = (bool(days > 1 and rng.random() < 0.5) for _ in range(2))
    delta = float(rng.choice([0.05, 0.2]))
    window = d.Secret("window", set(names[1:3]), at="any", over=over, sliding=sliding, begins=int(begins), delta=delta)
    each = d.Secret("each", set(names[:2]), cap=float(rng.choice([0.3, 0.6, 0.9])) if rng.random() < 0.6 else None)
    policy = d.Policy([each, window], delta=float(rng.choice([0.05, 0.1, 0.3])))
    terms = (with_odds(seed + 1000 * k, policy) for k in range(100))
    telling = (one for one in terms if all(one.odds_of(secret) != 1 for secret in one.secrets))
    return replace(case, policy=next(telling))  # odds of 1 let nothing be told: tests/mechanisms/test_odds.py has them


def events_of(case: Case, days: int, machine: Any) -> list[Event]:
    """Every row with the gain that the policy's terms leave of delta, whose formula tests/test_factors.py has."""
    plain = [replace(one, cap=None) for one in events_by_hand(case, days)]
    priors = Recursion(machine, case.unrolled(days), plain).priors.tolist()
    own = {secret.name: secret for secret in case.policy.secrets}
    return [
        replace(event, delta=Fraction(case.policy.row_delta(own[event.secret], prior)))
        for event, prior in zip(plain, priors, strict=True)
    ]


def skipped(case: Case, slots: int, seed: int) -> tuple[int, ...]:
    """None, the first slot, those around midnight, or those around the border of a window."""
    day, over = case.endless.day_slots, case.policy.secrets[1].over
    border = day * (over if isinstance(over, int) else 1)
    return ((), (0,), (day - 1, day), tuple(t for t in (border - 1, border) if t < slots))[seed % 4]


def stream(case: Case, outputs: Any, memory: Any) -> Adaptive | None:
    """None where bounds so tight need rows that stay live too long."""
    try:
        return Adaptive(case.endless, case.policy, outputs=outputs, memory=memory)
    except d.DiscreetError as refused:
        if "slots later" not in str(refused):
            raise
        return None


@pytest.mark.parametrize("outputs", ["suppress", "deceive"])
@pytest.mark.parametrize("memory", ["last", "none"])
def test_no_row_is_beyond_what_its_terms_leave(outputs: str, memory: str) -> None:
    held = telling = decisions = 0
    for seed in searches(3, full=20):
        case, days = edge_case(seed), 3
        machine = stream(case, outputs, memory)
        if machine is None:
            continue
        slots = days * case.endless.day_slots
        found = search(
            machine, case.unrolled(days + AHEAD), events_of(case, days + AHEAD, machine), slots,
            skips=skipped(case, slots, seed), budget=40, seed=seed,
        )  # fmt: skip
        assert not found.worst.breached, (seed, float(found.worst.excess), found.worst, case.policy)
        held, telling, decisions = held + 1, telling + found.telling, decisions + found.decisions
    assert held
    assert telling > decisions / 8  # a promise that is kept by silence is no release


def test_limits_of_delta_alone_are_not_enough() -> None:
    """The same search finds what odds are there for, where the mechanism keeps delta alone."""
    case = edge_case(1)
    plain = replace(case, policy=d.Policy([replace(one, odds=None) for one in case.policy.secrets], delta=0.3))
    machine = stream(plain, "deceive", "none")
    assert machine is not None
    bounded = replace(plain, policy=replace(plain.policy, odds=1.2))
    found = search(machine, plain.unrolled(5), events_of(bounded, 5, machine), 4, budget=40)
    assert found.worst.breached
    assert found.worst.excess > NOTHING.excess
