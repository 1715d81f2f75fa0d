"""The hybrid check: never below either, and plain about its choice."""

from __future__ import annotations

import pytest

import discreet as d
from discreet.adversary.enumerate import expected_releases
from discreet.laws import check as check_laws
from discreet.mechanisms import Hybrid, Probabilistic, Simulatable
from tests.mechanisms.maskit.test_probabilistic import random_case, within_delta
from tests.strategies import random_chain, random_hidden, random_policy, searches


@pytest.mark.slow("compares with a slow twin on many random cases")
def test_never_below_either_check() -> None:
    chosen = set()
    for seed in searches(80, full=200):
        chain, policy = random_case(seed)
        hybrid = Hybrid(chain, policy)
        simulatable = float(Simulatable(chain, policy).expected_utility())
        probabilistic = float(Probabilistic(chain, policy).expected_utility())
        assert float(hybrid.expected_utility()) == max(simulatable, probabilistic)
        assert hybrid.advantage == abs(simulatable - probabilistic)
        assert expected_releases(hybrid) == pytest.approx(float(hybrid.expected_utility()) * chain.slots, abs=1e-12)
        assert within_delta(hybrid, policy), seed
        chosen.add(hybrid.chosen)
    assert chosen == {"simulatable", "probabilistic"}


@pytest.mark.slow("holds a mechanism to every law on several random models")
def test_the_checks_obey_the_laws() -> None:
    for seed in searches(15):
        chain = random_chain(seed, n=3, slots=4)
        policy = random_policy(seed, chain)
        for mechanism in (
            Simulatable(chain, policy),
            Simulatable(chain, policy, lookahead=True),
            Probabilistic(chain, policy),
            Probabilistic(chain, policy, search="algpr", grid=2),
            Hybrid(chain, policy),
        ):
            check_laws(mechanism, seed=seed)


def test_the_audit_of_all_three_is_exact_and_within_delta() -> None:
    for seed in searches(40, full=100):
        chain, policy = random_case(seed)
        each = d.Policy([secret for secret in policy.secrets if secret.at == "each"], delta=policy.delta)
        for kind in (Simulatable, Probabilistic, Hybrid):
            result = d.audit(kind(chain, each))
            assert result.exact
            assert result.holds


def test_options_reach_the_checks() -> None:
    chain, policy = random_chain(2, n=3, slots=3), d.Policy("c0", delta=0.2)
    hybrid = Hybrid(chain, policy, lookahead=True, search="mondrian", grid=3, budget=50)
    assert hybrid.simulatable.lookahead
    assert (hybrid.probabilistic.search, hybrid.probabilistic.grid, hybrid.probabilistic.budget) == ("mondrian", 3, 50)


def test_hidden_models_are_refused() -> None:
    with pytest.raises(d.DiscreetError, match="needs a Markov chain"):
        Hybrid(random_hidden(1), d.Policy("c0"))
