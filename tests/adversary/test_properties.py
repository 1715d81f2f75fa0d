"""What holds for any model, policy and mechanism, on whatever Hypothesis comes up with."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from discreet.adversary import Adversary, audit
from discreet.adversary.enumerate import worst
from discreet.contracts import DayModel
from discreet.mechanisms import MaskSensitive
from tests.strategies import LONG, RandomMechanism, chains, hidden_models, random_policy, seeds

searched = settings(
    max_examples=2_000 if LONG else 100, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@searched
@given(model=chains | hidden_models, seed=seeds)
def test_beliefs_are_a_martingale(model: DayModel, seed: int) -> None:
    """Whatever the kernel, the belief expected after the next output is the belief before it."""
    mechanism = RandomMechanism(model, random_policy(seed, model), seed=seed, memory=seed % 2 == 0)
    belief, state = Adversary(mechanism).start(), mechanism.start()
    for slot in range(model.slots):
        kernel = mechanism.kernel(state)
        total, gains, _, _ = belief.outcomes(kernel.matrix)
        np.testing.assert_allclose(np.where(total > 0, gains, 0.0) @ total, belief.gains, atol=1e-12)
        likely = kernel.outputs[int(total.argmax())]
        belief, state = belief.after(kernel.likelihood(likely)), mechanism.advance(state, likely)
        assert belief.slot == slot + 1


@searched
@given(model=chains | hidden_models, seed=seeds)
def test_hiding_secrets_is_audited_as_enumeration_has_it(model: DayModel, seed: int) -> None:
    mechanism = MaskSensitive(model, random_policy(seed, model))
    result = audit(mechanism)
    assert result.exact
    assert result.worst_gain == pytest.approx(max(worst(mechanism)[0], 0), abs=1e-12)
