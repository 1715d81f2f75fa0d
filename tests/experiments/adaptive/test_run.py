"""Adaptive's figures as a whole, on made-up people and few models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from discreet.charts import canvas
from discreet.errors import DiscreetError
from discreet_experiments.adaptive.memory import Variant
from discreet_experiments.adaptive.picture import PICTURED, SYSTEMS, systems_for
from discreet_experiments.adaptive.run import PARTS, AdaptiveReproduction, Extent
from discreet_experiments.shared.figures import Figure
from discreet_experiments.shared.people import Rules
from discreet_experiments.shared.sheets import Cell
from discreet_experiments.shared.subjects import Setting
from discreet_experiments.shared.systems import ALL
from tests.experiments.quiet import quiet
from tests.experiments.recorded import made_up

SETTING = Setting(Rules(slots=12, carry_hours=1000.0, least_days=16), secrets=1, pool="all", days=1)
EXTENT = Extent(
    chains=4,
    hidden=2,
    variants=tuple(Variant("suppress", "last", pairs) for pairs in (5, None)),
    remembered=1,
    walked=1,
    deltas=(0.1, 0.3),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up(tmp_path_factory.mktemp("data"), count=2, days=16)


def number(cell: Cell) -> float:
    assert isinstance(cell, int | float)
    return float(cell)


def drawn(figure: Figure, folder: Path) -> bytes:
    if not canvas.available():
        pytest.skip("matplotlib is not installed")
    figure.draw(folder / "figure.png")
    return (folder / "figure.png").read_bytes()


def test_the_parts_are_all_the_figures(folder: Path) -> None:
    reproduction = AdaptiveReproduction(quiet(folder), SETTING, EXTENT)
    assert [name for part in PARTS.values() for name in part] == list(reproduction.makers())
    assert [figure.name for figure in reproduction.part("limits")] == list(PARTS["limits"])


def test_one_data_set_alone(folder: Path) -> None:
    """The figure has that one alone; another name is an error that lists them."""
    alone = replace(EXTENT, only="Foursquare", deltas=(0.1,))
    figure = AdaptiveReproduction(quiet(folder, people=1), SETTING, alone).figure("picture")
    assert {row["data"] for row in figure.summary.records()} == {"Foursquare"}
    for part in ("learners", "observers", "attacked", "held", "odds", "picture"):
        with pytest.raises(DiscreetError, match="no data set 'Geo' here; give one of Reality Mining, StudentLife"):
            AdaptiveReproduction(quiet(folder), SETTING, replace(EXTENT, only="Geo")).figure(part)


def test_the_picture(folder: Path, tmp_path: Path) -> None:
    figure = AdaptiveReproduction(quiet(folder, people=1), SETTING, EXTENT).figure("picture")
    rows = figure.summary.records()
    with_tree, without = len(SYSTEMS), len(systems_for(None))
    assert len(rows) == len(EXTENT.deltas) * (2 * with_tree + 3 * without)
    assert {row["data"] for row in rows} == {source.name for source in PICTURED}
    proven = {one.label for one in ALL if one.proven}
    assert {row["pairs over"] for row in rows if row["system"] in proven} == {0}
    assert all(0 <= number(row["utility"]) <= 1 for row in rows)
    assert drawn(figure, tmp_path).startswith(b"\x89PNG")


def test_the_limits(folder: Path) -> None:
    reproduction = AdaptiveReproduction(quiet(folder), SETTING, EXTENT)
    chains, hidden = (reproduction.figure(name).summary.records() for name in ("limit_chains", "limit_hidden"))
    assert [row["variant"] for row in chains] == [
        f"{outputs}, memory {memory}" for outputs in ("suppress", "deceive") for memory in ("none", "last")
    ]
    for row in (*chains, *hidden):
        assert 0 <= number(row["least"]) <= number(row["share"]) <= 1 + 1e-8
        assert number(row["utility"]) > 0
        assert number(row["worst gain"]) <= 0.1 + 1e-9
    for row in hidden:
        assert number(row["share of it"]) <= number(row["share"]) + 1e-8


def test_what_capping_loses(folder: Path) -> None:
    few, whole = AdaptiveReproduction(quiet(folder), SETTING, EXTENT).figure("memory").summary.records()
    assert (few["pairs kept"], few["people over"], whole["pairs kept"]) == ("5", 2, "all")
    assert number(few["private states"]) < number(whole["private states"])
    assert whole["lost"] == 0
