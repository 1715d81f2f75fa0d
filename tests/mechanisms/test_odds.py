"""Bounds on odds, enumerated in fractions: whoever shares the conditional laws gains at most what is promised."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.adversary import Adversary
from discreet.adversary.enumerate import worst_excess
from discreet.adversary.unrolled import Unrolled
from discreet.errors import PolicyError
from discreet.mechanisms import Adaptive, Hybrid, Probabilistic, SetLabelled, Simulatable
from discreet.models.routine.routine import Routine
from discreet.policy import Policy, Secret
from discreet.randomness import SeededEntropy
from tests.mechanisms.reweighed import everything_told
from tests.strategies import enough, labels, random_chain, random_hidden, random_policy, random_rows, searches

RELATIVE = Fraction(1, 2**20)
SLACK = Fraction(1, 2**40)


def rare_chain(seed: int) -> d.MarkovChain:
    """Three contexts over three slots, one of them very rare, or nearly certain."""
    rng = np.random.default_rng([seed, 17])
    rare = 10.0 ** -rng.uniform(2, 14)
    share = np.array([rare, 0.4, 0.6 - rare])
    rows = random_rows(rng, (1 + 2 * 3, 3), 0.0)
    mixed = np.array([share if rng.random() < 0.7 else row for row in rows])
    return d.MarkovChain(labels(3), mixed[0] / mixed[0].sum(), mixed[1:].reshape(2, 3, 3))


def with_odds(seed: int, policy: Policy) -> Policy:
    """The policy with odds, doubt, share, or several of them."""
    rng = np.random.default_rng([seed, 23])
    terms: dict[str, Any] = {}
    if rng.random() < 0.6:
        terms["odds"] = float(rng.choice([1.0, 1.2, 2.0, 3.0, 10.0]))
    if rng.random() < 0.6 or not terms:
        terms["doubt"] = float(rng.choice([1.5, 2.0, 5.0, 30.0]))
    if rng.random() < 0.3:
        terms["share"] = float(rng.choice([0.3, 0.8]))
    if rng.random() < 0.3:
        secrets = [replace(one, odds=float(rng.choice([1.5, 4.0, np.inf]))) for one in policy.secrets]
        terms["secrets"] = tuple(secrets)
    return replace(policy, **terms)


def broken(mechanism: Any, policy: Policy) -> list[str]:
    """What is beyond what is promised: factors of anybody, gains of those within doubt, gains before the own prior."""
    found = []
    for told in everything_told(mechanism, policy):
        secret, prior = policy.secrets[told.secret], told.prior
        if min(prior, 1 - prior) < Fraction(1, 10**15):
            continue  # beyond what is promised of odds: see proof.md
        limit = prior + Fraction(policy.row_delta(secret, float(prior)))
        slack = min(SLACK, RELATIVE * limit)
        room = 1 + slack / (limit * (1 - limit - slack)) if limit + slack < 1 else None  # theory, section 13
        if told.belief > limit + slack:
            found.append(f"belief in {secret.name} beyond its limit after {told.outputs}")
        odds, delta = policy.odds_of(secret), Fraction(policy.share) * Fraction(policy.delta_of(secret))
        if odds is not None and room is not None and told.multiplies_beyond(Fraction(odds) * room):
            found.append(f"odds of {secret.name} after {told.outputs}")
        doubt = Fraction(policy.doubt or 1)
        for other in (prior / doubt, prior * 2 / (1 + doubt), prior, prior * (1 + doubt) / 2, prior * doubt):
            if other < 1 and room is not None:
                over = told.gain_from(other) - delta
                if over > (room - 1) + SLACK:  # gains grow by less than factors do
                    found.append(f"gain on {secret.name} from {float(other)} after {told.outputs}: {float(over)}")
    return found


@pytest.mark.parametrize("outputs", ["suppress", "deceive", "generalize"])
@pytest.mark.parametrize("memory", ["last", "none"])
def test_adaptive_bounds_odds_before_observers_with_other_priors(outputs: Any, memory: Any) -> None:
    tree = d.Hierarchy({"top": {"left": ["c0", "c1"], "right": ["c2"]}})
    options: dict[str, Any] = {"hierarchy": tree} if outputs == "generalize" else {}
    tight = telling = 0
    for seed in searches(6, 8):
        chain = rare_chain(seed) if seed % 2 else random_chain(seed, n=3, slots=3)
        policy = with_odds(seed, random_policy(seed, chain, caps=seed % 3 == 0))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            mechanism = Adaptive(chain, policy, outputs=outputs, memory=memory, plan="lazy", **options)
            assert not broken(mechanism, policy), seed
        judge = Adversary(mechanism)
        tight += bool((judge.deltas < policy.share * policy.delta - 1e-9).any())
        telling += float(mechanism.expected_utility()) > 0.01
    assert tight >= enough(4)
    assert telling >= enough(3)  # a bound that is kept by silence is no release


@pytest.mark.parametrize("kind", [Simulatable, Probabilistic, Hybrid])
def test_maskits_checks_bound_odds_at_each_slot(kind: Any) -> None:
    for seed in searches(8, 8):
        chain = rare_chain(seed) if seed % 2 else random_chain(seed, n=3, slots=3)
        drawn = with_odds(seed, random_policy(seed, chain))
        policy = replace(drawn, secrets=tuple(replace(one, at="each") for one in drawn.secrets))
        mechanism = kind(chain, policy)
        assert not broken(mechanism, policy), seed
        assert d.audit(mechanism).holds is True


def test_a_bound_on_sums_alone_is_broken_by_an_observer_with_other_odds() -> None:
    """The twin finds what odds and doubt are there for: without them somebody with five times the odds gains more."""
    chain = d.MarkovChain.homogeneous(("clinic", "home"), [0.02, 0.98], [[0.02, 0.98]] * 2, 2)
    plain = Policy("clinic", delta=0.1)
    mechanism = Adaptive(chain, plain, memory="none", plan="lazy")
    assert broken(mechanism, replace(plain, doubt=5.0))
    assert broken(mechanism, replace(plain, odds=3.0))
    assert not broken(mechanism, plain)


def test_hidden_models_keep_limits_on_odds_in_fractions() -> None:
    for seed in searches(2, 4):
        model = random_hidden(seed, states=2, n=2, slots=3)
        policy = with_odds(seed, random_policy(seed, model))
        for outputs in ("suppress", "deceive"):
            excess, found = worst_excess(Adaptive(model, policy, outputs=outputs), exact=True)
            assert excess <= SLACK, (seed, found)


def stream_of(routine: Routine, policy: Policy, outputs: Any) -> Adaptive | None:
    """None where odds of 1 let nothing be told however far ahead, and habits are too regular for that."""
    try:
        return Adaptive(routine.since("2026-11-16"), policy, outputs=outputs)
    except d.DiscreetError as refused:
        if "slots later" not in str(refused) or 1.0 not in [policy.odds_of(one) for one in policy.secrets]:
            raise
        return None


def test_without_end_odds_hold_on_every_day() -> None:
    bound = 0
    for seed in searches(4, 6):
        rng = np.random.default_rng([seed, 3])
        rare = 10.0 ** -rng.uniform(1, 8)
        rows = [[rare, 1 - rare], [0.5, 0.5]] if seed % 2 else random_rows(rng, (2, 2), 0.0)
        chain = d.MarkovChain(("s", "c"), [0.3, 0.7], [rows])
        routine = Routine({"day": chain}, {("day", "day"): rows})
        policy = with_odds(seed, Policy(["s", Secret("some time", {"s"}, at="any")], delta=0.2))
        for outputs in ("suppress", "deceive"):
            machine = stream_of(routine, policy, outputs)
            if machine is None:
                continue
            judged: Any = Unrolled(machine, 2)
            assert not broken(judged, judged.policy), (seed, outputs)
            bound += bool((Adversary(judged).deltas < 0.19).any())
    assert bound > 2


def test_set_labels_refuse_odds() -> None:
    chain = random_chain(1, n=3, slots=3, zeros=0.0)
    with pytest.raises(PolicyError, match=r"odds of secret 'c0' are bounded, and delta / mu .* or use Adaptive"):
        SetLabelled(chain, Policy("c0", doubt=2.0), labels={})


def test_the_audit_reports_the_largest_factor_and_evaluation_what_came_about() -> None:
    """One slot, told always: the release of "s" makes its odds infinite, of "c" zero. Bounded, the twin's largest."""
    chain = d.MarkovChain(("s", "c"), [0.1, 0.9], np.zeros((0, 2, 2)))
    assert d.audit(d.mechanisms.NoMask(chain, Policy("s"))).worst_odds == np.inf
    policy = Policy("s", delta=0.1, odds=1.7)
    mechanism = Adaptive(chain, policy, outputs="deceive", plan="lazy")
    largest = max(one.inside / one.outside * 9 for one in everything_told(mechanism, policy))
    found = d.audit(mechanism)
    assert found.worst_odds == pytest.approx(float(largest))
    assert found.odds_by_secret == {"s": found.worst_odds}
    assert 1.0 <= found.worst_odds <= 1.7 * (1 + 1e-6)
    days = [d.Day(("s",)), d.Day(("c",))]
    assert 1.0 <= d.evaluate(mechanism, days).worst_odds <= found.worst_odds * (1 + 1e-12)
    assert d.evaluate(d.mechanisms.NoMask(chain, Policy("s")), days).worst_odds == np.inf


def test_a_change_of_odds_is_a_change_of_policy() -> None:
    """Rows of a secret whose odds come to be bounded are new rows; those of one on equal terms are carried over."""
    chain = d.MarkovChain(("s", "r", "c"), [0.3, 0.1, 0.6], [[[0.6, 0.1, 0.3], [0.2, 0.2, 0.6], [0.2, 0.1, 0.7]]])
    routine = Routine({"day": chain}, {("day", "day"): [[0.5, 0.1, 0.4], [0.3, 0.1, 0.6], [0.2, 0.1, 0.7]]})
    loose = Policy(["s", "r"], delta=0.3)
    bounded = replace(loose, secrets=(Secret("s", odds=1.5), Secret("r")))
    stream = d.Session(Adaptive(routine.since("2026-11-16"), loose), rng=SeededEntropy(1))
    for context in "crsc":
        stream.release(context)
    stream.change(policy=bounded)
    for context in "csccsscc":
        stream.release(context)
    rows, beliefs = stream.belief.live()
    assert (beliefs <= rows.limit + 2.0**-40).all()
    fresh = (rows.secret == 0) & (rows.opens >= stream.slot)
    assert fresh.any()
    odds = rows.limit[fresh] / (1 - rows.limit[fresh]) / (rows.prior[fresh] / (1 - rows.prior[fresh]))
    assert odds == pytest.approx(1.5)
