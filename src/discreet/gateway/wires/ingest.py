"""What sources said, judged before it is kept: parsers read and do not judge, and a store keeps what it is given."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from discreet.gateway.runtime import QUEUED, BusyError, Gateway
from discreet.gateway.store.journal.base import JournalError
from discreet.gateway.store.own_store import Reading

LONGEST_LABEL = 200
"""Characters; a longer label is no name of a context."""

PART = QUEUED // 10
"""Readings that are handed over at a time, so that one sender leaves room for others."""

RETRY = 1.0
"""Seconds after which what could not be written is tried again."""


def reading(
    person: str,
    source: str,
    instant: int,
    latitude: float | None,
    longitude: float | None,
    accuracy: float | None,
    label: str | None,
    since: int | None = None,
) -> Reading | None:
    """A reading, or None where neither its position nor its label can be one."""
    on_earth = latitude is not None and longitude is not None and -90 <= latitude <= 90 and -180 <= longitude <= 180
    position = (latitude, longitude) if on_earth and latitude is not None and longitude is not None else None
    name = label if label is not None and _is_name(label) else None
    if instant < 0 or (position is None and name is None):
        return None
    near = accuracy if position is not None and accuracy is not None and accuracy >= 0 else None
    return Reading(person, source, instant, position, near, name, since)


async def kept(gateway: Gateway, readings: Sequence[Reading]) -> None:
    """Return when all are on disk, however long that takes: for sources that can wait and would not come again."""
    for start in range(0, len(readings), PART):
        while True:
            try:
                await gateway.accept(readings[start : start + PART])
                break
            except (JournalError, BusyError):
                await asyncio.sleep(RETRY)


def _is_name(label: str) -> bool:
    """Whether it can be kept as text: JSON may hold halves of characters, which no file can."""
    if len(label) > LONGEST_LABEL:
        return False
    try:
        label.encode()
    except UnicodeEncodeError:
        return False
    return True
