"""Google Takeout's Timeline Edits.json: positions that phones reported, beside what Google made of places.

Of raw signals the positions are read; scans of networks and guesses at activities are not, nor lists of frequent
places, which have no times.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from discreet.data.json_objects import BYTE_ORDER_MARK, parsed_objects
from discreet.data.rows import LogFile, Told, inside, instant_of, number_of, shown
from discreet.data.source import Fault


class GoogleEdits:
    """{"timelineEdits": [{"deviceId": ..., "rawSignal": {"signal": {"position": ...}}}, ...]}."""

    name = "google-timeline-edits"
    unit = "edit"

    def recognises(self, path: PurePath, head: bytes) -> bool:
        """By the name of the list."""
        return head.lstrip(BYTE_ORDER_MARK + b" \t\r\n").startswith(b"{") and b'"timelineEdits"' in head

    def entries(self, file: LogFile) -> Iterator[tuple[int, Told]]:
        """What each edit says."""
        with file.open() as stream:
            for number, said in parsed_objects(stream, 2):
                yield number, said if isinstance(said, Fault) else row_of(said)


def row_of(said: dict[str, Any]) -> Told:
    """What one edit says."""
    signal = inside(said, "rawSignal", "signal")
    position = inside(signal, "position")
    if position is None:
        kinds = signal if isinstance(signal, dict) and signal else said
        return shown(next((name for name in kinds if name not in ("deviceId", "rawSignal")), "signal"), 40)
    latitude, longitude = number_of(inside(position, "point", "latE7")), number_of(inside(position, "point", "lngE7"))
    if latitude is None or longitude is None:
        return Fault(0, "point", shown(inside(position, "point")), "is not a position")
    time = inside(position, "timestamp") or inside(said, "rawSignal", "additionalTimestamp")
    instant = instant_of(time)
    if instant is None:
        return Fault(0, "timestamp", shown(time), "is not a time with an offset")
    millimetres = number_of(inside(position, "accuracyMm"))
    accuracy = number_of(inside(position, "accuracyMeters")) if millimetres is None else millimetres / 1e3
    return None, instant, latitude / 1e7, longitude / 1e7, accuracy, None
