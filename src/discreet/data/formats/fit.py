"""FIT, which watches and bicycle computers write: the records of an activity that have a time and a position.

The extra `[fit]` brings `fitdecode`. Positions are in semicircles: 2^31 of them are 180 degrees. Times are seconds
since the last day of 1989.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from discreet.data.instants import SECOND
from discreet.data.rows import EntryContent, LogFile
from discreet.data.source import Fault
from discreet.errors import DataError

MARK = b".FIT"
SEMICIRCLE = 180 / 2**31
EPOCH = 631_065_600
"""Seconds from 1970 to FIT's first."""
FIRST_DATE = 0x1000_0000
"""Times below this are seconds since the device was switched on."""
RECORD, LATITUDE, LONGITUDE, ACCURACY, TIME = 20, 0, 1, 31, 253
"""Numbers of the message and of its fields, in FIT's profile."""
BROKEN = (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError, EOFError, struct.error)
"""What a decoder may meet in bytes that are none of a device's."""


class Fit:
    """Activities of Garmin and others."""

    name = "fit"
    unit = "record"

    def recognises(self, path: PurePath, head: bytes) -> bool:
        """By the mark in its header."""
        return head[8:12] == MARK

    def entries(self, file: LogFile) -> Iterator[tuple[int, EntryContent]]:
        """What each record says, as far as the file goes."""
        try:
            import fitdecode
        except ImportError:
            raise DataError(
                f"{file.name}: is a FIT file, and what reads those is not installed; pip install 'discreet[fit]'"
            ) from None
        number = 0
        with file.open() as stream:
            try:
                with fitdecode.FitReader(
                    stream,
                    processor=None,
                    check_crc=fitdecode.CrcCheck.RAISE,
                    error_handling=fitdecode.ErrorHandling.IGNORE,
                ) as frames:
                    for frame in frames:
                        if frame.frame_type == fitdecode.FIT_FRAME_DATA and frame.global_mesg_num == RECORD:
                            number += 1
                            yield number, _told(frame)
            except (fitdecode.FitError, AssertionError, *BROKEN) as error:  # it asserts lengths, too
                what = str(error) or type(error).__name__
                yield number + 1, Fault(0, None, what[:80], "is where the file breaks; what follows was not read")


def _told(frame: Any) -> EntryContent:
    held = {field.def_num: field.raw_value for field in frame.fields}
    latitude, longitude, time = held.get(LATITUDE), held.get(LONGITUDE), held.get(TIME)
    if latitude is None or longitude is None:
        return "record without a position"
    if not (isinstance(latitude, int) and isinstance(longitude, int)):
        return Fault(0, "position_lat", str(latitude)[:40], "is not a number of semicircles")
    if not isinstance(time, int) or time < FIRST_DATE:
        return Fault(0, "timestamp", str(time)[:40], "is not a time")
    accuracy = held.get(ACCURACY)
    metres = float(accuracy) if isinstance(accuracy, int) else None
    return None, (EPOCH + time) * SECOND, latitude * SEMICIRCLE, longitude * SEMICIRCLE, metres, None
