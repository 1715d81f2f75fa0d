from __future__ import annotations

import errno
import gzip
import io
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from discreet.data import EventColumns, published_columns, read_published, write_published
from discreet.data.published import Row, check_target
from discreet.data.releases import sink_parquet
from discreet.errors import DataError
from discreet.outputs import PartialEvent

ROLES = {"location": "place", "user": "who", "timestamp": "when", "activity": "what"}
ROWS: list[Row] = [
    ("ann", PartialEvent("lunch", "noon", "canteen")),
    ("ann", PartialEvent(None, "noon", 'a "quoted", bar')),
    ("bob", PartialEvent()),
    ("bob", PartialEvent("run\rwalk", None, None)),
]


def test_csv_has_the_columns_in_their_order_and_nothing_where_it_is_withheld(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    assert write_published(path, ROLES, ROWS) == 4
    assert path.read_bytes().decode() == (
        'place,who,when,what\ncanteen,ann,noon,lunch\n"a ""quoted"", bar",ann,noon,\n,bob,,\n"","bob","","run\rwalk"\n'
    )
    write_published(tmp_path / "out.csv.gz", ROLES, ROWS)
    assert gzip.decompress((tmp_path / "out.csv.gz").read_bytes()) == path.read_bytes()


def test_parquet_has_nulls(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    write_published(path, ROLES, ROWS)
    table = pl.read_parquet(path)
    assert table.columns == ["place", "who", "when", "what"]
    assert table.rows()[:3] == [
        ("canteen", "ann", "noon", "lunch"),
        ('a "quoted", bar', "ann", "noon", None),
        (None, "bob", None, None),
    ]


def test_a_row_of_nothing_is_a_row(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    write_published(path, {"activity": "what", "location": "place", "timestamp": "when"}, ROWS)
    assert path.read_text().splitlines()[3] == '"","",""'


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_nothing_is_left_where_it_fails(tmp_path: Path, ending: str) -> None:
    def broken() -> Iterator[Row]:
        yield ROWS[0]
        raise RuntimeError("halfway")

    with pytest.raises(Exception, match="halfway"):
        write_published(tmp_path / f"out.{ending}", ROLES, broken())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_order_of_the_columns_and_those_left_out(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"in.{ending}"
    frame = pl.DataFrame(
        {"lat": ["1"], "place": ["x"], "user": ["ann"], "timestamp": ["2026-01-01T00:00Z"], "what": ["y"]}
    )
    frame.write_csv(path) if ending == "csv" else frame.write_parquet(path)
    columns = EventColumns(location="place", activity="what")
    roles, left_out = published_columns(path, columns)
    assert list(roles.items()) == [
        ("location", "place"),
        ("user", "user"),
        ("timestamp", "timestamp"),
        ("activity", "what"),
    ]
    assert left_out == ["lat"]
    alone, left_out = published_columns(path, EventColumns(user=None, location="place", activity="what"))
    assert "user" not in alone
    assert left_out == ["lat", "user"]


def test_a_bad_target_is_told_before_the_work(tmp_path: Path) -> None:
    data = tmp_path / "in.csv"
    data.write_text("x\n")
    with pytest.raises(DataError, match=r"use \.csv, \.csv\.gz or \.parquet"):
        check_target(tmp_path / "out.xlsx", data)
    with pytest.raises(DataError, match="there is no folder"):
        check_target(tmp_path / "none" / "out.csv", data)
    with pytest.raises(DataError, match="take the place of the data"):
        check_target(tmp_path / "in.csv", data)
    check_target(tmp_path / "out.csv", data)
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(DataError, match="is a folder, and the table is a file"):
        check_target(tmp_path / "folder.parquet", data)


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.parquet"])
def test_what_was_published_is_read_back(tmp_path: Path, name: str) -> None:
    write_published(tmp_path / name, ROLES, ROWS)
    people = read_published(tmp_path / name, EventColumns("who", "when", "place", "what"))
    assert [(person, event) for person, events in people.items() for event in events] == ROWS


def test_one_persons_table_is_read_back(tmp_path: Path) -> None:
    write_published(
        tmp_path / "ann.csv", {"timestamp": "timestamp", "location": "location", "activity": "activity"}, ROWS
    )
    people = read_published(tmp_path / "ann.csv", EventColumns(None))
    assert people == {"ann": [event for _, event in ROWS]}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("user,timestamp,location,activity\n", "no rows"),
        ("user,timestamp,location,activity\n,noon,bar,\n", "no user"),
        ("user,timestamp,location,activity\nann,noon\n", "line 2"),
        ("user,timestamp,location\nann,noon,bar\n", "'activity'"),
    ],
)
def test_a_table_that_was_not_published_is_told(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "out.csv").write_text(text)
    with pytest.raises(DataError, match=told):
        read_published(tmp_path / "out.csv", EventColumns())


class Full(io.BytesIO):
    """A file on a disk without room."""

    def write(self, content: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_disk_that_is_full_is_an_error_of_the_file() -> None:
    frames = iter([pl.DataFrame({"who": ["ann"]})])
    with pytest.raises(OSError, match="No space left on device"):
        sink_parquet(Full(), {"who": pl.String()}, frames)
