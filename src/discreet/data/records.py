"""What one message says of somebody, for formats whose files are made of messages that a gateway also receives."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from discreet.data.source import Fault
from discreet.errors import DataError


@dataclass(frozen=True, slots=True)
class Record:
    """What one message says of somebody: a position in degrees, a context, or both, at a time or from it to an end."""

    timestamp: dt.datetime
    end: dt.datetime | None = None
    user: str | None = None
    context: str | None = None
    latitude: float | None = None
    longitude: float | None = None
    accuracy: float | None = None
    """Metres."""

    def __post_init__(self) -> None:
        for name in ("timestamp", "end"):
            stamp = getattr(self, name)
            if stamp is not None and stamp.tzinfo is None:
                raise DataError(
                    f"{name} {stamp} of a record has no time zone; a parser must say which, or give a Fault"
                )


Parsed = Record | Fault | None
"""A record; what is wrong with the message; or nothing, for a kind of message that holds neither place nor context."""
