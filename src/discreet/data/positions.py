"""Tables of positions to tracks, and tracks to sequences of cells."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from discreet.data.bad_rows import BadRows
from discreet.data.columns import PositionColumns
from discreet.data.instants import SECOND, Epoch, stated_zone
from discreet.data.source import Source
from discreet.data.table import Codes, Table, positions_of
from discreet.deferred import pl
from discreet.errors import DataError
from discreet.frames import Rows, Tabular
from discreet.given import counted
from discreet.listener import Progress
from discreet.numerics import FloatArray, IntArray
from discreet.places import Cells, distances


@dataclass(frozen=True, eq=False)
class Track:
    """One person's positions in order of time: instants (m,), microseconds since 1970; positions (m, 2), degrees."""

    instants: IntArray
    positions: FloatArray

    def __len__(self) -> int:
        return len(self.instants)

    def parted(self, *, gap: float | None = None, fastest: float | None = None) -> list[Track]:
        """Cut where more than `gap` seconds pass, or where it would have taken more than `fastest` metres a second."""
        for name, value in (("gap", gap), ("fastest", fastest)):
            if value is not None and not value > 0:  # also catches NaN
                raise DataError(f"{name} is {value}; give a number above 0, or None for no limit")
        if len(self) < 2:
            return [self]
        seconds = np.diff(self.instants) / SECOND
        cut = np.zeros(len(seconds), dtype=np.bool_)
        if gap is not None:
            cut |= seconds > gap
        if fastest is not None:
            cut |= distances(self.positions[:-1], self.positions[1:]) > fastest * seconds
        bounds = [0, *(np.flatnonzero(cut) + 1).tolist(), len(self)]
        return [Track(self.instants[low:high], self.positions[low:high]) for low, high in pairwise(bounds)]


@dataclass(frozen=True)
class Positions(Tabular):
    """The tracks of the people in a table, in the order in which they first appear there."""

    people: Mapping[str, Track]
    rows: int
    """Rows read, the bad ones included."""
    bad: BadRows = field(default_factory=BadRows)
    """Rows skipped, with what was wrong with the first few."""
    passed_over: int = 0
    """Records of something else than positions, in logs that mix several kinds."""

    @property
    def all(self) -> FloatArray:
        """(m, 2): the positions of everybody."""
        return np.concatenate([track.positions for track in self.people.values()])

    def to_frame(self) -> pl.DataFrame:
        """A row for each position, under the columns that `read_positions` reads: user, timestamp (UTC), lat, lon."""
        instants = np.concatenate([track.instants for track in self.people.values()])
        names = [name for name, track in self.people.items() for _ in range(len(track))]
        where = self.all
        columns = {"user": names, "timestamp": instants, "lat": where[:, 0], "lon": where[:, 1]}
        return pl.DataFrame(columns).with_columns(pl.col("timestamp").cast(pl.Datetime("us", "UTC")))

    def __repr__(self) -> str:
        people = counted(len(self.people), "person", "people")
        return f"Positions({people}, {counted(self.rows, 'row')}, {len(self.bad)} bad)"


def read_positions(
    source: Source | Rows,
    *,
    columns: PositionColumns = PositionColumns(),  # noqa: B008  frozen, so one for all calls is safe
    naive_zone: str | dt.tzinfo | None = None,
    epoch: Epoch = "auto",
    skip_bad: bool = False,
    progress: Progress | None = None,
    zone: str | dt.tzinfo | None = None,
) -> Positions:
    """The positions of each person in a file (`formats.FORMATS`) or other `Source`.

    Times and bad rows are as in `read_days`. A latitude or longitude that is no number, NaN or outside its range makes
    a row bad. Positions at one instant stay in the file's order. Memory: about 40 bytes a row.
    """
    table, people = Table(source, columns, zone=stated_zone(naive_zone, zone), epoch=epoch, skip_bad=skip_bad), Codes()
    wanted = ("person", "timestamp_instant", "order", "latitude_degrees", "longitude_degrees")
    parts = [sound.with_columns(person=people.of(sound["user"])).select(wanted) for sound in table.batches(progress)]
    rows = pl.concat(parts).sort("person", "timestamp_instant", "order")
    bounds = np.searchsorted(rows["person"].to_numpy(), np.arange(len(people.names) + 1))
    instants, where = rows["timestamp_instant"].to_numpy(), positions_of(rows)
    return Positions(
        {
            name: Track(instants[low:high], where[low:high])
            for name, low, high in zip(people.names, bounds[:-1], bounds[1:], strict=True)
        },
        table.rows,
        table.bad,
        table.passed_over,
    )


def sequences(
    tracks: Iterable[Track], cells: Cells, *, gap: float | None = None, fastest: float | None = None
) -> list[tuple[str, ...]]:
    """The cells of each part of each track, a position a step; `gap` and `fastest` as in `Track.parted`."""
    return [tuple(cells.labels(part.positions)) for track in tracks for part in track.parted(gap=gap, fastest=fastest)]
