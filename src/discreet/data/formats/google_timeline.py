"""Google Timeline as phones keep it since 2024: Timeline.json of Android, location-history.json of iOS.

Visits and movements are as in the older semantic history. Paths are positions with times; Android's raw signals have
positions with an accuracy besides.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from discreet.data.instants import SECOND
from discreet.data.json_objects import BYTE_ORDER_MARK, parsed_objects
from discreet.data.rows import LogFile, Stay, Told, inside, instant_of, number_of, numbered, point_of, shown, words
from discreet.data.source import Fault

MEANINGS = {"HOME": "home", "WORK": "work", "SCHOOL": "school"}
"""What Google takes a place for, without TYPE_ and INFERRED_; other meanings (an address, unknown) are no context."""

SILENT = ("timelineMemory", "activityRecord", "wifiScan")
"""Entries without a place of their own: trips in words, guesses at movements, lists of networks."""


class GoogleTimelineAndroid:
    """{"semanticSegments": [...], "rawSignals": [...], ...}."""

    name = "google-timeline-android"
    unit = "entry"

    def recognises(self, path: PurePath, head: bytes) -> bool:
        """By the names of its lists."""
        text = head.lstrip(BYTE_ORDER_MARK + b" \t\r\n")
        return text.startswith(b"{") and any(name in head for name in (b'"semanticSegments"', b'"rawSignals"'))

    def entries(self, file: LogFile) -> Iterator[tuple[int, Told]]:
        """What each segment and each signal says."""
        with file.open() as stream:
            yield from _entries(parsed_objects(stream, 2))


class GoogleTimelineIos:
    """A list of visits, movements and paths with points such as "geo:48.85,2.35"."""

    name = "google-timeline-ios"
    unit = "entry"

    def recognises(self, path: PurePath, head: bytes) -> bool:
        """By the fields of its first entries."""
        text = head.lstrip(BYTE_ORDER_MARK + b" \t\r\n")
        kinds = (b'"visit"', b'"activity"', b'"timelinePath"', b'"timelineMemory"')
        return (
            re.match(rb"\[\s*\{", text) is not None and b'"startTime"' in text and any(kind in text for kind in kinds)
        )

    def entries(self, file: LogFile) -> Iterator[tuple[int, Told]]:
        """What each entry says."""
        with file.open() as stream:
            yield from _entries(parsed_objects(stream, 1))


def _entries(objects: Iterator[tuple[int, dict[str, Any] | Fault]]) -> Iterator[tuple[int, Told]]:
    """What each entry says; a visit within another, such as a shop in a mall, is part of that one.

    Google writes both, with `hierarchyLevel` 0 and 1, for the same hours, and the inner place may lie hundreds of
    metres away. Those that lie in none are told at the end.
    """
    outer: list[tuple[int, int]] = []
    inner: list[tuple[int, dict[str, Any]]] = []
    for number, said in objects:
        if isinstance(said, Fault):
            yield number, said
            continue
        visit = said.get("visit")
        if visit is not None:
            if (number_of(inside(visit, "hierarchyLevel")) or 0) > 0:
                inner.append((number, said))
                continue
            start, end = instant_of(said.get("startTime")), instant_of(said.get("endTime"))
            if start is not None and end is not None:
                outer.append((start, end))
        yield from numbered(number, rows_of(said))
    outer.sort()
    starts = [start for start, _ in outer]
    for number, said in inner:
        start, end = instant_of(said.get("startTime")), instant_of(said.get("endTime"))
        middle = None if start is None or end is None else (start + end) // 2
        before = 0 if middle is None else bisect_right(starts, middle)
        if before and middle is not None and middle <= outer[before - 1][1]:
            yield number, "visit within another"
        else:
            yield from numbered(number, rows_of(said))


def rows_of(said: dict[str, Any]) -> Iterator[Told]:
    """What one entry of either phone says."""
    if "position" in said:
        yield _signal(said["position"])
        return
    for name in SILENT:
        if name in said:
            yield name
            return
    known = [name for name in ("visit", "activity", "timelinePath") if name in said]
    if not known:
        names = [name for name in said if not name.startswith(("startTime", "endTime"))]
        yield f"unknown type {str(names[0] if names else 'none')[:40]!r}"
        return
    start, end = instant_of(said.get("startTime")), instant_of(said.get("endTime"))
    for field, instant in (("startTime", start), ("endTime", end)):
        if instant is None and (said.get(field) is not None or (start is None and end is None)):
            yield Fault(0, field, said.get(field), "is not a time with an offset")
            if start is None and end is None:
                return
    if "visit" in said:
        best = inside(said, "visit", "topCandidate")
        yield from Stay.known(start, end).rows(_meaning(best), _place(inside(best, "placeLocation")))
    if "activity" in said:
        yield from _movement(said["activity"], start, end)
    if "timelinePath" in said:
        yield from _path(said["timelinePath"], start)


def _movement(activity: Any, start: int | None, end: int | None) -> Iterator[Told]:
    """A way from one place to another; what is not known of its ends is left out, not guessed."""
    kind = words(inside(activity, "topCandidate", "type"))
    context = None if kind is None or kind.upper().startswith("UNKNOWN") else kind.replace("_", " ").lower()
    begins = None if start is None else _place(inside(activity, "start"))
    ends = None if end is None else _place(inside(activity, "end"))
    yield from Stay.known(start, end).rows(context, begins, until=ends, moves=True)


def _path(points: Any, start: int | None) -> Iterator[Told]:
    """Points with a time (Android) or with whole minutes from the start (iOS)."""
    if not isinstance(points, list) or not points:
        yield Fault(0, "timelinePath", shown(points), "is not a list of points")
        return
    for point in points:
        where, instant = point_of(inside(point, "point")), instant_of(inside(point, "time"))
        minutes = number_of(inside(point, "durationMinutesOffsetFromStartTime"))
        if instant is None and start is not None and minutes is not None and abs(minutes) < 1e9:
            instant = start + round(minutes * 60 * SECOND)
        if where is None or instant is None:
            yield Fault(0, "timelinePath", shown(point), "is not a point with a time")
        else:
            yield None, instant, *where, None, None


def _signal(position: Any) -> Told:
    where, instant = _place(inside(position, "LatLng") or position), instant_of(inside(position, "timestamp"))
    if where is None:
        return Fault(0, "LatLng", shown(inside(position, "LatLng")), "is not a position")
    if instant is None:
        return Fault(0, "timestamp", inside(position, "timestamp"), "is not a time with an offset")
    return None, instant, *where, number_of(inside(position, "accuracyMeters")), None


def _meaning(candidate: Any) -> str | None:
    kind = (words(inside(candidate, "semanticType")) or "").upper().replace(" ", "_")
    return words(inside(candidate, "name")) or MEANINGS.get(kind.removeprefix("TYPE_").removeprefix("INFERRED_"))


def _place(value: Any) -> tuple[float, float] | None:
    """A point as text, or in an object that holds it as `latLng`."""
    return point_of(value if isinstance(value, str) else inside(value, "latLng"))
