from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from discreet.data import EventColumns, open_source, read_trajectories
from discreet.data.published import check_target, read_published, write_frames
from discreet.errors import DataError
from discreet.events import Trajectory

ROWS: list[tuple[str, ...]] = [
    ("ann", "2026-03-01T08:00:00Z", "bar", "drink"),
    ("bob", "2026-03-01T20:00:00Z", "a/b=c", "work"),
    ("ann", "2026-03-02T03:00:00Z", "bar", "work"),
    ("zoë", "2026-03-02T09:00:00Z", "home", "drink"),
]
NAMES = ("user", "timestamp", "location", "activity")
ROLES = {"user": "user", "timestamp": "timestamp", "location": "location", "activity": "activity"}


def text(rows: list[tuple[str, ...]], names: tuple[str, ...] = NAMES) -> str:
    return "\n".join(",".join(row) for row in [names, *rows]) + "\n"


def people(source: Path) -> list[Trajectory]:
    return sorted(read_trajectories(source), key=lambda one: one.person)


@pytest.fixture
def whole(tmp_path: Path) -> list[Trajectory]:
    (tmp_path / "whole.csv").write_text(text(ROWS), encoding="utf-8")
    return people(tmp_path / "whole.csv")


def test_a_pattern_is_all_files_that_it_finds(
    tmp_path: Path, whole: list[Trajectory], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "parts").mkdir()
    for number, row in enumerate(ROWS):
        (tmp_path / "parts" / f"{number}.csv.gz").write_bytes(gzip.compress(text([row]).encode()))
    assert people(tmp_path / "parts" / "*.csv.gz") == whole
    assert people(tmp_path / "parts") == whole
    monkeypatch.chdir(tmp_path)
    assert people(Path("parts/[0-9].csv.gz")) == whole
    with pytest.raises(DataError, match=r"parts/\*\.parquet: no file is called so; check the pattern, and quote it"):
        open_source(Path("parts/*.parquet"))
    (tmp_path / "[odd].csv").write_text(text(ROWS), encoding="utf-8")
    assert people(tmp_path / "[odd].csv") == whole  # a file that is there is that file
    with pytest.raises(DataError, match="would take the place of the data"):
        check_target(tmp_path / "parts" / "0.csv.gz", tmp_path / "parts" / "*.gz")


def test_folders_may_name_values(tmp_path: Path, whole: list[Trajectory]) -> None:
    table = pl.DataFrame(ROWS, schema=NAMES, orient="row")
    for k, row in enumerate(table.iter_slices(1)):
        folder = tmp_path / "set" / f"location={row['location'][0].replace('/', '%2F')}" / f"user={row['user'][0]}"
        folder.mkdir(parents=True, exist_ok=True)
        row.drop("location", "user").write_parquet(folder / f"{k}.parquet")
    (tmp_path / "set" / "_SUCCESS").touch()
    assert people(tmp_path / "set") == whole
    assert sorted(open_source(tmp_path / "set").header) == sorted(NAMES)
    odd = tmp_path / "set" / "location=x" / "user=__HIVE_DEFAULT_PARTITION__"
    odd.mkdir(parents=True)
    table[:1].drop("location", "user").write_parquet(odd / "0.parquet")
    with pytest.raises(DataError, match=r"row 1, column 'user': an empty field is not a user"):
        people(tmp_path / "set")
    table[:1].write_parquet(odd / "0.parquet")
    with pytest.raises(DataError, match=r"column 'location' stands in the file and in the name of its folder"):
        people(tmp_path / "set")


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("user", "timestamp", "place", "activity"), r"b\.csv: has no column 'location', which .*a\.csv has; give all"),
        ((*NAMES, "mood"), r"b\.csv: has a column 'mood', which .*a\.csv has not"),
    ],
)
def test_other_columns_in_a_later_file_are_an_error(tmp_path: Path, names: tuple[str, ...], told: str) -> None:
    (tmp_path / "a.csv").write_text(text(ROWS[:2]), encoding="utf-8")
    row = (*ROWS[2], "good")[: len(names)]
    (tmp_path / "b.csv").write_text(text([row], names), encoding="utf-8")
    with pytest.raises(DataError, match=told):
        read_trajectories(tmp_path / "*.csv")


def test_the_order_of_columns_may_differ_and_their_kind_may_not(tmp_path: Path, whole: list[Trajectory]) -> None:
    table = pl.DataFrame(ROWS, schema=NAMES, orient="row")
    (tmp_path / "set").mkdir()
    table[:2].write_parquet(tmp_path / "set" / "a.parquet")
    table[2:].select(NAMES[::-1]).write_parquet(tmp_path / "set" / "b.parquet")
    assert people(tmp_path / "set") == whole
    table[2:].with_columns(timestamp=1.7e9).write_parquet(tmp_path / "set" / "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet: column 'timestamp' holds Float64, and in .*a\.parquet it holds"):
        read_trajectories(tmp_path / "set")


ODD = [
    "a b",
    "a/b",
    "a=b",
    "50%",
    "a%2Fb",
    "dot.",
    "..",
    "é 東京",
    "x:y",
    "q?*[z]",
    "007",
    "1.0",
    "null",
    "new\nline",
    "_h",
]
"""Values that are hard on the names of folders; the tests of Spark have them too."""


def odd_dataset(folder: Path) -> dict[str, str | None]:
    """A dataset parted by ODD values and none, and the place of each person."""
    places = {f"p{number}": place for number, place in enumerate([*ODD, "v" * 240, None])}
    columns = {"person": [*places], "activity": ["w"] * len(places), "time": ["n"] * len(places)}
    write_frames(folder, ROLES, iter([pl.DataFrame({**columns, "location": [*places.values()]})]), by=["location"])
    return places


def test_values_survive_as_names_of_folders(tmp_path: Path) -> None:
    places = odd_dataset(tmp_path / "set")
    read = pl.scan_parquet(tmp_path / "set", hive_partitioning=True, hive_schema={"location": pl.String}).collect()
    assert dict(read.select("user", "location").iter_rows()) == places
    own = read_published(tmp_path / "set", EventColumns())
    assert {person: rows[0].location for person, rows in own.items()} == places
    for value, told in (
        ("__HIVE_DEFAULT_PARTITION__", "means that there is none"),
        ("", "means that there is none"),
        ("v" * 300, r"'v{40}'\.\.\., which is too long for the name of a folder; part the table by another column"),
    ):
        frame = pl.DataFrame({"person": ["a"], "activity": ["w"], "time": ["n"], "location": [value]})
        with pytest.raises(DataError, match=told):
            write_frames(tmp_path / "other", ROLES, iter([frame]), by=["location"])
    assert [*tmp_path.iterdir()] == [tmp_path / "set"]


def test_a_published_dataset_is_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.data.published.HELD", 2)
    rows = [("ann", "drink", "night", "a/b=c"), ("ann", None, None, None), ("bob", "work", None, "bar")]
    frame = pl.DataFrame(rows, schema=["person", "activity", "time", "location"], orient="row")
    write_frames(tmp_path / "set", ROLES, iter([frame[:1], frame[1:]]), by=["location", "activity"])
    assert sorted(str(file.parent.relative_to(tmp_path / "set")) for file in (tmp_path / "set").rglob("*.parquet")) == [
        "location=__HIVE_DEFAULT_PARTITION__/activity=__HIVE_DEFAULT_PARTITION__",
        "location=a%2Fb%3Dc/activity=drink",
        "location=bar/activity=work",
    ]
    assert pl.read_parquet(tmp_path / "set", hive_partitioning=True).height == 3
    found = read_published(tmp_path / "set", EventColumns())
    shown = {person: sorted(str(row) for row in own) for person, own in found.items()}
    write_frames(tmp_path / "table.csv", ROLES, iter([frame]))
    plain = read_published(tmp_path / "table.csv", EventColumns())
    assert shown == {person: sorted(str(row) for row in own) for person, own in plain.items()}
    with pytest.raises(DataError, match="is there already, and a dataset is not added to"):
        check_target(tmp_path / "set", tmp_path / "table.csv", parted=True)
    with pytest.raises(DataError, match="no column 'locaton' to part the table by; did you mean 'location'"):
        write_frames(tmp_path / "other", ROLES, iter([frame]), by=["locaton"])
    assert not (tmp_path / "other").exists()
