from __future__ import annotations

import csv
import errno
import random
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from discreet.data import population as sorting
from discreet.data import read_trajectories
from discreet.data.population import Population, read_population
from discreet.errors import DataError, DiscreetError
from discreet.events import Events, Intervals

HEADER = ("user", "timestamp", "location", "activity")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes at which a few hundred rows take many runs and ranges."""
    for name, size in (("RUN_ROWS", 70), ("RANGE_ROWS", 30), ("LOOKED_AT", 3), ("ROW_GROUP", 10)):
        monkeypatch.setattr(sorting, name, size)
    monkeypatch.setattr("discreet.data.formats.csv.BLOCK", 1000)


def written(path: Path, rows: list[tuple[str, ...]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HEADER, *rows])
    return path


def mixed(seed: int, number: int = 600) -> list[tuple[str, ...]]:
    """Rows out of order, some of them twice, at offsets that differ from row to row, of people of all alphabets."""
    rng = random.Random(seed)
    people = ["ann", "Ann", "zoë", "zo", "日本", "😀", "\x7f", "ﬀ", "b" * 40, *(f"p{k}" for k in range(30))]
    rows: list[tuple[str, ...]] = []
    for _ in range(number):
        hour, ahead = rng.randrange(24), rng.choice(["+00:00", "+05:30", "-08:00", "Z"])
        when = f"2026-03-0{rng.randrange(1, 4)}T{hour:02}:00:00{ahead}"
        person = rng.choice(people) if rng.random() < 0.9 else "ann"
        rows.append((person, when, rng.choice("xyz"), rng.choice("ab")))
    return rows + rng.sample(rows, number // 10)


def same(found: Population, table: Path, intervals: Intervals) -> None:
    """What `read_trajectories` has, in order of the names."""
    whole = read_trajectories(table, intervals)
    people = sorted((replace(one, timestamps=None) for one in whole), key=lambda one: one.person)
    assert list(found) == people
    assert list(found.names()) == [one.person for one in people]
    assert (len(found), found.events, found.rows) == (len(whole), whole.events, whole.rows)
    assert (found.unordered, found.duplicates) == (whole.unordered, whole.duplicates)
    assert found.vocabulary == Events.from_trajectories(whole, occurring_only=True)
    assert found.of(["ann", "zoë", "nobody"]) == [one for one in people if one.person in ("ann", "zoë")]


@pytest.mark.parametrize("seed", range(4))
def test_people_are_those_of_a_table_in_memory_in_order_of_their_names(tmp_path: Path, seed: int) -> None:
    table = written(tmp_path / "events.csv", mixed(seed))
    intervals = Intervals(zone="Europe/Paris")
    found = read_population(table, tmp_path / "people", intervals)
    same(found, table, intervals)
    assert found.unordered > 0
    assert found.duplicates > 0
    assert len(found.ranges) > 10
    assert not list((tmp_path / "people").glob("run *"))
    assert (tmp_path / "people").stat().st_mode & 0o777 == 0o700


def test_somebody_with_most_of_the_events_is_whole(tmp_path: Path) -> None:
    rows = [("much", f"2026-03-01T{k // 3600 % 24:02}:{k // 60 % 60:02}:{k % 60:02}Z", "x", "a") for k in range(5000)]
    table = written(tmp_path / "events.csv", [("a", *rows[0][1:]), *rows, ("z", *rows[0][1:])])
    found = read_population(table, tmp_path / "people")
    assert [(one.person, len(one)) for one in found] == [("a", 1), ("much", 5000), ("z", 1)]


def test_what_is_there_is_not_read_again_unless_something_changed(tmp_path: Path) -> None:
    table, folder = written(tmp_path / "events.csv", mixed(1)), tmp_path / "people"
    found = read_population(table, folder)
    times = {file.name: file.stat().st_mtime_ns for file in folder.iterdir()}
    again = read_population(table, folder)
    assert list(again) == list(found)
    assert repr(again) == repr(found)
    assert {file.name: file.stat().st_mtime_ns for file in folder.iterdir()} == times
    other = read_population(table, folder, Intervals(zone="Asia/Tokyo"))
    same(other, table, Intervals(zone="Asia/Tokyo"))
    (folder / "whole").write_text("{")  # as a process that was killed might leave it
    same(read_population(table, folder), table, Intervals())
    written(table, mixed(2))
    same(read_population(table, folder), table, Intervals())


@pytest.mark.parametrize("column", range(4))
def test_a_key_that_is_missing_is_told_or_skipped(tmp_path: Path, column: int) -> None:
    rows = mixed(1, 100)
    rows[50] = tuple("" if k == column else value for k, value in enumerate(rows[50]))
    rows.append(("only bad rows", "yesterday", "x", "a"))
    table = written(tmp_path / "events.csv", rows)
    with pytest.raises(DataError, match=rf"events\.csv, line 52, column '{HEADER[column]}': an empty field"):
        read_population(table, tmp_path / "people")
    found = read_population(table, tmp_path / "people", skip_bad=True)
    assert len(found.bad) == 2
    assert "only bad rows" not in list(found.names())
    nulls = pl.read_csv(table).with_columns(pl.col("user").replace("ann", None))
    nulls.write_parquet(tmp_path / "events.parquet")
    with pytest.raises(DataError, match=r"events\.parquet, row \d+, column 'user': an empty field is not a user"):
        read_population(tmp_path / "events.parquet", tmp_path / "people")


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), pl.exceptions.ComputeError("full")]
)
def test_a_disk_that_is_full_is_told_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    table = written(tmp_path / "events.csv", mixed(1))
    write, times = pl.DataFrame.write_parquet, 0

    def full(self: pl.DataFrame, *arguments: object, **options: object) -> None:
        nonlocal times
        times += 1
        if times > 15:  # among the ranges, with all runs on the disk
            raise error
        write(self, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    with pytest.raises(DiscreetError, match=r"people: people cannot be sorted there: .*; make room"):
        read_population(table, tmp_path / "people")
    assert [path.name for path in tmp_path.iterdir()] == ["events.csv"]


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    table = written(tmp_path / "events.csv", mixed(1))
    with pytest.raises(DiscreetError, match="cannot be sorted there: No such file"):
        read_population(table, tmp_path / "missing" / "people")
