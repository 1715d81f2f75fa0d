"""The causal limit: golden values, cases worked by hand, and what it must bound."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.evaluation import limit_programme
from discreet.evaluation.limit import LARGEST, Outputs
from discreet.evaluation.limit import limit as limit_with_slack
from discreet.mechanisms import Hybrid
from discreet_experiments.adaptive.limits import product_chain
from tests.evaluation.exact_limit import exact_limit
from tests.mechanisms.test_baselines import CASES, golden_chain
from tests.strategies import random_chain, random_hidden, random_policy, searches, with_states_seen

limit = partial(limit_with_slack, slack=False)  # numbers worked by hand, and exact fractions, have none

GOLDEN = [case for case in CASES if "limit_expected_releases" in case]
BOTH: tuple[Outputs, Outputs] = ("suppress", "deceive")


def coin(slots: int) -> d.MarkovChain:
    return d.MarkovChain.homogeneous(("s", "x"), [0.5, 0.5], np.full((2, 2), 0.5), slots)


@pytest.mark.parametrize("case", GOLDEN, ids=range(len(GOLDEN)))
def test_golden_limits(case: dict[str, Any]) -> None:
    policy = d.Policy(case["secrets"], delta=case["delta"])
    for outputs in BOTH:
        found = limit(golden_chain(case), policy, outputs)
        assert found.expected_releases == pytest.approx(case["limit_expected_releases"][outputs], abs=1e-9)
        assert float(found) == found.utility == found.expected_releases / 3


def test_there_are_golden_limits() -> None:
    assert len(GOLDEN) == 20


def test_one_slot_by_hand() -> None:
    """Silence for s and a third of x brings s to 3/4; a fake s for two thirds of x brings it to 3/5."""
    assert float(limit(coin(1), d.Policy("s", delta=0.25))) == pytest.approx(1 / 3, abs=1e-9)
    assert float(limit(coin(1), d.Policy("s", delta=0.1), "deceive")) == pytest.approx(2 / 3, abs=1e-9)


def test_two_slots_where_the_probabilistic_check_is_the_limit() -> None:
    """Theory section 4: p = ((6/19, 1), (0, 0)) reaches 89/152."""
    chain = d.MarkovChain(["c0", "c1"], [0.25, 0.75], [[[0.5, 0.5], [0.0, 1.0]]])
    assert float(limit(chain, d.Policy("c1", delta=0.2))) == pytest.approx(89 / 152, abs=1e-9)


def test_at_any_slot_by_hand() -> None:
    """Two coins, "s at some slot" with prior 3/4 and delta 0: every output must leave it at 3/4.

    A release in slot 0 settles too much, whatever follows. In slot 1, x may be released after s always (mass 1/4) and
    after x for a third (mass 1/12): then s was there with 3/4, and likewise after silence. In all 1/3 of a release.
    """
    secret = d.Secret("ever", {"s"}, at="any")
    assert limit(coin(2), d.Policy([secret], delta=0.0)).expected_releases == pytest.approx(1 / 3, abs=1e-9)
    assert float(limit(coin(2), d.Policy([secret], delta=0.25))) == pytest.approx(1, abs=1e-9)


def test_a_secret_at_one_slot_is_as_good_as_at_any_of_one() -> None:
    for seed in searches(20):
        chain = random_chain(seed, n=3, slots=3)
        for at_slot in range(3):
            each = d.Policy([d.Secret("g", {"c0", "c1"}, slots=[at_slot])], delta=0.1)
            anytime = d.Policy([d.Secret("g", {"c0", "c1"}, slots=[at_slot], at="any")], delta=0.1)
            assert float(limit(chain, each)) == pytest.approx(float(limit(chain, anytime)), abs=1e-9), seed


def test_nothing_sound_is_above_it_and_more_freedom_is_never_worse() -> None:
    for seed in searches(30):
        chain = random_chain(seed, n=3, slots=3)
        policy = random_policy(seed, chain)
        each = d.Policy([secret for secret in policy.secrets if secret.at == "each"], delta=policy.delta)
        suppress, deceive = (float(limit(chain, each, outputs)) for outputs in BOTH)
        assert float(Hybrid(chain, each).expected_utility()) <= suppress + 1e-9
        assert suppress <= deceive + 1e-9
        assert float(limit(chain, policy)) <= suppress + 1e-9  # more secrets, less freedom


def test_a_hidden_model_that_hides_nothing_has_the_limit_of_its_chain() -> None:
    for seed in searches(10):
        chain = random_chain(seed, n=3, slots=3)
        hidden = d.HiddenMarkovModel(chain.contexts, chain.initial, chain.transitions, np.eye(3))
        policy = random_policy(seed, chain)
        for outputs in BOTH:
            assert float(limit(hidden, policy, outputs)) == pytest.approx(
                float(limit(chain, policy, outputs)), abs=1e-9
            )


def test_one_hidden_state_is_a_chain_without_memory() -> None:
    row = [0.2, 0.3, 0.5]
    hidden = d.HiddenMarkovModel(["a", "b", "c"], [1.0], np.ones((2, 1, 1)), [row])
    chain = d.MarkovChain.homogeneous(["a", "b", "c"], row, [row] * 3, 3)
    policy = d.Policy([d.Secret("ever", {"b"}, at="any"), "a"], delta=0.1)
    assert float(limit(hidden, policy)) == pytest.approx(float(limit(chain, policy)), abs=1e-9)
    assert 0 < float(limit(random_hidden(4, states=2, n=2, slots=3, zeros=0.0), d.Policy("c0", delta=0.1))) < 1


def test_without_secrets_or_with_delta_one_everything_is_released() -> None:
    for outputs in BOTH:
        for policy in (d.Policy(), d.Policy("c0", delta=1.0)):
            assert float(limit(random_chain(3), policy, outputs)) == pytest.approx(1, abs=1e-9)


def test_bad_use() -> None:
    with pytest.raises(d.DiscreetError, match="use 'suppress' or 'deceive'"):
        limit(coin(1), d.Policy("s"), "generalize")  # type: ignore[arg-type]
    with pytest.raises(d.DiscreetError, match=rf"4 contexts over 5 slots needs \d+ variables or more, and {LARGEST}"):
        limit(random_chain(1, n=4, slots=5, zeros=0.0), d.Policy("c0"), "deceive")
    with pytest.raises(d.DiscreetError, match="use fewer contexts or slots"):
        limit(random_chain(1, n=8, slots=12, zeros=0.0), d.Policy("c0"))
    with pytest.raises(d.DiscreetError, match="never seen"):
        limit(coin(1), d.Policy("y"))


def test_contexts_that_show_the_same_label() -> None:
    """One slot, s1, s2, x (1/4, 1/4, 1/2), secret s1: shown as "s" both may be told of, alone s1 may not."""
    chain = d.MarkovChain(("s1", "s2", "x"), [0.25, 0.25, 0.5], np.zeros((0, 3, 3)))
    policy = d.Policy("s1", delta=0.25)
    together = limit(chain, policy, shown={"s1": "s", "s2": "s"})
    assert float(together) == pytest.approx(1, abs=1e-9)  # "s" leaves s1 at 1/2 = prior + delta
    assert float(limit(chain, policy)) < 1
    assert limit(chain, policy, shown={}) == limit(chain, policy)
    assert limit(chain, policy, "deceive", shown={"x": "x"}) == limit(chain, policy, "deceive")


@pytest.mark.parametrize("outputs", BOTH)
def test_who_sees_the_hidden_state_can_do_no_less(outputs: Outputs) -> None:
    for seed in searches(12):
        model = random_hidden(seed, states=2, n=2 + seed % 2, slots=2, zeros=0.3)
        policy = random_policy(seed, model)
        pairs, secrets, shown = product_chain(model, policy)
        assert pairs.prior.reshape(model.slots, 2, -1).sum(axis=1) == pytest.approx(model.prior, abs=1e-12)
        seeing = float(limit(pairs, secrets, outputs, shown=shown))
        assert seeing >= float(limit(model, policy, outputs)) - 1e-8, seed


@pytest.mark.parametrize("outputs", BOTH)
def test_where_contexts_are_the_hidden_states_nothing_is_hidden(outputs: Outputs) -> None:
    for seed in searches(5):
        chain = random_chain(seed, n=3, slots=2)
        policy = random_policy(seed, chain)
        pairs, secrets, shown = product_chain(with_states_seen(chain), policy)
        seeing = float(limit(pairs, secrets, outputs, shown=shown))
        assert seeing == pytest.approx(float(limit(chain, policy, outputs)), abs=1e-8), seed


TINY = [10.0**-k for k in range(6, 16)]


def rare(e: float) -> d.MarkovChain:
    """Three slots, x for certain at first; s with probability e after x and 1/2 after s."""
    return d.MarkovChain.homogeneous(("x", "s"), [1.0, 0.0], [[1 - e, e], [0.5, 0.5]], 3)


@pytest.mark.parametrize("e", TINY)
def test_a_rare_secret_and_silence_by_hand(e: float) -> None:
    """1/3: with delta 0 no history may raise the belief in s above its prior q, and as beliefs average to q over
    histories, none may lower it either. A release settles its slot: belief 0 or 1. So it needs q = 0 or 1, which slot 0
    alone has.
    """
    found = limit(rare(e), d.Policy("s", delta=0.0))
    assert float(found) == pytest.approx(1 / 3, abs=1e-9)
    assert 0 <= found.gap <= 1e-9


@pytest.mark.parametrize("e", TINY)
def test_a_rare_secret_and_fakes_by_hand(e: float) -> None:
    """With delta 0 the output of a slot is independent of whether the slot's context is s (see above). Then it is the
    truth with P(output x) (1 - q) + P(output s) q <= 1 - q where q < 1/2, and "always x" reaches that. Here q is 0, e
    and (1 - e) e + e / 2.
    """
    found = limit(rare(e), d.Policy("s", delta=0.0), "deceive")
    assert float(found) == pytest.approx(1 - (e + (1 - e) * e + e / 2) / 3, abs=1e-9)


def test_a_hidden_model_with_rare_emissions_by_hand() -> None:
    """One of two equally probable states, kept for the day, emits s with 5e-9: at each slot q = 2.5e-9.

    By the argument above, which does not ask what else the mechanism sees, the limit is 1 - q, with or without the
    hidden state. With delta >= q also s may be told to some extent, so it is no less; nor can it be more than one.
    """
    for transition in (np.eye(2), np.full((2, 2), 0.5)):
        model = d.HiddenMarkovModel(("x", "s"), [0.5, 0.5], [transition] * 2, [[1.0, 0.0], [1 - 5e-9, 5e-9]])
        policy = d.Policy("s", delta=0.0)
        pairs, secrets, shown = product_chain(model, policy)
        assert float(limit(model, policy, "deceive")) == pytest.approx(1 - 2.5e-9, abs=4e-10)
        assert float(limit(pairs, secrets, "deceive", shown=shown)) == pytest.approx(1 - 2.5e-9, abs=4e-10)
        assert float(limit(model, policy)) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("slots", [1, 2, 3])
@pytest.mark.parametrize("e", [1e-3, 1e-8, 1e-9, 1e-10, 1e-12])
def test_days_without_memory_by_hand(e: float, slots: int) -> None:
    """Independent slots with s of probability e, delta 0: nothing with silence, 1 - e with fakes (see above)."""
    chain = d.MarkovChain.homogeneous(("x", "s"), [1 - e, e], [[1 - e, e]] * 2, slots)
    policy = d.Policy("s", delta=0.0)
    assert float(limit(chain, policy)) == pytest.approx(0, abs=1e-9)
    assert float(limit(chain, policy, "deceive")) == pytest.approx(1 - e, abs=1e-9)


def tiny_rows(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Probabilities down to 1e-15, a few of them zero."""
    rows = np.where(rng.random(shape) < 0.15, 0.0, 10.0 ** -(15 * rng.random(shape)))
    rows[..., 0] += rows.sum(axis=-1) == 0
    return np.asarray(rows / rows.sum(axis=-1, keepdims=True))


@pytest.mark.parametrize("outputs", BOTH)
def test_tiny_probabilities_against_exact_fractions(outputs: Outputs) -> None:
    """None is wrong, and of a hundred models not more than one is refused: none of those of `make test`."""
    seeds, refused = searches(24), 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        n, slots = ((2, 2), (2, 1), (3, 1))[seed % 3]
        chain = d.MarkovChain([f"c{k}" for k in range(n)], tiny_rows(rng, (n,)), tiny_rows(rng, (slots - 1, n, n)))
        policy = d.Policy(random_policy(seed, chain).secrets, delta=float(rng.choice([0.0, 1e-12, 1e-6, 0.1])))
        try:
            found = limit(chain, policy, outputs)
        except d.DiscreetError:
            refused += 1
            continue
        assert found.expected_releases == pytest.approx(float(exact_limit(chain, policy, outputs)), abs=2e-9), seed
    assert refused <= len(seeds) // 100


def test_the_exact_twin_by_hand() -> None:
    assert exact_limit(coin(1), d.Policy("s", delta=0.25), "suppress") == Fraction(1, 3)
    secret = d.Secret("ever", {"s"}, at="any")
    assert exact_limit(coin(2), d.Policy([secret], delta=0.0), "suppress") == Fraction(1, 3)


def test_a_delta_met_with_equality_is_not_refused() -> None:
    """0.7 + 0.3 falls short of 1 in exact fractions of those floats, and s may be told all the same."""
    chain = d.MarkovChain(("s", "x"), [0.7, 0.3], np.zeros((0, 2, 2)))
    assert Fraction(0.7) + Fraction(0.3) < 1
    assert float(limit(chain, d.Policy("s", delta=0.3))) == pytest.approx(1, abs=1e-9)


def test_what_cannot_be_proven_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit_programme, "ATTEMPTS", ())  # a solver that never ends well
    with pytest.raises(
        d.DiscreetError,
        match=r"0 expected releases is known, and none has more than 3,.*set the smallest probabilities",
    ):
        limit(rare(1e-9), d.Policy("s", delta=0.0))


@pytest.mark.parametrize("rarity", [1e-13, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("terms", [{"delta": 0.0}, {"delta": 0.1, "odds": 2.0}])
def test_with_the_slack_of_mechanisms_no_mechanism_is_above_it(rarity: float, terms: dict[str, float]) -> None:
    """Without the slack, one slot with P(a) = 1e-13 and delta 0 had a limit of 4.5e-13, where 0.82 was achieved."""
    chain = d.MarkovChain.homogeneous(("a", "b"), [rarity, 1 - rarity], np.full((2, 2), 0.5), 1)
    policy = d.Policy("a", **terms)
    reached = float(d.mechanisms.Adaptive(chain, policy, plan="lazy").expected_utility())
    assert reached <= float(limit_with_slack(chain, policy)) + 1e-9
