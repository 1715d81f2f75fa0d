"""A table of events as people in order of their names, whatever its size: sorted on disk, read a few people at a time.

Rows are read in bounded pieces, each sorted by person and written to a file (a run). The names of every so many rows
say where the people can be parted into ranges of about equal size. Then, range after range, the rows of all runs are
joined, sorted and written to a file of whole people. Memory is that of a run or a range, or of the person with most
events; disk, about what the table takes as Parquet, and once more while it is sorted.

The files hold the truth, so the folder is to be private: `discreet publish` has it beside the table, for its owner
alone, and removes it with the end of the run.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from discreet.data.bad_rows import BadRows
from discreet.data.columns import EventColumns
from discreet.data.formats import open_source
from discreet.data.instants import Epoch, stated_zone
from discreet.data.many_files import ManyFiles
from discreet.data.source import Source
from discreet.data.table import Codes, Table
from discreet.data.trajectories import interval_of
from discreet.deferred import pl
from discreet.errors import DiscreetError
from discreet.events import ATTRIBUTES, Event, Events, Intervals, Trajectory
from discreet.frames import Rows
from discreet.given import counted
from discreet.listener import Progress
from discreet.numerics import IntArray, digest_of

RUN_ROWS = 250_000
"""Rows that are sorted at a time: some 25 MB, and three times that while they are."""

RANGE_ROWS = 150_000
"""Rows in a range of people, about."""

LOOKED_AT = 500
"""Of so many rows of a run, one name is kept to part people by."""

ROW_GROUP = 10_000
"""Rows of a run that are decoded at a time where a range needs some of them."""

WHOLE = "whole"
"""The file that says that all ranges are written, and what is in them."""


@dataclass(frozen=True, eq=False, repr=False)
class Population:
    """People in order of their names, in a folder; `files` gives them some at a time."""

    folder: Path
    events: int
    rows: int
    """Rows read, the bad ones included."""
    bad: BadRows
    """Rows skipped, with what was wrong with the first few."""
    unordered: int
    """Events that stood below a later event of the same person, and were sorted to their place."""
    duplicates: int
    """Rows left out because the person, the instant, the activity and the location were those of another row."""
    ranges: tuple[int, ...]
    """How many people are in each file."""
    vocabulary: Events
    """All events that occur, of everybody."""

    def __len__(self) -> int:
        return sum(self.ranges)

    def __repr__(self) -> str:
        people, events = counted(len(self), "person", "people"), counted(self.events, "event")
        return f"Population({people}, {events}, {counted(self.rows, 'row')}, {len(self.bad)} bad)"

    def __iter__(self) -> Iterator[Trajectory]:
        """One trajectory after another, without timestamps."""
        for frame in self.files():
            yield from _trajectories(frame)

    def names(self) -> Iterator[str]:
        """Everybody's, in order."""
        for number in range(len(self.ranges)):
            yield from pl.read_parquet(_range_file(self.folder, number), columns=["person"], glob=False)[
                "person"
            ].unique(maintain_order=True)

    def of(self, names: Iterable[str]) -> list[Trajectory]:
        """The trajectories of some people, in order of their names."""
        wanted = pl.Series(list(names), dtype=pl.String).implode()
        found: list[Trajectory] = []
        for frame in self.files():
            found += _trajectories(frame.filter(pl.col("person").is_in(wanted)))
        return found

    def files(self) -> Iterator[pl.DataFrame]:
        """Tables of whole people, an event a row: person, activity, time, location."""
        for number in range(len(self.ranges)):
            yield pl.read_parquet(_range_file(self.folder, number), memory_map=False, glob=False)


def read_population(
    source: Source | Rows,
    folder: Path,
    intervals: Intervals = Intervals(),  # noqa: B008  frozen, so one for all calls is safe
    *,
    columns: EventColumns = EventColumns(),  # noqa: B008  likewise
    naive_zone: str | None = None,
    epoch: Epoch = "auto",
    skip_bad: bool = False,
    progress: Progress | None = None,
) -> Population:
    """The people of a table in a folder of their own: those of `read_trajectories`, in order of their names.

    Where the folder holds them already, from files of the same names, sizes and times by the same rules, they are not
    read again.
    """
    source = open_source(source)
    intervals = intervals.on(stated_zone(naive_zone, None))
    rules = [repr(intervals), repr(columns), str(naive_zone), epoch, str(skip_bad)]
    digest = digest_of([source.name, *rules, *_files_of(source)]).hex()
    found = _found(folder, digest)
    if found is not None:
        return found
    table = Table(source, columns, zone=stated_zone(naive_zone, None), epoch=epoch, skip_bad=skip_bad)
    with _room(folder):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        words = _Words(Codes(), Codes())
        bounds = _runs(table, folder, words, progress)
        counted = _Counted(Counter())
        ranges = tuple(_ranges(folder, bounds, intervals, words, counted))
        plain = {
            "digest": digest,
            "events": counted.events,
            "rows": table.rows,
            "bad": [table.bad.count, list(table.bad.first)],
            "unordered": counted.unordered,
            "duplicates": counted.duplicates,
            "ranges": ranges,
            "occurring": [[*event, count] for event, count in counted.occurring.items()],
        }
        (folder / WHOLE).write_text(json.dumps(plain), encoding="utf-8")
    return _population(folder, plain)


def _files_of(source: Source) -> list[str]:
    """What says whether a source's files are the same ones."""
    files = source.files if isinstance(source, ManyFiles) else [Path(source.name)]
    found = []
    for file in files:
        if file.exists():
            about = file.stat()
            found.append(f"{file.resolve()} {about.st_size} {about.st_mtime_ns}")
    return found


def _found(folder: Path, digest: str) -> Population | None:
    try:
        plain = json.loads((folder / WHOLE).read_text(encoding="utf-8"))
        return _population(folder, plain) if plain["digest"] == digest else None
    except (OSError, ValueError, KeyError, TypeError):  # not there, or not written to its end
        return None


def _population(folder: Path, plain: dict[str, Any]) -> Population:
    occurring = Counter({Event(*values): count for *values, count in plain["occurring"]})
    return Population(
        folder=folder,
        events=plain["events"],
        rows=plain["rows"],
        bad=BadRows(plain["bad"][0], tuple(plain["bad"][1])),
        unordered=plain["unordered"],
        duplicates=plain["duplicates"],
        ranges=tuple(plain["ranges"]),
        vocabulary=Events.from_counts(occurring, occurring_only=True),
    )


@contextmanager
def _room(folder: Path) -> Iterator[None]:
    """A disk that is full, or a folder that cannot be written to, is an error that says so; nothing is left in it."""
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise DiscreetError(
            f"{folder}: people cannot be sorted there: {_reason(error)}; make room, or write to another folder"
        ) from None


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or next(iter(str(error).splitlines()), "")


# --- runs


@dataclass(frozen=True)
class _Words:
    """The values of activities and locations; in runs they are numbers."""

    activities: Codes
    locations: Codes


def _runs(table: Table, folder: Path, words: _Words, progress: Progress | None) -> list[str]:
    """Write all sound rows as runs, each sorted by person, and say where people are parted."""
    held: list[pl.DataFrame] = []
    names: list[str] = []
    number = 0

    def write() -> None:
        nonlocal number
        run = pl.concat(held).sort("person", "order")
        held.clear()
        names.extend(run["person"].gather_every(LOOKED_AT).to_list())
        run.write_parquet(folder / f"run {number:06}", compression="lz4", row_group_size=ROW_GROUP)
        number += 1

    for sound in table.batches(progress):
        held.append(
            sound.select(
                pl.col("user").alias("person"),
                "order",
                instant="timestamp_instant",
                activity=words.activities.of(sound["activity"]),
                location=words.locations.of(sound["location"]),
            )
        )
        if sum(part.height for part in held) >= RUN_ROWS:
            write()
    if held:
        write()
    names.sort()
    return sorted(set(names[:: max(1, RANGE_ROWS // LOOKED_AT)]))


# --- ranges of people


@dataclass
class _Counted:
    occurring: Counter[tuple[str, str, str]]
    events: int = 0
    unordered: int = 0
    duplicates: int = 0


def _ranges(folder: Path, bounds: list[str], intervals: Intervals, words: _Words, counted: _Counted) -> Iterator[int]:
    """Write a file for each range of people, from one bound to the next, and say how many people are in it."""
    runs = sorted(folder.glob("run *"))
    lows: list[str | None] = [None, *bounds[1:]]
    highs: list[str | None] = [*bounds[1:], None]
    number = 0
    for low, high in zip(lows, highs, strict=True):
        rows = _between(runs, low, high)
        if not rows.height:
            continue
        people = _whole_people(rows, intervals, words, counted)
        people.write_parquet(_range_file(folder, number), compression="lz4")
        number += 1
        yield people["person"].n_unique()
    for run in runs:
        run.unlink()


def _between(runs: list[Path], low: str | None, high: str | None) -> pl.DataFrame:
    """The rows of all runs whose people are in a range; of each run, the row groups that may have some."""
    within = pl.lit(value=True)
    if low is not None:
        within &= pl.col("person") >= low
    if high is not None:
        within &= pl.col("person") < high
    parts = [pl.scan_parquet(run, glob=False).filter(within).collect() for run in runs]
    return pl.concat(parts).sort("person", "order")


def _whole_people(rows: pl.DataFrame, intervals: Intervals, words: _Words, counted: _Counted) -> pl.DataFrame:
    """The events of people in the order of time, each once; as `read_trajectories` has them."""
    before = pl.col("instant").cum_max().over("person")
    counted.unordered += int(rows.select((pl.col("instant") < before).sum()).item())
    distinct = rows.unique(subset=["person", "instant", "activity", "location"], keep="first", maintain_order=True)
    counted.duplicates += rows.height - distinct.height
    counted.events += distinct.height
    ordered = distinct.sort("person", "instant", "order").with_columns(time=interval_of(intervals))
    values = {
        "activity": words.activities.names,
        "time": list(intervals.names),
        "location": words.locations.names,
    }
    ordered = ordered.select(
        "person",
        *(
            pl.lit(pl.Series(names, dtype=pl.String)).gather(pl.col(role).cast(pl.UInt32)).alias(role)
            for role, names in values.items()
        ),
    )
    for *event, count in ordered.group_by("activity", "time", "location").len().iter_rows():
        counted.occurring[tuple(event)] += count
    return ordered


def _range_file(folder: Path, number: int) -> Path:
    return folder / f"people {number:06}"


def _people(frame: pl.DataFrame) -> list[tuple[int, int]]:
    """Where each person's rows begin and end."""
    ends = np.cumsum(frame["person"].rle().struct.field("len").to_numpy()) if frame.height else np.zeros(0, dtype=int)
    return list(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)) if len(ends) else []


def _trajectories(frame: pl.DataFrame) -> Iterator[Trajectory]:
    triples = Triples.of(frame)
    for low, high in _people(frame):
        yield Trajectory(frame["person"][low], triples.between(low, high))


# --- the events of a table's rows, equal ones as one object: a person may have a million of them


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
