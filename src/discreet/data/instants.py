"""Timestamps to instants, and instants to wall clocks, a column at a time.

Instants and wall-clock times are microseconds since 1970 (int64). Offsets come from Python's own zoneinfo, not from the
time zones built into polars: the two may hold different releases of the tz database, and then a batch and a live
stream, which uses `Clock.locate`, would put the same reading into different slots.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import polars as pl

from discreet.clock import LAST_YEAR, unknown_zone
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
    code = f"%Y-%m-%d{first['between']}%H:%M:%S{first['utc']}"
    like = f"0000-00-00{first['between']}00:00:00{first['utc']}".encode()
    if column.null_count() or not (column.str.len_bytes() == len(like)).all():
        return None
    text = pl.col(column.name)
    read = column.to_frame().select(
        pl.all_horizontal(_written_like(text, like)).all().alias("shaped"),
        text.str.to_datetime(code, time_unit="us", strict=False, cache=False).dt.epoch("us").alias("wall"),
    )
    wall = read["wall"]
    if not read["shaped"][0] or wall.null_count():
        return None
    return pl.lit(wall), pl.lit(0 if first["utc"] else None, pl.Int64)


def _written_like(text: pl.Expr, like: bytes) -> list[pl.Expr]:
    """Whether texts have a digit where `like` has a 0, or one of :;<=>?, and otherwise what it has, and no 60th second.

    Strptime takes signs, blanks and leap seconds for digits besides, which ISO 8601 as read here does not. Eight bytes
    at a time, because that takes a tenth of the time of a regular expression.
    """
    found = []
    for start in (0, 8, len(like) - 8):
        word = text.cast(pl.Binary).bin.slice(start, 8).bin.reinterpret(dtype=pl.UInt64)
        want = like[start : start + 8]
        mask = bytes(0xF0 if one == ord("0") else 0xFF for one in want)
        found.append((word & _word(mask)) == _word(want))
    second = like.rindex(b"00") - (len(like) - 8)
    mask = bytes(0xFF if second <= k <= second + 1 else 0 for k in range(8))
    sixty = bytes(second) + b"60" + bytes(6 - second)
    return [*found, (word & _word(mask)) != _word(sixty)]


def _word(eight: bytes) -> pl.Expr:
    return pl.lit(int.from_bytes(eight, "little"), pl.UInt64)


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
