"""`discreet policy`: suggestions, choices and words."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from discreet.models.store import save
from discreet.places import Circle, Place, Places, write_places
from tests.choosing.routines import lived
from tests.cli.conftest import POLICY, Discreet, error_of

QUICK = ["--weeks", "2", "--delta", "0.1", "--vocabulary", "suppress"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("policy") / "p01.model"
    save(path, lived(70, {"hospital": (10, range(10, 12)), "gym": (2, range(18, 20))}))
    return path


def test_suggest_writes_a_policy_that_the_audit_takes(discreet: Discreet, model: Path, tmp_path: Path) -> None:
    out, picture = tmp_path / "policy.toml", tmp_path / "choices.png"
    ran = discreet("policy", "suggest", model, "--out", out, "--picture", picture, *QUICK)
    assert ran.code == 0, ran.err
    assert "hospital: the name suggests health" in ran.out
    assert "every choice holds by its proof" in ran.out
    assert max(len(line) for line in ran.out.splitlines() if not line.startswith("written:")) <= 80
    assert stat.S_IMODE(out.stat().st_mode) == 0o600  # it says what is secret
    assert picture.read_bytes().startswith(b"\x89PNG")
    shown = discreet("policy", "show", out, "--model", model)
    assert shown.code == 0
    assert "being at hospital, at some time of the day, may rise from" in " ".join(shown.out.split())
    assert discreet("audit", "--model", model, "--policy", out, "--budget", 100).code == 0


def test_a_policy_that_is_there_is_not_overwritten(discreet: Discreet, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "policy.toml"
    out.write_text("secret = []\n", encoding="utf-8")
    assert "somebody may have edited it" in error_of(discreet("policy", "suggest", model, "--out", out, *QUICK))
    assert out.read_text(encoding="utf-8") == "secret = []\n"


def test_json_tells_the_same(discreet: Discreet, model: Path) -> None:
    ran = discreet("policy", "suggest", model, "--secret", "gym", *QUICK, "--json")
    assert ran.code == 0
    (own, medical, month) = ran.json["suggestions"]
    assert (month["name"], month["at"], month["proposed"]) == ("medical in a month", "any", False)
    assert medical["prior"] < month["prior"]
    assert (own["rule"], own["contexts"], own["delta"]) == ("own", ["gym"], 0.1)
    assert (medical["rule"], medical["at"], medical["delta"], medical["proposed"]) == ("medical", "any", 0.05, True)
    assert medical["limit"] == pytest.approx(medical["prior"] + 0.05)
    (choice,) = ran.json["choices"]
    assert choice["holds"] is True
    assert choice["true"] + choice["silent"] == pytest.approx(1)
    assert choice["worst"]["gain"] <= 0.1 + 1e-9


def test_the_map_brings_wider_places(discreet: Discreet, model: Path, tmp_path: Path) -> None:
    places = tmp_path / "places.geojson"
    write_places(places, Places([Place("work", Circle(48.15, 11.58, 900)), Place("gym", Circle(48.152, 11.582, 80))]))
    ran = discreet("policy", "suggest", model, "--places", places, "--weeks", 2, "--delta", 0.1, "--json")
    assert [one["vocabulary"] for one in ran.json["choices"]] == ["suppress", "deceive", "generalize"]


def test_where_nothing_is_found_the_answer_is_no(discreet: Discreet, tmp_path: Path) -> None:
    plain = tmp_path / "plain.model"
    save(plain, lived(28, {}))
    ran = discreet("policy", "suggest", plain, "--out", tmp_path / "policy.toml")
    assert ran.code == 1
    assert "--secret hospital" in ran.err
    assert not (tmp_path / "policy.toml").exists()
    assert discreet("policy", "suggest", plain, "--json").json == {"suggestions": [], "choices": []}


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--vocabulary", "decieve"], "did you mean 'deceive'"),
        (["--vocabulary", "generalize"], "needs places that lie in others"),
        (["--delta", "2"], "delta is 2"),
        (["--secret", "hopsital"], "did you mean 'hospital'"),
        (["--weeks", "1"], "--weeks"),
        (["--places", "none.geojson"], "none.geojson"),
    ],
)
def test_bad_use_is_one_line(discreet: Discreet, model: Path, arguments: list[str], part: str) -> None:
    assert part in error_of(discreet("policy", "suggest", model, *arguments))


def test_habits_of_single_days_are_refused(discreet: Discreet, models: Path) -> None:
    assert "learn without --day-by-day" in error_of(discreet("policy", "suggest", models / "p01.model"))


def test_show_without_habits(discreet: Discreet, models: Path, tmp_path: Path) -> None:
    plain = tmp_path / "policy.toml"
    plain.write_text('delta = 0.1\n[[secret]]\ncontexts = ["hospital", "clinic"]\ncap = 0.2\n', encoding="utf-8")
    ran = discreet("policy", "show", plain)
    assert (
        "being at clinic or hospital, at each time of the day, may rise by at most 10 points and to at most 20 %"
        in (" ".join(ran.out.split()))
    )
    assert "or give the habits with --model" in error_of(discreet("policy", "show", POLICY))
    told = discreet("policy", "show", POLICY, "--model", models / "routine.model", "--json").json
    assert [one["name"] for one in told["secrets"]] == ["hospital", "hospital today", "home at night"]
    assert "22:00 to 06:00" in json.dumps(told)
    plain.write_text("secret = []\n", encoding="utf-8")
    assert discreet("policy", "show", plain).out == "Nothing is secret.\n"
