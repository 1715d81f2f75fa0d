"""Readings as `POST /v1/people/{person}/readings` brings them: one object, or a list of them.

Errors name the reading and the key, and never what was in it.
"""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import orjson

from discreet.errors import DataError
from discreet.gateway.store.own_store import Reading
from discreet.places.named import LONGEST_NAME
from discreet.places.sightings import SECOND

MOST = 5_000
"""Readings of one request."""

KEYS = frozenset({"time", "label", "latitude", "longitude", "accuracy", "source"})

LATEST = 253_402_300_799
"""The last second of the year 9999."""


def readings_of(body: bytes, person: str, token: str) -> list[Reading]:
    """The readings of a body. The same source and time are the same reading: sending it again changes nothing."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise DataError("the body is not JSON; send an object with time and label, or latitude and longitude") from None
    if isinstance(document, dict):
        return [_reading(document, person, token, "")]
    if not isinstance(document, list):
        raise DataError("the body is neither an object nor a list of objects")
    if len(document) > MOST:
        raise DataError(f"the body has {len(document)} readings; send at most {MOST} at a time")
    return [_reading(one, person, token, f"[{number}]") for number, one in enumerate(document)]


def _reading(one: Any, person: str, token: str, where: str) -> Reading:
    if not isinstance(one, dict):
        raise DataError(f"reading{where}: is no object")
    if not one.keys() <= KEYS:
        raise DataError(f"reading{where}: has a key that is not known; known: {', '.join(sorted(KEYS))}")
    instant = _instant(one.get("time"), where)
    latitude, longitude = _number(one, "latitude", 90.0, where), _number(one, "longitude", 180.0, where)
    if (latitude is None) != (longitude is None):
        raise DataError(f"reading{where}: latitude and longitude come together")
    position = None if latitude is None or longitude is None else (latitude, longitude)
    label = _text(one, "label", where)
    if position is None and label is None:
        raise DataError(f"reading{where}: give a label, or latitude and longitude")
    source = _text(one, "source", where)
    accuracy = _number(one, "accuracy", 1e7, where)
    return Reading(person, token if source is None else f"{token}/{source}", instant, position, accuracy, label)


def _instant(time: Any, where: str) -> int:
    """Microseconds since 1970 of a time with its zone, or of seconds."""
    words = f"reading{where}.time: give ISO 8601 with a zone, such as 2026-03-29T12:00:00Z, or seconds since 1970"
    if isinstance(time, str):
        try:
            moment = dt.datetime.fromisoformat(time)
            seconds = moment.timestamp() if moment.tzinfo is not None else math.nan
        except (ValueError, OverflowError):
            raise DataError(words) from None
    elif isinstance(time, int | float) and not isinstance(time, bool):
        seconds = float(time)
    else:
        raise DataError(words)
    if not 0 <= seconds <= LATEST:
        raise DataError(words)
    return round(seconds * SECOND)


def _number(one: dict[str, Any], key: str, most: float, where: str) -> float | None:
    value = one.get(key)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not -most <= value <= most:
        raise DataError(f"reading{where}.{key}: give a number from {-most:g} to {most:g}")
    return float(value)


def _text(one: dict[str, Any], key: str, where: str) -> str | None:
    value = one.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_NAME or not value.isprintable():
        raise DataError(f"reading{where}.{key}: give text of 1 to {LONGEST_NAME} letters, without line breaks")
    return value.strip()
