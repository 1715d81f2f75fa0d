"""Google Takeout's Timeline Edits.json: what phones reported, what Google made of it, and what people corrected.

Of raw signals the positions are read; scans of networks and guesses at activities are not, nor lists of frequent
places, which have no times. Segments are visits and movements, as in `Timeline.json`; what Google inferred of hours
that somebody corrected is passed over.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from discreet.data.json_objects import BYTE_ORDER_MARK, parsed_objects
from discreet.data.notation.segments import told_of
from discreet.data.rows import EntryContent, LogFile, inside, instant_of, number_of, point_of_e7, shown
from discreet.data.source import Fault

CORRECTED, INFERRED = "userEditedSemanticSegment", "inferredSemanticSegment"

Entry = tuple[int, dict[str, Any]]


class GoogleEdits:
    """{"timelineEdits": [{"deviceId": ..., "rawSignal": {"signal": {"position": ...}}}, ...]}."""

    name = "google-timeline-edits"
    unit = "edit"

    def recognises(self, path: PurePath, head: bytes) -> bool:
        """By the name of the list."""
        return head.lstrip(BYTE_ORDER_MARK + b" \t\r\n").startswith(b"{") and b'"timelineEdits"' in head

    def entries(self, file: LogFile) -> Iterator[tuple[int, EntryContent]]:
        """What each edit says: signals as they come, then the segments."""
        corrected: list[Entry] = []
        inferred: list[Entry] = []
        with file.open() as stream:
            for number, said in parsed_objects(stream, 2):
                if isinstance(said, Fault):
                    yield number, said
                    continue
                segments = False
                for name, held in ((CORRECTED, corrected), (INFERRED, inferred)):
                    if isinstance(said.get(name), dict):
                        held.append((number, _segment(said[name])))
                        segments = True
                if "rawSignal" in said or not segments:
                    yield number, row_of(said)
        yield from told_of(iter(corrected))
        spans = sorted(span for _, one in corrected if (span := _span(one)) is not None)
        starts = [start for start, _ in spans]
        kept: list[Entry] = []
        for number, one in inferred:
            span = _span(one)
            before = 0 if span is None else bisect_right(starts, sum(span) // 2)
            if span is not None and before and sum(span) // 2 <= spans[before - 1][1]:
                yield number, "segment that was corrected"
            else:
                kept.append((number, one))
        yield from told_of(iter(kept))


def _segment(said: dict[str, Any]) -> dict[str, Any]:
    """A segment as `Timeline.json` has it: the visit or movement beside its times."""
    what = said.get("segment")
    times = {name: said[name] for name in ("startTime", "endTime") if name in said}
    return {**(what if isinstance(what, dict) else {}), **times}


def _span(entry: dict[str, Any]) -> tuple[int, int] | None:
    start, end = instant_of(entry.get("startTime")), instant_of(entry.get("endTime"))
    return None if start is None or end is None else (start, end)


def row_of(said: dict[str, Any]) -> EntryContent:
    """What one signal says."""
    signal = inside(said, "rawSignal", "signal")
    position = inside(signal, "position")
    if position is None:
        kinds = signal if isinstance(signal, dict) and signal else said
        return shown(next((name for name in kinds if name not in ("deviceId", "rawSignal")), "signal"), 40)
    where = point_of_e7(inside(position, "point"))
    if where is None:
        return Fault(0, "point", shown(inside(position, "point")), "is not a position")
    time = inside(position, "timestamp") or inside(said, "rawSignal", "additionalTimestamp")
    instant = instant_of(time)
    if instant is None:
        return Fault(0, "timestamp", shown(time), "is not a time with an offset")
    millimetres = number_of(inside(position, "accuracyMm"))
    accuracy = number_of(inside(position, "accuracyMeters")) if millimetres is None else millimetres / 1e3
    return None, instant, *where, accuracy, None
