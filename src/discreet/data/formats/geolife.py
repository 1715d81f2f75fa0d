"""GeoLife: trajectories (.plt) and the labels.txt beside their folder, in Data/USER/Trajectory. Times are in UTC."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import BinaryIO

from discreet.data.notation.lines import line_blocks, plain_fields, plain_instants
from discreet.data.rows import Alike, EntryContent, LogFile, Stay, instant_of, number_of, numbered, words
from discreet.data.source import Fault
from discreet.deferred import pl

FIELDS = ("latitude", "longitude", "zero", "altitude", "days", "date", "time")
DEGREES = r"^-?[0-9]{1,3}\.[0-9]{1,12}$"
HEADER_LINES = 6
LONGEST = 1 << 16


class GeoLifeTrajectory:
    """Lines of latitude, longitude, 0, altitude, days, date, time after six lines of header."""

    name = "geolife"
    unit = "line"

    def recognises(self, path: PurePath, head: bytes) -> bool:
        """By the first line."""
        return head.lstrip().lower().startswith(b"geolife trajectory")

    def entries(self, file: LogFile) -> Iterator[tuple[int, EntryContent]]:
        """The position on each line."""
        user = _user_of(file)
        with file.open() as stream:
            yield from _positions(stream, 1, user)

    def parts(self, file: LogFile) -> Iterator[Alike | list[tuple[int, EntryContent]]]:
        """The same, positions as columns."""
        user = _user_of(file)
        with file.open() as stream:
            for block in line_blocks(stream, LONGEST):
                above = block.content.split(b"\n", HEADER_LINES)[:HEADER_LINES] if block.first == 1 else []
                alike = _alike(block.content[sum(map(len, above)) + len(above) :], block.first + len(above), user)
                yield alike or list(_positions(io.BytesIO(block.content), block.first, user))


def _user_of(file: LogFile) -> str | None:
    parts = file.inner.parts
    return parts[-3] if len(parts) >= 3 and parts[-2].lower() == "trajectory" else None


def _positions(stream: BinaryIO, first: int, user: str | None) -> Iterator[tuple[int, EntryContent]]:
    for number, line in _lines(stream, first):
        if number > HEADER_LINES and line.strip():
            yield number, _position(line, user)


def _alike(content: bytes, first: int, user: str | None) -> Alike | None:
    """Lines as columns; None where one of them is odd in any way, so that `_position` has to say what it is."""
    fields = plain_fields(content.rstrip(b"\r\n"), FIELDS)
    if fields is None:
        return None
    if fields.select(pl.col("latitude", "longitude").str.contains(DEGREES).all()).row(0) != (True, True):
        return None
    said = fields.select(
        pl.col("latitude", "longitude").cast(pl.Float64),
        time=pl.concat_str("date", pl.lit("T"), "time", pl.lit("Z")),
    )
    instants = plain_instants(said["time"])
    if instants.null_count():
        return None
    lines = range(first, first + said.height)
    nothing = [None] * said.height
    return Alike(lines, [user] * said.height, instants, said["latitude"], said["longitude"], nothing, nothing)


class GeoLifeLabels:
    """Lines of start, end and way of moving, parted by tabs: a stay each, without a position."""

    name = "geolife-labels"
    unit = "line"

    def recognises(self, path: PurePath, head: bytes) -> bool:
        """By the header."""
        return re.match(rb"Start Time\s+End Time\s+Transportation Mode", head) is not None

    def entries(self, file: LogFile) -> Iterator[tuple[int, EntryContent]]:
        """The rows of each label."""
        parts = file.inner.parts
        user = parts[-2] if len(parts) >= 2 and re.fullmatch(r"\d+", parts[-2]) else None
        with file.open() as stream:
            for number, line in _lines(stream, 1):
                if number > 1 and line.strip():
                    yield from numbered(number, _label(line, user))


def _lines(stream: BinaryIO, number: int) -> Iterator[tuple[int, str]]:
    whole = True
    while line := stream.readline(LONGEST):
        if whole:  # of a line that is too long, the start is what is judged
            yield number, line.decode(errors="replace").rstrip("\r\n")
        whole = line.endswith(b"\n")
        number += whole


def _position(line: str, user: str | None) -> EntryContent:
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


def _label(line: str, user: str | None) -> Iterator[EntryContent]:
    fields = line.split("\t")
    times = [instant_of(field.strip().replace("/", "-"), utc=True) for field in fields[:2]]
    mode = words(fields[2]) if len(fields) == 3 else None
    if mode is None or times[0] is None or times[1] is None:
        yield Fault(0, None, line[:80], "is not a start, an end and a way of moving, parted by tabs")
        return
    for told in Stay(times[0], times[1]).rows(mode, None):
        yield told if isinstance(told, Fault | str) else (user, *told[1:])
