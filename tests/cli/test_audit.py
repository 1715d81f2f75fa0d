from __future__ import annotations

import sys
from pathlib import Path

import pytest

from discreet import MarkovChain, Routine, save
from tests.cli.conftest import POLICY, Discreet, error_of


@pytest.fixture
def lenient(tmp_path: Path) -> Path:
    path = tmp_path / "lenient.toml"
    path.write_text(
        '[[secret]]\nname = "home at night"\ncontexts = ["home"]\nbetween = ["22:00", "06:00"]\ndelta = 0.2\n'
    )
    return path


def test_mask_sensitive_does_not_hold(discreet: Discreet, given: list[str]) -> None:
    ran = discreet("audit", *given)
    assert ran.code == 1
    assert "does not hold" in ran.out
    assert "exceeded" in ran.out
    assert "06:30" in ran.out  # the witness speaks of clock times
    assert "(silence)" in ran.out
    assert "Some outputs leave no doubt of a secret, so the factor on its odds has no bound." in ran.out
    assert "Searched: exact" in ran.out


def test_a_policy_that_holds(discreet: Discreet, given: list[str], lenient: Path) -> None:
    ran = discreet("audit", *given, "--policy", lenient)
    assert ran.code == 0
    assert "mask-sensitive: holds, if the habits are as learned." in ran.out
    assert discreet("audit", *given, "--policy", lenient, "--json").json["holds"] is True


def test_adaptive_holds_by_its_proof_and_says_so(discreet: Discreet, given: list[str]) -> None:
    """The README's own files. Nobody may take it for an enumeration."""
    adaptive = ["audit", *given[:-1], "adaptive"]
    ran = discreet(*adaptive)
    assert ran.code == 0
    assert "adaptive: holds by its proof, if the habits are as learned." in ran.out
    assert "not every output was looked at" in ran.out
    assert "histories that were not met rest on the proof" in ran.out
    (part,) = discreet(*adaptive, "--json").json["parts"]
    assert (part["holds"], part["exact"], part["rests_on"]) == (True, False, "proof")
    assert part["kernels"] < 5_000  # a bounded number, whatever the day


def test_what_is_left_open_is_not_a_yes(discreet: Discreet, given: list[str], tmp_path: Path) -> None:
    """Silence at night is home or the bar, so little is found in a moment, and little is proven."""
    night = 'between = ["22:00", "06:00"]\n'
    secrets = (f'[[secret]]\ncontexts = ["{place}"]\ndelta = 0.9\n{night}' for place in ("home", "bar"))
    (tmp_path / "two.toml").write_text("".join(secrets))
    hurried = ["audit", *given, "--policy", tmp_path / "two.toml", "--budget", 1]
    ran = discreet(*hurried)
    assert ran.code == 1
    assert "open" in ran.out
    assert "not every output" in ran.out
    assert discreet(*hurried, "--json").json["holds"] is None


def test_json_has_its_keys(discreet: Discreet, given: list[str]) -> None:
    ran = discreet("audit", *given, "--json", "--seconds", 60)
    assert ran.code == 1
    document = ran.json
    assert set(document) == {"mechanism", "without_end", "holds", "observers", "truth", "days", "parts", "known"}
    assert (document["without_end"], document["days"]) == (False, None)
    (part,) = document["parts"]
    assert set(part) == {
        *(
            "part",
            "holds",
            "exact",
            "rests_on",
            "worst_gain",
            "worst_odds",
            "bound",
            "excess",
            "secrets",
            "witness",
            "breach",
            "kernels",
            "searched",
        )
    }
    assert [secret["name"] for secret in part["secrets"]] == ["hospital", "hospital today", "home at night"]
    assert part["witness"]["gain"] == pytest.approx(part["worst_gain"])
    assert {output["kind"] for output in part["witness"]["outputs"]} == {"suppressed"}


def test_a_night_at_some_slot_is_one_secret_by_the_worse_of_its_two_windows(
    discreet: Discreet, given: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "night.toml"
    path.write_text('[[secret]]\nname = "out"\ncontexts = ["bar"]\nbetween = ["22:00", "06:00"]\nat = "any"\n')
    ran = discreet("audit", *given, "--policy", path)
    guesses, judged = ran.out.split("mask-sensitive: ")
    assert [line.split("  ")[0] for line in guesses.splitlines() if line.startswith("out")] == [
        "out",
        "out (night before)",
    ]
    (row,) = (line for line in judged.splitlines() if line.startswith("out "))
    assert "some slot" in row
    document = discreet("audit", *given, "--policy", path, "--json").json
    (secret,) = document["parts"][0]["secrets"]
    assert secret["worst_gain"] == pytest.approx(document["parts"][0]["worst_gain"])
    assert f"{secret['worst_gain']:.4f}" in row


def test_each_part_of_the_week_is_audited(discreet: Discreet, given: list[str], models: Path) -> None:
    ran = discreet("audit", *given, "--model", models / "week.model", "--json")
    assert ran.code == 1
    assert [part["part"] for part in ran.json["parts"]] == ["weekday", "weekend"]


def test_a_model_without_a_clock_speaks_of_slots(discreet: Discreet, tmp_path: Path) -> None:
    save(tmp_path / "tiny.model", MarkovChain(("a", "b"), (0.5, 0.5), [[[0.5, 0.5], [0.5, 0.5]]]))
    (tmp_path / "tiny.toml").write_text('[[secret]]\ncontexts = ["a"]\n')
    tiny = ["--model", tmp_path / "tiny.model", "--policy", tmp_path / "tiny.toml"]
    ran = discreet("audit", *tiny, "--mechanism", "no-mask")
    assert ran.code == 1
    assert "slot 0 to slot 1  a" in ran.out
    assert "no clock" in error_of(discreet("evaluate", tmp_path / "x.csv", *tiny, "--mechanism", "no-mask"))


def test_a_policy_without_secrets_is_refused_not_held(discreet: Discreet, given: list[str], tmp_path: Path) -> None:
    (tmp_path / "none.toml").write_text("")
    assert "there is no secret in it" in error_of(discreet("audit", *given, "--policy", tmp_path / "none.toml"))


def test_no_secrets_hold(discreet: Discreet, given: list[str], tmp_path: Path) -> None:
    (tmp_path / "none.toml").write_text("secret = []\n")
    ran = discreet("audit", *given, "--policy", tmp_path / "none.toml", "--json")
    assert ran.code == 0
    assert ran.json["parts"][0]["excess"] is None


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('[[secret]]\ncontexts = ["hopsital"]\n', "did you mean 'hospital'"),
        ('[[secret]]\ncontexts = ["supermarket"]\n', "learn again with --keep 'supermarket'"),
        ('delta = 2\n[[secret]]\ncontexts = ["hospital"]\n', "delta"),
        ("delta = \n", "TOML"),
        ('[clock]\nslots = 24\n[[secret]]\ncontexts = ["hospital"]\n', "[clock]"),
        ("[[secert]]\n", "secret"),
    ],
)
def test_bad_policies_name_the_file(discreet: Discreet, given: list[str], tmp_path: Path, text: str, part: str) -> None:
    (tmp_path / "bad.toml").write_text(text)
    error = error_of(discreet("audit", *given, "--policy", tmp_path / "bad.toml"))
    assert part in error
    assert "bad.toml" in error


def test_mechanisms_are_found_by_name(discreet: Discreet, given: list[str], models: Path) -> None:
    assert "did you mean 'mask-sensitive'" in error_of(discreet("audit", *given, "--mechanism", "mask-sensitiv"))
    assert discreet("audit", *given, "--mechanism", "MaskSensitive").code == 1
    assert "'grid'" in error_of(discreet("audit", *given, "--option", "grid=3"))
    assert "key=value" in error_of(discreet("audit", *given, "--option", "grid"))
    assert "none.model" in error_of(
        discreet("audit", "--model", models / "none.model", "--policy", POLICY, "--mechanism", "no-mask")
    )
    assert "budget" in error_of(discreet("audit", *given, "--budget", 0))


TREE = """
[mechanism]
name = "fdh"
[mechanism.hierarchy.anywhere]
private = ["home", "hospital", "bar"]
public = ["work", "restaurant", "cafe", "other", "union office"]
"""

NOISE = """
[mechanism]
name = "dphmm"
epsilon = 0.01
[mechanism.graph]
kind = "within"
radius = 1.5
[mechanism.query]
home = [0, 0]
work = [4, 1]
bar = [1, 0]
restaurant = [1, 1]
cafe = [2, 1]
other = [2, 2]
hospital = [5, 5]
"union office" = [4, 2]
"""

SETS = """
[mechanism]
name = "set-labelled"
mechanism = "simulatable"
[mechanism.labels]
hospital = ["hospital", "cafe"]
cafe = ["hospital", "cafe"]
"""


@pytest.mark.parametrize(("name", "content"), [("fdh", TREE), ("dphmm", NOISE), ("set-labelled", SETS)])
def test_mechanisms_from_a_file(discreet: Discreet, models: Path, tmp_path: Path, name: str, content: str) -> None:
    given = ["--model", models / "short.model", "--policy", POLICY, "--mechanism", name]
    (tmp_path / "mechanism.toml").write_text(content)
    ran = discreet("audit", *given[:-1], tmp_path / "mechanism.toml", "--json", "--seconds", 1, "--budget", 20)
    assert ran.code in (0, 1)
    assert ran.json["mechanism"] == name
    assert "option" in error_of(discreet("audit", *given[:-1], name))  # without its file it lacks one


def test_a_mechanism_of_ones_own_in_the_working_directory(
    discreet: Discreet, given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_own_mechanism.py").write_text(
        "from discreet.mechanisms import NoMask\nclass Mine(NoMask):\n    pass\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    ran = discreet("audit", *given[:-1], "my_own_mechanism:Mine", "--json")
    assert ran.code == 1
    assert ran.json["mechanism"] == "my_own_mechanism:Mine"


def test_mechanisms_that_cannot_be_made(discreet: Discreet, given: list[str]) -> None:
    assert "no mechanism 'published'" in error_of(discreet("audit", *given[:-1], "published"))
    assert "give numbers" in error_of(discreet("audit", *given[:-1], "probabilistic", "--option", "p=abc"))
    assert "key=value" in error_of(discreet("audit", *given, "--option", "grid"))


def test_of_a_routine_adaptive_holds_over_midnight(discreet: Discreet, endless: list[str]) -> None:
    """The README's own files, and within the README's own time: some seconds."""
    ran = discreet("audit", *endless, "--mechanism", "adaptive")
    assert ran.code == 0
    assert "adaptive over 2 days: holds by its proof, if the habits are as learned." in ran.out
    assert "Outputs that do it:" in ran.out  # of one day or two, as the search finds them
    assert "midnight" not in ran.out
    document = discreet("audit", *endless, "--mechanism", "adaptive", "--days", 3, "--budget", 50, "--json").json
    assert (document["without_end"], document["holds"], document["days"]) == (True, True, 3)
    (part,) = document["parts"]
    assert part["part"] is None
    assert [secret["name"] for secret in part["secrets"]] == ["hospital", "hospital today", "home at night"]
    assert all(secret["worst_gain"] > 0 for secret in part["secrets"])  # that of each day's window is among them


def test_of_a_routine_others_start_anew_and_the_command_says_so(discreet: Discreet, endless: list[str]) -> None:
    ran = discreet("audit", *endless, "--mechanism", "mask-sensitive", "--since", "2026-01-09")
    assert ran.code == 1
    assert "mask-sensitive over 2 days: does not hold" in ran.out
    assert "mask-sensitive starts anew each day: what it promises ends at midnight." in ran.out
    assert "06:00 of day 2" in ran.out
    assert "  day 2   00:00 to" in ran.out
    document = discreet("audit", *endless, "--mechanism", "mask-sensitive", "--days", 1, "--json").json
    assert (document["without_end"], document["holds"], document["days"]) == (False, False, 1)
    assert document["parts"][0]["witness"]["day"] == 1


def test_a_day_alone_holds_and_two_do_not(discreet: Discreet, tmp_path: Path) -> None:
    day = MarkovChain(("clinic", "home"), [0.25, 0.75], [[[0.25, 0.75], [0.25, 0.75]]])
    save(tmp_path / "m", Routine({"day": day}, {("day", "day"): [[0.9, 0.1], [1 / 30, 29 / 30]]}))
    (tmp_path / "p.toml").write_text('[[secret]]\ncontexts = ["clinic"]\nslots = [1]\ndelta = 0.1\n')
    hybrid = ["--model", tmp_path / "m", "--policy", tmp_path / "p.toml", "--mechanism", "hybrid"]
    assert discreet("audit", *hybrid, "--days", 1).code == 0
    ran = discreet("audit", *hybrid)
    assert ran.code == 1
    assert "slot" in ran.out


@pytest.mark.parametrize(
    ("options", "part"),
    [(["--since", "tomorrow"], "YYYY-MM-DD"), (["--days", 0], "--days")],
)
def test_bad_days_in_a_row(discreet: Discreet, endless: list[str], options: list[object], part: str) -> None:
    ran = discreet("audit", *endless, "--mechanism", "adaptive", *options)
    assert ran.code == 2
    assert part in ran.err


def test_days_in_a_row_need_a_routine(discreet: Discreet, given: list[str]) -> None:
    assert "learn one" in error_of(discreet("audit", *given, "--days", 3))
