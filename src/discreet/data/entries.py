"""The entries of a log or a table, some at a time, in one form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from discreet.data.archives import LogEntry
from discreet.data.bad_rows import SHOWN, described
from discreet.data.columns import ColumnNames
from discreet.data.dates import form_of
from discreet.data.instants import with_instant
from discreet.data.notation.roles import (
    NoSuchTableError,
    TableColumns,
    degrees_of,
    found_columns,
    impossible_stay,
    joined_times,
    stays_spread,
)
from discreet.data.rows import Alike, EntryContent, LogFormat, QuickLog, Row, in_parts
from discreet.data.source import Batch, Fault, Format, Origin
from discreet.deferred import pl
from discreet.errors import DataError
from discreet.places.zones import zone_at

BATCH = 50_000
"""Entries at a time."""

LOOKED_AT = 1000
"""Rows that show how a table's times are written."""

KINDS = 50
"""Kinds of entries that are counted each by itself; a hostile file could have one for each entry."""


@dataclass(frozen=True)
class Entries:
    """Some entries of a file: number, user, instant, latitude, longitude, accuracy, context."""

    origin: Origin
    frame: pl.DataFrame
    entries: int
    faults: Sequence[Fault] = ()
    unlisted: int = 0
    """Faults that are counted and not described."""
    passed_over: Counter[str] = field(default_factory=Counter)
    form: str | None = None
    """The form of times that nobody stated and the values show, in the codes of strptime."""


NAMES = ("user", "instant", "latitude", "longitude", "accuracy", "context")


def _kinds() -> tuple[type[pl.DataType], ...]:
    """Of the columns."""
    return (pl.String, pl.Int64, pl.Float64, pl.Float64, pl.Float64, pl.String)


def of_log(entry: LogEntry, log: LogFormat) -> Iterator[Entries]:
    """The entries of a log; what was read before the file broke is given before the error."""
    origin = Origin(entry.name, log.unit, "")
    entries = log.parts(entry) if isinstance(log, QuickLog) else in_parts(log.entries(entry))
    some = _Some()
    while True:
        try:
            more = some.fill(entries)
        except DataError:
            yield some.entries(origin)
            raise
        yield some.entries(origin)
        if not more:
            return
        some = _Some(some.last)


class _Some:
    """Entries as they come, sorted into rows, faults and kinds that are only counted."""

    def __init__(self, last: int = 0) -> None:
        self.last = last
        self._rows: list[Row] = []
        self._numbers: list[int] = []
        self._faults: list[Fault] = []
        self._kinds: Counter[str] = Counter()
        self._seen = 0
        self._alike: list[Alike] = []
        self._held = 0

    def fill(self, parts: Iterator[Alike | list[tuple[int, EntryContent]]]) -> bool:
        """Take a batch; False where there are no more."""
        for part in parts:
            if isinstance(part, Alike):
                self._alike.append(part)
                self._seen += len(part.numbers)
                self._held += len(part.numbers)
            else:
                self._take(part)
                self._held += len(part)
            if self._held >= BATCH:
                return True
        return False

    def _take(self, part: list[tuple[int, EntryContent]]) -> None:
        rows, numbers, kinds = self._rows, self._numbers, self._kinds
        for number, content in part:
            if number != self.last:
                self._seen += 1
                self.last = number
            if type(content) is tuple:
                rows.append(content)
                numbers.append(number)
            elif isinstance(content, Fault):
                self._faults.append(replace(content, number=number))
            elif isinstance(content, str):
                kinds[content if content in kinds or len(kinds) < KINDS else "other kinds"] += 1

    def entries(self, origin: Origin) -> Entries:
        """What was taken."""
        frame = _frame(list(zip(*self._rows, strict=True)), self._numbers)
        if self._alike:
            frame = pl.concat([frame, *(_columns(part) for part in self._alike)])
        if self._alike and self._rows:  # in the file's order: of readings at one instant the last may be what counts
            frame = frame.sort("number", maintain_order=True)
        return Entries(origin, frame, self._seen, self._faults, 0, self._kinds)


def _columns(part: Alike) -> pl.DataFrame:
    numbers, *others = vars(part).values()
    return _frame(others, numbers)


def _frame(columns: Sequence[Column], numbers: Column) -> pl.DataFrame:
    named = zip(NAMES, _kinds(), columns or [()] * len(NAMES), strict=True)
    series = {name: _series(held, kind) for name, kind, held in named}
    return pl.DataFrame({"number": _series(numbers, pl.Int64), **series})


Column: TypeAlias = "Sequence[object] | pl.Series"


def _series(values: Column, kind: type[pl.DataType]) -> pl.Series:
    """A column; texts are often one, or missing, all along, and need not be copied."""
    if isinstance(values, pl.Series):
        return values.cast(kind)
    if kind is pl.String and len(set(values)) == 1:
        return pl.Series(values[:1], dtype=kind).new_from_index(0, len(values))
    return pl.Series(values, dtype=kind)


class NoZoneError(DataError):
    """A time without an offset, which no other file would mend."""


def of_table(entry: LogEntry, table: Format, zone: str | None, form: str | None = None) -> Iterator[Entries]:
    """The rows of a table; `zone` is where times are that say no offset, `form` how they are written.

    Where nobody says how, forms of spreadsheets are seen by the first rows, if these leave no doubt.
    """
    with _table_path(entry) as path:
        source = table.open(path)
        try:
            columns = found_columns(entry.name, list(source.header))
            looked = form is not None
            for read in source.batches(columns):
                batch = replace(read, frame=joined_times(read.frame))
                shown = None if looked else _form(entry.name, batch, columns)
                looked, form = looked or batch.frame.height > 0, form or shown
                entry.progressed(batch.done, batch.total)
                yield replace(_of_batch(entry.name, batch, columns, zone, form), form=shown)
        except DataError as error:
            if isinstance(error, NoZoneError | NoSuchTableError):
                raise
            raise DataError(str(error).replace(str(path), entry.name)) from None


@contextmanager
def _table_path(entry: LogEntry) -> Iterator[Path]:
    """A file of its own, unpacked by us, because there is a bound to what may come of it."""
    with entry.on_disk() as path:
        yield path


def _form(file: str, batch: Batch, columns: ColumnNames) -> str | None:
    """The form of a spreadsheet's times, by the first rows; None where they are written as usual."""
    column = batch.frame["timestamp"]
    values = [one for one in column.head(LOOKED_AT).to_list() if one] if column.dtype == pl.String else []
    form = form_of(values)
    if form is not None and not form.certain:
        raise DataError(
            f"{file}, column {columns.timestamp!r}: {values[0]!r} may have the day or the month first; say which with "
            f"--time-format (time_format=), such as {form.code!r}"
        )
    return None if form is None else form.code


def _of_batch(file: str, batch: Batch, columns: TableColumns, zone: str | None, form: str | None) -> Entries:
    origin = replace(batch.origin, file=file)
    frame = batch.frame
    for role in columns.times:
        frame = with_instant(frame, role, zone=zone, epoch="auto", form=form)
    frame = frame.rename({"timestamp_instant": "instant"})
    naive = frame.filter(pl.col("timestamp_naive"))
    if naive.height:
        row = naive.row(0, named=True)
        what = f"does not say which time zone it is in; give --zone (zone=), for example {_zone_of(frame, columns)}"
        raise NoZoneError(described(origin, Fault(row["number"], columns.timestamp, str(row["timestamp"]), what)))
    given = frame.columns
    frame = frame.with_columns(
        *(
            degrees_of(frame, name, e7=columns.e7) if name in given else pl.lit(None, pl.Float64).alias(name)
            for name in columns.degrees
        ),
        *(_texts(name) if name in given else pl.lit(None, pl.String).alias(name) for name in ("user", "context")),
        __given=pl.any_horizontal(_written(frame, name) for name in ("latitude", "longitude") if name in given)
        if "latitude" in given
        else pl.lit(False),
    )
    whole = frame["instant"].null_count() == 0 == frame["latitude"].null_count() == frame["longitude"].null_count()
    if whole and columns.end is None:
        return Entries(origin, frame.select("number", *NAMES), batch.rows, batch.faults)
    lasts = columns.end is not None
    problems = {
        "has no time that can be read; write epoch seconds or ISO 8601"
        if form is None
        else f"has no time of the form {form!r}": pl.col("instant").is_null(),
        "has a position that is not two numbers of degrees": pl.col("__given")
        & (pl.col("latitude").is_null() | pl.col("longitude").is_null()),
        "holds neither a position nor a label": pl.col("latitude").is_null() & pl.col("context").is_null(),
        "ends before it starts, or lasts longer than a year": impossible_stay() if lasts else pl.lit(False),
    }
    broken = pl.coalesce(pl.when(wrong).then(pl.lit(k)) for k, wrong in enumerate(problems.values()))
    frame = frame.with_columns(__problem=broken)
    bad = frame.filter(pl.col("__problem").is_not_null())
    whats, first = list(problems), bad.head(SHOWN).to_dicts()
    faults = [_fault(row, whats[row["__problem"]], batch.frame, columns) for row in first]
    faults = sorted([*batch.faults, *faults], key=lambda fault: fault.number)
    sound = frame.filter(pl.col("__problem").is_null()) if bad.height else frame
    sound = stays_spread(sound) if lasts else sound
    return Entries(origin, sound.select("number", *NAMES), batch.rows, faults, bad.height - len(first))


def _fault(row: dict[str, Any], what: str, frame: pl.DataFrame, columns: TableColumns) -> Fault:
    """What is wrong with a row, with the value that is at fault as the table has it."""
    role = "timestamp"
    if "two numbers of degrees" in what:
        role = "latitude" if row["latitude"] is None else "longitude"
    value = frame.filter(pl.col("number") == row["number"])[role][0]
    return Fault(row["number"], getattr(columns, role), None if value is None else str(value), what)


def _zone_of(frame: pl.DataFrame, columns: TableColumns) -> str:
    """A zone to propose: that of the first position, where there is one."""
    if columns.latitude is not None:
        where = frame.select(degrees_of(frame, role, e7=columns.e7) for role in ("latitude", "longitude")).drop_nulls()
        if where.height and (zone := zone_at(*where.row(0))) is not None:
            return f"{zone}, where its positions are"
    return "Europe/Paris"


def _texts(name: str) -> pl.Expr:
    text = pl.col(name).str.strip_chars()
    return pl.when(text != "").then(text).alias(name)


def _written(frame: pl.DataFrame, name: str) -> pl.Expr:
    """Whether a field holds anything, be it a number or not."""
    if isinstance(frame.schema[name], pl.String):
        return pl.col(name).str.strip_chars().fill_null("") != ""
    return pl.col(name).is_not_null()
