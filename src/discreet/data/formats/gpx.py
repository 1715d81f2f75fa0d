"""GPX 1.0 and 1.1: the track points that have a time.

Routes are plans and waypoints are marks on a map: they say nothing of where somebody was, and are counted. The schema
has times in UTC; one without an offset is taken so. Apple writes the accuracy of a point in metres among its extensions
(`hAcc`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from discreet.data.notation.xml_points import Points, has_root, read_points
from discreet.data.rows import EntryContent, LogFile, instant_of, number_of
from discreet.data.source import Fault

SILENT = {"rtept": "route point", "wpt": "waypoint"}


class Gpx:
    """Tracks as GPX, by any device or application."""

    name = "gpx"
    unit = "point"

    def recognises(self, path: PurePath, head: bytes) -> bool:
        """By the root element."""
        return has_root(head, b"gpx")

    def entries(self, file: LogFile) -> Iterator[tuple[int, EntryContent]]:
        """What each point says."""
        return read_points(file, _TrackPoints())


class _TrackPoints(Points):
    """The track points of a document."""

    def __init__(self) -> None:
        super().__init__()
        self._point: dict[str, str] | None = None
        self._depth = 0
        self._text: list[str] | None = None
        self._time: str | None = None
        self._accuracy: str | None = None
        self._within = ""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element starts."""
        name = tag.rpartition("}")[2]
        if self._point is not None:
            self._depth += 1
            if name == "hAcc" or (self._depth == 1 and name == "time"):  # not a time of an extension
                self._text, self._within = [], name
        elif name == "trkpt":
            self._point, self._depth, self._time, self._accuracy = attributes, 0, None, None
        elif name in SILENT:
            self.tell(SILENT[name])

    def data(self, text: str) -> None:
        """Text between tags, perhaps in parts."""
        if self._text is not None:
            self._text.append(text)

    def end(self, tag: str) -> None:
        """An element ends."""
        if self._point is None:
            return
        if self._depth > 0:
            self._depth -= 1
            if self._text is not None:
                text, self._text = "".join(self._text).strip(), None
                if self._within == "time":
                    self._time = text
                else:
                    self._accuracy = text
            return
        self.tell(_told(self._point, self._time, self._accuracy))
        self._point = None


def _told(attributes: dict[str, str], time: str | None, accuracy: str | None) -> EntryContent:
    latitude, longitude = number_of(attributes.get("lat")), number_of(attributes.get("lon"))
    if latitude is None or longitude is None:
        field = "lat" if latitude is None else "lon"
        return Fault(0, field, attributes.get(field), "is not a number of degrees")
    if time is None:
        return "track point without a time"
    instant = instant_of(time, utc=True)
    if instant is None:
        return Fault(0, "time", time[:80], "is not a time")
    return None, instant, latitude, longitude, number_of(accuracy), None
