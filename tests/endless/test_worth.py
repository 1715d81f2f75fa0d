"""What a promise without end leaves to release: about as much as the slow twin does, which keeps every row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.contracts import AnyMachine
from tests.endless.oracle import Masses, Recursion
from tests.endless.routines import Case, random_case
from tests.endless.slow import Slow
from tests.endless.test_enumeration import adaptive
from tests.strategies import searches

SHARE = 0.9
"""Of the slow twin's releases: it holds nothing back for later, which in two days pays as often as it costs."""


def released(machine: AnyMachine, chain: d.MarkovChain, slots: int) -> float:
    """The expected share of the first slots that are released as they are, over the whole tree of outputs."""
    recursion = Recursion(machine, chain, ())

    def below(state: Any, masses: Masses, t: int) -> float:
        kernel: Any = machine.kernel(state)
        found = 0.0
        for output, column in zip(kernel.outputs, kernel.matrix.T, strict=True):
            joint = masses.everything * column
            if isinstance(output, d.Released):
                found += float(joint[recursion.contexts == chain.contexts.index(output.context)].sum())
            if t + 1 < slots and joint.sum() > 1e-9:  # what is rarer adds less than the bound has digits
                found += joint.sum() * below(machine.advance(state, output), recursion.push(masses, column), t + 1)
        return found

    return below(machine.start(), recursion.start(), 0) / slots


def two_contexts(seed: int) -> Case:
    case = random_case(seed, "total", contexts=2, slots=2)
    endless = case.endless.routine.since("2026-11-20")
    return replace(case, endless=endless, policy=d.Policy(["c0"], delta=(0.1, 0.2)[seed % 2]))


@pytest.mark.parametrize("memory", ["last", "none"])
@pytest.mark.parametrize("outputs", ["suppress", "deceive"])
def test_about_as_much_is_released_as_by_the_slow_twin(outputs: Any, memory: Any) -> None:
    fast, slow = [], []
    for seed in searches(6):
        case = two_contexts(seed)
        mechanism = adaptive(case, outputs, memory)
        assert mechanism is not None
        chain = case.unrolled(3)
        fast.append(released(mechanism, chain, 4))
        slow.append(released(Slow(case.endless, case.policy, days=3, outputs=outputs, memory=memory), chain, 4))
    assert np.mean(fast) >= SHARE * np.mean(slow)
