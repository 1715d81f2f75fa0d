"""`discreet import`, from files to a table that learn can read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from discreet.data.formats import format_names
from tests.cli.conftest import Discreet, error_of
from tests.data import samples
from tests.data.samples import MAY_1, SAMPLES, iso, location, rec_line


def test_each_sample(discreet: Discreet, tmp_path: Path) -> None:
    sources = []
    for name, make in SAMPLES.items():
        (folder := tmp_path / name).mkdir()
        sources.append(make(folder))
    out = tmp_path / "readings.parquet"
    ran = discreet("import", *sources, "--user", "jane", "--out", out)
    assert ran.code == 0
    assert all(name in ran.out for name in SAMPLES)
    assert "unknown type 'hologram'" in ran.out
    readings = pl.read_parquet(out)
    assert f"{len(readings)} readings in {out}" in ran.out
    assert readings["user"].unique(maintain_order=True).to_list() == ["010", "jane"]
    assert readings.equals(readings.sort("user", "timestamp", maintain_order=True))


def test_help_names_every_format(discreet: Discreet) -> None:
    told = "".join(discreet("import", "--help").out.split()).replace("│", "")
    assert all(name in told for name in format_names())


def test_json(discreet: Discreet, tmp_path: Path) -> None:
    log = tmp_path / "x.rec"
    lines = [location(), location(), location(MAY_1 + 1, acc=900), {"_type": "card"}]
    log.write_text("".join(rec_line(one) for one in lines) + "broken\n")
    (tmp_path / "x.html").write_text("<html>")
    ran = discreet("import", tmp_path, "--out", tmp_path / "r.csv", "--json", "--accuracy", "100")
    told = ran.json
    assert ran.code == 0
    assert (told["readings"], told["positions"], told["labels"], told["duplicates"]) == (1, 1, 0, 1)
    assert told["people"] == [
        {"user": "me", "readings": 1, "first": "2024-05-01T06:00:00+00:00", "last": "2024-05-01T06:00:00+00:00"}
    ]
    assert told["bad_records"]["count"] == 1
    assert f"{log}, line 5" in told["bad_records"]["first"][0]
    assert told["left_out"] == {"accuracy worse than 100 m": 1}
    assert told["passed_over"] == {"card": 1}
    assert told["files"][0]["records"] == 5
    assert told["unknown"] == [str(tmp_path / "x.html")]
    assert told["not_read"] == []
    assert (tmp_path / "r.csv").read_text().splitlines() == [
        "user,timestamp,latitude,longitude,accuracy,context,source",
        "me,2024-05-01T06:00:00.000000Z,48.8566,2.3522,12.0,,owntracks-rec",
    ]


def test_labels_go_on_to_learn(discreet: Discreet, tmp_path: Path) -> None:
    """States of Home Assistant and positions of a phone in one table: learn takes the labels and no bad rows."""
    history = tmp_path / "history.json"
    states: list[dict[str, Any]] = []
    for hour in range(24 * 30):
        at_work = hour % 24 in range(8, 16)
        states.append({"state": "Work" if at_work else "home", "last_changed": iso(MAY_1 + 3600 * hour)})
    states[0] |= {"entity_id": "person.jane", "attributes": {}}
    history.write_text(json.dumps([states]))
    samples.owntracks_rec(tmp_path)
    out = tmp_path / "readings.parquet"
    assert discreet("import", history, tmp_path / "rec", "--out", out).code == 0
    assert pl.read_parquet(out)["context"].null_count() == 1
    ran = discreet("learn", out, "--slots", "24", "--out", tmp_path / "jane.model", "--accept-model", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["bad_rows"]["count"] == 0
    assert {"home", "Work"} <= set(ran.json["people"][0]["contexts"])


def test_positions_alone_are_sent_to_places(discreet: Discreet, tmp_path: Path) -> None:
    out = tmp_path / "readings.parquet"
    assert discreet("import", samples.gpx(tmp_path), "--out", out).code == 0
    assert "discreet places" in error_of(discreet("learn", out, "--out", tmp_path / "m.model"))


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--format", "gxp"], "did you mean 'gpx'"),
        (["--since", "yesterday"], "--since"),
        (["--until", "1991-01-01"], "none of the"),
        (["--accuracy", "-1"], "metres"),
        (["--user", ""], "user is empty"),
    ],
)
def test_bad_use_is_one_line_and_leaves_nothing(
    discreet: Discreet, tmp_path: Path, options: list[str], part: str
) -> None:
    track, out = samples.gpx(tmp_path), tmp_path / "out.parquet"
    assert part in error_of(discreet("import", track, "--out", out, *options))
    assert not out.exists()


def test_the_target_is_not_a_source(discreet: Discreet, tmp_path: Path) -> None:
    path = samples.csv_positions(tmp_path)
    before = path.read_bytes()
    assert "is one of the sources" in error_of(discreet("import", path, "--out", path))
    assert "ending says no format" in error_of(discreet("import", path, "--out", tmp_path / "x.json"))
    assert path.read_bytes() == before


def test_an_error_leaves_the_old_table(discreet: Discreet, tmp_path: Path) -> None:
    out = tmp_path / "r.parquet"
    out.write_bytes(b"old")
    error_of(discreet("import", tmp_path / "none.gpx", "--out", out))
    assert out.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["r.parquet"]
