"""Where rows come from: what every format gives, so that whoever takes rows need not know the format.

A `Format` recognises its files and opens one as a `Source`; a source gives `Batch`es of rows, each with its number in
the file, and a `Fault` for each row that cannot be read. `Table` takes any source and judges the values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from discreet.data.columns import ColumnNames
from discreet.deferred import pl


@dataclass(frozen=True)
class Origin:
    """Where rows come from."""

    file: str
    """The file as errors name it."""
    unit: str
    """What is counted, from 1: the line that an editor shows, the row of a Parquet file, the record of a log."""
    person: str
    """Whose the rows are where they do not say so themselves."""


@dataclass(frozen=True)
class Fault:
    """What is wrong with one row; `number` says which, in its origin's unit."""

    number: int
    column: str | None
    value: object
    problem: str


@dataclass(frozen=True)
class Batch:
    """Some rows of one file, in its order.

    `frame` has `number`, and a column for each role that is asked for: texts are text, times and degrees are as the
    file has them. Where it has no `user`, the rows are those of the origin's person. `done` of `total` is how far the
    source is read, in a measure of its own.
    """

    origin: Origin
    frame: pl.DataFrame
    faults: Sequence[Fault] = ()
    done: int = 0
    total: int = 0
    passed_over: int = 0
    """Records that speak of something else than what is asked for, such as a battery; no rows, and no fault."""

    @property
    def rows(self) -> int:
        """Rows in the file, the misshapen ones included."""
        return self.frame.height + len(self.faults)


class Source(Protocol):
    """Rows, of a file or of several; each call of `batches` starts from the first."""

    @property
    def name(self) -> str:
        """What errors about the whole call it: the path."""

    @property
    def header(self) -> Sequence[str]:
        """The names of the columns there are."""

    def batches(self, columns: ColumnNames) -> Iterator[Batch]:
        """The rows in bounded memory, with a column for each role of `columns`; one that is not there is an error."""


@runtime_checkable
class Format(Protocol):
    """A way of writing rows down. `formats.FORMATS` lists those that are known."""

    @property
    def name(self) -> str:
        """A word for it, such as "csv"."""

    @property
    def endings(self) -> tuple[str, ...]:
        """How names of such files end, in lower case; errors show them."""

    def recognises(self, path: Path, head: bytes) -> bool:
        """Whether this is such a file, by its name and by its first bytes (none of a folder)."""

    def open(self, path: Path) -> Source:
        """The rows of a file; what is wrong with it may also be told when they are read."""


def ends_with(path: Path, endings: Sequence[str]) -> bool:
    """Whether a file's name has one of these endings, in upper or lower case."""
    return path.name.lower().endswith(tuple(endings))


def stem(path: Path, endings: Sequence[str]) -> str:
    """The file's name without its ending: the person, where a file is one person's."""
    for ending in sorted(endings, key=len, reverse=True):
        if path.name.lower().endswith(ending) and len(path.name) > len(ending):
            return path.name[: -len(ending)]
    return path.name
