"""Limits on odds (docs/theory.md, section 13): against fractions, a search over priors, and its numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.adversary.enumerate import ExactModel, tolerated
from discreet.choosing.policy_text import policy_file_text
from discreet.errors import PolicyError
from discreet.factors import doubted_growth, factor, gain_within
from discreet.gateway.slots.changes import policy_of, policy_text
from discreet.policy import Policy, Secret, read_policy
from tests.choosing.routines import lived

PRIORS = [0.0, 1e-300, 1e-12, 1e-6, 0.002, 0.02, 0.1, 0.3, 0.45, 0.5, 0.7, 0.9, 0.95, 1 - 1e-12, 1.0]
TERMS: list[dict[str, Any]] = [
    {"odds": 1.0},
    {"odds": 2.0},
    {"odds": 3.5, "delta": 0.3},
    {"doubt": 1.0},
    {"doubt": 2.0},
    {"doubt": 5.0, "share": 0.5},
    {"doubt": 40.0, "odds": 1.5},
    {"doubt": math.inf},
    {"share": 0.3},
    {"share": 0.0, "odds": 3.0},
    {"delta": 0.0, "doubt": 3.0},
    {"delta": 1.0, "doubt": 3.0},
]


def limit_by_search(policy: Policy, prior: Fraction) -> Fraction:
    """l - q of one secret in fractions; doubt by looking at many priors of the range, and never below their least."""
    delta = Fraction(policy.share) * Fraction(policy.delta)
    if policy.odds is None and (policy.doubt or 1) == 1:
        return delta
    if not 0 < prior < 1:
        return Fraction(0)
    ratios = [] if policy.odds is None else [Fraction(policy.odds)]
    if policy.doubt is not None:
        doubt = Fraction(10) ** 400 if policy.doubt == math.inf else Fraction(policy.doubt)
        low, high = prior / doubt, min(prior * doubt, 1 - delta)
        grid = [low + (high - low) * k / 400 for k in range(401)] + [prior, (1 - delta) / 2]
        inside = [one for one in grid if 0 < one < 1 - delta and low <= one <= high]
        ratios += [(one + delta) / (1 - one - delta) * (1 - one) / one for one in inside]
    odds = min(ratios) * prior / (1 - prior) if ratios else None
    return delta if odds is None else min(delta, odds / (1 + odds) - prior)


@pytest.mark.parametrize("terms", TERMS, ids=str)
def test_limits_are_those_of_the_section(terms: dict[str, Any]) -> None:
    policy = Policy("a", **terms)
    for prior in PRIORS:
        found, wanted = policy.row_delta(policy.secrets[0], prior), limit_by_search(policy, Fraction(prior))
        assert found >= 0
        assert math.isclose(found, wanted, rel_tol=1e-12, abs_tol=0), prior


def test_the_oracle_has_the_same_limits_written_differently() -> None:
    third, tiny = Fraction(1, 3), Fraction(1, 10**12)
    model = ExactModel(("a", "b"), [tiny, 1 - tiny], [[[third, 1 - third], [Fraction(1, 50), Fraction(49, 50)]]])
    for terms in TERMS:
        policy = Policy([Secret("a"), Secret("b", cap=0.7, odds=2.5)], **terms)
        for (name, slot), wanted in tolerated(model, policy, exact=True).items():
            secret = policy.secrets["ab".index(name)]
            prior = [tiny, tiny * third + (1 - tiny) / 50][slot or 0]
            prior = prior if name == "a" else 1 - prior
            if name == "b" and slot == 0:  # 1 - 1e-12 has four digits as a float
                continue
            assert math.isclose(policy.row_delta(secret, float(prior)), wanted, rel_tol=1e-9, abs_tol=0)


def test_numbers_of_the_section() -> None:
    """q = 0.2 % and delta 0.1 allow a factor of 57; the least over all priors is ((1 + delta)/(1 - delta))^2."""
    assert round(factor(0.002, 0.102)) == 57
    assert math.isclose(doubted_growth(0.002, 0.1, math.inf), (1.1 / 0.9) ** 2 - 1)
    assert round((1.1 / 0.9) ** 2, 2) == 1.49
    assert math.isclose(factor(0.3, 0.3 + gain_within(0.3, 1.0)), 2.0)
    assert factor(0.0, 0.0) == factor(1.0, 1.0) == 1.0
    assert factor(0.5, 1.0) == math.inf


def test_every_term_only_tightens() -> None:
    generator = np.random.default_rng(3)
    for _ in range(300):
        prior, delta = generator.random(), generator.random()
        plain = Policy([Secret("a", cap=0.9)], delta=delta)
        tighter = replace(plain, odds=1 + generator.exponential(), doubt=1 + generator.exponential(3))
        less = replace(tighter, share=generator.random())
        limits = [one.row_delta(one.secrets[0], prior) for one in (less, tighter, plain)]
        assert 0 <= limits[0] <= limits[1] <= limits[2]


def test_a_secrets_own_odds_stand_before_the_policys() -> None:
    policy = Policy([Secret("a", odds=4.0), Secret("b"), Secret("c", odds=math.inf)], odds=2.0)
    assert [policy.odds_of(one) for one in policy.secrets] == [4.0, 2.0, None]
    assert policy.row_delta(policy.secrets[2], 1e-9) == 0.1


@pytest.mark.parametrize("value", [0.5, -1, float("nan"), True, "2"])
def test_a_factor_below_one_is_refused_by_name(value: Any) -> None:
    for make, what in (
        (lambda: Policy("a", odds=value), "odds of the policy"),
        (lambda: Policy("a", doubt=value), "doubt of the policy"),
        (lambda: Secret("a", odds=value), "odds of secret 'a'"),
    ):
        with pytest.raises(PolicyError, match=rf"{what} is .*; give a factor of 1 or more, such as 2"):
            make()
    with pytest.raises(PolicyError, match=r"share of the policy is 1\.5; give a number from 0 to 1"):
        Policy("a", share=1.5)


def test_fingerprints_change_with_each_term_and_stay_without() -> None:
    plain = Policy([Secret("a"), Secret("b", at="any")], delta=0.2)
    others = [
        plain,
        replace(plain, share=0.5),
        replace(plain, odds=2.0),
        replace(plain, doubt=2.0),
        replace(plain, secrets=(Secret("a", odds=2.0), plain.secrets[1])),
    ]
    assert len({one.fingerprint for one in others}) == len(others)
    assert plain.fingerprint == Policy(plain.secrets, 0.2, 1.0, None, None).fingerprint
    # As it was before these terms were there.
    assert Policy("a").fingerprint == "0953702f36f46f39513f87818e251e6e9373d31a73fe4bdf8a6c686a5cf07674"


def test_terms_in_a_file_are_read_and_written(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text('delta = 0.2\nshare = 0.8\nodds = 3\ndoubt = 5.5\n[[secret]]\ncontexts = ["home"]\nodds = inf\n')
    policy = read_policy(path)[0]
    assert policy == Policy([Secret("home", odds=math.inf)], delta=0.2, share=0.8, odds=3, doubt=5.5)
    routine = lived(14, {})
    known = replace(policy, secrets=(Secret("x", {routine.contexts[0]}, odds=2.0),))
    path.write_text(policy_file_text(known, routine))
    assert read_policy(path)[0] == known
    assert policy_of(policy_text(known)) == known
    for text, message in (
        ("odds = 0.5", r"odds of the policy is 0\.5; give a factor of 1 or more"),
        ('doubt = "much"', r"doubt is 'much', not a number; give a factor of 1 or more"),
        ("share = 2", r"share of the policy is 2\.0; give a number from 0 to 1"),
    ):
        path.write_text(text + "\nsecret = []\n")
        with pytest.raises(PolicyError, match=message):
            read_policy(path)
