"""Tables in and out: data frames of pandas and polars, Arrow tables and open files, whoever takes rows.

polars is imported when a table comes or goes, pandas and pyarrow only where the table is theirs or is asked for as
such: none of them is needed for anything else here.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeAlias

from discreet.errors import DataError, DiscreetError

if TYPE_CHECKING:
    import polars as pl

TABLE = "the data frame"
"""What errors call a table that has no path."""

TABLES = "a path, an open file, a data frame of pandas or polars, or an Arrow table"
"""What can be given where rows are wanted."""


class ArrowStream(Protocol):
    """A data frame of pandas or polars, an Arrow table, or whatever else gives its rows as an Arrow stream."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The stream."""


Rows: TypeAlias = "str | Path | IO[str] | IO[bytes] | ArrowStream | pl.LazyFrame"
"""What can be given where rows are wanted, beside a `Source`."""


class Tabular(ABC):
    """A result that is also a table, and can be given wherever one is taken, also by other libraries."""

    @abstractmethod
    def to_frame(self) -> pl.DataFrame:
        """The result as a polars data frame."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_frame().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> Any:
        """The same as a pandas data frame; needs pandas and pyarrow."""
        try:
            return self.to_frame().to_pandas()
        except ImportError as error:
            raise DiscreetError(
                f"to_pandas() needs pandas and pyarrow ({error}); pip install pandas pyarrow, or use to_frame()"
            ) from None


def is_file(given: object) -> bool:
    """Whether this is an open file, of text or of bytes."""
    return callable(getattr(given, "read", None)) and not isinstance(given, type)


def is_frame(given: object) -> bool:
    """Whether this is a data frame or an Arrow table."""
    return not isinstance(given, type) and (_is_pandas(given) or _is_polars(given) or _speaks_arrow(given))


def is_table(given: object) -> bool:
    """Whether rows can be read from this: a path, an open file, a data frame or an Arrow table."""
    return isinstance(given, str | Path) or is_file(given) or is_frame(given)


def frame_of(given: Any) -> pl.DataFrame:
    """A data frame or Arrow table as a polars data frame. Named indices of pandas are columns."""
    import polars as pl

    try:
        if isinstance(given, pl.LazyFrame):
            return given.collect()
        if isinstance(given, pl.DataFrame):
            return given
        if _is_pandas(given):
            named = any(name is not None for name in given.index.names)
            found = pl.from_pandas(given.reset_index() if named else given)
        else:
            found = pl.DataFrame(given)  # by the Arrow stream that it speaks
    except ImportError as error:
        raise DataError(f"{TABLE} cannot be read without pyarrow ({error}); pip install pyarrow") from None
    except (pl.exceptions.PolarsError, ValueError, TypeError) as error:  # pyarrow's errors are both
        why = next(iter(str(error).splitlines()), type(error).__name__)
        raise DataError(f"{TABLE} cannot be read ({why}); give each column values of one type") from None
    return found


def _is_pandas(given: object) -> bool:
    pandas = sys.modules.get("pandas")  # who has a data frame of pandas has imported it
    return pandas is not None and isinstance(given, pandas.DataFrame)


def _is_polars(given: object) -> bool:
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(given, polars.DataFrame | polars.LazyFrame)


def _speaks_arrow(given: object) -> bool:
    polars = sys.modules.get("polars")
    column = polars is not None and isinstance(given, polars.Series)
    return not column and hasattr(given, "__arrow_c_stream__")
