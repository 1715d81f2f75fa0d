"""Files of many positions in every format that is imported, and a plain pass of the best parser over each."""

from __future__ import annotations

import json
import sqlite3
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import polars as pl
from tests.data.samples import fit_bytes, rec_line

from discreet.data.json_objects import loads

START = 1_600_000_000


@dataclass(frozen=True)
class Reader:
    """How a file of one format is written, and read by a parser alone."""

    name: str
    write: Callable[[Path, pl.DataFrame], None]
    parser: str
    plain: Callable[[Path], object]


def places(count: int) -> pl.DataFrame:
    """A walk that never repeats a position, ten seconds a step."""
    k = pl.int_range(count, eager=True)
    tst = START + 10 * k
    return pl.DataFrame(
        {
            "tst": tst,
            "lat": (48.0 + (k % 10_007) / 20_000).round(7),
            "lon": (2.0 + (k % 9_973) / 20_000).round(7),
            "iso": pl.select(pl.from_epoch(tst).dt.strftime("%Y-%m-%dT%H:%M:%SZ")).to_series(),
        }
    )


def _lines(path: Path, rows: pl.DataFrame, form: str, before: str = "", after: str = "", between: str = "") -> None:
    """A line a position, by a form with {tst}, {lat}, {lon} and {iso}."""
    with path.open("w") as file:
        file.write(before)
        for k, (tst, lat, lon, iso) in enumerate(rows.iter_rows()):
            values = {"{tst}": tst, "{lat}": lat, "{lon}": lon, "{iso}": iso, "{e7}": round(lat * 1e7)}
            text = form
            for key, value in (values | {"{f7}": round(lon * 1e7)}).items():
                text = text.replace(key, str(value))
            file.write((between if k else "") + text + "\n")
        file.write(after)


def _form(form: str, before: str = "", after: str = "", between: str = "") -> Callable[[Path, pl.DataFrame], None]:
    return lambda path, rows: _lines(path, rows, form, before, after, between)


MESSAGE = (
    '{"_type":"location","acc":12,"alt":35,"batt":71,"bs":1,"conn":"w","created_at":{tst},"lat":{lat},"lon":{lon},"m":1,'
    '"t":"p","tid":"ph","tst":{tst},"vac":3,"vel":0}'
)
RECORD = (
    '{\n    "latitudeE7": {e7},\n    "longitudeE7": {f7},\n    "accuracy": 12,\n    "source": "WIFI",\n'
    '    "deviceTag": 12345678,\n    "timestamp": "{iso}"\n  }'
)
FEATURE = (
    '{"type":"Feature","geometry":{"type":"Point","coordinates":[{lon},{lat},35]},"properties":{"timestamp":"{iso}",'
    '"horizontal_accuracy":12,"speed":0,"motion":["walking"],"battery_level":0.7,"device_id":"x"}}'
)
SEGMENT = (
    '{"startTime":"{iso}","endTime":"{iso}","visit":{"hierarchyLevel":0,"probability":0.9,"topCandidate":{"placeId":"x",'
    '"semanticType":"UNKNOWN","placeLocation":{"latLng":"{lat}°, {lon}°"}}}}'
)
VISIT = (
    '{"placeVisit":{"location":{"latitudeE7":{e7},"longitudeE7":{f7},"placeId":"x","name":"Bar"},'
    '"duration":{"startTimestamp":"{iso}","endTimestamp":"{iso}"},"visitConfidence":90}}'
)
EDIT = (
    '{"deviceId":"1","rawSignal":{"signal":{"position":{"point":{"latE7":{e7},"lngE7":{f7}},"accuracyMm":9000,'
    '"altitudeMeters":35.0,"timestamp":"{iso}"}}}}'
)
IOS = (
    '{"startTime":"{iso}","endTime":"{iso}","visit":{"hierarchyLevel":"0","topCandidate":{"placeLocation":'
    '"geo:{lat},{lon}","semanticType":"Unknown","placeID":"x","probability":"0.9"},"probability":"0.9"}}'
)
STATE = (
    '{"entity_id":"person.jane","state":"home","attributes":{"latitude":{lat},"longitude":{lon},"gps_accuracy":15,'
    '"friendly_name":"Jane"},"last_changed":"{iso}","last_updated":"{iso}"}'
)
KML = (
    "<Placemark><TimeStamp><when>{iso}</when></TimeStamp><Point><coordinates>{lon},{lat},0</coordinates></Point>"
    "</Placemark>"
)
TCX = (
    "<Trackpoint><Time>{iso}</Time><Position><LatitudeDegrees>{lat}</LatitudeDegrees><LongitudeDegrees>{lon}"
    "</LongitudeDegrees></Position><AltitudeMeters>35</AltitudeMeters></Trackpoint>"
)
GEOLIFE = "Geolife trajectory\nWGS 84\nAltitude is in Feet\nReserved 3\n0,2,255,My Track,0,0,2,8421376\n0\n"


def _rec(path: Path, rows: pl.DataFrame) -> None:
    _lines(path, rows, rec_line(MESSAGE, seconds=START).rstrip("\n"))


def _labels(path: Path, rows: pl.DataFrame) -> None:
    """A mode of travel a position, five seconds long."""
    begins = pl.from_epoch(rows["tst"])
    written = [(begins + pl.duration(seconds=k)).dt.strftime("%Y/%m/%d %H:%M:%S") for k in (0, 5)]
    table = pl.select(begins=written[0], ends=written[1], mode=pl.lit("walk"))
    path.write_text("Start Time\tEnd Time\tTransportation Mode\n")
    with path.open("ab") as file:
        table.write_csv(file, separator="\t", include_header=False)


def _fit(path: Path, rows: pl.DataFrame) -> None:
    path.write_bytes(fit_bytes([(tst, (lat, lon)) for tst, lat, lon, _ in rows.iter_rows()]))


def _parquet(path: Path, rows: pl.DataFrame) -> None:
    rows.select(
        timestamp=pl.from_epoch("tst").dt.replace_time_zone("UTC"), latitude="lat", longitude="lon"
    ).write_parquet(path)


def _csv(path: Path, rows: pl.DataFrame) -> None:
    rows.select(time="iso", lat="lat", lon="lon").write_csv(path)


def _kmz(path: Path, rows: pl.DataFrame) -> None:
    plain = path.with_suffix(".plain")
    _lines(plain, rows, KML, "<kml><Document>", "</Document></kml>")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(plain, "doc.kml")
    plain.unlink()


def _database(path: Path, rows: pl.DataFrame) -> None:
    database = sqlite3.connect(path)
    database.executescript(
        "CREATE TABLE states_meta (metadata_id INTEGER PRIMARY KEY, entity_id TEXT);"
        "CREATE TABLE state_attributes (attributes_id INTEGER PRIMARY KEY, hash INTEGER, shared_attrs TEXT);"
        "CREATE TABLE states (state_id INTEGER PRIMARY KEY, state TEXT, last_changed_ts REAL, last_updated_ts REAL,"
        " attributes_id INTEGER, metadata_id INTEGER); INSERT INTO states_meta VALUES (1, 'person.jane');"
    )
    held = (
        (k, 0, json.dumps({"latitude": lat, "longitude": lon})) for k, (_, lat, lon, _) in enumerate(rows.iter_rows())
    )
    database.executemany("INSERT INTO state_attributes VALUES (?, ?, ?)", held)
    states = ((k, tst) for k, (tst, *_) in enumerate(rows.iter_rows()))
    database.executemany(
        "INSERT INTO states (state, attributes_id, last_updated_ts, metadata_id) VALUES ('home', ?, ?, 1)", states
    )
    database.commit()
    database.close()


# --- a parser alone


def _each_message(path: Path) -> None:
    with path.open("rb") as file:
        for line in file:
            loads(line.split(b"\t", 2)[2])


def _whole(path: Path) -> None:
    loads(path.read_bytes())


def _elements(stream: str | IO[bytes]) -> None:
    for _, element in ET.iterparse(stream):
        element.clear()


def _zipped_elements(path: Path) -> None:
    with zipfile.ZipFile(path) as archive, archive.open("doc.kml") as stream:
        _elements(stream)


def _split(path: Path, between: str = ",") -> Iterator[list[str]]:
    with path.open() as file:
        yield from (line.split(between) for line in file)


def _frames(path: Path) -> None:
    import fitdecode

    with fitdecode.FitReader(path, processor=None) as frames:
        for _ in frames:
            pass


def _select(path: Path) -> None:
    database = sqlite3.connect(path)
    joined = "SELECT state, last_updated_ts, shared_attrs FROM states JOIN state_attributes USING (attributes_id)"
    for _, _, held in database.execute(joined):
        loads(held)
    database.close()


JSON = loads.__module__
LIST = ("[", "]", ", ")
READERS = (
    Reader("a.rec", _rec, f"{JSON} a line", _each_message),
    Reader("messages.json", _form(MESSAGE, *LIST), f"{JSON} whole", _whole),
    Reader("Records.json", _form(RECORD, '{"locations": [', "]}", ", "), f"{JSON} whole", _whole),
    Reader("2024_MAY.json", _form(VISIT, '{"timelineObjects": [', "]}", ", "), f"{JSON} whole", _whole),
    Reader("Timeline.json", _form(SEGMENT, '{"semanticSegments": [', "]}", ", "), f"{JSON} whole", _whole),
    Reader("location-history.json", _form(IOS, *LIST), f"{JSON} whole", _whole),
    Reader("Timeline Edits.json", _form(EDIT, '{"timelineEdits": [', "]}", ", "), f"{JSON} whole", _whole),
    Reader("overland.json", _form(FEATURE, '{"locations": [', "]}", ", "), f"{JSON} whole", _whole),
    Reader("a.geojson", _form(FEATURE, '{"type":"FeatureCollection","features":[', "]}", ","), f"{JSON} whole", _whole),
    Reader("history.json", _form(STATE, "[[", "]]", ","), f"{JSON} whole", _whole),
    Reader(
        "history.csv",
        _form("person.jane,home,{iso}", "entity_id,state,last_changed\n"),
        "str.split",
        lambda p: [*_split(p)],
    ),
    Reader("home-assistant_v2.db", _database, "sqlite3", _select),
    Reader(
        "a.gpx",
        _form(
            '<trkpt lat="{lat}" lon="{lon}"><ele>35</ele><time>{iso}</time></trkpt>',
            "<gpx><trk><trkseg>",
            "</trkseg></trk></gpx>",
        ),
        "iterparse",
        lambda p: _elements(str(p)),
    ),
    Reader("a.kml", _form(KML, "<kml><Document>", "</Document></kml>"), "iterparse", lambda p: _elements(str(p))),
    Reader("a.kmz", _kmz, "iterparse", _zipped_elements),
    Reader(
        "a.tcx",
        _form(TCX, "<TrainingCenterDatabase><Activities>", "</Activities></TrainingCenterDatabase>"),
        "iterparse",
        lambda p: _elements(str(p)),
    ),
    Reader("a.fit", _fit, "fitdecode", _frames),
    Reader(
        "a.plt", _form("{lat},{lon},0,492,39744.12,2020-09-13,12:26:40", GEOLIFE), "str.split", lambda p: [*_split(p)]
    ),
    Reader("labels.txt", _labels, "str.split", lambda p: [*_split(p, "\t")]),
    Reader("a.csv", _csv, "polars.read_csv", pl.read_csv),
    Reader("a.parquet", _parquet, "polars", pl.read_parquet),
)
"""Every reader, with the parser that it is held against."""
