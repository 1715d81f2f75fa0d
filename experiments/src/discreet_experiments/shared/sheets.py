"""Sheets of results: whole to a CSV file, rounded to the terminal."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.files import written_whole

Cell = str | int | float | None


@dataclass(frozen=True)
class Sheet:
    """Rows under a header."""

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Cell]]) -> Sheet:
        """From rows that all have the same keys."""
        header = tuple(rows[0]) if rows else ()
        return cls(header, tuple(tuple(row[name] for name in header) for row in rows))

    @classmethod
    def joined(cls, tables: Sequence[Sheet]) -> Sheet:
        """The rows of several sheets with the same header, one after another."""
        return cls(tables[0].header, tuple(row for table in tables for row in table.rows))

    def records(self) -> list[dict[str, Cell]]:
        """The rows as mappings."""
        return [dict(zip(self.header, row, strict=True)) for row in self.rows]

    def without(self, *columns: str) -> Sheet:
        """The sheet without these columns."""
        kept = [k for k, name in enumerate(self.header) if name not in columns]
        return Sheet(tuple(self.header[k] for k in kept), tuple(tuple(row[k] for k in kept) for row in self.rows))

    def shown(self) -> list[list[str]]:
        """The cells as a terminal shows them."""
        return [[_shown(cell) for cell in row] for row in self.rows]

    def write(self, path: Path) -> None:
        """The whole sheet as CSV, numbers in full."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.header)
        writer.writerows(["" if cell is None else cell for cell in row] for row in self.rows)
        with written_whole(path) as file:
            file.write(text.getvalue().encode())


def _shown(cell: Cell) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:.3f}" if abs(cell) >= 0.0005 or cell == 0 else f"{cell:.1e}"
    return str(cell)


def mean(values: Sequence[float]) -> float:
    """Their mean; of none, not a number."""
    return sum(values) / len(values) if values else float("nan")
