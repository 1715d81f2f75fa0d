"""Tables of events to trajectories."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast, overload

import numpy as np

from discreet.data.bad_rows import BadRows
from discreet.data.columns import EventColumns
from discreet.data.instants import EPOCH, SECOND, Epoch, stated_zone, zone_named
from discreet.data.source import Source
from discreet.data.table import Codes, Table
from discreet.deferred import pl
from discreet.errors import DataError, DiscreetError, did_you_mean
from discreet.events import Event, Intervals, Trajectory
from discreet.frames import TABLES, Rows, Tabular, is_table
from discreet.given import counted, words_for
from discreet.listener import Progress
from discreet.numerics import IntArray


@dataclass(frozen=True, eq=False, repr=False)
class Trajectories(Sequence[Trajectory], Tabular):
    """The trajectories of the people in a table, in the order in which they first appear there.

    They are held as numbers and made one at a time, when asked for: `for trajectory in read` holds one person's events.
    """

    people: tuple[str, ...]
    rows: int
    """Rows read, the bad ones included."""
    bad: BadRows
    """Rows skipped, with what was wrong with the first few."""
    unordered: int
    """Events that stood below a later event of the same person, and were sorted to their place."""
    duplicates: int
    """Rows left out because the person, the instant, the activity and the location were those of another row."""
    _words: tuple[list[str], list[str], list[str]]  # the values of each attribute
    _codes: IntArray  # (N, 3)
    _instants: IntArray  # (N,) microseconds
    _bounds: IntArray  # (P + 1,) where each person's events start

    def __len__(self) -> int:
        return len(self.people)

    def __repr__(self) -> str:
        people, events = counted(len(self), "person", "people"), counted(self.events, "event")
        return (
            f"Trajectories({people}, {events}, {counted(self.rows, 'row')}, {len(self.bad)} bad, "
            f"{self.unordered} unordered, {counted(self.duplicates, 'duplicate')})"
        )

    @property
    def events(self) -> int:
        """How many events there are in all."""
        return len(self._codes)

    def to_frame(self) -> pl.DataFrame:
        """A row for each event, under the columns that `read_trajectories` reads, and the part of the day, `time`."""
        activities, times, locations = (np.array(words, dtype=object) for words in self._words)
        names = np.repeat(np.array(self.people, dtype=object), np.diff(self._bounds))
        columns = {
            "user": names,
            "timestamp": self._instants,
            "location": locations[self._codes[:, 2]],
            "activity": activities[self._codes[:, 0]],
            "time": times[self._codes[:, 1]],
        }
        texts = {name: pl.String for name in columns if name != "timestamp"}
        frame = pl.DataFrame(columns, schema_overrides=texts)
        return frame.with_columns(pl.col("timestamp").cast(pl.Datetime("us", "UTC")))

    @cached_property
    def _made(self) -> dict[tuple[int, ...], Event]:
        """One object for each distinct event."""
        distinct = np.unique(self._codes, axis=0).tolist()
        activities, times, locations = self._words
        return {(a, t, p): Event(activities[a], times[t], locations[p]) for a, t, p in distinct}

    @overload
    def __getitem__(self, place: int) -> Trajectory: ...
    @overload
    def __getitem__(self, place: slice) -> list[Trajectory]: ...
    def __getitem__(self, place: int | slice) -> Trajectory | list[Trajectory]:
        if isinstance(place, slice):
            return [self[k] for k in range(*place.indices(len(self)))]
        number = range(len(self))[place]
        own = slice(*self._bounds[number : number + 2])
        events = tuple(self._made[a, t, p] for a, t, p in self._codes[own].tolist())
        instants = tuple(EPOCH + dt.timedelta(microseconds=instant) for instant in self._instants[own].tolist())
        return Trajectory(self.people[number], events, instants)

    def __iter__(self) -> Iterator[Trajectory]:
        return (self[number] for number in range(len(self)))

    def of(self, person: str) -> Trajectory:
        """One person's trajectory."""
        if person not in self.people:
            raise DiscreetError(f"there is nobody called {person!r}; {did_you_mean(person, self.people)}")
        return self[self.people.index(person)]


def read_trajectories(
    source: Source | Rows,
    intervals: Intervals = Intervals(),  # noqa: B008  frozen, so one for all calls is safe
    *,
    columns: EventColumns = EventColumns(),  # noqa: B008  likewise
    naive_zone: str | dt.tzinfo | None = None,
    epoch: Epoch = "auto",
    skip_bad: bool = False,
    progress: Progress | None = None,
    zone: str | dt.tzinfo | None = None,
) -> Trajectories:
    """The trajectory of each person in a table with one event a row: a file (`formats.FORMATS`) or other `Source`.

    **Timestamps** are read as by `read_days`: epoch numbers, ISO 8601 with an offset, or without one where `naive_zone`
    says which. Offsets may differ from row to row. An event's **time** is the part of the day by the rule `intervals`,
    on the wall clock of the rule's own zone, or else of `naive_zone`, or else of UTC.

    **Order** is that of the instants, then of the rows; how many events had to be sorted is told (`unordered`). Rows
    that say exactly the same are one event (`duplicates`); two different events at one instant are two.

    **Memory** is bounded by the answer: what `read_days` needs to work in, and 32 bytes an event, some 230
    while they are sorted. Trajectories are made when asked for, one person at a time.

    **Bad rows**, among them an empty user, activity or location, are a DataError that names file, line, column and
    value, or with `skip_bad` are counted in `.bad`. A timestamp whose zone is nowhere stated is always an error.
    """
    stated = stated_zone(naive_zone, zone)
    intervals = intervals.on(stated)
    table = Table(source, columns, zone=stated, epoch=epoch, skip_bad=skip_bad)
    people, activities, locations = Codes(), Codes(), Codes()
    parts = [
        sound.select(
            person=people.of(sound["user"]),
            instant="timestamp_instant",
            activity=activities.of(sound["activity"]),
            location=locations.of(sound["location"]),
        )
        for sound in table.batches(progress)
    ]
    rows = pl.concat(parts)
    before = pl.col("instant").cum_max().over("person")
    unordered = int(rows.select((pl.col("instant") < before).sum()).item())
    distinct = rows.unique(maintain_order=True)
    ordered = distinct.sort("person", "instant", maintain_order=True)
    ordered = ordered.with_columns(time=interval_of(intervals))
    return Trajectories(
        people=tuple(people.names),
        rows=table.rows,
        bad=table.bad,
        unordered=unordered,
        duplicates=rows.height - distinct.height,
        _words=(activities.names, list(intervals.names), locations.names),
        _codes=ordered.select(pl.col("activity", "time", "location").cast(pl.Int64)).to_numpy(),
        _instants=ordered["instant"].to_numpy(),
        _bounds=np.searchsorted(ordered["person"].to_numpy(), np.arange(len(people.names) + 1)),
    )


def trajectories_of(given: Iterable[Trajectory] | Rows, who: str) -> Sequence[Trajectory]:
    """Trajectories from whatever holds them: as they are, or events that `read_trajectories` reads."""
    if isinstance(given, Sequence) and not isinstance(given, str):
        return cast(Sequence[Trajectory], given)
    if is_table(given):
        try:
            return read_trajectories(cast(Rows, given))
        except DataError as error:
            remedy = ", to d.data.read_trajectories, and give what it returns" * ("naive_zone=" in str(error))
            raise DataError(f"{who}: {error}{remedy}") from None
    if isinstance(given, Trajectory) or not isinstance(given, Iterable):
        raise DiscreetError(f"{who}: the trajectories are {words_for(given)}; give a list of them, or {TABLES}")
    return list(cast(Iterable[Trajectory], given))


def interval_of(intervals: Intervals) -> pl.Expr:
    """The number of each instant's interval: `Intervals.locate`, a column at a time."""
    second = zone_named(intervals.zone or "UTC").wall(pl.col("instant")) // SECOND % 86_400
    part = pl.lit(pl.Series(intervals.starts, dtype=pl.Int64)).search_sorted(second, side="right").cast(pl.Int64) - 1
    return pl.when(part < 0).then(len(intervals.names) - 1).otherwise(part)
