"""A format: `discreet import mine.diary`. Each line is an instant and a context: `2026-11-16T08:00+01:00 home`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import PurePath

from discreet.data.rows import EntryContent, LogFile
from discreet.data.source import Fault

MICROSECOND = dt.timedelta(microseconds=1)
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class Diary:
    """Lines of an instant and a context."""

    name = "diary"
    unit = "line"

    def recognises(self, path: PurePath, head: bytes) -> bool:
        """By its ending alone: the first bytes are those of any text."""
        return path.suffix == ".diary"

    def entries(self, file: LogFile) -> Iterator[tuple[int, EntryContent]]:
        """One row a line; a line that cannot be read is a fault, which the reader counts or raises."""
        with file.open() as lines:
            for number, line in enumerate(lines, 1):
                when, _, context = line.decode("utf-8", errors="replace").strip().partition(" ")
                try:
                    instant = (dt.datetime.fromisoformat(when) - EPOCH) // MICROSECOND
                except (ValueError, TypeError):  # a TypeError: it has no zone
                    yield number, Fault(number, "timestamp", when, "is no instant such as 2026-11-16T08:00+01:00")
                    continue
                yield number, (None, instant, None, None, None, context)
