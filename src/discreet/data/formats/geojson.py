"""GeoJSON (RFC 7946) whose features have times, and Overland, whose phones send such features.

The standard knows no times, so that programs write them into the properties: a point has one, under one of the names in
`TIMES`; a line has as many as it has positions, under `coordTimes` or `times` (as conversions from GPX have). Times are
ISO 8601, taken as UTC without an offset, or epoch seconds or milliseconds. Features without a time are marks on a map,
and are counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from discreet.data.json_objects import BYTE_ORDER_MARK, parsed_objects
from discreet.data.rows import EntryContent, LogFile, inside, instant_of, instant_of_seconds, number_of, numbered, shown
from discreet.data.source import Fault

TIMES = ("timestamp", "time", "datetime", "date_time", "when", "tst", "recorded_at", "created_at", "date")
PLAIN = frozenset(name.replace("_", "") for name in TIMES)
LISTS = ("coordTimes", "times", "timestamps")
ACCURACIES = ("horizontal_accuracy", "accuracy", "acc", "hAcc")
MILLISECONDS_FROM = 1e11
SPACES = re.compile(r"[\s_-]")
HEAD = 1 << 14
LISTED = re.compile(rb"\s*\[\s*\{")
"""Features in a bare list, which is no GeoJSON, and is written nevertheless."""


class GeoJson:
    """A feature collection, a list of features, or one feature a line."""

    name = "geojson"
    unit = "feature"

    def recognises(self, path: PurePath, head: bytes) -> bool:
        """By the types of its objects."""
        text = head.lstrip(BYTE_ORDER_MARK + b" \t\r\n\x1e")
        if not (text.startswith(b"{") or LISTED.match(text)) or b'"type"' not in text:
            return False
        return b'"FeatureCollection"' in text or (b'"Feature"' in text and b'"geometry"' in text)

    def entries(self, file: LogFile) -> Iterator[tuple[int, EntryContent]]:
        """What each feature says."""
        with file.open() as stream:
            head = stream.read(HEAD)
        level = 2 if b'"features"' in head or b'"FeatureCollection"' in head else 0
        level = 1 if LISTED.match(head.lstrip(BYTE_ORDER_MARK)) else level
        with file.open() as stream:
            for number, said in parsed_objects(stream, level):
                yield from numbered(number, (said,) if isinstance(said, Fault) else rows_of(said))


class Overland:
    """What Overland posts: {"locations": [features], ...}, one such document or one a line."""

    name = "overland"
    unit = "location"

    def recognises(self, path: PurePath, head: bytes) -> bool:
        """By the name of the list, and the type of what is in it."""
        text = head.lstrip(BYTE_ORDER_MARK + b" \t\r\n")
        return text.startswith(b"{") and b'"locations"' in text and b'"Feature"' in text and b'"geometry"' in text

    def entries(self, file: LogFile) -> Iterator[tuple[int, EntryContent]]:
        """What each location says."""
        with file.open() as stream:
            for number, said in parsed_objects(stream, 2):
                yield from numbered(number, (said,) if isinstance(said, Fault) else rows_of(said))


def rows_of(said: dict[str, Any]) -> Iterator[EntryContent]:
    """What one feature says."""
    if said.get("type") != "Feature":
        yield f"unknown type {shown(said.get('type'), 40)!r}"
        return
    kind, points = inside(said, "geometry", "type"), inside(said, "geometry", "coordinates")
    held = said.get("properties")
    if kind == "Point":
        yield _point(points, held)
    elif kind in ("LineString", "MultiLineString"):
        yield from _line(points, held, several=kind != "LineString")
    else:
        yield f"{shown(kind, 40)} feature"


def _point(point: Any, held: Any) -> EntryContent:
    given = next((name for name in TIMES if inside(held, name) is not None), None) or _loosely(held)
    if given is None:
        return "feature without a time"
    instant, where = _instant(held[given]), _where(point)
    if instant is None:
        return Fault(0, given, shown(held[given]), "is not a time")
    if where is None:
        return Fault(0, "coordinates", shown(point), "is not a longitude and a latitude")
    accuracy = next((found for name in ACCURACIES if (found := number_of(inside(held, name))) is not None), None)
    return None, instant, *where, accuracy if accuracy is None or accuracy >= 0 else None, None


def _loosely(held: Any) -> str | None:
    """The property that is such a time in another spelling, as `Timestamp` or `recordedAt`."""
    names = held if isinstance(held, dict) else {}
    return next((one for one in names if SPACES.sub("", one).lower() in PLAIN and names[one] is not None), None)


def _line(points: Any, held: Any, *, several: bool) -> Iterator[EntryContent]:
    """The positions of a line with the times that stand beside them, in the properties or in one object of those."""
    within = (held, inside(held, "coordinateProperties"))
    times = next((found for one in within for name in LISTS if (found := inside(one, name))), None)
    if not isinstance(times, list):
        yield "feature without a time"
        return
    if several:
        points = [point for line in points for point in line] if _lists(points) else None
        times = [time for one in times for time in one] if _lists(times) else times
    if not isinstance(points, list) or len(points) != len(times):
        yield Fault(0, "coordTimes", len(times), "is not the number of positions of the line")
        return
    for point, time in zip(points, times, strict=True):
        instant, where = _instant(time), _where(point)
        if instant is None or where is None:
            yield Fault(0, "coordTimes", shown(time), "is not a time of a position")
        else:
            yield None, instant, *where, None, None


def _lists(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, list) for one in value)


def _where(point: Any) -> tuple[float, float] | None:
    if not isinstance(point, list) or len(point) < 2:
        return None
    found = number_of(point[1]), number_of(point[0])
    return None if found[0] is None or found[1] is None else (found[0], found[1])


def _instant(value: Any) -> int | None:
    number = number_of(value)
    if number is None:
        return instant_of(value, utc=True)
    return instant_of_seconds(number / 1e3 if abs(number) >= MILLISECONDS_FROM else number)
