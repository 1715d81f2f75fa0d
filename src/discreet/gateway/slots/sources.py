"""Where readings come from: when each source was heard last, and what could not be used. For the owner alone.

How quiet a phone is depends on where it is, so nothing of this is for an application, and Home Assistant is one. It is
computed when the owner asks, and never otherwise.
"""

from __future__ import annotations

import datetime as dt
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Literal

from discreet.gateway.store.own_store import OwnStore
from discreet.live.slots import SECOND, micros

Why = Literal["wrong_key", "no_key", "not_encrypted", "unreadable", "unusable", "future"]

Use = Literal["believed", "others", "ignored"]
"""What becomes of what a source says: it is believed at present, another source is, or nobody looks at it."""

WEEKS = dt.timedelta(weeks=2)
"""How far back it is looked for what is usual."""

SHORTEST = 3600
"""Seconds of quiet that are never worth a notice."""

FEW = 20
"""Readings of a source before anything of it is usual."""


class Refused:
    """Messages and readings that came and could not be used, by person, since the start."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, Why]] = Counter()
        self._lock = threading.Lock()

    def count(self, person: str, why: Why, number: int = 1) -> None:
        """Some more."""
        if number:
            with self._lock:
                self._counts[person, why] += number

    def of(self, person: str) -> dict[str, int]:
        """A person's, by what was wrong."""
        with self._lock:
            return {why: number for (who, why), number in sorted(self._counts.items()) if who == person}


def sources_of(
    own: OwnStore,
    person: str,
    now: float,
    names: Mapping[str, str] | None = None,
    use: Callable[[str], Use] = lambda source: "others",
) -> list[dict[str, Any]]:
    """Each source of the last weeks: when it was heard last, its longest silence, and whether this one is longer.

    `names` has what tokens are called, `use` what becomes of what a source says.
    """
    found = []
    for source, last, count, longest in own.heard(person, micros(now - WEEKS.total_seconds())):
        token, slash, rest = source.partition("/")
        shown = f"{(names or {}).get(token) or token}{slash}{rest}"
        usual = max(SHORTEST, (longest or 0) / SECOND)
        found.append(
            {
                "source": shown,
                "heard": dt.datetime.fromtimestamp(last // SECOND, dt.UTC).isoformat(),
                "usual": round(usual),
                "quiet": count >= FEW and now - last / SECOND > usual,
                "use": use(source),
            }
        )
    return sorted(found, key=lambda one: str(one["heard"]), reverse=True)
