"""GeoLife: trajectories (.plt) and the labels.txt beside their folder, in Data/USER/Trajectory. Times are in UTC."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

from discreet.data.rows import LogFile, Stay, Told, instant_of, number_of, numbered, words
from discreet.data.source import Fault

HEADER_LINES = 6
LONGEST = 1 << 16


class GeoLifeTrajectory:
    """Lines of latitude, longitude, 0, altitude, days, date, time after six lines of header."""

    name = "geolife"
    unit = "line"

    def recognises(self, path: PurePath, head: bytes) -> bool:
        """By the first line."""
        return head.lstrip().lower().startswith(b"geolife trajectory")

    def entries(self, file: LogFile) -> Iterator[tuple[int, Told]]:
        """The position on each line."""
        parts = file.inner.parts
        user = parts[-3] if len(parts) >= 3 and parts[-2].lower() == "trajectory" else None
        for number, line in _lines(file):
            if number > HEADER_LINES and line.strip():
                yield number, _position(line, user)


class GeoLifeLabels:
    """Lines of start, end and way of moving, parted by tabs: a stay each, without a position."""

    name = "geolife-labels"
    unit = "line"

    def recognises(self, path: PurePath, head: bytes) -> bool:
        """By the header."""
        return re.match(rb"Start Time\s+End Time\s+Transportation Mode", head) is not None

    def entries(self, file: LogFile) -> Iterator[tuple[int, Told]]:
        """The rows of each label."""
        parts = file.inner.parts
        user = parts[-2] if len(parts) >= 2 and re.fullmatch(r"\d+", parts[-2]) else None
        for number, line in _lines(file):
            if number > 1 and line.strip():
                yield from numbered(number, _label(line, user))


def _lines(file: LogFile) -> Iterator[tuple[int, str]]:
    with file.open() as stream:
        number, whole = 1, True
        while line := stream.readline(LONGEST):
            if whole:  # of a line that is too long, the start is what is judged
                yield number, line.decode(errors="replace").rstrip("\r\n")
            whole = line.endswith(b"\n")
            number += whole


def _position(line: str, user: str | None) -> Told:
    fields = line.split(",")
    if len(fields) < 7:
        return Fault(0, None, line[:80], f"has {len(fields)} fields where a trajectory has 7")
    latitude, longitude = number_of(fields[0]), number_of(fields[1])
    if latitude is None or longitude is None:
        return Fault(0, None, line[:80], "starts with no latitude and longitude")
    instant = instant_of(f"{fields[5].strip()}T{fields[6].strip()}", utc=True)
    if instant is None:
        return Fault(0, None, line[:80], "ends with no date and time")
    return user, instant, latitude, longitude, None, None


def _label(line: str, user: str | None) -> Iterator[Told]:
    fields = line.split("\t")
    times = [instant_of(field.strip().replace("/", "-"), utc=True) for field in fields[:2]]
    mode = words(fields[2]) if len(fields) == 3 else None
    if mode is None or times[0] is None or times[1] is None:
        yield Fault(0, None, line[:80], "is not a start, an end and a way of moving, parted by tabs")
        return
    for told in Stay(times[0], times[1]).rows(mode, None):
        yield told if isinstance(told, Fault | str) else (user, *told[1:])
