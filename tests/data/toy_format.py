"""A format of messages, as an importer would write it: a JSON object a line, in a file or one by one."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path

import polars as pl

from discreet.data.columns import ColumnNames
from discreet.data.rows import Parsed, Record
from discreet.data.source import Batch, Fault, Origin, ends_with, stem
from discreet.data.streams import opened

BATCH = 1000
"""Lines at a time."""


class Toy:
    name = "toy"
    endings = (".toy", ".toy.gz")

    def recognises(self, path: Path, head: bytes) -> bool:
        return ends_with(path, self.endings) or head.startswith(b'{"_toy"')

    def open(self, path: Path) -> ToySource:
        return ToySource(path, stem(path, self.endings))

    @staticmethod
    def parse(message: bytes) -> Parsed:
        try:
            said = json.loads(message)
        except ValueError:
            return Fault(1, None, message.decode(errors="replace").strip(), "is not JSON")
        if said["_toy"] == "battery":
            return None
        try:
            stamp = dt.datetime.fromisoformat(said["at"])
        except ValueError:
            return Fault(1, "at", said["at"], "is not a time")
        return Record(stamp, None, said.get("who"), said.get("zone"), said.get("lat"), said.get("lon"))


class ToySource:
    """The records that have what is asked for; others are passed over and counted."""

    header = ("user", "timestamp", "context", "lat", "lon")

    def __init__(self, path: Path, person: str) -> None:
        self.name, self._path, self._person = str(path), path, person

    def batches(self, columns: ColumnNames) -> Iterator[Batch]:
        columns.find(self.name, self.header)  # an error where something else is asked for
        with opened(self._path) as (stream, raw):
            numbered = enumerate(stream, 1)
            while some := list(islice(numbered, BATCH)):
                yield self._batch(some, columns, raw.tell())

    def _batch(self, some: list[tuple[int, bytes]], columns: ColumnNames, done: int) -> Batch:
        types = {role: pl.Float64 if kind == "degrees" else pl.String for role, kind in columns.kinds().items()}
        rows, faults = [], []
        messages = [(number, Toy.parse(line)) for number, line in some if line.strip()]
        for number, told in messages:
            if isinstance(told, Fault):
                faults.append(replace(told, number=number))
            elif told is not None:
                said = asdict(told) | {"timestamp": told.timestamp.isoformat(), "user": told.user or self._person}
                if all(said[role] is not None for role in types):
                    rows.append((number, *(said[role] for role in types)))
        frame = pl.DataFrame(rows, schema={"number": pl.Int64, **types}, orient="row")
        passed_over = len(messages) - len(rows) - len(faults)
        origin = Origin(self.name, "line", self._person)
        return Batch(origin, frame, faults, done, self._path.stat().st_size, passed_over)
