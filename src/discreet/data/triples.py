"""The events of a table's rows, those that are equal as one object: a person may have a million of them."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from discreet.events import ATTRIBUTES, Event
from discreet.numerics import IntArray


class Triples(NamedTuple):
    """The different events of a table, and which of them each row has."""

    events: list[Event]
    codes: IntArray
    """(rows,): where in `events`."""

    @classmethod
    def of(cls, rows: pl.DataFrame) -> Triples:
        """Those of the columns activity, time and location."""
        rows = rows.select(ATTRIBUTES)
        different = rows.unique(maintain_order=True)
        numbered = rows.join(
            different.with_row_index("code"), on=ATTRIBUTES, how="left", nulls_equal=True, maintain_order="left"
        )
        return cls([Event(*values) for values in different.iter_rows()], numbered["code"].to_numpy().astype(int))

    def between(self, first: int, end: int) -> tuple[Event, ...]:
        """The events of some rows."""
        return tuple(map(self.events.__getitem__, self.codes[first:end].tolist()))
