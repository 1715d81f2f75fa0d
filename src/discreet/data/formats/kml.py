"""KML 2.2, as Google Earth, Google's older Timeline and many others write it; a KMZ is a zip archive of one.

Tracks (`gx:Track`) are positions with times. A placemark with a `TimeStamp` is a position; one with a `TimeSpan` is a
stay at its point, whose name is the context, or a way along its line, whose ends are positions. Placemarks without a
time are marks on a map, and are counted. A time without an offset is taken as UTC.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from pathlib import PurePath

from discreet.data.notation.xml_points import Points, has_root, read_points
from discreet.data.rows import MOVING_WORDS, EntryContent, LogFile, Stay, instant_of, number_of, words
from discreet.data.source import Fault

TEXTS = frozenset(("name", "when", "begin", "end", "coord", "coordinates"))
SEVERAL = re.compile(r"\s*,\s*")

Point = tuple[float, float]


class Kml:
    """Tracks and timed placemarks."""

    name = "kml"
    unit = "placemark or point"

    def recognises(self, path: PurePath, head: bytes) -> bool:
        """By the root element."""
        return has_root(head, b"kml")

    def entries(self, file: LogFile) -> Iterator[tuple[int, EntryContent]]:
        """What each point of a track and each placemark says."""
        return read_points(file, _Placemarks())


class _Placemarks(Points):
    """The placemarks of a document, and the points of tracks as they come."""

    def __init__(self) -> None:
        super().__init__()
        self._path: list[str] = []
        self._text: list[str] | None = None
        self._mark: dict[str, str] = {}
        self._whens: deque[str] = deque()
        self._coords: deque[str] = deque()
        self._tracks = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element starts."""
        name = tag.rpartition("}")[2]
        self._path.append(name)
        if name == "Placemark":
            self._mark, self._tracks = {}, 0
        elif name == "Track":
            self._tracks += 1
        self._text = [] if name in TEXTS else None

    def data(self, text: str) -> None:
        """Text between tags, perhaps in parts."""
        if self._text is not None:
            self._text.append(text)

    def end(self, tag: str) -> None:
        """An element ends."""
        name = tag.rpartition("}")[2]
        self._path.pop()
        if self._text is not None and name in TEXTS:
            self._hold(name, "".join(self._text).strip())
            self._text = None
        elif name == "Track":
            self._odd()
        elif name == "Placemark" and not self._tracks:
            self.tell(*_told(self._mark))

    def _hold(self, name: str, text: str) -> None:
        above = self._path[-1] if self._path else ""
        if above == "Track":
            if name in ("when", "coord"):
                (self._whens if name == "when" else self._coords).append(text)
            while self._whens and self._coords:
                self.tell(_at(self._whens.popleft(), self._coords.popleft()))
        elif name == "coordinates" and above in ("Point", "LineString"):
            self._mark[above] = text
        elif (name == "name" and above == "Placemark") or above in ("TimeStamp", "TimeSpan"):
            self._mark[name] = text

    def _odd(self) -> None:
        """A track has as many times as positions; what is left over belongs to nothing."""
        for text in (*self._whens, *self._coords):
            self.tell(Fault(0, None, text[:80], "is a time or a position of a track without the other"))
        self._whens.clear()
        self._coords.clear()


def _at(when: str, coord: str) -> EntryContent:
    """One point of a track."""
    instant, where = instant_of(when, utc=True), _point(coord.split())
    if instant is None:
        return Fault(0, "when", when[:80], "is not a time")
    if where is None:
        return Fault(0, "coord", coord[:80], "is not a longitude and a latitude")
    return None, instant, *where, None, None


def _told(mark: dict[str, str]) -> Iterator[EntryContent]:
    """What a placemark without a track says."""
    if "when" in mark:
        instant, where = instant_of(mark["when"], utc=True), _first(mark.get("Point"))
        if instant is None:
            yield Fault(0, "when", mark["when"][:80], "is not a time")
        elif where is None:
            yield _nowhere(mark, "Point")
        else:
            yield None, instant, *where, None, None
    elif "begin" in mark or "end" in mark:
        yield from _span(mark)
    else:
        yield "placemark without a time"


def _span(mark: dict[str, str]) -> Iterator[EntryContent]:
    times = {name: instant_of(mark[name], utc=True) for name in ("begin", "end") if name in mark}
    for name, instant in times.items():
        if instant is None:
            yield Fault(0, name, mark[name][:80], "is not a time")
            return
    start, end = times.get("begin"), times.get("end")
    start = end if start is None else start
    end = start if end is None else end
    assert start is not None  # one of them was there, and both are times
    assert end is not None
    label = words(mark.get("name"))
    if "Point" in mark:
        where = _first(mark["Point"])
        yield from Stay(start, end).rows(label, where) if where is not None else (_nowhere(mark, "Point"),)
        return
    points = (mark.get("LineString") or "").split()
    first, last = (_first(points[0]), _first(points[-1])) if points else (None, None)
    if first is None or last is None:
        yield _nowhere(mark, "LineString")
        return
    moving = label.lower() if label is not None and label.lower() in MOVING_WORDS else None
    yield from Stay(start, end).rows(moving, first, until=last)


def _nowhere(mark: dict[str, str], kind: str) -> EntryContent:
    if kind in mark:
        return Fault(0, "coordinates", mark[kind][:80], "is not a longitude and a latitude")
    return "placemark without a position"


def _first(text: str | None) -> Point | None:
    """The first position of "lon,lat,alt lon,lat,alt"; blanks after commas, which some write, are no harm."""
    return None if text is None else _point(SEVERAL.sub(",", text.strip()).split(" ")[0].split(","))


def _point(parts: list[str]) -> Point | None:
    found = (number_of(parts[1]), number_of(parts[0])) if len(parts) >= 2 else (None, None)
    return None if found[0] is None or found[1] is None else (found[0], found[1])
