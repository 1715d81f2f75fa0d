"""The column-wise clock agrees with Clock.locate and with zoneinfo, to the second."""

from __future__ import annotations

import datetime as dt
import random
from unittest import mock
from zoneinfo import ZoneInfo

import polars as pl
import pytest

from discreet.clock import Clock
from discreet.data import instants
from discreet.data.instants import LATEST, SECOND, with_instant, zone_named
from discreet.data.slots import slot_of
from discreet.errors import DataError

# Half-hour changes, changes at midnight, a skipped day, offsets of 45 minutes, a summer time within Ramadan, none.
ZONES = (
    "UTC",
    "Europe/Paris",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "Pacific/Apia",
    "Asia/Kathmandu",
    "Africa/Casablanca",
    "Africa/Monrovia",
)
EPOCH = dt.date(1970, 1, 1)


def moments(zone: str) -> list[int]:
    """Seconds around every change of the zone's clocks, and some at random."""
    rng = random.Random(zone)
    near = [
        change // SECOND + shift
        for change in zone_named(zone).changes.to_list()
        for shift in (-7200, -3601, -3600, -1801, -1, 0, 1, 1799, 1800, 3599, 3600, 7200, rng.randrange(-90000, 90000))
    ]
    return [s for s in near + [rng.randrange(LATEST // SECOND) for _ in range(500)] if 0 <= s < LATEST // SECOND]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(
    ("slots", "cut"), [(48, "00:00"), (24, "04:00"), (96, "03:20"), (86_400, "23:59"), (1, "12:00")]
)
def test_slots_are_those_of_locate(zone: str, slots: int, cut: str) -> None:
    clock = Clock(slots, zone=zone, cut=cut)
    seconds = moments(zone)
    instants = pl.DataFrame({"instant": [s * SECOND for s in seconds]})
    found = instants.select(slot_of(clock, zone_named(zone).wall(pl.col("instant")))).to_series().to_list()
    for second, slot in zip(seconds, found, strict=True):
        date = EPOCH + dt.timedelta(days=slot // slots)
        assert (date, slot % slots) == clock.locate(dt.datetime.fromtimestamp(second, dt.UTC)), second


@pytest.mark.parametrize("zone", ZONES)
def test_wall_clock_times_are_placed_as_python_places_them(zone: str) -> None:
    """In repeated and skipped hours too, where the wall clock alone does not say when it was."""
    info = ZoneInfo(zone)
    walls = [dt.datetime.fromtimestamp(second, info).replace(tzinfo=None, fold=0) for second in moments(zone)]
    walls += [wall + dt.timedelta(minutes=shift) for wall in walls for shift in (-45, 45)]
    walls = [wall for wall in walls if wall.year > 1970]
    frame = pl.DataFrame({"timestamp": [wall.isoformat() for wall in walls]})
    found = with_instant(frame, "timestamp", zone=zone, epoch="auto")["timestamp_instant"].to_list()
    for wall, instant in zip(walls, found, strict=True):
        assert instant == int(wall.replace(tzinfo=info).timestamp()) * SECOND, wall


ACCEPTED = {
    "0": "1970-01-01T00:00:00+00:00",
    "1225028647": "2008-10-26T13:44:07+00:00",
    " 1225028647.25 ": "2008-10-26T13:44:07.250000+00:00",
    "1225028647250": "2008-10-26T13:44:07.250000+00:00",
    "1.225028647e9": "2008-10-26T13:44:07+00:00",
    "2008-10-26T13:44:07Z": "2008-10-26T13:44:07+00:00",
    "2008-10-26 13:44z": "2008-10-26T13:44:00+00:00",
    "2008-10-26T13:44:07.123456789+02:00": "2008-10-26T11:44:07.123456+00:00",
    "2008-10-26T13:44:07,5-0330": "2008-10-26T17:14:07.500000+00:00",
    "2008-10-26T13:44:07 +05": "2008-10-26T08:44:07+00:00",
    "2024-02-29T00:00:00+14:00": "2024-02-28T10:00:00+00:00",
}
REFUSED = (
    "yesterday", "2023-02-29T00:00:00Z", "2008-13-01T00:00:00Z", "2008-10-26T24:00:00Z", "2008-10-26T13:60:00Z",
    "2008-10-26", "26/10/2008 13:44", "nan", "inf", "-inf", "1e400", "1e30", "", "2008-10-26T13:44:07+25:00", "٢٠٠٨",
)  # fmt: skip


def test_forms_of_timestamps() -> None:
    frame = pl.DataFrame({"timestamp": [*ACCEPTED, *REFUSED]})
    found = with_instant(frame, "timestamp", zone=None, epoch="auto")["timestamp_instant"].to_list()
    expected = [dt.datetime.fromisoformat(text) for text in ACCEPTED.values()]
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    assert found[: len(expected)] == [(stamp - epoch) // dt.timedelta(microseconds=1) for stamp in expected]
    assert found[len(expected) :] == [None] * len(REFUSED)


def test_the_unit_of_numbers_can_be_stated() -> None:
    frame = pl.DataFrame({"timestamp": [1000, 99_999_999_999, 100_000_000_000]})

    def read(epoch: str) -> list[int]:
        return with_instant(frame, "timestamp", zone=None, epoch=epoch)["timestamp_instant"].to_list()  # type: ignore[arg-type]

    assert read("milliseconds") == [1_000_000, 99_999_999_999_000, 100_000_000_000_000]
    assert read("seconds") == [1_000_000_000, 99_999_999_999_000_000, 100_000_000_000_000_000]
    assert read("auto") == [1_000_000_000, 99_999_999_999_000_000, 100_000_000_000_000]


@pytest.mark.parametrize("ending", ["", "Z"])
def test_many_texts_at_once_are_what_each_is_alone(ending: str) -> None:
    """Columns of one form are read as bytes: all dates, what is no time, more rows than are read at a time."""
    chance = random.Random(7)
    days = [f"{dt.date(2023, 12, 31) + dt.timedelta(k)}" for k in range(430)]
    times = [f"{k % 24:02}:{k % 60:02}:{k * 7 % 60:02}" for k in range(430)]
    sound = [f"{day}T{time}{ending}" for day, time in zip(days, times, strict=True)]
    odd = ["2023-02-29T00:00:00", "2024-00-10T00:00:00", "0000-01-01T00:00:00", "2024-01-01T24:00:00"]
    odd += [
        "2024-01-01T00:60:00",
        "2024-01-01T00:00:60",
        "2024-01-0:T00:00:00",
        "2024-01-01 00:00:00",
        "+024-01-01T00:00:00",
    ]
    many = sound * (instants.ROWS // len(sound) + 2)
    chance.shuffle(many)
    for column in (sound, many, *([*many[:9], one + ending, *many[:3]] for one in odd)):
        frame = pl.DataFrame({"timestamp": column})
        at_once = with_instant(frame, "timestamp", zone="Europe/Paris", epoch="auto")
        with mock.patch.object(instants, "_common", return_value=None):
            alone = with_instant(frame, "timestamp", zone="Europe/Paris", epoch="auto")
        assert at_once.equals(alone)


def test_an_unknown_zone_is_named() -> None:
    with pytest.raises(DataError, match="'Europe/Pariss' is not known"):
        zone_named("Europe/Pariss")
