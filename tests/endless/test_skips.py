"""Slots in which nothing was decided: the next kernel looks at no memory, and no gain exceeds its delta."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.mechanisms import Adaptive
from discreet.outputs import SKIPPED, Output
from tests.endless.routines import Case, random_case
from tests.endless.test_enumeration import BOTH, adaptive, searched
from tests.strategies import searches


def skipped_slots(case: Case, days: int, seed: int) -> tuple[int, ...]:
    """One slot, the first, those around midnight, several, or nearly all."""
    slots, T, rng = days * case.endless.day_slots, case.endless.day_slots, np.random.default_rng([seed, 5])
    chosen = {
        0: [int(rng.integers(slots))],
        1: [0],
        2: [T - 1, T],
        3: [int(t) for t in np.flatnonzero(rng.random(slots) < 0.4)],
        4: [t for t in range(slots) if t % 3],
    }[seed % 5]
    return tuple(chosen)


@pytest.mark.parametrize(("outputs", "memory"), BOTH)
def test_no_gain_exceeds_its_delta_over_skips(outputs: str, memory: str) -> None:
    held = 0
    for seed in searches(5, full=8):  # each kind of skips
        case = random_case(seed + 10_000)
        mechanism = adaptive(case, outputs, memory)
        if mechanism is None:
            continue
        found = searched(mechanism, case, 3, skips=skipped_slots(case, 3, seed), budget=60)
        assert not found.worst.breached, (seed, case.family, float(found.worst.excess), found.worst)
        held += 1
    assert held


def rows_are_alike(mechanism: Adaptive, state: Any) -> bool:
    """Whether all private states of a context have one row."""
    weights, contexts = mechanism.kernel(state).weights, mechanism.private_contexts  # type: ignore[attr-defined]
    return all((weights[contexts == c] == weights[contexts == c][0]).all() for c in np.unique(contexts))


@pytest.mark.parametrize("outputs", ["suppress", "deceive", "generalize"])
def test_rows_are_alike_after_a_skip_and_not_always(outputs: str) -> None:
    differed = 0
    for seed in searches(6):
        case = random_case(seed, "total", contexts=3, slots=2)
        mechanism = adaptive(case, outputs, "last")
        if mechanism is None:
            continue
        rng, state = np.random.default_rng(seed), mechanism.start()
        before: Output | None = None
        for _ in range(12):
            kernel: Any = mechanism.kernel(state)
            if before == SKIPPED:
                assert rows_are_alike(mechanism, state), seed
            elif before is not None:
                differed += not rows_are_alike(mechanism, state)
            spoken = [output for output in kernel.outputs if kernel.likelihood(output).any()]
            before = SKIPPED if rng.random() < 0.3 else spoken[int(rng.integers(len(spoken)))]
            state = mechanism.advance(state, before)
    assert differed  # memory is looked at elsewhere, so the test can tell
