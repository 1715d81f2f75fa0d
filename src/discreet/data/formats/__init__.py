"""The formats that can be read, one file each, and which of them a file is in.

A new format is a file here with a class like `Csv`, and its line in `FORMATS`; CONTRIBUTING.md says more. Tables, which
say in a header what they hold, are `FORMATS`. Logs, which applications write in ways of their own, are `LOGS`:
`discreet import` makes a table of them. Formats of other distributions (`discreet.plugins`) are asked after these.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import IO, Any, cast

from discreet import plugins
from discreet.data.formats.csv import Csv
from discreet.data.formats.fit import Fit
from discreet.data.formats.geojson import GeoJson, Overland
from discreet.data.formats.geolife import GeoLifeLabels, GeoLifeTrajectory
from discreet.data.formats.google_edits import GoogleEdits
from discreet.data.formats.google_records import GoogleRecords
from discreet.data.formats.google_semantic import GoogleSemantic
from discreet.data.formats.google_timeline import GoogleTimelineAndroid, GoogleTimelineIos
from discreet.data.formats.gpx import Gpx
from discreet.data.formats.home_assistant import HomeAssistantCsv, HomeAssistantDatabase, HomeAssistantJson
from discreet.data.formats.kml import Kml
from discreet.data.formats.owntracks import OwnTracksJson, OwnTracksRecording
from discreet.data.formats.parquet import MAGIC, Parquet
from discreet.data.formats.tcx import Tcx
from discreet.data.frames import FrameSource
from discreet.data.many_files import ManyFiles, is_many
from discreet.data.rows import LogFormat
from discreet.data.source import Format, Source
from discreet.data.streams import OpenedFile, unreadable
from discreet.deferred import pl
from discreet.errors import DataError, did_you_mean
from discreet.files import refuse_address
from discreet.frames import TABLES, Rows, frame_of, is_file, is_frame
from discreet.given import words_for

FORMATS: tuple[Format, ...] = (
    Csv(),
    Parquet(),
)
"""In the order in which they are asked; the first that recognises a file opens it."""

LOGS: tuple[LogFormat, ...] = (
    HomeAssistantDatabase(),
    OwnTracksRecording(),
    GeoLifeTrajectory(),
    GeoLifeLabels(),
    Gpx(),
    Kml(),
    Tcx(),
    Fit(),
    GoogleTimelineAndroid(),
    GoogleSemantic(),
    GoogleEdits(),
    Overland(),
    GeoJson(),
    GoogleRecords(),
    OwnTracksJson(),
    HomeAssistantJson(),
    GoogleTimelineIos(),
    HomeAssistantCsv(),
)
"""In the order in which they are asked, by what a file's first bytes are."""

HEAD = 4096
"""First bytes that a file is recognised by."""


def open_source(source: Source | Rows, format: str | None = None) -> Source:
    """Whatever holds rows as a source of them: the one place that knows what can be given.

    A path is a file in the format that recognises it, or in the one named; a folder, or a pattern such as
    events/*.csv.gz, is one source of all its files (`ManyFiles`). An open file is read from where it stands, into
    memory. A data frame of pandas or polars and an Arrow table are their rows. A source is as it is.
    """
    if not isinstance(source, str | Path):
        return _in_memory(source, format)
    refuse_address(source, rows=True)
    path = Path(source)
    if is_many(path):
        return ManyFiles(path, lambda file: _opened(file, format))
    return _opened(path, format)


def _in_memory(given: Any, format: str | None) -> Source:
    """The rows of what is no path."""
    if is_frame(given):
        return FrameSource(frame_of(given))
    if is_file(given):
        return _of_file(given, format)
    if not isinstance(given, type) and hasattr(given, "batches") and hasattr(given, "header"):
        return cast(Source, given)
    remedy = f"give {TABLES}"
    if isinstance(given, bytes):
        remedy = "give io.BytesIO(...) of it, or the path"
    elif isinstance(given, dict | list | tuple):
        remedy = "give a data frame of it, such as polars.DataFrame(...)"
    raise DataError(f"the rows are {words_for(given)}; {remedy}")


def _of_file(given: IO[Any], format: str | None) -> Source:
    """The rows of an open file; without a name that says something else, it is CSV."""
    file = OpenedFile.of(given, "the open file")
    if file.content.startswith(MAGIC):
        try:
            return FrameSource(pl.read_parquet(file.open()), file.name)
        except pl.exceptions.PolarsError as error:
            why = next(iter(str(error).splitlines()), type(error).__name__)
            raise DataError(f"{file}: the Parquet file is damaged ({why}); copy or write it again") from None
    path = cast(Path, file)  # as much of one as formats ask for
    if format is not None or file.suffix:
        return _opened(path, format)
    return Csv().open(path)


def _opened(path: Path, format: str | None) -> Source:
    return (_recognised(path) if format is None else _named(format)).open(path)


def _tables() -> Iterator[Format]:
    """All formats of tables. Plug-ins come last, and are loaded only when none before them will do."""
    yield from FORMATS
    yield from (each for each in _plugged_in() if isinstance(each, Format))


def _logs() -> Iterator[LogFormat]:
    """All formats of logs, likewise."""
    yield from LOGS
    yield from (each for each in _plugged_in() if isinstance(each, LogFormat))


def _plugged_in() -> list[LogFormat | Format]:
    """The formats of other distributions; an entry point names one, or a class that makes one."""
    found = (each() if isinstance(each, type) else each for each in plugins.all_loaded(plugins.FORMATS).values())
    return [each for each in found if isinstance(each, LogFormat | Format)]


def format_names() -> tuple[str, ...]:
    """What `discreet import --format` takes."""
    return (*(each.name for each in _logs()), *(each.name for each in _tables()))


def recognised_for_import(path: PurePath, head: bytes, format: str | None = None) -> LogFormat | Format | None:
    """The log or table that a file is, the one that is insisted on, or None where nothing recognises it."""
    if format is not None:
        known: dict[str, LogFormat | Format] = {each.name: each for each in _logs()}
        known |= {each.name: each for each in _tables()}
        if format not in known:
            raise DataError(f"format is {format!r}; {did_you_mean(format, known)}")
        return known[format]
    ours: tuple[LogFormat | Format, ...] = (*LOGS, *FORMATS)
    found = (each for known in (lambda: ours, _plugged_in) for each in known() if each.recognises(Path(path), head))
    return next(found, None)


def _named(name: str) -> Format:
    known = {each.name: each for each in _tables()}
    if name not in known:
        raise DataError(f"format is {name!r}; {did_you_mean(name, known)}")
    return known[name]


def _recognised(path: Path) -> Format:
    head = _head(path)
    for each in _tables():
        if each.recognises(path, head):
            return each
    log = next((each for each in _logs() if each.recognises(path, head)), None)
    if log is not None:
        raise DataError(f"{path}: is a log ({log.name}), not a table; make one with discreet import first")
    *endings, last = (ending for each in _tables() for ending in each.endings)
    raise DataError(
        f"{path}: neither its ending nor its first bytes say a format that can be read; "
        f"use {', '.join(endings)} or {last}"
    )


def _head(path: Path) -> bytes:
    """The first bytes of a file; none of a folder, which may hold a format's files."""
    if path.is_dir():
        return b""
    try:
        with path.open("rb") as file:
            return file.read(HEAD)
    except OSError as error:
        raise unreadable(path, error) from None
