from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import READINGS, Discreet, error_of


def test_the_table_and_a_breach(discreet: Discreet, given: list[str]) -> None:
    ran = discreet("evaluate", READINGS, *given)
    assert ran.code == 1
    for words in ("42 days, 2016 slots", "utility", "breach rate", "off model", "home at night", "kept", "breached"):
        assert words in ran.out


def test_no_breach_leaves_with_zero(discreet: Discreet, given: list[str], tmp_path: Path) -> None:
    (tmp_path / "all.toml").write_text('delta = 1\n[[secret]]\ncontexts = ["hospital"]\n')
    assert discreet("evaluate", READINGS, *given, "--policy", tmp_path / "all.toml").code == 0


def test_json_has_its_keys(discreet: Discreet, given: list[str]) -> None:
    ran = discreet("evaluate", READINGS, *given, "--seed", 5, "--json")
    assert ran.code == 1
    document = ran.json
    assert set(document) == {"mechanism", "seed", "breached", "parts", "bad_rows"}
    (part,) = document["parts"]
    assert part["days"] == 42
    assert part["utility"] + part["suppressed"] == pytest.approx(1)
    assert set(part["by_secret"]) == {"hospital", "hospital today", "home at night"}


def test_weekdays_and_weekends_are_judged_apart(discreet: Discreet, given: list[str], models: Path) -> None:
    parts = discreet("evaluate", READINGS, *given, "--model", models / "week.model", "--json").json["parts"]
    assert {part["part"]: part["days"] for part in parts} == {"weekday": 30, "weekend": 12}


def test_missing_files(discreet: Discreet, given: list[str]) -> None:
    assert "none.csv" in error_of(discreet("evaluate", "none.csv", *given))
    assert "none.toml" in error_of(discreet("evaluate", READINGS, *given, "--policy", "none.toml"))
