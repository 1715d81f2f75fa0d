"""The rows of a table that is in memory, or that polars scans: one way for Parquet and for data frames."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.data.columns import ColumnNames, Kind
from discreet.data.source import Batch, Origin
from discreet.deferred import pl
from discreet.errors import DataError
from discreet.frames import TABLE

BATCH = 400000
"""Rows at a time. Polars decodes a row group at a time beneath, so a file's own row groups add to memory."""

EXPECTED: dict[Kind, str] = {
    "text": "text or whole numbers",
    "degrees": "numbers, in degrees",
    "time": "a datetime, epoch seconds, or ISO 8601 text",
}
"""What a column must hold to be of a kind."""


class FrameSource:
    """The rows of a data frame, batch by batch; `name` is what errors call it."""

    def __init__(self, frame: pl.DataFrame, name: str = TABLE, person: str = "person") -> None:
        self._frame = frame
        self._origin = Origin(name, "row", person)

    @property
    def name(self) -> str:
        """What errors call it."""
        return self._origin.file

    @property
    def header(self) -> list[str]:
        """The column names."""
        return self._frame.columns

    def batches(self, columns: ColumnNames) -> Iterator[Batch]:
        """The rows, text columns as text."""
        yield from table_batches(self._frame.lazy(), self._origin, columns)


def schema_of(table: pl.LazyFrame) -> pl.Schema:
    """The columns and their types, asked of a copy: a scan that was asked itself decodes all before a slice, too."""
    return table.clone().collect_schema()


def table_batches(table: pl.LazyFrame, origin: Origin, columns: ColumnNames) -> Iterator[Batch]:
    """The rows of a table with named and typed columns, text as text."""
    schema = schema_of(table)
    columns.find(origin.file, schema.names())
    kinds = columns.kinds()
    roles = [
        _column(origin.file, role, name, schema[name], kinds[role]).alias(role)
        for role, name in columns.names().items()
    ]
    total = int(table.select(pl.len()).collect().item())
    numbered = table.with_row_index("__number", offset=1)
    rows = numbered.select(pl.col("__number").cast(pl.Int64).alias("number"), *roles)
    for start in range(0, total, BATCH):
        # Slices, because a stream of batches is decoded far ahead of who takes them.
        frame = rows.slice(start, BATCH).collect()
        yield Batch(origin, frame, done=start + frame.height, total=total)


def _column(file: str, role: str, name: str, held: pl.DataType, kind: Kind) -> pl.Expr:
    """A column, or an error where its type cannot hold values of the kind."""
    fits = {
        "text": isinstance(held, pl.String | pl.Categorical | pl.Enum) or held.is_integer(),
        "degrees": isinstance(held, pl.String) or held.is_numeric(),
        "time": isinstance(held, pl.String | pl.Datetime) or held.is_numeric(),
    }
    if not fits[kind]:
        raise DataError(f"{file}: column {name!r} holds {held}; the {role} must be {EXPECTED[kind]}")
    return pl.col(name).cast(pl.String) if kind == "text" else pl.col(name)
