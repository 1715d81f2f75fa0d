"""Positions in degrees to days in cells of a map."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from discreet.clock import Clock
from discreet.data import read_days
from discreet.errors import DataError
from discreet.experiments.shared.people import Progress, Rules, Trace, existing


@dataclass(frozen=True)
class Map:
    """A file of positions (user, timestamp as epoch, lat, lon), where it was recorded, and the side of a cell in degrees."""

    file: str
    zone: str
    side: float

    def read(self, folder: Path, rules: Rules, progress: Progress | None = None) -> list[Trace]:
        """Everybody's cells by the rules' slots, those with too few days left out."""
        path = existing(folder, self.file)
        try:
            table = pl.read_csv(path, columns=["user", "timestamp", "lat", "lon"], infer_schema_length=None)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise DataError(f"{path}: cannot be read as CSV: {str(error).splitlines()[0]}") from None
        cell = pl.concat_str(
            (pl.col(axis).floordiv(self.side).cast(pl.Int64) for axis in ("lat", "lon")), separator=" "
        )
        clock = Clock(rules.slots, zone=self.zone, cut=rules.cut)
        with tempfile.TemporaryDirectory() as own:  # days are read from files
            named = Path(own) / "cells.csv"
            table.select("user", "timestamp", cell.alias("context")).write_csv(named)
            days = read_days(named, clock, pick="modal", progress=progress).people.values()
        enough = [own_days for own_days in days if len(own_days) >= rules.least_days]
        return [Trace(number, tuple(own_days)) for number, own_days in enumerate(enough, 1)]


BEIJING = Map("geolife_beijing3ring_60s.csv.gz", "Asia/Shanghai", 0.02)
LOS_ANGELES = Map("gowalla_la.csv.gz", "America/Los_Angeles", 0.05)
"""Cells of about 2 km within Beijing's third ring, and of 5 km in Los Angeles."""
