from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from discreet.charts import canvas
from discreet_experiments.maskit import person
from discreet_experiments.shared.people import MEALS, READINGS
from tests.cli.conftest import Discreet, error_of
from tests.experiments.recorded import made_up

FILES = ("figure4", "figure5", "figure6", "figure7", "figure8", "table1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up(tmp_path_factory.mktemp("data"), count=3, days=16)


@pytest.fixture
def short_algpr(monkeypatch: pytest.MonkeyPatch) -> None:
    """ALGPR stops soon: it takes most of the time, and what is looked at here is what is written of it."""
    monkeypatch.setattr(person, "BUDGET", 50)


def options(folder: Path, out: Path, *more: object) -> list[object]:
    quick = ["--least-days", 16, "--level", "tower", "--slots", 24, "--search", "mondrian", "--merge-below", 0]
    return ["reproduce", "maskit", "--data", folder, "--out", out, *quick, *more]


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.usefixtures("short_algpr")
def test_everything_is_printed_and_written(discreet: Discreet, folder: Path, tmp_path: Path) -> None:
    ran = discreet(*options(folder, tmp_path / "deep" / "out", "--processes", 1, "--people", 2))
    assert ran.code == 0, ran.err
    assert ran.err == ""
    for words in ("Figure 4", "Figure 5", "Figure 6", "Figure 7", "Figure 8", "Table 1", "smoothing none", "15 min"):
        assert words in ran.out
    out = tmp_path / "deep" / "out"
    expected = {f"{name}{ending}" for name in FILES for ending in (".csv", "_people.csv", ".png")}
    assert {path.name for path in out.iterdir()} == expected
    for name in FILES:
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert {row["smoothing"] for row in rows_of(out / f"{name}.csv")} == {"none"}
    four = {row["system"]: row for row in rows_of(out / "figure4.csv")}
    shares = ("secret shown", "other shown", "secret silent", "other silent")
    for row in four.values():
        assert sum(float(row[share]) for share in shares) == pytest.approx(1)
    assert [four[name]["pairs over"] for name in ("Simulatable", "Probabilistic", "Hybrid")] == ["0", "0", "0"]
    assert four["Hybrid"]["paper"] == "0.758"


@pytest.mark.usefixtures("short_algpr")
def test_no_label_and_no_name_of_the_data_is_written(discreet: Discreet, folder: Path, tmp_path: Path) -> None:
    ran = discreet(*options(folder, tmp_path, "--processes", 1, "--figure", 4))
    texts = [ran.out, *(path.read_text() for path in tmp_path.glob("*.csv"))]
    assert not any(label in text for text in texts for label in ("c00", "2026-", "unknown"))
    assert {row["person"] for row in rows_of(tmp_path / "figure4_people.csv")} == {"1", "2", "3"}


def test_results_do_not_depend_on_processes(discreet: Discreet, folder: Path, tmp_path: Path) -> None:
    for processes in (1, 2):
        out = tmp_path / str(processes)
        assert discreet(*options(folder, out, "--figure", 4, "--people", 2, "--processes", processes)).code == 0
    for name in ("figure4.csv", "figure4_people.csv", "figure4.png"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


@pytest.mark.usefixtures("short_algpr")
def test_json_and_fewer_people(discreet: Discreet, folder: Path, tmp_path: Path) -> None:
    ran = discreet(
        *options(folder, tmp_path, "--json", "--figure", 5, "--people", 2, "--processes", 1, "--sensitive", "home")
    )
    assert ran.code == 0, ran.err
    document = ran.json
    assert set(document) == {"paper", "setting", "seconds", "figures"}
    assert document["setting"]["sensitive"] == "home"
    (five,) = document["figures"]
    assert set(five) == {"name", "title", "about", "remarks", "rows", "files"}
    assert five["about"].startswith("2 people, towers, 24 slots, smoothing none, secret: home")
    assert all(Path(file).is_file() for file in five["files"])


@pytest.mark.usefixtures("short_algpr")
def test_the_study_names_each_choice(discreet: Discreet, folder: Path, tmp_path: Path) -> None:
    ran = discreet(*options(folder, tmp_path, "--study", "--people", 1, "--processes", 1))
    assert ran.code == 0, ran.err
    rows = rows_of(tmp_path / "study.csv")
    assert rows[0]["choice"] == "as given"
    choices = {row["choice"] for row in rows}
    assert choices >= {
        "level",
        "slots",
        "carried",
        "merged below",
        "day cut at",
        "smoothing",
        "learned from",
        "secrets",
        "delta",
    }
    assert {row["smoothing"] for row in rows} == {"none", "auto"}
    assert (tmp_path / "study.png").is_file()


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--slots", 36], "36 slots"),
        (["--people", 0], "0 people"),
        (["--processes", 0], "0 processes"),
        (["--secrets", 0], "0 secrets"),
        (["--delta", 2], "delta is 2"),
        (["--training", 0], "learn from"),
        (["--carry", "long"], "--carry"),
        (["--least-days", 900], "nobody has 900 days"),
        (["--figure", 9], "--figure"),
    ],
)
def test_bad_options(discreet: Discreet, folder: Path, tmp_path: Path, more: list[object], told: str) -> None:
    assert told in error_of(discreet(*options(folder, tmp_path, *more)))


def test_missing_folders_and_files(discreet: Discreet, folder: Path, tmp_path: Path) -> None:
    missing = tmp_path / "none"
    told = error_of(discreet("reproduce", "maskit", "--data", missing, "--out", tmp_path / "out"))
    assert f"{missing}: there is no such folder" in told
    assert READINGS in error_of(
        discreet("reproduce", "maskit", "--data", _without_readings(tmp_path), "--out", tmp_path)
    )
    assert MEALS in error_of(discreet("reproduce", "maskit", "--data", tmp_path, "--out", tmp_path, "--figure", 8))
    (tmp_path / "file").write_text("")
    assert "cannot be made" in error_of(discreet(*options(folder, tmp_path / "file" / "out")))


def _without_readings(tmp_path: Path) -> Path:
    folder = made_up(tmp_path / "part", count=1, days=2)
    (folder / READINGS).unlink()
    return folder


@pytest.mark.usefixtures("short_algpr")
def test_without_matplotlib_there_are_tables_and_a_word(
    discreet: Discreet, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(canvas, "available", lambda: False)
    ran = discreet(*options(folder, tmp_path, "--figure", 4, "--processes", 1))
    assert ran.code == 0
    assert "discreet[plots]" in ran.err
    assert not list(tmp_path.glob("*.png"))
    assert (tmp_path / "figure4.csv").is_file()


def test_interrupted_it_leaves_with_130_and_nobody_behind(folder: Path, tmp_path: Path) -> None:
    arguments = [str(option) for option in options(folder, tmp_path / "out", "--processes", 2, "--slots", 96)]
    ran = subprocess.Popen(
        [sys.executable, "-c", "from discreet.cli import main; main()", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 300
    while not (tmp_path / "out").is_dir() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    os.killpg(ran.pid, signal.SIGINT)  # as a terminal does
    _, err = ran.communicate(timeout=300)  # ends when no process is left that could still write
    assert ran.returncode == 130
    assert "Traceback" not in err
