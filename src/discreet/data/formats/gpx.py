"""GPX 1.0 and 1.1: the track points that have a time.

Routes are plans and waypoints are marks on a map: they say nothing of where somebody was, and are counted. The schema
has times in UTC; one without an offset is taken so. Documents with a type declaration are refused, because entities
declared there can make gigabytes of a few bytes.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import PurePath

from discreet.data.rows import LogFile, Told, instant_of, number_of
from discreet.data.source import Fault

BLOCK = 1 << 16
SILENT = {"rtept": "route point", "wpt": "waypoint"}


class Gpx:
    """Tracks as GPX, by any device or application."""

    name = "gpx"
    unit = "point"

    def recognises(self, path: PurePath, head: bytes) -> bool:
        """By the root element, in whichever encoding XML may be."""
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            head = head.decode("utf-16", errors="ignore").encode()
        return re.search(rb"<(?:\w+:)?gpx[\s>]", head) is not None

    def entries(self, file: LogFile) -> Iterator[tuple[int, Told]]:
        """What each point says."""
        points = _Points()
        parser = ET.XMLParser(target=points)
        with file.open() as stream:
            try:
                while more := stream.read(BLOCK):
                    parser.feed(more)
                    yield from points.take()
                parser.close()
            except (ET.ParseError, ValueError, LookupError) as error:  # the others: an encoding that expat has not
                yield from points.take()
                yield points.count + 1, Fault(0, None, str(error), "is where the XML breaks; what follows was not read")
            except _RefusedError:
                yield (
                    points.count + 1,
                    Fault(0, None, "<!DOCTYPE", "declares a type, which may hide anything; remove it"),
                )


class _RefusedError(Exception):
    """A document type declaration was met."""


class _Points:
    """What the parser tells as it goes along: the points that ended since they were last taken."""

    def __init__(self) -> None:
        self.count = 0
        self._done: list[tuple[int, Told]] = []
        self._point: dict[str, str] | None = None
        self._depth = 0
        self._text: list[str] | None = None
        self._time: str | None = None

    def take(self) -> list[tuple[int, Told]]:
        """The points that ended."""
        done, self._done = self._done, []
        return done

    def doctype(self, name: str, public: str, system: str) -> None:
        """Called before anything that it declares could be used."""
        raise _RefusedError

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element starts."""
        name = tag.rpartition("}")[2]
        if self._point is not None:
            self._depth += 1
            if self._depth == 1 and name == "time":  # not one of an extension
                self._text = []
        elif name == "trkpt":
            self._point, self._depth, self._time = attributes, 0, None
        elif name in SILENT:
            self.count += 1
            self._done.append((self.count, SILENT[name]))

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
                self._time, self._text = "".join(self._text).strip(), None
            return
        self.count += 1
        self._done.append((self.count, _told(self._point, self._time)))
        self._point = None

    def close(self) -> None:
        """The document ends."""


def _told(attributes: dict[str, str], time: str | None) -> Told:
    latitude, longitude = number_of(attributes.get("lat")), number_of(attributes.get("lon"))
    if latitude is None or longitude is None:
        field = "lat" if latitude is None else "lon"
        return Fault(0, field, attributes.get(field), "is not a number of degrees")
    if time is None:
        return "track point without a time"
    instant = instant_of(time, utc=True)
    if instant is None:
        return Fault(0, "time", time[:80], "is not a time")
    return None, instant, latitude, longitude, None, None
