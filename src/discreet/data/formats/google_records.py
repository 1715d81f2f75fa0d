"""Google Takeout's Records.json, older also "Location History.json": every position that phones reported.

Guesses at activities (walking 40 %, still 30 %) and lists of wireless networks that stand beside a position are not
read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from discreet.data.json_objects import BYTE_ORDER_MARK, parsed_objects
from discreet.data.rows import LogFile, Told, instant_of, instant_of_seconds, number_of
from discreet.data.source import Fault

WRAPPED = 1 << 32
"""Some years' exports hold negative degrees as if they had no sign."""


class GoogleRecords:
    """{"locations": [{"latitudeE7": ..., "longitudeE7": ..., "timestamp": ...}, ...]}, of any size."""

    name = "google-records"
    unit = "record"

    def recognises(self, path: PurePath, head: bytes) -> bool:
        """By the names of the list and of its fields."""
        text = head.lstrip(BYTE_ORDER_MARK + b" \t\r\n")
        if not text.startswith(b"{") or b'"locations"' not in text:
            return False
        fields = (b'"latitudeE7"', b'"timestampMs"', b'"deviceTag"')
        return any(field in text for field in fields) or b"".join(text.split()).startswith(b'{"locations":[]')

    def entries(self, file: LogFile) -> Iterator[tuple[int, Told]]:
        """What each record says."""
        with file.open() as stream:
            for number, said in parsed_objects(stream, 2):
                yield number, said if isinstance(said, Fault) else row_of(said)


def row_of(said: dict[str, Any]) -> Told:
    """What a record says."""
    latitude, longitude = said.get("latitudeE7"), said.get("longitudeE7")
    if latitude is None and longitude is None:
        return "record without a position"
    if type(latitude) is not int or not -WRAPPED < latitude < WRAPPED:
        latitude = number_of(latitude)
    if type(longitude) is not int or not -WRAPPED < longitude < WRAPPED:
        longitude = number_of(longitude)
    if latitude is None or longitude is None:
        field = "latitudeE7" if latitude is None else "longitudeE7"
        return Fault(0, field, said.get(field), "is not a number")
    instant = _instant(said)
    if instant is None:
        field = "timestamp" if "timestamp" in said else "timestampMs"
        return Fault(0, field, said.get(field), "is not a time")
    if latitude > 900_000_000:
        latitude -= WRAPPED
    if longitude > 1_800_000_000:
        longitude -= WRAPPED
    return None, instant, latitude / 1e7, longitude / 1e7, number_of(said.get("accuracy")), None


def _instant(said: dict[str, Any]) -> int | None:
    """ISO text in exports since 2022, milliseconds as text before."""
    if "timestamp" in said:
        return instant_of(said["timestamp"])
    milliseconds = number_of(said.get("timestampMs"))
    return None if milliseconds is None else instant_of_seconds(milliseconds / 1e3)
