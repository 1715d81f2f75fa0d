"""Releases are written whole and read back."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.clock import Clock
from discreet.data import Release, ReleaseRow, read_releases, releases, write_releases
from discreet.data.releases import print_releases
from discreet.errors import DataError, DiscreetError
from discreet.outputs import SUPPRESSED, Generalized, Output, PartialEvent, Perturbed, Released

CLOCK = Clock(48, zone="Europe/Paris", cut="04:00")
ENDINGS = ["csv", "csv.gz", "jsonl", "jsonl.gz"]

labels = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
attributes = st.none() | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="|"), min_size=1, max_size=5
)
exact_points = st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=3).map(tuple)
short_points = st.lists(st.integers(-99999, 99999).map(lambda k: k / 16), max_size=3).map(tuple)


def rows_of(points: st.SearchStrategy[tuple[float, ...]]) -> st.SearchStrategy[list[Release]]:
    outputs: st.SearchStrategy[Output] = st.one_of(
        labels.map(Released),
        labels.map(Generalized),
        st.just(SUPPRESSED),
        points.map(Perturbed),
        st.builds(PartialEvent, attributes, attributes, attributes),
    )
    dates, slots = st.dates(dt.date(1970, 1, 2), dt.date(2099, 1, 1)), st.integers(0, 47)
    whole = st.tuples(st.none() | labels, dates, slots, st.booleans(), outputs)
    return st.lists(
        whole.map(lambda row: Release(*row[:3], CLOCK.start_of(row[1], row[2]) if row[3] else None, row[4])),
        max_size=8,
    )


def instants(rows: list[Release]) -> list[tuple[object, ...]]:
    """Rows whose starts compare as written: wall clock and offset."""
    return [(row.person, row.date, row.slot, row.start and row.start.isoformat(), row.output) for row in rows]


same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)


@same_folder
@given(rows=rows_of(exact_points), ending=st.sampled_from(["jsonl", "jsonl.gz"]))
def test_json_lines_give_back_every_row_exactly(tmp_path: Path, rows: list[Release], ending: str) -> None:
    path = tmp_path / f"out.{ending}"
    if not rows:
        rows = [Release("p", dt.date(2024, 1, 1), 0, None, SUPPRESSED)]
    assert write_releases(path, iter(rows)) == len(rows)
    assert instants(list(read_releases(path))) == instants(rows)


@same_folder
@given(rows=rows_of(short_points), ending=st.sampled_from(["csv", "csv.gz"]))
def test_csv_gives_back_rows_with_six_digits(tmp_path: Path, rows: list[Release], ending: str) -> None:
    rows = [row for row in rows if not isinstance(row.output, Perturbed) or len(str(row.output.point)) < 9]
    path = tmp_path / f"out.{ending}"
    assert write_releases(path, iter(rows)) == len(rows)
    assert instants(list(read_releases(path))) == instants(rows)


@same_folder
@given(rows=rows_of(short_points))
def test_standard_output_is_the_file(tmp_path: Path, rows: list[Release]) -> None:
    shown = io.StringIO(newline="")
    assert print_releases(shown, iter(rows)) == write_releases(tmp_path / "out.csv", iter(rows)) == len(rows)
    assert shown.getvalue().encode() == (tmp_path / "out.csv").read_bytes()


def test_standard_output_quotes_and_refuses_as_the_file_does() -> None:
    shown = io.StringIO(newline="")
    date = dt.date(2024, 1, 1)
    rows = [Release("p", date, 0, None, Released("a\rb")), Release("p", date, 1, None, PartialEvent("a|b"))]
    with pytest.raises(DataError, match=r"standard output, release 2: an attribute holds '\|'.* --json"):
        print_releases(shown, rows)
    assert shown.getvalue() == HEAD + '"p","2024-01-01","0","","released","a\rb"\n'


def sample() -> list[Release]:
    date = dt.date(2024, 10, 26)
    start = CLOCK.start_of(date, 44)
    return [
        Release("p1", date, 44, start, Released('a, "b"')),
        Release("p1", date, 45, start + dt.timedelta(minutes=30), SUPPRESSED),
        Release("p2", date, 46, None, Perturbed((0.1, 1 / 3))),
        Release(None, date, 47, None, PartialEvent("eat", None, "hall")),
    ]


def test_what_the_files_hold(tmp_path: Path) -> None:
    for ending in (*ENDINGS, "parquet"):
        assert write_releases(tmp_path / f"t.{ending}", sample()) == 4
    assert (tmp_path / "t.csv").read_text().splitlines() == [
        "person,date,slot,start,kind,value",
        'p1,2024-10-26,44,2024-10-27T02:00:00+02:00,released,"a, ""b"""',
        "p1,2024-10-26,45,2024-10-27T02:30:00+02:00,suppressed,",
        "p2,2024-10-26,46,,perturbed,0.1 0.333333",
        ",2024-10-26,47,,partial event,eat||hall",
    ]
    lines = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert lines[2] == {
        "person": "p2",
        "date": "2024-10-26",
        "slot": 46,
        "start": None,
        "kind": "perturbed",
        "value": "0.1 0.333333",
        "point": [0.1, 1 / 3],
    }
    for ending in ("csv", "jsonl"):
        with gzip.open(tmp_path / f"t.{ending}.gz") as file:
            assert file.read() == (tmp_path / f"t.{ending}").read_bytes()
    table = pl.read_parquet(tmp_path / "t.parquet")
    assert table.columns == ["person", "date", "slot", "start", "kind", "value"]
    assert table["start"].to_list()[0] == dt.datetime(2024, 10, 27, 0, 0, tzinfo=dt.UTC)
    assert table["value"].to_list() == ['a, "b"', "", "0.1 0.333333", "eat||hall"]


@pytest.mark.parametrize("ending", [*ENDINGS, "parquet"])
def test_nothing_is_left_when_the_rows_break_off(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t.{ending}"
    path.write_bytes(b"what was there before")

    def breaking() -> Iterator[Release]:
        yield from sample()
        raise RuntimeError("the source is gone")

    with pytest.raises(RuntimeError, match="the source is gone"):
        write_releases(path, breaking())
    assert path.read_bytes() == b"what was there before"
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", [*ENDINGS, "parquet"])
def test_rows_are_taken_as_they_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    """Many more rows than are held at a time, in order, with nothing lost between row groups."""
    monkeypatch.setattr(releases, "ROW_GROUP", 7)
    path = tmp_path / f"t.{ending}"
    date = dt.date(2024, 1, 1)
    count = write_releases(path, (Release("p", date, k % 48, None, Released(str(k))) for k in range(1000)))
    assert count == 1000
    if ending == "parquet":
        assert pl.read_parquet(path)["value"].to_list() == [str(k) for k in range(1000)]
    else:
        assert [row.output for row in read_releases(path)] == [Released(str(k)) for k in range(1000)]


def test_no_rows(tmp_path: Path) -> None:
    assert write_releases(tmp_path / "t.csv", []) == 0
    assert list(read_releases(tmp_path / "t.csv")) == []
    assert write_releases(tmp_path / "t.parquet", []) == 0
    assert pl.read_parquet(tmp_path / "t.parquet").height == 0
    for ending in ("jsonl", "jsonl.gz"):
        assert write_releases(tmp_path / f"t.{ending}", []) == 0
        assert list(read_releases(tmp_path / f"t.{ending}")) == []


@pytest.mark.parametrize(
    ("ending", "output", "start", "message"),
    [
        ("jsonl", Perturbed((float("nan"),)), None, "release 1: .* is not finite"),
        ("csv", PartialEvent("a|b"), None, "release 1: an attribute holds"),
        ("parquet", SUPPRESSED, dt.datetime(2024, 1, 1), "release 1: the start 2024-01-01T00:00:00 has no time zone"),
        ("txt", SUPPRESSED, None, "ending says no format for releases"),
    ],
)
def test_what_cannot_be_written(
    tmp_path: Path, ending: str, output: Output, start: dt.datetime | None, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        write_releases(tmp_path / f"t.{ending}", [Release("p", dt.date(2024, 1, 1), 0, start, output)])
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DiscreetError, match="cannot be written"):
        write_releases(tmp_path / "no" / "t.csv", sample())


HEAD = "person,date,slot,start,kind,value\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", "a,b\n", "line 1: the header is 'a,b'"),
        ("t.csv", HEAD + "p,2024-01-01,0,,released,home\np,2024-01-01,0\n", "line 3: .*3 fields instead of 6"),
        ("t.csv", HEAD + "p,2024-13-01,0,,released,home\n", "line 2: .*month"),
        ("t.csv", HEAD + "p,2024-01-01,x,,released,home\n", "line 2: .*'x'"),
        ("t.csv", HEAD + "p,2024-01-01,0,,relased,home\n", "line 2: .*'relased' is not known"),
        ("t.csv", HEAD + "p,2024-01-01,0,,partial event,a|b\n", "line 2: .*2 attributes instead of 3"),
        ("t.csv", HEAD + 'p,2024-01-01,0,,released,"home\n', "line 2: not CSV"),
        ("t.jsonl", "{}\n", "line 1: .*a release lacks 'person'"),
        ("t.jsonl", "[]\n", "line 1: .*not a JSON object"),
        ("t.jsonl", '\n{"person": "p', "line 2: "),
        ("t.jsonl", '{"person": 1, "date": "2024-01-01", "slot": 0, "start": null}\n', "line 1: .*person 1"),
        ("t.jsonl", '{"person": "p", "date": "2024-01-01", "slot": 0, "start": 5}\n', "line 1: .*start 5"),
        ("t.parquet", "x", "read Parquet with polars"),
        ("t.txt", "x", "ending says no format"),
    ],
)
def test_files_that_are_not_releases(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=message):
        list(read_releases(tmp_path / name))


def test_releases_that_are_not_utf8_or_break_off(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(HEAD.encode() + b"p,2024-01-01,0,,released,caf\xe9\n")
    with pytest.raises(DataError, match="not UTF-8"):
        list(read_releases(tmp_path / "t.csv"))
    write_releases(tmp_path / "t.jsonl.gz", sample())
    whole = (tmp_path / "t.jsonl.gz").read_bytes()
    (tmp_path / "t.jsonl.gz").write_bytes(whole[:-20])
    with pytest.raises(DataError, match="break off"):
        list(read_releases(tmp_path / "t.jsonl.gz"))


def test_the_former_name_is_the_record() -> None:
    assert ReleaseRow is Release
