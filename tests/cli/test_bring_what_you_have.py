"""From what every application has recorded to a promise, by the commands of docs/import.md.

Three weeks of one simulated person (home, work, clinic, park) in each format: import, places, learn; then audit and
release.
"""

from __future__ import annotations

import datetime as dt
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from discreet.data.formats import FORMATS, LOGS
from discreet.data.importing import import_logs
from tests.cli.conftest import Discreet
from tests.data.histories import DAYS, HISTORIES, ZONE, Fix, fixes, google_records, message, stays
from tests.data.samples import rec_line

LABELS_ONLY = ("home-assistant-csv", "csv of labels", "geolife-labels")
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


def test_every_format_has_a_history(tmp_path: Path) -> None:
    """A new one is not done before it goes this way."""
    read = set()
    for name, write in HISTORIES.items():
        folder = tmp_path / name.replace(" ", "-").replace("'", "")
        folder.mkdir()
        read |= {file.format for file in import_logs([write(folder)]).files}
    assert read == {one.name for one in LOGS} | {one.name for one in FORMATS}


def _places(discreet: Discreet, readings: Path, out: Path) -> tuple[object, ...]:
    """The places, and the options by which the others take the map."""
    found = discreet("places", readings, "--zone", ZONE, "--name", "3=clinic", "--name", "4=park", "--out", out)
    assert found.code == 0, found.err
    names = [one["properties"]["name"] for one in json.loads(out.read_text(encoding="utf-8"))["features"]]
    assert names == ["home", "work", "clinic", "park"]
    return "--places", out


def _truly(place: str) -> float:
    return sum(stay.end - stay.start for stay in stays() if stay.place == place) / (DAYS * 86_400)


AUCKLAND = "Pacific/Auckland"
AUTUMN = dt.date(2024, 3, 25)
"""Of the three weeks from here, 7 April has 25 hours in Auckland."""


def _on_the_date_line(fix: Fix) -> Fix:
    """The same town, with the date line through the person's home."""
    lat, lon = fix.at[0] - 66, fix.at[1] - 2.35
    return replace(fix, at=(round(lat, 7), round(lon + 180 if lon <= 0 else lon - 180, 7)))


def _worst(folder: Path) -> Path:
    """All at once: two phones, a flight over the date line, 25 hours, and files damaged in every way."""
    there = [_on_the_date_line(fix) for fix in fixes(monday=AUTUMN, zone=AUCKLAND)]
    store = folder / "everything" / "rec" / "jane"
    for device in ("phone", "tablet"):
        (store / device).mkdir(parents=True)
    lines = [rec_line(message(fix), seconds=fix.second).encode() for fix in there]
    flight = [
        rec_line(message(Fix(there[-1].second + 300 * k, (-16.0, -170.0 - k if k < 11 else 190.0 - k), None)))
        for k in range(20)
    ]
    bad = [rec_line({"_type": "location", "lat": "north"}).encode(), b"\xff\xfe", b'x\t*\t{"_type":"loc\n', b"\n"]
    (store / "phone" / "2024-04.rec").write_bytes(b"".join([*lines, *bad, *(line.encode() for line in flight)]))
    home = there[0].at
    tablet = [rec_line(message(replace(fix, second=fix.second + 60, at=home))) for fix in there[::6]]
    (store / "tablet" / "2024-04.rec").write_text("".join(tablet), encoding="utf-8")
    inside = google_records(folder).read_bytes()
    with zipfile.ZipFile(folder / "everything" / "takeout.zip", "w") as archive:
        archive.writestr("more/takeout.zip", inside)
        archive.writestr("more/cut.zip", inside[:-50])
        archive.writestr("Timeline.json", '{"semanticSegments": [{"visit": {"x": 1}, "startTime": "2024-0')
        archive.writestr("history.json", '[[{"entity_id": "person.jane", "state": "home"}]]'.encode("utf-16"))
    return folder / "everything"


def test_the_worst_history_goes_the_same_way(discreet: Discreet, tmp_path: Path, policy: Path) -> None:
    readings, places = tmp_path / "readings.parquet", tmp_path / "places.geojson"
    model, shown = tmp_path / "jane.model", tmp_path / "shown.csv"
    imported = discreet("import", _worst(tmp_path), "--user", "somebody", "--out", readings, "--json")
    assert imported.code == 0, imported.err
    told = imported.json
    assert told["bad_records"]["count"] == 3
    broken = {one["file"].rpartition("!")[2]: one["why"].partition(" (")[0] for one in told["not_read"]}
    assert broken == {
        "history.json": "is UTF-16 text; save it as UTF-8",
        "more/cut.zip": "the zip archive is damaged",
    }
    how = ("--person", "jane", "--zone", AUCKLAND)
    named = ("--name", "3=clinic", "--name", "4=park")
    found = discreet("places", readings, *how, *named, "--out", places, "--json")
    assert found.code == 0, found.err
    assert [one["name"] for one in found.json["places"]] == ["home", "work", "clinic", "park"]
    assert abs(found.json["places"][0]["longitude"]) > 179.99
    given = ("--places", places, *how, "--secrets", policy, "--slots", SLOTS, "--accept-model", "--out", model)
    learned = discreet("learn", readings, *given, "--json")
    assert learned.code == 0, learned.err
    audited = discreet("audit", "--model", model, "--policy", policy, "--budget", "50")
    assert audited.code == 0, audited.err
    released = discreet(
        *("release", readings, "--places", places, "--person", "jane", "--model", model),
        *("--policy", policy, "--out", shown),
    )
    assert released.code == 0, released.err
    assert len(pl.read_csv(shown)) >= SLOTS * DAYS
