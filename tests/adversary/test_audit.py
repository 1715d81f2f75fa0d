"""The audit against the oracle: exact where it says so, an interval that holds the truth elsewhere."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest

import discreet as d
from discreet.adversary import Adversary, Witness, audit, beliefs_along
from discreet.adversary.audit import all_hold, audit_parts
from discreet.adversary.enumerate import worst
from discreet.contracts import DayModel, Rng
from discreet.laws import check
from discreet.mechanisms import MaskSensitive, NoMask
from discreet.numerics import RESOLUTION, SLACK
from discreet.outputs import Output
from tests.strategies import RandomMechanism, random_chain, random_hidden, random_mechanism, random_policy, searches

AGREEMENT = 1e-12


def realised(mechanism: RandomMechanism, witness: Witness) -> float:
    """The gain that the witness's outputs cause, by the filter."""
    adversary = Adversary(mechanism)
    belief = beliefs_along(mechanism, list(witness.outputs), adversary)[-1]
    return float(belief.gains[adversary.gain_names.index((witness.secret, witness.slot))])


@pytest.mark.parametrize("block", range(4))
def test_the_exact_audit_is_the_enumerations(block: int) -> None:
    for seed in searches(60):
        mechanism = random_mechanism(4 * seed + block)
        result = audit(mechanism)
        truth, _ = worst(mechanism)
        assert result.exact
        assert result.bound == result.worst_gain
        assert result.worst_gain == pytest.approx(max(truth, 0), abs=AGREEMENT)
        if result.witness is not None:
            assert realised(mechanism, result.witness) == pytest.approx(result.worst_gain, abs=AGREEMENT)
            assert result.witness.gain == pytest.approx(result.worst_gain, abs=AGREEMENT)


@pytest.mark.parametrize("block", range(2))
def test_the_interval_holds_the_truth(block: int) -> None:
    """With exactness switched off and few generators and histories, so that both really approximate."""
    for seed in searches(40):
        mechanism = random_mechanism(2 * seed + block + 5_000)
        truth, _ = worst(mechanism)
        result = audit(mechanism, budget=5, method="interval")
        assert result.worst_gain <= max(truth, 0) + AGREEMENT
        assert result.bound >= truth - AGREEMENT
        if result.witness is not None:
            assert realised(mechanism, result.witness) == pytest.approx(result.worst_gain, abs=AGREEMENT)


@pytest.mark.slow("enumerates every output of random models")
def test_the_interval_is_useful_where_enumeration_is_not() -> None:
    """Memoryless kernels, 6 slots: the bound stays clear of 1 - prior, which is what knowing nothing would say."""
    gaps, trivial = [], []
    for seed in range(6):
        chain = random_chain(seed, n=3, slots=6, zeros=0.0)
        mechanism = RandomMechanism(chain, d.Policy(["c0"]), seed=seed, states=1, zeros=0.0)
        truth = audit(mechanism, budget=10_000).worst_gain
        result = audit(mechanism, budget=20_000, method="interval")
        assert result.worst_gain <= truth + AGREEMENT
        assert result.bound >= truth - AGREEMENT
        gaps.append(result.bound - truth)
        trivial.append(1 - chain.prior[:, 0].min() - truth)
    assert np.mean(gaps) < 0.1 * np.mean(trivial)


def test_merged_states_of_a_long_day_agree_with_a_short_ones_enumeration() -> None:
    """Windows between releases: the same answer as the tree, at sizes that no tree could reach."""
    for seed in searches(15):
        chain = random_chain(seed, n=3, slots=5, zeros=0.3)
        mechanism = MaskSensitive(chain, random_policy(seed, chain))
        truth, _ = worst(mechanism)
        assert audit(mechanism).worst_gain == pytest.approx(max(truth, 0), abs=AGREEMENT)
    long = random_chain(1, n=12, slots=96, zeros=0.5)
    result = audit(MaskSensitive(long, d.Policy(["c0", d.Secret("ever", {"c1"}, at="any")])))
    assert result.exact
    assert result.kernels < 96 * 12 * 96


def test_a_model_of_the_observers_own_judges() -> None:
    chain, other = random_chain(1, n=3, slots=3), random_chain(2, n=3, slots=3, zeros=0.0)
    mechanism = MaskSensitive(chain, d.Policy(["c0"]))
    truth, _ = worst(mechanism, model=other)
    assert audit(mechanism, model=other).worst_gain == pytest.approx(truth, abs=AGREEMENT)


def test_other_secrets_judge() -> None:
    chain = random_chain(3, n=3, slots=3, zeros=0.0)
    mechanism = MaskSensitive(chain, d.Policy(["c0"]))
    policy = d.Policy([d.Secret("ever", {"c1", "c2"}, at="any")])
    truth, _ = worst(mechanism, policy=policy)
    result = audit(mechanism, policy=policy)
    assert result.worst_gain == pytest.approx(truth, abs=AGREEMENT)
    assert set(result.by_secret) == {"ever"}


def test_each_secret_is_held_to_its_own_delta() -> None:
    chain = d.MarkovChain(("s", "x"), [0.5, 0.5], np.zeros((0, 2, 2)))
    policy = d.Policy([d.Secret("loose", {"s"}, delta=1.0), d.Secret("tight", {"x"}, delta=0.25)])
    result = audit(NoMask(chain, policy))
    assert result.worst_gain == 0.5
    assert result.excess == 0.25
    assert result.holds is False
    assert result.breach is not None
    assert result.breach.secret == "tight"
    within = audit(NoMask(chain, d.Policy(["s"], delta=0.5)))
    assert within.holds is True
    assert within.breach is None


def test_no_secrets_no_gain() -> None:
    result = audit(NoMask(random_chain(1), d.Policy()))
    assert (result.worst_gain, result.exact, result.holds) == (0.0, True, True)


def test_a_budget_that_ends_leaves_an_interval_that_says_so() -> None:
    mechanism = RandomMechanism(
        random_chain(1, n=4, slots=6, zeros=0.0), d.Policy(["c0"]), seed=1, states=10**9, zeros=0.0
    )
    result = audit(mechanism, budget=50)
    assert not result.exact
    assert result.worst_gain <= result.bound
    assert "not every output" in result.method
    assert result.holds is not True
    with pytest.raises(d.DiscreetError, match="raise the budget"):
        audit(mechanism, budget=50, method="exact")
    with pytest.raises(d.DiscreetError, match="1 or more"):
        audit(mechanism, budget=0)


def test_seconds_end_the_search() -> None:
    mechanism = RandomMechanism(
        random_chain(1, n=4, slots=8, zeros=0.0), d.Policy(["c0"]), seed=1, states=10**9, zeros=0.0
    )
    result = audit(mechanism, seconds=0.2)
    assert not result.exact
    assert result.worst_gain > 0


def test_a_model_over_other_contexts_is_refused() -> None:
    mechanism = NoMask(random_chain(1, n=3), d.Policy(["c0"]))
    with pytest.raises(d.DiscreetError, match="same contexts"):
        audit(mechanism, model=random_chain(1, n=4))


def test_hidden_models_are_audited_exactly_on_small_horizons() -> None:
    for seed in searches(10):
        model = random_hidden(seed)
        mechanism = MaskSensitive(model, random_policy(seed, model))
        truth, _ = worst(mechanism)
        result = audit(mechanism)
        assert result.exact
        assert result.worst_gain == pytest.approx(max(truth, 0), abs=AGREEMENT)


def test_the_audit_never_reports_less_than_a_walk_realises() -> None:
    for seed in searches(20):
        mechanism = random_mechanism(seed + 900)
        for budget in (1, 3, 10):
            result = audit(mechanism, budget=budget)
            walk = random_walk_gain(mechanism, seed)
            assert walk <= result.bound + 2 * mechanism.model.slots * RESOLUTION + SLACK


def random_walk_gain(mechanism: RandomMechanism, seed: int) -> float:
    rng = np.random.default_rng(seed)
    belief, state = Adversary(mechanism).start(), mechanism.start()
    highest = 0.0
    for _ in range(mechanism.model.slots):
        kernel = mechanism.kernel(state)
        total = belief.outcomes(kernel.matrix).total
        output = kernel.outputs[int(rng.choice(len(total), p=total / total.sum()))]
        belief = belief.after(kernel.likelihood(output))
        state = mechanism.advance(state, output)
        highest = max(highest, float(belief.gains.max()))
    return highest


@pytest.mark.slow("enumerates every output of random models")
def test_seconds_leave_time_for_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    monkeypatch.setattr("time.monotonic", lambda: next(ticks) / 1000)  # every look at a kernel takes a millisecond
    mechanism = RandomMechanism(random_chain(1, n=4, slots=8, zeros=0.0), d.Policy(["c0"]), seed=1, states=1, zeros=0.0)
    result = audit(mechanism, seconds=1)
    assert not result.exact
    assert result.bound < 1 - mechanism.model.prior[:, 0].min()
    assert "bound over 8 public states" in result.method


def test_a_model_of_another_length_and_an_unknown_method_are_refused() -> None:
    mechanism = NoMask(random_chain(1, n=3, slots=3), d.Policy(["c0"]))
    with pytest.raises(d.DiscreetError, match="4 slots"):
        audit(mechanism, model=random_chain(1, n=3, slots=4))
    with pytest.raises(d.DiscreetError, match="'fast' is not known"):
        audit(mechanism, method="fast")  # type: ignore[arg-type]


class Noisy(NoMask):
    """Outputs a point near the context's number: a kernel whose outputs cannot be listed."""

    def kernel(self, state: int) -> Any:
        return NoisyPoint()


class NoisyPoint:
    digest = b"noisy point"

    def sample(self, private: int, rng: Rng) -> Output:
        return d.Perturbed((private + rng.bits(20) * 2.0**-20,))

    def likelihood(self, output: Output) -> Any:
        assert isinstance(output, d.Perturbed)
        return np.array([1.0 if 0 <= output.point[0] - private < 1 else 0.0 for private in range(3)])


def test_continuous_outputs_are_walked_at_random() -> None:
    mechanism = Noisy(random_chain(1, n=3, slots=3, zeros=0.0), d.Policy(["c0"]))
    result = audit(mechanism)
    assert result.worst_gain == pytest.approx(1 - mechanism.model.prior[:, 0].min(), abs=AGREEMENT)
    assert "continuous" in result.method
    assert result.witness is not None
    check(mechanism)


def test_each_part_of_the_week_is_audited_by_its_own_mechanism() -> None:
    def chain(share: float) -> d.MarkovChain:
        return d.MarkovChain.homogeneous(("a", "s"), [1 - share, share], [[1 - share, share]] * 2, slots=2)

    def make(model: DayModel) -> d.mechanisms.NoMask:
        return d.mechanisms.NoMask(model, d.Policy(["s"], delta=0.5))

    found = audit_parts(d.Models({"weekday": chain(0.25), "weekend": chain(0.5)}), make)
    assert {part: one.worst_gain for part, one in found.items()} == {"weekday": 0.75, "weekend": 0.5}
    assert {part: one.holds for part, one in found.items()} == {"weekday": False, "weekend": True}
    assert audit_parts(chain(0.5), make)[None].worst_gain == 0.5
    assert "interval" in audit_parts(chain(0.5), make, budget=1)[None].method


def test_several_audits_hold_together_only_if_each_does() -> None:
    model = d.MarkovChain.homogeneous(("a", "s"), [0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], slots=2)
    held, broken = (audit(d.mechanisms.NoMask(model, d.Policy(["s"], delta=delta))) for delta in (0.9, 0.1))
    undecided = replace(held, bound=1.0, exact=False, bound_excess=0.1)
    assert all_hold([held, held]) is True
    assert all_hold([held, undecided]) is None
    assert all_hold([undecided, broken, held]) is False


@pytest.mark.parametrize("method", ["exact", "interval"])
def test_progress_follows_the_slots_of_each_search(method: Literal["exact", "interval"]) -> None:
    chain = random_chain(5, n=3, slots=5)
    mechanism = d.mechanisms.MaskSensitive(chain, d.Policy(["c0"], delta=0.1))
    told: list[tuple[str, int, int]] = []
    watched = d.audit(mechanism, method=method, progress=lambda *step: told.append(step))
    assert watched == d.audit(mechanism, method=method)
    searches = dict.fromkeys(what for what, _, _ in told)
    assert list(searches) == (
        ["every output"] if method == "exact" else ["public states", "what tells most", "a bound"]
    )
    for search in searches:
        assert [(slot, slots) for what, slot, slots in told if what == search] == [(slot, 5) for slot in range(5)]
