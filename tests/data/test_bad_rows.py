"""What cannot be read is named: file, line, column, value and remedy; or counted, never lost."""

from __future__ import annotations

import datetime as dt
import gzip
from pathlib import Path

import polars as pl
import pytest

from discreet.clock import Clock
from discreet.data import Columns, formats, read_days
from discreet.data.formats.csv import Csv
from discreet.errors import DataError

CLOCK = Clock(1)
INTERVALS = Columns(start="start", end="end")

BAD = {
    b"p,yesterday,home": ("column 'timestamp'", "'yesterday' is not a timestamp"),
    b"p,,home": ("column 'timestamp'", "an empty field is not a timestamp"),
    b"p,2024-02-30T00:00:00Z,home": ("column 'timestamp'", "is not a timestamp"),
    b"p,4102444800,home": ("column 'timestamp'", "outside the years 1970 to 2099"),
    b"p,-1,home": ("column 'timestamp'", "outside the years"),
    b"p,0,": ("column 'context'", "an empty field is not a context"),
    b'p,0,""': ("column 'context'", "an empty field is not a context"),
    b"p,0,  ": ("column 'context'", "'  ' is not a context"),
    b",0,home": ("column 'user'", "an empty field is not a user"),
    b"p,0": ("'p,0'", "has 2 fields where the header has 3"),
    b"p,0,home,": ("'p,0,home,'", "has 4 fields where the header has 3"),
    b"p": ("'p'", "has 1 field where"),
    b"p,0,caf\xe9": ("column 'context'", "'caf\ufffd' is not UTF-8"),
    b'p,0,"home': ("'p,0,\"home'", "has a quote that is not closed"),
    b'p,0,12" disc': ("12\" disc'", "or that stands inside a field"),
}


def table(tmp_path: Path, *rows: bytes, name: str = "t.csv", header: bytes = b"user,timestamp,context") -> Path:
    (tmp_path / name).write_bytes(b"\n".join([header, *rows, b""]))
    return tmp_path / name


@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize("row", BAD)
def test_a_bad_row_is_named_or_counted(tmp_path: Path, row: bytes, quoted: bool) -> None:
    before = b'p,0,"two\nlines"' if quoted else b"p,0,one\np,0,one"
    path = table(tmp_path, before, b"", row, b"p,90000,work", b"p,180000,work")
    with pytest.raises(DataError) as raised:
        read_days(path, CLOCK)
    message = str(raised.value)
    for part in (f"{path}, line 5", *BAD[row], "fix it", "--skip-bad", "skip_bad=True"):
        assert part in message
    found = read_days(path, CLOCK, skip_bad=True)
    assert found.bad.count == len(found.bad) == 1
    assert found.bad.first[0] in message
    assert [day.contexts[0] for day in found.days] == ["two\nlines" if quoted else "one", "work", "work"]
    assert found.rows == (4 if quoted else 5)


def test_the_first_bad_row_is_named_whatever_is_wrong_with_it(tmp_path: Path) -> None:
    path = table(tmp_path, b"p,0,home", b"p,never,home", b"p,0", b"p,0,caf\xe9")
    with pytest.raises(DataError, match="line 3"):
        read_days(path, CLOCK)
    bad = read_days(path, CLOCK, skip_bad=True).bad
    assert bad.count == 3
    assert [f"line {k}" in reason for k, reason in zip((3, 4, 5), bad.first, strict=True)] == [True] * 3


def test_lines_are_counted_over_blocks_and_only_the_first_bad_rows_are_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats.csv, "BLOCK", 64)
    monkeypatch.setattr(formats.csv, "LONGEST_ROW", 128)
    rows = [b'p,0,"x\ny"', b"p,0,home", b"p,?,home"] * 50
    bad = read_days(table(tmp_path, *rows), CLOCK, skip_bad=True).bad
    assert bad.count == 50
    assert [reason.split("line ")[1].split(",")[0] for reason in bad.first] == ["5", "9", "13", "17", "21"]


def test_open_quotes_cost_each_its_own_line_only(tmp_path: Path) -> None:
    rows = [b"p,0,home", *[b'p,0,"home'] * 2000]
    found = read_days(table(tmp_path, *rows), CLOCK, skip_bad=True)
    assert (found.rows, found.bad.count) == (2001, 2000)
    assert "line 3" in found.bad.first[0]
    found = read_days(table(tmp_path, b'p,0,"home', *[b"p,0,work"] * 2000), CLOCK, skip_bad=True)
    assert (found.rows, found.bad.count) == (2001, 1)


def test_bad_intervals(tmp_path: Path) -> None:
    header = b"user,start,end,context"
    path = table(tmp_path, b"p,10,10,home", b"p,10,9,home", b"p,10,,home", header=header)
    with pytest.raises(DataError, match="line 3, column 'end': '9' is before the start"):
        read_days(path, CLOCK, columns=INTERVALS)
    assert read_days(path, CLOCK, columns=INTERVALS, skip_bad=True).bad.count == 2


def test_nothing_usable_is_an_error_also_when_bad_rows_are_skipped(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none of the 2 rows can be used; the first: .*line 2"):
        read_days(table(tmp_path, b"p,?,home", b"p,?,home"), CLOCK, skip_bad=True)


@pytest.mark.parametrize("skip_bad", [False, True])
def test_a_timestamp_without_a_zone_is_never_guessed(tmp_path: Path, skip_bad: bool) -> None:
    path = table(tmp_path, b"p,0,home", b"p,2024-01-01T00:00:00,home")
    with pytest.raises(DataError, match=r"line 3, column 'timestamp': '2024-01-01T00:00:00' does not say .*zone="):
        read_days(path, CLOCK, skip_bad=skip_bad)
    assert len(read_days(path, CLOCK, zone="UTC").days) == 2


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    path = table(tmp_path, b"p,0,home", header=b"user,timestmap,context")
    with pytest.raises(
        DataError, match=r"no column 'timestamp'.* did you mean 'timestmap'\? the columns are 'user', 'tim"
    ):
        read_days(path, CLOCK)
    with pytest.raises(DataError, match=r"no column 'person' for the user; .*or pass user=None"):
        read_days(path, CLOCK, columns=Columns(user="person"))
    semicolons = table(tmp_path, b"p;0;home", header=b"user;timestamp;context")
    with pytest.raises(DataError, match=r"no column 'user'.*not to be separated by commas"):
        read_days(Csv(",").open(semicolons), CLOCK)
    assert len(read_days(semicolons, CLOCK).days) == 1  # where nobody says, the header shows what separates
    with pytest.raises(DataError, match="'user' occurs 2 times"):
        read_days(table(tmp_path, b"p,p,0,home", header=b"user,user,timestamp,context"), CLOCK)


GOOD = b"user,timestamp,context\n" + b"".join(b"p,%d,home\n" % k for k in range(20_000))
FILES = {
    "none.csv": (None, "cannot be read: No such file"),
    "none.parquet": (None, "cannot be read: No such file"),
    "empty.csv": (b"", "the file is empty"),
    "empty.csv.gz": (b"", "the file is empty"),
    "empty.parquet": (b"", "the file is empty"),
    "hollow.csv.gz": (gzip.compress(b""), "there is no header"),
    "blank.csv": (b"\n\n", "there is no header"),
    "header.csv": (b"user,timestamp,context\n", "a header and no rows"),
    "plain.csv.gz": (GOOD, "this is not gzip data"),
    "zipped.csv": (gzip.compress(GOOD), "this is gzip data; name it .csv.gz"),
    "table.csv": (b"PAR1....", "this is a Parquet file; name it .parquet"),
    "sheet.csv": (b"PK\x03\x04....", "a zip archive or spreadsheet"),
    "wide.csv": ("user,timestamp,context\n".encode("utf-16"), "UTF-16"),
    "wider.csv": ("user,timestamp,context\n".encode("utf-32"), "UTF-32"),
    "widest.csv": ("\ufeffuser,timestamp,context\n".encode("utf-32-be"), "UTF-32"),
    "latin.csv": (b"user,timestamp,caf\xe9\n", "line 1: the header is not UTF-8"),
    "short.csv.gz": (gzip.compress(GOOD)[:-2000], "break off before their end"),
    "damaged.csv.gz": (gzip.compress(GOOD)[:900] + b"\x00" * 50 + gzip.compress(GOOD)[950:], "are damaged"),
    "endless.csv": (b"user,timestamp,context\n" + b"x" * (6 << 20), "line 2: the row is longer than a megabyte"),
    "cut.parquet": (b"PAR1" + b"\x00" * 500, "the Parquet file is damaged"),
}


@pytest.mark.parametrize("skip_bad", [False, True])
@pytest.mark.parametrize("name", FILES)
def test_files_that_are_not_what_they_should_be(tmp_path: Path, name: str, skip_bad: bool) -> None:
    content, message = FILES[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError) as raised:
        read_days(tmp_path / name, CLOCK, skip_bad=skip_bad)
    assert message in str(raised.value)
    assert str(tmp_path / name) in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["t.txt", "text.parquet"])
def test_a_table_under_a_wrong_name_is_read_as_what_it_is(tmp_path: Path, name: str) -> None:
    for own in (name, "right.csv"):
        (tmp_path / own).write_bytes(GOOD)
    assert read_days(tmp_path / name, CLOCK).days == read_days(tmp_path / "right.csv", CLOCK).days


def test_a_folder_without_files_is_told(tmp_path: Path) -> None:
    for name in ("t.csv", "t.parquet"):
        (tmp_path / name).mkdir()
        with pytest.raises(DataError, match="the folder holds no files; check the path"):
            read_days(tmp_path / name, CLOCK)


def test_damage_inside_a_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    stamps = pl.Series(range(50_000)).shuffle(1)
    pl.DataFrame({"user": "p", "timestamp": stamps, "context": "home"}).write_parquet(path)
    content = path.read_bytes()
    path.write_bytes(content[:2000] + bytes(20_000) + content[22_000:])
    with pytest.raises(DataError, match="the Parquet file is damaged"):
        read_days(path, CLOCK)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("timestamp", [dt.date(2024, 1, 1)], "'timestamp' holds Date; the timestamp must be a datetime"),
        ("timestamp", [True], "'timestamp' holds Boolean"),
        ("context", [1.5], "'context' holds Float64; the context must be text"),
        ("user", [["a"]], r"'user' holds List"),
    ],
)
def test_parquet_columns_of_wrong_types(tmp_path: Path, column: str, values: list[object], message: str) -> None:
    good: dict[str, list[object]] = {"user": ["p"], "timestamp": [0], "context": ["home"]}
    pl.DataFrame(good | {column: values}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match=message):
        read_days(tmp_path / "t.parquet", CLOCK)


def test_bad_rows_of_parquet_files_are_named_by_row(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    columns = {"user": [7, 7, None], "timestamp": [0, None, 0], "context": ["home", "home", "home"]}
    pl.DataFrame(columns).write_parquet(path)
    with pytest.raises(DataError, match="row 2, column 'timestamp': an empty field is not a timestamp"):
        read_days(path, CLOCK)
    found = read_days(path, CLOCK, skip_bad=True)
    assert (found.rows, found.bad.count, list(found.people)) == (3, 2, ["7"])
    pl.DataFrame({"user": ["p"], "timestamp": [dt.datetime(2024, 1, 1)], "context": ["home"]}).write_parquet(path)
    with pytest.raises(DataError, match="row 1, column 'timestamp': '2024-01-01T00:00:00' does not say"):
        read_days(path, CLOCK)
    pl.DataFrame({"user": [], "timestamp": [], "context": []}, schema=dict.fromkeys(columns, pl.String)).write_parquet(
        path
    )
    with pytest.raises(DataError, match="no rows"):
        read_days(path, CLOCK)
