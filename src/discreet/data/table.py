"""The sound rows of a table, whatever they describe: named columns, instants for times, bad rows raised or counted."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from discreet.clock import FIRST_YEAR, LAST_YEAR
from discreet.data.bad_rows import SHOWN, BadRows, Tally, described
from discreet.data.columns import ColumnNames, PositionColumns
from discreet.data.formats import open_source
from discreet.data.instants import LATEST, Epoch, with_instant
from discreet.data.source import Batch, Fault, Source
from discreet.deferred import pl
from discreet.errors import DataError, did_you_mean
from discreet.frames import Rows
from discreet.listener import Progress
from discreet.numerics import FloatArray

IMPORTED = ("user", "timestamp", "latitude", "longitude", "accuracy", "context", "source")
"""The columns of a table that `discreet import` wrote. There a row may lack a position or a context, and is then a
record of something else, not a bad row."""

DEGREES = {"latitude": 90, "longitude": 180}
"""How far from zero they go."""


def check_option(name: str, value: str, known: Collection[str]) -> None:
    """Refuse an option's value that is not known."""
    if value not in known:
        raise DataError(f"{name} is {value!r}; {did_you_mean(value, known)}")


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

    def number(self, name: str) -> int:
        """The number of one name, a new one if it is new."""
        return self._numbers.setdefault(name, len(self._numbers))

    def of(self, names: pl.Series) -> pl.Series:
        """The numbers of a column of names, new ones added."""
        met = names.unique(maintain_order=True).to_list()
        numbers = [self.number(name) for name in met]
        return names.replace_strict(met, numbers, return_dtype=pl.UInt32)


class Table:
    """The sound rows of a source, read once from its start to its end; a path is opened as one.

    `rows`, `bad` and `passed_over` say how many rows were read, the bad ones included, which were skipped, and how many
    records spoke of something else, so far.
    """

    def __init__(
        self,
        source: Source | Rows,
        columns: ColumnNames,
        *,
        zone: str | None,
        epoch: Epoch,
        skip_bad: bool,
        form: str | None = None,
    ) -> None:
        check_option("epoch", epoch, ("auto", "seconds", "milliseconds"))
        self._source = open_source(source)
        self._columns = columns.among(self._source.header) if isinstance(columns, PositionColumns) else columns
        self._zone, self._epoch, self._form = zone, epoch, form
        self._tally = Tally(skip=skip_bad)
        self.rows = 0
        self.passed_over = 0

    @property
    def bad(self) -> BadRows:
        """The rows that were skipped."""
        return self._tally.summary()

    def batches(self, progress: Progress | None = None) -> Iterator[pl.DataFrame]:
        """The sound rows, batch by batch: order, user, the texts, `{role}_instant` and `{role}_degrees`.

        `order` counts rows over all files of the source. A table without any sound row is an error.
        """
        yield from self.parts(progress)
        name, one_row = self._source.name, self._columns.one_row
        if self.rows == 0 and self.passed_over:
            raise DataError(
                f"{name}: holds {self.passed_over} readings and none with a {one_row}; "
                "positions become labels on a map: make one with discreet places, and give it as --places"
            )
        if self.rows == 0:
            raise DataError(f"{name}: the table has a header and no rows; expected one {one_row} a row")
        if self.rows == self.bad.count:
            raise DataError(f"{name}: none of the {self.rows} rows can be used; the first: {self.bad.first[0]}")

    def parts(self, progress: Progress | None = None) -> Iterator[pl.DataFrame]:
        """The same of a source that is a part of a table, and may have no sound row."""
        for whole in self._source.batches(self._columns):
            batch = self._of_the_kind(whole)
            sound = self._sound(batch)
            if "user" not in sound.columns:
                sound = sound.with_columns(user=pl.lit(batch.origin.person))
            self.rows += batch.rows
            self.passed_over += batch.passed_over
            if sound.height:
                yield sound
            if progress is not None:
                progress(batch.done, batch.total)

    def _of_the_kind(self, batch: Batch) -> Batch:
        """Without the rows that hold something else, where the table is one that was imported.

        Of roles of which one will do, as for sightings, any makes a row one of the kind.
        """
        wanted = [
            role
            for role in ("context", "latitude", "longitude")
            if role in batch.frame.columns and role not in self._columns.one_of
        ]
        if tuple(self._source.header) != IMPORTED or not wanted:
            return batch
        empty = [pl.col(role).is_null() | (pl.col(role).cast(pl.String) == "") for role in wanted]
        frame = batch.frame.filter(~pl.any_horizontal(empty))
        return replace(batch, frame=frame, passed_over=batch.passed_over + batch.frame.height - frame.height)

    def _sound(self, batch: Batch) -> pl.DataFrame:
        """The batch with an instant for each time, and without its bad rows, which go to the tally."""
        frame = batch.frame.with_columns(order=pl.int_range(self.rows, self.rows + pl.len(), dtype=pl.Int64))
        names = self._columns.names()
        for role in self._columns.times:
            frame = with_instant(frame, role, zone=self._zone, epoch=self._epoch, form=self._form)
            naive = frame.filter(pl.col(f"{role}_naive"))
            if naive.height:
                number, value = naive.row(0, named=True)["number"], naive.row(0, named=True)[role]
                what = "does not say which time zone it is in; pass naive_zone=, for example naive_zone='Europe/Paris'"
                raise DataError(described(batch.origin, Fault(number, names[role], _plain(value), what)))
        for role in self._columns.degrees:
            frame = frame.with_columns(_number(frame, role).alias(f"{role}_degrees"))
        for role in self._columns.metres:
            if role in names:
                frame = frame.with_columns(_number(frame, role).alias(f"{role}_metres"))
        problems = _problems(self._columns, frame.columns, self._form)
        wrong = pl.coalesce(pl.when(where).then(pl.lit(k)) for k, (_, _, where) in enumerate(problems))
        frame = frame.with_columns(__problem=wrong)
        bad = frame.filter(pl.col("__problem").is_not_null())
        faults = []
        for row in bad.head(SHOWN).iter_rows(named=True):
            role, what, _ = problems[row["__problem"]]
            faults.append(Fault(row["number"], names[role], _plain(row[role]), what))
        self._tally.add(batch.origin, [*batch.faults, *faults], len(batch.faults) + bad.height)
        return frame.filter(pl.col("__problem").is_null()).drop("__problem")


def _problems(columns: ColumnNames, there: Collection[str], form: str | None) -> list[tuple[str, str, pl.Expr]]:
    """(role, what is wrong, where): what a row can be bad for; the first that holds is named."""
    found: list[tuple[str, str, pl.Expr]] = []
    for role in columns.texts:
        if role in there:
            if role not in columns.one_of:
                found.append((role, f"is not a {role}" if role != "activity" else "is not an activity", _empty(role)))
            if columns.reserved is not None and role != "user":
                what = f"contains {columns.reserved!r}, which parts the attributes of an event; write it another way"
                found.append((role, what, pl.col(role).str.contains(columns.reserved, literal=True)))
    for role in columns.degrees:
        value, most = pl.col(f"{role}_degrees"), DEGREES[role]
        none = value.is_null() if role not in columns.one_of else value.is_null() & ~_blank(role)
        found.append((role, f"is not a {role}; write degrees as a number", none))
        found.append((role, f"is outside -{most} to {most} degrees", ~(value.abs() <= most) | value.is_nan()))
    if columns.one_of:
        found += _nothing_of([role for role in columns.one_of if role in there], columns.degrees)
    for role in columns.times:
        instant = pl.col(f"{role}_instant")
        unread = (
            "is not a timestamp; write epoch seconds or ISO 8601 such as 2024-05-01T08:30:00+02:00, or pass "
            "time_format= with its form, such as '%m/%d/%Y %H:%M'"
            if form is None
            else f"is not a timestamp of the form {form!r}"
        )
        found.append((role, unread, instant.is_null()))
        beyond = f"is outside the years {FIRST_YEAR} to {LAST_YEAR}"
        found.append((role, beyond, ~instant.is_between(0, LATEST, closed="left")))
    if "end" in columns.times:
        found.append(("end", "is before the start", pl.col("end_instant") < pl.col("start_instant")))
    return found


def _empty(role: str) -> pl.Expr:
    return pl.col(role).is_null() | (pl.col(role).str.strip_chars() == "")


def _blank(role: str) -> pl.Expr:
    """Whether a column, of text or of numbers, holds nothing."""
    return pl.col(role).cast(pl.String).str.strip_chars().fill_null("") == ""


def _nothing_of(roles: Sequence[str], degrees: Sequence[str]) -> list[tuple[str, str, pl.Expr]]:
    """Rows with nothing of all roles, and those with half a position."""
    found = [(roles[0], f"is empty, and so is all of {', '.join(roles)}", pl.all_horizontal(map(_blank, roles)))]
    if all(role in roles for role in degrees):
        first, second = degrees
        found.append((first, f"is empty or the {second} is: that is half a position", _blank(first) != _blank(second)))
    return found


def positions_of(frame: pl.DataFrame) -> FloatArray:
    """(m, 2): latitude and longitude of sound rows."""
    return np.asarray(frame.select("latitude_degrees", "longitude_degrees").to_numpy(), dtype=np.float64)


def _number(frame: pl.DataFrame, role: str) -> pl.Expr:
    column = pl.col(role)
    if isinstance(frame.schema[role], pl.String):
        column = column.str.strip_chars()
    return column.cast(pl.Float64, strict=False)


def _plain(value: object) -> object:
    """A value as a person would write it: datetimes of a Parquet file as ISO text, blank text as nothing."""
    if isinstance(value, dt.datetime):
        return value.isoformat()
    return None if value == "" else value
