"""Tables of readings that Spark's workers read, and the days that one person's rows make.

Rows are judged and times become instants where the files are read; slots, days and merged contexts are made by
`read_days` itself, of the rows of one person at a time. It treats people apart from each other, so the days are those
that it makes of the whole table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from discreet.clock import Clock
from discreet.data.columns import ColumnNames, Columns
from discreet.data.formats.csv import Csv
from discreet.data.instants import zone_named
from discreet.data.readings import Readings, read_days
from discreet.data.source import Batch, Origin, ends_with
from discreet.data.table import Table

SCHEMA: dict[str, Any] = {
    "person": pl.String,
    "instant": pl.Int64,
    "order": pl.Int64,
    "context": pl.String,
    "end": pl.Int64,
}
"""Of what is read: microseconds, of a reading or a stay's start, and of its end; and where a row stands among all."""

HELD = Columns()
HELD_STAYS = Columns(start="start", end="end")


@dataclass(frozen=True)
class ReadingTable:
    """A table of readings to be read by many: files, folders or patterns, and the rules of `read_days`."""

    data: tuple[str, ...]
    clock: Clock
    columns: Columns = HELD
    naive_zone: str | None = None
    time_format: str | None = None
    separator: str | None = None
    skip_bad: bool = False
    carry: int = 0
    merge_below: float = 0.0
    keep: tuple[str, ...] = ()
    telling: Callable[[str], bool] | None = None

    schema: ClassVar[dict[str, Any]] = SCHEMA

    def __post_init__(self) -> None:
        if self.naive_zone is not None:
            zone_named(self.naive_zone)  # what is wrong with it is told here, not by a worker

    def sound(self, source: Any) -> Table:
        """The sound rows of one source."""
        if self.separator is not None and isinstance(source, str) and ends_with(Path(source), Csv.endings):
            source = Csv(self.separator).open(Path(source))
        return Table(
            source, self.columns, zone=self.naive_zone, epoch="auto", skip_bad=self.skip_bad, form=self.time_format
        )

    def arranged(self, sound: pl.DataFrame) -> pl.DataFrame:
        """Sound rows by the names of SCHEMA."""
        first, *last = (pl.col(f"{role}_instant") for role in self.columns.times)
        end = last[0] if last else pl.lit(None, pl.Int64)
        return sound.select(person="user", instant=first, order="order", context="context", end=end)

    def days(self, rows: pl.DataFrame) -> Readings:
        """The days of the people whose rows these are: all of them, in any order."""
        stays = len(self.columns.times) > 1
        return read_days(
            _Held(rows.sort("order"), stays=stays),
            self.clock,
            columns=HELD_STAYS if stays else HELD,
            carry=self.carry,
            merge_below=self.merge_below,
            keep=self.keep,
            telling=self.telling,
        )


class _Held:
    """Sound rows as a source."""

    name = "rows that were brought together"

    def __init__(self, rows: pl.DataFrame, *, stays: bool) -> None:
        times = {"start": "instant", "end": "end"} if stays else {"timestamp": "instant"}
        self._frame = rows.select(
            pl.col("order").alias("number"),
            pl.col("person").alias("user"),
            *(pl.from_epoch(held, "us").dt.replace_time_zone("UTC").alias(role) for role, held in times.items()),
            pl.col("context"),
        )
        self.header: Sequence[str] = self._frame.columns

    def batches(self, columns: ColumnNames) -> Iterator[Batch]:
        yield Batch(Origin(self.name, "row", ""), self._frame)
