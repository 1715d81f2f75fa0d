"""Timestamps to instants, and instants to wall clocks, a column at a time.

Instants and wall-clock times are microseconds since 1970 (int64). Offsets come from Python's own zoneinfo, not from the
time zones built into polars: the two may hold different releases of the tz database, and then a batch and a live
stream, which uses `Clock.locate`, would put the same reading into different slots.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import numpy.typing as npt

from discreet.clock import LAST_YEAR, unknown_zone
from discreet.deferred import pl
from discreet.errors import DataError
from discreet.given import as_zone

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
"""Where instants, and the days of slots, are counted from."""

Epoch = Literal["auto", "seconds", "milliseconds"]
"""What a bare number counts since then."""

SECOND = 1_000_000
LATEST = int(dt.datetime(LAST_YEAR + 1, 1, 1, tzinfo=dt.UTC).timestamp()) * SECOND

MILLISECONDS_FROM = 1e11
"""From here on a bare number is milliseconds: as seconds it would lie after the year 5000, as milliseconds in 1973."""

MICROSECONDS_FROM, NANOSECONDS_FROM = 1e14, 1e17
"""Likewise: as milliseconds, 1e14 would lie after the year 5000, as microseconds in 1973."""

ISO_8601 = (
    r"^(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})[T ](?P<hour>[01][0-9]|2[0-3]):(?P<minute>[0-5][0-9])"
    r"(?::(?P<second>[0-5][0-9])(?:[.,](?P<fraction>[0-9]{1,9}))?)?"
    r"(?: ?(?:(?P<utc>[Zz]|UTC|GMT)|"
    r"(?P<sign>[+-])(?P<ahead_hour>[01][0-9]|2[0-3])(?::?(?P<ahead_minute>[0-5][0-9]))?))?$"
)

COMMON = re.compile(r"\d{4}-\d{2}-\d{2}(?P<between>[T ])\d{2}:\d{2}:\d{2}(?P<utc>Z?)", re.ASCII)
"""The form that most machines write: a column of it alone is read several times as fast."""

ROWS = 8192
"""Texts of that form that are read at a time: they fit into a processor's cache."""


@dataclass(frozen=True)
class Zone:
    """The offsets of a time zone from 1970 to 2099, as arrays that a column is looked up in."""

    changes: pl.Series
    """Instants at which the offset changes, rising."""
    wall_changes: pl.Series
    """The same on the wall clock, as zoneinfo has them for fold=0: the earlier of two readings of a repeated hour."""
    offsets: pl.Series
    """Wall clock minus instant before the first change, and after each."""

    def wall(self, instant: pl.Expr) -> pl.Expr:
        """What the wall clock shows at an instant."""
        after = pl.lit(self.changes).search_sorted(instant, side="right")
        return instant + pl.lit(self.offsets).gather(after)

    def instant(self, wall: pl.Expr) -> pl.Expr:
        """When the wall clock shows a time; by Python's rule (fold=0) where it does so twice or never."""
        after = pl.lit(self.wall_changes).search_sorted(wall, side="right")
        return wall - pl.lit(self.offsets).gather(after)


@lru_cache(maxsize=64)
def zone_named(name: str) -> Zone:
    """The table of a zone, found by asking zoneinfo for each day and halving the days on which the offset changes."""
    try:
        info = ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise DataError(unknown_zone(name)) from None
    day = 86_400
    low = -2 * day
    offsets = [_offset(info, low)]
    changes: list[int] = []
    for second in range(low + day, LATEST // SECOND + 2 * day, day):
        offset = _offset(info, second)
        if offset != offsets[-1]:
            changes.append(_change(info, second - day, second))
            offsets.append(offset)
    steps = zip(changes, offsets[:-1], offsets[1:], strict=True)
    walls = [change + max(before, after) for change, before, after in steps]
    return Zone(_micros(changes), _micros(walls), _micros(offsets))


def _offset(info: ZoneInfo, second: int) -> int:
    offset = dt.datetime.fromtimestamp(second, info).utcoffset()
    assert offset is not None
    return int(offset.total_seconds())


def _change(info: ZoneInfo, low: int, high: int) -> int:
    """The first second after `low` with the offset of `high`."""
    target = _offset(info, high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _offset(info, middle) == target else (middle, high)
    return high


def _micros(seconds: list[int]) -> pl.Series:
    return pl.Series([second * SECOND for second in seconds], dtype=pl.Int64)


def stated_zone(naive_zone: str | dt.tzinfo | None, zone: str | dt.tzinfo | None) -> str | None:
    """Where timestamps are that do not say it: readers call it `naive_zone`, and once called it `zone`."""
    naive_zone, zone = (None if one is None else as_zone(one) for one in (naive_zone, zone))
    if naive_zone is not None and zone is not None and naive_zone != zone:
        raise DataError(f"naive_zone={naive_zone!r} and zone={zone!r} are two words for one thing; leave zone= out")
    return zone if naive_zone is None else naive_zone


def with_instant(
    frame: pl.DataFrame, role: str, *, zone: str | None, epoch: Epoch, form: str | None = None
) -> pl.DataFrame:
    """Add `{role}_instant` (null where unreadable) and `{role}_naive` (whether a zone had to be stated and is not).

    `form` is that of text, in the codes of strptime, where it is neither ISO 8601 nor a number.
    """
    held = frame.schema[role]
    column = pl.col(role)
    if held.is_numeric():
        wall, ahead = _from_number(column.cast(pl.Float64), epoch), pl.lit(0, pl.Int64)
    elif isinstance(held, pl.Datetime):
        wall = column.dt.epoch("us")
        ahead = pl.lit(None if held.time_zone is None else 0, pl.Int64)
    elif (common := _common(frame[role], form)) is not None:
        wall, ahead = common
    elif form is not None:
        wall, ahead = _formed(column, form), pl.lit(0 if "%z" in form else None, pl.Int64)
    else:
        frame = frame.with_columns(column.str.strip_chars().str.extract_groups(ISO_8601).alias("__iso"))
        number = _from_number(column.str.strip_chars().cast(pl.Float64, strict=False), epoch)
        wall = pl.coalesce(number, _iso_wall())
        ahead = pl.when(number.is_not_null()).then(0).otherwise(_iso_ahead())
    frame = frame.with_columns(wall.alias("__wall"), ahead.cast(pl.Int64).alias("__ahead"))
    stated = pl.lit(None, pl.Int64) if zone is None else zone_named(zone).instant(pl.col("__wall"))
    instant = pl.when(pl.col("__ahead").is_null()).then(stated).otherwise(pl.col("__wall") - pl.col("__ahead"))
    naive = pl.col("__wall").is_not_null() & pl.col("__ahead").is_null() & pl.lit(zone is None)
    return frame.with_columns(instant.alias(f"{role}_instant"), naive.alias(f"{role}_naive")).drop(
        "__wall", "__ahead", "__iso", strict=False
    )


def _common(column: pl.Series, form: str | None) -> tuple[pl.Expr, pl.Expr] | None:
    """Wall-clock times and offsets of a column all of whose values are written as the first is, if that is common."""
    first = COMMON.fullmatch(str(column[0])) if form is None and len(column) else None
    if first is None:
        return None
    like = f"0000-00-00{first['between']}00:00:00{first['utc']}"
    if column.null_count() or not (column.str.len_bytes() == len(like)).all():
        return None
    text = column.cast(pl.Binary).bin.reinterpret(dtype=pl.Array(pl.UInt8, len(like))).to_numpy()
    walls = np.empty(len(text), dtype=np.int64)
    for start in range(0, len(text), ROWS):
        wall = _wall(text[start : start + ROWS], like)
        if wall is None:
            return None
        walls[start : start + ROWS] = wall
    return pl.lit(pl.Series(walls)), pl.lit(0 if first["utc"] else None, pl.Int64)


def _wall(text: npt.NDArray[np.uint8], like: str) -> npt.NDArray[np.int64] | None:
    """Microseconds of texts (rows, 19 or 20) with digits where `like` has them; None where one is no such time."""
    plain, most = _repeated(like)
    digits = text.reshape(-1) - plain[: text.size]
    if (digits > most[: text.size]).any():
        return None
    digits = digits.reshape(text.shape)
    century, years, month, day, hour, minute, second = (
        digits[:, k] * np.uint8(10) + digits[:, k + 1] for k in (0, 2, 5, 8, 11, 14, 17)
    )
    if (hour > 23).any():
        return None
    date = (century * np.int32(100) + years) * np.int32(10_000) + month * np.int32(100) + day
    begins = np.flatnonzero(np.diff(date, prepend=-1))  # a log has many rows a date
    known, which = np.unique(date[begins], return_inverse=True)
    try:
        dates = [dt.date(one // 10_000, one // 100 % 100, one % 100) for one in known.tolist()]
    except ValueError:
        return None
    midnights = np.array([86_400 * (one.toordinal() - EPOCH.toordinal()) for one in dates], dtype=np.int64)
    since = np.repeat(midnights[which], np.diff(begins, append=len(date)))
    seconds = since + hour * np.int64(3600) + minute * np.int64(60) + second
    return np.asarray(seconds * SECOND, dtype=np.int64)


@cache
def _repeated(like: str) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """A form again and again, and how far each byte may be above it: all at once is faster than row by row."""
    most = like.replace("0", "9").replace(":99", ":59").encode()
    plain = np.frombuffer(like.encode(), dtype=np.uint8)
    above = np.frombuffer(most, dtype=np.uint8) - plain
    return np.tile(plain, ROWS), np.tile(above, ROWS)


def _formed(column: pl.Expr, form: str) -> pl.Expr:
    """Microseconds of text in a form of one's own; of an offset, as an instant."""
    whole = form if any(code in form for code in ("%H", "%I", "%T", "%R")) else f"{form} %H:%M"
    text = column.str.strip_chars()
    text = text if whole == form else text + " 00:00"  # a date alone is its midnight
    return text.str.to_datetime(whole, time_unit="us", strict=False, exact=True).dt.epoch("us")


def _from_number(number: pl.Expr, epoch: Epoch) -> pl.Expr:
    """Microseconds from epoch seconds or milliseconds; null for what is no number, not finite or far too large."""
    seconds, milliseconds = number * 1e6, number * 1e3
    scaled = {
        "auto": pl.when(number.abs() >= NANOSECONDS_FROM)
        .then(number / 1e3)
        .when(number.abs() >= MICROSECONDS_FROM)
        .then(number)
        .when(number.abs() >= MILLISECONDS_FROM)
        .then(milliseconds)
        .otherwise(seconds),
        "seconds": seconds,
        "milliseconds": milliseconds,
    }[epoch]
    return scaled.round().cast(pl.Int64, strict=False)


def _part(name: str) -> pl.Expr:
    return pl.col("__iso").struct.field(name)


def _whole(name: str) -> pl.Expr:
    return _part(name).cast(pl.Int64, strict=False).fill_null(0)


def _iso_wall() -> pl.Expr:
    """The wall-clock time that ISO text shows; null for a day that is in no calendar."""
    days = _part("date").str.to_date("%Y-%m-%d", strict=False).cast(pl.Int32).cast(pl.Int64)
    seconds = days * 86_400 + _whole("hour") * 3600 + _whole("minute") * 60 + _whole("second")
    fraction = _part("fraction").str.slice(0, 6).str.pad_end(6, "0").cast(pl.Int64, strict=False).fill_null(0)
    return seconds * SECOND + fraction


def _iso_ahead() -> pl.Expr:
    """How far the text says that its clock is ahead of UTC; null where it does not say."""
    seconds = (_whole("ahead_hour") * 3600 + _whole("ahead_minute") * 60) * SECOND
    return (
        pl.when(_part("utc").is_not_null())
        .then(0)
        .when(_part("sign") == "+")
        .then(seconds)
        .when(_part("sign") == "-")
        .then(-seconds)
    )
