from __future__ import annotations

import csv
import datetime as dt
import gzip
from pathlib import Path

import pytest

from discreet.models.topics.simulate import topic_model, trajectories
from discreet_experiments.shared.people import CHECK_INS, MEALS
from tests.cli.conftest import Discreet, error_of
from tests.cli.test_reproduce import rows_of

NAMES = ("table4", *(f"figure{number}" for number in range(4, 11)), "table5")
EACH = ("table4", "figure4", "figure5", "figure6", "figure7")
HOURS = {"interval 1": 2, "interval 2": 8, "interval 3": 20}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made-up files with the columns of the recorded ones."""
    folder = tmp_path_factory.mktemp("data")
    for seed, (name, columns) in enumerate({MEALS: ("context", "meal"), CHECK_INS: ("region", "category_l1")}.items()):
        model = topic_model(people=3, topics=2, sizes=(2, 3, 2), concentration=3.0, seed=seed)
        with gzip.open(folder / name, "wt", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("user", "timestamp", *columns))
            for whole in trajectories(model, 12, seed):
                for day, event in enumerate(whole.events):
                    when = dt.datetime(2026, 3, 1 + day, HOURS[event.time])
                    writer.writerow((f"name-{whole.person}", when.isoformat(), event.location, event.activity))
    return folder


def options(folder: Path, out: Path, *more: object) -> list[object]:
    quick = [
        "--window",
        5,
        "--people",
        1,
        "--sets",
        1,
        "--sweeps",
        400,
        "--topics",
        2,
        "--budget",
        40,
        "--processes",
        1,
    ]
    return ["reproduce", "s-ppatp", "--data", folder, "--out", out, *quick, *more]


def test_everything_is_printed_and_written(discreet: Discreet, folder: Path, tmp_path: Path) -> None:
    ran = discreet(*options(folder, tmp_path))
    assert ran.code == 0, ran.err
    assert all(f"Figure {number}:" in ran.out for number in range(4, 11))
    assert all(f"Table {number}:" in ran.out for number in (4, 5))
    expected = {f"{name}{ending}" for name in NAMES for ending in (".csv", ".png")}
    assert {path.name for path in tmp_path.iterdir()} == expected | {f"{name}_people.csv" for name in EACH}
    for name in EACH:
        for row in rows_of(tmp_path / f"{name}.csv"):
            if row["system"].startswith("Adaptive"):
                assert (row["breach rate"], row["off model"]) == ("0.0", "0")
                assert float(row["worst gain"]) <= float(row["delta"]) + 2**-40
            if row["system"] == "PA-Markov":
                assert row["by chains"] == "0.0"
    four = {(row["delta"], row["system"]): row for row in rows_of(tmp_path / "table4.csv")}
    assert four["0.1", "NoInternal"]["paper's breach rate"] == "0.564"
    assert "judged by the event HMM of 2 topics" in ran.out
    texts = [ran.out, *(path.read_text() for path in tmp_path.glob("*.csv"))]
    assert not any(label in text for text in texts for label in ("name-", "2026-", "location 1", "activity 1"))


def test_json_of_one_table(discreet: Discreet, folder: Path, tmp_path: Path) -> None:
    ran = discreet(*options(folder, tmp_path, "--figure", "table4", "--json"))
    assert ran.code == 0, ran.err
    assert ran.json["paper"] == "s-ppatp"
    assert ran.json["setting"]["window"] == 5
    (four,) = ran.json["figures"]
    assert four["about"].startswith("1 data sets: 1 people, 5 events each, judged by the event HMM")
    again = discreet(*options(folder, tmp_path, "--figure", "table4", "--json", "--processes", 2))
    assert again.json["figures"] == ran.json["figures"]  # whatever the number of processes


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--figure", "11"], "--figure"),
        (["--window", 0], "--window is 0"),
        (["--window", 500, "--figure", "4"], "lower --window"),
        (["--people", 0], "0 people"),
        (["--sets", 0], "--sets is 0"),
    ],
)
def test_bad_options(discreet: Discreet, folder: Path, tmp_path: Path, more: list[object], told: str) -> None:
    assert told in error_of(discreet(*options(folder, tmp_path, *more)))


def test_a_folder_without_the_data(discreet: Discreet, tmp_path: Path) -> None:
    assert MEALS in error_of(discreet(*options(tmp_path, tmp_path / "out", "--figure", "4")))
