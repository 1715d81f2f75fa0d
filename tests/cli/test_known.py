"""What habits alone tell is said before any verdict, and a cap is judged by its own limits."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import POLICY, READINGS, Discreet

SAID = "What habits alone reveal, before anything is shown"
KEYS = {
    *("part", "name", "at", "delta", "cap", "rows", "least", "mean", "highest", "highest_at", "limit", "told"),
    *("told_at", "uncapped", "uncapped_at", "hides_nothing"),
}


def capped(folder: Path) -> Path:
    path = folder / "capped.toml"
    path.write_text('delta = 0.1\n[[secret]]\ncontexts = ["hospital"]\ncap = 0.07\n')
    return path


def test_learn_says_what_the_secrets_of_a_policy_are_worth(discreet: Discreet, tmp_path: Path) -> None:
    learned = ["learn", READINGS, "--zone", "Europe/Paris", "--out", tmp_path / "a.model"]
    assert SAID not in discreet(*learned, "--keep", "hospital").out
    ran = discreet(*learned, "--secrets", POLICY)
    assert SAID in ran.out
    assert "On a weekend, declaring 'home at night' hides nothing: whoever" in ran.out
    (person,) = discreet(*learned, "--secrets", POLICY, "--json").json["people"]
    assert [(one["part"], one["name"]) for one in person["known"]] == [
        (part, name) for part in ("weekday", "weekend") for name in ("hospital", "hospital today", "home at night")
    ]
    assert [one["hides_nothing"] for one in person["known"]] == [False, False, False, False, False, True]
    assert all(set(one) == KEYS for one in person["known"])


def test_learning_days_without_a_secret_context_goes_on(discreet: Discreet, tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text('[[secret]]\ncontexts = ["moon"]\n')
    ran = discreet(
        "learn", READINGS, "--zone", "Europe/Paris", "--day-by-day", "--secrets", path, "--out", tmp_path / "a.model"
    )
    assert (ran.code, SAID in ran.out) == (0, False)
    assert "what habits alone tell of its secrets cannot be said: secret 'moon'" in ran.err


def test_evaluate_and_audit_say_it_and_judge_a_cap_by_its_limits(
    discreet: Discreet, given: list[str], tmp_path: Path
) -> None:
    for command in (["evaluate", READINGS], ["audit"]):
        using = [*command, *given, "--policy", capped(tmp_path)]
        ran = discreet(*using)
        assert ran.code == 1
        assert ran.out.index(SAID) < ran.out.index("mask-sensitive: ")
        assert "0.1000, cap 0.07" in ran.out
        assert "the cap of 'hospital' does not apply at " in ran.out.lower()
        (known,) = discreet(*using, "--json").json["known"]
        assert known["cap"] == 0.07
        assert 0 < known["uncapped"] == len(known["uncapped_at"]) < known["rows"] == 48


def test_a_cap_is_kept_by_adaptive(discreet: Discreet, tmp_path: Path) -> None:
    """On a day of twelve slots, every output of which the audit looks at: nothing rests on the proof."""
    model = tmp_path / "a.model"
    learn = ["learn", READINGS, "--zone", "Europe/Paris", "--keep", "hospital", "--day-by-day", "--slots", 12]
    assert discreet(*learn, "--out", model).code == 0
    using = ["--model", model, "--policy", capped(tmp_path), "--mechanism", "adaptive", "--json"]
    (part,) = discreet("audit", *using).json["parts"]
    (secret,) = part["secrets"]
    assert (part["holds"], part["exact"]) == (True, True)
    assert (secret["cap"], secret["delta"]) == (0.07, 0.1)
    assert secret["excess"] <= 2**-40
    assert secret["bound_excess"] <= 2**-40
    (judged,) = discreet("evaluate", READINGS, *using).json["parts"]
    assert judged["excess_by_secret"]["hospital"] <= 2**-40
