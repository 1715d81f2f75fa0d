from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from discreet import MarkovChain, Models, Routine, load
from discreet.clock import Clock
from discreet.models.routine.pairs import PairRoutine
from tests.cli.conftest import POLICY, READINGS, Discreet, error_of

PARIS = ["--zone", "Europe/Paris"]
FAMILY = ["--user", "who", "--time", "at", "--context", "place"]


def test_the_summary_speaks_of_contexts_days_and_the_held_out_part(discreet: Discreet, tmp_path: Path) -> None:
    ran = discreet("learn", READINGS, *PARIS, "--keep", "hospital", "--out", tmp_path / "p01.model")
    assert ran.code == 0
    for words in (
        "p01: 42 days",
        "Europe/Paris",
        "hospital",
        "held impossible",
        "log-likelihood",
        "423 rows read, 0 skipped",
    ):
        assert words in ran.out


def test_the_model_carries_its_clock_and_learns_from_all_days(discreet: Discreet, tmp_path: Path) -> None:
    out = tmp_path / "p01.model"
    days = ["--day-by-day", "--zone", "Europe/Paris", "--slots", 24, "--cut", "04:00"]
    assert discreet("learn", READINGS, *days, "--out", out).code == 0
    chain = load(out)
    assert isinstance(chain, MarkovChain)
    assert chain.clock == Clock(24, "Europe/Paris", "04:00")
    assert chain.counts is not None
    assert chain.counts.days == 43  # 42 from midnight to midnight touch 43 from four to four


def test_json_is_one_document_with_its_keys(discreet: Discreet, tmp_path: Path) -> None:
    out = tmp_path / "p01.model"
    document = discreet("learn", READINGS, *PARIS, "--day-by-day", "--smoothing", "none", "--out", out, "--json").json
    assert set(document) == {"saved", "rows", "bad_rows", "people"}
    (p01,) = document["people"]
    assert p01["model"] == str(out)
    assert p01["days"] == 42
    assert p01["held_out_days"] == 8
    assert 0 < p01["held_out_impossible"] < 0.5
    assert p01["held_out_log_likelihood"] < 0
    assert sum(p01["contexts"].values()) == pytest.approx(1)


def test_smoothing_leaves_less_impossible(discreet: Discreet, tmp_path: Path) -> None:
    shares = [
        discreet("learn", READINGS, "--day-by-day", "--smoothing", way, "--out", tmp_path / way, "--json").json[
            "people"
        ][0]["held_out_impossible"]
        for way in ("auto", "none")
    ]
    assert shares[0] < shares[1]


def test_several_people_go_into_a_folder(discreet: Discreet, family: Path, tmp_path: Path) -> None:
    ran = discreet("learn", family, *FAMILY, "--out", tmp_path / "habits")
    assert ran.code == 0
    assert sorted(path.name for path in (tmp_path / "habits").iterdir()) == ["p1.model", "p2.model"]
    assert "p1" in ran.out
    assert discreet("learn", family, *FAMILY, "--out", tmp_path / "habits").code == 0  # and again, into the same


def test_person_picks_one(discreet: Discreet, family: Path, tmp_path: Path) -> None:
    out = tmp_path / "p2.model"
    assert discreet("learn", family, *FAMILY, "--person", "p2", "--out", out).code == 0
    assert out.is_file()
    assert "'p9'" in error_of(discreet("learn", family, *FAMILY, "--person", "p9", "--out", out))


def test_weekparts(discreet: Discreet, tmp_path: Path) -> None:
    assert discreet("learn", READINGS, "--day-by-day", "--weekparts", "--out", tmp_path / "week.model").code == 0
    week = load(tmp_path / "week.model")
    assert isinstance(week, Models)
    assert set(week) == {"weekday", "weekend"}


def test_rare_contexts_are_merged_unless_kept(discreet: Discreet, tmp_path: Path) -> None:
    out = tmp_path / "m"
    merged = discreet("learn", READINGS, "--merge-below", 0.03, "--out", out, "--json").json
    kept = discreet("learn", READINGS, "--merge-below", 0.03, "--keep", "supermarket", "--out", out, "--json").json
    assert "supermarket" not in merged["people"][0]["contexts"]
    assert "supermarket" in kept["people"][0]["contexts"]
    assert {"hospital", "union office"} <= set(merged["people"][0]["contexts"])  # their names speak of secrets


def test_bad_rows_stop_or_are_counted(discreet: Discreet, tmp_path: Path) -> None:
    broken = tmp_path / "broken.csv"
    broken.write_text(Path(READINGS).read_text(encoding="utf-8") + "p01,yesterday,home\n", encoding="utf-8")
    error = error_of(discreet("learn", broken, "--out", tmp_path / "m"))
    assert "line 425" in error
    assert "'yesterday'" in error
    assert "--skip-bad" in error
    assert not (tmp_path / "m").exists()
    ran = discreet("learn", broken, "--skip-bad", "--out", tmp_path / "m")
    assert ran.code == 0
    assert "1 skipped" in ran.out
    assert "line 425" in ran.err
    assert discreet("learn", broken, "--skip-bad", "--out", tmp_path / "m", "--json").json["bad_rows"]["count"] == 1


def test_wrong_columns_name_the_option(discreet: Discreet, family: Path, tmp_path: Path) -> None:
    out = tmp_path / "m"
    assert "--user" in error_of(discreet("learn", family, "--out", out))
    assert "--time" in error_of(discreet("learn", family, "--user", "who", "--out", out))
    assert "--naive-zone" in error_of(discreet("learn", _naive(tmp_path), "--out", out))
    assert discreet("learn", _naive(tmp_path), "--naive-zone", "Europe/Paris", "--out", out).code == 0


def _naive(folder: Path) -> Path:
    path = folder / "naive.csv"
    path.write_text(Path(READINGS).read_text(encoding="utf-8").replace("+01:00", ""), encoding="utf-8")
    return path


def test_a_truncated_gzip_is_refused(discreet: Discreet, tmp_path: Path) -> None:
    whole = gzip.compress(Path(READINGS).read_bytes())
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    assert "cut.csv.gz" in error_of(discreet("learn", tmp_path / "cut.csv.gz", "--out", tmp_path / "m"))
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--slots", "7"], "86400"),
        (["--zone", "Mars/Base"], "Mars/Base"),
        (["--cut", "25:00"], "25:00"),
        (["--carry", "long"], "--carry"),
        (["--merge-below", "2"], "2"),
        (["--end", "until"], "'start'"),
    ],
)
def test_bad_values_say_what_to_give(discreet: Discreet, tmp_path: Path, options: list[str], part: str) -> None:
    assert part in error_of(discreet("learn", READINGS, "--out", tmp_path / "m", *options))
    assert not list(tmp_path.iterdir())


def test_missing_and_unwritable_files(discreet: Discreet, family: Path, tmp_path: Path) -> None:
    assert "none.csv" in error_of(discreet("learn", "none.csv", "--out", tmp_path / "m"))
    assert "folder" in error_of(discreet("learn", READINGS, "--out", tmp_path / "none" / "m"))
    (tmp_path / "file").write_text("here first")
    before = sorted(tmp_path.iterdir())
    error_of(discreet("learn", READINGS, "--out", tmp_path / "file" / "m"))
    assert "2 people" in error_of(discreet("learn", family, *FAMILY, "--out", tmp_path / "file"))
    error_of(discreet("learn", family, *FAMILY, "--out", tmp_path / "file" / "m"))
    error_of(discreet("learn", tmp_path, "--out", tmp_path / "m"))
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "file").read_text() == "here first"


def test_progress_is_shown_on_a_terminal_only(
    discreet: Discreet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert discreet("learn", READINGS, "--zone", "Europe/Paris", "--out", tmp_path / "m").err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    ran = discreet("learn", READINGS, "--out", tmp_path / "m", "--json")
    assert "reading readings.csv" in ran.err
    assert ran.json["rows"] == 423


def test_a_folder_takes_one_person_too(discreet: Discreet, tmp_path: Path) -> None:
    assert discreet("learn", READINGS, "--out", tmp_path).code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["p01.model"]


def test_few_days_hold_nothing_out(discreet: Discreet, tmp_path: Path) -> None:
    short = tmp_path / "short.csv"
    short.write_text(
        "".join(Path(READINGS).read_text(encoding="utf-8").splitlines(keepends=True)[:8]), encoding="utf-8"
    )
    ran = discreet("learn", short, *PARIS, "--out", tmp_path / "m")
    assert ran.code == 0
    assert "too few days" in ran.out
    assert (
        discreet("learn", short, *PARIS, "--out", tmp_path / "m", "--json").json["people"][0]["held_out_impossible"]
        is None
    )


def routine_of(path: Path) -> Routine:
    found = load(path)
    assert isinstance(found, Routine)
    return found


def test_a_routine_is_total_and_has_every_secret(discreet: Discreet, tmp_path: Path) -> None:
    out = tmp_path / "p01.model"
    ran = discreet("learn", READINGS, *PARIS, "--secrets", POLICY, "--keep", "casino", "--out", out)
    assert ran.code == 0
    routine = routine_of(out)
    assert routine.kinds == ("weekday", "weekend")
    assert routine.clock == Clock(48, "Europe/Paris")
    assert {"casino", "hospital", "home", "other", "unknown"} <= set(routine.contexts)
    assert all((routine.day(kind).transitions > 0).all() for kind in routine.kinds)
    assert "held impossible       0 % of the steps" in ran.out
    (casino,) = (line for line in ran.out.splitlines() if line.startswith("casino"))
    assert casino.split()[1:] == ["0", "%", "0"]


def test_the_report_tells_the_week_and_what_is_seldom(
    discreet: Discreet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    chart = tmp_path / "week.png"
    ran = discreet("learn", READINGS, *PARIS, "--keep", "hospital", "--out", tmp_path / "m", "--chart", chart)
    assert ran.code == 0
    assert "hospital, on 2 days, last on 2026-02-05" in ran.out
    (home,) = (line for line in ran.out.splitlines() if line.startswith("home ") and "█" in line)
    assert home.split()[1:4] == ["70", "%", "42"]
    assert home.split()[4].startswith("███████"), "nights are at home"
    assert max(map(len, ran.out.split("\n\n")[1].splitlines())) <= 80
    assert chart.read_bytes().startswith(b"\x89PNG")
    told = discreet("learn", READINGS, *PARIS, "--keep", "hospital", "--out", tmp_path / "m", "--json").json["people"][
        0
    ]
    assert told["seldom"] == ["hospital", "union office", "pharmacy"]
    assert f"guessed by the clock  {100 * told['guessed_by_clock']:.0f} %" in ran.out
    assert 0.5 < told["guessed_by_clock"] < told["guessed_by_step"] < 1


def test_a_narrow_terminal_gets_fewer_bars_or_none(
    discreet: Discreet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for columns in (30, 46, 60):
        monkeypatch.setenv("COLUMNS", str(columns))
        ran = discreet("learn", READINGS, *PARIS, "--out", tmp_path / "m")
        lines = ran.out.split("\n\n")[1].splitlines()
        assert max(map(len, lines)) <= columns
        assert any("█" in line for line in lines) == (columns > 30)


def test_a_routine_of_days_alike_with_a_floor_of_its_own(discreet: Discreet, tmp_path: Path) -> None:
    out = tmp_path / "m"
    assert discreet("learn", READINGS, "--alike", "--floor", 0.01, "--out", out).code == 0
    routine = routine_of(out)
    assert routine.kinds == ("day",)
    assert routine.learned is not None
    assert routine.learned.floor == 0.01
    assert "floor" in error_of(discreet("learn", READINGS, "--floor", 2, "--out", tmp_path / "none"))
    assert "--floor" in error_of(
        discreet("learn", READINGS, "--day-by-day", "--floor", 0.1, "--out", tmp_path / "none")
    )


def test_an_update_equals_learning_all_days_at_once(discreet: Discreet, tmp_path: Path) -> None:
    lines = Path(READINGS).read_text(encoding="utf-8").splitlines(keepends=True)
    dates = sorted({line.split(",")[1][:10] for line in lines[1:]})
    early = tmp_path / "early.csv"
    early.write_text("".join([lines[0], *(line for line in lines[1:] if line.split(",")[1][:10] < dates[30])]))
    some, more, whole = (tmp_path / name for name in ("some", "more", "whole"))
    rules = ["--merge-below", 0, "--carry", 0, "--keep", "casino"]
    assert discreet("learn", early, *PARIS, *rules, "--out", some).code == 0
    ran = discreet(
        "learn", READINGS, "--update", some, "--merge-below", 0, "--carry", 0, "--keep", "casino", "--out", more
    )
    assert ran.code == 0
    assert "days, " in ran.out
    assert "30 days up to" in ran.err
    assert "learned before" in ran.err
    assert discreet("learn", READINGS, *PARIS, *rules, "--out", whole).code == 0
    assert routine_of(more).fingerprint == routine_of(whole).fingerprint
    assert routine_of(more).fingerprint != routine_of(some).fingerprint
    assert "all 42 days were learned before" in error_of(
        discreet("learn", READINGS, "--update", more, "--out", tmp_path / "none")
    )


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--slots", 24], "--slots"),
        (["--zone", "UTC"], "--zone"),
        (["--smoothing", "none"], "--smoothing"),
        (["--alike"], "--alike"),
        (["--floor", 0.1], "--floor"),
    ],
)
def test_an_update_goes_by_the_rules_of_its_routine(
    discreet: Discreet, tmp_path: Path, options: list[object], part: str
) -> None:
    out = tmp_path / "m"
    assert discreet("learn", READINGS, *PARIS, "--out", out).code == 0
    error = error_of(discreet("learn", READINGS, "--update", out, "--out", out, *options))
    assert f"leave {part}" in error.replace("--weekparts or ", "")


def test_only_routines_are_updated(discreet: Discreet, models: Path, tmp_path: Path) -> None:
    error = error_of(discreet("learn", READINGS, "--update", models / "p01.model", "--out", tmp_path / "m"))
    assert "is no routine" in error
    assert "none.model" in error_of(discreet("learn", READINGS, "--update", "none.model", "--out", tmp_path / "m"))
    assert not list(tmp_path.iterdir())


def test_a_routine_is_what_the_other_commands_take(discreet: Discreet, tmp_path: Path) -> None:
    out = tmp_path / "m"
    assert discreet("learn", READINGS, *PARIS, "--slots", 12, "--secrets", POLICY, "--out", out).code == 0
    given = ["--model", out, "--policy", POLICY, "--mechanism", "adaptive"]
    for words in (["audit", "--budget", 10], ["evaluate", READINGS], ["release", READINGS]):
        ran = discreet(*words, *given)
        assert (ran.code, ran.err) == (0, "")


def test_calibrated_habits_are_for_routines(discreet: Discreet, tmp_path: Path) -> None:
    from discreet.models.routine.routine import Routine
    from discreet.models.store import load

    discreet("learn", READINGS, *PARIS, "--smoothing", "calibrated", "--out", tmp_path / "model")
    learned = load(tmp_path / "model")
    assert isinstance(learned, Routine)
    assert learned.learned is not None
    assert learned.learned.smoothing == "calibrated"
    refused = discreet("learn", READINGS, "--day-by-day", "--smoothing", "calibrated", "--out", tmp_path / "no")
    assert refused.code == 2
    assert "--smoothing calibrated is for routines" in error_of(refused)


def test_observers_are_kept_with_the_routine_and_the_audit_says_so(discreet: Discreet, tmp_path: Path) -> None:
    out = tmp_path / "p01.model"
    ran = discreet("learn", READINGS, *PARIS, "--secrets", POLICY, "--observers", 3, "--out", out)
    assert ran.code == 0
    assert "With 3 observers who may have learned the habits elsewhere" in ran.out
    routine = load(out)
    assert isinstance(routine, Routine)
    assert len(routine.observers) == 3
    asked = ["audit", "--model", out, "--policy", POLICY, "--mechanism", "adaptive", "--budget", 5]
    assert "Before 3 observers who may have learned the habits elsewhere" in discreet(*asked).out
    found = discreet(*asked, "--json").json["observers"]
    assert [one["holds"] for one in found] == [True] * 3
    refused = discreet("learn", READINGS, *PARIS, "--day-by-day", "--observers", 2, "--out", tmp_path / "day.model")
    assert refused.code == 2
    assert "--observers are for routines" in error_of(refused)


@pytest.mark.slow("learns twice, and releases six weeks")
def test_habits_over_two_contexts_go_through_the_commands(discreet: Discreet, tmp_path: Path) -> None:
    out, chosen = tmp_path / "two.model", tmp_path / "chosen.model"
    ran = discreet("learn", READINGS, *PARIS, "--slots", 8, "--keep", "hospital", "--order", 2, "--out", out)
    assert ran.code == 0
    assert isinstance(load(out), PairRoutine)
    policy = tmp_path / "policy.toml"
    policy.write_text('delta = 0.1\n[[secret]]\ncontexts = ["hospital"]\n')
    found = discreet("evaluate", READINGS, "--model", out, "--policy", policy, "--json").json
    assert (found["without_end"], found["breached"]) == (True, False)
    assert "over one context" in error_of(discreet("learn", READINGS, "--update", out, "--out", out))
    asked = discreet("learn", READINGS, *PARIS, "--slots", 8, "--order", "auto", "--out", chosen)
    assert "of a step of the last 8 days, the log-likelihood is" in asked.err
    assert isinstance(load(chosen), Routine | PairRoutine)
