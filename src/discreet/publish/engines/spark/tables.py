"""Tables that Spark's workers read: a sound row an event or a reading, by the rules and the code of `data.table`.

Parquet is read by Spark, which splits it, and judged here batch by batch. Other formats are read here, a file a task:
only so a quoted line break, a header of another order and a misshapen row mean the same as elsewhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol
from urllib.parse import unquote

import polars as pl

from discreet.data.columns import ColumnNames, EventColumns
from discreet.data.formats import open_source
from discreet.data.formats.parquet import Parquet
from discreet.data.frames import EXPECTED
from discreet.data.instants import Epoch, zone_named
from discreet.data.many_files import files_of, is_many
from discreet.data.source import Batch, Origin, stem
from discreet.data.table import Table
from discreet.data.trajectories import interval_of
from discreet.errors import DataError
from discreet.events import Intervals

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

SCHEMA: dict[str, Any] = {
    "person": pl.String,
    "instant": pl.Int64,
    "order": pl.Int64,
    "activity": pl.String,
    "location": pl.String,
}
"""Of what is read: microseconds, and where a row stands among all, which decides between events of one instant."""

NOBODY = ""
"""No person is called so. Its rows say of each part how many rows were skipped (`instant`), and why (`activity`)."""

INFERRED = "spark.sql.sources.partitionColumnTypeInference.enabled"
"""Whether Spark takes what folders name for numbers: 007 and 7 would be one person. Here it is text, as elsewhere."""

FILE_PLACE = 44
"""Bits of `order` for the row in a file; those above, but the sign, are for the number of the file."""


class WorkersTable(Protocol):
    """A table as workers read it: of events, or of readings (`spark_readings`)."""

    @property
    def data(self) -> tuple[str, ...]:
        """Files, folders or patterns."""

    @property
    def columns(self) -> Any:
        """Which of its columns are read."""

    @property
    def schema(self) -> dict[str, Any]:
        """Of its sound rows: person, instant, order, a text and one more."""

    def sound(self, source: Any) -> Table:
        """The sound rows of one source."""

    def arranged(self, sound: pl.DataFrame) -> pl.DataFrame:
        """Sound rows by the names of the schema."""


@dataclass(frozen=True)
class EventTable:
    """A table of events to be read by many: files, folders or patterns, and the rules of `read_trajectories`."""

    data: tuple[str, ...]
    intervals: Intervals = field(default_factory=Intervals)
    columns: EventColumns = field(default_factory=EventColumns)
    naive_zone: str | None = None
    epoch: Epoch = "auto"
    skip_bad: bool = False

    schema: ClassVar[dict[str, Any]] = SCHEMA

    def __post_init__(self) -> None:
        if not self.data:
            raise DataError("there is no table to read; give a file, a folder of Parquet files or a pattern")
        if self.naive_zone is not None:
            zone_named(self.naive_zone)  # what is wrong with it is told here, not by a worker
        object.__setattr__(self, "intervals", self.intervals.on(self.naive_zone))

    def sound(self, source: Any) -> Table:
        """The sound rows of one source."""
        return Table(source, self.columns, zone=self.naive_zone, epoch=self.epoch, skip_bad=self.skip_bad)

    def files(self) -> list[str]:
        """Those of a table that is not Parquet."""
        return plain_files(self.data)

    def arranged(self, sound: pl.DataFrame) -> pl.DataFrame:
        """Sound rows by the names of SCHEMA."""
        return sound.select(
            person="user", instant="timestamp_instant", order="order", activity="activity", location="location"
        )

    def cleaned(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Events of whole persons in order, and for each person how many rows were duplicates and out of order.

        The rules of `read_trajectories`: order is that of instants, then of rows; rows that say the same are one event.
        """
        rows = rows.sort("person", "order")
        distinct = rows.unique(["person", "instant", "activity", "location"], keep="first", maintain_order=True)
        counts = (
            rows.group_by("person", maintain_order=True)
            .agg(
                read=pl.len().cast(pl.Int64),
                unordered=(pl.col("instant") < pl.col("instant").cum_max()).sum().cast(pl.Int64),
            )
            .join(distinct.group_by("person").agg(kept=pl.len().cast(pl.Int64)), on="person", maintain_order="left")
        )
        counts = counts.select("person", "unordered", duplicates=pl.col("read") - pl.col("kept"))
        return self.timed(distinct.sort("person", "instant", maintain_order=True)), counts

    def timed(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows with the part of the day in which they happened."""
        names = pl.Series(list(self.intervals.names), dtype=pl.String)
        return rows.with_columns(time=pl.lit(names).gather(interval_of(self.intervals)))


def plain_files(data: Sequence[str]) -> list[str]:
    """The files of a table that is not Parquet, in order of their names; nothing for Parquet."""
    found: list[Path] = []
    for one in data:
        if is_remote(one):
            return []
        found += _files(Path(one).absolute())
    kinds = set(map(_is_parquet, found))
    if len(kinds) > 1:
        raise DataError(f"{', '.join(data)}: Parquet and other files in one table; give them as one format")
    return [] if True in kinds else list(map(str, found))


def _is_parquet(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return Parquet().recognises(path, file.read(4))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}; check the path") from None


def read_events(session: SparkSession, table: WorkersTable) -> tuple[DataFrame, list[str]]:
    """The sound rows of a table (its schema), and the columns that it has; nothing is read yet but the header."""
    files = plain_files(table.data)
    if not files:
        return _read_parquet(session, table)
    header = list(open_source(files[0]).header)
    table.columns.find(files[0], header)
    numbered = session.sparkContext.parallelize(list(enumerate(files)), len(files)).toDF("file long, path string")
    return numbered.mapInArrow(partial(_read_files, table), spark_schema(table.schema)), header


def _read_files(table: WorkersTable, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for one in batch.to_pylist():
            sound = table.sound(one["path"])
            for part in sound.batches():
                yield from _arranged(table, part.with_columns(order=pl.col("order") + (one["file"] << FILE_PLACE)))
            yield from _skipped(table, sound, one["file"])


def _arranged(table: WorkersTable, sound: pl.DataFrame) -> Iterator[pa.RecordBatch]:
    yield from to_batches(table.arranged(sound), table.schema)


def _skipped(table: WorkersTable, sound: Table, file: int) -> Iterator[pa.RecordBatch]:
    bad = sound.bad
    if bad.count:
        told = [(NOBODY, bad.count, file << FILE_PLACE, json.dumps(bad.first), None)]
        yield from to_batches(pl.DataFrame(told, schema=table.schema, orient="row"), table.schema)


# --- Parquet, which Spark splits


def _read_parquet(session: SparkSession, table: WorkersTable) -> tuple[DataFrame, list[str]]:
    from pyspark.errors import PySparkException
    from pyspark.sql.functions import col

    before = session.conf.get(INFERRED)
    session.conf.set(INFERRED, "false")
    try:
        frame = session.read.parquet(*(_address(one) for one in table.data))
    except PySparkException as error:
        why = next(iter(str(error).splitlines()), "")
        raise DataError(f"{', '.join(table.data)}: cannot be read as Parquet ({why}); check the path") from None
    finally:
        session.conf.set(INFERRED, before)
    header = frame.columns
    table.columns.find(table.data[0], header)
    _same_columns(table)
    kinds, held = table.columns.kinds(), dict(frame.dtypes)
    roles = []
    for role, name in table.columns.names().items():
        _check_type(table.data[0], name, role, kinds[role], held[name])
        column = col(f"`{name}`")
        roles.append((column.cast("string") if kinds[role] == "text" else column).alias(role))
    # The names are read off the files, not out of rows, and are as many as these.
    files = _numbered(frame.inputFiles())
    chosen = frame.select(*roles, col("_metadata.file_path").alias("file"), col("_metadata.row_index").alias("row"))
    return chosen.mapInArrow(partial(_read_split, table, files, header), spark_schema(table.schema)), header


def _same_columns(table: WorkersTable) -> None:
    """Refuse files with other columns than the first, as `data.many` does: Spark would take what lacks for nothing.

    Those of a store are left to Spark, which tells of columns of another kind alone.
    """
    first: tuple[Path, set[str]] | None = None
    for path in (file for one in table.data if not is_remote(one) for file in _files(Path(one))):
        try:
            names = set(pl.read_parquet_schema(path))
        except (OSError, pl.exceptions.PolarsError):
            raise DataError(f"{path}: is not a Parquet file, or is cut off; write it again") from None
        first = first or (path, names)
        for name in sorted(first[1] ^ names):
            has, whose = ("has no", "has") if name in first[1] else ("has a", "has not")
            raise DataError(
                f"{path}: {has} column {name!r}, which {first[0]} {whose}; give all files the same columns, or read "
                "them apart"
            )


def _files(path: Path) -> list[Path]:
    return files_of(path)[0] if is_many(path) else [path]


def _numbered(addresses: Sequence[str]) -> dict[str, int]:
    """Files in the order that `files_of` has: it decides between events of one instant in different files."""
    return {path: number for number, path in enumerate(sorted(map(_plain_path, addresses), key=Path))}


def is_remote(path: str) -> bool:
    """Whether a path is the address of a store, such as s3a://bucket/events."""
    return re.match(r"[a-z][a-z0-9]+:/", path) is not None


def address_of(path: Path) -> str:
    """What was given as a path: one of a store has lost a slash on the way."""
    return re.sub(r"^(?!hdfs:|file:)([a-z][a-z0-9]+):/(?!/)", r"\1://", str(path))


def _address(path: str) -> str:
    return path if is_remote(path) else str(Path(path).absolute())


def _plain_path(address: str) -> str:
    return unquote(address.removeprefix("file:")).replace("///", "/", 1) if address.startswith("file:") else address


def _check_type(file: str, name: str, role: str, kind: Any, held: str) -> None:
    whole = held in ("tinyint", "smallint", "int", "bigint")
    fits = {
        "text": held == "string" or whole,
        "time": held in ("string", "timestamp", "timestamp_ntz", "double", "float") or whole,
    }
    if not fits[kind]:
        raise DataError(f"{file}: column {name!r} holds {held}; the {role} must be {EXPECTED[kind]}")


def _read_split(
    table: WorkersTable, files: dict[str, int], header: Sequence[str], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Sound rows of a part of the files, whose rows say from which file and row they are."""
    sound, file = table.sound(_Split(batches, header)), 0
    for part in sound.parts():
        file = files[_plain_path(part["file"][0])]
        yield from _arranged(table, part.with_columns(order=pl.col("number") - 1 + (file << FILE_PLACE)))
    yield from _skipped(table, sound, file)


class _Split:
    """Batches that Spark has read, as a source: one file at a time."""

    def __init__(self, batches: Iterator[pa.RecordBatch], header: Sequence[str]) -> None:
        self._batches = batches
        self.name = "a part of the table"
        self.header = header

    def batches(self, columns: ColumnNames) -> Iterator[Batch]:
        for one in self._batches:
            frame = pl.DataFrame(pl.from_arrow(one)).with_columns(number=pl.col("row") + 1)
            for file in frame.partition_by("file", maintain_order=True):
                path = Path(_plain_path(file["file"][0]))
                yield Batch(Origin(str(path), "row", stem(path, Parquet.endings)), file)


# --- tables of polars as Spark takes them


def spark_schema(schema: dict[str, Any]) -> str:
    """A schema in Spark's words."""
    return ", ".join(f"{_quoted(name)} {_spark_type(kind)}" for name, kind in schema.items())


def _quoted(name: str) -> str:
    """A name of a column, whatever characters it has: that of a secret may be part of it."""
    return "`" + name.replace("`", "``") + "`"


def _spark_type(kind: Any) -> str:
    match kind:
        case pl.List():
            return f"array<{_spark_type(kind.inner)}>"
        case pl.Struct():
            return f"struct<{', '.join(f'{one.name}: {_spark_type(one.dtype)}' for one in kind.fields)}>"
    return {pl.String: "string", pl.Int64: "bigint", pl.Float64: "double", pl.Boolean: "boolean"}[kind]


def to_batches(frame: pl.DataFrame, schema: dict[str, Any]) -> list[pa.RecordBatch]:
    """A table as Spark takes it: its columns in the order of the schema, texts and lists with short offsets."""
    import pyarrow as pa

    wanted = pa.schema([(name, _arrow_type(kind)) for name, kind in schema.items()])
    table: pa.Table = frame.select(list(schema)).to_arrow(compat_level=pl.CompatLevel.oldest())
    batches: list[pa.RecordBatch] = table.cast(wanted).combine_chunks().to_batches()
    return batches


def _arrow_type(kind: Any) -> Any:
    import pyarrow as pa

    match kind:
        case pl.List():
            return pa.list_(_arrow_type(kind.inner))
        case pl.Struct():
            return pa.struct([(one.name, _arrow_type(one.dtype)) for one in kind.fields])
    return {pl.String: pa.string(), pl.Int64: pa.int64(), pl.Float64: pa.float64(), pl.Boolean: pa.bool_()}[kind]
