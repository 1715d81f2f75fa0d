"""Positions of the two nights in which clocks change, in local time, in every format that carries one."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl
import pytest

from discreet.data.importing import import_logs

ZONE = "Europe/Paris"
NIGHTS = (dt.datetime(2024, 3, 31, tzinfo=dt.UTC), dt.datetime(2024, 10, 27, tzinfo=dt.UTC))
"""Clocks change an hour later, at 01:00 UTC."""

TRUE = [night + dt.timedelta(minutes=20 * k) for night in NIGHTS for k in range(-6, 10)]
"""In autumn 02:00, 02:20 and 02:40 are shown twice, and in spring never."""

WITH_OFFSET = {
    "a.csv": ("timestamp,lat,lon\n", "{time},48.85,2.35", "\n", "\n"),
    "Records.json": (
        '{"locations": [',
        '{"latitudeE7": 488500000, "longitudeE7": 23500000, "timestamp": "{time}"}',
        ",",
        "]}",
    ),
    "Timeline.json": (
        '{"rawSignals": [',
        '{"position": {"LatLng": "48.85°, 2.35°", "timestamp": "{time}"}}',
        ",",
        "]}",
    ),
    "location-history.json": (
        "[",
        '{"startTime": "{time}", "endTime": "{time}", "visit": {"topCandidate": {"placeLocation": "geo:48.85,2.35"}}}',
        ",",
        "]",
    ),
    "Timeline Edits.json": (
        '{"timelineEdits": [',
        '{"rawSignal": {"signal": {"position": {"point": {"latE7": 488500000, "lngE7": 23500000}, '
        '"timestamp": "{time}"}}}}',
        ",",
        "]}",
    ),
    "a.geojson": (
        '{"type": "FeatureCollection", "features": [',
        '{"type": "Feature", "geometry": {"type": "Point", "coordinates": [2.35, 48.85]}, '
        '"properties": {"time": "{time}"}}',
        ",",
        "]}",
    ),
    "history.json": (
        "[[",
        '{"entity_id": "person.jane", "state": "home", "last_changed": "{time}"}',
        ",",
        "]]",
    ),
    "history.csv": ("entity_id,state,last_changed\n", "person.jane,home,{time}", "\n", "\n"),
    "a.gpx": (
        "<gpx><trk><trkseg>",
        '<trkpt lat="48.85" lon="2.35"><time>{time}</time></trkpt>',
        "",
        "</trkseg></trk></gpx>",
    ),
    "a.kml": (
        '<kml xmlns="http://www.opengis.net/kml/2.2"><Document>',
        "<Placemark><TimeStamp><when>{time}</when></TimeStamp><Point><coordinates>2.35,48.85</coordinates></Point></Placemark>",
        "",
        "</Document></kml>",
    ),
    "a.tcx": (
        "<TrainingCenterDatabase><Activities><Activity><Lap><Track>",
        "<Trackpoint><Time>{time}</Time><Position><LatitudeDegrees>48.85</LatitudeDegrees>"
        "<LongitudeDegrees>2.35</LongitudeDegrees></Position></Trackpoint>",
        "",
        "</Track></Lap></Activity></Activities></TrainingCenterDatabase>",
    ),
}
"""Start, entry, what parts entries, and end."""

WITHOUT = {
    "a.csv": ("timestamp,lat,lon\n", "%Y-%m-%dT%H:%M:%S,48.85,2.35\n"),
    "apart.csv": ("date,time,lat,lon\n", "%Y-%m-%d,%H:%M:%S,48.85,2.35\n"),
    "formed.csv": ("timestamp,lat,lon\n", "%d/%m/%Y %H:%M:%S,48.85,2.35\n"),
}
"""The same with a clock that says no offset: header and row, in the codes of strftime."""


def _instants(path: Path, zone: str | None = None) -> list[dt.datetime]:
    imported = import_logs([path], zone=zone)
    assert sum(one.bad for one in imported.files) == 0
    return imported.readings["timestamp"].to_list()


@pytest.mark.parametrize("name", WITH_OFFSET)
def test_local_times_with_an_offset_are_exact(tmp_path: Path, name: str) -> None:
    start, entry, between, end = WITH_OFFSET[name]
    local = [stamp.astimezone(ZoneInfo(ZONE)).isoformat() for stamp in TRUE]
    path = tmp_path / name
    path.write_text(start + between.join(entry.replace("{time}", one) for one in local) + end, encoding="utf-8")
    assert _instants(path) == TRUE


@pytest.mark.parametrize("name", [*WITHOUT, "a.parquet"])
def test_a_clock_without_an_offset_is_read_in_the_zone(tmp_path: Path, name: str) -> None:
    """Times that the clock shows twice cannot be told apart: both are the first, as in Python (fold=0)."""
    shown = [stamp.astimezone(ZoneInfo(ZONE)) for stamp in TRUE]
    path = tmp_path / name
    if name == "a.parquet":
        naive = [one.replace(tzinfo=None) for one in shown]
        pl.DataFrame({"timestamp": naive, "lat": [48.85] * len(naive), "lon": [2.35] * len(naive)}).write_parquet(path)
    else:
        header, row = WITHOUT[name]
        path.write_text(header + "".join(one.strftime(row) for one in shown), encoding="utf-8")
    first = [one.replace(fold=0).astimezone(dt.UTC) for one in shown]
    assert _instants(path, ZONE) == sorted(set(first))
    twice = [stamp for stamp, one in zip(TRUE, first, strict=True) if stamp != one]
    assert twice == [NIGHTS[1] + dt.timedelta(seconds=3600 + 1200 * k) for k in range(3)]
