"""TCX, Garmin's Training Center Database: the track points of activities that have a time and a position.

Courses are plans, and are counted. Times are in UTC; one without an offset is taken so.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from discreet.data.notation.xml_points import Points, has_root, read_points
from discreet.data.rows import EntryContent, LogFile, instant_of, number_of
from discreet.data.source import Fault

READ = {"Time": "time", "LatitudeDegrees": "latitude", "LongitudeDegrees": "longitude"}


class Tcx:
    """Activities of Garmin's watches, and of many other programs."""

    name = "tcx"
    unit = "point"

    def recognises(self, path: PurePath, head: bytes) -> bool:
        """By the root element."""
        return has_root(head, b"TrainingCenterDatabase")

    def entries(self, file: LogFile) -> Iterator[tuple[int, EntryContent]]:
        """What each track point says."""
        return read_points(file, _TrackPoints())


class _TrackPoints(Points):
    """The track points of a document."""

    def __init__(self) -> None:
        super().__init__()
        self._held: dict[str, str] | None = None
        self._plan = 0
        self._text: list[str] | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element starts."""
        name = tag.rpartition("}")[2]
        if name == "Course":
            self._plan += 1
        elif name == "Trackpoint":
            self._held = {}
        elif self._held is not None and name in READ:
            self._text = []

    def data(self, text: str) -> None:
        """Text between tags, perhaps in parts."""
        if self._text is not None:
            self._text.append(text)

    def end(self, tag: str) -> None:
        """An element ends."""
        name = tag.rpartition("}")[2]
        if name == "Course":
            self._plan -= 1
        elif self._text is not None and self._held is not None and name in READ:
            self._held[READ[name]], self._text = "".join(self._text).strip(), None
        elif name == "Trackpoint" and self._held is not None:
            self.tell("point of a course" if self._plan > 0 else _told(self._held))
            self._held = None


def _told(held: dict[str, str]) -> EntryContent:
    if "latitude" not in held and "longitude" not in held:
        return "track point without a position"
    latitude, longitude = number_of(held.get("latitude")), number_of(held.get("longitude"))
    if latitude is None or longitude is None:
        field = "latitude" if latitude is None else "longitude"
        return Fault(0, field, held.get(field), "is not a number of degrees")
    if "time" not in held:
        return "track point without a time"
    instant = instant_of(held["time"], utc=True)
    if instant is None:
        return Fault(0, "time", held["time"][:80], "is not a time")
    return None, instant, latitude, longitude, None, None
