from __future__ import annotations

from pathlib import Path

import pytest

from discreet.experiments.adaptive import limits as adaptive_limits
from discreet.experiments.adaptive import memory as adaptive_memory
from discreet.experiments.adaptive import picture as adaptive_picture
from discreet.experiments.adaptive.memory import Variant
from discreet.experiments.shared.cells import LOS_ANGELES
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


def test_the_picture(discreet: Discreet, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deltas = (0.1, 0.3)
    monkeypatch.setattr(adaptive_picture.on_data_sets, "__defaults__", (adaptive_picture.SOURCES, deltas))
    ran = discreet(*options(folder, tmp_path, "--part", "picture", "--people", 1, "--secrets", 1))
    assert ran.code == 0, ran.err
    rows = rows_of(tmp_path / "picture.csv")
    with_tree, without = len(adaptive_picture.SYSTEMS), len(adaptive_picture.systems_for(None))
    assert len(rows) == len(deltas) * (2 * with_tree + 3 * without)
    assert {row["data"] for row in rows} == {source.name for source in adaptive_picture.SOURCES}
    proven = ("Simulatable", "Hybrid", "Adaptive suppress", "Adaptive generalize", "Adaptive deceive")
    assert {row["pairs over"] for row in rows if row["system"] in proven} == {"0"}
    assert all(0 <= float(row["utility"]) <= 1 for row in rows)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_the_limits(discreet: Discreet, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaptive_limits.on_random_models, "__defaults__", (4, 2))
    ran = discreet(*options(folder, tmp_path, "--part", "limits"))
    assert ran.code == 0, ran.err
    chains = {row["variant"]: row for row in rows_of(tmp_path / "limit_chains.csv")}
    assert set(chains) == {
        f"{outputs}, memory {memory}" for outputs in ("suppress", "deceive") for memory in ("none", "last")
    }
    for row in (*chains.values(), *rows_of(tmp_path / "limit_hidden.csv")):
        assert 0 <= float(row["least"]) <= float(row["share"]) <= 1 + 1e-8
        assert float(row["utility"]) > 0
        assert float(row["worst gain"]) <= 0.1 + 1e-9
    for row in rows_of(tmp_path / "limit_hidden.csv"):
        assert float(row["share of it"]) <= float(row["share"]) + 1e-8


def test_what_capping_loses(discreet: Discreet, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variants = tuple(Variant("suppress", "last", pairs) for pairs in (5, None))
    monkeypatch.setattr(adaptive_memory.on_memory, "__defaults__", (variants, 1, 1))
    ran = discreet(*options(folder, tmp_path, "--part", "memory"))
    assert ran.code == 0, ran.err
    few, whole = rows_of(tmp_path / "memory.csv")
    assert (few["pairs kept"], few["people over"], whole["pairs kept"]) == ("5", "2", "all")
    assert float(few["private states"]) < float(whole["private states"])
    assert float(whole["lost"]) == 0


@pytest.mark.parametrize(("more", "told"), [(["--part", "rest"], "--part"), (["--no-signal", "x"], "--no-signal")])
def test_bad_options(discreet: Discreet, folder: Path, tmp_path: Path, more: list[object], told: str) -> None:
    assert told in error_of(discreet(*options(folder, tmp_path, *more)))


def test_a_missing_data_set_is_named(discreet: Discreet, tmp_path: Path) -> None:
    folder = made_up(tmp_path / "part", count=1, days=16)
    (folder / LOS_ANGELES.file).unlink()
    assert LOS_ANGELES.file in error_of(discreet(*options(folder, tmp_path / "out", "--part", "picture")))
