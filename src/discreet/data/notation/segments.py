"""Visits and movements as Google's Timeline has them since 2024, on phones and in what people corrected."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from discreet.data.instants import SECOND
from discreet.data.rows import (
    EntryContent,
    Stay,
    inside,
    instant_of,
    number_of,
    numbered,
    point_of,
    point_of_e7,
    shown,
    words,
)
from discreet.data.source import Fault

MEANINGS = {"HOME": "home", "WORK": "work", "SCHOOL": "school"}
"""What Google takes a place for, without TYPE_ and INFERRED_; other meanings (an address, unknown) are no context."""

SILENT = ("timelineMemory", "activityRecord", "wifiScan")
"""Entries without a place of their own: trips in words, guesses at movements, lists of networks."""


def told_of(objects: Iterator[tuple[int, dict[str, Any] | Fault]]) -> Iterator[tuple[int, EntryContent]]:
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


def rows_of(said: dict[str, Any]) -> Iterator[EntryContent]:
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
        yield from Stay.known(start, end).rows(meaning_of(best), _place(inside(best, "placeLocation")))
    if "activity" in said:
        yield from _movement(said["activity"], start, end)
    if "timelinePath" in said:
        yield from _path(said["timelinePath"], start)


def _movement(activity: Any, start: int | None, end: int | None) -> Iterator[EntryContent]:
    """A way from one place to another; what is not known of its ends is left out, not guessed."""
    kind = words(inside(activity, "topCandidate", "type"))
    context = None if kind is None or kind.upper().startswith("UNKNOWN") else kind.replace("_", " ").lower()
    begins = None if start is None else _place(inside(activity, "start"))
    ends = None if end is None else _place(inside(activity, "end"))
    yield from Stay.known(start, end).rows(context, begins, until=ends, moves=True)


def _path(points: Any, start: int | None) -> Iterator[EntryContent]:
    """Points with a time (Android) or with whole minutes from the start (iOS)."""
    if not isinstance(points, list) or not points:
        yield Fault(0, "timelinePath", shown(points), "is not a list of points")
        return
    for point in points:
        where, instant = _place(inside(point, "point")), instant_of(inside(point, "time"))
        minutes = number_of(inside(point, "durationMinutesOffsetFromStartTime"))
        if instant is None and start is not None and minutes is not None and abs(minutes) < 1e9:
            instant = start + round(minutes * 60 * SECOND)
        if where is None or instant is None:
            yield Fault(0, "timelinePath", shown(point), "is not a point with a time")
        else:
            yield None, instant, *where, None, None


def _signal(position: Any) -> EntryContent:
    where, instant = _place(inside(position, "LatLng") or position), instant_of(inside(position, "timestamp"))
    if where is None:
        return Fault(0, "LatLng", shown(inside(position, "LatLng")), "is not a position")
    if instant is None:
        return Fault(0, "timestamp", inside(position, "timestamp"), "is not a time with an offset")
    return None, instant, *where, number_of(inside(position, "accuracyMeters")), None


def meaning_of(candidate: Any) -> str | None:
    """Names that people gave or that are on the map come before what Google took the place for."""
    kind = (words(inside(candidate, "semanticType")) or "").upper().replace(" ", "_")
    return words(inside(candidate, "name")) or MEANINGS.get(kind.removeprefix("TYPE_").removeprefix("INFERRED_"))


def _place(value: Any) -> tuple[float, float] | None:
    """A point as text, or in an object that holds it as `latLng`, or as Takeout's integers."""
    if isinstance(value, str):
        return point_of(value)
    return point_of(inside(value, "latLng")) or point_of_e7(value)
