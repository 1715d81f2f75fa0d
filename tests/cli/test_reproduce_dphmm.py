from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Discreet, error_of
from tests.cli.test_reproduce import rows_of
from tests.experiments.dphmm.test_dphmm import made_up_walks


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up_walks(tmp_path_factory.mktemp("data"))


def options(folder: Path, out: Path, *more: object) -> list[object]:
    quick = ["--sequences", 2, "--slots", 10, "--processes", 1]
    return ["reproduce", "dphmm", "--data", folder, "--out", out, *quick, *more]


def test_a_figure_is_printed_and_written(discreet: Discreet, folder: Path, tmp_path: Path) -> None:
    ran = discreet(*options(folder, tmp_path, "--figure", 11))
    assert ran.code == 0, ran.err
    assert "Figure 11" in ran.out
    assert {path.name for path in tmp_path.iterdir()} == {"figure11.csv", "figure11_people.csv", "figure11.png"}
    rows = rows_of(tmp_path / "figure11.csv")
    assert {(row["data"], row["system"]) for row in rows} == {
        (data, system) for data in ("GeoLife", "Gowalla") for system in ("G_util", "G_trs", "DPLS")
    }


def test_no_place_is_written(discreet: Discreet, folder: Path, tmp_path: Path) -> None:
    ran = discreet(*options(folder, tmp_path, "--dataset", "gowalla", "--figure", 12))
    texts = [ran.out, *(path.read_text() for path in tmp_path.glob("*.csv"))]
    assert not any(place in text for text in texts for place in ("e0n0", "40.0", "116.", "13000"))


def test_json(discreet: Discreet, folder: Path, tmp_path: Path) -> None:
    ran = discreet(*options(folder, tmp_path, "--json", "--figure", "map", "--dataset", "geolife"))
    assert ran.code == 0, ran.err
    assert ran.json["paper"] == "dphmm"
    assert ran.json["plan"]["slots"] == 10
    (drawn,) = ran.json["figures"]
    assert len(drawn["rows"]) == 10


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--epsilon", 0], "epsilon"),
        (["--figure", 9], "--figure"),
        (["--slots", 500], "--slots"),
        (["--sequences", 0], "0 "),
    ],
)
def test_bad_options(discreet: Discreet, folder: Path, tmp_path: Path, more: list[object], told: str) -> None:
    assert told in error_of(discreet(*options(folder, tmp_path, *more)))
