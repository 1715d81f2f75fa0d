from __future__ import annotations

import csv
from pathlib import Path

import pytest

from discreet.charts import canvas
from discreet_experiments.shared.people import CHECK_INS, HIERARCHY
from tests.cli.conftest import Discreet, error_of
from tests.experiments.recorded import made_up

FILES = ("table1", "figure4", "figure5", "figure6", "layers")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up(tmp_path_factory.mktemp("data"), count=2, days=16)


def options(folder: Path, out: Path, *more: object) -> list[object]:
    quick = ["--least-days", 16, "--slots", 8, "--memory", "none", "--days", 2, "--merge-below", 0.05]
    return ["reproduce", "fdh", "--data", folder, "--out", out, *quick, *more]


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_everything_is_printed_and_written(discreet: Discreet, folder: Path, tmp_path: Path) -> None:
    ran = discreet(*options(folder, tmp_path, "--processes", 1))
    assert ran.code == 0, ran.err
    assert ran.err == ""
    for words in ("Table I", "Figure 4", "Figure 5", "Figure 6", "Layers", "12 min", "0.106 to 0.426", "75 MB"):
        assert words in ran.out
    assert "people: 2 of Reality Mining (tower > site > area > region), 2 of Foursquare" in ran.out
    expected = {f"{name}{ending}" for name in FILES for ending in (".csv", "_people.csv", ".png")}
    assert {path.name for path in tmp_path.iterdir()} == expected
    for name in FILES:
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert {row["smoothing"] for row in rows_of(tmp_path / f"{name}.csv")} == {"auto"}
    _check_layers(rows_of(tmp_path / "layers.csv"))
    _check_figure6(rows_of(tmp_path / "figure6.csv"), rows_of(tmp_path / "figure6_people.csv"))


def _check_layers(rows: list[dict[str, str]]) -> None:
    assert len(rows) == 2 * 3 * 4  # data sets, choices of secrets, systems
    for row in rows:
        shares = [row[name] for name in ("itself", "1 up", "2 up", "3 up", "root", "silent", "off model")]
        assert sum(float(share) for share in shares if share) == pytest.approx(1)
        assert (row["3 up"] == "") == (row["data"] == "Foursquare")
        assert float(row["utility"]) == pytest.approx(float(row["itself"]) + float(row["1 up"]) / 2)
        if row["system"] in ("Hybrid", "Adaptive generalize"):
            assert (row["breached"], row["pairs over"]) == ("0.0", "0")


def _check_figure6(rows: list[dict[str, str]], people: list[dict[str, str]]) -> None:
    for row in rows:
        for system in ("MaskSensitive", "Hybrid", "FDH", "Adaptive generalize"):
            own = [
                each
                for each in people
                if (each["data"], each["delta"], each["system"]) == (row["data"], row["delta"], system)
            ]
            assert len(own) == 2
            assert float(row[system]) == pytest.approx(sum(float(each["utility"]) for each in own) / 2)
            breached = sum(int(each["days breached"]) > 0 for each in own) / 2
            assert float(row[f"breached {system}"]) == breached


def test_no_label_of_the_data_is_written(discreet: Discreet, folder: Path, tmp_path: Path) -> None:
    ran = discreet(*options(folder, tmp_path, "--processes", 1, "--figure", "6"))
    texts = [ran.out, *(path.read_text() for path in tmp_path.glob("*.csv"))]
    assert not any(label in text for text in texts for label in ("c00", "site s", "k1", "2026-", "unknown", "other "))
    assert {row["person"] for row in rows_of(tmp_path / "figure6_people.csv")} == {"1", "2"}


def test_results_do_not_depend_on_processes(discreet: Discreet, folder: Path, tmp_path: Path) -> None:
    for processes in (1, 2):
        out = tmp_path / str(processes)
        assert discreet(*options(folder, out, "--figure", "6", "--processes", processes)).code == 0
    for name in ("figure6.csv", "figure6_people.csv", "figure6.png"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def test_json_one_data_set_and_its_layers(discreet: Discreet, folder: Path, tmp_path: Path) -> None:
    one = ["--dataset", "reality-mining", "--layers", "tower,area", "--delta", 0.3, "--people", 1]
    ran = discreet(*options(folder, tmp_path, "--json", "--figure", "layers", "--processes", 1, *one))
    assert ran.code == 0, ran.err
    document = ran.json
    assert set(document) == {"paper", "setting", "plan", "seconds", "figures"}
    assert document["plan"]["levels"] == ["tower", "area"]
    (layers,) = document["figures"]
    assert layers["title"] == "Layers shown at delta 0.3"
    assert "1 of Reality Mining (tower > area)" in layers["about"]
    assert "1 up" in layers["rows"][0]
    assert "2 up" not in layers["rows"][0]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--layers", "site,area"], "layers"),
        (["--people", 0], "0 people"),
        (["--days", 0], "0 days"),
        (["--merge-below", 1], "merged"),
        (["--merge-below", 0.99, "--slots", 2], "nobody"),
        (["--delta", 2], "delta is 2"),
        (["--least-days", 900], "nobody has 900 days"),
        (["--dataset", "geolife"], "--dataset"),
    ],
)
def test_bad_options(discreet: Discreet, folder: Path, tmp_path: Path, more: list[object], told: str) -> None:
    assert told in error_of(discreet(*options(folder, tmp_path, "--processes", 1, *more)))


def test_missing_files(discreet: Discreet, tmp_path: Path) -> None:
    folder = made_up(tmp_path / "data", count=1, days=4)
    quick = ["--least-days", 4, "--figure", "table1", "--processes", 1]
    (folder / CHECK_INS).write_bytes(b"user,timestamp,context,category\n1,2026-01-05T08:00:00,v1,k1\n")
    told = error_of(discreet(*options(folder, tmp_path, *quick, "--dataset", "foursquare")))
    assert "has no column 'category_l1'" in told
    (folder / CHECK_INS).unlink()
    assert CHECK_INS in error_of(discreet(*options(folder, tmp_path, *quick, "--dataset", "foursquare")))
    (folder / HIERARCHY).unlink()
    assert HIERARCHY in error_of(discreet(*options(folder, tmp_path, *quick)))


def test_without_matplotlib_there_are_tables(
    discreet: Discreet, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(canvas, "available", lambda: False)
    ran = discreet(*options(folder, tmp_path, "--figure", "table1", "--processes", 1))
    assert ran.code == 0
    assert "discreet[plots]" in ran.err
    assert {path.name for path in tmp_path.iterdir()} == {"table1.csv", "table1_people.csv"}
