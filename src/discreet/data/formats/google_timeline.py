"""Google Timeline as phones keep it since 2024: Timeline.json of Android, location-history.json of iOS.

Visits and movements are as in the older semantic history. Paths are positions with times; Android's raw signals have
positions with an accuracy besides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

from discreet.data.json_objects import BYTE_ORDER_MARK, parsed_objects
from discreet.data.notation.segments import told_of
from discreet.data.rows import EntryContent, LogFile


class GoogleTimelineAndroid:
    """{"semanticSegments": [...], "rawSignals": [...], ...}."""

    name = "google-timeline-android"
    unit = "entry"

    def recognises(self, path: PurePath, head: bytes) -> bool:
        """By the names of its lists."""
        text = head.lstrip(BYTE_ORDER_MARK + b" \t\r\n")
        return text.startswith(b"{") and any(name in head for name in (b'"semanticSegments"', b'"rawSignals"'))

    def entries(self, file: LogFile) -> Iterator[tuple[int, EntryContent]]:
        """What each segment and each signal says."""
        with file.open() as stream:
            yield from told_of(parsed_objects(stream, 2))


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

    def entries(self, file: LogFile) -> Iterator[tuple[int, EntryContent]]:
        """What each entry says."""
        with file.open() as stream:
            yield from told_of(parsed_objects(stream, 1))
