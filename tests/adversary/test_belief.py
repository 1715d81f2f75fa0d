"""The filter against the oracle: every prefix, every secret, every slot; chains and HMMs, with memory and without."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.adversary import Adversary, beliefs_along, process
from discreet.adversary.enumerate import prefixes
from discreet.mechanisms import NoMask
from discreet.models import MarkovChain
from discreet.outputs import Released, Suppressed
from discreet.policy import Policy, Secret
from tests.strategies import random_chain, random_mechanism, searches

AGREEMENT = 1e-12  # sums of at most a few thousand products of floats


@pytest.mark.slow("compares with a slow twin on many random cases")
@pytest.mark.parametrize("block", range(4))
def test_every_prefix_has_the_oracles_gains(block: int) -> None:
    compared = 0
    for seed in searches(60):
        mechanism = random_mechanism(4 * seed + block)
        adversary = Adversary(mechanism)
        for prefix in prefixes(mechanism):
            along = beliefs_along(mechanism, list(prefix.outputs), adversary)
            gains = dict(zip(adversary.gain_names, along[-1].gains, strict=True))
            assert set(gains) == set(prefix.gains)
            for name, gain in prefix.gains.items():
                assert gains[name] == pytest.approx(gain, abs=AGREEMENT)
            compared += 1
    assert compared > 1000


@pytest.mark.parametrize("block", range(2))
def test_outcomes_of_a_kernel_are_the_beliefs_after_each_output(block: int) -> None:
    for seed in searches(40):
        mechanism = random_mechanism(2 * seed + block + 10_000)
        belief, state = Adversary(mechanism).start(), mechanism.start()
        rng = np.random.default_rng(seed)
        for _ in range(mechanism.model.slots):
            kernel = mechanism.kernel(state)
            total, gains, joint, _ = belief.outcomes(kernel.matrix)
            assert total.sum() == pytest.approx(1, abs=AGREEMENT)
            for k, output in enumerate(kernel.outputs):
                if total[k] > 0:
                    after = belief.after(kernel.likelihood(output))
                    np.testing.assert_allclose(gains[:, k], after.gains, atol=AGREEMENT)
                    np.testing.assert_allclose(joint[:, k] / total[k], after.weights, atol=AGREEMENT)
            chosen = int(rng.choice(np.flatnonzero(total > 0)))
            predicted = belief.predicted()
            assert predicted @ kernel.matrix[:, chosen] == pytest.approx(total[chosen], abs=AGREEMENT)
            belief = belief.after(kernel.likelihood(kernel.outputs[chosen]))
            state = mechanism.advance(state, kernel.outputs[chosen])


def test_before_any_output_nothing_is_gained() -> None:
    for seed in searches(20):
        belief = Adversary(random_mechanism(seed)).start()
        assert (belief.gains == 0).all()


def test_an_output_of_probability_zero_leaves_the_predicted_belief_and_is_marked() -> None:
    chain = MarkovChain(("a", "b"), [1, 0], [[[1.0, 0.0], [0.5, 0.5]], [[0.5, 0.5], [0.0, 1.0]]])
    mechanism = NoMask(chain, Policy(["b"]))
    adversary = Adversary(mechanism)
    impossible = adversary.start().after(mechanism.kernel(0).likelihood(Released("b")))
    assert impossible.off_model
    np.testing.assert_array_equal(impossible.weights, [1, 0])
    never_output = adversary.start().after(mechanism.kernel(0).likelihood(Suppressed()))
    assert never_output.off_model
    assert not never_output.after(mechanism.kernel(1).likelihood(Released("a"))).off_model


def test_long_days_do_not_underflow() -> None:
    """288 slots whose outputs have probability about 1e-3 each: the product is far below the smallest float."""
    n = 40
    rng = np.random.default_rng(1)
    chain = MarkovChain.homogeneous([f"c{k}" for k in range(n)], np.full(n, 1 / n), rng.dirichlet(np.ones(n), n), 288)
    mechanism = NoMask(chain, Policy([Secret("s", {"c0"}), Secret("ever", {"c0", "c1"}, at="any")]))
    belief = Adversary(mechanism).start()
    column = np.full(n, 1e-300) * (1 + rng.random(n))
    for _ in range(288):
        belief = belief.after(column)
    assert np.isfinite(belief.gains).all()
    assert belief.weights.sum() == pytest.approx(1, abs=1e-12)
    assert not belief.off_model


def test_densities_and_probabilities_give_one_belief() -> None:
    """Only ratios of a column matter, so a kernel may give densities of any scale."""
    mechanism = random_mechanism(5, memory=False)
    belief = Adversary(mechanism).start()
    column = np.linspace(0.1, 1, len(mechanism.private_contexts))
    np.testing.assert_allclose(belief.after(column).gains, belief.after(column * 1e6).gains, atol=AGREEMENT)


def test_a_large_sparse_chain_is_filtered_as_a_dense_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without zeros and without secrets the filter takes another way; it must lead to the same place."""
    rng = np.random.default_rng(8)
    n = process.LARGE + 10
    steps = np.zeros((n, n))
    for k in range(n):
        steps[k, (k + np.array([0, 1, 7])) % n] = rng.dirichlet(np.ones(3))
    chain = MarkovChain.homogeneous([f"c{k}" for k in range(n)], np.eye(n)[3], steps, 12)
    told = np.where(rng.random((12, n)) < 0.2, 0.0, rng.random((12, n)))
    told[5] = 0.0  # an output that cannot occur

    def filtered() -> list[Any]:
        belief, found = Adversary(NoMask(chain, Policy())).start(), []
        for likelihood in told:
            found.append(belief.predicted())
            belief = belief.after(likelihood)
            found += [belief.weights, np.array([float(belief.off_model)])]
        return found

    sparse = filtered()
    assert Adversary(NoMask(chain, Policy())).process.sparse is not None  # type: ignore[union-attr]
    monkeypatch.setattr(process, "LARGE", n + 1)
    dense = filtered()
    for one, other in zip(sparse, dense, strict=True):
        assert ((one > 0) == (other > 0)).all()
        assert np.abs(one - other).max() < 1e-14


def test_the_worst_gain_of_a_secret_is_over_its_slots_and_may_be_a_loss() -> None:
    chain = MarkovChain(("a", "b"), [0.5, 0.5], [[[0.5, 0.5], [0.5, 0.5]]])
    adversary = Adversary(NoMask(chain, Policy(["a", Secret("ever", {"a"}, at="any")])))
    gains = np.array([0.25, -0.5, -0.125])
    assert adversary.gain_names == [("a", 0), ("a", 1), ("ever", None)]
    assert adversary.worst_by_secret(gains) == {"a": 0.25, "ever": -0.125}


def test_nothing_that_beliefs_rest_on_can_be_written() -> None:
    """A write from outside would change what every session with this adversary takes for possible."""
    chain, policy = random_chain(1, zeros=0.0), d.Policy(["c0", d.Secret("any", {"c1"}, at="any")], delta=0.2)
    for mechanism in (d.mechanisms.Adaptive(chain, policy, outputs="deceive"), d.mechanisms.NoMask(chain, policy)):
        session = d.Session(mechanism)
        session.release("c1")
        adversary, belief = session.adversary, session.belief
        arrays: list[Any] = [
            mechanism.private_contexts,
            belief.stack,
            belief.gains,
            belief.weights,
            belief.visited,
            belief.past,
        ]
        arrays += [adversary.start().weights, adversary.priors, adversary.deltas, adversary.row_members]
        arrays += [*adversary.ahead, *adversary.first_visit, adversary.secrets.members, adversary.secrets.least_delta]
        arrays += [adversary.process.initial, adversary.process.transitions]
        assert not any(array.flags.writeable for array in arrays)
        with pytest.raises(dataclasses.FrozenInstanceError):
            belief.slot = 0
