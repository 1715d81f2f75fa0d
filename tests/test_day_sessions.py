"""A day is a stream that ends: its slots may be skipped, it has checkpoints, and hidden models may have a memory."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.adversary.checkpoint import Checkpoint
from discreet.adversary.enumerate import worst_excess
from discreet.mechanisms import Adaptive, Hybrid, MaskSensitive, Probabilistic, Simulatable
from discreet.numerics import SLACK
from discreet.randomness import SeededEntropy
from tests.endless.oracle import Paths, events_of
from tests.strategies import random_chain, random_hidden, random_policy, searches


def at_each(seed: int, model: Any) -> d.Policy:
    policy = random_policy(seed, model)
    secrets = [d.Secret(one.name, one.contexts, one.slots, one.delta) for one in policy.secrets]
    return d.Policy(secrets, delta=max(policy.delta, 0.05))


@pytest.mark.parametrize(
    "kind",
    [
        Simulatable,
        Probabilistic,
        Hybrid,
        Adaptive,
        lambda model, policy: Adaptive(model, policy, memory="none"),
        lambda model, policy: Adaptive(model, policy, outputs="deceive"),
    ],
    ids=["simulatable", "probabilistic", "hybrid", "suppress", "suppress without memory", "deceive"],
)
def test_what_is_promised_of_a_day_holds_when_slots_are_skipped(kind: Any) -> None:
    """By every path in whole numbers: whatever is output before and after the skips, no gain exceeds its delta."""
    for seed in searches(12):
        model = random_chain(seed, n=3, slots=4, zeros=0.2)
        policy = at_each(seed, model)
        mechanism = kind(model, policy)
        paths = Paths(mechanism, model, events_of(policy, model.contexts, 4, 1))
        skips = {1 + seed % 3} | ({0} if seed % 4 == 0 else set())
        found = paths.tree(4, skips)
        assert not found.breached, (seed, found)


def test_a_mask_that_breaches_is_found_out_with_skips_too() -> None:
    breached = 0
    for seed in range(12):
        model = random_chain(seed, n=3, slots=4, zeros=0.2)
        policy = at_each(seed, model)
        paths = Paths(MaskSensitive(model, policy), model, events_of(policy, model.contexts, 4, 1))
        breached += paths.tree(4, {1}).breached
    assert breached > 6


@pytest.mark.parametrize("outputs", ["suppress", "deceive"])
def test_after_a_skip_kernels_do_not_look_at_memory(outputs: Any) -> None:
    differed = 0
    for seed in searches(10):
        model = random_chain(seed, n=3, slots=6, zeros=0.0)
        mechanism: Any = Adaptive(model, d.Policy(["c0"], delta=0.15), outputs=outputs)
        state = mechanism.start()
        for slot in range(5):
            kernel = mechanism.kernel(state)
            by_context = [kernel.weights[mechanism.private_contexts == c] for c in range(3)]
            alike = all((rows == rows[0]).all() for rows in by_context)
            if slot == 3:
                assert alike, seed
            differed += slot > 0 and slot != 3 and not alike
            state = mechanism.advance(state, d.Skipped() if slot == 2 else d.Suppressed())
    assert differed


@pytest.mark.parametrize("kind", [Adaptive, Hybrid, lambda *given: Adaptive(*given, outputs="deceive")])
def test_a_day_is_resumed_from_a_checkpoint(kind: Any) -> None:
    model = random_chain(4, n=3, slots=8, zeros=0.0)
    mechanism = kind(model, d.Policy(["c0"], delta=0.2))
    session = d.Session(mechanism, rng=SeededEntropy(1))
    for context in ("c1", "c2", "c1"):
        session.release(context)
    session.skip()
    session.release("c2")
    text = session.checkpoint().to_json()
    again = d.Session.resume(mechanism, (), session.private, checkpoint=Checkpoint.from_json(text))
    assert (again.slot, again.skips, again.output) == (5, 1, session.output)
    for one in (session, again):
        one.draw_from(SeededEntropy(9))
    rest = ("c1", "c1", "c2")
    assert [again.release(context) for context in rest] == [session.release(context) for context in rest]
    assert again.digest == session.digest
    np.testing.assert_array_equal(again.gains()["c0"], session.gains()["c0"])


def test_a_checkpoint_of_another_day_is_refused() -> None:
    model = random_chain(4, n=3, slots=8, zeros=0.0)
    session = d.Session(Adaptive(model, d.Policy(["c0"], delta=0.2)), rng=SeededEntropy(1))
    session.release("c1")
    point = session.checkpoint()
    with pytest.raises(d.DiscreetError, match="another policy"):
        d.Session.resume(Adaptive(model, d.Policy(["c0"], delta=0.1)), checkpoint=point)
    other = Adaptive(random_chain(5, n=3, slots=8, zeros=0.0), d.Policy(["c0"], delta=0.2))
    with pytest.raises(d.DiscreetError, match="another model"):
        d.Session.resume(other, checkpoint=point)
    altered = json.loads(point.to_json())
    altered["outputs"] = [{"kind": "suppressed"}]
    with pytest.raises(d.DiscreetError, match="damaged"):
        Checkpoint.from_json(json.dumps(altered))


def test_memory_that_was_lost_is_a_public_skip() -> None:
    model = random_chain(4, n=3, slots=8, zeros=0.0)
    mechanism = Adaptive(model, d.Policy(["c0"], delta=0.2))
    session = d.Session(mechanism)
    outputs = [session.release(context) for context in ("c1", "c2")]
    again = d.Session.resume(mechanism, outputs)
    assert isinstance(again.release("c1"), d.Skipped)
    assert not isinstance(again.release("c1"), d.Skipped)


@pytest.mark.parametrize("outputs", ["suppress", "deceive"])
def test_a_hidden_model_of_a_day_may_have_a_memory(outputs: Any) -> None:
    """No gain beyond its delta by enumeration, and worth more than without a memory somewhere."""
    better = 0
    for seed in searches(10):
        model = random_hidden(seed, states=2, n=3, slots=3, zeros=0.1)
        policy = d.Policy([d.Secret("first", {"c0"}), d.Secret("some", {"c1"}, at="any", delta=0.2)], delta=0.1)
        mechanism = Adaptive(model, policy, outputs=outputs, memory="last")
        assert worst_excess(mechanism)[0] <= SLACK, seed
        plain = Adaptive(model, policy, outputs=outputs, memory="none")
        better += float(mechanism.expected_utility()) > float(plain.expected_utility()) + 1e-6
    assert better
