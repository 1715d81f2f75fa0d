from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Discreet, error_of
from tests.cli.test_reproduce import rows_of
from tests.experiments.recorded import made_up

SYSTEMS = ("MaskSensitive", "Hybrid", "EfficientFake", "CAPP", "CAPP, Bayes", "Adaptive deceive")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up(tmp_path_factory.mktemp("data"), count=2, days=16)


def options(folder: Path, out: Path, *more: object) -> list[object]:
    quick = ["--least-days", 16, "--slots", 12, "--days", 2, "--processes", 1]
    return ["reproduce", "capp", "--data", folder, "--out", out, *quick, *more]


def test_everything_is_printed_and_written(discreet: Discreet, folder: Path, tmp_path: Path) -> None:
    ran = discreet(*options(folder, tmp_path, "--people", 1))
    assert ran.code == 0, ran.err
    assert all(f"Figure {number}" in ran.out for number in (2, 3, 4, 5))
    names = [f"figure{number}" for number in (2, 3, 4, 5)]
    expected = {f"{name}{ending}" for name in names for ending in (".csv", "_people.csv", ".png")}
    assert {path.name for path in tmp_path.iterdir()} == expected
    two = {row["system"]: row for row in rows_of(tmp_path / "figure2.csv")}
    assert tuple(two) == SYSTEMS
    for name in ("Hybrid", "Adaptive deceive"):
        assert (two[name]["people breached"], two[name]["pairs over"]) == ("0.0", "0")
    assert float(two["MaskSensitive"]["people breached"]) > 0
    assert two["CAPP"]["paper"] == "~ 1.2"
    four = rows_of(tmp_path / "figure4.csv")
    assert [(row["measure"], row["delta"]) for row in four] == [
        (measure, delta)
        for measure in ("utility", "people breached")
        for delta in ("0.05", "0.1", "0.15", "0.2", "0.25", "0.3")
    ]
    at = {(row["measure"], row["delta"]): row for row in four}
    assert at["utility", "0.1"]["CAPP"] == two["CAPP"]["utility"]  # the same people, days and draws
    assert {row["Adaptive deceive"] for row in four if row["measure"] == "people breached"} == {"0.0"}


def test_no_label_and_no_name_of_the_data_is_written(discreet: Discreet, folder: Path, tmp_path: Path) -> None:
    ran = discreet(*options(folder, tmp_path, "--figure", 2))
    texts = [ran.out, *(path.read_text() for path in tmp_path.glob("*.csv"))]
    assert not any(label in text for text in texts for label in ("c00", "2026-", "unknown"))
    assert {row["person"] for row in rows_of(tmp_path / "figure2_people.csv")} == {"1", "2"}


def test_json(discreet: Discreet, folder: Path, tmp_path: Path) -> None:
    ran = discreet(*options(folder, tmp_path, "--json", "--figure", 3, "--people", 1))
    assert ran.code == 0, ran.err
    assert ran.json["paper"] == "capp"
    assert ran.json["setting"]["days"] == 2
    (three,) = ran.json["figures"]
    assert three["about"].startswith("1 people, areas, 12 slots, smoothing none, secret: 3 places at random")


@pytest.mark.parametrize(
    ("more", "told"), [(["--days", 0], "0 days"), (["--figure", 6], "--figure"), (["--least-days", 900], "900 days")]
)
def test_bad_options(discreet: Discreet, folder: Path, tmp_path: Path, more: list[object], told: str) -> None:
    assert told in error_of(discreet(*options(folder, tmp_path, *more)))
