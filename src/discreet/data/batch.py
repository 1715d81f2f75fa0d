"""What every reader yields."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from discreet.data.bad_rows import Fault


@dataclass(frozen=True)
class Batch:
    """Some rows of a table, in file order.

    `frame` has the line and a column for each role that is read (user not, where the file is one person's); texts are
    text, times and degrees are as the file has them. `done` of `total` is how far the file is read.
    """

    frame: pl.DataFrame
    faults: list[Fault] = field(default_factory=list)
    done: int = 0
    total: int = 0

    @property
    def rows(self) -> int:
        """Rows in the file, the misshapen ones included."""
        return self.frame.height + len(self.faults)
