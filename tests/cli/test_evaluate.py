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
    told = {"mechanism", "without_end", "seed", "breached", "split", "learned_days"}
    assert set(document) == told | {"parts", "known", "truth", "bad_rows"}
    (part,) = document["parts"]
    assert part["days"] == 42
    assert part["utility"] + part["suppressed"] == pytest.approx(1)
    assert set(part["by_secret"]) == {"hospital", "hospital today", "home at night"}


def test_weekdays_and_weekends_are_judged_apart(discreet: Discreet, given: list[str], models: Path) -> None:
    parts = discreet("evaluate", READINGS, *given, "--model", models / "week.model", "--json").json["parts"]
    assert {part["part"]: part["days"] for part in parts} == {"weekday": 30, "weekend": 12}


def test_the_days_that_are_judged_are_those_that_are_released(
    discreet: Discreet, given: list[str], models: Path, tmp_path: Path
) -> None:
    """Dates without readings are days of unknown, into which the last reading is carried."""
    (tmp_path / "gaps.csv").write_text(
        "user,timestamp,context\n"
        "p01,2026-03-04T23:40:00+01:00,home\n"
        "p01,2026-03-05T23:40:00+01:00,work\n"
        "p01,2026-03-09T08:10:00+01:00,home\n"
        "p01,2026-03-11T08:10:00+01:00,spaceport\n"
    )
    for model, parts in (("p01.model", {None: 8}), ("week.model", {"weekday": 6, "weekend": 2})):
        using = [*given, "--model", models / model]
        released = discreet("release", *using, tmp_path / "gaps.csv", "--json")
        judged = discreet("evaluate", tmp_path / "gaps.csv", *using, "--json").json["parts"]
        assert {part["part"]: part["days"] for part in judged} == parts
        assert released.json["days"] == 8
        silent = sum(one["kind"] == "suppressed" for one in released.json["releases"])  # nothing is drawn here
        assert sum(part["suppressed"] * part["slots"] for part in judged) == pytest.approx(silent)
        assert f"off model: {sum(part['off_model'] for part in judged)} " in released.err


def test_missing_files(discreet: Discreet, given: list[str]) -> None:
    assert "none.csv" in error_of(discreet("evaluate", "none.csv", *given))
    assert "none.toml" in error_of(discreet("evaluate", READINGS, *given, "--policy", "none.toml"))


def test_the_days_of_a_routine_are_one_stream(discreet: Discreet, endless: list[str]) -> None:
    ran = discreet("evaluate", READINGS, *endless, "--mechanism", "adaptive")
    assert ran.code == 0
    assert "adaptive: 42 days, 2016 slots, judged as one stream, over midnight" in ran.out
    assert "starts anew" not in ran.out
    document = discreet("evaluate", READINGS, *endless, "--mechanism", "adaptive", "--json").json
    assert document["without_end"] is True
    (part,) = document["parts"]
    assert (part["part"], part["off_model"], part["breached_days"]) == (None, 0, 0)


def test_what_starts_anew_is_judged_over_midnight_too(discreet: Discreet, endless: list[str]) -> None:
    ran = discreet("evaluate", READINGS, *endless, "--mechanism", "mask-sensitive")
    assert ran.code == 1
    assert "judged as one stream" in ran.out
    assert "mask-sensitive starts anew each day: what it promises ends at midnight." in ran.out
    document = discreet("evaluate", READINGS, *endless, "--mechanism", "mask-sensitive", "--json").json
    assert (document["without_end"], document["parts"][0]["off_model"]) == (False, 0)
