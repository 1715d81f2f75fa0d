"""From what every application has recorded to a promise, by the commands of docs/import.md.

Three weeks of one simulated person (home, work, clinic, park) in each format: import, places, learn; then audit and release.
"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Discreet
from tests.data.histories import DAYS, HISTORIES, ZONE, stays

LABELS_ONLY = ("home-assistant-csv", "csv of labels")
SLOTS = 24
POLICY = """
delta = 0.2
[[secret]]
contexts = ["clinic"]
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.toml"
    path.write_text(POLICY, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", HISTORIES)
def test_from_a_history_to_a_release(discreet: Discreet, tmp_path: Path, policy: Path, name: str) -> None:
    source, readings = HISTORIES[name](tmp_path), tmp_path / "readings.parquet"
    model, shown = tmp_path / "jane.model", tmp_path / "shown.csv"

    imported = discreet("import", source, "--user", "jane", "--out", readings, "--json")
    assert imported.code == 0, imported.err
    told = imported.json
    assert (told["bad_records"]["count"], told["left_out"]) == (0, {})
    how = _places(discreet, readings, tmp_path / "places.geojson") if name not in LABELS_ONLY else ("--carry", "72h")

    learned = discreet(
        *("learn", readings, *how, "--person", "010" if name == "geolife" else "jane", "--zone", ZONE),
        *("--slots", SLOTS, "--secrets", policy, "--accept-model", "--out", model, "--json"),
    )
    assert learned.code == 0, learned.err
    assert "never visited" not in learned.err
    (person,) = learned.json["people"]
    assert person["days"] == DAYS
    for place in ("home", "work", "clinic"):  # of a slot of an hour the longest context is what stands
        assert person["contexts"][place] == pytest.approx(_truly(place), abs=0.04)

    audited = discreet("audit", "--model", model, "--policy", policy, "--budget", "50", "--json")
    assert audited.code == 0, audited.err
    assert audited.json["mechanism"] == "adaptive"
    released = discreet("release", readings, *how, "--model", model, "--policy", policy, "--out", shown)
    assert released.code == 0, released.err
    assert "off model" not in released.err
    assert len(pl.read_csv(shown)) == SLOTS * DAYS


def _places(discreet: Discreet, readings: Path, out: Path) -> tuple[object, ...]:
    """The places, and the options by which the others take the map."""
    found = discreet("places", readings, "--zone", ZONE, "--name", "3=clinic", "--name", "4=park", "--out", out)
    assert found.code == 0, found.err
    names = [one["properties"]["name"] for one in json.loads(out.read_text(encoding="utf-8"))["features"]]
    assert names == ["home", "work", "clinic", "park"]
    return "--places", out


def _truly(place: str) -> float:
    return sum(stay.end - stay.start for stay in stays() if stay.place == place) / (DAYS * 86_400)
