"""The seam: any source will do, and a new format is one file and one line."""

from __future__ import annotations

import datetime as dt
import gzip
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from discreet.clock import Clock
from discreet.contexts import UNKNOWN
from discreet.data import (
    EventColumns,
    PositionColumns,
    formats,
    open_source,
    published_columns,
    read_days,
    read_positions,
    read_trajectories,
)
from discreet.data.columns import ColumnNames
from discreet.data.formats.csv import Csv
from discreet.data.frames import schema_of
from discreet.data.rows import Record
from discreet.data.source import Batch, Fault, Format, Origin, Source, stem
from discreet.errors import DataError
from discreet.events import Event
from discreet.places import Grid, Plane
from tests.data import toy_format
from tests.data.toy_format import Toy

CLOCK = Clock(4)
TOY = Toy()
GRID = Grid(340.0, Plane(40.0, 116.0))


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "FORMATS", (*formats.FORMATS, TOY))  # the one line


def written(path: Path, *lines: str) -> Path:
    content = "\n".join((*lines, "")).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


HOME = '{"_toy": "zone", "at": "2024-05-01T08:30:00+02:00", "zone": "home", "unheard of": [1]}'
WORK = '{"_toy": "zone", "at": "2024-05-01T12:00:00+00:00", "zone": "work", "who": "bob"}'
BATTERY = '{"_toy": "battery", "level": 3}'
FIX = '{"_toy": "fix", "at": "2024-05-01T20:00:00+00:00", "lat": 40.0001, "lon": 116.0001}'


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("name", ["ann.toy", "ann.toy.gz", "ann.TOY"])
def test_a_registered_format_goes_through_read_days(tmp_path: Path, name: str) -> None:
    found = read_days(written(tmp_path / name, HOME, "", BATTERY, WORK, FIX), CLOCK)
    assert {who: day.contexts for who, (day,) in found.people.items()} == {
        "ann": (UNKNOWN, "home", UNKNOWN, UNKNOWN),
        "bob": (UNKNOWN, UNKNOWN, "work", UNKNOWN),
    }
    assert (found.rows, found.bad.count, found.passed_over) == (2, 0, 2)


@pytest.mark.usefixtures("toy")
def test_positions_of_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toy_format, "BATCH", 2)
    path = written(tmp_path / "ann.toy", HOME, BATTERY, WORK, FIX)
    tracks = read_positions(path)
    assert tracks.people["ann"].positions.tolist() == [[40.0001, 116.0001]]
    assert (tracks.rows, tracks.passed_over) == (1, 3)
    (day,) = read_days(path, CLOCK, columns=PositionColumns(), cells=GRID).days
    assert day.contexts == (UNKNOWN, UNKNOWN, UNKNOWN, "e0n0")
    with pytest.raises(DataError, match=r"ann\.toy: there is no column 'activity'"):
        read_trajectories(path)


@pytest.mark.usefixtures("toy")
def test_bad_messages_are_named_by_file_and_line_or_counted(tmp_path: Path) -> None:
    path = written(tmp_path / "ann.toy", HOME, "", "{broken", HOME.replace("2024-05-01T08", "yesterday"))
    with pytest.raises(DataError, match=r"ann\.toy, line 3: '\{broken' is not JSON; fix it, or skip"):
        read_days(path, CLOCK)
    found = read_days(path, CLOCK, skip_bad=True)
    assert (found.rows, found.bad.count) == (3, 2)
    assert "line 4, column 'at': 'yesterday:30:00+02:00' is not a time" in found.bad.first[1]
    # The values are judged as those of a table are.
    written(path, HOME, FIX.replace("40.0001", "91.5"), HOME.replace("2024", "1950"))
    with pytest.raises(DataError, match=r"line 2, column 'lat': 91\.5 is outside -90 to 90 degrees"):
        read_positions(path)
    with pytest.raises(DataError, match=r"line 3, column 'timestamp': .* is outside the years 1970 to 2099"):
        read_days(path, CLOCK)


def test_one_message_is_parsed_as_a_file_of_them() -> None:
    assert TOY.parse(WORK.encode()) == Record(dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC), None, "bob", "work")
    assert TOY.parse(BATTERY.encode()) is None
    assert isinstance(TOY.parse(b"{"), Fault)
    with pytest.raises(DataError, match="of a record has no time zone"):
        Record(dt.datetime(2024, 5, 1))


def test_formats_are_recognised_by_their_endings_and_their_first_bytes(tmp_path: Path, toy: None) -> None:
    pl.DataFrame({"user": ["p"], "timestamp": [0], "context": ["home"]}).write_parquet(tmp_path / "table")
    assert read_days(tmp_path / "table", CLOCK).rows == 1
    assert read_days(written(tmp_path / "log.txt", HOME), CLOCK).people.keys() == {"log.txt"}
    table = written(tmp_path / "log.csv", HOME)
    with pytest.raises(DataError, match="there is no header"):
        read_days(table, CLOCK)
    assert read_days(open_source(table, "toy"), CLOCK).rows == 1
    with pytest.raises(DataError, match="format is 'toi'; did you mean 'toy'"):
        open_source(table, "toi")
    with pytest.raises(DataError, match=r"use \.csv, \.csv\.gz, \.parquet, \.toy or \.toy\.gz"):
        open_source(written(tmp_path / "log.doc", "?"))
    with pytest.raises(DataError, match=r"use \.csv"):
        open_source(tmp_path)


def test_every_format_has_a_name_and_endings_of_its_own() -> None:
    names = [each.name for each in formats.FORMATS]
    endings = [ending for each in formats.FORMATS for ending in each.endings]
    assert len(set(names)) == len(names)
    assert len(set(endings)) == len(endings)
    for each in formats.FORMATS:
        for ending in each.endings:
            assert each.recognises(Path(f"x{ending.upper()}"), b"")


def test_a_table_that_was_asked_for_its_columns_is_read_from_where_a_part_starts(tmp_path: Path) -> None:
    """Polars decodes all before it where the table itself was asked, a row group for each part."""
    pl.DataFrame({"timestamp": range(1000)}).write_parquet(tmp_path / "x.parquet", row_group_size=100)
    plans = []
    for ask in (schema_of, pl.LazyFrame.collect_schema):
        table = pl.scan_parquet(tmp_path / "x.parquet")
        assert ask(table).names() == ["timestamp"]
        plans.append(table.with_row_index("number").slice(500, 10).explain())
    assert plans[0] != plans[1]
    assert "SLICE[" not in plans[0]


def test_a_person_is_named_after_the_file() -> None:
    csv: Format = Csv()
    assert stem(Path("a/ann.csv.gz"), csv.endings) == stem(Path("ann.CSV"), csv.endings) == "ann"
    assert stem(Path(".csv"), csv.endings) == ".csv"
    assert stem(Path("ann.lee"), csv.endings) == "ann.lee"


class TwoFiles:
    """A source that is no file on the disk: two people's rows, one after the other."""

    name = "two files"
    header = ("timestamp", "context")

    def batches(self, columns: ColumnNames) -> Iterator[Batch]:
        rows = {"number": [7, 8], "timestamp": ["0", "0"]}
        yield Batch(Origin("a", "row", "ann"), pl.DataFrame(rows | {"context": ["home", "out"]}))
        yield Batch(Origin("b", "page", "ann"), pl.DataFrame({"number": [1], "timestamp": ["0"], "context": ["work"]}))
        fault = Fault(3, None, "x", "is no row")
        yield Batch(Origin("c", "page", "bob"), pl.DataFrame(rows | {"context": ["home", ""]}), [fault])


def test_rows_of_several_files_keep_their_order_and_faults_their_file() -> None:
    """Of readings at one instant the last stands: that of the second file, though its number is smaller."""
    source: Source = TwoFiles()
    with pytest.raises(DataError, match=r"^c, page 3: 'x' is no row"):
        read_days(source, Clock(1))
    found = read_days(source, Clock(1), skip_bad=True)
    assert {who: day.contexts for who, (day,) in found.people.items()} == {"ann": ("work",), "bob": ("home",)}
    assert found.rows == 6
    assert [reason[:9] for reason in found.bad.first] == ["c, page 3", "c, page 8"]
    assert open_source(source) is source


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_a_source_that_has_been_read_knows_its_header(tmp_path: Path, ending: str) -> None:
    """The table is published under the columns that were read, also if the file has changed since."""
    path = tmp_path / f"ann.{ending}"
    frame = pl.DataFrame({"activity": ["eat"], "extra": ["x"], "timestamp": [0], "location": ["hall"]})
    if ending == "parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path, compression="gzip" if ending == "csv.gz" else "uncompressed")
    source, columns = open_source(path), EventColumns(user=None)
    assert read_trajectories(source, columns=columns)[0].events == (Event("eat", "night", "hall"),)
    path.unlink()
    roles, left_out = published_columns(source, columns)
    assert (list(roles), left_out) == (["activity", "timestamp", "location"], ["extra"])
