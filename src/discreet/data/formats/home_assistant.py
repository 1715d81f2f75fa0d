"""Home Assistant: the history of people and device trackers, as JSON (REST), CSV (download) or the recorder's database.

The context is the state: a zone's name, `home`, or `away` for not_home. Positions come from the attributes, where they
are kept. States that are unknown or unavailable are not places, and other entities (lamps, sensors) are passed over.
Whose a state is, the entity says: `person.jane` and `device_tracker.jane` are jane's.
"""

from __future__ import annotations

import csv
import io
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path, PurePath
from types import NoneType
from typing import Any, BinaryIO

import numpy as np

from discreet.data.instants import SECOND
from discreet.data.json_objects import BYTE_ORDER_MARK, loads, parsed_objects
from discreet.data.notation.lines import LONGEST_PLAIN, line_blocks, plain_fields, plain_instants
from discreet.data.rows import (
    AWAY,
    FARTHEST,
    PART,
    Alike,
    EntryContent,
    LogFile,
    Parsed,
    in_parts,
    inside,
    instant_of,
    instant_of_seconds,
    number_of,
    parsed,
    shown,
    words,
)
from discreet.data.source import Fault
from discreet.deferred import pl
from discreet.errors import DataError

PEOPLE = ("person", "device_tracker")
"""The kinds of entities that are somewhere."""

NUMBERS = {int, float, NoneType}
NOWHERE = ("unknown", "unavailable", "none", "")
NOT_HOME = "not_home"
CSV_HEADER = ("entity_id", "state", "last_changed")
PLAIN_HEADER = ",".join(CSV_HEADER).encode()
HEADER = 1 << 16
"""Bytes that are read for a first line."""

USER = rf"^(?:{'|'.join(PEOPLE)})\.(.+)$"
STATE = r"^[\p{L}\p{Nd}](?:.*[\p{L}\p{Nd}])?$"
"""Text that has nothing to be stripped of."""


class HomeAssistantJson:
    """A list of lists of states, as GET /api/history/period answers, also with minimal_response."""

    name = "home-assistant-json"
    unit = "state"

    def recognises(self, path: PurePath, head: bytes) -> bool:
        """By the fields of the first state."""
        text = head.lstrip(BYTE_ORDER_MARK + b" \t\r\n")
        return text[:1] == b"[" and b'"entity_id"' in text and b'"state"' in text

    def entries(self, file: LogFile) -> Iterator[tuple[int, EntryContent]]:
        """What each state says."""
        with file.open() as stream:
            start = stream.read(4096).lstrip(BYTE_ORDER_MARK + b" \t\r\n")
        level = 2 if re.match(rb"\[\s*\[|\[\s*\]", start) else 1
        entity: object = None
        with file.open() as stream:
            for number, said in parsed_objects(stream, level):
                if isinstance(said, Fault):
                    entity = None  # it may have named whom the states after it are of: never take them for another's
                    yield number, said
                else:
                    entity = said.get("entity_id", entity)  # a minimal answer says it in the first state of a list
                    yield number, row_of(said, entity)


class HomeAssistantCsv:
    """What the history panel downloads: entity_id, state, last_changed."""

    name = "home-assistant-csv"
    unit = "line"

    def recognises(self, path: PurePath, head: bytes) -> bool:
        """By the header."""
        first = head.removeprefix(BYTE_ORDER_MARK).split(b"\n")[0].decode(errors="replace").strip()
        return tuple(first.replace('"', "").split(",")[:3]) == CSV_HEADER

    def entries(self, file: LogFile) -> Iterator[tuple[int, EntryContent]]:
        """What each line says."""
        with file.open() as stream:
            yield from _lines_from(stream, None, 0)

    def parts(self, file: LogFile) -> Iterator[Alike | list[tuple[int, EntryContent]]]:
        """The same, as columns up to the first block of lines that is odd in any way."""
        done, before = 0, 0
        with file.open() as stream:
            header = stream.readline(HEADER)
            if header.endswith(b"\n") and header.removeprefix(BYTE_ORDER_MARK).rstrip(b"\r\n") == PLAIN_HEADER:
                done, before = len(header), 1
                for block in line_blocks(stream, LONGEST_PLAIN):
                    fields = plain_fields(block.content.rstrip(b"\r\n"), CSV_HEADER)
                    if fields is None:
                        break
                    yield from _columns(fields, block.first + 1)
                    done = len(header) + block.offset + len(block.content) + 1
                    before = block.first + block.content.count(b"\n") + 1
                else:
                    return
        with file.open() as stream:
            _skip(stream, done)
            yield from in_parts(_lines_from(stream, CSV_HEADER if done else None, before))


def _columns(fields: pl.DataFrame, first: int) -> Iterator[Alike | list[tuple[int, EntryContent]]]:
    """Lines that are somebody's at a time and in a state, and each of the others."""
    entities, states = fields["entity_id"].unique(), fields["state"].unique()  # few, and looked at once
    told = states.str.contains(STATE) & ~states.str.to_lowercase().is_in(NOWHERE)
    numbered = fields.with_row_index("number", first).with_columns(
        user=pl.col("entity_id").replace_strict(entities, entities.str.extract(USER), return_dtype=pl.String),
        instant=plain_instants(fields["last_changed"]),
        told=pl.col("state").replace_strict(states, told, return_dtype=pl.Boolean),
    )
    usual = pl.col("user").is_not_null() & pl.col("instant").is_not_null() & pl.col("told")
    rows = numbered.filter(usual)
    context = rows["state"].replace(NOT_HOME, AWAY)
    nothing = [None] * rows.height
    yield Alike(rows["number"], rows["user"], rows["instant"], nothing, nothing, nothing, context)
    odd = numbered.filter(~usual).select("number", *CSV_HEADER)
    yield [(number, row_of(dict(zip(CSV_HEADER, said, strict=True)), said[0])) for number, *said in odd.iter_rows()]


def _lines_from(stream: BinaryIO, header: Sequence[str] | None, before: int) -> Iterator[tuple[int, EntryContent]]:
    """What the lines of a table say that follow so many others; without a header, the first line is one."""
    encoding = "utf-8-sig" if header is None else "utf-8"
    rows = csv.DictReader(io.TextIOWrapper(stream, encoding=encoding, errors="replace", newline=""), header)
    try:
        for said in rows:
            yield before + rows.line_num, row_of(said, said.get("entity_id"))
    except csv.Error as error:
        yield before + rows.line_num, Fault(0, None, str(error), "is why the table cannot be read on")


def _skip(stream: BinaryIO, count: int) -> None:
    while count > 0 and (gone := len(stream.read(min(count, HEADER)))):
        count -= gone


class HomeAssistantDatabase:
    """The recorder's SQLite database, home-assistant_v2.db, of schemas since 2016."""

    name = "home-assistant-db"
    unit = "row"

    def recognises(self, path: PurePath, head: bytes) -> bool:
        """By SQLite's mark; that it has states is seen when it is opened."""
        return head.startswith(b"SQLite format 3\x00")

    def entries(self, file: LogFile) -> Iterator[tuple[int, EntryContent]]:
        """What each row of the states says, people and device trackers only."""
        for some in self._rows(file):
            yield from _told_of(some)

    def parts(self, file: LogFile) -> Iterator[Alike | list[tuple[int, EntryContent]]]:
        """The same, as columns where a thousand rows have nothing odd."""
        for some in self._rows(file):
            places = {state for state in {row[2] for row in some} if _context(_text(state)) is not None}
            alike = _alike([row for row in some if row[2] in places]) if places else None
            if alike is None:
                yield list(_told_of(some))
            else:
                yield alike
                yield list(_told_of([row for row in some if row[2] not in places]))

    def _rows(self, file: LogFile) -> Iterator[list[Any]]:
        with file.on_disk() as path, _connected(path, file.name) as database:
            query = _query(database, file.name)
            database.text_factory = bytes  # as text, what is damaged would be an error
            cursor = database.execute(query)
            while some := cursor.fetchmany(PART):
                yield some


def _told_of(some: list[Any]) -> Iterator[tuple[int, EntryContent]]:
    for number, *said in some:
        yield number, _row_of_database(*map(_text, said))


def _alike(some: list[Any]) -> Alike | None:
    """Rows of the database as columns; None where one is odd in any way, so that `_row_of_database` says what it is."""
    numbers, entities, states, times, attributes = zip(*some, strict=True)
    seconds = _column(times) if set(map(type, times)) <= {int, float} else None
    if seconds is None:
        return None
    try:
        held = [loads(one) if one else {} for one in attributes]
        latitudes = [one.get("latitude") for one in held]
        longitudes = [one.get("longitude") for one in held]
        accuracies = [one.get("gps_accuracy") for one in held]
    except (ValueError, RecursionError, TypeError, AttributeError):
        return None
    if None in latitudes or None in longitudes:  # a half of a position is none
        for place, position in enumerate(zip(latitudes, longitudes, strict=True)):
            if None in position:
                latitudes[place] = longitudes[place] = accuracies[place] = None
    if not set(map(type, latitudes)) | set(map(type, longitudes)) <= {float, NoneType}:
        return None
    if not set(map(type, accuracies)) <= NUMBERS:
        return None
    latitude, longitude, accuracy = _column(latitudes), _column(longitudes), _column(accuracies)
    if latitude is None or longitude is None or accuracy is None:
        return None
    users = {entity: _user(_text(entity)) for entity in set(entities)}
    contexts = {state: _context(_text(state)) for state in set(states)}
    if None in users.values():
        return None
    instants: Sequence[int] | pl.Series
    if int in set(map(type, times)):  # whole seconds are multiplied as such
        instants = [round(time * SECOND) for time in times]
    else:
        instants = pl.Series(np.rint(seconds.to_numpy() * SECOND).astype(np.int64))
    whose, where = [users[one] for one in entities], [contexts[one] for one in states]
    return Alike(numbers, whose, instants, latitude, longitude, accuracy, where)


def _column(numbers: Sequence[float | None]) -> pl.Series | None:
    """Numbers, and null where there is none; None if one of them cannot be reckoned with."""
    try:
        held = np.array(numbers, dtype=np.float64)
    except OverflowError:
        return None
    known = ~np.isnan(held)
    if known.sum() + numbers.count(None) < len(numbers) or (np.abs(held[known]) >= FARTHEST).any():
        return None
    return pl.Series(held, nan_to_null=True)


def _text(held: object) -> object:
    """Text of the database, which may be damaged."""
    return held.decode(errors="replace") if isinstance(held, bytes) else held


def parse_message(message: bytes | str | dict[str, Any]) -> Parsed:
    """What one state says, as it came or parsed, such as the `new_state` of an event state_changed.

    A `Record` as a history with the state gives, a `Fault` that says what is wrong, or None where it is of no person
    or says nothing of where they are.
    """
    try:
        said = message if isinstance(message, dict) else loads(message)
    except (ValueError, RecursionError):
        return Fault(0, None, shown(message), "is not a JSON message in UTF-8")
    return parsed(row_of(said, inside(said, "entity_id")))


def row_of(said: Any, entity: object) -> EntryContent:
    """What a state says of the entity; fields that are not known here never matter."""
    user = _user(entity)
    if user is None:
        return _other(entity)
    held: dict[str, Any] = said if isinstance(said, dict) else {}
    text = held.get("last_updated") or held.get("last_changed")
    instant = instant_of(text)
    if instant is None:
        return Fault(0, "last_changed", text, "is not a time with an offset")
    return _row(user, held.get("state"), instant, held.get("attributes"))


def _row_of_database(entity: object, state: object, time: object, attributes: object) -> EntryContent:
    user = _user(entity)
    if user is None:
        return _other(entity)
    instant = instant_of_seconds(time)
    if instant is None:
        instant = instant_of(time, utc=True)
    if instant is None:
        return Fault(0, "last_updated", time, "is not a time")
    try:
        held = loads(attributes) if isinstance(attributes, str | bytes) and attributes else {}
    except (ValueError, RecursionError):
        return Fault(0, "attributes", shown(attributes), "is not JSON")
    return _row(user, state, instant, held)


def _row(user: str, state: object, instant: int, attributes: Any) -> EntryContent:
    context = _context(state)
    if context is None:
        return "unknown or unavailable"
    if not isinstance(attributes, dict):
        return user, instant, None, None, None, context
    latitude, longitude = number_of(attributes.get("latitude")), number_of(attributes.get("longitude"))
    if latitude is None or longitude is None:
        return user, instant, None, None, None, context
    return user, instant, latitude, longitude, number_of(attributes.get("gps_accuracy")), context


def _context(state: object) -> str | None:
    """Where a state says that somebody is."""
    context = words(state)
    if context is None or context.lower() in NOWHERE:
        return None
    return AWAY if context == NOT_HOME else context


def _user(entity: object) -> str | None:
    domain, _, name = entity.partition(".") if isinstance(entity, str) else ("", "", "")
    return (name or None) if domain in PEOPLE else None


def _other(entity: object) -> EntryContent:
    if not isinstance(entity, str) or "." not in entity:
        return Fault(0, "entity_id", entity, "is not an entity")
    return f"entity {entity.partition('.')[0][:40]}"


@contextmanager
def _connected(path: Path, name: str) -> Iterator[sqlite3.Connection]:
    """The database, to be read only; one that Home Assistant is writing to may be open at the same time."""
    try:
        with _still(path) as address, closing(sqlite3.connect(address, uri=True)) as database:
            yield database
    except sqlite3.Error as error:
        raise DataError(f"{name}: the database cannot be read ({error}); copy it again, with its -wal file") from None


@contextmanager
def _still(path: Path) -> Iterator[str]:
    """The address of a database that SQLite reads without writing -wal and -shm files beside it.

    Without a -wal file nothing waits to be read, and the file is taken as it is. With one and its -shm, both are used
    as they are. With a -wal alone, as in a copy, SQLite would make a -shm: so it reads a copy of ours.
    """
    waiting, shared = (path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm"))
    if not waiting.is_file() or not waiting.stat().st_size:
        yield f"{path.resolve().as_uri()}?immutable=1"
    elif shared.is_file():
        yield f"{path.resolve().as_uri()}?mode=ro"
    else:
        with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
            for held in (path, waiting):
                shutil.copyfile(held, Path(folder) / held.name)
            yield f"{(Path(folder) / path.name).resolve().as_uri()}?mode=ro"


def _query(database: sqlite3.Connection, name: str) -> str:
    """States of people in order of rows, whichever schema: 38 moved the entity, 31 the times, 25 the attributes."""
    columns = {row[1] for row in database.execute("PRAGMA table_info(states)")}
    tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "states" not in tables or "state" not in columns or not columns & {"attributes_id", "attributes"}:
        raise DataError(f"{name}: the database has no states of Home Assistant; give home-assistant_v2.db")
    joins, entity, held = "", "states.entity_id", "states.attributes"
    if "metadata_id" in columns and "states_meta" in tables:
        joins += " LEFT JOIN states_meta ON states.metadata_id = states_meta.metadata_id"
        older = "entity_id" in columns
        entity = "coalesce(states_meta.entity_id, states.entity_id)" if older else "states_meta.entity_id"
    if "attributes_id" in columns and "state_attributes" in tables:
        joins += " LEFT JOIN state_attributes ON states.attributes_id = state_attributes.attributes_id"
        held = "state_attributes.shared_attrs"
        if "attributes" in columns:
            held = f"coalesce({held}, states.attributes)"
    times = [f"states.{one}" for one in ("last_updated_ts", "last_updated", "last_changed_ts") if one in columns]
    time = times[0] if len(times) == 1 else f"coalesce({', '.join(times)})"
    kinds = " OR ".join(f"{entity} LIKE '{kind}.%'" for kind in PEOPLE)
    return f"SELECT states.rowid, {entity}, states.state, {time}, {held} FROM states{joins} WHERE {kinds}"
