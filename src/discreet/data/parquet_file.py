"""Parquet tables, in batches that polars streams."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from discreet.data.batch import Batch
from discreet.data.columns import Named
from discreet.errors import DataError

BATCH = 100_000
"""Rows at a time. Polars decodes a row group at a time beneath, so a file's own row groups add to memory."""


def batches(path: Path, columns: Named) -> Iterator[Batch]:
    """The rows of a Parquet file, batch by batch, text columns as text."""
    try:
        with path.open("rb") as raw:
            start = raw.read(4)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}; check the path") from None
    if not start:
        raise DataError(f"{path}: the file is empty; expected a Parquet table")
    if start != b"PAR1":
        raise DataError(f"{path}: the name ends in .parquet but this is not a Parquet file; rename or convert it")
    try:
        yield from _read(path, columns)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        why = next(iter(str(error).splitlines()), type(error).__name__)
        raise DataError(f"{path}: the Parquet file is damaged ({why}); copy or write it again") from None


def _read(path: Path, columns: Named) -> Iterator[Batch]:
    table = pl.scan_parquet(path, glob=False)
    schema = table.collect_schema()
    columns.find(path, schema.names())
    roles = [
        _column(path, role, name, schema[name], text=role in columns.texts) for role, name in columns.names().items()
    ]
    total = int(table.select(pl.len()).collect().item())
    done = 0
    for frame in (
        table.with_row_index("__line", offset=1)
        .select(pl.col("__line").cast(pl.Int64).alias("line"), *roles)
        .collect_batches(chunk_size=BATCH, maintain_order=True)
    ):
        done += frame.height
        yield Batch(frame, [], done, total)


def names(path: Path) -> list[str]:
    """The column names of a Parquet file that has been read."""
    return pl.scan_parquet(path, glob=False).collect_schema().names()


def _column(path: Path, role: str, name: str, held: pl.DataType, *, text: bool) -> pl.Expr:
    """A column under the name of its role, or an error where its type cannot hold such values."""
    if text:
        if not (isinstance(held, pl.String | pl.Categorical | pl.Enum) or held.is_integer()):
            raise DataError(f"{path}: column {name!r} holds {held}; the {role} must be text or whole numbers")
        return pl.col(name).cast(pl.String).alias(role)
    if role in ("latitude", "longitude"):
        if not (isinstance(held, pl.String) or held.is_numeric()):
            raise DataError(f"{path}: column {name!r} holds {held}; the {role} must be numbers, in degrees")
        return pl.col(name).alias(role)
    if not (isinstance(held, pl.String | pl.Datetime) or held.is_numeric()):
        raise DataError(
            f"{path}: column {name!r} holds {held}; the {role} must be a datetime, epoch seconds, or ISO 8601 text"
        )
    return pl.col(name).alias(role)
