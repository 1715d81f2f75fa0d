from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.cli.conftest import POLICY, READINGS, Discreet, error_of

TWO = ["--mechanism", "mask-sensitive", "--mechanism", "adaptive", "--seconds", "3600"]


def test_rows_agree_with_evaluate_and_audit(discreet: Discreet, brief: list[str], tmp_path: Path) -> None:
    ran = discreet("compare", READINGS, *brief, *TWO, "--csv", tmp_path / "table.csv", "--json")
    assert ran.code == 0
    rows = {row["mechanism"]: row for row in ran.json["mechanisms"]}
    assert ran.json["learned_days"] == 42
    for name, row in rows.items():
        (did,) = discreet("evaluate", READINGS, *brief, "--mechanism", name, "--json").json["parts"]
        could = discreet("audit", *brief, "--mechanism", name, "--json").json
        same = ("utility", "worst_gain", "breach_rate", "breached_days", "days", "off_model")
        assert {key: row[key] for key in same} == {key: did[key] for key in same}
        assert row["found"] == could["parts"][0]["worst_gain"]
        assert row["audit"] == ("holds" if could["holds"] else "does not hold")
    with (tmp_path / "table.csv").open(encoding="utf-8") as file:
        written = {row["mechanism"]: row for row in csv.DictReader(file)}
    assert {name: float(row["utility"]) for name, row in written.items()} == {
        name: row["utility"] for name, row in rows.items()
    }


def test_the_table_and_what_cannot_run(discreet: Discreet, given: list[str]) -> None:
    using = [*given[:4], "--mechanism", "mask-sensitive", "--mechanism", "pa-markov"]
    ran = discreet("compare", READINGS, *using)
    assert ran.code == 0
    assert "mask-sensitive" in ran.out
    assert "comparing: mask-sensitive is done, 1 of 2" in ran.err  # no terminal, so lines and no bar
    assert "comparing: pa-markov is done, 2 of 2" in ran.err
    assert "does not hold" in ran.out
    assert "pa-markov cannot run here: 'home' is not the label of an event" in ran.out
    alone = discreet("compare", READINGS, *given[:4], "--mechanism", "pa-markov")
    assert alone.code == 1


def test_options_go_to_those_that_have_them(discreet: Discreet, given: list[str]) -> None:
    using = [*given[:4], "--mechanism", "mask-sensitive", "--mechanism", "simulatable", "--seconds", "1", "--json"]
    rows = discreet("compare", READINGS, *using, "--option", "lookahead=true").json["mechanisms"]
    assert [row["mechanism"] for row in rows] == ["mask-sensitive", "simulatable, lookahead=True"]
    quoted = [*given[:4], "--mechanism", "simulatable", "--mechanism", "simulatable lookahead=true", "--json"]
    rows = discreet("compare", READINGS, *quoted, "--seconds", "1").json["mechanisms"]
    assert [row["mechanism"] for row in rows] == ["simulatable", "simulatable, lookahead=True"]
    assert "none of the mechanisms has an option 'grid'" in error_of(
        discreet("compare", READINGS, *using, "--option", "grid=3")
    )


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [("adptive", "did you mean 'adaptive'?"), ("'", "close the quotation"), (" ", "--mechanism is empty")],
)
def test_slips_are_told(discreet: Discreet, given: list[str], mechanism: str, words: str) -> None:
    assert words in error_of(discreet("compare", READINGS, *given[:4], "--mechanism", mechanism))


def test_the_policy_is_held_against_the_model(discreet: Discreet, given: list[str], tmp_path: Path) -> None:
    (tmp_path / "bar.toml").write_text('[[secret]]\ncontexts = ["zoo"]\n')
    said = error_of(discreet("compare", READINGS, "--model", given[1], "--policy", tmp_path / "bar.toml"))
    assert "zoo" in said
    assert POLICY not in said
