"""Logs: a JSON object a line, made of fields on a list and of words that stand in the program.

What a message is filled with may be anything that was read, and an error's text as well, so neither is written: of a
record there remain its time, level and logger, the message as the program has it, the kind of an error and where in the
program it was raised, and those `extra` fields that are listed here. Libraries may format before they log, so of
others' records not even the message is kept, but for the server's own.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import sys
import traceback
from pathlib import Path
from typing import TextIO

FIELDS = ("kind", "method", "status", "token", "host", "port", "people", "slots", "part")
"""What may be added to a record, by `extra`: nothing of a reading, a label or a time of one."""

OURS = ("discreet.", "uvicorn.")


class OnlyListed(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        when = dt.datetime.fromtimestamp(record.created, dt.UTC).isoformat(timespec="seconds")
        line: dict[str, object] = {"time": when, "level": record.levelname.lower(), "from": record.name}
        if record.name.startswith(OURS):
            line["says"] = str(record.msg).strip()  # without what it is filled with
        for field in FIELDS:
            value = getattr(record, field, None)
            if isinstance(value, str | int):
                line[field] = value
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            line["kind"] = type(error).__name__
            frames = traceback.extract_tb(error.__traceback__)
            line["at"] = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames[-3:]]
        return json.dumps(line, ensure_ascii=False)


def set_up(stream: TextIO | None = None, level: int = logging.INFO) -> logging.Handler:
    """Send everything that any library logs through the list, and nothing beside it."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(OnlyListed())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("discreet").setLevel(level)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi"):
        library = logging.getLogger(name)
        library.handlers[:], library.propagate = [], True
        library.setLevel(logging.WARNING)
    return handler
