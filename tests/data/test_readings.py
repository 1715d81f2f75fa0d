"""Reading days: against the slow twin, and case by case."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl
import pytest

from discreet.clock import Clock
from discreet.contexts import Day
from discreet.data import Columns, formats, frames, read_days, slots
from discreet.errors import DataError, DiscreetError
from tests.data import twin

HEADER = ("user", "timestamp", "context")
CLOCKS = (
    Clock(24, zone="Europe/Paris", cut="04:00"),
    Clock(96, zone="America/New_York"),
    Clock(48, zone="Australia/Lord_Howe", cut="01:45"),
    Clock(4, zone="UTC", cut="12:00"),
)
# Days around which the clocks of these zones change.
CHANGES = [dt.datetime(2024, *md, tzinfo=dt.UTC) for md in ((3, 9), (3, 30), (4, 6), (10, 5), (10, 26), (11, 2))]


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So small that rows, quotes and slots are cut by the ends of batches."""
    monkeypatch.setattr(formats.csv, "BLOCK", 300)
    monkeypatch.setattr(formats.csv, "LONGEST_ROW", 400)
    monkeypatch.setattr(frames, "BATCH", 7)
    monkeypatch.setattr(slots, "UNMERGED", 10)
    monkeypatch.setattr(slots, "SPREAD", 20)


def written(rng: random.Random, stamp: dt.datetime, zone: str | None) -> str:
    """A timestamp in one of the forms that are read; naive ones in `zone` only."""
    if zone is not None:
        return stamp.astimezone(ZoneInfo(zone)).replace(tzinfo=None).isoformat()
    abroad = stamp.astimezone(dt.timezone(dt.timedelta(minutes=15 * rng.randrange(-40, 40))))
    number = stamp.timestamp()
    return rng.choice(
        [abroad.isoformat(), stamp.isoformat().replace("+00:00", "Z"), str(number), str(round(number * 1000))]
    )


def random_rows(rng: random.Random, zone: str | None, count: int) -> list[tuple[str, str, str]]:
    labels = ["home", "work", "a, b", 'say "hi"', "two\nlines", "café", "unknown"]
    rows = []
    for _ in range(count):
        stamp = rng.choice(CHANGES) + dt.timedelta(
            milliseconds=rng.randrange(0, 3 * 86_400_000, rng.choice((1, 600_000)))
        )
        rows.append((rng.choice(["p1", "p2", "Zoë"]), written(rng, stamp, zone), rng.choice(labels)))
    return rows


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("seed", range(18))
def test_readings_agree_with_the_twin(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    clock = rng.choice(CLOCKS)
    zone = rng.choice([None, clock.zone, "America/St_Johns"])
    path = twin.write_table(
        tmp_path / rng.choice(["t.csv", "t.csv.gz"]), HEADER, random_rows(rng, zone, rng.choice((1, 60, 160)))
    )
    for pick in ("last", "modal"):
        found = read_days(path, clock, zone=zone, pick=pick)
        assert found.people == twin.readings(path, clock, zone=zone, pick=pick)
        assert not found.bad


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("seed", range(9))
def test_intervals_agree_with_the_twin(tmp_path: Path, seed: int) -> None:
    """Across clock changes too: some intervals span a day on which the clocks change."""
    rng = random.Random(seed)
    clock = rng.choice(CLOCKS)
    rows: list[twin.Row] = []
    for _ in range(40):
        start = rng.choice(CHANGES) + dt.timedelta(minutes=rng.randrange(0, 3 * 1440, 5))
        stay = dt.timedelta(minutes=rng.choice([0, 1, 5, 30, 60, 90, 1500]))
        rows.append((rng.choice(["p1", "p2"]), start, start + stay, rng.choice(["home", "work", "shop"])))
    table = [(who, start.isoformat(), end.isoformat() if end else "", what) for who, start, end, what in rows]
    path = twin.write_table(tmp_path / "t.csv", ("user", "from", "to", "context"), table)
    for pick in ("last", "modal"):
        found = read_days(path, clock, columns=Columns(start="from", end="to"), pick=pick)
        assert found.people == twin.intervals(rows, clock, pick=pick)


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("form", ["text", "seconds", "milliseconds", "aware", "naive", "nanoseconds"])
def test_parquet_agrees_with_csv(tmp_path: Path, form: str) -> None:
    rng = random.Random(form)
    clock = CLOCKS[0]
    rows = [(who, stamp, what) for who, stamp, what in random_rows(rng, "UTC", 100)]
    path = twin.write_table(tmp_path / "t.csv", HEADER, rows)
    stamps = pl.Series([dt.datetime.fromisoformat(stamp) for _, stamp, _ in rows])
    column = {
        "text": pl.Series([stamp for _, stamp, _ in rows]),
        "seconds": stamps.dt.epoch("us") / 1e6,
        "milliseconds": stamps.dt.epoch("ms"),
        "aware": stamps.dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo"),
        "naive": stamps,
        "nanoseconds": stamps.dt.cast_time_unit("ns"),
    }[form]
    table = pl.DataFrame({"user": [row[0] for row in rows], "timestamp": column, "context": [row[2] for row in rows]})
    table.with_columns(pl.col("context").cast(pl.Categorical)).write_parquet(tmp_path / "t.parquet", row_group_size=30)
    from_parquet, from_csv = (read_days(file, clock, zone="UTC") for file in (tmp_path / "t.parquet", path))
    assert from_parquet == from_csv


def test_the_later_reading_stands_across_a_repeated_hour(tmp_path: Path) -> None:
    rows = [
        ("p", "2024-10-27T02:10:00+01:00", "second pass"),
        ("p", "2024-10-27T02:50:00+02:00", "first pass"),
        ("p", "2024-10-27T04:00:00+01:00", "early"),
        ("p", "2024-10-27T04:00:00+01:00", "further down"),
    ]
    path = twin.write_table(tmp_path / "t.csv", HEADER, rows)
    (day,) = read_days(path, Clock(24, zone="Europe/Paris")).people["p"]
    assert (day.contexts[2], day.contexts[4]) == ("second pass", "further down")


def test_gaps_carrying_and_merging(tmp_path: Path) -> None:
    rows = [("p", "2024-01-01T18:00Z", "home"), ("p", "2024-01-01T12:00Z", "work"), ("p", "2024-01-04T06:00Z", "shop")]
    path = twin.write_table(tmp_path / "t.csv", HEADER, rows)
    clock = Clock(4)

    def contexts(**options: object) -> list[tuple[str, ...]]:
        return [day.contexts for day in read_days(path, clock, **options).days]  # type: ignore[arg-type]

    u = "unknown"
    assert contexts() == [(u, u, "work", "home"), (u, "shop", u, u)]
    assert contexts(empty_days=True) == [(u, u, "work", "home"), (u,) * 4, (u,) * 4, (u, "shop", u, u)]
    assert contexts(carry=1, empty_days=True)[1] == ("home", u, u, u)
    assert contexts(carry=1, backward=True) == [("work", "work", "work", "home"), ("shop", "shop", "shop", u)]
    assert contexts(merge_below=0.2, keep=["home"]) == [(u, u, "other", "home"), (u, "other", u, u)]
    dates = [day.date for day in read_days(path, clock, empty_days=True).days]
    assert dates == [dt.date(2024, 1, k) for k in (1, 2, 3, 4)]


def test_one_person_without_a_user_column(tmp_path: Path) -> None:
    path = twin.write_table(tmp_path / "alice.csv.gz", ("at", "place"), [("0", "home"), ("86399", "work")])
    found = read_days(path, Clock(2), columns=Columns(user=None, timestamp="at", context="place"))
    assert found.people == {"alice": [Day(("home", "work"), date=dt.date(1970, 1, 1), person="alice")]}


def test_people_come_in_the_order_of_the_file_and_other_columns_are_left_alone(tmp_path: Path) -> None:
    rows = [("x", "z", "0", "home"), ("y", "a", "0", "home"), ("", "z", "90000", "home")]
    path = twin.write_table(tmp_path / "t.csv", ("note", "user", "timestamp", "context"), rows)
    found = read_days(path, Clock(1))
    assert list(found.people) == ["z", "a"]
    assert [len(days) for days in found.people.values()] == [2, 1]
    assert found.rows == 3


@pytest.mark.parametrize("name", ["t.csv", "t.CSV"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_byte_order_mark_line_ends_blank_lines_and_a_missing_last_line_end(
    tmp_path: Path, name: str, end: bytes, mark: bytes
) -> None:
    lines = [b'"user",timestamp,context', b"p,0,home", b"", b'"p",90000,"a ""b"""', b"p,180000,work"]
    (tmp_path / name).write_bytes(mark + end.join(lines))
    found = read_days(tmp_path / name, Clock(1))
    assert [day.contexts for day in found.days] == [("home",), ('a "b"',), ("work",)]
    assert found.rows == 3


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
@pytest.mark.usefixtures("small_batches")
def test_progress_rises_to_the_whole(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t.{ending}"
    rows = [("p", str(k * 60), "home") for k in range(500)]
    if ending == "parquet":
        pl.DataFrame(rows, schema=list(HEADER), orient="row").write_parquet(path)
    else:
        twin.write_table(path, HEADER, rows)
    seen: list[tuple[int, int]] = []
    read_days(path, Clock(24), progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert len({total for _, total in seen}) == 1
    assert seen[-1][0] == seen[-1][1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pick": "first"}, "pick is 'first'"),
        ({"epoch": "minutes"}, "epoch is 'minutes'"),
        ({"carry": -1}, "carried for is -1; give a whole number"),
        ({"merge_below": 1.5}, "merged is 1.5"),
    ],
)
def test_wrong_options_are_told_before_the_file_is_read(options: dict[str, object], message: str) -> None:
    with pytest.raises(DiscreetError, match=message):
        read_days("there is no such file.csv", Clock(1), **options)  # type: ignore[arg-type]


def test_who_lacks_the_examples_is_told_how_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The README's lines name them, and an installed package has no such folder."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"examples.readings\.csv: cannot be read: .*discreet examples"):
        read_days(Path("examples/readings.csv"), Clock(1))
    with pytest.raises(DataError, match="check the path"):
        read_days(Path("other/readings.csv"), Clock(1))


def test_one_end_of_an_interval_is_not_enough() -> None:
    with pytest.raises(DataError, match="'start' is named but 'end' is not"):
        Columns(start="from")
