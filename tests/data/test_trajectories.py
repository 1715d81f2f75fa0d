"""Reading trajectories: against a plain loop, and case by case."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import random
from pathlib import Path

import polars as pl
import pytest

from discreet.data import EventColumns, formats, frames, read_trajectories
from discreet.errors import DataError, DiscreetError
from discreet.events import Event, Intervals, Trajectory
from tests.data import twin
from tests.data.test_readings import CHANGES, written

HEADER = ("user", "timestamp", "location", "activity")
RULES = (
    Intervals(zone="Europe/Paris"),
    Intervals.of("early 05:30, late shift 21:45", zone="Australia/Lord_Howe"),
    Intervals.of("all 00:00"),
    Intervals(),
)


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So small that rows are cut by the ends of batches."""
    monkeypatch.setattr(formats.csv, "BLOCK", 300)
    monkeypatch.setattr(frames, "BATCH", 7)


def random_rows(rng: random.Random, zone: str | None, count: int) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for _ in range(count):
        stamp = rng.choice(CHANGES) + dt.timedelta(minutes=rng.randrange(0, 3 * 1440, rng.choice((1, 240))))
        place, activity = rng.choice(["home", "a, b", "café"]), rng.choice(["eat", 'say "hi"', "unknown"])
        rows.append((rng.choice(["p1", "p2", "Zoë"]), written(rng, stamp, zone), place, activity))
        if rng.random() < 0.2:
            rows.append(rng.choice(rows))
    return rows


def by_loop(path: Path, rule: Intervals, zone: str | None) -> tuple[list[Trajectory], int, int]:
    """(trajectories, unordered, duplicates) by csv, datetime and sorted."""
    rule = rule if rule.zone or not zone else Intervals(rule.parts, zone)
    held: dict[str, list[tuple[dt.datetime, str, str]]] = {}
    unordered = duplicates = 0
    with gzip.open(path, "rt", newline="") if path.suffix == ".gz" else path.open(newline="") as file:
        for row in csv.DictReader(file):
            own = held.setdefault(row["user"], [])
            event = (twin.parse(row["timestamp"], zone), row["activity"], row["location"])
            unordered += bool(own) and event[0] < max(each[0] for each in own)
            duplicates += event in own
            own += [] if event in own else [event]
    found = []
    for person, events in held.items():
        events.sort(key=lambda event: event[0])
        made = tuple(Event(activity, rule.locate(stamp), location) for stamp, activity, location in events)
        found.append(Trajectory(person, made, tuple(stamp for stamp, _, _ in events)))
    return found, unordered, duplicates


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("seed", range(12))
def test_trajectories_agree_with_a_plain_loop(tmp_path: Path, seed: int) -> None:
    """Out of order, duplicated, at one instant, in mixed zones, around changes of the clocks."""
    rng = random.Random(seed)
    rule, zone = rng.choice(RULES), rng.choice([None, "Europe/Paris", "America/St_Johns"])
    path = tmp_path / rng.choice(["t.csv", "t.csv.gz"])
    twin.write_table(path, HEADER, random_rows(rng, zone, rng.choice((1, 40, 160))))
    found = read_trajectories(path, rule, zone=zone)
    expected, unordered, duplicates = by_loop(path, rule, zone)
    assert list(found) == expected
    assert (found.unordered, found.duplicates) == (unordered, duplicates)
    assert found.events == sum(map(len, expected)) == found.rows - duplicates
    assert found.people == tuple(trajectory.person for trajectory in expected)


@pytest.mark.usefixtures("small_batches")
def test_parquet_gives_the_same(tmp_path: Path) -> None:
    rows = random_rows(random.Random(3), None, 60)
    plain = twin.write_table(tmp_path / "t.csv", HEADER, rows)
    pl.DataFrame(rows, schema=HEADER, orient="row").write_parquet(tmp_path / "t.parquet")
    assert list(read_trajectories(tmp_path / "t.parquet")) == list(read_trajectories(plain))


def table(path: Path, *rows: str, header: str = "user,timestamp,location,activity") -> Path:
    path.write_text("\n".join((header, *rows)) + "\n")
    return path


def test_columns_can_have_other_names_and_numbers(tmp_path: Path) -> None:
    path = table(tmp_path / "ann.csv", "0,7,eat", header="when,region,kind")
    columns = EventColumns(user=None, timestamp="when", location="region", activity="kind")
    assert read_trajectories(path, columns=columns)[0] == Trajectory(
        "ann", (Event("eat", "night", "7"),), (dt.datetime(1970, 1, 1, tzinfo=dt.UTC),)
    )
    pl.DataFrame({"when": [0], "region": [7], "kind": ["eat"]}).write_parquet(tmp_path / "ann.parquet")
    assert (
        read_trajectories(tmp_path / "ann.parquet", columns=columns)[0] == read_trajectories(path, columns=columns)[0]
    )
    with pytest.raises(DataError, match=r"no column 'user' .*EventColumns\(user=\.\.\.\)"):
        read_trajectories(path)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("p,0,home,", "line 3, column 'activity': an empty field is not an activity"),
        ("p,0, ,eat", "line 3, column 'location': ' ' is not a location"),
        (",0,home,eat", "line 3, column 'user': an empty field is not a user"),
        ("p,noon,home,eat", "line 3, column 'timestamp': 'noon' is not a timestamp"),
        ("p,0,a|b,eat", r"line 3, column 'location': 'a\|b' contains '\|'"),
        ("p,0,home", "line 3: 'p,0,home' has 3 fields"),
        ("p,5000000000,home,eat", "outside the years"),
    ],
)
def test_bad_rows_are_named_or_counted(tmp_path: Path, row: str, problem: str) -> None:
    path = table(tmp_path / "t.csv", "p,60,home,eat", row, "p,120,home,sleep")
    with pytest.raises(DataError, match=problem):
        read_trajectories(path)
    found = read_trajectories(path, skip_bad=True)
    assert (found.rows, len(found.bad), found.events) == (3, 1, 2)
    assert "line 3" in found.bad.first[0]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (None, ["evening", "morning"]),
        (Intervals(), ["evening", "morning"]),
        (Intervals.of("early 00:00, late 18:00"), ["late", "early"]),
        (Intervals(zone="UTC"), ["afternoon", "night"]),
        (Intervals(zone="America/New_York"), ["afternoon", "night"]),
    ],
)
def test_the_zone_of_timestamps_is_that_of_intervals_which_state_none(
    tmp_path: Path, rule: Intervals | None, expected: list[str]
) -> None:
    path = table(tmp_path / "t.csv", "p,2026-06-01T19:30:00,home,eat", "p,2026-06-02T06:30:00,home,eat")
    given = () if rule is None else (rule,)
    found = read_trajectories(path, *given, zone="Europe/Paris")
    assert [event.time for event in found[0].events] == expected
    assert found[0].timestamps == (
        dt.datetime(2026, 6, 1, 17, 30, tzinfo=dt.UTC),
        dt.datetime(2026, 6, 2, 4, 30, tzinfo=dt.UTC),
    )


def test_a_timestamp_without_any_zone_is_always_an_error(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", "p,2026-01-01T08:00:00,home,eat", "p,2026-01-01T10:00:00Z,home,eat")
    with pytest.raises(DataError, match=r"pass naive_zone="):
        read_trajectories(path, skip_bad=True)
    assert read_trajectories(path, naive_zone="Europe/Paris").events == 2
    assert read_trajectories(path, zone="Europe/Paris").events == 2
    with pytest.raises(DataError, match="two words for one thing"):
        read_trajectories(path, naive_zone="Europe/Paris", zone="UTC")


def test_a_table_without_rows_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"expected one event a row"):
        read_trajectories(table(tmp_path / "t.csv"))
    with pytest.raises(DataError, match=r"none of the 1 rows"):
        read_trajectories(table(tmp_path / "t.csv", "p,0,,eat"), skip_bad=True)
    with pytest.raises(DataError, match=r"epoch is 'hours'"):
        read_trajectories(table(tmp_path / "t.csv", "p,0,a,b"), epoch="hours")  # type: ignore[arg-type]


def test_people_are_found_by_name_and_place(tmp_path: Path) -> None:
    found = read_trajectories(table(tmp_path / "t.csv", "p,60,home,eat", "anna,0,home,eat", "p,0,home,eat"))
    assert [len(trajectory) for trajectory in found] == [2, 1]
    assert found.of("anna") == found[1] == found[-1] == found[1:][0]
    assert repr(found) == "Trajectories(2 people, 3 events, 3 rows, 0 bad, 1 unordered, 0 duplicates)"
    with pytest.raises(DiscreetError, match=r"did you mean 'anna'"):
        found.of("ana")
    with pytest.raises(IndexError):
        found[2]


def test_progress_reaches_the_end(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    path = table(tmp_path / "t.csv", "p,60,home,eat")
    read_trajectories(path, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)
