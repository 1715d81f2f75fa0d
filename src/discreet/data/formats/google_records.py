"""Google Takeout's Records.json, older also "Location History.json": every position that phones reported.

Guesses at activities (walking 40 %, still 30 %) and lists of wireless networks that stand beside a position are not
read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath
from types import NoneType
from typing import Any

import numpy as np

from discreet.data.json_objects import BYTE_ORDER_MARK, parsed_blocks, parsed_objects
from discreet.data.notation.lines import plain_instants
from discreet.data.rows import FARTHEST, Alike, EntryContent, LogFile, instant_of, instant_of_seconds, number_of
from discreet.data.source import Fault
from discreet.deferred import pl

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

    def entries(self, file: LogFile) -> Iterator[tuple[int, EntryContent]]:
        """What each record says."""
        with file.open() as stream:
            for number, said in parsed_objects(stream, 2):
                yield number, said if isinstance(said, Fault) else row_of(said)

    def parts(self, file: LogFile) -> Iterator[Alike | list[tuple[int, EntryContent]]]:
        """The same, positions as columns."""
        with file.open() as stream:
            for first, said in parsed_blocks(stream, 2):
                odd = [k for k, one in enumerate(said) if isinstance(one, Fault) or "latitudeE7" not in one]
                alone = set(odd)
                plain = [k for k in range(len(said)) if k not in alone] if odd else range(len(said))
                alike = _alike([first + k for k in plain], [said[k] for k in plain])
                if alike is not None:
                    yield alike
                single = odd if alike is not None else range(len(said))
                yield [(first + k, _told(said[k])) for k in single]


def _told(said: dict[str, Any] | Fault) -> EntryContent:
    return said if isinstance(said, Fault) else row_of(said)


def _alike(numbers: list[int], said: list[Any]) -> Alike | None:
    """Positions as columns; None where one of them is odd in any way, so that `row_of` has to say what it is."""
    try:
        latitudes, longitudes = [one["latitudeE7"] for one in said], [one["longitudeE7"] for one in said]
    except KeyError:
        return None
    accuracies = [one.get("accuracy") for one in said]
    if not (set(map(type, latitudes)) | set(map(type, longitudes)) <= {int}):
        return None
    if not set(map(type, accuracies)) <= {int, float, NoneType}:
        return None
    if not said or not -WRAPPED < min(*latitudes, *longitudes) <= max(*latitudes, *longitudes) < WRAPPED:
        return None
    if [one for one in accuracies if one is not None and not abs(one) < FARTHEST]:
        return None
    instants = _instants(said)
    if instants is None:
        return None
    nobody = [None] * len(said)
    where = _degrees(latitudes, 900_000_000), _degrees(longitudes, 1_800_000_000)
    return Alike(numbers, nobody, instants, *where, accuracies, nobody)


def _degrees(values: list[int], most: int) -> pl.Series:
    held = np.array(values, dtype=np.int64)
    return pl.Series(np.where(held > most, held - WRAPPED, held) / 1e7)


def _instants(said: list[Any]) -> Sequence[int] | pl.Series | None:
    """The times of records; None where one of them has none."""
    texts = [one.get("timestamp") for one in said]
    if set(map(type, texts)) <= {str}:
        quick = plain_instants(pl.Series(texts, dtype=pl.String))
        if not quick.null_count():
            return quick
    instants = [_instant(one) for one in said]
    return None if None in instants else [one for one in instants if one is not None]


def row_of(said: dict[str, Any]) -> EntryContent:
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
