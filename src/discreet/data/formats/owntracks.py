"""OwnTracks: what phones send, what its Recorder stores (.rec), and the JSON that the Recorder answers with.

A location is a position, with the name of the region that the phone says it is in (`inregions`, the first of several)
as its context. A transition is the region's name on entering, `away` on leaving.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import PurePath
from types import NoneType
from typing import Any

from discreet.data.instants import SECOND
from discreet.data.json_objects import BYTE_ORDER_MARK, depth_of, loads, parsed_objects
from discreet.data.notation.lines import line_blocks
from discreet.data.rows import (
    AWAY,
    FARTHEST,
    Alike,
    EntryContent,
    LogFile,
    Parsed,
    instant_of_seconds,
    number_of,
    parsed,
    shown,
    words,
)
from discreet.data.source import Fault

SILENT = frozenset(
    "beacon card cmd configuration dump encrypted lwt request status steps waypoint waypoints".split()  # noqa: SIM905
)
"""Types of messages that say neither where somebody is nor what they do, or not legibly."""

RECORDED = re.compile(rb"\s*\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z(?:\t[^\t\n]*\t|[ \t]+\S{1,40}[ \t]+\{)")
SPACED = re.compile(rb"\s*(\S+)[ \t]+(\S+)[ \t]+(\{.*)", re.DOTALL)
"""A line whose tabs an editor or a copy through a terminal has made spaces."""
LOCATION = b'"location"'
HEAD = 1 << 14
"""First bytes that show how messages are wrapped."""
LONGEST = 1 << 20
"""A line of more bytes is no message."""


class OwnTracksRecording:
    """The Recorder's store: lines of time, kind and message, in rec/USER/DEVICE/YYYY-MM.rec."""

    name = "owntracks-rec"
    unit = "line"

    def recognises(self, path: PurePath, head: bytes) -> bool:
        """By the first line, or by the ending of an empty file."""
        return RECORDED.match(head) is not None or (path.suffix.lower() == ".rec" and not head.strip())

    def entries(self, file: LogFile) -> Iterator[tuple[int, EntryContent]]:
        """What each line says."""
        user = _user_of_path(file.inner)
        with file.open() as stream:
            for block in line_blocks(stream, LONGEST):
                first, lines = block.first, block.content.split(b"\n")
                for number, line in enumerate(lines, first):
                    if line.strip():
                        yield number, _recorded(line, user)

    def parts(self, file: LogFile) -> Iterator[Alike | list[tuple[int, EntryContent]]]:
        """The same, locations as columns."""
        user = _user_of_path(file.inner)
        with file.open() as stream:
            for block in line_blocks(stream, LONGEST):
                first, lines = block.first, block.content.split(b"\n")
                parts = [line.split(b"\t", 2) for line in lines]
                odd = [k for k, part in enumerate(parts) if len(part) < 3 or LOCATION not in part[2]]
                alone = set(odd)
                plain = [k for k in range(len(parts)) if k not in alone] if odd else range(len(parts))
                alike = _alike([first + k for k in plain], [parts[k][2] for k in plain], user)
                if alike is not None:
                    yield alike
                single = odd if alike is not None else range(len(lines))
                yield [(first + k, _recorded(lines[k], user)) for k in single if lines[k].strip()]


def _recorded(line: bytes, user: str | None) -> EntryContent:
    """What a line of a recording says."""
    parts: Sequence[bytes] = line.split(b"\t", 2)
    if len(parts) != 3 and (spaced := SPACED.fullmatch(line)) is not None:
        parts = spaced.groups()
    if len(parts) != 3:
        return Fault(0, None, _shown(line), "is not a time, a kind and a message, parted by tabs")
    kind, message = parts[1].strip(), parts[2]
    if message[:1] != b"{" and kind != b"*":
        return shown(kind.decode(errors="replace"), 40) or "no kind"
    return content_of(message, user)


def _alike(numbers: list[int], messages: list[bytes], user: str | None) -> Alike | None:
    """Locations as columns; None where one of them is odd in any way, so that `row_of` has to say what it is."""
    try:
        said = list(map(loads, messages))
        if [one for one in said if one["_type"] != "location"]:
            return None
        seconds = [one["tst"] for one in said]
        latitudes, longitudes = [one["lat"] for one in said], [one["lon"] for one in said]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    accuracies = [one.get("acc") for one in said]
    if not (set(map(type, seconds)) <= {int} and set(map(type, latitudes + longitudes)) <= {float}):
        return None
    if not set(map(type, accuracies)) <= {int, float, NoneType} or not all(map(isfinite, latitudes + longitudes)):
        return None
    if seconds and not 0 <= min(seconds) <= max(seconds) < FARTHEST:
        return None
    if [one for one in accuracies if one is not None and not abs(one) < FARTHEST]:
        return None
    if user is None:
        users = [_user_of(one) if "topic" in one or "username" in one else None for one in said]
    else:
        users = [user] * len(said)
    contexts = [_region(one) if "inregions" in one else None for one in said]
    instants = [second * SECOND for second in seconds]
    return Alike(numbers, users, instants, latitudes, longitudes, accuracies, contexts)


class OwnTracksJson:
    """Messages as JSON: one, one a line, a list, or what the Recorder and ocat answer with."""

    name = "owntracks-json"
    unit = "message"

    def recognises(self, path: PurePath, head: bytes) -> bool:
        """By the field that every message has."""
        return head.lstrip(BYTE_ORDER_MARK + b" \t\r\n")[:1] in (b"{", b"[") and b'"_type"' in head

    def entries(self, file: LogFile) -> Iterator[tuple[int, EntryContent]]:
        """What each message says."""
        with file.open() as stream:
            level = depth_of(stream.read(HEAD), b'"_type"') - 1
        with file.open() as stream:
            for number, said in parsed_objects(stream, min(max(level, 0), 2)):
                yield number, said if isinstance(said, Fault) else row_of(said)


def parse_message(message: bytes | str | dict[str, Any], topic: str | None = None) -> Parsed:
    """What one message of a phone says, as it came or parsed; whose it is, the topic tells, or the message's own.

    A `Record` as a recording of the message gives, a `Fault` that says what is wrong, or None where the message says
    neither where somebody is nor what they do.
    """
    user = _user_of_topic(topic)
    return parsed(row_of(message, user) if isinstance(message, dict) else content_of(message, user))


def content_of(message: bytes | str, user: str | None = None) -> EntryContent:
    """What the text of one message says."""
    try:
        said = loads(message)
    except (ValueError, RecursionError):
        return Fault(0, None, _shown(message), "is not a JSON message in UTF-8")
    return row_of(said, user) if isinstance(said, dict) else Fault(0, None, _shown(message), "is not a JSON object")


def row_of(said: dict[str, Any], user: str | None = None) -> EntryContent:
    """What a message says; fields that are not known here never matter."""
    kind = said.get("_type")
    if kind != "location" and kind != "transition":
        if kind is None:
            return Fault(0, "_type", None, "says no type of message")
        return kind if isinstance(kind, str) and kind in SILENT else f"unknown type {shown(kind, 40)!r}"
    seconds, latitude, longitude = said.get("tst"), said.get("lat"), said.get("lon")
    # Types are asked first because this is where the time goes: nearly all messages have whole seconds and floats.
    if type(seconds) is int and 0 <= seconds < FARTHEST:
        instant: int | None = seconds * SECOND
    else:
        instant = instant_of_seconds(seconds)
    if type(latitude) is not float:
        latitude = number_of(latitude)
    if type(longitude) is not float:
        longitude = number_of(longitude)
    if instant is None:
        return Fault(0, "tst", said.get("tst"), "is not a time in epoch seconds")
    if latitude is None or longitude is None:
        field = "lat" if latitude is None else "lon"
        return Fault(0, field, said.get(field), "is not a number of degrees")
    context = _region(said) if kind == "transition" or "inregions" in said else None
    if user is None:
        user = _user_of(said)
    accuracy = said.get("acc")
    if accuracy is not None:
        accuracy = number_of(accuracy)
    return user, instant, latitude, longitude, accuracy, context


def _region(said: dict[str, Any]) -> str | None:
    if said["_type"] == "transition":
        return words(said.get("desc")) if said.get("event") == "enter" else AWAY
    regions = said["inregions"]
    return words(regions[0]) if isinstance(regions, list) and regions else None


def _user_of(said: dict[str, Any]) -> str | None:
    return _user_of_topic(said.get("topic")) or words(said.get("username"))


def _user_of_topic(topic: object) -> str | None:
    """owntracks/USER/DEVICE, whatever comes after."""
    parts = topic.split("/") if isinstance(topic, str) else []
    return parts[1] or None if len(parts) >= 3 else None


def _user_of_path(path: PurePath) -> str | None:
    """The folder of the user in the Recorder's store, rec/USER/DEVICE/FILE."""
    parts = path.parts
    return parts[-3] if len(parts) >= 4 and parts[-4] == "rec" else None


def _shown(message: bytes | str) -> str:
    text = message if isinstance(message, str) else message[:200].decode(errors="replace")
    return text.strip()[:80]
