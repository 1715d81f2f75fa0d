"""Small files in every format that `discreet import` reads, written as the formats' documentation says."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

PARIS, LYON = (48.8566, 2.3522), (45.7640, 4.8357)
MAY_1 = 1714543200
"""2024-05-01T06:00:00Z."""


def iso(seconds: int) -> str:
    import datetime as dt

    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def location(seconds: int = MAY_1, at: tuple[float, float] = PARIS, **more: Any) -> dict[str, Any]:
    return {"_type": "location", "lat": at[0], "lon": at[1], "tst": seconds, "acc": 12, "tid": "ph", "batt": 71, **more}


def rec_line(message: dict[str, Any] | str, kind: str = "*", seconds: int = MAY_1) -> str:
    text = message if isinstance(message, str) else json.dumps(message)
    return f"{iso(seconds)}\t{kind:<18}\t{text}\n"


def owntracks_rec(folder: Path, user: str = "jane", device: str = "phone") -> Path:
    path = folder / "rec" / user / device / "2024-05.rec"
    path.parent.mkdir(parents=True)
    enter = {"_type": "transition", "event": "enter", "desc": "Gym", "tst": MAY_1 + 120, "lat": PARIS[0]}
    lines = [
        rec_line(location()),
        rec_line(location(MAY_1 + 60, LYON, inregions=["Home"], a_field_of_tomorrow={"x": [1]})),
        rec_line({**enter, "lon": PARIS[1], "acc": 20}, "event"),
        rec_line({**enter, "event": "leave", "lon": PARIS[1], "tst": MAY_1 + 180}, "event"),
        rec_line({"_type": "lwt", "tst": MAY_1}, "lwt"),
        rec_line({"_type": "hologram"}, "odd"),
    ]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def owntracks_json(folder: Path) -> Path:
    path = folder / "locations.json"
    data = [location(topic="owntracks/jane/phone"), location(MAY_1 + 60, LYON, topic="owntracks/jane/phone")]
    path.write_text(json.dumps({"count": 2, "data": data, "status": 200, "version": "0.9.9"}), encoding="utf-8")
    return path


def google_records(folder: Path) -> Path:
    path = folder / "Records.json"
    guess = {"activity": [{"type": "STILL", "confidence": 100}], "timestamp": iso(MAY_1)}
    entries = [
        {
            "latitudeE7": 488566000,
            "longitudeE7": 23522000,
            "accuracy": 14,
            "timestamp": iso(MAY_1),
            "activity": [guess],
        },
        {"latitudeE7": 457640000, "longitudeE7": 48357000, "accuracy": 9, "timestampMs": str((MAY_1 + 60) * 1000)},
        {"latitudeE7": 488566000, "longitudeE7": 4294967296 - 700000000, "timestamp": iso(MAY_1 + 120)},
        {"timestamp": iso(MAY_1), "activeWifiScan": {"accessPoints": [{"mac": "1"}]}},
    ]
    path.write_text(json.dumps({"locations": entries}, indent=2), encoding="utf-8")
    return path


def google_semantic(folder: Path) -> Path:
    path = folder / "2024_MAY.json"
    place = {"latitudeE7": 488566000, "longitudeE7": 23522000, "placeId": "x"}
    stay = {"startTimestamp": iso(MAY_1), "endTimestamp": iso(MAY_1 + 7200)}
    walk = {"startTimestampMs": str((MAY_1 + 7200) * 1000), "endTimestampMs": str((MAY_1 + 7800) * 1000)}
    point = {"latE7": 488567000, "lngE7": 23523000, "timestamp": iso(MAY_1 + 7500), "accuracyMeters": 8}
    entries = [
        {"placeVisit": {"location": {**place, "semanticType": "TYPE_HOME"}, "duration": stay}},
        {
            "activitySegment": {
                "startLocation": place,
                "endLocation": {"latitudeE7": 488570000, "longitudeE7": 23530000},
                "duration": walk,
                "activityType": "WALKING",
                "simplifiedRawPath": {"points": [point]},
            }
        },
        {"somethingNew": {}},
    ]
    path.write_text(json.dumps({"timelineObjects": entries}), encoding="utf-8")
    return path


def _day() -> dict[str, str]:
    return {"startTime": "2024-05-01T08:00:00.000+02:00", "endTime": "2024-05-01T09:00:00.000+02:00"}


def google_android(folder: Path) -> Path:
    path = folder / "Timeline.json"
    home = {"placeId": "x", "semanticType": "HOME", "placeLocation": {"latLng": "48.8566°, 2.3522°"}}
    segments = [
        {**_day(), "timelinePath": [{"point": "48.8566°, 2.3522°", "time": "2024-05-01T08:10:00.000+02:00"}]},
        {**_day(), "visit": {"hierarchyLevel": 0, "probability": 0.9, "topCandidate": home}},
        {
            **_day(),
            "activity": {
                "start": {"latLng": "48.8566°, 2.3522°"},
                "end": {"latLng": "45.7640°, 4.8357°"},
                "topCandidate": {"type": "IN_TRAIN", "probability": 0.8},
            },
        },
        {**_day(), "timelineMemory": {"trip": {}}},
    ]
    raw = {"LatLng": "45.7640°, 4.8357°", "accuracyMeters": 13, "timestamp": "2024-05-01T11:00:00.000+02:00"}
    signals: list[dict[str, Any]] = [{"position": raw}, {"wifiScan": {"devicesRecords": [{"mac": 1}]}}]
    profile = {"frequentPlaces": [{"placeId": "x"}]}
    document = {"semanticSegments": segments, "rawSignals": signals, "userLocationProfile": profile}
    path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    return path


def google_ios(folder: Path) -> Path:
    path = folder / "location-history.json"
    work = {"placeID": "x", "semanticType": "Work", "placeLocation": "geo:48.856600,2.352200", "probability": "0.9"}
    way = {"start": "geo:48.8566,2.3522", "end": "geo:45.7640,4.8357", "topCandidate": {"type": "walking"}}
    entries = [
        {**_day(), "visit": {"topCandidate": work, "probability": "0.9"}},
        {**_day(), "activity": way},
        {**_day(), "timelinePath": [{"point": "geo:45.7640,4.8357", "durationMinutesOffsetFromStartTime": "12"}]},
    ]
    path.write_text(json.dumps(entries), encoding="utf-8")
    return path


def state(entity: str, state: str, seconds: int, at: tuple[float, float] | None = None) -> dict[str, Any]:
    attributes: dict[str, Any] = {"friendly_name": entity, "icon": "mdi:x"}
    if at is not None:
        attributes |= {"latitude": at[0], "longitude": at[1], "gps_accuracy": 15}
    stamp = iso(seconds).replace("Z", ".250000+00:00")
    return {"entity_id": entity, "state": state, "attributes": attributes, "last_changed": stamp, "last_updated": stamp}


def home_assistant_json(folder: Path) -> Path:
    path = folder / "history.json"
    short = {"state": "not_home", "last_changed": iso(MAY_1 + 60)}
    lists = [
        [state("person.jane", "home", MAY_1, PARIS), short, {"state": "unavailable", "last_changed": iso(MAY_1 + 90)}],
        [state("sensor.lamp", "12", MAY_1)],
    ]
    path.write_text(json.dumps(lists), encoding="utf-8")
    return path


def home_assistant_csv(folder: Path) -> Path:
    path = folder / "history.csv"
    rows = [("person.jane", "home", MAY_1), ("person.jane", "not_home", MAY_1 + 60), ("light.hall", "on", MAY_1)]
    lines = [f"{entity},{state},{iso(seconds).replace('Z', '.000Z')}\n" for entity, state, seconds in rows]
    path.write_text("entity_id,state,last_changed\n" + "".join(lines), encoding="utf-8")
    return path


def home_assistant_db(folder: Path) -> Path:
    """As of schema 50: times as seconds, entities and attributes in tables of their own."""
    path = folder / "home-assistant_v2.db"
    held = [json.dumps(state("x", "home", MAY_1, PARIS)["attributes"]), "{}"]
    with sqlite3.connect(path) as database:
        database.executescript(
            """
            CREATE TABLE states_meta (metadata_id INTEGER PRIMARY KEY, entity_id TEXT);
            CREATE TABLE state_attributes (attributes_id INTEGER PRIMARY KEY, hash INTEGER, shared_attrs TEXT);
            CREATE TABLE states (state_id INTEGER PRIMARY KEY, state TEXT, last_changed_ts REAL, last_updated_ts REAL,
                attributes_id INTEGER, metadata_id INTEGER);
            INSERT INTO states_meta VALUES (1, 'device_tracker.jane'), (2, 'sensor.lamp');
            """
        )
        database.executemany("INSERT INTO state_attributes VALUES (?, 0, ?)", enumerate(held, 1))
        rows = [
            ("home", MAY_1, 1, 1),
            ("not_home", MAY_1 + 60, 2, 1),
            ("unknown", MAY_1 + 90, 2, 1),
            ("9", MAY_1, 2, 2),
        ]
        database.executemany(
            "INSERT INTO states (state, last_updated_ts, attributes_id, metadata_id) VALUES (?, ?, ?, ?)", rows
        )
    database.close()
    return path


def home_assistant_old_db(folder: Path) -> Path:
    """As of schema 11: everything in one table, times as text in UTC."""
    path = folder / "old.db"
    held = json.dumps(state("x", "home", MAY_1, PARIS)["attributes"])
    with sqlite3.connect(path) as database:
        database.execute(
            "CREATE TABLE states (state_id INTEGER PRIMARY KEY, domain TEXT, entity_id TEXT, state TEXT, "
            "attributes TEXT, last_changed TEXT, last_updated TEXT)"
        )
        rows = [("home", held, "2024-05-01 06:00:00.000000"), ("not_home", "{}", "2024-05-01 06:01:00.000000")]
        database.executemany(
            "INSERT INTO states (entity_id, state, attributes, last_updated) VALUES ('person.jane', ?, ?, ?)", rows
        )
    database.close()
    return path


def gpx(folder: Path, version: str = "1.1") -> Path:
    path = folder / f"track-{version}.gpx"
    name = f"http://www.topografix.com/GPX/{version.replace('.', '/')}"
    points = [
        f'<trkpt lat="48.8566" lon="2.3522"><ele>35</ele><time>{iso(MAY_1)}</time>'
        "<extensions><x:time xmlns:x='urn:x'>never</x:time></extensions></trkpt>",
        f'<trkpt lat="45.7640" lon="4.8357"><time>{iso(MAY_1 + 60)}</time></trkpt>',
        '<trkpt lat="45.7640" lon="4.8357"/>',
    ]
    path.write_text(
        f'<?xml version="1.0" encoding="UTF-8"?>\n<gpx version="{version}" creator="test" xmlns="{name}">'
        '<wpt lat="1" lon="1"><name>mark</name></wpt><trk><name>été</name>'
        f"<trkseg>{''.join(points)}</trkseg></trk></gpx>",
        encoding="utf-8",
    )
    return path


def geolife(folder: Path) -> Path:
    user = folder / "Data" / "010"
    (user / "Trajectory").mkdir(parents=True)
    header = "Geolife trajectory\nWGS 84\nAltitude is in Feet\nReserved 3\n0,2,255,My Track,0,0,2,8421376\n0\n"
    lines = [f"{lat},{lon},0,492,39744.12,2008-10-23,02:5{k}:10\r\n" for k, (lat, lon) in enumerate((PARIS, LYON))]
    (user / "Trajectory" / "20081023025304.plt").write_text(header + "".join(lines), encoding="utf-8", newline="")
    labels = "Start Time\tEnd Time\tTransportation Mode\n2008/10/23 02:50:00\t2008/10/23 03:05:00\tbus\n"
    (user / "labels.txt").write_text(labels, encoding="utf-8")
    return folder / "Data"


def csv_positions(folder: Path) -> Path:
    path = folder / "positions.csv"
    rows = f"{iso(MAY_1)},48.8566,2.3522,10\n{iso(MAY_1 + 60)},45.7640,4.8357,\n"
    path.write_text("time,lat,lng,accuracy\n" + rows, encoding="utf-8")
    return path


def csv_labels(folder: Path) -> Path:
    path = folder / "labels.csv"
    path.write_text(f"user,timestamp,context\nann,{MAY_1},home\nann,{MAY_1 + 60},work\n", encoding="utf-8")
    return path


def kml(folder: Path) -> Path:
    """As Google's: a visit and a way with their times, a track of Earth's, a point with a time, and a mark without."""
    path = folder / "history.kml"
    span = f"<TimeSpan><begin>{iso(MAY_1)}</begin><end>{iso(MAY_1 + 3600)}</end></TimeSpan>"
    later = f"<TimeSpan><begin>{iso(MAY_1 + 3600)}</begin><end>{iso(MAY_1 + 4200)}</end></TimeSpan>"
    line = "<LineString><coordinates>2.3522,48.8566,0 4.8357,45.7640,0</coordinates></LineString>"
    track = "".join(f"<when>{iso(MAY_1 + 7200 + 60 * k)}</when>" for k in range(2))
    track += "".join(f"<gx:coord>{lon} {lat} 0</gx:coord>" for lat, lon in (PARIS, LYON))
    marks = [
        f"<name>Home</name>{span}<Point><coordinates>2.3522,48.8566,0</coordinates></Point>",
        f"<name>Driving</name>{later}{line}",
        f"<name>track</name><gx:Track>{track}</gx:Track>",
        f"<TimeStamp><when>{iso(MAY_1 + 9000)}</when></TimeStamp><Point><coordinates>4.8357,45.7640 </coordinates>"
        "</Point>",
        "<name>mark</name><Point><coordinates>1,1</coordinates></Point>",
    ]
    path.write_text(
        '<?xml version="1.0" encoding="UTF-8"?>\n<kml xmlns="http://www.opengis.net/kml/2.2" '
        'xmlns:gx="http://www.google.com/kml/ext/2.2"><Document><name>Locations</name>'
        + "".join(f"<Placemark>{mark}</Placemark>" for mark in marks)
        + "</Document></kml>",
        encoding="utf-8",
    )
    return path


def tcx(folder: Path) -> Path:
    """Garmin's Training Center Database v2; Strava writes blanks before its first line."""
    path = folder / "activity.tcx"

    def point(at: tuple[float, float] | None, second: int) -> str:
        where = (
            ""
            if at is None
            else f"<LatitudeDegrees>{at[0]}</LatitudeDegrees><LongitudeDegrees>{at[1]}</LongitudeDegrees>"
        )
        where = f"<Position>{where}</Position>" if where else ""
        return (
            f"<Trackpoint><Time>{iso(second)}</Time>{where}<HeartRateBpm><Value>99</Value></HeartRateBpm></Trackpoint>"
        )

    points = point(PARIS, MAY_1) + point(LYON, MAY_1 + 60) + point(None, MAY_1 + 120)
    path.write_text(
        '          <?xml version="1.0" encoding="UTF-8"?>\n<TrainingCenterDatabase '
        'xmlns="http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2"><Activities><Activity Sport="Running">'
        f"<Id>{iso(MAY_1)}</Id><Lap><Track>{points}</Track></Lap></Activity></Activities>"
        f"<Courses><Course><Track>{point(PARIS, MAY_1)}</Track></Course></Courses></TrainingCenterDatabase>",
        encoding="utf-8",
    )
    return path


def geojson(folder: Path) -> Path:
    path = folder / "positions.geojson"

    def feature(kind: str, where: object, **properties: object) -> dict[str, Any]:
        return {"type": "Feature", "geometry": {"type": kind, "coordinates": where}, "properties": properties}

    paris, lyon = [PARIS[1], PARIS[0], 35], [LYON[1], LYON[0]]
    features = [
        feature("Point", paris, timestamp=iso(MAY_1), accuracy=8),
        feature("Point", lyon, time=(MAY_1 + 60) * 1000),
        feature("LineString", [paris, lyon], coordTimes=[iso(MAY_1 + 120), iso(MAY_1 + 180)]),
        feature("Point", lyon, name="mark"),
        feature("Polygon", [[paris, lyon, paris, paris]], name="area"),
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}), encoding="utf-8")
    return path


def overland(folder: Path) -> Path:
    """Two bodies as the phone posts them, a line each."""
    path = folder / "overland.jsonl"

    def place(at: tuple[float, float], second: int) -> dict[str, Any]:
        held = {
            "timestamp": iso(second),
            "horizontal_accuracy": 30,
            "motion": ["driving"],
            "device_id": "phone",
            "wifi": "",
        }
        where = {"type": "Point", "coordinates": [at[1], at[0]]}
        return {"type": "Feature", "geometry": where, "properties": held}

    bodies = [{"locations": [place(PARIS, MAY_1)], "trip": {"mode": "car"}}, {"locations": [place(LYON, MAY_1 + 60)]}]
    path.write_text("".join(json.dumps(body) + "\n" for body in bodies), encoding="utf-8")
    return path


def google_edits(folder: Path) -> Path:
    path = folder / "Timeline Edits.json"
    points = [{"latE7": 488566000, "lngE7": 23522000}, {"latE7": 457640000, "lngE7": 48357000}]
    edits: list[dict[str, Any]] = [
        {
            "deviceId": "1",
            "rawSignal": {"signal": {"position": {"point": at, "accuracyMm": 9000, "timestamp": iso(second)}}},
        }
        for at, second in zip(points, (MAY_1, MAY_1 + 60), strict=True)
    ]
    edits += [{"deviceId": "1", "rawSignal": {"signal": {"wifiScan": {}}}}, {"deviceId": "1", "placeAggregates": {}}]
    path.write_text(json.dumps({"timelineEdits": edits}), encoding="utf-8")
    return path


def fit_bytes(points: list[tuple[int, tuple[float, float] | None]]) -> bytes:
    """A FIT file by the SDK's description: header, a definition of `record`, records, and the sum at the end."""

    def crc(data: bytes, value: int = 0) -> int:
        table = [0x0000, 0xCC01, 0xD801, 0x1400, 0xF001, 0x3C00, 0x2800, 0xE401]
        table += [0xA001, 0x6C00, 0x7800, 0xB401, 0x5000, 0x9C01, 0x8801, 0x4400]
        for byte in data:
            for nibble in (byte & 0xF, byte >> 4):
                value = (value >> 4) & 0x0FFF ^ table[value & 0xF] ^ table[nibble]
        return value

    fields = [(253, 4, 0x86), (0, 4, 0x85), (1, 4, 0x85), (31, 1, 0x02)]
    body = struct.pack("<BBBHB", 0x40, 0, 0, 20, len(fields)) + b"".join(struct.pack("BBB", *one) for one in fields)
    for second, at in points:
        where = [0x7FFFFFFF] * 2 if at is None else [round(degrees * 2**31 / 180) for degrees in at]
        body += struct.pack("<BIiiB", 0, second - 631_065_600, *where, 5)
    header = struct.pack("<BBHI4s", 14, 0x10, 2132, len(body), b".FIT")
    header += struct.pack("<H", crc(header))
    return header + body + struct.pack("<H", crc(header + body))


def fit(folder: Path) -> Path:
    path = folder / "activity.fit"
    path.write_bytes(fit_bytes([(MAY_1, PARIS), (MAY_1 + 60, LYON), (MAY_1 + 120, None)]))
    return path


SAMPLES: dict[str, Callable[[Path], Path]] = {
    "owntracks-rec": owntracks_rec,
    "owntracks-json": owntracks_json,
    "google-records": google_records,
    "google-semantic": google_semantic,
    "google-timeline-android": google_android,
    "google-timeline-ios": google_ios,
    "home-assistant-json": home_assistant_json,
    "home-assistant-csv": home_assistant_csv,
    "home-assistant-db": home_assistant_db,
    "gpx": gpx,
    "geolife": geolife,
    "csv": csv_positions,
    "kml": kml,
    "tcx": tcx,
    "fit": fit,
    "geojson": geojson,
    "overland": overland,
    "google-timeline-edits": google_edits,
}
"""A sample of each format, by its name."""
