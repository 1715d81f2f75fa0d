"""`discreet places`, and the way from positions to a release."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import POLICY, Discreet, error_of
from tests.places.people import simulated


@pytest.fixture(scope="module")
def readings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten weeks of a simulated person, as discreet import writes them."""
    seen = simulated(1, days=70, every=900).sightings
    path = tmp_path_factory.mktemp("places") / "readings.parquet"
    pl.DataFrame(
        {
            "user": ["p01"] * len(seen),
            "timestamp": pl.Series(seen.instants).cast(pl.Datetime("us", "UTC")),
            "latitude": seen.positions[:, 0],
            "longitude": seen.positions[:, 1],
            "accuracy": pl.Series([12.0] * len(seen)),
            "context": pl.Series([None] * len(seen), dtype=pl.String),
            "source": ["simulated"] * len(seen),
        }
    ).write_parquet(path)
    return path


@pytest.fixture(scope="module")
def made(readings: Path) -> Path:
    """The map of their places."""
    from discreet.cli import run

    out = readings.with_name("places.geojson")
    named = ["--name", "3=hospital", "--name", "4=pharmacy"]
    assert run(["places", str(readings), "--out", str(out), "--map", str(out.with_suffix(".html")), *named]) == 0
    return out


def test_places_are_found_named_and_drawn(discreet: Discreet, made: Path) -> None:
    document = json.loads(made.read_text(encoding="utf-8"))
    names = [feature["properties"]["name"] for feature in document["features"]]
    assert names[:4] == ["home", "work", "hospital", "pharmacy"]
    assert len(names) == 8
    page = made.with_suffix(".html").read_text(encoding="utf-8")
    assert "3. <bdi>hospital</bdi>" in page
    assert "No place explains" in page


def test_the_table_and_json_tell_the_same(discreet: Discreet, readings: Path, tmp_path: Path) -> None:
    told = discreet("places", readings, "--out", tmp_path / "p.geojson", "--json").json
    assert told["person"] == "p01"
    assert told["places"][0]["name"] == "home"
    assert told["unexplained"] == pytest.approx(told["away"] + told["moving"], abs=2e-4)
    ran = discreet("places", readings, "--map", tmp_path / "p.html")
    assert "home" in ran.out
    assert "no place explains" in ran.out
    assert "--zone" in ran.err


def test_an_edited_map_is_taken_with_its_polygons(
    discreet: Discreet, readings: Path, made: Path, tmp_path: Path
) -> None:
    document = json.loads(made.read_text(encoding="utf-8"))
    town = [[10.9, 47.9], [11.1, 47.9], [11.1, 48.1], [10.9, 48.1], [10.9, 47.9]]
    drawn = {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [town]}, "properties": {"name": "town"}}
    document["features"].append(drawn)
    edited = tmp_path / "edited.geojson"
    edited.write_text(json.dumps(document), encoding="utf-8")
    options = ("--places", edited, "--merge", "5=1", "--out", tmp_path / "again.geojson", "--json")
    told = discreet("places", readings, *options).json
    assert told["unexplained"] == 0  # all the way is in town
    assert [place["name"] for place in told["places"]].count("home") == 2
    assert told["places"][-1]["name"] == "town"
    assert json.loads((tmp_path / "again.geojson").read_text(encoding="utf-8"))["features"][-1] == drawn


ODD = '<b>"O\'Brien & söhne" 家</b> | =; ‰'


def test_odd_names_parts_and_polygons_go_through_file_page_and_table(
    discreet: Discreet, readings: Path, made: Path, tmp_path: Path
) -> None:
    """A name with everything in it, a place in two parts, and a file that speaks to the terminal."""
    document = json.loads(made.read_text(encoding="utf-8"))
    document["features"][1]["properties"]["why"] = "\x1b[2J\x1b]0;owned\x07 gone"
    squares = [[[[x, 47.0], [x + 0.1, 47.0], [x + 0.1, 47.1], [x, 47.1], [x, 47.0]]] for x in (11.0, 12.0)]
    parts = {"type": "MultiPolygon", "coordinates": squares}
    document["features"].append({"type": "Feature", "geometry": parts, "properties": {"name": "isles"}})
    drawn = tmp_path / "drawn.geojson"
    drawn.write_text(json.dumps(document), encoding="utf-8")
    page, out = tmp_path / "p.html", tmp_path / "out.geojson"
    ran = discreet("places", readings, "--places", drawn, "--name", f"3={ODD}", "--map", page, "--out", out)
    assert ran.code == 0, ran.err
    assert ODD in ran.out
    assert "\x1b" not in ran.out
    assert "\x07" not in ran.out
    names = [feature["properties"]["name"] for feature in json.loads(out.read_text(encoding="utf-8"))["features"]]
    assert names[2] == ODD
    assert names[-1] == "isles"
    text = page.read_text(encoding="utf-8")
    assert "<b>" not in text
    assert escape(ODD) in text
    assert "isles" in text


def test_a_hostile_map_is_one_line_that_names_it(discreet: Discreet, readings: Path, tmp_path: Path) -> None:
    hostile = tmp_path / "hostile.geojson"
    for content in ("{", "[]", '{"type": "FeatureCollection", "features": [{"type": "Feature"}]}', "[" * 100_000):
        hostile.write_text(content, encoding="utf-8")
        line = error_of(discreet("places", readings, "--places", hostile, "--map", tmp_path / "p.html"))
        assert "hostile.geojson" in line
    assert not (tmp_path / "p.html").exists()


def test_from_positions_to_a_release(discreet: Discreet, readings: Path, made: Path, tmp_path: Path) -> None:
    """Three commands: places, learn, release; and evaluate sees the same days."""
    model, out = tmp_path / "p01.model", tmp_path / "out.csv"
    learned = discreet(
        *("learn", readings, "--places", made, "--secrets", POLICY, "--accept-model"),
        *("--slots", 24, "--out", model, "--json"),
    )
    assert learned.code == 0, learned.err
    (person,) = learned.json["people"]
    assert {"home", "work", "hospital", "moving"} <= set(person["contexts"])
    given = ("--model", model, "--policy", POLICY, "--mechanism", "no-mask", "--places", made)
    released = discreet("release", readings, *given, "--out", out)
    assert released.code == 0, released.err
    shown = pl.read_csv(out)["value"].to_list()
    evaluated = discreet("evaluate", readings, *given, "--accept-model", "--json").json
    (part,) = evaluated["parts"]
    assert part["slots"] == len(shown)
    assert part["utility"] == 1
    assert part["off_model"] == 0
    assert shown.count("home") > shown.count("work") > shown.count("hospital") > 0


def test_the_map_is_the_hierarchy_that_outputs_go_up(
    discreet: Discreet, readings: Path, made: Path, tmp_path: Path
) -> None:
    """A town around all places: where work is a secret, what is shown may be the town."""
    policy = tmp_path / "policy.toml"
    policy.write_text('delta = 0.1\n[[secret]]\ncontexts = ["work"]\n', encoding="utf-8")
    document = json.loads(made.read_text(encoding="utf-8"))
    home, *others = document["features"]
    town = {**home, "properties": {"name": "town", "radius_m": 9000}}
    drawn = tmp_path / "town.geojson"
    drawn.write_text(json.dumps({**document, "features": [home, *others[:3], town]}), encoding="utf-8")
    model, out = tmp_path / "p01.model", tmp_path / "out.csv"
    habits = ("--slots", "4", "--day-by-day", "--secrets", policy, "--accept-model", "--out", model)
    assert discreet("learn", readings, "--places", drawn, *habits).code == 0
    options = ("-o", "outputs=generalize", "-o", f"hierarchy={drawn}", "--places", drawn, "--out", out)
    ran = discreet("release", readings, "--model", model, "--policy", policy, "--mechanism", "adaptive", *options)
    assert ran.code == 0, ran.err
    shown = pl.read_csv(out).filter(kind="generalized")["value"]
    assert set(shown) <= {"in town", "anywhere", *(f"at {name}" for name in ("away", "moving", "other", "unknown"))}
    assert "in town" in set(shown)
    none = discreet("release", readings, "--model", model, "--policy", policy, "-o", "hierarchy=none.geojson")
    assert "none.geojson: cannot be read" in error_of(none)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([], "--out"),
        (["--out", "x", "--name", "hospital"], "3=hospital"),
        (["--out", "x", "--merge", "3=five"], "3=5"),
        (["--out", "x", "--name", "99=a"], "no place 99"),
        (["--out", "x", "--name", "1=away"], "meaning of its own"),
        (["--out", "x", "--radius", "0"], "radius"),
        (["--out", "x", "--person", "p02"], "p01"),
        (["--out", "x", "--places", "none.geojson"], "none.geojson"),
        (["--out", "x", "--time", "when"], "--time"),
    ],
)
def test_bad_use_is_one_line_and_writes_nothing(
    discreet: Discreet,
    readings: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    part: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert part in error_of(discreet("places", readings, *arguments))
    assert not list(tmp_path.iterdir())


def test_two_people_need_a_choice_and_a_table_without_positions_a_remedy(discreet: Discreet, tmp_path: Path) -> None:
    two = tmp_path / "two.csv"
    two.write_text("user,timestamp,lat,lon\na,1772438400,48,11\nb,1772438400,48,11\n", encoding="utf-8")
    assert "--person" in error_of(discreet("places", two, "--out", tmp_path / "x"))
    labels = tmp_path / "labels.csv"
    labels.write_text("user,timestamp,context\na,1772438400,home\n", encoding="utf-8")
    assert "discreet import" in error_of(discreet("places", labels, "--out", tmp_path / "x"))


def test_standard_input_has_no_positions(discreet: Discreet, models: Path, made: Path) -> None:
    given = ("--model", models / "p01.model", "--policy", POLICY, "--mechanism", "no-mask", "--places", made)
    assert "file of positions" in error_of(discreet("release", *given))
