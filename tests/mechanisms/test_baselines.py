"""The baselines: what they release, and the golden numbers of what they give away (enumerated independently)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import discreet as d
from discreet.adversary.enumerate import expected_releases, worst
from discreet.mechanisms import MaskSensitive, NoMask

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "golden" / "chains.json").read_text())["cases"]


def golden_chain(case: dict[str, Any]) -> d.MarkovChain:
    return d.MarkovChain(case["contexts"], case["initial"], case["transitions"])


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_mask_sensitive_has_the_golden_worst_gain_and_utility(case: dict[str, Any]) -> None:
    mechanism = MaskSensitive(golden_chain(case), d.Policy(case["secrets"], delta=case["delta"]))
    golden = case["mask_sensitive"]
    result = d.audit(mechanism)
    assert result.exact
    assert result.worst_gain == pytest.approx(golden["worst_gain"], abs=1e-12)
    slots = mechanism.model.slots
    assert float(mechanism.expected_utility()) * slots == pytest.approx(golden["expected_releases"], abs=1e-12)
    assert worst(mechanism)[0] == pytest.approx(golden["worst_gain"], abs=1e-12)
    assert expected_releases(mechanism) == pytest.approx(golden["expected_releases"], abs=1e-12)


def test_hiding_the_secret_tells_it() -> None:
    """The theory's count: on 100 random chains of 3 contexts, nearly all breach at delta 0.1."""
    breached = 0
    for case in CASES:
        mechanism = MaskSensitive(golden_chain(case), d.Policy(case["secrets"], delta=0.1))
        breached += d.audit(mechanism).holds is False
    assert breached >= 0.9 * len(CASES)


def test_no_mask_releases_everything_and_gains_the_most() -> None:
    chain = golden_chain(CASES[0])
    mechanism = NoMask(chain, d.Policy(CASES[0]["secrets"]))
    assert float(mechanism.expected_utility()) == 1
    possible = chain.prior[chain.prior > 0]
    assert (
        d.audit(mechanism, policy=d.Policy([d.Secret("any", set(chain.contexts[:1]))])).worst_gain <= 1 - possible.min()
    )


def test_secrets_are_hidden_only_where_they_hold() -> None:
    chain = d.MarkovChain.homogeneous(("a", "b"), [0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], 2)
    mechanism = MaskSensitive(chain, d.Policy([d.Secret("later", {"b"}, slots=[1])]))
    with d.Session(mechanism) as today:
        assert today.release("b") == d.Released("b")
        assert today.release("b") == d.Suppressed()
