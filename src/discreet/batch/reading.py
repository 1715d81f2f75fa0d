"""How a table of readings is read: its columns, times and people, and how long a reading stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.clock import Clock, seconds_of_duration, slots_of
from discreet.contexts import Day
from discreet.errors import DataError, DiscreetError, did_you_mean
from discreet.listener import NOBODY, Listener, Note, Progress, ignore

if TYPE_CHECKING:
    from discreet.data import Columns, Readings
    from discreet.data.source import Source
    from discreet.models.routine.parts import AnyModel
    from discreet.publish.engines.spark.readings import ReadingTable

REMEMBERED = ("user", "time", "context", "start", "end", "naive_zone", "carry", "separator", "time_format")
"""How readings are read, as a model's file keeps it; whose they are, and what to do with bad rows, it does not."""

LOOKED_AT = 2000
"""Rows whose timestamps say of what form all are."""


@dataclass(frozen=True)
class ReadingOptions:
    """How the data file is to be read, as options say."""

    user: str = "user"
    time: str = "timestamp"
    context: str = "context"
    start: str | None = None
    end: str | None = None
    naive_zone: str | None = None
    carry: str = "4h"
    skip_bad: bool = False
    person: str | None = None
    separator: str | None = None
    time_format: str | None = None
    places: Path | None = None

    @classmethod
    def as_learned(cls, path: Path, given: Mapping[str, Any], note: Note = ignore) -> ReadingOptions:
        """What is given, and for the rest what the model's file remembers of the readings that it was learned from."""
        from discreet.models.store import reading_of

        named = {name: value for name, value in given.items() if value is not None}
        learned = {name: value for name, value in reading_of(path).items() if name in REMEMBERED}
        if "time" in named:  # readings, where stays were learned
            learned = {name: value for name, value in learned.items() if name not in ("start", "end")}
        assumed = {name: value for name, value in learned.items() if name not in named and value != getattr(cls, name)}
        if assumed:
            said = " ".join(f"--{name.replace('_', '-')} {value!r}" for name, value in assumed.items())
            note(f"as the model was learned: {said}")
        return cls(**{**learned, **named})

    def remembered(self) -> dict[str, str | None]:
        """What a model's file keeps of it."""
        return {name: getattr(self, name) for name in REMEMBERED}

    def source(self, path: Path, note_later: Note = ignore) -> Source:
        """The file, and what separates its fields said where it was assumed."""
        from discreet.data import open_source
        from discreet.data.formats.csv import SEPARATORS, Csv, CsvSource
        from discreet.data.many_files import ManyFiles

        source = open_source(path)
        if self.separator is not None and isinstance(source, CsvSource | ManyFiles):
            parted = Csv(_separator(self.separator))
            return parted.open(path) if isinstance(source, CsvSource) else ManyFiles(path, parted.open)
        if not isinstance(source, CsvSource):
            return source
        _ = source.header
        if source.separator not in (None, SEPARATORS[0]):
            shown = {"\t": "tab"}.get(str(source.separator), source.separator)
            note_later(f"{path}: fields are taken to be separated by {shown!r}; --separator says otherwise")
        return source

    def form(self, path: Path, source: Source, columns: Columns, clock: Clock, note_later: Note = ignore) -> str | None:
        """The form of timestamps: as given, or as the first rows have it, which is then said."""
        from discreet.data.dates import form_of, offset_of

        first = next(iter(source.batches(columns)), None) if self.time_format is None else None
        role = columns.times[0]
        if first is None or first.frame.schema[role].is_temporal() or first.frame.schema[role].is_numeric():
            return self.time_format
        values = [value for value in first.frame[role].head(LOOKED_AT).to_list() if value]
        if clock.zone == "UTC" and (ahead := offset_of(values)) is not None:
            cut = f"{path}: times are {ahead} from UTC, and days are cut by UTC"
            note_later(f"{cut}; give --zone, such as Europe/Paris")
        form = form_of(values)
        if form is None:
            return None
        if not form.certain:
            other = form.code.replace("%d", "%_").replace("%m", "%d").replace("%_", "%m")
            raise DataError(
                f"{path}, column {columns.names()[role]!r}: {values[0]!r} may have the day or the month first; say "
                f"which with --time-format {form.code!r} or --time-format {other!r}"
            )
        note_later(f"{path}: timestamps are taken to be of the form {form.code!r}; --time-format says otherwise")
        return form.code

    def read(
        self,
        path: Path,
        clock: Clock,
        *,
        merge_below: float = 0.0,
        keep: Sequence[str] = (),
        empty_days: bool = False,
        listener: Listener = NOBODY,
    ) -> Readings:
        """The days of the people in the file, of the one asked for only where --person is given.

        With `empty_days`, dates without a row of a table's are days of `unknown`, too.
        """
        from discreet.data import read_days

        with listener.progress(f"reading {path.name}") as report:
            if self.places is not None:
                return self._chosen(path, self._placed(path, clock, merge_below, keep, listener.note, report))
            columns = self.columns()
            source = self.source(path, listener.note_later)
            readings = read_days(
                source,
                clock,
                columns=columns,
                naive_zone=self.naive_zone,
                time_format=self.form(path, source, columns, clock, listener.note_later),
                carry=slots_of(self.carry, clock),
                merge_below=merge_below,
                keep=keep,
                telling=_telling(merge_below),
                empty_days=empty_days,
                skip_bad=self.skip_bad,
                progress=report,
            )
        return self._chosen(path, readings)

    def columns(self) -> Columns:
        """The columns that are read, by their roles."""
        from discreet.data import Columns

        return Columns(self.user or None, self.time, self.context, self.start, self.end)

    def _placed(
        self, path: Path, clock: Clock, merge_below: float, keep: Sequence[str], note: Note, report: Progress
    ) -> Readings:
        """The days that positions make on the map of --places."""
        from discreet.data import SightingColumns, read_place_days
        from discreet.places import read_places

        assert self.places is not None
        if self.start is not None or self.end is not None:
            raise DataError("--places is for positions, which have no --start and --end; leave one of them out")
        readings = read_place_days(
            path,
            clock,
            read_places(self.places),
            columns=SightingColumns(self.user or None, self.time, context=self.context),
            naive_zone=self.naive_zone,
            hold=seconds_of_duration(self.carry),
            merge_below=merge_below,
            keep=keep,
            telling=_telling(merge_below),
            skip_bad=self.skip_bad,
            progress=report,
        )
        if readings.vague:
            note(f"{readings.vague} positions are too inaccurate to say a place, and were left out")
        return readings

    def _chosen(self, path: Path, readings: Readings) -> Readings:
        """Of the one person asked for."""
        if self.person is None:
            return readings
        if self.person not in readings.people:
            raise DataError(f"{path}: there is no person {self.person!r}; {did_you_mean(self.person, readings.people)}")
        return replace(readings, people={self.person: readings.people[self.person]})

    def carried(self, clock: Clock | None) -> int:
        """For how many slots a reading stands when days are released or judged, over dates without any too.

        On a map positions stand by the rule of places, when they are read.
        """
        return 0 if self.places else slots_of(self.carry, clock)

    def as_they_came(self) -> ReadingOptions:
        """The same readings, not yet carried: `carried` is for who releases or judges them."""
        return self if self.places else replace(self, carry="0")

    def read_one(self, path: Path, model: AnyModel, listener: Listener = NOBODY) -> tuple[list[Day], Readings]:
        """The days of one person, on the clock of their model."""
        if model.clock is None:
            raise DiscreetError(
                "the model carries no clock, so it is not known where its slots are; learn it with discreet learn"
            )
        readings = self.read(path, model.clock, listener=listener)
        if len(readings.people) > 1:
            raise DataError(
                f"{path}: holds {len(readings.people)} people, the model the habits of one; choose with --person"
            )
        return next(iter(readings.people.values())), readings


def _telling(merge_below: float) -> Callable[[str], bool] | None:
    """Where rare contexts are merged, whether the words of one say why it may be secret: then it is kept."""
    from discreet.choosing.kept_labels import telling

    return telling if merge_below else None


def _separator(given: str | None) -> str | None:
    """What separates fields, in one character."""
    return {"tab": "\t", "\\t": "\t"}.get(given or "", given)


def reading_table(
    reading: ReadingOptions,
    path: Path,
    clock: Clock,
    *,
    merge_below: float = 0.0,
    keep: Sequence[str] = (),
    note_later: Note = ignore,
) -> ReadingTable:
    """The same rules for Spark's workers; what the first rows say is looked up here."""
    from discreet.publish.engines.spark.readings import ReadingTable
    from discreet.publish.engines.spark.tables import address_of, is_remote

    if reading.places is not None:
        raise DiscreetError(
            "--places is of --engine local; learn, release and evaluate positions there, or give contexts"
        )
    columns, address, form = reading.columns(), address_of(path), reading.time_format
    parted = None
    if not is_remote(address):
        source = reading.source(path, note_later)
        columns.find(source.name, list(source.header))
        form = reading.form(path, source, columns, clock, note_later)
        parted = _separator(reading.separator)
    return ReadingTable(
        (address,),
        clock,
        columns,
        reading.naive_zone,
        form,
        parted,
        reading.skip_bad,
        slots_of(reading.carry, clock),
        merge_below,
        tuple(keep),
        _telling(merge_below),
    )
