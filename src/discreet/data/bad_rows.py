"""Rows that cannot be used: raised at once, or counted and reported, never dropped in silence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import DataError

SHOWN = 5
"""How many skipped rows are described; the others are only counted."""


@dataclass(frozen=True)
class BadRows:
    """The rows that were skipped: how many, and what was wrong with the first few."""

    count: int = 0
    first: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.count


@dataclass(frozen=True)
class Fault:
    """What is wrong with one row. `line` is the line that an editor shows, or the row of a Parquet file, from 1."""

    line: int
    column: str | None
    value: object
    problem: str


class Tally:
    """Collects the faults of one file, or raises the first when bad rows are not to be skipped."""

    def __init__(self, path: Path, place: str, *, skip: bool) -> None:
        self._path = path
        self._place = place
        self._skip = skip
        self._count = 0
        self._first: list[str] = []

    def describe(self, fault: Fault) -> str:
        """File, place, column, value and problem, in a line."""
        column = "" if fault.column is None else f", column {fault.column!r}"
        return f"{self._path}, {self._place} {fault.line}{column}: {_shown(fault.value)} {fault.problem}"

    def add(self, faults: Sequence[Fault], count: int) -> None:
        """Take `count` faults of one batch, of which at least the first few are given."""
        if not count:
            return
        faults = sorted(faults, key=lambda fault: fault.line)
        if not self._skip:
            raise DataError(
                f"{self.describe(faults[0])}; fix it, or skip and count such rows with --skip-bad (skip_bad=True)"
            )
        self._count += count
        self._first += [self.describe(fault) for fault in faults[: SHOWN - len(self._first)]]

    def summary(self) -> BadRows:
        """What was skipped so far."""
        return BadRows(self._count, tuple(self._first))


def _shown(value: object) -> str:
    """The value as it stands in the file, cut where it is long."""
    if value is None:
        return "an empty field"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:76]}...{text[0]}"
