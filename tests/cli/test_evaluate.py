from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import POLICY, READINGS, Discreet, error_of


def test_the_table_and_a_breach(discreet: Discreet, given: list[str]) -> None:
    ran = discreet("evaluate", READINGS, *given)
    assert ran.code == 1
    for words in ("42 days, 2016 slots", "utility", "breach rate", "off model", "home at night", "breached"):
        assert words in ran.out


def test_no_breach_leaves_with_zero(discreet: Discreet, given: list[str], tmp_path: Path) -> None:
    (tmp_path / "all.toml").write_text('delta = 1\n[[secret]]\ncontexts = ["hospital"]\n')
    ran = discreet("evaluate", READINGS, *given, "--policy", tmp_path / "all.toml")
    assert ran.code == 0
    assert "kept" in ran.out


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


def test_the_days_of_a_routine_are_one_stream(discreet: Discreet, brief: list[str]) -> None:
    ran = discreet("evaluate", READINGS, *brief, "--mechanism", "adaptive")
    assert ran.code == 0
    assert "adaptive: 42 days, 504 slots, judged as one stream, over midnight" in ran.out
    assert "starts anew" not in ran.out
    document = discreet("evaluate", READINGS, *brief, "--mechanism", "adaptive", "--json").json
    assert document["without_end"] is True
    (part,) = document["parts"]
    assert (part["part"], part["off_model"], part["breached_days"]) == (None, 0, 0)


def test_what_starts_anew_is_judged_over_midnight_too(discreet: Discreet, brief: list[str]) -> None:
    ran = discreet("evaluate", READINGS, *brief, "--mechanism", "mask-sensitive")
    assert ran.code == 1
    assert "judged as one stream" in ran.out
    assert "mask-sensitive starts anew each day: what it promises ends at midnight." in ran.out
    document = discreet("evaluate", READINGS, *brief, "--mechanism", "mask-sensitive", "--json").json
    assert (document["without_end"], document["parts"][0]["off_model"]) == (False, 0)


# --- days that were learned, and days that were not


@pytest.mark.parametrize("kind", [[], ["--day-by-day"], ["--day-by-day", "--weekparts"]], ids=" ".join)
def test_a_split_learns_from_the_first_days_and_judges_the_rest(
    discreet: Discreet, tmp_path: Path, kind: list[str]
) -> None:
    """The same as a file of the first days, learned by the same options, and a file of the others."""
    rows = Path(READINGS).read_text(encoding="utf-8").splitlines()
    until = "2026-02-03"  # 29 of 42 dates are before it
    first, rest = tmp_path / "first.csv", tmp_path / "rest.csv"
    first.write_text("\n".join([rows[0], *(row for row in rows[1:] if row.split(",")[1] < until)]), encoding="utf-8")
    rest.write_text("\n".join([rows[0], *(row for row in rows[1:] if row.split(",")[1] >= until)]), encoding="utf-8")
    rules = ["--zone", "Europe/Paris", "--secrets", POLICY, "--merge-below", "0", *kind, "--accept-model"]
    for data, file in ((first, "first.model"), (READINGS, "all.model")):
        assert discreet("learn", data, *rules, "--out", tmp_path / file).code == 0
    using = ["--policy", POLICY, "--mechanism", "mask-sensitive", "--accept-model", "--json"]
    apart = discreet("evaluate", rest, "--model", tmp_path / "first.model", *using)
    split = discreet("evaluate", READINGS, "--model", tmp_path / "all.model", *using, "--split", "0.7")
    assert "learned again from the 29 days until 2026-02-02" in split.err
    assert split.json["split"] == 0.7
    assert split.json["learned_days"] == (None if kind else 0)
    assert sum(part["days"] for part in split.json["parts"]) == 13
    for one, other in zip(split.json["parts"], apart.json["parts"], strict=True):
        for key in ("utility", "days", "breached_days", "worst_gain", "by_secret", "off_model"):
            assert one[key] == other[key]


def test_days_that_were_learned_are_said_to_be(discreet: Discreet, brief: list[str], tmp_path: Path) -> None:
    using = [*brief, "--mechanism", "mask-sensitive"]
    ran = discreet("evaluate", READINGS, *using)
    assert "These days are among those that the habits were learned from" in ran.out
    assert "--split 0.7" in ran.out
    assert discreet("evaluate", READINGS, *using, "--json").json["learned_days"] == 42
    later = tmp_path / "later.csv"
    later.write_text("user,timestamp,context\np01,2026-05-04T08:00:00+02:00,home\n", encoding="utf-8")
    assert "among those" not in discreet("evaluate", later, *using).out
    assert discreet("evaluate", later, *using, "--json").json["learned_days"] == 0


def test_a_split_leaves_days_on_both_sides(discreet: Discreet, endless: list[str], tmp_path: Path) -> None:
    for share in ("0", "1", "1.5", "nan"):
        assert "--split" in error_of(discreet("evaluate", READINGS, *endless, "--split", share))
    (tmp_path / "one.csv").write_text("user,timestamp,context\np01,2026-05-04T08:00:00+02:00,home\n")
    said = error_of(discreet("evaluate", tmp_path / "one.csv", *endless, "--split", "0.7"))
    assert "of 1 days leaves none" in said
