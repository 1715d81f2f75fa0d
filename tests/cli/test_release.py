from __future__ import annotations

import csv
import io
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from discreet.data import read_releases
from discreet.models import store
from discreet.models.chain.markov import MarkovChain
from discreet.outputs import Released, Suppressed
from tests.cli.conftest import POLICY, READINGS, Discreet, error_of

COMMAND = [sys.executable, "-c", "from discreet.cli import main; main()"]


def test_a_file_comes_out_as_csv(discreet: Discreet, given: list[str]) -> None:
    ran = discreet("release", *given, READINGS)
    assert ran.code == 0
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert len(rows) == 42 * 48
    assert {row["person"] for row in rows} == {"p01"}
    assert "hospital" not in ran.out


def test_out_is_written_in_the_format_of_its_ending(discreet: Discreet, given: list[str], tmp_path: Path) -> None:
    out = tmp_path / "releases.jsonl"
    ran = discreet("release", *given, READINGS, "--out", out)
    assert ran.code == 0
    rows = list(read_releases(out))
    assert len(rows) == 42 * 48
    assert any(isinstance(row.output, Suppressed) for row in rows)
    document = discreet("release", *given, READINGS, "--out", out, "--json").json
    assert document == {"mechanism": "mask-sensitive", "days": 42, "releases": 2016, "out": str(out)}


def test_standard_output_is_what_out_writes(discreet: Discreet, given: list[str], tmp_path: Path) -> None:
    """A lone carriage return included, which csv does not quote by itself before Python 3.13."""
    data = tmp_path / "data.csv"
    data.write_bytes(b'user,timestamp,context\n"p\r1",2026-03-02T08:00:00+01:00,work\n')
    shown = discreet("release", *given, data).out
    assert discreet("release", *given, data, "--out", tmp_path / "out.csv").code == 0
    assert shown.encode() == (tmp_path / "out.csv").read_bytes()
    assert '\n"p\r1","2026-03-02","0",' in shown
    objects = discreet("release", *given, data, "--json").json["releases"]
    assert discreet("release", *given, data, "--out", tmp_path / "out.jsonl").code == 0
    assert objects == [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]


def test_json_of_a_file_is_one_document(discreet: Discreet, given: list[str]) -> None:
    document = discreet("release", *given, READINGS, "--json").json
    assert set(document) == {"mechanism", "days", "releases"}
    assert {"person", "date", "slot", "start", "kind"} <= set(document["releases"][0])


def test_off_model_readings_are_told_to_the_person_only(
    discreet: Discreet, given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("home\n\n"))  # the model has never been without a reading
    ran = discreet("release", *given, "--carry", "0")
    assert ran.code == 0
    assert ran.out == "\n\n"
    assert "off model: 1 " in ran.err


def test_a_stream_carries_readings_as_a_file_does(
    discreet: Discreet, given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("home\n" + "\n" * 9))
    ran = discreet("release", *given, "--carry", "4h")  # 8 slots of half an hour: the last of these has no reading
    assert ran.code == 0
    assert "off model: 1 " in ran.err


def test_lines_become_slots_and_days(discreet: Discreet, given: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("work\n" * 49))
    ran = discreet("release", *given, "-", "--date", "2026-03-02", "--json")
    outputs = [json.loads(line) for line in ran.out.splitlines()]
    assert [output["slot"] for output in outputs] == [*range(48), 0]
    assert [outputs[0]["date"], outputs[-1]["date"]] == ["2026-03-02", "2026-03-03"]
    assert outputs[-1]["start"] == "2026-03-03T00:00:00+01:00"
    assert {output["context"] for output in outputs} == {"work"}


def test_labels_that_were_merged_are_other(
    discreet: Discreet, given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("planetarium\n"))
    assert discreet("release", *given).out == "other\n"


def test_a_week_model_takes_the_part_of_the_date(discreet: Discreet, models: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    week = ["--model", models / "week.model", "--policy", POLICY, "--mechanism", "NoMask"]
    assert discreet("release", *week, READINGS, "--out", out).code == 0
    assert all(isinstance(row.output, Released) for row in read_releases(out))


@contextmanager
def piped(arguments: list[str]) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*COMMAND, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def answered(process: subprocess.Popen[str], line: str) -> str:
    """The answer to one line, before another is sent."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()
    assert select.select([process.stdout], [], [], 60)[0], "no answer"
    return process.stdout.readline()


def test_each_line_is_answered_before_the_next_and_ctrl_c_is_quiet(given: list[str]) -> None:
    with piped(["release", *given]) as process:
        for slot in range(15):
            assert answered(process, "home") == ("\n" if slot < 12 else "home\n")  # home is secret until six
        assert answered(process, "hospital") == "\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=600)
        assert process.returncode == 130
        assert (out, err) == ("", "")


def test_a_closed_pipe_is_no_error(given: list[str]) -> None:
    with piped(["release", *given, READINGS]) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("person,")
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=600) == 141


def gap(readings: Path, without: set[str]) -> Path:
    """The example's readings but for those dates."""
    lines = Path(READINGS).read_text().splitlines(keepends=True)
    readings.write_text("".join(line for line in lines if not any(date in line for date in without)))
    return readings


def test_a_date_without_readings_is_a_day_like_any_other(discreet: Discreet, given: list[str], tmp_path: Path) -> None:
    """Rows that are missing would tell that the phone was off."""
    ran = discreet("release", *given, gap(tmp_path / "gap.csv", {"2026-01-20", "2026-01-21"}))
    assert ran.code == 0
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert len(rows) == 42 * 48
    assert [row["slot"] for row in rows] == [str(slot) for slot in range(48)] * 42
    assert len({row["date"] for row in rows}) == 42
    assert {row["kind"] for row in rows if row["date"] == "2026-01-21"} == {"suppressed"}  # nothing is known of it
    assert "off model" in ran.err


def test_a_date_without_a_model_is_refused_before_anything_is_written(
    discreet: Discreet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weekend = {f"2026-01-{number:02d}" for number in (10, 11)}
    week = gap(tmp_path / "week.csv", weekend | {f"2026-02-{number:02d}" for number in range(1, 29)})
    lines = [line for line in week.read_text().splitlines() if line < "p01,2026-01-17" or line.startswith("user")]
    week.write_text("\n".join(lines) + "\n")
    model = tmp_path / "weekdays.model"
    days = ["--day-by-day", "--weekparts", "--zone", "Europe/Paris", "--keep", "hospital"]
    learned = discreet("learn", week, *days, "--out", model)
    assert learned.code == 0, learned.err
    (tmp_path / "policy.toml").write_text("delta = 0.1\nsecret = []\n")
    release = ["release", "--model", model, "--policy", tmp_path / "policy.toml", "--mechanism", "no-mask"]
    assert "2026-01-10 is a weekend" in error_of(discreet(*release, week))
    monkeypatch.setattr("sys.stdin", io.StringIO("home\n"))
    assert "2026-01-10 is a weekend" in error_of(discreet(*release, "--date", "2026-01-10"))


BROKEN = ["a\nb", "a\n", "a\rb", "a\u2028b"]


def model_file(path: Path, *contexts: str) -> Path:
    n = len(contexts)
    store.save(path, MarkovChain.homogeneous(contexts, np.full(n, 1 / n), np.full((n, n), 1 / n), 2))
    path.with_suffix(".toml").write_text("delta = 0.1\nsecret = []\n")
    return path


def release_of(model: Path, mechanism: object = "no-mask") -> list[object]:
    return ["release", "--model", model, "--policy", model.with_suffix(".toml"), "--mechanism", mechanism]


@pytest.mark.parametrize("label", BROKEN)
def test_a_slot_is_a_line(discreet: Discreet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, label: str) -> None:
    model = model_file(tmp_path / "broken.model", "home", label)
    monkeypatch.setattr("sys.stdin", io.StringIO("home\n"))
    refused = error_of(discreet(*release_of(model)))
    assert f"label {label!r} has a line break" in refused
    assert "--json, or rename" in refused
    assert sys.stdin.read() == "home\n"  # nothing was read, nothing released
    monkeypatch.setattr("sys.stdin", io.StringIO("home\n"))
    assert discreet(*release_of(model), "--json").json["context"] == "home"


def test_nodes_of_a_hierarchy_are_lines_too(
    discreet: Discreet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, spec = model_file(tmp_path / "tree.model", "home", "work"), tmp_path / "fdh.toml"
    spec.write_text("[mechanism]\nname = 'fdh'\n[mechanism.hierarchy]\n\"any\\nwhere\" = ['home', 'work']\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("home\n"))
    assert r"label 'any\nwhere' has a line break" in error_of(discreet(*release_of(model, spec)))


@pytest.mark.parametrize("date", ["9999-12-31", "0001-01-01"])
def test_dates_beyond_time_zones(
    discreet: Discreet, given: list[str], monkeypatch: pytest.MonkeyPatch, date: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("home\n" * 49))
    assert "2099-12-31" in error_of(discreet("release", *given, "--date", date))


def test_bad_input(discreet: Discreet, given: list[str], models: Path, family: Path, tmp_path: Path) -> None:
    columns = ["--user", "who", "--time", "at", "--context", "place"]
    assert "--person" in error_of(discreet("release", *given, family, *columns))
    assert "--out" in error_of(discreet("release", *given, "--out", tmp_path / "x.csv"))
    assert "ending" in error_of(discreet("release", *given, READINGS, "--out", tmp_path / "x.doc"))
    assert "YYYY-MM-DD" in error_of(discreet("release", *given, "--date", "tomorrow"))
    error_of(discreet("release", *given, READINGS, "--out", tmp_path / "none" / "x.csv"))
    (tmp_path / "folder.csv").mkdir()
    error_of(discreet("release", *given, READINGS, "--out", tmp_path / "folder.csv"))
    assert sorted(os.listdir(tmp_path)) == ["family.csv", "folder.csv"]
    assert "folder" in error_of(discreet("audit", "--model", models, *given[2:]))
    (tmp_path / "not.model").write_text("no model")
    assert "not.model" in error_of(discreet("release", "--model", tmp_path / "not.model", *given[2:], READINGS))


def test_a_routine_is_released_without_end(discreet: Discreet, endless: list[str]) -> None:
    ran = discreet("release", READINGS, *endless, "--mechanism", "adaptive")
    assert (ran.code, ran.err) == (0, "")
    assert len(ran.out.splitlines()) == 1 + 42 * 48


def test_of_a_routine_others_start_anew_and_stderr_says_so(discreet: Discreet, endless: list[str]) -> None:
    ran = discreet("release", READINGS, *endless, "--mechanism", "no-mask")
    assert ran.code == 0
    assert ran.err == "discreet: no-mask starts anew each day: what it promises ends at midnight\n"
    assert "midnight" not in ran.out


def test_capp_goes_on_without_end_where_days_are_alike(discreet: Discreet, endless: list[str], tmp_path: Path) -> None:
    """Its time is cyclic, so a routine of two kinds of day is released anew each day, and one of one kind is not."""
    apart = discreet("release", READINGS, *endless, "--mechanism", "capp")
    assert apart.code == 0
    assert "capp starts anew each day" in apart.err
    model = tmp_path / "alike.model"
    learned = ["--zone", "Europe/Paris", "--keep", "hospital", "--slots", "12", "--alike", "--out", model]
    assert discreet("learn", READINGS, *learned).code == 0
    alike = discreet("release", READINGS, "--model", model, *endless[2:], "--mechanism", "capp")
    assert alike.code == 0
    assert "anew each day" not in alike.err


def test_a_pipe_goes_on_over_midnight(discreet: Discreet, endless: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("home\n" * 50))
    ran = discreet("release", *endless, "--mechanism", "adaptive", "--date", "2026-03-06", "--json")
    assert ran.code == 0
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert [(row["date"], row["slot"]) for row in rows[47:49]] == [("2026-03-06", 47), ("2026-03-07", 0)]


# --- several people in one go


@pytest.fixture
def learned(discreet: Discreet, family: Path, tmp_path: Path) -> Path:
    """A folder with the model of each of two people."""
    columns = ["--user", "who", "--time", "at", "--context", "place"]
    ran = discreet("learn", family, *columns, "--keep", "hospital", "--accept-model", "--out", tmp_path / "models")
    assert ran.code == 0, ran.err
    return tmp_path / "models"


def test_a_folder_of_models_releases_each_by_their_own(discreet: Discreet, family: Path, learned: Path) -> None:
    using = ["--policy", POLICY, "--mechanism", "mask-sensitive"]  # nothing is drawn, so that runs can be compared
    together = discreet("release", "--model", learned, *using, family, "--json")
    assert together.code == 0, together.err
    assert together.json["people"] == 2
    apart = []
    for file in sorted(learned.iterdir()):
        one = discreet("release", "--model", file, *using, family, "--person", file.stem, "--json").json
        assert {row["person"] for row in one["releases"]} == {file.stem}
        apart += one["releases"]
    assert together.json["releases"] == apart
    assert together.json["days"] * 48 == len(apart)


def test_a_folder_writes_one_file(discreet: Discreet, family: Path, learned: Path, tmp_path: Path) -> None:
    ran = discreet("release", "--model", learned, "--policy", POLICY, family, "--out", tmp_path / "shown.csv")
    assert (ran.code, ran.out.startswith("960 outputs of 20 days of 2 people, by adaptive")) == (0, True)
    lines = (tmp_path / "shown.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + 2 * 10 * 48
    assert {line.split(",")[0] for line in lines[1:]} == {file.stem for file in learned.iterdir()}


def test_people_without_a_model_are_named(discreet: Discreet, family: Path, learned: Path) -> None:
    first, second = sorted(learned.iterdir())
    second.unlink()
    refused = discreet("release", "--model", learned, "--policy", POLICY, family)
    assert (refused.code, refused.out) == (2, "")
    said = refused.err.splitlines()[-1]
    assert f"1 of 2 people have no model in {learned} ({second.stem})" in said
    only = discreet("release", "--model", learned, "--policy", POLICY, family, "--person", first.stem, "--json")
    assert (only.code, only.json["people"]) == (0, 1)
    first.unlink()
    assert "holds no .model file" in error_of(discreet("release", "--model", learned, "--policy", POLICY, family))


def test_models_without_readings_are_counted(discreet: Discreet, family: Path, learned: Path) -> None:
    name = sorted(learned.iterdir())[0].stem
    rows = family.read_text(encoding="utf-8").splitlines()
    family.write_text("\n".join([rows[0], *(row for row in rows[1:] if row.startswith(name))]), encoding="utf-8")
    ran = discreet("release", "--model", learned, "--policy", POLICY, family, "--json")
    assert (ran.code, ran.json["people"]) == (0, 1)
    assert "1 of 2 models have no readings" in ran.err


def test_a_folder_is_not_for_standard_input(discreet: Discreet, learned: Path, family: Path) -> None:
    assert "standard input is one person's" in error_of(discreet("release", "--model", learned, "--policy", POLICY))
    dated = discreet("release", "--model", learned, "--policy", POLICY, family, "--date", "2026-01-01")
    assert "--date is for standard input" in error_of(dated)
