"""Parquet tables, in batches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.data.columns import ColumnNames
from discreet.data.frames import schema_of, table_batches
from discreet.data.source import Batch, Origin, ends_with, stem
from discreet.deferred import pl
from discreet.errors import DataError

MAGIC = b"PAR1"


class Parquet:
    """Parquet files, by their ending or by the mark that they start with."""

    name = "parquet"
    endings = (".parquet",)

    def recognises(self, path: Path, head: bytes) -> bool:
        """By the ending, or by the first bytes."""
        return ends_with(path, self.endings) or head.startswith(MAGIC)

    def open(self, path: Path) -> ParquetSource:
        """The rows of a Parquet file."""
        return ParquetSource(path)


class ParquetSource:
    """The rows of a Parquet file, batch by batch."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._origin = Origin(str(path), "row", stem(path, Parquet.endings))
        self._header: list[str] | None = None

    @property
    def name(self) -> str:
        """The path."""
        return self._origin.file

    @property
    def header(self) -> list[str]:
        """The column names; the file is not opened again for them once it has been read."""
        if self._header is None:
            with _scanned(self._path) as table:
                self._header = schema_of(table).names()
        return self._header

    def batches(self, columns: ColumnNames) -> Iterator[Batch]:
        """The rows, text columns as text."""
        with _scanned(self._path) as table:
            self._header = schema_of(table).names()
            yield from table_batches(table, self._origin, columns)


@contextmanager
def _scanned(path: Path) -> Iterator[pl.LazyFrame]:
    """The file as a table that nothing is read of yet; every way in which reading can fail is a DataError."""
    try:
        with path.open("rb") as raw:
            start = raw.read(len(MAGIC))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}; check the path") from None
    if not start:
        raise DataError(f"{path}: the file is empty; expected a Parquet table")
    if start != MAGIC:
        raise DataError(f"{path}: this is not a Parquet file; rename or convert it")
    try:
        yield pl.scan_parquet(path, glob=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        why = next(iter(str(error).splitlines()), type(error).__name__)
        raise DataError(f"{path}: the Parquet file is damaged ({why}); copy or write it again") from None
