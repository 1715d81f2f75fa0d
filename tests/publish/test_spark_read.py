from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from discreet.data import read_trajectories
from discreet.data.many_files import files_of
from discreet.errors import DataError
from discreet.publish.engines.spark.people import whole_people
from discreet.publish.engines.spark.tables import EventTable, _numbered, address_of, is_remote, spark_schema
from discreet.publish.work import trajectories_of

pa = pytest.importorskip("pyarrow", reason="no Spark: pip install 'discreet[spark]'")


@pytest.mark.parametrize("address", ["s3a://bucket/events", "hdfs:/events", "abfss://a@b/c"])
def test_addresses_of_stores_survive_being_paths(address: str) -> None:
    assert is_remote(address)
    assert address_of(Path(address)) == address
    assert EventTable((address,)).files() == []


def test_files_are_in_the_order_of_the_local_reader(tmp_path: Path) -> None:
    for name in ("a", "a-b", "a b", "a!"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "part.parquet").touch()
    files = files_of(tmp_path)[0]
    found = _numbered([file.as_uri() for file in reversed(files)])
    assert list(found) == list(map(str, files))
    assert list(found.values()) == [0, 1, 2, 3]


def test_files_of_one_format(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv"):
        (tmp_path / name).write_text("user\n")
    assert EventTable((f"{tmp_path}/*.csv",)).files() == [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    assert not is_remote(str(tmp_path))
    pl.DataFrame({"user": ["ann"]}).write_parquet(tmp_path / "c.parquet")
    assert EventTable((str(tmp_path / "c.parquet"),)).files() == []
    with pytest.raises(DataError, match="Parquet and other files in one table"):
        EventTable((str(tmp_path),)).files()
    with pytest.raises(DataError, match="no table to read"):
        EventTable(())


def test_people_are_cut_whole_from_batches_that_end_anywhere() -> None:
    names = [*"aabbb", *"c" * 9, "d"]
    rows = pl.DataFrame({"person": names, "order": range(len(names))})
    for size in (1, 2, 3, 4, 100):
        batches = (pa.RecordBatch.from_pylist(rows[k : k + size].to_dicts()) for k in range(0, rows.height, size))
        cut = list(whole_people(batches))
        assert pl.concat(cut).equals(rows)
        people = [set(part["person"]) for part in cut]
        assert sum(map(len, people)) == 4  # nobody in two of them
    assert list(whole_people(iter([]))) == []


def test_rows_are_cleaned_as_by_the_local_reader(tmp_path: Path) -> None:
    rng = pl.Series(range(400)).sample(400, shuffle=True, seed=3)
    rows = pl.DataFrame(
        {
            "user": "p" + (rng % 7).cast(pl.String),
            "timestamp": 1_772_438_400 + 3_600 * (rng % 31),  # several at one instant
            "location": "l" + (rng % 3).cast(pl.String),
            "activity": "a" + (rng % 5).cast(pl.String),
        }
    )
    rows = pl.concat([rows, rows.sample(50, seed=1)])
    rows.write_csv(tmp_path / "events.csv")
    read = read_trajectories(tmp_path / "events.csv")
    sound = rows.select(
        person="user",
        instant=pl.col("timestamp") * 1_000_000,
        order=pl.int_range(pl.len()),
        activity="activity",
        location="location",
    )
    events, counts = EventTable(("events.csv",)).cleaned(sound.sample(sound.height, shuffle=True, seed=2))
    found = list(trajectories_of(events))
    assert [(one.person, one.events) for one in found] == [
        (one.person, one.events) for one in sorted(read, key=lambda one: one.person)
    ]
    assert (counts["duplicates"].sum(), counts["unordered"].sum()) == (read.duplicates, read.unordered)


def test_schemas_in_sparks_words() -> None:
    kinds = {"a": pl.List(pl.Struct({"b": pl.String, "c": pl.Float64})), "d": pl.Boolean, "e": pl.Int64}
    assert spark_schema(kinds) == "`a` array<struct<b: string, c: double>>, `d` boolean, `e` bigint"
