"""The page of claims: whole rows, proofs and tests that exist, and no mechanism that it forgets."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from discreet import mechanisms

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
CLAIMED, NOT_CLAIMED = TEXT.partition("## What is claimed")[2].partition("## Beside noise")[0].split("## What is not")

LINK = re.compile(r"\]\(([^)#]+)(?:#[\w-]+)?\)")


class Claim(NamedTuple):
    """A row of the table."""

    claim: str
    statement: str
    assumptions: str
    proof: str
    tests: str


ROWS = [
    Claim(*(cell.strip() for cell in line.strip("|").split(" | ")))
    for line in CLAIMED.splitlines()
    if line.startswith("| ") and not line.startswith("| claim ")
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.claim)
def test_a_claim_has_a_statement_assumptions_a_proof_and_tests(row: Claim) -> None:
    assert all(row), row
    assert LINK.search(row.proof), "where the proof is"
    named = LINK.findall(row.tests)
    assert named, "which tests"
    for link in named:
        file = (ROOT / "docs" / link).resolve()
        assert file.parts[len(ROOT.parts)] == "tests", link
        assert re.search(r"^(async )?def test_", file.read_text(encoding="utf-8"), re.MULTILINE), (
            f"{link} tests nothing"
        )


@pytest.mark.parametrize("name", mechanisms.WHERE)
def test_every_mechanism_is_claimed_of_or_said_to_promise_nothing(name: str) -> None:
    """Whoever adds one has to say here what is claimed of it."""
    promised = not mechanisms.PROMISES[name].startswith("none")
    word = re.compile(rf"(?<!\w){name}(?!\w)")
    assert bool(word.search(" ".join(row.claim for row in ROWS))) == promised
    assert promised or word.search(NOT_CLAIMED)
