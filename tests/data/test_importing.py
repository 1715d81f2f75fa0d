"""Every format to one table of readings; what cannot be used is counted and said."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import json
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from discreet.data.formats import LOGS, format_names, home_assistant, open_source, owntracks
from discreet.data.importing import Imported, Rules, import_logs, write_readings
from discreet.data.rows import Record
from discreet.data.source import Fault
from discreet.data.table import IMPORTED
from discreet.errors import DataError
from tests.data import samples
from tests.data.samples import LYON, MAY_1, PARIS, SAMPLES, iso, location, rec_line

Reading = tuple[str, int, float | None, float | None, float | None, str | None]


def rows(imported: Imported) -> list[Reading]:
    """User, seconds, latitude, longitude, accuracy, context."""
    frame = imported.readings.with_columns(pl.col("timestamp").dt.epoch("s")).drop("source")
    return frame.rows()


def _semicircles(at: tuple[float, float]) -> tuple[float, float]:
    """Degrees as FIT has them: 2^31 semicircles are 180."""
    latitude, longitude = (round(degrees * 2**31 / 180) * (180 / 2**31) for degrees in at)
    return latitude, longitude


EXPECTED: dict[str, list[Reading]] = {
    "owntracks-rec": [
        ("jane", MAY_1, *PARIS, 12, None),
        ("jane", MAY_1 + 60, *LYON, 12, "Home"),
        ("jane", MAY_1 + 120, *PARIS, 20, "Gym"),
        ("jane", MAY_1 + 180, *PARIS, None, "away"),
    ],
    "owntracks-json": [("jane", MAY_1, *PARIS, 12, None), ("jane", MAY_1 + 60, *LYON, 12, None)],
    "google-records": [
        ("me", MAY_1, *PARIS, 14, None),
        ("me", MAY_1 + 60, *LYON, 9, None),
        ("me", MAY_1 + 120, PARIS[0], -70.0, None, None),
    ],
    "google-semantic": [
        *(("me", MAY_1 + after, *PARIS, None, "home") for after in (0, 1800, 3600, 5400, 7199)),
        ("me", MAY_1 + 7200, *PARIS, None, "walking"),
        ("me", MAY_1 + 7500, 48.8567, 2.3523, 8, "walking"),
        ("me", MAY_1 + 7799, 48.857, 2.353, None, "walking"),
    ],
    "google-timeline-android": [
        ("me", MAY_1, *PARIS, None, "home"),
        ("me", MAY_1, *PARIS, None, "in train"),
        ("me", MAY_1 + 600, *PARIS, None, None),
        ("me", MAY_1 + 1800, *PARIS, None, "home"),
        ("me", MAY_1 + 1800, None, None, None, "in train"),
        ("me", MAY_1 + 3599, *PARIS, None, "home"),
        ("me", MAY_1 + 3599, *LYON, None, "in train"),
        ("me", MAY_1 + 10800, *LYON, 13, None),
    ],
    "google-timeline-ios": [
        ("me", MAY_1, *PARIS, None, "work"),
        ("me", MAY_1, *PARIS, None, "walking"),
        ("me", MAY_1 + 720, *LYON, None, None),
        ("me", MAY_1 + 1800, *PARIS, None, "work"),
        ("me", MAY_1 + 1800, None, None, None, "walking"),
        ("me", MAY_1 + 3599, *PARIS, None, "work"),
        ("me", MAY_1 + 3599, *LYON, None, "walking"),
    ],
    "home-assistant-json": [
        ("jane", MAY_1, *PARIS, 15, "home"),
        ("jane", MAY_1 + 60, None, None, None, "away"),
    ],
    "home-assistant-csv": [
        ("jane", MAY_1, None, None, None, "home"),
        ("jane", MAY_1 + 60, None, None, None, "away"),
    ],
    "home-assistant-db": [
        ("jane", MAY_1, *PARIS, 15, "home"),
        ("jane", MAY_1 + 60, None, None, None, "away"),
    ],
    "gpx": [("me", MAY_1, *PARIS, None, None), ("me", MAY_1 + 60, *LYON, None, None)],
    "geolife": [
        ("010", 1224730200, None, None, None, "bus"),
        ("010", 1224730210, *PARIS, None, None),
        ("010", 1224730270, *LYON, None, None),
        ("010", 1224731099, None, None, None, "bus"),
    ],
    "csv": [("me", MAY_1, *PARIS, 10, None), ("me", MAY_1 + 60, *LYON, None, None)],
    "kml": [
        *(("me", MAY_1 + after, *PARIS, None, "Home") for after in (0, 1800, 3599)),
        ("me", MAY_1 + 3600, *PARIS, None, "driving"),
        ("me", MAY_1 + 4199, *LYON, None, "driving"),
        ("me", MAY_1 + 7200, *PARIS, None, None),
        ("me", MAY_1 + 7260, *LYON, None, None),
        ("me", MAY_1 + 9000, *LYON, None, None),
    ],
    "tcx": [("me", MAY_1, *PARIS, None, None), ("me", MAY_1 + 60, *LYON, None, None)],
    "fit": [("me", MAY_1, *_semicircles(PARIS), 5, None), ("me", MAY_1 + 60, *_semicircles(LYON), 5, None)],
    "geojson": [
        ("me", MAY_1, *PARIS, 8, None),
        ("me", MAY_1 + 60, *LYON, None, None),
        ("me", MAY_1 + 120, *PARIS, None, None),
        ("me", MAY_1 + 180, *LYON, None, None),
    ],
    "overland": [("me", MAY_1, *PARIS, 30, None), ("me", MAY_1 + 60, *LYON, 30, None)],
    "google-timeline-edits": [("me", MAY_1, *PARIS, 9, None), ("me", MAY_1 + 60, *LYON, 9, None)],
}

PASSED_OVER = {
    "owntracks-rec": {"lwt": 1, "unknown type 'hologram'": 1},
    "google-records": {"record without a position": 1},
    "google-semantic": {"unknown type 'somethingNew'": 1},
    "google-timeline-android": {"timelineMemory": 1, "wifiScan": 1},
    "home-assistant-json": {"unknown or unavailable": 1, "entity sensor": 1},
    "home-assistant-csv": {"entity light": 1},
    "home-assistant-db": {"unknown or unavailable": 1},
    "gpx": {"waypoint": 1, "track point without a time": 1},
    "kml": {"placemark without a time": 1},
    "tcx": {"track point without a position": 1, "point of a course": 1},
    "fit": {"record without a position": 1},
    "geojson": {"feature without a time": 1, "Polygon feature": 1},
    "google-timeline-edits": {"wifiScan": 1, "placeAggregates": 1},
}


@pytest.mark.parametrize("name", SAMPLES)
def test_each_format(tmp_path: Path, name: str) -> None:
    imported = import_logs([SAMPLES[name](tmp_path)])
    assert rows(imported) == EXPECTED[name]
    assert imported.readings.columns == list(IMPORTED)
    assert imported.readings.schema["timestamp"] == pl.Datetime("us", "UTC")
    assert set(imported.readings["source"]) <= {name, "geolife-labels"}
    assert [one.bad for one in imported.files] == [0] * len(imported.files)
    passed_over = {kind: count for one in imported.files for kind, count in one.passed_over.items()}
    assert passed_over == PASSED_OVER.get(name, {})


def test_every_log_has_a_sample() -> None:
    assert {each.name for each in LOGS} - {"geolife-labels"} <= set(SAMPLES)


@pytest.mark.parametrize("name", SAMPLES)
def test_gzipped_and_renamed_it_is_the_same(tmp_path: Path, name: str) -> None:
    """What a file is, is seen by looking into it; tables alone have no mark of their own."""
    path = SAMPLES[name](tmp_path)
    if path.is_dir():
        path = next(path.rglob("*.plt"))
    other = tmp_path / ("x.csv.gz" if name == "csv" else "download.bin")
    other.write_bytes(gzip.compress(path.read_bytes()))
    found = {reading[1:] for reading in rows(import_logs([other]))}
    assert found == {reading[1:] for reading in rows(import_logs([path]))}


def test_parquet_and_csv_that_were_written_can_be_read_again(tmp_path: Path) -> None:
    imported = import_logs([samples.owntracks_rec(tmp_path), samples.google_semantic(tmp_path)])
    for name in ("a.parquet", "a.csv", "a.csv.gz"):
        write_readings(tmp_path / name, imported.readings)
        assert rows(import_logs([tmp_path / name])) == rows(imported)
    assert rows(import_logs([tmp_path / "a.parquet", tmp_path / "a.csv"])) == rows(imported)
    with pytest.raises(DataError, match=r"ending says no format"):
        write_readings(tmp_path / "a.json", imported.readings)


def test_home_assistant_of_old(tmp_path: Path) -> None:
    assert rows(import_logs([samples.home_assistant_old_db(tmp_path)])) == EXPECTED["home-assistant-db"]
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE t (x)").connection.close()
    with pytest.raises(DataError, match=r"other\.db: the database has no states"):
        import_logs([tmp_path / "other.db"])


def test_gpx_1_0(tmp_path: Path) -> None:
    assert rows(import_logs([samples.gpx(tmp_path, "1.0")])) == EXPECTED["gpx"]


def test_labels_of_a_table(tmp_path: Path) -> None:
    found = rows(import_logs([samples.csv_labels(tmp_path)]))
    assert found == [("ann", MAY_1, None, None, None, "home"), ("ann", MAY_1 + 60, None, None, None, "work")]


@pytest.mark.parametrize("wrapped", [False, True])
def test_owntracks_messages_as_lines_or_list(tmp_path: Path, wrapped: bool) -> None:
    messages = [location(MAY_1 + k, inregions=["Home"]) for k in range(3)]
    path = tmp_path / "messages.json"
    path.write_text(json.dumps(messages) if wrapped else "\n".join(json.dumps(one) for one in messages))
    assert [row[1] for row in rows(import_logs([path], user="bob"))] == [MAY_1, MAY_1 + 1, MAY_1 + 2]


# --- many at once


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def test_a_folder_a_zip_and_a_zip_in_it_are_merged_in_order_of_time(tmp_path: Path) -> None:
    folder = tmp_path / "tracks"
    folder.mkdir()
    track, records = samples.gpx(folder), samples.google_records(tmp_path)
    (folder / "notes.html").write_text("<html>hello</html>")
    (folder / ".hidden").write_text("x")
    database, semantic = samples.home_assistant_db(tmp_path), samples.google_semantic(tmp_path)
    inner = zipped({"Takeout/Records.json": records.read_bytes(), "Takeout/again.zip": zipped({"x": b"y"})})
    outer = tmp_path / "takeout.zip"
    files = {"a/2024_MAY.json": semantic.read_bytes(), "more.zip": inner, "ha.db": database.read_bytes()}
    outer.write_bytes(zipped({**files, "t.csv": samples.csv_positions(tmp_path).read_bytes()}))
    imported = import_logs([folder, outer], user="jane")
    assert {one.file for one in imported.files} == {
        str(track),
        *(f"{outer}!{name}" for name in ("a/2024_MAY.json", "more.zip!Takeout/Records.json", "ha.db", "t.csv")),
    }
    times = imported.readings["timestamp"].to_list()
    assert times == sorted(times)
    assert set(imported.readings["user"]) == {"jane"}
    # Two positions are in the track, the records and the table; one visit's start is also a state of the database.
    assert imported.duplicates == 5
    assert imported.unknown == (str(folder / "notes.html"),)
    assert dict(imported.not_read) == {
        f"{outer}!more.zip!Takeout/again.zip": "is an archive in an archive in an archive; unpack it and give its files"
    }


def test_the_same_file_twice_says_nothing_new(tmp_path: Path) -> None:
    path = samples.google_records(tmp_path)
    once, twice = import_logs([path]), import_logs([path, path])
    assert rows(twice) == rows(once)
    assert twice.duplicates == len(rows(once))


def test_two_phones_at_once_keep_both_positions(tmp_path: Path) -> None:
    for device, at in (("phone", PARIS), ("tablet", LYON)):
        path = samples.owntracks_rec(tmp_path, device=device)
        path.write_text("".join(rec_line(location(MAY_1 + k, at)) for k in (0, 60)))
    found = rows(import_logs([tmp_path / "rec"]))
    assert [(row[0], row[1], row[2]) for row in found] == [
        ("jane", MAY_1 + k, at[0]) for k in (0, 60) for at in (PARIS, LYON)
    ]


def test_readings_of_one_instant_stay_in_the_order_of_the_file(tmp_path: Path) -> None:
    enter = {"_type": "transition", "event": "enter", "desc": "Gym"}
    path = tmp_path / "x.rec"
    path.write_text(rec_line(location()) + rec_line({**location(), **enter}) + rec_line(location(inregions=["Home"])))
    assert [row[5] for row in rows(import_logs([path]))] == [None, "Gym", "Home"]


def test_two_people_are_sorted_by_name_then_time(tmp_path: Path) -> None:
    for user, start in (("zoe", MAY_1), ("ann", MAY_1 + 60)):
        samples.owntracks_rec(tmp_path, user).write_text(rec_line(location(start + 5)) + rec_line(location(start)))
    assert [row[:2] for row in rows(import_logs([tmp_path]))] == [
        ("ann", MAY_1 + 60),
        ("ann", MAY_1 + 65),
        ("zoe", MAY_1),
        ("zoe", MAY_1 + 5),
    ]


def test_a_flight_over_the_date_line_and_a_day_of_25_hours(tmp_path: Path) -> None:
    flight = "".join(rec_line(location(MAY_1 + k, (-17.0, at))) for k, at in enumerate((179.9, 180.0, -180.0, -179.9)))
    path = tmp_path / "x.rec"
    path.write_text(flight)
    assert [row[3] for row in rows(import_logs([path]))] == [179.9, 180.0, -180.0, -179.9]
    table = tmp_path / "autumn.csv"
    stamps = [f"2024-10-27T{hour:02}:30:00" for hour in (0, 1, 2, 3)]
    offsets = ["2024-10-27T02:30:00+02:00", "2024-10-27T02:30:00+01:00"]
    table.write_text("time,lat,lon\n" + "".join(f"{stamp},1,1\n" for stamp in [*stamps, *offsets]))
    seconds = [row[1] for row in rows(import_logs([table], zone="Europe/Paris"))]
    first = 1729981800  # 00:30 in Paris, summer time
    assert seconds == [first, first + 3600, first + 7200, first + 10800, first + 14400]


# --- what cannot be used


def test_rules_leave_out_and_count(tmp_path: Path) -> None:
    path = tmp_path / "x.rec"
    odd = [
        location(MAY_1),
        location(MAY_1 + 1, (91.0, 0.0)),
        location(MAY_1 + 2, (5.0, -180.5)),
        location(MAY_1 + 3, (0.0, 0.0)),
        location(MAY_1 + 4, acc=201),
        location(MAY_1 + 5, acc=-1),
        location(0),
        location(MAY_1 + 10**9),
        location(MAY_1 + 6, (0, 0), inregions=["Home"]),
        location(MAY_1 + 7, acc=5000, inregions=["Work"]),
    ]
    path.write_text("".join(rec_line(one) for one in odd))
    rules = Rules(until=dt.datetime(2025, 1, 1, tzinfo=dt.UTC))
    imported = import_logs([path], rules=rules)
    assert rows(imported) == [
        ("me", MAY_1, *PARIS, 12, None),
        ("me", MAY_1 + 6, None, None, None, "Home"),
        ("me", MAY_1 + 7, None, None, None, "Work"),
    ]
    assert imported.files[0].left_out == {
        "outside the world": 2,
        "at 0, 0": 1,
        "accuracy worse than 200 m": 2,
        "before 1990-01-01": 1,
        "after 2025-01-01 00:00 UTC": 1,
    }
    assert imported.files[0].unplaced == {"at 0, 0": 1, "accuracy worse than 200 m": 1}
    assert f"{path}, line 7: '1970-01-01T00:00:00+00:00' is before 1990-01-01" in imported.first_bad
    assert len(import_logs([path], rules=Rules(accuracy=201, until=rules.until)).readings) == 4
    with pytest.raises(DataError, match="accuracy is nan"):
        Rules(accuracy=float("nan"))


def test_the_future_begins_now(tmp_path: Path) -> None:
    path = tmp_path / "x.rec"
    now = int(dt.datetime.now(dt.UTC).timestamp())
    path.write_text(rec_line(location(now - 60)) + rec_line(location(now + 3600)))
    assert [row[1] for row in rows(import_logs([path]))] == [now - 60]


def test_bad_records_are_counted_with_file_and_place(tmp_path: Path) -> None:
    path = tmp_path / "x.rec"
    good = rec_line(location())
    bad = [
        "no tabs at all\n",
        rec_line('{"_type":"location","lat":48.8'),
        rec_line(location(lat="north")),
        rec_line(location(tst=None)),
        rec_line(location(tst=10**40)),
        rec_line({"lat": 1, "lon": 2}),
        rec_line("[1]"),
    ]
    path.write_bytes(
        (good + "".join(bad)).encode() + rec_line(location(desc="é")).replace("\\u00e9", "é").encode("latin-1")
    )
    imported = import_logs([path])
    assert len(imported.readings) == 1
    assert imported.files[0].bad == 8
    assert imported.files[0].records == 9
    assert imported.first_bad[0].startswith(f"{path}, line 2: 'no tabs at all' is not a time")
    assert "line 4, column 'lat': 'north' is not a number" in imported.first_bad[2]


def test_a_truncated_document_keeps_what_came_before(tmp_path: Path) -> None:
    path = samples.google_records(tmp_path)
    path.write_bytes(path.read_bytes()[:-120])
    imported = import_logs([path])
    assert len(imported.readings) == 3
    assert "breaks off" in imported.first_bad[0]
    track = samples.gpx(tmp_path)
    track.write_bytes(track.read_bytes()[:-80])
    assert import_logs([track]).files[0].bad == 1


@pytest.mark.parametrize("name", SAMPLES)
def test_cut_off_anywhere_nothing_is_raised_but_data_errors(tmp_path: Path, name: str) -> None:
    whole = SAMPLES[name](tmp_path)
    whole = next(whole.rglob("*.plt")) if whole.is_dir() else whole
    data, path = whole.read_bytes(), tmp_path / f"cut{whole.suffix}"
    for size in range(0, len(data), max(len(data) // 23, 1)):
        path.write_bytes(data[:size])
        try:
            found = len(import_logs([path]).readings)
        except DataError:
            found = 0
        assert found <= len(EXPECTED[name])


@pytest.mark.parametrize(
    "text",
    [
        '{"semanticSegments":[{"visit":3},{"startTime":"2024-05-01T08:00:00Z","endTime":[],"visit":{}},'
        '{"activity":null,"startTime":7,"endTime":8},{"position":[]},{"position":{"LatLng":"x","timestamp":1}}]}',
        '{"timelineObjects":[{"placeVisit":{"duration":7}},{"placeVisit":[]},{"activitySegment":{}}]}',
        '{"locations":[{"latitudeE7":"x","longitudeE7":1},{"latitudeE7":1,"longitudeE7":[],"timestamp":1},'
        '{"latitudeE7":1,"longitudeE7":1,"timestamp":{}}]}',
        '[[{"entity_id":7,"state":"home"},{"entity_id":"person.x","state":[],"last_changed":3}]]',
        '[{"startTime":"2024-05-01T08:00:00Z","endTime":"2023-05-01T08:00:00Z","visit":{"topCandidate":'
        '{"placeLocation":"geo:1,1"}}}]',
    ],
)
def test_fields_of_any_shape_are_bad_records_and_nothing_worse(tmp_path: Path, text: str) -> None:
    path = tmp_path / "odd.json"
    path.write_text(text)
    with pytest.raises(DataError, match=r"odd\.json: none of the \d records is a reading"):
        import_logs([path])


def test_stays_that_cannot_be(tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    day = {"endTime": "2024-05-01T08:00:00Z", "visit": {"topCandidate": {"placeLocation": "geo:1,1"}}}
    entries = [{"startTime": start, **day} for start in ("1991-01-01T00:00:00Z", "2024-05-01T08:00:00Z")]
    path.write_text(json.dumps(entries))
    imported = import_logs([path])
    assert [row[1] for row in rows(imported)] == [MAY_1 + 7200]
    assert "lasts longer than a year" in imported.first_bad[0]


def test_entities_of_a_gpx_are_refused(tmp_path: Path) -> None:
    path = samples.gpx(tmp_path)
    bomb = '<!DOCTYPE gpx [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    path.write_text(path.read_text(encoding="utf-8").replace("<gpx", f"{bomb}<gpx"), encoding="utf-8")
    with pytest.raises(DataError, match="declares a type"):
        import_logs([path])


def test_wrong_encodings(tmp_path: Path) -> None:
    path = tmp_path / "track.gpx"
    text = samples.gpx(tmp_path).read_text(encoding="utf-8")
    path.write_bytes(text.replace("UTF-8", "ISO-8859-1").encode("latin-1"))
    assert len(import_logs([path]).readings) == 2  # XML says its encoding
    table = tmp_path / "x.csv"
    table.write_bytes(f"time,lat,lon,place\n{MAY_1},1,2,caf\xe9\n{MAY_1 + 1},1,2,home\n".encode("latin-1"))
    imported = import_logs([table])
    assert len(imported.readings) == 1
    assert imported.files[0].bad == 1
    assert "line 2, column 'place'" in imported.first_bad[0]


def test_rows_of_tables(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    body = ["never,1,2,", f"{MAY_1},north,2,", f"{MAY_1},1,,", f"{MAY_1},,,", f"{MAY_1},nan,2,", f"{MAY_1},1,2,home"]
    path.write_text("time,lat,lon,label\n" + "\n".join(body))
    imported = import_logs([path])
    assert rows(imported) == [("me", MAY_1, 1.0, 2.0, None, "home")]
    assert imported.files[0].bad == 5
    assert [line.split(", ")[1].split(":")[0] for line in imported.first_bad] == [f"line {k}" for k in range(2, 7)]
    path.write_text("time,lat,lon\n2024-05-01T08:00:00,1,2\n")
    with pytest.raises(DataError, match=r"x\.csv, line 2, column 'time'.*--zone"):
        import_logs([tmp_path])
    path.write_text("when,what\n1,2\n")
    with pytest.raises(DataError, match="no column for the time"):
        import_logs([path])
    path.write_text("time,what\n1,2\n")
    with pytest.raises(DataError, match="no columns of positions"):
        import_logs([path])


def test_tables_as_spreadsheets_write_them(tmp_path: Path) -> None:
    """Semicolons, byte order marks and dates of two countries; a date that may be either is not guessed."""
    path = tmp_path / "x.csv"
    path.write_text("Time;Lat;Lon\n27.10.2024 08:00;48;2\n28.10.2024 08:00;48;2\n", encoding="utf-8-sig")
    imported = import_logs([path], zone="Europe/Paris")
    assert [row[1] for row in rows(imported)] == [1730012400, 1730098800]
    assert imported.files[0].form == "%d.%m.%Y %H:%M"
    path.write_text("time,lat,lon\n10/27/2024 8:00 PM,48,2\nnever,48,2\n")
    assert import_logs([path], zone="UTC", time_format="%m/%d/%Y %I:%M %p").files[0].bad == 1
    path.write_text("time,lat,lon\n10/11/2024 08:00,48,2\n")
    with pytest.raises(DataError, match=r"day or the month first.*--time-format"):
        import_logs([path], zone="UTC")
    path.write_text("time,lat,lon\n27/10/2024 08:00,48,2\n")
    with pytest.raises(DataError, match=r"x\.csv, line 2, column 'time'.*--zone"):
        import_logs([path])
    path.write_text(f"time^lat^lon\n{MAY_1}^48^2\n")
    assert len(import_logs([path], separator="^").readings) == 1


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        import_logs([tmp_path / "none.gpx"])
    with pytest.raises(DataError, match="no file that can be read"):
        import_logs([tmp_path])
    (tmp_path / "x.jpg").write_bytes(b"\xff\xd8\xff")
    with pytest.raises(DataError, match=r"x\.jpg: is in no format that is known"):
        import_logs([tmp_path / "x.jpg"])
    with pytest.raises(DataError, match=r"format is 'gxp'; did you mean 'gpx'"):
        import_logs([tmp_path / "x.jpg"], format="gxp")
    with pytest.raises(DataError, match="user is empty"):
        import_logs([tmp_path], user="")
    whole = zipped({"a.gpx": samples.gpx(tmp_path).read_bytes()})
    (tmp_path / "x.zip").write_bytes(whole[:-30])
    with pytest.raises(DataError, match=r"x\.zip: the zip archive is damaged"):
        import_logs([tmp_path / "x.zip"])
    damaged = bytearray(whole)
    damaged[60] ^= 0xFF
    (tmp_path / "x.zip").write_bytes(bytes(damaged))
    imported = import_logs([tmp_path])
    assert f"{tmp_path / 'x.zip'}!a.gpx" in dict(imported.not_read)
    assert "gpx" in format_names()


def test_a_format_can_be_insisted_on(tmp_path: Path) -> None:
    path = tmp_path / "positions.txt"
    path.write_text(f"time,lat,lon\n{MAY_1},1,2\n")
    assert len(import_logs([path], format="csv").readings) == 1
    with pytest.raises(DataError, match="none of the 2 records"):
        import_logs([path], format="owntracks-rec")


def test_other_readers_say_that_a_log_is_to_be_imported(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="discreet import"):
        open_source(samples.gpx(tmp_path))


# --- one message


def test_a_message_of_a_phone_is_what_its_recording_says() -> None:
    record = owntracks.parse_message(json.dumps(location(inregions=["Home"])), "owntracks/jane/phone")
    assert record == Record(dt.datetime.fromtimestamp(MAY_1, dt.UTC), None, "jane", "Home", *PARIS, 12)
    assert owntracks.parse_message(b'{"_type":"lwt"}') is None
    for bad in (b"", b"{", b"[]", b'{"_type":"location"}', b"\xff", b"[" * 100_000):
        assert isinstance(owntracks.parse_message(bad), Fault)
    far: Any = owntracks.parse_message(json.dumps(location(10**12)))
    assert isinstance(far, Fault)


def test_a_state_of_home_assistant() -> None:
    said = samples.state("device_tracker.jane", "not_home", MAY_1, LYON)
    record = home_assistant.parse_message(json.dumps(said))
    stamp = dt.datetime.fromtimestamp(MAY_1, dt.UTC) + dt.timedelta(milliseconds=250)
    assert record == Record(stamp, None, "jane", "away", *LYON, 15)
    assert home_assistant.parse_message(json.dumps(samples.state("light.hall", "on", MAY_1))) is None
    assert home_assistant.parse_message(json.dumps(samples.state("person.jane", "unavailable", MAY_1))) is None
    for bad in (b"", b"[]", b"3", b'{"entity_id":"person.jane","state":"home"}'):
        assert isinstance(home_assistant.parse_message(bad), Fault)


# --- memory


READ = """
import resource, sys
from discreet.data.importing import import_logs
found = import_logs([sys.argv[1]])
assert found.files[0].records == int(sys.argv[2]), found.files
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(peak * (1 if sys.platform == "darwin" else 1024))
"""


@pytest.mark.slow("measures memory on a large table")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no getrusage")
def test_a_larger_records_json_needs_no_more_memory(tmp_path: Path) -> None:
    """40 MB of records instead of 4, of which a fiftieth are positions: to parse them whole takes 250 MB more."""
    scan = {"activeWifiScan": {"accessPoints": [{"mac": str(k), "strength": -60} for k in range(20)]}}
    batch = [{"timestamp": iso(MAY_1 + k), **scan} for k in range(49)]
    text = ",".join(json.dumps(one) for one in batch)
    peaks = []
    for repeats in (100, 1000):
        path = tmp_path / f"{repeats}.json"
        with path.open("w") as file:
            file.write('{"locations":[')
            for k in range(repeats):
                position = {"latitudeE7": 1 + k, "longitudeE7": 10**8, "timestamp": iso(MAY_1 + k)}
                file.write(("," if k else "") + json.dumps(position) + "," + text)
            file.write("]}")
        command = ["sh", "-c", '"$0" "$@"; exit $?', sys.executable, "-c", READ, str(path), str(50 * repeats)]
        peaks.append(int(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
        size = path.stat().st_size
        path.unlink()
    assert size > 30_000_000
    assert peaks[1] - peaks[0] < 30_000_000, peaks
