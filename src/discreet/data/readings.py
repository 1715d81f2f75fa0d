"""Tables of readings to days."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.contexts import UNKNOWN, Clock, Day, carry_forward, merge_rare
from discreet.data import csv_file, parquet_file
from discreet.data.bad_rows import SHOWN, BadRows, Fault, Tally
from discreet.data.batch import Batch
from discreet.data.columns import Columns
from discreet.data.instants import FIRST_YEAR, LAST_YEAR, LATEST, Epoch, with_instant
from discreet.data.slots import Pick, Standing, of_intervals, of_readings
from discreet.errors import DataError, did_you_mean

Progress = Callable[[int, int], None]
"""Called with how much of the file is read, and how much there is: bytes of a CSV file, rows of a Parquet file."""

NO_DAY = dt.date(1970, 1, 1)


@dataclass(frozen=True)
class Readings:
    """The days of the people in a table, in the order in which they first appear there."""

    people: Mapping[str, list[Day]]
    rows: int
    """Rows read, the bad ones included."""
    bad: BadRows = field(default_factory=BadRows)
    """Rows skipped, with what was wrong with the first few."""

    @property
    def days(self) -> list[Day]:
        """The days of all people, one person after another."""
        return [day for days in self.people.values() for day in days]


def read_days(
    path: str | Path,
    clock: Clock,
    *,
    columns: Columns = Columns(),  # noqa: B008  frozen, so one for all calls is safe
    zone: str | None = None,
    epoch: Epoch = "auto",
    pick: Pick = "last",
    carry: int = 0,
    backward: bool = False,
    merge_below: float = 0.0,
    keep: Iterable[str] = (),
    empty_days: bool = False,
    skip_bad: bool = False,
    progress: Progress | None = None,
) -> Readings:
    """The days of each person in a .csv, .csv.gz or .parquet table of readings or intervals.

    **Timestamps** are numbers (epoch seconds; from 1e11 on milliseconds, unless `epoch` says which), ISO 8601 with an
    offset or Z, or ISO 8601 without one, which `zone` must then place: an IANA name, often the clock's own. A time
    that the zone's clocks show twice is taken as the earlier. Years 1970 to 2099.

    **Slots** are those of `Clock.locate`. Of several readings in a slot the `last` in time stands, also across an hour
    that is repeated when clocks go back, or the most frequent (`modal`), the later of two equally frequent; of readings
    at one instant the one further down in the file. An interval gives its context to every slot that it overlaps; there
    `last` is the interval that starts last, and `modal` the context that fills most of the slot.

    **Days** run from a person's first to last date with a reading. Slots without a reading are `unknown`. Dates without
    any reading are left out, because a phone that is off for a week says nothing of the person's days; `empty_days`
    keeps those in between as days of `unknown`. Then readings are carried forward for `carry` slots, `backward` to the
    start of the day too, and contexts below the share `merge_below` of a person's slots, except those in `keep`, become
    `other` (see `carry_forward` and `merge_rare`).

    **Memory** is bounded by the answer, not by the file: some 250 MB to work in (polars itself, and a batch of 4 MiB of
    CSV or 100,000 rows of Parquet; the row groups that polars decodes come on top), about 100 bytes for each person and
    slot with a reading (for `modal`: each distinct context there), then 8 bytes a slot of the days returned. How many
    readings a slot has does not matter.

    **Bad rows** are a DataError that names file, line, column and value, or with `skip_bad` are counted in `.bad`. A
    timestamp whose zone is nowhere stated is always an error: to skip those rows would be to skip the file.
    """
    path = Path(path)
    kept = (keep,) if isinstance(keep, str) else tuple(keep)
    _check_options(pick, epoch)
    _filled([], carry, backward, merge_below, kept)  # a wrong option is told now, not after an hour of reading
    batches, place = _batches(path, columns)
    tally = Tally(path, place, skip=skip_bad)
    people, contexts, standing = Codes(), Codes(), Standing(pick)
    spread = of_readings if columns.start is None else of_intervals
    rows = 0
    for batch in batches:
        rows += batch.rows
        sound = _sound(batch, columns, zone, epoch, tally)
        user = pl.lit(_stem(path)) if columns.user is None else pl.col("user")
        coded = sound.with_columns(user=user)
        coded = coded.with_columns(person=people.of(coded["user"]), context=contexts.of(coded["context"]))
        if coded.height:
            for slots in spread(coded, clock):
                standing.add(slots)
        if progress is not None:
            progress(batch.done, batch.total)
    bad = tally.summary()
    if rows == 0:
        raise DataError(f"{path}: the table has a header and no rows; expected one reading a row")
    if rows == bad.count:
        raise DataError(f"{path}: none of the {rows} rows can be used; the first: {bad.first[0]}")
    days = _days(standing.result(), people.names, contexts.names, clock, empty_days=empty_days)
    return Readings(
        {person: _filled(own, carry, backward, merge_below, kept) for person, own in days.items()}, rows, bad
    )


def _check_options(pick: str, epoch: str) -> None:
    for name, value, known in (
        ("pick", pick, ("last", "modal")),
        ("epoch", epoch, ("auto", "seconds", "milliseconds")),
    ):
        if value not in known:
            raise DataError(f"{name} is {value!r}; {did_you_mean(value, known)}")


def _batches(path: Path, columns: Columns) -> tuple[Iterator[Batch], str]:
    """The reader that the file's ending asks for, and what it counts."""
    name = path.name.lower()
    if name.endswith((".csv", ".csv.gz")):
        return csv_file.batches(path, columns), "line"
    if name.endswith(".parquet"):
        return parquet_file.batches(path, columns), "row"
    raise DataError(f"{path}: the ending says no format that can be read; use .csv, .csv.gz or .parquet")


def _stem(path: Path) -> str:
    """The file's name without its endings: the person, where a file is one person's."""
    name = path.name
    for ending in (".gz", ".csv", ".parquet"):
        if name.lower().endswith(ending):
            name = name[: -len(ending)]
    return name or path.name


class Codes:
    """Numbers for names, in the order in which they are met.

    Columns of text keep the whole block alive that they were cut from; numbers do not.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @property
    def names(self) -> list[str]:
        """The name of each number."""
        return list(self._numbers)

    def of(self, names: pl.Series) -> pl.Series:
        """The numbers of a column of names, new ones added."""
        met = names.unique(maintain_order=True).to_list()
        numbers = [self._numbers.setdefault(name, len(self._numbers)) for name in met]
        return names.replace_strict(met, numbers, return_dtype=pl.UInt32)


def _sound(batch: Batch, columns: Columns, zone: str | None, epoch: Epoch, tally: Tally) -> pl.DataFrame:
    """The batch with an instant for each time, and without its bad rows, which go to the tally."""
    frame = batch.frame
    names = columns.names()
    for role in columns.times:
        frame = with_instant(frame, role, zone=zone, epoch=epoch)
        naive = frame.filter(pl.col(f"{role}_naive"))
        if naive.height:
            line, value = naive.row(0, named=True)["line"], naive.row(0, named=True)[role]
            what = "does not say which time zone it is in; pass zone=, for example zone='Europe/Paris'"
            raise DataError(tally.describe(Fault(line, names[role], _plain(value), what)))
    problems = _problems(columns)
    number = pl.coalesce(pl.when(wrong).then(pl.lit(k)) for k, (_, _, wrong) in enumerate(problems))
    frame = frame.with_columns(__problem=number)
    bad = frame.filter(pl.col("__problem").is_not_null())
    faults = []
    for row in bad.head(SHOWN).iter_rows(named=True):
        role, what, _ = problems[row["__problem"]]
        faults.append(Fault(row["line"], names[role], _plain(row[role]), what))
    tally.add([*batch.faults, *faults], len(batch.faults) + bad.height)
    return frame.filter(pl.col("__problem").is_null()).drop("__problem")


def _problems(columns: Columns) -> list[tuple[str, str, pl.Expr]]:
    """(role, what is wrong, where): what a row can be bad for; the first that holds is named."""
    found: list[tuple[str, str, pl.Expr]] = []
    for role in ("user", "context"):
        if role in columns.names():
            empty = pl.col(role).is_null() | (pl.col(role).str.strip_chars() == "")
            found.append((role, f"is not a {role}", empty))
    for role in columns.times:
        instant = pl.col(f"{role}_instant")
        unread = "is not a timestamp; write epoch seconds or ISO 8601 such as 2024-05-01T08:30:00+02:00"
        found.append((role, unread, instant.is_null()))
        beyond = f"is outside the years {FIRST_YEAR} to {LAST_YEAR}"
        found.append((role, beyond, ~instant.is_between(0, LATEST, closed="left")))
    if columns.start is not None:
        found.append(("end", "is before the start", pl.col("end_instant") < pl.col("start_instant")))
    return found


def _plain(value: object) -> object:
    """A value as a person would write it: datetimes of a Parquet file as ISO text, blank text as nothing."""
    if isinstance(value, dt.datetime):
        return value.isoformat()
    return None if value == "" else value


def _days(
    slots: pl.DataFrame, people: list[str], contexts: list[str], clock: Clock, *, empty_days: bool
) -> dict[str, list[Day]]:
    """The days of each person from the contexts that stand, sorted by person and slot."""
    labels = np.array([*contexts, UNKNOWN], dtype=object)
    person, slot, context = (slots[name].to_numpy() for name in ("person", "slot", "context"))
    bounds = np.searchsorted(person, np.arange(len(people) + 1))
    return {
        name: _own_days(name, slot[low:high], context[low:high], labels, clock.slots, empty_days=empty_days)
        for name, low, high in zip(people, bounds[:-1], bounds[1:], strict=True)
    }


def _own_days(
    person: str,
    slot: npt.NDArray[np.int64],
    context: npt.NDArray[np.uint32],
    labels: npt.NDArray[np.object_],
    slots: int,
    *,
    empty_days: bool,
) -> list[Day]:
    dates = slot // slots
    shown = np.arange(dates[0], dates[-1] + 1) if empty_days else np.unique(dates)
    table = np.full((len(shown), slots), len(labels) - 1, dtype=np.int64)
    table[np.searchsorted(shown, dates), slot % slots] = context
    return [
        Day(tuple(labels[row]), date=NO_DAY + dt.timedelta(days=int(date)), person=person)
        for date, row in zip(shown, table, strict=True)
    ]


def _filled(days: list[Day], carry: int, backward: bool, merge_below: float, keep: tuple[str, ...]) -> list[Day]:
    if carry != 0 or backward:
        days = carry_forward(days, carry, backward=backward)
    if merge_below != 0:
        days = merge_rare(days, merge_below, keep=keep)
    return days
