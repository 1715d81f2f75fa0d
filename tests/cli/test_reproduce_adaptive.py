from __future__ import annotations

from pathlib import Path

import pytest

from discreet_experiments.shared.positions import LOS_ANGELES
from tests.cli.conftest import Discreet, error_of
from tests.cli.test_reproduce import rows_of
from tests.experiments.recorded import made_up


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up(tmp_path_factory.mktemp("data"), count=2, days=16)


def options(folder: Path, out: Path, *more: object) -> list[object]:
    quick = ["--least-days", 16, "--slots", 12, "--days", 1, "--processes", 1]
    return ["reproduce", "adaptive", "--data", folder, "--out", out, *quick, *more]


def test_on_people(discreet: Discreet, folder: Path, tmp_path: Path) -> None:
    ran = discreet(*options(folder, tmp_path, "--part", "people"))
    assert ran.code == 0, ran.err
    assert "suppress is below Hybrid for 0 people" in ran.out
    assert "s for both systems and everybody" in ran.out
    expected = {row["system"]: float(row["expected utility"]) for row in rows_of(tmp_path / "expected.csv")}
    assert expected["Adaptive suppress"] >= expected["Hybrid"] - 1e-9
    halves = rows_of(tmp_path / "second_halves.csv")
    assert [(row["system"], row["smoothing"]) for row in halves] == [
        (f"Adaptive {name}", smoothing) for smoothing in ("none", "auto") for name in ("suppress", "deceive")
    ]
    assert {row["pairs over"] for row in halves} == {"0"}
    assert all(int(row["off model"]) >= 0 for row in halves)
    people = rows_of(tmp_path / "second_halves_people.csv")
    assert len(people) == 2 * 2 * 2
    assert (tmp_path / "expected.png").is_file()
    assert (tmp_path / "second_halves.png").is_file()


@pytest.mark.parametrize(("more", "told"), [(["--part", "rest"], "--part"), (["--no-signal", "x"], "--no-signal")])
def test_bad_options(discreet: Discreet, folder: Path, tmp_path: Path, more: list[object], told: str) -> None:
    assert told in error_of(discreet(*options(folder, tmp_path, *more)))


def test_a_missing_data_set_is_named(discreet: Discreet, tmp_path: Path) -> None:
    folder = made_up(tmp_path / "part", count=1, days=16)
    (folder / LOS_ANGELES.file).unlink()
    assert LOS_ANGELES.file in error_of(discreet(*options(folder, tmp_path / "out", "--part", "picture")))
