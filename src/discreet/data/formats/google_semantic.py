"""Google Takeout's Semantic Location History: a file a month with visits and movements, as Google understood them.

A visit is a stay whose context is the place's name, or what Google took it for (home, work). A movement is a stay whose
context is the kind of movement, with a position at either end and those of its timed path.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from discreet.data.json_objects import BYTE_ORDER_MARK, parsed_objects
from discreet.data.notation.segments import meaning_of
from discreet.data.rows import (
    EntryContent,
    LogFile,
    Stay,
    inside,
    instant_of,
    instant_of_seconds,
    number_of,
    numbered,
    point_of_e7,
    shown,
    words,
)
from discreet.data.source import Fault


class GoogleSemantic:
    """{"timelineObjects": [{"placeVisit": ...}, {"activitySegment": ...}]}, as in 2023_JANUARY.json."""

    name = "google-semantic"
    unit = "entry"

    def recognises(self, path: PurePath, head: bytes) -> bool:
        """By the name of the list."""
        return head.lstrip(BYTE_ORDER_MARK + b" \t\r\n").startswith(b"{") and b'"timelineObjects"' in head

    def entries(self, file: LogFile) -> Iterator[tuple[int, EntryContent]]:
        """What each visit and movement says."""
        with file.open() as stream:
            for number, said in parsed_objects(stream, 2):
                yield from numbered(number, (said,) if isinstance(said, Fault) else rows_of(said))


def rows_of(said: dict[str, Any]) -> Iterator[EntryContent]:
    """What one entry says."""
    kind = "placeVisit" if "placeVisit" in said else "activitySegment"
    entry = said.get(kind)
    if not isinstance(entry, dict):
        yield f"unknown type {str(next(iter(said), ''))[:40]!r}"
        return
    start, end = _time(entry.get("duration"), "start"), _time(entry.get("duration"), "end")
    if start is None and end is None:
        yield Fault(0, "duration", shown(entry.get("duration")), "has no start and no end")
        return
    if kind == "placeVisit":
        context = meaning_of(entry.get("location"))
        where = _point(entry.get("location")) or point_of_e7(entry, "centerLatE7", "centerLngE7")
        yield from Stay.known(start, end).rows(context, where)
        yield from _path(entry, context)
    else:
        yield from _movement(entry, start, end)


def _movement(entry: dict[str, Any], start: int | None, end: int | None) -> Iterator[EntryContent]:
    """A way from one place to another; what is not known of its ends is left out, not guessed."""
    kind = words(entry.get("activityType"))
    context = None if kind is None or kind.startswith("UNKNOWN") else kind.replace("_", " ").lower()
    waypoints = inside(entry, "waypointPath", "waypoints")
    on_path = [_point(point) for point in waypoints] if isinstance(waypoints, list) else []
    begins = _point(entry.get("startLocation")) or (on_path[0] if on_path else None)
    ends = _point(entry.get("endLocation")) or (on_path[-1] if on_path else None)
    begins, ends = begins if start is not None else None, ends if end is not None else None
    yield from Stay.known(start, end).rows(context, begins, until=ends, moves=True)
    yield from _path(entry, context)


def _path(entry: dict[str, Any], context: str | None) -> Iterator[EntryContent]:
    """The points with a time of a visit or a movement."""
    points = inside(entry, "simplifiedRawPath", "points")
    for point in points if isinstance(points, list) else ():
        where, instant = _point(point), _time(point, "")
        if where is not None and instant is not None:
            yield None, instant, *where, number_of(inside(point, "accuracyMeters")), context
        else:
            yield Fault(0, "points", shown(point), "is not a point with a time")


def _point(location: Any) -> tuple[float, float] | None:
    return point_of_e7(location, "latitudeE7", "longitudeE7") or point_of_e7(location)


def _time(holder: Any, which: str) -> int | None:
    """startTimestamp as ISO text, or startTimestampMs as text of milliseconds in older exports."""
    name = f"{which}Timestamp" if which else "timestamp"
    if (text := inside(holder, name)) is not None:
        return instant_of(text)
    milliseconds = number_of(inside(holder, f"{name}Ms"))
    return None if milliseconds is None else instant_of_seconds(milliseconds / 1e3)
