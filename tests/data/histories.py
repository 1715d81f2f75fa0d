"""Three weeks of one simulated person as every format that `discreet import` reads would have recorded them.

The files follow the formats' documentation, with what phones and servers write beside what is needed, and a record of a
kind that nobody knows. `samples.py` has the smallest files instead, for which readings can be written down by hand.
"""

from __future__ import annotations

import datetime as dt
import gzip
import io
import itertools
import json
import sqlite3
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from tests.data.samples import fit_bytes, rec_line

ZONE = "Europe/Paris"
MONDAY = dt.date(2024, 5, 6)
DAYS = 21
STEP = 600
"""Seconds between positions."""

HOME = (48.8800, 2.3500)
WHERE = {"home": HOME, "work": (48.8420, 2.3215), "clinic": (48.8330, 2.3650), "park": (48.8790, 2.3830)}
FORECAST = {"a_field_of_tomorrow": {"x": [1, None, {"y": "é"}]}}


@dataclass(frozen=True)
class Stay:
    """At a place from one second to another."""

    place: str
    start: int
    end: int


@dataclass(frozen=True)
class Fix:
    """A position, and the place that it is in, if it is in one."""

    second: int
    at: tuple[float, float]
    place: str | None


def stays(seed: int = 1, monday: dt.date = MONDAY, zone: str = ZONE) -> list[Stay]:
    """Home, work on weekdays, the clinic on three afternoons, the park at weekends; half an hour on the way to each."""
    chance = np.random.default_rng(seed)
    hours: list[tuple[str, float]] = []  # where from which hour since the first midnight
    for day in range(DAYS):
        late = float(chance.uniform(-0.3, 0.3))
        if day % 7 < 5:
            hours += [("home", 24 * day), ("work", 24 * day + 9 + late)]
            hours += [("clinic", 24 * day + 16 + late)] * (day % 7 in (0, 2, 4))
            hours += [("home", 24 * day + 19 + late)]
        else:
            hours += [("home", 24 * day), ("park", 24 * day + 15 + late), ("home", 24 * day + 17 + late)]
    midnight = int(dt.datetime.combine(monday, dt.time(), ZoneInfo(zone)).timestamp())
    changes = [hours[0]] + [here for before, here in itertools.pairwise(hours) if here[0] != before[0]]
    starts = [midnight + int(3600 * hour) for _, hour in changes]
    ends = [start - 1800 for start in starts[1:]] + [midnight + DAYS * 86_400]
    return [Stay(place, start, end) for (place, _), start, end in zip(changes, starts, ends, strict=True)]


def fixes(seed: int = 1, monday: dt.date = MONDAY, zone: str = ZONE) -> list[Fix]:
    """A position every ten minutes, ten metres or so from the truth; on the way straight from place to place."""
    there = stays(seed, monday, zone)
    chance = np.random.default_rng(seed + 1)
    found: list[tuple[int, tuple[float, float], str | None]] = []
    for k, stay in enumerate(there):
        found += [(second, WHERE[stay.place], stay.place) for second in range(stay.start, stay.end, STEP)]
        if k + 1 < len(there):
            begin, target = np.array(WHERE[stay.place]), np.array(WHERE[there[k + 1].place])
            for part in (0.2, 0.4, 0.6, 0.8):
                lat, lon = (begin + part * (target - begin)).tolist()
                found.append((stay.end + int(1800 * part), (lat, lon), None))
    noise = chance.normal(0, 1e-4, (len(found), 2))
    return [
        Fix(second, (round(lat + float(d[0]), 7), round(lon + float(d[1]), 7)), place)
        for (second, (lat, lon), place), d in zip(found, noise, strict=True)
    ]


def iso(second: int, *, local: bool = False) -> str:
    """As text: in UTC with Z, or in Paris with an offset and milliseconds."""
    if not local:
        return dt.datetime.fromtimestamp(second, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return dt.datetime.fromtimestamp(second, ZoneInfo(ZONE)).isoformat(timespec="milliseconds")


def _saved(path: Path, document: object) -> Path:
    path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    return path


def message(fix: Fix) -> dict[str, Any]:
    at = {"lat": fix.at[0], "lon": fix.at[1], "tst": fix.second, "acc": 12, "vac": 3, "alt": 35, "vel": 0, "cog": 0}
    phone = {"tid": "ph", "batt": 71, "bs": 1, "conn": "w", "t": "p", "m": 1, "created_at": fix.second + 1}
    return {"_type": "location", **at, **phone, "topic": "owntracks/jane/phone", **FORECAST}


def owntracks_rec(folder: Path) -> Path:
    """The Recorder's store: last/ and waypoints stand beside rec/."""
    store = folder / "store"
    recorded = store / "rec" / "jane" / "phone" / "2024-05.rec"
    recorded.parent.mkdir(parents=True)
    lines = [rec_line(message(fix), seconds=fix.second) for fix in fixes()]
    odd = [rec_line({"_type": "lwt", "tst": 1}, "lwt"), rec_line({"_type": "hologram"}, "odd")]
    recorded.write_text("".join([*odd, *lines]), encoding="utf-8")
    last = store / "last" / "jane" / "phone" / "jane-phone.json"
    last.parent.mkdir(parents=True)
    _saved(last, message(fixes()[-1]))
    return store


def owntracks_json(folder: Path) -> Path:
    """What the Recorder answers /api/0/locations with."""
    data = [message(fix) for fix in fixes()]
    return _saved(folder / "jane.json", {"count": len(data), "data": data, "status": 200, "version": "0.9.9"})


def google_records(folder: Path) -> Path:
    guess = {"activity": [{"type": "STILL", "confidence": 90}]}
    records = [
        {
            "latitudeE7": round(fix.at[0] * 1e7),
            "longitudeE7": round(fix.at[1] * 1e7),
            "accuracy": 14,
            "activity": [{**guess, "timestamp": iso(fix.second)}],
            "source": "WIFI",
            "deviceTag": 12345678,
            "timestamp": iso(fix.second).replace("Z", ".123Z"),
            **FORECAST,
        }
        for fix in fixes()
    ]
    archive = folder / "takeout.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("Takeout/Location History (Timeline)/Records.json", json.dumps({"locations": records}, indent=2))
        file.writestr("Takeout/archive_browser.html", "<html></html>")
        file.writestr("Takeout/Location History (Timeline)/Settings.json", '{"createdTime": "2024-01-01T00:00:00Z"}')
    return archive


def _e7(at: tuple[float, float], prefix: str = "latitude longitude") -> dict[str, int]:
    names = prefix.split()
    return {f"{names[0]}E7": round(at[0] * 1e7), f"{names[1]}E7": round(at[1] * 1e7)}


def google_semantic(folder: Path) -> Path:
    """A visit each, and a movement in between with its path."""
    there, objects = stays(), []
    for k, stay in enumerate(there):
        named: dict[str, Any] = {"placeId": stay.place, "address": "1 rue X"}
        named |= {"home": {"semanticType": "TYPE_HOME"}, "work": {"semanticType": "TYPE_WORK"}}.get(
            stay.place, {"name": stay.place.title(), "semanticType": "TYPE_UNKNOWN"}
        )
        duration = {"startTimestamp": iso(stay.start), "endTimestamp": iso(stay.end)}
        visit = {"location": {**_e7(WHERE[stay.place]), **named}, "duration": duration, "visitConfidence": 90}
        objects.append({"placeVisit": {**visit, **FORECAST}})
        if k + 1 < len(there):
            target = WHERE[there[k + 1].place]
            way = {"startTimestamp": iso(stay.end), "endTimestamp": iso(there[k + 1].start)}
            points = [{**_e7(target, "lat lng"), "timestamp": iso(there[k + 1].start), "accuracyMeters": 10}]
            ends = {"startLocation": _e7(WHERE[stay.place]), "endLocation": _e7(target)}
            move = {**ends, "duration": way, "activityType": "IN_SUBWAY", "simplifiedRawPath": {"points": points}}
            objects.append({"activitySegment": move})
    objects.append({"somethingNew": {}})
    month = folder / "Semantic Location History" / "2024"
    month.mkdir(parents=True)
    _saved(month / "2024_MAY.json", {"timelineObjects": objects})
    return folder / "Semantic Location History"


def _degrees(at: tuple[float, float]) -> str:
    return f"{at[0]}°, {at[1]}°"


def google_android(folder: Path) -> Path:
    segments: list[dict[str, Any]] = []
    there = stays()
    for k, stay in enumerate(there):
        kind = {"home": "INFERRED_HOME", "work": "INFERRED_WORK"}.get(stay.place, "UNKNOWN")
        best = {"placeId": stay.place, "semanticType": kind, "placeLocation": {"latLng": _degrees(WHERE[stay.place])}}
        times = {"startTime": iso(stay.start, local=True), "endTime": iso(stay.end, local=True)}
        segments.append({**times, "visit": {"hierarchyLevel": 0, "probability": 0.9, "topCandidate": best}})
        if k + 1 < len(there):
            after = there[k + 1]
            times = {"startTime": iso(stay.end, local=True), "endTime": iso(after.start, local=True)}
            ends = {"start": {"latLng": _degrees(WHERE[stay.place])}, "end": {"latLng": _degrees(WHERE[after.place])}}
            segments.append({**times, "activity": {**ends, "topCandidate": {"type": "IN_SUBWAY", "probability": 0.8}}})
            path = [{"point": _degrees(WHERE[after.place]), "time": times["endTime"]}]
            segments.append({**times, "timelinePath": path})
    signals: list[dict[str, Any]] = [
        {"position": {"LatLng": _degrees(fix.at), "accuracyMeters": 13, "timestamp": iso(fix.second, local=True)}}
        for fix in fixes()
    ]
    signals += [{"wifiScan": {"devicesRecords": [{"mac": 1}]}}, {"hologram": {}}]
    profile = {"frequentPlaces": [{"placeId": "home", "placeLocation": _degrees(HOME), "label": "HOME"}]}
    document = {"semanticSegments": segments, "rawSignals": signals, "userLocationProfile": profile}
    return _saved(folder / "Timeline.json", document)


def google_ios(folder: Path) -> Path:
    entries: list[dict[str, Any]] = []
    there = stays()
    for k, stay in enumerate(there):
        lat, lon = WHERE[stay.place]
        kind = {"home": "Home", "work": "Work"}.get(stay.place, "Unknown")
        best = {"placeID": stay.place, "semanticType": kind, "placeLocation": f"geo:{lat},{lon}", "probability": "0.9"}
        times = {"startTime": iso(stay.start, local=True), "endTime": iso(stay.end, local=True)}
        entries.append({**times, "visit": {"hierarchyLevel": "0", "topCandidate": best, "probability": "0.9"}})
        if k + 1 < len(there):
            after = WHERE[there[k + 1].place]
            times = {"startTime": iso(stay.end, local=True), "endTime": iso(there[k + 1].start, local=True)}
            way = {"start": f"geo:{lat},{lon}", "end": f"geo:{after[0]},{after[1]}", "topCandidate": {"type": "subway"}}
            path = [{"point": f"geo:{after[0]},{after[1]}", "durationMinutesOffsetFromStartTime": "30"}]
            entries += [{**times, "activity": way}, {**times, "timelinePath": path}]
    return _saved(folder / "location-history.json", entries)


def _states() -> Iterator[tuple[int, str, tuple[float, float]]]:
    """A state whenever the person's phone reported: changes of place, and positions on the way."""
    for fix in fixes():
        yield fix.second, fix.place if fix.place in ("home", "work", "clinic") else "not_home", fix.at


def _attributes(at: tuple[float, float]) -> dict[str, Any]:
    phone = {"source_type": "gps", "battery_level": 71, "friendly_name": "Jane", "in_zones": []}
    return {"latitude": at[0], "longitude": at[1], "gps_accuracy": 15, **phone}


def home_assistant_json(folder: Path) -> Path:
    """The answer of /api/history/period, a list an entity."""
    states = []
    for second, state, at in _states():
        stamp = iso(second).replace("Z", ".250000+00:00")
        times = {"last_changed": stamp, "last_updated": stamp}
        states.append({"entity_id": "person.jane", "state": state, "attributes": _attributes(at), **times, **FORECAST})
    lamp = {"entity_id": "light.hall", "state": "on", "attributes": {}, "last_changed": iso(stays()[0].start)}
    return _saved(folder / "history.json", [states, [lamp]])


def home_assistant_db(folder: Path) -> Path:
    """As of schema 50."""
    path = folder / "home-assistant_v2.db"
    database = sqlite3.connect(path)
    database.executescript(
        """
        CREATE TABLE schema_changes (change_id INTEGER PRIMARY KEY, schema_version INTEGER, changed DATETIME);
        INSERT INTO schema_changes VALUES (1, 50, '2024-05-01');
        CREATE TABLE states_meta (metadata_id INTEGER PRIMARY KEY, entity_id TEXT);
        CREATE TABLE state_attributes (attributes_id INTEGER PRIMARY KEY, hash INTEGER, shared_attrs TEXT);
        CREATE TABLE states (state_id INTEGER PRIMARY KEY, state TEXT, last_changed_ts REAL, last_updated_ts REAL,
            attributes_id INTEGER, metadata_id INTEGER);
        INSERT INTO states_meta VALUES (1, 'person.jane'), (2, 'sensor.lamp');
        INSERT INTO state_attributes VALUES (0, 0, '{}');
        INSERT INTO states (state, last_updated_ts, attributes_id, metadata_id) VALUES ('12', 1714950000, 0, 2);
        """
    )
    for k, (second, state, at) in enumerate(_states(), 1):
        database.execute("INSERT INTO state_attributes VALUES (?, 0, ?)", (k, json.dumps(_attributes(at))))
        database.execute(
            "INSERT INTO states (state, last_updated_ts, attributes_id, metadata_id) VALUES (?, ?, ?, 1)",
            (state, second + 0.25, k),
        )
    database.commit()
    database.close()
    return path


def home_assistant_csv(folder: Path) -> Path:
    """The download of the history panel: changes only, no positions."""
    path, lines, before = folder / "history.csv", ["entity_id,state,last_changed"], None
    for second, state, _ in _states():
        if state != before:
            lines.append(f"person.jane,{state},{iso(second).replace('Z', '.250Z')}")
        before = state
    path.write_text("\n".join([*lines, "light.hall,on,2024-05-06T08:00:00.000Z", ""]), encoding="utf-8")
    return path


def gpx(folder: Path, version: str) -> Path:
    """A track a week, with what 1.0 and 1.1 have beside time."""
    tracks = folder / f"tracks-{version}"
    tracks.mkdir()
    more = "<course>0</course><speed>0</speed>" if version == "1.0" else "<extensions><x>1</x></extensions>"
    points = [
        f'<trkpt lat="{fix.at[0]}" lon="{fix.at[1]}"><ele>35</ele><time>{iso(fix.second)}</time>{more}</trkpt>'
        for fix in fixes()
    ]
    name = f"http://www.topografix.com/GPX/{version.replace('.', '/')}"
    for week in range(3):
        part = "\n".join(points[week * len(points) // 3 : (week + 1) * len(points) // 3])
        (tracks / f"week{week}.gpx").write_text(
            f'<?xml version="1.0" encoding="UTF-8"?>\n<gpx version="{version}" creator="x" xmlns="{name}">'
            f'<wpt lat="1" lon="1"/><trk><name>été</name><trkseg>{part}</trkseg></trk></gpx>\n',
            encoding="utf-8",
        )
    return tracks


def geolife(folder: Path) -> Path:
    """A trajectory a day, and labels of the ways between places."""
    user = folder / "Data" / "010"
    (user / "Trajectory").mkdir(parents=True)
    header = "Geolife trajectory\nWGS 84\nAltitude is in Feet\nReserved 3\n0,2,255,My Track,0,0,2,8421376\n0\n"
    days: dict[str, list[str]] = {}
    for fix in fixes():
        stamp = iso(fix.second)
        since_1899 = 25_569 + fix.second / 86_400
        line = f"{fix.at[0]},{fix.at[1]},0,492,{since_1899:.10f},{stamp[:10]},{stamp[11:19]}\r\n"
        days.setdefault(stamp[:10].replace("-", ""), []).append(line)
    for day, lines in days.items():
        (user / "Trajectory" / f"{day}000000.plt").write_text(header + "".join(lines), encoding="utf-8", newline="")
    there, labels = stays(), ["Start Time\tEnd Time\tTransportation Mode"]
    for stay, after in itertools.pairwise(there):
        times = [iso(second).replace("-", "/").replace("T", " ")[:19] for second in (stay.end, after.start)]
        labels.append(f"{times[0]}\t{times[1]}\tsubway")
    (user / "labels.txt").write_text("\n".join([*labels, ""]), encoding="utf-8")
    return folder / "Data"


def geolife_labels(folder: Path) -> Path:
    """A diary in the form of GeoLife's labels, on its own: what somebody wrote of each stay in the place of a mode."""
    path, lines = folder / "labels.txt", ["Start Time\tEnd Time\tTransportation Mode"]
    for stay in stays():
        times = [iso(second).replace("-", "/").replace("T", " ")[:19] for second in (stay.start, stay.end)]
        lines.append(f"{times[0]}\t{times[1]}\t{stay.place}")
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


def csv_positions(folder: Path) -> Path:
    """With local times and offsets, as Excel in Europe would have them: semicolons and a byte order mark."""
    path = folder / "positions.csv"
    lines = [f"{iso(fix.second, local=True)};{fix.at[0]};{fix.at[1]};12;x" for fix in fixes()]
    path.write_text("\n".join(["time;lat;lng;accuracy;whatever", *lines, ""]), encoding="utf-8-sig")
    return path


def csv_labels(folder: Path) -> Path:
    path = folder / "labels.csv"
    lines = [f"jane,{second},{'away' if state == 'not_home' else state}" for second, state, _ in _states()]
    path.write_text("\n".join(["user,timestamp,context", *lines, ""]), encoding="utf-8")
    return path


def parquet(folder: Path) -> Path:
    path = folder / "positions.parquet"
    rows = fixes()
    pl.DataFrame(
        {
            "person": ["jane"] * len(rows),
            "datetime": pl.Series([fix.second * 1_000_000 for fix in rows]).cast(pl.Datetime("us", "UTC")),
            "latitude": [fix.at[0] for fix in rows],
            "longitude": [fix.at[1] for fix in rows],
            "whatever": [[1, 2]] * len(rows),
        }
    ).write_parquet(path)
    return path


def kml(folder: Path) -> Path:
    """A track of Google Earth's, times first and positions after, packed as KMZ with a picture beside."""
    whens = "".join(f"<when>{iso(fix.second)}</when>" for fix in fixes())
    coords = "".join(f"<gx:coord>{fix.at[1]} {fix.at[0]} 35</gx:coord>" for fix in fixes())
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<kml xmlns="http://www.opengis.net/kml/2.2" '
        'xmlns:gx="http://www.google.com/kml/ext/2.2"><Document><Placemark><name>Jane</name>'
        f"<gx:Track><altitudeMode>clampToGround</altitudeMode>{whens}{coords}</gx:Track></Placemark></Document></kml>"
    )
    path = folder / "jane.kmz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("doc.kml", text)
        archive.writestr("images/pin.png", b"\x89PNG")
    return path


def kml_timeline(folder: Path) -> Path:
    """Google's older Timeline, a file a day: visits and ways with their times."""
    days = folder / "kml"
    days.mkdir()
    there, marks = stays(), []
    for k, stay in enumerate(there):
        lat, lon = WHERE[stay.place]
        span = f"<TimeSpan><begin>{iso(stay.start)}</begin><end>{iso(stay.end)}</end></TimeSpan>"
        point = f"<Point><coordinates>{lon},{lat},0</coordinates></Point>"
        marks.append(f"<Placemark><name>{stay.place}</name><address>1 rue X</address>{point}{span}</Placemark>")
        if k + 1 < len(there):
            after = WHERE[there[k + 1].place]
            way = f"<TimeSpan><begin>{iso(stay.end)}</begin><end>{iso(there[k + 1].start)}</end></TimeSpan>"
            line = f"<LineString><coordinates>{lon},{lat},0 {after[1]},{after[0]},0</coordinates></LineString>"
            marks.append(f"<Placemark><name>Subway</name>{line}{way}</Placemark>")
    for part in range(7):
        some = "".join(marks[part * len(marks) // 7 : (part + 1) * len(marks) // 7])
        (days / f"history-{part}.kml").write_text(
            f'<?xml version="1.0"?><kml xmlns="http://www.opengis.net/kml/2.2"><Document>{some}</Document></kml>',
            encoding="utf-8",
        )
    return days


def geojson(folder: Path) -> Path:
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [fix.at[1], fix.at[0], 35]},
            "properties": {"time": iso(fix.second), "accuracy": 12, **FORECAST},
        }
        for fix in fixes()
    ]
    return _saved(folder / "jane.geojson", {"type": "FeatureCollection", "features": features})


def overland(folder: Path) -> Path:
    """Batches of two hundred, a line each, as a server that keeps what it is sent would have them."""
    places = [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [fix.at[1], fix.at[0]]},
            "properties": {"timestamp": iso(fix.second), "horizontal_accuracy": 12, "device_id": "", **FORECAST},
        }
        for fix in fixes()
    ]
    path = folder / "overland.log"
    bodies = [{"locations": places[k : k + 200], "current": {"type": "Feature"}} for k in range(0, len(places), 200)]
    path.write_text("".join(json.dumps(body) + "\n" for body in bodies), encoding="utf-8")
    return path


def google_edits(folder: Path) -> Path:
    """In the archive as Takeout packs it where asked for .tgz."""
    edits: list[dict[str, Any]] = [
        {
            "deviceId": "1",
            "rawSignal": {
                "signal": {
                    "position": {"point": _e7(fix.at, "lat lng"), "accuracyMm": 12000, "timestamp": iso(fix.second)}
                }
            },
        }
        for fix in fixes()
    ]
    data = json.dumps({"timelineEdits": [*edits, {"deviceId": "1", "placeAggregates": {}}]}).encode()
    path = folder / "takeout.tgz"
    with tarfile.open(path, "w:gz") as archive:
        files = {"Timeline Edits.json": data, "archive_browser.html": b"<html></html>"}
        for name, held in files.items():
            info = tarfile.TarInfo(f"Takeout/Location History/{name}")
            info.size = len(held)
            archive.addfile(info, io.BytesIO(held))
    return path


def _weeks() -> Iterator[tuple[int, list[Fix]]]:
    there = fixes()
    for week in range(3):
        yield week, there[week * len(there) // 3 : (week + 1) * len(there) // 3]


def _gpx_text(some: list[Fix]) -> str:
    points = "".join(
        f'<trkpt lat="{fix.at[0]}" lon="{fix.at[1]}"><time>{iso(fix.second)}</time>'
        "<extensions><speed>0</speed><hAcc>9.5</hAcc></extensions></trkpt>"
        for fix in some
    )
    return f'<gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>{points}</trkseg></trk></gpx>'


def _tcx_text(some: list[Fix]) -> str:
    points = "".join(
        f"<Trackpoint><Time>{iso(fix.second)}</Time><Position><LatitudeDegrees>{fix.at[0]}</LatitudeDegrees>"
        f"<LongitudeDegrees>{fix.at[1]}</LongitudeDegrees></Position></Trackpoint>"
        for fix in some
    )
    name = "http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2"
    return (
        f'          <?xml version="1.0"?>\n<TrainingCenterDatabase xmlns="{name}"><Activities><Activity Sport="Other">'
        f"<Lap><Track>{points}</Track></Lap></Activity></Activities></TrainingCenterDatabase>"
    )


def strava(folder: Path) -> Path:
    """The export: an activity a file, as it was uploaded, beside tables of everything else."""
    home = folder / "export_123"
    (home / "activities").mkdir(parents=True)
    (first, second, third) = (some for _, some in _weeks())
    (home / "activities" / "1.gpx").write_text(_gpx_text(first), encoding="utf-8")
    (home / "activities" / "2.tcx.gz").write_bytes(gzip.compress(_tcx_text(second).encode()))
    held = fit_bytes([(fix.second, fix.at) for fix in third])
    (home / "activities" / "3.fit.gz").write_bytes(gzip.compress(held))
    (home / "activities.csv").write_text('Activity ID,Activity Date,Filename\n1,"May 6, 2024",activities/1.gpx\n')
    (home / "profile.csv").write_text("Athlete ID,Email Address\n1,jane@example.org\n")
    return home


def apple_health(folder: Path) -> Path:
    """The export: routes as GPX, beside the document of everything else, which declares a type."""
    path = folder / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for week, some in _weeks():
            archive.writestr(f"apple_health_export/workout-routes/route_{week}.gpx", _gpx_text(some))
        archive.writestr(
            "apple_health_export/export.xml",
            '<?xml version="1.0"?>\n<!DOCTYPE HealthData [\n<!ELEMENT HealthData (ExportDate)>\n]>\n<HealthData/>',
        )
        archive.writestr("apple_health_export/electrocardiograms/ecg_1.csv", "Name,Jane\nDate of Birth,x\n")
    return path


def tcx(folder: Path) -> Path:
    path = folder / "jane.tcx"
    path.write_text(_tcx_text(fixes()), encoding="utf-8")
    return path


def fit(folder: Path) -> Path:
    path = folder / "jane.fit"
    path.write_bytes(fit_bytes([(fix.second, fix.at) for fix in fixes()]))
    return path


def csv_logger(folder: Path) -> Path:
    """As loggers write: date and time apart, N/S and E/W in columns, decimal commas, and no ending that says CSV."""
    path = folder / "LOG001.TXT"
    lines = ["INDEX;DATE;TIME;LATITUDE;N/S;LONGITUDE;E/W"]
    for k, fix in enumerate(fixes()):
        stamp = iso(fix.second)
        lat, lon = (str(abs(degrees)).replace(".", ",") for degrees in fix.at)
        lines.append(f"{k};{stamp[:10]};{stamp[11:19]}Z;{lat};N;{lon};E")
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


HISTORIES: dict[str, Callable[[Path], Path]] = {
    "owntracks-rec": owntracks_rec,
    "owntracks-json": owntracks_json,
    "google-records": google_records,
    "google-semantic": google_semantic,
    "google-timeline-android": google_android,
    "google-timeline-ios": google_ios,
    "home-assistant-json": home_assistant_json,
    "home-assistant-db": home_assistant_db,
    "home-assistant-csv": home_assistant_csv,
    "gpx 1.0": lambda folder: gpx(folder, "1.0"),
    "gpx 1.1": lambda folder: gpx(folder, "1.1"),
    "geolife": geolife,
    "geolife-labels": geolife_labels,
    "csv of positions": csv_positions,
    "csv of labels": csv_labels,
    "parquet": parquet,
    "kmz": kml,
    "kml of Google's Timeline": kml_timeline,
    "geojson": geojson,
    "overland": overland,
    "google-timeline-edits in a .tgz": google_edits,
    "tcx": tcx,
    "fit": fit,
    "csv of a logger": csv_logger,
    "strava": strava,
    "apple-health": apple_health,
}
"""How the person's three weeks are written, by the format."""
