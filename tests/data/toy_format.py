"""A format of messages, as an importer would write it: a JSON object a line, in a file or one by one."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

from discreet.data.records import Parsed, Record, RecordSource, by_line
from discreet.data.source import Fault, ends_with, stem


class Toy:
    name = "toy"
    endings = (".toy", ".toy.gz")

    def recognises(self, path: Path, head: bytes) -> bool:
        return ends_with(path, self.endings) or head.startswith(b'{"_toy"')

    def open(self, path: Path) -> RecordSource:
        holds = ("timestamp", "end", "context", "latitude", "longitude")
        return RecordSource(path, stem(path, self.endings), holds, by_line(self.parse))

    def parse(self, message: bytes) -> Parsed:
        try:
            said = json.loads(message)
        except ValueError:
            return Fault(1, None, message.decode(errors="replace").strip(), "is not JSON")
        if said["_toy"] == "battery":
            return None
        try:
            stamp = dt.datetime.fromisoformat(said["at"])
            end = dt.datetime.fromisoformat(said["until"]) if "until" in said else None
        except ValueError:
            return Fault(1, "at", said["at"], "is not a time")
        return Record(stamp, end, said.get("who"), said.get("zone"), said.get("lat"), said.get("lon"))
