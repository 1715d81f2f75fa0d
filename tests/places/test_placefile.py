"""Maps that people edit: round trips, polygons drawn by hand, nesting, and files that nobody should trust."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.errors import DataError
from discreet.places import Circle, Place, Places, read_places, write_places
from discreet.places.ellipsoid import points_of, positions_around
from discreet.places.placefile import places_of
from discreet.places.shapes import lies_in


def point(name: str, longitude: float, latitude: float, radius: object, **more: object) -> dict[str, Any]:
    geometry = {"type": "Point", "coordinates": [longitude, latitude]}
    return {"type": "Feature", "geometry": geometry, "properties": {"name": name, "radius_m": radius, **more}}


def polygon(name: object, *rings: list[list[float]], kind: str = "Polygon") -> dict[str, Any]:
    coordinates: Any = [[*ring, ring[0]] for ring in rings]
    geometry = {"type": kind, "coordinates": coordinates if kind == "Polygon" else [[ring] for ring in coordinates]}
    return {"type": "Feature", "geometry": geometry, "properties": {"name": name}}


def box(west: float, south: float, east: float, north: float) -> list[list[float]]:
    return [[west, south], [east, south], [east, north], [west, north]]


def collection(*features: object) -> dict[str, Any]:
    return {"type": "FeatureCollection", "features": list(features)}


def held(places: Places, *positions: tuple[float, float]) -> list[str | None]:
    """The names of the places that positions (latitude, longitude) are in."""
    return [None if k < 0 else places.places[k].name for k in places.at(np.array(positions)).tolist()]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    drawn = places_of(
        collection(polygon("park", box(11, 48, 11.01, 48.01)), polygon("isle", box(0, 0, 1, 1), kind="MultiPolygon"))
    )
    circle = Place("café « Ω » </script>", Circle(48.1234567, 11.1, 120.0), 1, {"why": "nights", "colour": "#f00"})
    write_places(tmp_path / "p.geojson", Places([circle, *drawn.places]))
    back = read_places(tmp_path / "p.geojson")
    assert back.places[0] == circle
    assert [place.name for place in back.places] == [circle.name, "park", "isle"]
    write_places(tmp_path / "q.geojson", back)
    assert (tmp_path / "q.geojson").read_bytes() == (tmp_path / "p.geojson").read_bytes()


def test_a_polygon_with_a_hole_and_one_of_two_parts() -> None:
    ring = places_of(collection(polygon("ring", box(0, 0, 3, 3), box(1, 1, 2, 2))))
    assert held(ring, (0.5, 0.5), (1.5, 1.5), (2.5, 1.5), (4, 4)) == ["ring", None, "ring", None]
    parts = places_of(collection(polygon("isles", box(0, 0, 1, 1), box(5, 5, 6, 6), kind="MultiPolygon")))
    assert held(parts, (0.5, 0.5), (5.5, 5.5), (3, 3)) == ["isles", "isles", None]


def test_over_the_date_line_and_near_a_pole() -> None:
    across = [[179.9, -17.0], [-179.9, -17.0], [-179.9, -16.8], [179.9, -16.8]]
    places = places_of(collection(polygon("lagoon", across), point("reef", -179.9999, -18.0, 500)))
    assert held(places, (-16.9, 179.95), (-16.9, -179.95), (-16.9, 0), (-16.9, 179.8)) == ["lagoon"] * 2 + [None] * 2
    assert held(places, (-18.0, 179.9999), (-18.0, 179.99)) == ["reef", None]
    split = polygon("lagoon", box(179.9, -17, 180, -16.8), box(-180, -17, -179.9, -16.8), kind="MultiPolygon")
    assert held(places_of(collection(split)), (-16.9, 179.95), (-16.9, -179.95), (0, 0)) == ["lagoon"] * 2 + [None]
    pole = places_of(collection(point("pole", 0, 90, 1000)))
    assert held(pole, (89.995, 0), (89.995, 120), (89.99, -60)) == ["pole", "pole", None]


def test_a_circle_is_round_on_the_ground() -> None:
    for middle in [(0.0, 0.0), (60.0, 25.0), (-89.9, 10.0), (10.0, 180.0)]:
        turn = np.linspace(0, 2 * np.pi, 100)
        rim = np.stack([np.cos(turn), np.sin(turn)], axis=1)
        circle = Circle(*middle, 1000)
        for factor, inside in [(999.9, True), (1000.1, False)]:
            around = positions_around(middle, factor * rim)
            assert (circle.holds(around, points_of(around)) == inside).all(), middle


def test_the_innermost_place_and_the_tree_that_nesting_makes() -> None:
    campus, hall = box(11.00, 48.00, 11.10, 48.10), box(11.00, 48.00, 11.02, 48.02)
    places = places_of(
        collection(
            point("dormitory", 11.01, 48.01, 50),
            polygon("campus", campus),
            polygon("hall", hall),  # shares two walls with the campus
            point("café", 11.08, 48.08, 60),
            point("home", 12, 48, 100),
        )
    )
    assert held(places, (48.01, 11.01), (48.015, 11.015), (48.05, 11.05), (48.08, 11.08), (48, 12)) == [
        "dormitory", "hall", "campus", "café", "home",
    ]  # fmt: skip
    parents = {"dormitory": "hall", "hall": "campus", "campus": None, "café": "campus", "home": None}
    assert places.parents() == parents
    tree = places.hierarchy()
    assert set(tree.leaves) == {*parents, "away", "moving", "other", "unknown"}
    assert tree.ancestors("dormitory") == ("in hall", "in campus", "anywhere")
    assert set(tree.leaves_under("in campus")) == {"dormitory", "hall", "campus", "café"}
    assert tree.root == "anywhere"
    assert len({len(tree.ancestors(leaf)) for leaf in tree.leaves}) == 1


def test_a_shape_that_sticks_out_does_not_lie_in_another() -> None:
    outer = Circle(48, 11, 100)
    assert lies_in(Circle(48, 11, 50), outer)
    assert not lies_in(Circle(48, 11.001, 50), outer)
    assert not lies_in(outer, outer)


def test_places_of_one_name_are_one_context_and_need_one_tree() -> None:
    two = places_of(collection(point("gym", 0, 0, 50), point("gym", 1, 1, 50)))
    assert two.names == ("gym",)
    assert two.hierarchy().leaves == ("gym", "away", "moving", "other", "unknown")
    apart = collection(polygon("hall", box(0, 0, 1, 1)), point("gym", 0.5, 0.5, 50), point("gym", 5, 5, 50))
    with pytest.raises(DataError, match="different names"):
        places_of(apart).hierarchy()


def test_names_and_merges_by_number() -> None:
    places = Places(Place(f"place {k}", Circle(k, k, 100), k) for k in range(1, 5))
    assert places.renamed({3: "hospital"}).names == ("place 1", "place 2", "hospital", "place 4")
    assert places.merged({3: 4, 2: 3}).names == ("place 1", "place 4")
    assert places.renamed({4: "gym"}).merged({3: 4}).names == ("place 1", "place 2", "gym")
    for wrong, part in [({9: 1}, "no place 9"), ({1: 9}, "no place 9"), ({1: 2, 2: 1}, "itself")]:
        with pytest.raises(DataError, match=part):
            places.merged(wrong)
    with pytest.raises(DataError, match="meaning of its own"):
        places.renamed({1: "away"})


# --- hostile files

GOOD = point("home", 11, 48, 100)


@pytest.mark.parametrize(
    ("document", "part"),
    [
        ([], "not GeoJSON"),
        ({"type": "Topology"}, "'Topology'"),
        ({"type": "FeatureCollection", "features": {}}, "list of features"),
        (collection(), "no place"),
        (collection(GOOD, 3), "feature 2: is not a Feature"),
        (collection({**GOOD, "properties": None}), "has no name"),
        (collection({**GOOD, "properties": {}}), "has no name"),
        (collection(point("", 0, 0, 5)), "the name is ''"),
        (collection({**GOOD, "properties": {"name": 7, "radius_m": 5}}), "the name is 7"),
        (collection(point("a\nb", 0, 0, 5)), "line breaks"),
        (collection(point("\u202eemoh", 0, 0, 5)), "line breaks"),
        (collection(point("x" * 101, 0, 0, 5)), "too long"),
        (collection(point("unknown", 0, 0, 5)), "meaning of its own"),
        (collection({**GOOD, "geometry": None}), "no geometry"),
        (collection({**GOOD, "geometry": {"type": "LineString", "coordinates": [[0, 0], [1, 1]]}}), "LineString"),
        (collection({**GOOD, "geometry": {"type": "Point", "coordinates": "here"}}), "not a position"),
        (collection({**GOOD, "geometry": {"type": "Point", "coordinates": [11]}}), "not a position"),
        (collection(point("home", 48, 111, 100)), r"\[longitude, latitude\]"),
        (collection(point("home", 1_200_000.0, 6_100_000.0, 100)), "WGS 84"),
        (collection(point("home", float("nan"), 1, 100)), "NaN is no number"),
        (collection(point("home", 1, 1, 100, score=float("-inf"))), "-Infinity is no number"),
        (collection(*[GOOD] * 10_001), "up to 10000 places"),
        (collection(point("home", True, 1, 100)), "not a position"),
        (collection(point("home", 10**400, 1, 100)), "not a position"),
        (collection(point("home", 11, 48, None)), "radius_m"),
        (collection(point("home", 11, 48, "100")), "radius_m"),
        (collection(point("home", 11, 48, 0)), "the radius is 0"),
        (collection(point("home", 11, 48, float("inf"))), "Infinity is no number"),
        (collection(point("home", 11, 48, 1e9)), "up to 100000"),
        (collection({**GOOD, "geometry": {"type": "Polygon", "coordinates": []}}), "no ring"),
        (collection({**GOOD, "geometry": {"type": "Polygon", "coordinates": 5}}), "lists of rings"),
        (collection({**GOOD, "geometry": {"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [2, 2]]]}}), "close it"),
        (collection(polygon("line", [[0, 0], [1, 1], [2, 2]])), "encloses nothing"),
        (collection(polygon("pole", [[0, 80], [90, 80], [180, 80], [-90, 80]])), "round a pole"),
        (collection(polygon("coast", [[k / 1e6, (k % 2) / 1e3] for k in range(20_001)])), "simplify"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_with_its_feature(tmp_path: Path, document: object, part: str) -> None:
    path = tmp_path / "hostile.geojson"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(DataError, match=part) as caught:
        read_places(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value)) < 400 + len(str(path))


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe{", "not UTF-8"),
        (b"{" * 10, "not JSON"),
        (b"[" * 200_000, "not JSON"),
        (b'{"type": "Feature", "properties": {"name": "a", "radius_m": 1e999}}', "1e999 is too large"),
        (b'{"type": "FeatureCollection", "features": [' + b"9" * 5000 + b"]}", "not JSON"),
    ],
)
def test_what_is_no_json_is_refused(tmp_path: Path, content: bytes, part: str) -> None:
    path = tmp_path / "hostile.geojson"
    path.write_bytes(content)
    with pytest.raises(DataError, match=part):
        read_places(path)
    with pytest.raises(DataError, match="cannot be read"):
        read_places(tmp_path / "none.geojson")


def test_numbers_of_copied_features_are_dropped_and_unknown_fields_kept() -> None:
    places = places_of(
        collection({**GOOD, "id": 3, "bbox": []}, point("b", 1, 1, 5, number=2), point("c", 2, 2, 5, number=2))
    )
    assert [place.number for place in places.places] == [None, 2, None]
    assert places_of(point("alone", 1, 1, 5)).names == ("alone",)
    high = places_of(collection({**GOOD, "geometry": {"type": "Point", "coordinates": [11, 48, 520.5]}}))
    assert high.places[0].shape == Circle(48, 11, 100)


def test_what_else_a_file_says_is_written_again_or_the_file_is_not(tmp_path: Path) -> None:
    path = tmp_path / "told.geojson"
    odd = {"half": "\ud800", "mark": "\u202e</script>", "list": [1, {"a": None}], "huge": 10**40}
    path.write_text(json.dumps(collection(point("home", 11, 48, 100, **odd))), encoding="utf-8")
    write_places(path, read_places(path))
    assert read_places(path).places[0].properties == odd
    before = path.read_bytes()
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(DataError, match="cannot be written"):
        write_places(path, Places([Place("home", Circle(48, 11, 100), None, {"deep": deep})]))
    assert path.read_bytes() == before


def test_a_polygon_that_crosses_itself_is_even_and_odd() -> None:
    """A bow tie of unequal halves: both are in it."""
    tie = places_of(collection(polygon("tie", [[0, 0], [3, 3], [3, 0], [0, 2]])))
    assert held(tie, (0.9, 0.2), (1.5, 2.8), (2.8, 1.5), (0.1, 1.5)) == ["tie", "tie", None, None]
