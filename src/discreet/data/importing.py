"""Logs and tables of any format to one table of readings: positions and labels, judged by rules, merged and in order.

Files are read entry by entry, in memory that follows the readings kept (about 60 bytes each), not the files.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from discreet.data.archives import ZIP, BrokenOffError, LogEntry, Reached, files_of, is_tar
from discreet.data.bad_rows import SHOWN, described
from discreet.data.entries import Entries, NoZoneError, of_log, of_table
from discreet.data.formats import recognised_for_import
from discreet.data.formats.csv import Csv
from discreet.data.instants import EPOCH
from discreet.data.notation.roles import NoSuchTableError
from discreet.data.rows import LogFormat, stamp_text
from discreet.data.source import Fault, Format, Origin
from discreet.data.streams import ending_of, wide_encoding, written_as
from discreet.data.table import IMPORTED, Codes
from discreet.deferred import pl
from discreet.errors import DataError
from discreet.files import refuse_address
from discreet.listener import Progress

ENDINGS = (".csv", ".csv.gz", ".parquet")

MANY, EACH = 4_000_000, 20
"""More readings than this, and than so many a record, are of visits that cannot be: 4 million are 200 years of them."""

NULL_ISLAND = 1e-4
"""Degrees from 0, 0 within which a position is a device's word for none. A buoy floats there."""


@dataclass(frozen=True)
class Rules:
    """What is left out: times and positions that cannot be, and positions that say too little."""

    accuracy: float = 200.0
    """Metres; a position that is less accurate is left out."""
    since: dt.datetime = dt.datetime(1990, 1, 1, tzinfo=dt.UTC)
    """Phones whose clock was never set say 1970 or 1980."""
    until: dt.datetime | None = None
    """By default the time of the import: what lies in the future is an error of a clock."""

    def __post_init__(self) -> None:
        if not self.accuracy > 0:
            raise DataError(f"the accuracy is {self.accuracy}; give metres above 0")


@dataclass
class FileReport:
    """What was read of a file, and what was not: every record made a reading, is bad, or is of a kind passed over.

    Where an entry makes one reading, as in all formats but visits and movements, `records` is the sum of `readings`,
    `bad`, `left_out` and `passed_over`; where it makes several, at most that.
    """

    file: str
    format: str
    records: int = 0
    """Entries of the file; one may have several readings, such as a visit of hours."""
    readings: int = 0
    bad: int = 0
    """Entries that cannot be read, or have a place or time that cannot be."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Readings by the rule that left them out."""
    unplaced: Counter[str] = field(default_factory=Counter)
    """Readings that keep their label and lost their position, by the rule that took it away."""
    passed_over: Counter[str] = field(default_factory=Counter)
    """Entries by kind that hold neither position nor context; "unknown type ..." is nobody's yet."""
    form: str | None = None
    """How the times of a table were taken to be written, where nobody said and they are not as usual."""


@dataclass(frozen=True)
class Imported:
    """A table of readings in order of user and time, and what became of each file."""

    readings: pl.DataFrame
    files: tuple[FileReport, ...]
    duplicates: int
    """Readings that say the same as another: user, time, position and context."""
    first_bad: tuple[str, ...]
    unknown: tuple[str, ...]
    """Files in folders and archives that are in no known format."""
    not_read: tuple[tuple[str, str], ...]
    """Those that could not be read, or not to their end, with the reason; what was read before it stays read."""


def import_logs(
    sources: Sequence[str | Path],
    *,
    format: str | None = None,
    user: str = "me",
    zone: str | None = None,
    rules: Rules | None = None,
    separator: str | None = None,
    time_format: str | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """The readings of files, folders and zip archives.

    `user` is whose the readings of logs are that do not say so themselves, `zone` where times of tables are that say
    no offset, `separator` what parts their fields and `time_format` how their times are written. A file that was named
    and cannot be read is an error; one that was found is told of. With `strict` the first record or file that cannot be
    read is an error too.
    """
    if not user:
        raise DataError("the user is empty; give a name")
    job = _Import(user, zone, time_format, rules or Rules(), strict, progress)
    table = None if separator is None else Csv(separator)
    for source in sources:
        refuse_address(source)
    for entry in files_of(sources, job.reached, job.skip):
        with job.telling(entry):
            held = recognised_for_import(entry.inner, entry.head(), format)
            held = table if table is not None and isinstance(held, Csv) else held
            if held is not None:
                job.take(entry, held)
            else:
                job.unrecognised(entry)
    return job.result(sources)


def format_of(path: Path) -> str:
    """What a file is, by its name and first bytes and before it is read: the name of its format, `zip` or `tar`."""
    with path.open("rb") as file:
        if file.read(len(ZIP)) == ZIP:
            return "zip"
    if is_tar(path):
        return "tar"
    (entry,) = files_of([path], Reached(), lambda file, why: None)
    head = entry.head()
    held = recognised_for_import(entry.inner, head)
    if held is None or not head or wide_encoding(head) is not None:
        raise DataError(_unrecognised(entry, head))
    return held.name


def _unrecognised(entry: LogEntry, start: bytes) -> str:
    """What is wrong with a file that somebody named, by its first bytes."""
    if not start:
        return f"{entry.name}: the file is empty; copy it again"
    if (encoding := wide_encoding(start)) is not None:
        return f"{entry.name}: is {encoding} text; save it as UTF-8"
    return f"{entry.name}: is in no format that is known; {KNOWN}; or insist on one with --format (format=)"


KNOWN = (
    "known are Google (phone: Settings, Location, Timeline, Export; Takeout: Records.json and the monthly files), "
    "OwnTracks (the Recorder's store), Overland, Home Assistant (home-assistant_v2.db), Apple Health and Strava "
    "(their export archives), GPX, KML, KMZ, TCX, FIT, GeoJSON, GeoLife and tables (.csv, .parquet); docs/import.md "
    "says where each application has its file"
)
"""What is read, and where to find it."""


def write_readings(path: Path, readings: pl.DataFrame) -> None:
    """Write the table whole or not at all, as its ending says."""
    ending = ending_of(path, ENDINGS, "readings")
    with written_as(path) as file:
        if ending == ".parquet":
            readings.write_parquet(file)
        else:
            readings.write_csv(file, datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ")


class _Import:
    """What has been read so far."""

    def __init__(
        self, user: str, zone: str | None, form: str | None, rules: Rules, strict: bool, progress: Progress | None
    ) -> None:
        self.reached = Reached()
        self._user, self._zone, self._form, self._strict, self._progress = user, zone, form, strict, progress
        self._rules = replace(rules, until=rules.until or dt.datetime.now(dt.UTC))
        self._users, self._contexts, self._formats = Codes(), Codes(), Codes()
        self._parts: list[pl.DataFrame] = []
        self._files: list[FileReport] = []
        self._first: list[str] = []
        self._unknown: list[str] = []
        self._not_read: list[tuple[str, str]] = []

    def skip(self, file: str, why: str) -> None:
        """A file that cannot be read, with the reason."""
        why = why.removeprefix(f"{file}: ")
        if self._strict:
            raise DataError(f"{file}: {why}")
        self._not_read.append((file, why))

    def unrecognised(self, entry: LogEntry) -> None:
        """A file in no known format: an error only where somebody named it."""
        start = entry.head()
        if entry.named or wide_encoding(start) is not None:
            raise DataError(_unrecognised(entry, start))
        self._unknown.append(entry.name)

    @contextmanager
    def telling(self, entry: LogEntry) -> Iterator[None]:
        """What is wrong with a whole file is an error only where somebody named it."""
        try:
            yield
        except DataError as error:
            if self._strict or isinstance(error, NoZoneError):
                raise
            begun = self._files[-1].readings if self._files and self._files[-1].file == entry.name else 0
            if entry.named and not (isinstance(error, BrokenOffError) and begun):
                raise
            if isinstance(error, NoSuchTableError):  # a folder of an application has tables of all kinds
                self._files.pop()
                self._unknown.append(entry.name)
                return
            self.skip(entry.name, str(error))

    def take(self, entry: LogEntry, held: LogFormat | Format) -> None:
        """Read one file; what was read before it broke stays read."""
        report = FileReport(entry.name, held.name)
        self._files.append(report)
        batches = of_log(entry, held) if isinstance(held, LogFormat) else of_table(entry, held, self._zone, self._form)
        for batch in batches:
            report.records += batch.entries
            report.passed_over.update(batch.passed_over)
            report.form = report.form or batch.form
            self._complain(report, batch.origin, batch.faults, len(batch.faults) + batch.unlisted)
            kept = self._judged(report, batch)
            report.readings += kept.height
            if kept.height:
                self._parts.append(self._coded(kept, held.name))
            if report.readings > max(MANY, EACH * report.records):
                raise DataError(
                    f"{entry.name}: {report.records} records make more than {MANY} readings, which no person's visits "
                    "do; check their durations"
                )
            if self._progress is not None:
                self._progress(self.reached.done, self.reached.total)

    def _complain(self, report: FileReport, origin: Origin, faults: Sequence[Fault], count: int) -> None:
        if count and faults and self._strict:
            raise DataError(f"{described(origin, faults[0])}; without --strict (strict=) it is counted and left out")
        report.bad += count
        self._first += [described(origin, fault) for fault in faults[: max(SHOWN - len(self._first), 0)]]

    def _judged(self, report: FileReport, batch: Entries) -> pl.DataFrame:
        """The readings that the rules let through; a label whose position they do not stays, without it."""
        rules = [*_time_rules(self._rules), *_position_rules(self._rules)]
        broken = pl.coalesce(pl.when(wrong).then(pl.lit(k)) for k, (_, wrong) in enumerate(rules))
        frame = batch.frame.with_columns(__rule=broken)
        if frame["__rule"].null_count() == frame.height:
            return batch.frame
        out = frame.filter(pl.col("__rule").is_not_null())
        self._complain(report, batch.origin, _impossible(out, [name for name, _ in rules]), 0)
        labelled = (pl.col("__rule") >= len(_time_rules(self._rules))) & pl.col("context").is_not_null()
        labels = out.filter(labelled)
        for counts, some in ((report.left_out, out.filter(~labelled)), (report.unplaced, labels)):
            for number, count in some["__rule"].value_counts().iter_rows():
                counts[rules[number][0]] += count
        nowhere = labels.with_columns(pl.lit(None, pl.Float64).alias(c) for c in ("latitude", "longitude", "accuracy"))
        return pl.concat([frame.filter(pl.col("__rule").is_null()), nowhere]).drop("__rule")

    def _coded(self, frame: pl.DataFrame, name: str) -> pl.DataFrame:
        """Texts as numbers: those of a batch would keep all of its bytes."""
        source = self._formats.number(name)
        users, labels = frame["user"], frame["context"]
        user: pl.Series | pl.Expr = pl.lit(self._users.number(self._user), pl.UInt32)
        if users.null_count() < frame.height:
            user = self._users.of(users.fill_null(self._user))
        context: pl.Series | pl.Expr = pl.lit(None, pl.UInt32)
        if labels.null_count() < frame.height:
            numbers, places = self._contexts.of(labels.drop_nulls()), labels.is_not_null().arg_true()
            context = pl.Series([None], dtype=pl.UInt32).new_from_index(0, frame.height).scatter(places, numbers)
        return frame.select(
            user.alias("user"),
            "instant",
            "latitude",
            "longitude",
            "accuracy",
            context.alias("context"),
            pl.lit(source, pl.UInt32).alias("source"),
        )

    def result(self, sources: Sequence[str | Path]) -> Imported:
        """All readings of these sources, merged."""
        if not self._parts:
            raise DataError(self._nothing(", ".join(str(one) for one in sources[:3])))
        names = self._users.names
        frame = pl.concat(self._parts)
        self._parts.clear()
        total = frame.height
        frame = _without_repeats(_in_order(frame, names))
        readings = frame.select(
            _looked_up(names, "user", pl.String),
            pl.col("instant").cast(pl.Datetime("us", "UTC")).alias("timestamp"),
            "latitude",
            "longitude",
            "accuracy",
            _looked_up(self._contexts.names, "context", pl.String),
            _looked_up(self._formats.names, "source", pl.String),
        ).select(IMPORTED)
        return Imported(
            readings,
            tuple(self._files),
            total - readings.height,
            tuple(self._first),
            tuple(self._unknown),
            tuple(self._not_read),
        )

    def _nothing(self, sources: str) -> str:
        if not self._files:
            some = [f"{file}: {why}" for file, why in self._not_read[:3]]
            some += [f"{file}: in no format that is known" for file in self._unknown[:3]]
            return f"{sources}: there is no file that can be read; {'; '.join(some) or 'nothing is in it'}"
        told = f"; the first: {self._first[0]}" if self._first else ""
        told += "".join(f"; {file}: {why}" for file, why in self._not_read[:1])
        counts: Counter[str] = Counter()
        for one in self._files:
            counts += one.passed_over + one.left_out
        others = ", ".join(f"{count} {kind}" for kind, count in counts.most_common(4))
        records, names = sum(one.records for one in self._files), ", ".join(one.file for one in self._files[:3])
        if not records:
            return f"{names}: {'hold' if len(self._files) > 1 else 'holds'} no records at all{told}"
        return f"{names}: none of the {records} records is a reading that can be used ({others or 'all bad'}){told}"


def _in_order(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """By the user's name and the time; what is in order already, as one log is, need not be sorted."""
    if len(names) == 1:
        rising = frame["instant"].diff().drop_nulls() >= 0
        return frame if rising.all() else frame.sort("instant", maintain_order=True)
    rank = {name: k for k, name in enumerate(sorted(names))}
    ranked = frame.with_columns(rank=_looked_up([rank[name] for name in names], "user", pl.UInt32))
    return ranked.sort("rank", "instant", maintain_order=True).drop("rank")


def _without_repeats(frame: pl.DataFrame) -> pl.DataFrame:
    """The first of those that say the same: only neighbours in time can."""
    same = (pl.col("user").diff() == 0) & (pl.col("instant").diff() == 0)
    if not frame.select(same.any()).item():
        return frame
    shared = frame.select((same | same.shift(-1)).fill_null(False).alias("shared"))["shared"]
    told = ["user", "instant", "latitude", "longitude", "context"]
    few = frame.with_row_index("__place").filter(shared)
    first = few.unique(told, keep="first", maintain_order=True)["__place"]
    keep = ~shared
    return frame.filter(keep.scatter(first, True))


def _impossible(out: pl.DataFrame, names: Sequence[str]) -> list[Fault]:
    """The first readings that cannot be; a poor accuracy is no fault of the record's."""
    told = [k for k, name in enumerate(names) if not name.startswith("accuracy")]
    faults = []
    for row in out.filter(pl.col("__rule").is_in(told)).head(SHOWN).iter_rows(named=True):
        name = names[row["__rule"]]
        where = f"{row['latitude']}, {row['longitude']}"
        shown = stamp_text(row["instant"]) if name.startswith(("before", "after")) else where
        faults.append(Fault(row["number"], None, shown, f"is {name}"))
    return faults


def _looked_up(values: Sequence[object], column: str, kind: type[pl.DataType]) -> pl.Expr:
    if not values:
        return pl.lit(None, kind).alias(column)
    return pl.lit(pl.Series(values, dtype=kind)).gather(pl.col(column)).alias(column)


def _time_rules(rules: Rules) -> list[tuple[str, pl.Expr]]:
    assert rules.until is not None  # set when the import began
    since, until = (round((stamp - EPOCH) / dt.timedelta(microseconds=1)) for stamp in (rules.since, rules.until))
    instant = pl.col("instant")
    return [
        (f"before {rules.since:%Y-%m-%d}", instant < since),
        (f"after {rules.until:%Y-%m-%d %H:%M} UTC", instant > until),
    ]


def _position_rules(rules: Rules) -> list[tuple[str, pl.Expr]]:
    latitude, longitude, accuracy = pl.col("latitude"), pl.col("longitude"), pl.col("accuracy")
    return [
        ("outside the world", (latitude.abs() > 90) | (longitude.abs() > 180)),
        ("at 0, 0", (latitude.abs() < NULL_ISLAND) & (longitude.abs() < NULL_ISLAND)),
        (
            f"accuracy worse than {rules.accuracy:g} m",
            accuracy.is_not_null() & ((accuracy > rules.accuracy) | (accuracy < 0)),
        ),
    ]
