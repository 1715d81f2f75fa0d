"""What other programs write that is not as their documentation has it: read all the same, or refused in words."""

from __future__ import annotations

import gzip
import io
import json
import random
import sqlite3
import sys
import tarfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from discreet.data.importing import Imported, format_of, import_logs
from discreet.data.rows import point_of
from discreet.errors import DataError
from tests.data import samples
from tests.data.histories import apple_health, strava
from tests.data.samples import LYON, MAY_1, PARIS, iso, location, rec_line
from tests.data.test_importing import rows

E7 = {"latitudeE7": 488566000, "longitudeE7": 23522000}
FAR = {"latitudeE7": 457640000, "longitudeE7": 48357000}


def _written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def _of(path: Path, text: str | bytes, **more: Any) -> Imported:
    return import_logs([_written(path, text)], **more)


# --- Google


def _semantic(tmp_path: Path, *entries: dict[str, Any]) -> Imported:
    return _of(tmp_path / "2024_MAY.json", json.dumps({"timelineObjects": entries}))


def test_a_way_of_waypoints_has_their_ends(tmp_path: Path) -> None:
    times = {"startTimestamp": iso(MAY_1), "endTimestamp": iso(MAY_1 + 600)}
    waypoints = [{"latE7": 488566000, "lngE7": 23522000}, {"latE7": 470000000, "lngE7": 30000000}]
    waypoints.append({"latE7": 457640000, "lngE7": 48357000})
    way = {"duration": times, "activityType": "IN_CAR", "waypointPath": {"waypoints": waypoints}}
    assert rows(_semantic(tmp_path, {"activitySegment": way})) == [
        ("me", MAY_1, *PARIS, None, "in car"),
        ("me", MAY_1 + 599, *LYON, None, "in car"),
    ]


def test_a_flight_whose_end_nobody_knows_does_not_end_where_it_began(tmp_path: Path) -> None:
    times = {"startTimestamp": iso(MAY_1), "endTimestamp": iso(MAY_1 + 600)}
    flight = {"duration": times, "activityType": "FLYING", "startLocation": E7, "endLocation": {"address": "?"}}
    assert rows(_semantic(tmp_path, {"activitySegment": flight})) == [
        ("me", MAY_1, *PARIS, None, "flying"),
        ("me", MAY_1 + 599, None, None, None, "flying"),
    ]
    phone = {"startTime": iso(MAY_1), "endTime": iso(MAY_1 + 600)}
    moved = {**phone, "activity": {"start": {"latLng": "48.8566°, 2.3522°"}, "topCandidate": {"type": "FLYING"}}}
    read = _of(tmp_path / "Timeline.json", json.dumps({"semanticSegments": [moved]}))
    assert rows(read) == [("me", MAY_1, *PARIS, None, "flying"), ("me", MAY_1 + 599, None, None, None, "flying")]


def test_a_start_without_an_end_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    visit = {"location": {**E7, "name": "Café"}, "duration": {"startTimestamp": iso(MAY_1)}}
    left = {"startLocation": E7, "endLocation": FAR, "duration": {"endTimestamp": iso(MAY_1 + 60)}}
    read = _semantic(tmp_path, {"placeVisit": visit}, {"activitySegment": left})
    assert rows(read) == [("me", MAY_1, *PARIS, None, "Café"), ("me", MAY_1 + 60, *LYON, None, None)]
    assert read.files[0].bad == 0
    stays = [{"startTime": iso(MAY_1), "visit": {"topCandidate": {"placeLocation": "geo:48.8566,2.3522"}}}]
    assert rows(_of(tmp_path / "location-history.json", json.dumps(stays))) == [("me", MAY_1, *PARIS, None, None)]
    nowhere = _semantic(tmp_path, {"placeVisit": visit}, {"placeVisit": {"location": E7, "duration": {}}})
    assert nowhere.files[0].bad == 1


def test_points_of_a_visit_are_read(tmp_path: Path) -> None:
    times = {"startTimestamp": iso(MAY_1), "endTimestamp": iso(MAY_1 + 600)}
    path = {"points": [{"latE7": 488567000, "lngE7": 23523000, "accuracyMeters": 8, "timestamp": iso(MAY_1 + 60)}]}
    read = _semantic(tmp_path, {"placeVisit": {"location": E7, "duration": times, "simplifiedRawPath": path}})
    assert ("me", MAY_1 + 60, 48.8567, 2.3523, 8, None) in rows(read)


@pytest.mark.parametrize("first", [0, 1])
def test_a_visit_within_another_is_one_visit(tmp_path: Path, first: int) -> None:
    """A shop in a mall, 245 m away, in the same hours; alone, it is a visit like others."""
    times = {"startTime": iso(MAY_1), "endTime": iso(MAY_1 + 3600)}
    later = {"startTime": iso(MAY_1 + 7200), "endTime": iso(MAY_1 + 9000)}

    def visit(level: int, at: str, when: dict[str, str]) -> dict[str, Any]:
        return {**when, "visit": {"hierarchyLevel": level, "topCandidate": {"placeLocation": {"latLng": at}}}}

    both = [visit(0, "48.8566°, 2.3522°", times), visit(1, "48.8588°, 2.3522°", times)]
    document = {"semanticSegments": [*(both if first == 0 else both[::-1]), visit(1, "45.7640°, 4.8357°", later)]}
    read = _of(tmp_path / "Timeline.json", json.dumps(document, ensure_ascii=False))
    assert {row[2] for row in rows(read)} == {PARIS[0], LYON[0]}
    assert read.files[0].passed_over == {"visit within another": 1}
    assert read.files[0].records == 3


def test_a_visit_without_a_position_of_its_place_is_at_its_centre(tmp_path: Path) -> None:
    times = {"startTimestamp": iso(MAY_1), "endTimestamp": iso(MAY_1 + 2)}
    centre = {"centerLatE7": 488566000, "centerLngE7": 23522000}
    read = _semantic(tmp_path, {"placeVisit": {"location": {"name": "Café"}, "duration": times, **centre}})
    assert rows(read) == [("me", MAY_1, *PARIS, None, "Café"), ("me", MAY_1 + 1, *PARIS, None, "Café")]


def test_segments_of_timeline_edits_are_visits_and_movements(tmp_path: Path) -> None:
    """What somebody corrected stands for what Google had inferred of the same hours, wherever in the file."""

    def segment(start: int, length: int, what: dict[str, Any]) -> dict[str, Any]:
        return {"startTime": iso(start), "endTime": iso(start + length), "segment": what}

    def visit(at: dict[str, int], kind: str) -> dict[str, Any]:
        best = {"placeId": "x", "semanticType": kind, "placeLocation": at}
        return {"visit": {"hierarchyLevel": 0, "topCandidate": best}}

    paris, lyon = {"latE7": 488566000, "lngE7": 23522000}, {"latE7": 457640000, "lngE7": 48357000}
    way = {"activity": {"start": paris, "end": lyon, "topCandidate": {"type": "IN_TRAIN"}}}
    path = {"timelinePath": [{"point": paris, "time": iso(MAY_1 + 40)}]}
    edits = [
        {"deviceId": "0", "inferredSemanticSegment": segment(MAY_1, 2, visit(lyon, "UNKNOWN"))},
        {"deviceId": "0", "inferredSemanticSegment": segment(MAY_1 + 10, 20, way)},
        {"deviceId": "0", "inferredSemanticSegment": segment(MAY_1 + 40, 9, path)},
        {"deviceId": "0", "userEditedSemanticSegment": segment(MAY_1 - 1, 3, visit(paris, "INFERRED_HOME"))},
        {"deviceId": "0", "inferredSemanticSegment": {"startTime": "?", "segment": way}},
        {"deviceId": "0", "inferredSemanticSegment": "?"},
    ]
    read = _of(tmp_path / "Timeline Edits.json", json.dumps({"timelineEdits": edits}))
    assert rows(read) == [
        ("me", MAY_1 - 1, *PARIS, None, "home"),
        ("me", MAY_1 + 1, *PARIS, None, "home"),
        ("me", MAY_1 + 10, *PARIS, None, "in train"),
        ("me", MAY_1 + 29, *LYON, None, "in train"),
        ("me", MAY_1 + 40, *PARIS, None, None),
    ]
    (file,) = read.files
    assert file.passed_over == {"segment that was corrected": 1, "inferredSemanticSegment": 1}
    assert (file.records, file.bad) == (6, 1)


def test_coordinates_with_an_exponent() -> None:
    assert point_of("-1.2E-5°, 2.5e1°") == (-1.2e-5, 25.0)
    assert point_of("geo:-1.2e-05,+0.5") == (-1.2e-5, 0.5)
    assert point_of("1e9999, 2") is None


# --- tracks


def test_a_blank_line_before_the_header_is_no_harm(tmp_path: Path) -> None:
    text = "\n \r\n" + samples.gpx(tmp_path).read_text(encoding="utf-8")
    assert _of(tmp_path / "blank.gpx", text).readings.height == 2


def test_apples_accuracy_is_read(tmp_path: Path) -> None:
    point = (
        f'<trkpt lat="48.8566" lon="2.3522"><time>{iso(MAY_1)}</time><extensions><hAcc>7.5</hAcc></extensions></trkpt>'
    )
    read = _of(tmp_path / "route.gpx", f'<gpx version="1.1"><trk><trkseg>{point}</trkseg></trk></gpx>')
    assert rows(read) == [("me", MAY_1, *PARIS, 7.5, None)]


def test_a_recording_with_spaces_for_tabs(tmp_path: Path) -> None:
    text = (rec_line(location()) + rec_line(location(MAY_1 + 60, LYON))).replace("\t", "    ")
    assert rows(_of(tmp_path / "2024-05.rec", text)) == [
        ("me", MAY_1, *PARIS, 12, None),
        ("me", MAY_1 + 60, *LYON, 12, None),
    ]


def test_a_track_that_was_cut_gives_what_a_folder_with_it_gives(tmp_path: Path) -> None:
    points = "".join(
        f'<trkpt lat="{48 + k / 1e5}" lon="{2 + (k * 7919 % 10007) / 1e5}"><time>{iso(MAY_1 + k)}</time></trkpt>'
        for k in range(20_000)
    )
    whole = gzip.compress(f"<gpx><trk><trkseg>{points}</trkseg></trk></gpx>".encode())
    path = _written(tmp_path / "t.gpx.gz", whole[: len(whole) // 2])
    named, found = import_logs([path]), import_logs([tmp_path])
    assert 0 < named.readings.height < 20_000
    assert named.readings.equals(found.readings)
    assert named.not_read == found.not_read
    assert "the compressed data are damaged" in named.not_read[0][1]
    with pytest.raises(DataError, match="the compressed data are damaged"):
        import_logs([path], strict=True)


FEATURE = {"type": "Feature", "geometry": {"type": "Point", "coordinates": [2.3522, 48.8566]}}


@pytest.mark.parametrize("name", ["Timestamp", "dateTime", "Recorded-At", "recordedAt", "TIME"])
def test_times_of_features_by_any_spelling(tmp_path: Path, name: str) -> None:
    feature = {**FEATURE, "properties": {"Name": None, "times": "2", name: iso(MAY_1)}}
    document = {"type": "FeatureCollection", "features": [feature]}
    for text in (json.dumps(document), json.dumps([feature]), "[\n  " + json.dumps(feature) + "\n]"):
        assert rows(_of(tmp_path / "x.json", text)) == [("me", MAY_1, *PARIS, None, None)]


def test_a_fit_file_needs_its_reader_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fitdecode", None)
    with pytest.raises(DataError, match=r"activity\.fit: is a FIT file.*pip install 'discreet\[fit\]'"):
        import_logs([samples.fit(tmp_path)])


def test_a_fit_file_with_a_wrong_sum_is_read_and_said(tmp_path: Path) -> None:
    data = bytearray(samples.fit(tmp_path).read_bytes())
    data[-1] ^= 0xFF
    read = _of(tmp_path / "wrong.fit", bytes(data))
    assert (read.readings.height, read.files[0].bad) == (2, 1)


def test_a_track_of_kml_with_a_time_too_many(tmp_path: Path) -> None:
    text = (
        samples.kml(tmp_path)
        .read_text(encoding="utf-8")
        .replace("</gx:Track>", f"<when>{iso(MAY_1)}</when></gx:Track>")
    )
    read = _of(tmp_path / "odd.kml", text)
    assert (read.readings.height, read.files[0].bad) == (8, 1)
    assert "without the other" in read.first_bad[0]


def test_entities_of_kml_and_tcx_are_refused(tmp_path: Path) -> None:
    for name, make in (("x.kml", samples.kml), ("x.tcx", samples.tcx)):
        root = "kml" if name.endswith("kml") else "TrainingCenterDatabase"
        text = (
            make(tmp_path).read_text(encoding="utf-8").replace(f"<{root}", f'<!DOCTYPE x [<!ENTITY a "b">]><{root}', 1)
        )
        with pytest.raises(DataError, match="declares a type"):
            _of(tmp_path / name, text)


# --- archives and folders of applications


def test_a_tar_archive_is_read_with_what_is_in_it(tmp_path: Path) -> None:
    files = {
        "Takeout/a.gpx": samples.gpx(tmp_path).read_bytes(),
        "Takeout/b.csv.gz": gzip.compress(samples.csv_labels(tmp_path).read_bytes()),
        "../../etc/c.json": samples.overland(tmp_path).read_bytes(),
        "Takeout/.hidden": b"x",
        "Takeout/page.html": b"<html>",
        "Takeout/.film": random.Random(0).randbytes(20_000),
    }
    for mode in ("w", "w:gz"):
        path = tmp_path / "x.tar"
        with tarfile.open(path, mode) as archive:
            for name, data in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        read = import_logs([path])
        assert {one.format: one.readings for one in read.files} == {"gpx": 2, "csv": 2, "overland": 2}
        assert format_of(path) == "tar"
        assert [name.rpartition("!")[2] for name in read.unknown] == ["Takeout/page.html"]
    cut = _written(tmp_path / "cut.tgz", path.read_bytes()[: path.stat().st_size // 2])
    assert "breaks off or is damaged" in import_logs([cut]).not_read[0][1]


def test_tables_of_something_else_in_an_export_are_passed_by(tmp_path: Path) -> None:
    for make, tables in ((strava, 2), (apple_health, 2)):
        folder = tmp_path / make.__name__
        folder.mkdir()
        read = import_logs([make(folder)])
        assert read.not_read == ()
        assert len(read.unknown) == tables
        assert {one.readings for one in read.files} == {1029}
    with pytest.raises(DataError, match=r"activities\.csv: there is no column for the time"):
        import_logs([tmp_path / "strava" / "export_123" / "activities.csv"])


def test_what_is_not_known_is_told_what_is_and_where_to_find_it(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"notes\.md: is in no format that is known; known are Google \(phone: Settings"
    ):
        _of(tmp_path / "notes.md", "# nothing")
    with pytest.raises(DataError, match=r"x\.gpx: holds no records at all"):
        _of(tmp_path / "x.gpx", "<gpx></gpx>")


# --- tables

PLACES = [("me", MAY_1, *PARIS, None, None), ("me", MAY_1 + 60, -LYON[0], -LYON[1], None, None)]
TABLES = {
    "E7": "timestamp,latitudeE7,longitudeE7\n{a},488566000,23522000\n{b},-457640000,-48357000\n",
    "letters": "timestamp,latitude,longitude\n{a},48.8566N,2.3522E\n{b},45.7640 S,W 4.8357\n",
    "letters in columns": "timestamp,lat,N/S,lon,E/W\n{a},48.8566,N,2.3522,E\n{b},45.7640,S,4.8357,W\n",
    "decimal commas": "timestamp;lat;lon\n{a};48,8566;2,3522\n{b};-45,7640;-4,8357\n",
    "Device Time": "Valid,Device Time,Latitude,Longitude\ntrue,{a},48.8566,2.3522\ntrue,{b},-45.7640,-4.8357\n",
    "degree signs": "time,lat,lng\n{a},48.8566°,2.3522°\n{b},-45.7640°,-4.8357°\n",
    "nanoseconds": f"time,lat,lng\n{MAY_1}000000000,48.8566,2.3522\n{MAY_1 + 60}000000000,-45.7640,-4.8357\n",
    "microseconds": f"time,lat,lng\n{MAY_1}000000,48.8566,2.3522\n{MAY_1 + 60}000000,-45.7640,-4.8357\n",
    "nine digits": "time,lat,lng\n2024-05-01T06:00:00.000000000Z,48.8566,2.3522\n"
    "2024-05-01T06:01:00.000000000Z,-45.7640,-4.8357\n",
    "UTC in letters": "time,lat,lng\n2024-05-01 06:00:00 UTC,48.8566,2.3522\n"
    "2024-05-01 06:01:00 GMT,-45.7640,-4.8357\n",
    "Excel's first line": "sep=;\r\ntime;lat;lon\r\n{a};48,8566;2,3522\r\n{b};-45,7640;-4,8357\r\n",
    "timestampMs": f"timestampMs,latE7,lngE7\n{MAY_1}000,488566000,23522000\n{MAY_1 + 60}000,-457640000,-48357000\n",
    "date and time": "date,time,lat,lon\n2024-05-01,06:00:00Z,48.8566,2.3522\n2024-05-01,06:01:00Z,-45.7640,-4.8357\n",
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("ending", [".csv", ".txt", ".json"])
def test_tables_as_loggers_and_spreadsheets_write_them(tmp_path: Path, name: str, ending: str) -> None:
    """Also where the name says something else than a table."""
    read = _of(tmp_path / f"x{ending}", TABLES[name].format(a=iso(MAY_1), b=iso(MAY_1 + 60)))
    assert [row[:2] for row in rows(read)] == [row[:2] for row in PLACES]
    assert [row[2:4] for row in rows(read)] == [pytest.approx(row[2:4], abs=1e-9) for row in PLACES]


def test_rows_that_last_are_stays(tmp_path: Path) -> None:
    text = f"Start Time,End Time,place\n{iso(MAY_1)},{iso(MAY_1 + 4000)},gym\n{iso(MAY_1 + 9000)},{iso(MAY_1)},bar\n"
    text += f"{iso(MAY_1 + 9000)},,home\n"
    read = _of(tmp_path / "x.csv", text)
    assert [(row[1] - MAY_1, row[5]) for row in rows(read)] == [
        (0, "gym"), (1800, "gym"), (3600, "gym"), (3999, "gym"), (9000, "home"),
    ]  # fmt: skip
    assert "ends before it starts" in read.first_bad[0]


def test_local_dates_and_times_apart(tmp_path: Path) -> None:
    text = "Date,Time,lat,lon\n2024-05-01,8:00:00,48.8566,2.3522\n"
    assert rows(_of(tmp_path / "x.csv", text, zone="Europe/Paris")) == [("me", MAY_1, *PARIS, None, None)]
    with pytest.raises(DataError, match="give --zone"):
        _of(tmp_path / "x.csv", text)


def test_a_line_that_names_the_separator_is_counted(tmp_path: Path) -> None:
    first = _of(tmp_path / "x.csv", f"sep=;\ntime;lat;lon\n{iso(MAY_1)};1;2\n{iso(MAY_1)};x;2\n").first_bad
    assert "line 4, column 'lat'" in first[0]


def test_the_value_at_fault_is_quoted(tmp_path: Path) -> None:
    text = f"time,lat,lon\n{iso(MAY_1)},48.8566,2.3522\n{iso(MAY_1)},5x2,1\n{iso(MAY_1)},52.1,east\n"
    first = _of(tmp_path / "x.csv", text).first_bad
    assert "line 3, column 'lat': '5x2' has a position that is not two numbers" in first[0]
    assert "line 4, column 'lon': 'east'" in first[1]


# --- Home Assistant


@pytest.mark.parametrize("kept", ["nothing", "wal", "both"])
def test_a_database_is_left_as_it_was(tmp_path: Path, kept: str) -> None:
    """In the mode that Home Assistant uses, with what it has beside the file or a copy without."""
    path = samples.home_assistant_db(tmp_path)
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode=WAL")
    database.commit()
    database.execute("INSERT INTO states_meta VALUES (3, 'person.ann')")
    database.execute(
        "INSERT INTO states (state, last_updated_ts, attributes_id, metadata_id) VALUES ('home', ?, 2, 3)", (MAY_1,)
    )
    database.commit()
    copy = tmp_path / "copy"
    copy.mkdir()
    ends = {"nothing": [], "wal": ["-wal"], "both": ["-wal", "-shm"]}[kept]
    for end in ["", *ends]:
        (copy / f"{path.name}{end}").write_bytes(path.with_name(f"{path.name}{end}").read_bytes())
    database.close()
    before = sorted(one.name for one in copy.iterdir())
    read = import_logs([copy / path.name])
    assert sorted(one.name for one in copy.iterdir()) == before
    assert set(read.readings["user"]) == ({"jane"} if kept == "nothing" else {"jane", "ann"})
    assert isinstance(read.readings, pl.DataFrame)
