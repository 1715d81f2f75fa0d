"""Files of places: GeoJSON (RFC 7946) that any map editor opens, and that people edit by hand.

A feature is a place. A Point with the property `radius_m` is a circle; a Polygon or MultiPolygon is itself. Its `name`
is the context; features of one name are one context. `number` is by how much time was spent. All else is left alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import DataError
from discreet.files import refuse_address, written_whole
from discreet.numerics import FloatArray
from discreet.places.named import Place, Places
from discreet.places.shapes import Circle, Polygon, Shape

LARGEST = 50 << 20
"""Bytes: a larger file is not a map that somebody drew."""

MOST_CORNERS = 20_000
"""Of one place."""

MOST_PLACES = 10_000
"""Of one map."""


def read_places(path: str | Path) -> Places:
    """The places of a GeoJSON file; what cannot be used is an error that names the feature."""
    refuse_address(path)
    path = Path(path)
    try:
        if path.stat().st_size > LARGEST:
            raise DataError(f"{path}: is larger than {LARGEST >> 20} MB; a file of places is not")
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}; check the path") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: is not UTF-8; save it again, as UTF-8") from None
    try:
        document = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: is not JSON ({error}); make it with discreet places, or a map editor") from None
    try:
        return places_of(document)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def write_places(path: str | Path, places: Places, *, private: bool = False) -> None:
    """The places as a file; a `private` one is for its owner alone."""
    try:
        text = json.dumps(document_of(places), ensure_ascii=False, indent=1, allow_nan=False)
    except (ValueError, RecursionError) as error:  # of what a file says besides, which is left as it is
        raise DataError(f"{path}: cannot be written as JSON ({error}); take out what is not needed") from None
    with written_whole(path, private=private) as file:
        file.write(text.encode("utf-8", "backslashreplace") + b"\n")  # half a character, as JSON writes it


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is too large a number")
    return value


def document_of(places: Places) -> dict[str, Any]:
    """The places as a GeoJSON FeatureCollection."""
    return {"type": "FeatureCollection", "features": [_feature(place) for place in places.places]}


def _feature(place: Place) -> dict[str, Any]:
    properties: dict[str, Any] = {"name": place.name}
    if place.number is not None:
        properties["number"] = place.number
    geometry: Mapping[str, Any]
    if isinstance(place.shape, Circle):
        where = [round(place.shape.longitude, 7), round(place.shape.latitude, 7)]  # a centimetre
        geometry = {"type": "Point", "coordinates": where}
        properties["radius_m"] = round(place.shape.radius, 1)
    else:
        assert isinstance(place.shape, Polygon)
        geometry = place.shape.geometry or {"type": "Polygon", "coordinates": [_closed(r) for r in place.shape.rings]}
    told = {key: value for key, value in place.properties.items() if key not in properties and key != "radius_m"}
    return {"type": "Feature", "geometry": geometry, "properties": {**properties, **told}}


def _closed(ring: FloatArray) -> list[list[float]]:
    return [[longitude, latitude] for latitude, longitude in [*ring.tolist(), ring[0].tolist()]]


def places_of(document: object) -> Places:
    """The places of a GeoJSON document: a FeatureCollection, or one Feature."""
    if not isinstance(document, Mapping):
        raise DataError("this is not GeoJSON, which is an object with a type; make it with discreet places")
    features = [document] if document.get("type") == "Feature" else document.get("features")
    if document.get("type") not in ("FeatureCollection", "Feature") or not isinstance(features, list):
        raise DataError(f"its type is {document.get('type')!r}; expected a FeatureCollection with a list of features")
    if len(features) > MOST_PLACES:
        raise DataError(f"there are {len(features)} features in it; a map holds up to {MOST_PLACES} places")
    places, numbers = [], set()
    for count, feature in enumerate(features, 1):
        try:
            place = _place(feature)
        except DataError as error:
            raise DataError(f"feature {count}{_called(feature)}: {error}") from None
        if place.number in numbers:
            place = Place(
                place.name, place.shape, None, place.properties
            )  # a copy that somebody made of another feature
        if place.number is not None:
            numbers.add(place.number)
        places.append(place)
    if not places:
        raise DataError("there is no place in it; draw one, or make it with discreet places")
    return Places(places)


def _called(feature: object) -> str:
    properties = feature.get("properties") if isinstance(feature, Mapping) else None
    name = properties.get("name") if isinstance(properties, Mapping) else None
    return f" ({name[:40]!r})" if isinstance(name, str) and name else ""


def _place(feature: object) -> Place:
    if not isinstance(feature, Mapping) or feature.get("type") != "Feature":
        raise DataError("is not a Feature; expected an object with type, geometry and properties")
    properties, geometry = feature.get("properties"), feature.get("geometry")
    if not isinstance(properties, Mapping) or "name" not in properties:
        raise DataError("has no name; add a property 'name', which becomes the context")
    if not isinstance(geometry, Mapping):
        raise DataError("has no geometry; draw it, or take the feature out")
    number = properties.get("number")
    whole = isinstance(number, int) and not isinstance(number, bool)
    told = {key: value for key, value in properties.items() if key not in ("name", "number", "radius_m")}
    return Place(properties["name"], _shape(geometry, properties), number if whole else None, told)


def _shape(geometry: Mapping[str, Any], properties: Mapping[str, Any]) -> Shape:
    kind, coordinates = geometry.get("type"), geometry.get("coordinates")
    if kind == "Point":
        if not _is_number(properties.get("radius_m")):
            raise DataError("is a Point without a radius; add a property 'radius_m' in metres, such as 100")
        ((latitude, longitude),) = _positions([coordinates]).tolist()
        return Circle(latitude, longitude, float(properties["radius_m"]))
    if kind not in ("Polygon", "MultiPolygon"):
        raise DataError(f"is a {str(kind)[:40]}; a place is a Point with a radius_m, a Polygon or a MultiPolygon")
    polygons = [coordinates] if kind == "Polygon" else coordinates
    if not isinstance(polygons, list) or not all(isinstance(polygon, list) for polygon in polygons):
        raise DataError(f"the coordinates of the {kind} are not lists of rings; draw it again")
    rings = [_ring(ring) for polygon in polygons for ring in polygon]
    if not rings:
        raise DataError(f"the {kind} has no ring; draw it again")
    if sum(map(len, rings)) > MOST_CORNERS:
        raise DataError(f"the {kind} has more than {MOST_CORNERS} corners; simplify it")
    return Polygon(tuple(rings), {"type": kind, "coordinates": coordinates})


def _ring(ring: object) -> FloatArray:
    if not isinstance(ring, list) or len(ring) < 4 or ring[0] != ring[-1]:
        raise DataError("a ring needs four positions or more, the last equal to the first; close it")
    return _positions(ring)[:-1]


def _positions(given: list[Any]) -> FloatArray:
    """(m, 2) latitude and longitude, from GeoJSON's longitude and latitude; a third number is a height."""
    for pair in given:
        if not isinstance(pair, list) or not 2 <= len(pair) <= 4 or not all(map(_is_number, pair)):
            raise DataError(f"{str(pair)[:60]} is not a position; GeoJSON has [longitude, latitude] in degrees")
        if not (abs(pair[0]) <= 180 and abs(pair[1]) <= 90):
            raise DataError(
                f"[{pair[0]:g}, {pair[1]:g}] is not on Earth; GeoJSON has [longitude, latitude] in degrees (WGS 84)"
            )
    return np.array([[pair[1], pair[0]] for pair in given], dtype=np.float64)


def _is_number(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) < 1e12
