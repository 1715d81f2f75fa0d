"""Adaptive over habits of order two, of a day and without end, enumerated: no gain above delta + 2^-40, ever.

The oracle is hidden_oracle.py: it lists paths of contexts and knows nothing of pairs as private states, of how rows are
dropped, or of what a release closes. Two wrong ways show that it can tell: a belief that starts anew from the last
release, and rows dropped by contexts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.adversary import endless_belief
from discreet.adversary.endless import EndlessAdversary
from discreet.adversary.filters import HiddenFilter, PairFilter
from discreet.adversary.rows import Rows
from discreet.mechanisms import Adaptive
from discreet.mechanisms.adaptive.machine import AdaptiveMachine, AdaptiveState
from discreet.mechanisms.adaptive.observers import Beliefs
from discreet.numerics import BoolArray, FloatArray
from discreet.outputs import SKIPPED, Output, Released
from tests.endless.hidden_oracle import HiddenPaths, exact_excess, search
from tests.endless.pair_models import PairCase, random_day, random_stream
from tests.endless.searched import SLACK, Search
from tests.strategies import searches

BOTH = [(outputs, memory) for outputs in ("suppress", "deceive", "generalize") for memory in ("last", "none")]
AHEAD = 2
"""Days after the last output whose rows are judged too."""


def adaptive(case: PairCase, outputs: str, memory: str) -> Any:
    """The mechanism; None where rows stay live too long."""
    try:
        return Adaptive(case.model, case.policy, memory=memory, **case.options(outputs))  # type: ignore[arg-type]
    except d.DiscreetError as refused:
        if "later" not in str(refused):
            raise
        return None


def searched(machine: Any, case: PairCase, days: int, **options: Any) -> Search:
    slots = case.model.slots or case.model.day_slots * days
    judged = days + AHEAD
    return search(machine, case.unrolled(judged), case.rows(judged), slots, seed=case.seed, **options)


@pytest.mark.parametrize(("outputs", "memory"), BOTH)
def test_no_gain_of_a_day_exceeds_its_delta(outputs: str, memory: str) -> None:
    telling = 0
    for seed in searches(4, full=25):
        case = random_day(seed)
        found = searched(adaptive(case, outputs, memory), case, 1, budget=60)
        assert not found.worst.breached, (seed, float(found.worst.excess), found.worst)
        telling += found.telling
    assert telling


@pytest.mark.parametrize(("outputs", "memory"), BOTH)
def test_no_gain_of_a_stream_exceeds_its_delta(outputs: str, memory: str) -> None:
    telling = 0
    for seed in searches(4, full=25):
        case = random_stream(seed)
        machine = adaptive(case, outputs, memory)
        if machine is None:
            continue
        skips = [int(t) for t in np.flatnonzero(np.random.default_rng([seed, 5]).random(6) < 0.3)] if seed % 2 else []
        found = searched(machine, case, 2, budget=40, skips=skips)
        assert not found.worst.breached, (seed, float(found.worst.excess), found.worst)
        telling += found.telling
    assert telling


@pytest.mark.parametrize("memory", ["last", "none"])
def test_whole_trees_of_the_smallest_in_fractions(memory: str) -> None:
    for seed in searches(2):
        case = random_stream(seed + 500, contexts=2, family="total")
        machine = adaptive(case, "suppress", memory)
        worst = HiddenPaths(machine, case.unrolled(2), case.rows(2)).tree(3)
        assert not worst.breached, (seed, float(worst.excess), worst)


# --- wrong ways


class KeyedOnTheLastRelease(AdaptiveMachine):
    """A release closes the past, as on a chain: the belief starts anew from the context that was shown."""

    def advance(self, state: AdaptiveState, output: Output) -> AdaptiveState:
        after = super().advance(state, output)
        if not isinstance(output, Released):
            return after
        shown = self.model.pairs.now == self.model.contexts.index(output.context)
        weights = np.where(shown, self.model.state_prior_at(state.slot), 0.0)[None]
        own = replace(after.beliefs.own, stack=weights, low=np.zeros_like(weights), rows=Rows.none())
        return self._after(state, Beliefs((own,)))


def keyed(case: PairCase, memory: str) -> Any:
    right = adaptive(case, "suppress", memory)
    return right and KeyedOnTheLastRelease(case.model, case.policy, right.vocabulary, "suppress", right.memory)


def by_context(case: PairCase) -> Callable[[FloatArray, FloatArray], BoolArray]:
    """Past rows are judged by contexts, though pairs know more."""
    shown, right = case.model.pairs.emission, endless_belief._beyond_somewhere
    return lambda stack, limits: right(np.ascontiguousarray(stack @ shown), limits)


def breached(machine: Any, case: PairCase) -> bool:
    if machine is None:
        return False
    found = searched(machine, case, 3, budget=60).worst
    if found.breached:
        assert found.event is not None
        assert exact_excess(machine, case.unrolled(3 + AHEAD), found.event, found.outputs) > SLACK
    return found.breached


@pytest.mark.parametrize("memory", ["last", "none"])
def test_a_belief_that_starts_anew_from_the_last_release_is_found_out(memory: str) -> None:
    assert any(breached(keyed(case, memory), case) for case in (random_stream(seed, contexts=2) for seed in range(12)))


@pytest.mark.parametrize("memory", ["last", "none"])
def test_dropping_by_contexts_is_found_out(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(60):
        case = random_stream(seed, contexts=2)
        machine = adaptive(case, "deceive" if seed % 2 else "suppress", memory)
        monkeypatch.setattr(endless_belief, "_beyond_somewhere", by_context(case))
        found = breached(machine, case)
        monkeypatch.undo()
        if found:
            return
    pytest.fail("the oracle missed it")


# --- the filter


@pytest.mark.parametrize("memory", ["last", "none"])
def test_the_filter_over_pairs_believes_what_that_over_hidden_states_does(memory: str) -> None:
    """The general filter keeps (memory, pair): more states, the same beliefs."""
    for seed in searches(4):
        case, rng = random_stream(seed, contexts=2 + seed % 2, family="total"), np.random.default_rng(seed)
        machine = adaptive(case, "deceive", memory).machine
        pairs, general = EndlessAdversary(machine), EndlessAdversary(machine)
        assert isinstance(pairs.filter, PairFilter)
        general.filter = HiddenFilter(case.model, machine, general.secrets.members, general._step)
        one, other, state = pairs.start(), general.start(), machine.start()
        for t in range(8):
            assert one.predicted() == pytest.approx(other.predicted(), abs=1e-12)
            kernel = machine.kernel(state)
            output = SKIPPED if t in (0, 4) else kernel.outputs[int(rng.integers(len(kernel.outputs)))]
            seen = np.ones(machine.private_contexts.shape) if output == SKIPPED else kernel.likelihood(output)
            state, one, other = machine.advance(state, output), one.after(seen), other.after(seen)
            beliefs = one.by_secret(), other.by_secret()
            for secret in beliefs[0]:
                for opens in beliefs[0][secret].keys() & beliefs[1][secret].keys():
                    assert beliefs[0][secret][opens] == pytest.approx(beliefs[1][secret][opens], abs=1e-12)
