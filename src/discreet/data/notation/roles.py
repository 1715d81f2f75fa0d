"""Tables of positions and labels that other programs write: which column is what, and how its values are written.

Names of columns are compared in lower case, with blanks for underscores. Degrees may be in tenths of a millionth (E7),
have a decimal comma, or say north, south, east and west in letters, beside them or in a column of their own. A date and
a time of day may stand apart, and a row may last from one time to another.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from discreet.data.columns import ColumnNames
from discreet.data.rows import LONGEST_STAY, STEP
from discreet.deferred import pl
from discreet.errors import DataError

SECOND = 1_000_000

STARTS = ("start time", "starttime", "started at", "start", "begin")
CLOCKS = ("time", "utc time", "local time", "gps time", "clock")
DATES = ("date", "utc date", "local date", "gps date", "day")
ROLES = {
    "user": ("user", "user id", "userid", "person", "uid"),
    "timestamp": (
        *("timestamp", "time", "datetime", "tst", "date time", "device time", "devicetime", "fix time", "fixtime"),
        *("recorded at", "created at", "timestampms", "timestamp ms", "epoch", "unix time", "date/time"),
        *(*CLOCKS, *STARTS, *DATES),
    ),
    "latitude": ("latitude", "lat", "latitudee7", "late7", "latitude e7", "lat e7"),
    "longitude": ("longitude", "lon", "lng", "long", "longitudee7", "lnge7", "lone7", "longitude e7", "lng e7"),
    "accuracy": ("accuracy", "acc", "gps accuracy", "horizontal accuracy"),
    "context": ("context", "label", "place", "zone", "activity"),
}
"""The names of columns in tables that are taken for each role, the first that is there."""

SHOWN = {"user": 5, "timestamp": 4, "latitude": 2, "longitude": 4, "accuracy": 3, "context": 5}
"""How many of them errors name."""

ENDS = ("end time", "endtime", "ended at", "end", "stop", "finish")
NORTHS = ("n/s", "ns", "lat dir", "latitude n/s", "latitude ref", "lat ref")
EASTS = ("e/w", "ew", "lon dir", "lng dir", "longitude e/w", "longitude ref", "lon ref")


@dataclass(frozen=True)
class TableColumns(ColumnNames):
    """The columns of a table of positions, labels or both, as far as it has them."""

    latitude: str | None = None
    longitude: str | None = None
    accuracy: str | None = None
    context: str | None = None
    date: str | None = None
    """The date, where `timestamp` is a time of day."""
    north: str | None = None
    east: str | None = None
    end: str | None = None
    e7: bool = False

    texts: ClassVar[tuple[str, ...]] = ("user", "context", "date", "north", "east")
    degrees: ClassVar[tuple[str, ...]] = ("latitude", "longitude", "accuracy")
    numbers: ClassVar[bool] = True
    one_row: ClassVar[str] = "reading"

    @property
    def times(self) -> tuple[str, ...]:
        """The roles that are timestamps."""
        return ("timestamp",) if self.end is None else ("timestamp", "end")


class NoSuchTableError(DataError):
    """A table of something else than positions and labels."""


def _plain(name: str) -> str:
    return re.sub(r"[\s_]+", " ", name.strip().lower())


def is_header(names: Sequence[str]) -> bool:
    """Whether a line names the columns of such a table."""
    plain = {_plain(name) for name in names}
    roles = {role for role, known in ROLES.items() if plain & set(known)}
    return "timestamp" in roles and ({"latitude", "longitude"} <= roles or "context" in roles)


def found_columns(file: str, header: Sequence[str]) -> TableColumns:
    """Which column is what; an error where there is no time, or neither a position nor a label."""
    there = {_plain(name): name for name in reversed(header)}

    def first(known: Sequence[str]) -> str | None:
        return next((there[one] for one in known if one in there), None)

    names = {role: first(known) for role, known in ROLES.items()}
    time = names["timestamp"]
    if time is None:
        raise NoSuchTableError(f"{file}: there is no column for the time ({_some('timestamp')}); rename one")
    if (names["latitude"] is None or names["longitude"] is None) and names["context"] is None:
        raise NoSuchTableError(
            f"{file}: there are no columns of positions ({_some('latitude')} and {_some('longitude')}) and none of "
            f"labels ({_some('context')}); rename those that are"
        )
    if names["latitude"] is None or names["longitude"] is None:
        names["latitude"] = names["longitude"] = names["accuracy"] = None
    return TableColumns(
        names["user"],
        time,
        names["latitude"],
        names["longitude"],
        names["accuracy"],
        names["context"],
        date=first(DATES) if _plain(time) in CLOCKS else None,
        north=first(NORTHS),
        east=first(EASTS),
        end=first(ENDS) if _plain(time) in STARTS else None,
        e7=names["latitude"] is not None and _plain(names["latitude"]).endswith("e7"),
    )


def _some(role: str) -> str:
    return ", ".join(ROLES[role][: SHOWN[role]])


def joined_times(frame: pl.DataFrame) -> pl.DataFrame:
    """With the date before the time of day, where they stand apart."""
    if "date" not in frame.columns or frame.schema["timestamp"] != pl.String:
        return frame
    first = next((text for text in frame["timestamp"].to_list() if text), "")
    if re.match(r"\s*\d{1,2}:\d{2}", first) is None:
        return frame  # the time has a date of its own
    day, time = pl.col("date").str.strip_chars(), pl.col("timestamp").str.strip_chars()
    return frame.with_columns(timestamp=day + " " + time.str.replace(r"^(\d):", "0$1:"))


def degrees_of(frame: pl.DataFrame, role: str, *, e7: bool) -> pl.Expr:
    """A column of degrees or metres as numbers, null where there is none."""
    column = pl.col(role)
    side = {"latitude": "north", "longitude": "east"}.get(role, "")
    if isinstance(frame.schema[role], pl.String):
        text = column.str.strip_chars().str.to_uppercase()
        letter = text.str.extract(r"^([NSEW])|([NSEW])$", 0)
        plain = text.str.replace_all(r"[NSEW°\s]", "") if side else text
        plain = pl.when(~plain.str.contains(".", literal=True)).then(plain.str.replace(",", ".")).otherwise(plain)
        number = plain.cast(pl.Float64, strict=False)
        number = pl.when(letter.is_in(["S", "W"])).then(-number).otherwise(number) if side else number
    else:
        number = column.cast(pl.Float64, strict=False)
    if side in frame.columns:
        which = pl.col(side).str.strip_chars().str.to_uppercase().str.slice(0, 1)
        number = pl.when(which.is_in(["S", "W"])).then(-number.abs()).otherwise(number)
    number = number / 1e7 if e7 and side else number
    return pl.when(number.is_finite()).then(number).alias(role)


def stays_spread(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows that last, as a stay of a log: at the start, every half hour, and a second before the end."""
    last = pl.max_horizontal(pl.col("end_instant").fill_null(pl.col("instant")) - SECOND, "instant")
    between = pl.int_ranges("instant", last, STEP)
    return frame.with_columns(instant=pl.concat_list(between, last).list.unique(maintain_order=True)).explode("instant")


def impossible_stay() -> pl.Expr:
    """Where a row ends before it starts, or lasts longer than a year."""
    length = pl.col("end_instant") - pl.col("instant")
    return (length < 0) | (length > LONGEST_STAY)
