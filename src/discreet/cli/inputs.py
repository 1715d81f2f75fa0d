"""What verbs are given: models, policies, mechanisms and readings, with errors that speak of options."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from discreet.cli.terminal import Progress, note, note_later, progress
from discreet.clock import Clock
from discreet.contexts import Day
from discreet.errors import DataError, DiscreetError, PolicyError, did_you_mean

if TYPE_CHECKING:
    from discreet.contracts import AnyMechanism
    from discreet.data import BadRows, Columns, Readings
    from discreet.data.source import Source
    from discreet.mechanisms.named import Spec
    from discreet.models.routine.parts import AnyModel
    from discreet.policy import Policy
    from discreet.publish.engines.spark.readings import ReadingTable


class Counted(Protocol):
    """What became of the rows of a table."""

    @property
    def rows(self) -> int:
        """How many, the bad ones included."""

    @property
    def bad(self) -> BadRows:
        """Those that were skipped."""


# --- models and policies


def read_model(path: Path) -> AnyModel:
    """The model of a file; a folder of models is an error that says so."""
    from discreet.models.store import load_days

    if path.is_dir():
        some = sorted(inner.name for inner in path.iterdir())[:3]
        raise DiscreetError(f"{path}: is a folder; give one model in it as --model (it holds {', '.join(some)})")
    return load_days(path)


def read_policy_for(path: Path, model: AnyModel) -> Policy:
    """The policy, its clock times read on the model's clock, checked against the model."""
    from discreet.policy import read_policy

    policy, clock = read_policy(path, model.clock)
    check_policy(path, policy, clock, model)
    return policy


def check_policy(path: Path, policy: Policy, clock: Clock | None, model: AnyModel) -> None:
    """Refuse a policy that does not fit a model; `path` and `clock` say where it was read, and on which clock."""
    from discreet.models.routine.parts import secrets_by_part

    try:
        secrets_by_part(model, policy, clock)
    except PolicyError as error:
        raise PolicyError(f"{path}: {in_options(str(error))}") from None


# --- mechanisms


def read_spec(mechanism: str, options: Sequence[str] | None) -> Spec:
    """The mechanism asked for: a name, module:Class or a TOML file, with its --option key=value."""
    from discreet.mechanisms.named import Spec

    look_here_too(mechanism)
    return Spec.from_text(mechanism, options or ())


def look_here_too(mechanism: str) -> None:
    """A class of one's own, which a file may name too, is looked for in the working directory as well."""
    if (":" in mechanism or mechanism.endswith(".toml")) and (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)


class Maker:
    """Makes the mechanism for a model and a policy, and knows afterwards whether what it made runs without end."""

    def __init__(self, spec: Spec, policy: Policy) -> None:
        self._spec, self._policy = spec, policy
        self.endless = False

    def __call__(self, model: Any) -> AnyMechanism:
        """The mechanism."""
        from discreet.contracts import runs_without_end

        made = self._spec.make(model, self._policy)
        self.endless = self.endless or runs_without_end(made)
        return made


def ends_at_midnight(name: str) -> str:
    """What to say of a mechanism that releases a routine's days one at a time."""
    return f"{name} starts anew each day: what it promises ends at midnight"


# --- readings


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
    def as_learned(cls, path: Path, **given: Any) -> ReadingOptions:
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

    def _source(self, path: Path) -> Source:
        """The file, and what separates its fields said where it was assumed."""
        from discreet.data import open_source
        from discreet.data.formats.csv import SEPARATORS, Csv, CsvSource
        from discreet.data.many import ManyFiles

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

    def _form(self, path: Path, source: Source, columns: Columns, clock: Clock) -> str | None:
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

    def read(self, path: Path, clock: Clock, *, merge_below: float = 0.0, keep: Sequence[str] = ()) -> Readings:
        """The days of the people in the file, of the one asked for only where --person is given."""
        from discreet.data import read_days

        with progress(f"reading {path.name}") as report:
            try:
                if self.places is not None:
                    return self._chosen(path, self._placed(path, clock, merge_below, keep, report))
                columns = self._columns()
                source = self._source(path)
                readings = read_days(
                    source,
                    clock,
                    columns=columns,
                    naive_zone=self.naive_zone,
                    time_format=self._form(path, source, columns, clock),
                    carry=slots_of(self.carry, clock),
                    merge_below=merge_below,
                    keep=keep,
                    telling=_telling(merge_below),
                    skip_bad=self.skip_bad,
                    progress=report,
                )
            except DataError as error:
                raise DataError(in_options(str(error))) from None
        return self._chosen(path, readings)

    def spread(self, path: Path, clock: Clock, *, merge_below: float = 0.0, keep: Sequence[str] = ()) -> ReadingTable:
        """The same rules for Spark's workers; what the first rows say is looked up here."""
        from discreet.publish.engines.spark.readings import ReadingTable
        from discreet.publish.engines.spark.tables import address_of, is_remote

        if self.places is not None:
            raise DiscreetError(
                "--places is of --engine local; learn, release and evaluate positions there, or give contexts"
            )
        columns, address, form = self._columns(), address_of(path), self.time_format
        parted = None
        try:
            if not is_remote(address):
                source = self._source(path)
                columns.find(source.name, list(source.header))
                form = self._form(path, source, columns, clock)
                parted = _separator(self.separator)
            return ReadingTable(
                (address,),
                clock,
                columns,
                self.naive_zone,
                form,
                parted,
                self.skip_bad,
                slots_of(self.carry, clock),
                merge_below,
                tuple(keep),
                _telling(merge_below),
            )
        except DataError as error:
            raise DataError(in_options(str(error))) from None

    def _columns(self) -> Columns:
        from discreet.data import Columns

        return Columns(self.user or None, self.time, self.context, self.start, self.end)

    def _placed(self, path: Path, clock: Clock, merge_below: float, keep: Sequence[str], report: Progress) -> Readings:
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

    def read_one(self, path: Path, model: AnyModel) -> tuple[list[Day], Readings]:
        """The days of one person, on the clock of their model."""
        if model.clock is None:
            raise DiscreetError(
                "the model carries no clock, so it is not known where its slots are; learn it with discreet learn"
            )
        readings = self.read(path, model.clock)
        if len(readings.people) > 1:
            raise DataError(
                f"{path}: holds {len(readings.people)} people, the model the habits of one; choose with --person"
            )
        return next(iter(readings.people.values())), readings


def _telling(merge_below: float) -> Callable[[str], bool] | None:
    """Where rare contexts are merged, whether the words of one say why it may be secret: then it is kept."""
    from discreet.choosing.keeping import telling

    return telling if merge_below else None


def _separator(given: str | None) -> str | None:
    """What separates fields, in one character."""
    return {"tab": "\t", "\\t": "\t"}.get(given or "", given)


def reading_given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Of a command's arguments (`locals()`), those that say how data are read: what `as_learned` takes."""
    return {field.name: arguments[field.name] for field in fields(ReadingOptions)}


REMEMBERED = ("user", "time", "context", "start", "end", "naive_zone", "carry", "separator", "time_format")
"""How readings are read, as a model's file keeps it; whose they are, and what to do with bad rows, it does not."""

LOOKED_AT = 2000
"""Rows whose timestamps say of what form all are."""

_SPOKEN = (
    (
        r"name the right one with SightingColumns\((?:latitude|longitude)=\.\.\.\)",
        "rename them, or make the table with discreet import",
    ),
    (r"(?:Event|Sighting)?Columns\(timestamp=\.\.\.\)", "--time"),
    (r"(?:Event|Sighting)?Columns\((\w+)=\.\.\.\)", r"--\1"),
    (r"pass user=None", "give --user ''"),
    (
        r"pass naive_zone=, for example naive_zone='Europe/Paris'",
        "give --naive-zone, for example --naive-zone Europe/Paris",
    ),
    (r"pass time_format= with", "give --time-format with"),
    (r" \(skip_bad=True\)", ""),
    (r"learn again with keep=\[(.*)\]$", r"learn again with --keep \1"),
)
"""The library's errors speak of arguments; those who type a command have options."""


def in_options(message: str) -> str:
    """An error of the library in the words of the command."""
    for spoken, option in _SPOKEN:
        message = re.sub(spoken, option, message)
    return message


_UNITS = {"h": 3600, "m": 60, "min": 60, "s": 1}


def slots_of(duration: str, clock: Clock | None) -> int:
    """How many whole slots 4h or 30m are; none where no clock says how long a slot is."""
    seconds = seconds_of_duration(duration)
    return 0 if clock is None else int(seconds // clock.slot_seconds)


def seconds_of_duration(duration: str) -> float:
    """How many seconds 4h or 30m are."""
    if duration.strip() == "0":
        return 0
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(h|min|m|s)\s*", duration)
    if match is None:
        raise DiscreetError(f"--carry is {duration!r}; write a time such as 4h, 30m or 0")
    return float(match[1]) * _UNITS[match[2]]
