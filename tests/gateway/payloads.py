"""Messages as OwnTracks and Home Assistant write them, and as nobody should."""

from __future__ import annotations

import datetime as dt
import json

from tests.gateway.people import START, WHERE

TST = int(START.timestamp()) - 300

LOCATION = {
    "_type": "location",
    "BSSID": "b0:f2:08:45:94:33",
    "SSID": "Jane's Wi-Fi",
    "acc": 13,
    "alt": 519,
    "batt": 87,
    "bs": 1,
    "conn": "w",
    "created_at": TST + 1,
    "lat": WHERE["home"][0],
    "lon": WHERE["home"][1],
    "m": 1,
    "t": "p",
    "tid": "JD",
    "topic": "owntracks/jane/pixel",
    "tst": TST,
    "vac": 3,
    "vel": 0,
}
"""A location of Android."""

TRANSITION = {
    "_type": "transition",
    "acc": 21.5,
    "desc": "home",
    "event": "enter",
    "lat": WHERE["home"][0],
    "lon": WHERE["home"][1],
    "rid": "6da9cf",
    "t": "c",
    "tid": "JD",
    "tst": TST,
    "wtst": 1700000000,
}

SILENT: list[dict[str, object]] = [
    {"_type": "lwt"},  # Android's has no tst
    {"_type": "lwt", "tst": TST},
    {"_type": "waypoint", "desc": "home", "lat": 48.1, "lon": 11.5, "rad": 100, "tst": TST, "rid": "6da9cf"},
    {"_type": "waypoints", "_creator": "iOS", "waypoints": [{"_type": "waypoint", "desc": "home", "tst": TST}]},
    {"_type": "status", "android": {"hib": 0}},
    {"_type": "card", "name": "Jane", "face": "iVBORw0KGgo="},
    {"_type": "cmd", "action": "reportLocation"},
    {"_type": "steps", "steps": 400, "from": TST - 60, "to": TST},
    {"_type": "something new", "tst": TST, "lat": 48.1, "lon": 11.5},
]
"""Messages that say nothing of where somebody is."""

HOSTILE: list[bytes] = [
    b"",
    b" ",
    b"null",
    b"[]",
    b"{}",
    b"[[[]]]",
    b"1e999",
    b"{",
    b'"location"',
    b"\xff\xfe\x00",
    b"\x00" * 1000,
    b"[" * 100_000,
    b'{"_type":' * 5_000,
    b'{"_type":[]}',
    b'{"_type":{"location":1},"tst":1}',
    b'{"_type":"location"}',
    b'{"_type":"location","tst":"soon","lat":1,"lon":2}',
    b'{"_type":"location","tst":1e300,"lat":1,"lon":2}',
    b'{"_type":"location","tst":-5,"lat":1,"lon":2}',
    b'{"_type":"location","tst":99999999999999999999999,"lat":1,"lon":2}',
    b'{"_type":"location","tst":9000000000000,"lat":1,"lon":2}',
    b'{"_type":"location","tst":1700000000,"lat":91,"lon":2}',
    b'{"_type":"location","tst":1700000000,"lat":true,"lon":[]}',
    b'{"_type":"location","tst":1700000000,"lat":NaN,"lon":Infinity}',
    b'{"_type":"location","tst":1700000000,"lat":1,"lon":2,"inregions":{"a":1},"acc":"far","topic":[1]}',
    b'{"_type":"location","tst":1700000000,"lat":1,"lon":2,"inregions":["\\ud800"],"topic":"a/b/\\ud800"}',
    b'{"_type":"transition","tst":1700000000,"lat":1,"lon":2,"event":"enter","desc":"' + b"x" * 5000 + b'"}',
    b'{"_type":"encrypted"}',
    b'{"_type":"encrypted","data":7}',
    b'{"_type":"encrypted","data":"*"}',
    b'{"_type":"encrypted","data":"' + b"A" * 200 + b'"}',
    b'{"_type":"location","x":"' + b"y" * 300_000 + b'"}',
]


def encoded(message: object) -> bytes:
    return json.dumps(message).encode()


def state(entity: str, value: str, seconds: int, **attributes: object) -> dict[str, object]:
    """A state as the WebSocket API of Home Assistant writes it."""
    stamp = dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat()
    return {
        "entity_id": entity,
        "state": value,
        "attributes": {"friendly_name": "Jane", "source": "device_tracker.pixel", **attributes},
        "last_changed": stamp,
        "last_reported": stamp,
        "last_updated": stamp,
        "context": {"id": "01JH0000000000000000000000", "parent_id": None, "user_id": None},
    }
