"""What leaves the gateway, field by field: the only place where an output becomes bytes.

Everything here is made of a row of the journal, a view, and the public shapes of places. No reading is in reach, so
nothing of one can leave: no battery, speed, accuracy, network name, count of readings or time of one.
"""

from __future__ import annotations

import csv
import datetime as dt
import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.clock import Clock
from discreet.gateway.config.views import View
from discreet.gateway.store.journal.base import JournalRow, Key
from discreet.outputs import Generalized, Output, Released, text_of, to_wire
from discreet.places.ellipsoid import chords, points_of
from discreet.places.named import Place, Places

DIGITS = 6
"""Of a slot's number: a larger one is none of ours, and no database takes one of a thousand."""

DEGREES = 6
"""Decimals of a centre: a tenth of a metre."""


SILENT = "None"
"""The state of a tracker in Home Assistant of which nothing is said (`payload_reset`)."""

COLUMNS = ("person", "date", "slot", "start", "end", "kind", "value", "latitude", "longitude", "radius")
"""Of the table of releases."""

RELEASED_BY = {"released_by": "discreet"}
"""An attribute by which a tracker that discreet has made is never taken for somebody's phone."""


@dataclass(frozen=True)
class PublicCircle:
    """A place's public circle: its middle, and a radius in whole metres that holds all of it."""

    latitude: float
    longitude: float
    radius: int


@dataclass(frozen=True, eq=False)
class Forms:
    """The forms of one person's outputs in one view."""

    person: str
    clock: Clock
    places: Places
    view: View

    @cached_property
    def _circles(self) -> dict[str, PublicCircle]:
        """The circle of each place; of places of one name, the largest one's."""
        found: dict[str, Place] = {}
        for place in self.places.places:
            if place.name not in found or place.shape.area > found[place.name].shape.area:
                found[place.name] = place
        return {name: _circle(place) for name, place in found.items()}

    def circle(self, output: Output) -> PublicCircle | None:
        """Where a released place is, publicly; None for what is no place. A view's group of one place is that place."""
        return self._circles.get(_label(output) or "")

    def event(self, row: JournalRow) -> dict[str, Any]:
        """For HTTP, server-sent events and MQTT: the slot, when it was, and the output; the circle of a place."""
        output = self.view.of(row.output)
        circle = self.circle(output)
        event = {
            "person": self.person,
            "date": row.date.isoformat(),
            "slot": row.slot,
            "start": _utc(int(self.clock.start_of(row.date, row.slot).timestamp())),
            "end": _utc(row.ends),
        } | to_wire(output)
        if circle is not None:
            event |= {"latitude": circle.latitude, "longitude": circle.longitude, "radius": circle.radius}
        return event

    def owntracks(self, row: JournalRow, tracker: str) -> dict[str, Any] | None:
        """An OwnTracks location: exactly what its readers need, and no more; None where no place was released.

        Home Assistant ignores a location without `acc`, and phones need `tid`. Silence is no message there. Nor is a
        slot without length, which clocks that go forward pass over: phones want times that rise.
        """
        circle = self.circle(self.view.of(row.output))
        if circle is None or self.clock.start_of(row.date, row.slot).timestamp() >= row.ends:
            return None
        return {
            "_type": "location",
            "lat": circle.latitude,
            "lon": circle.longitude,
            "tst": row.ends,
            "tid": tracker,
            "acc": circle.radius,
        }

    def home_assistant(self, row: JournalRow) -> tuple[str, dict[str, Any]]:
        """The state and the attributes of a device tracker; silence is the state None with null coordinates."""
        output = self.view.of(row.output)
        circle = self.circle(output)
        label = _label(output)
        state = SILENT if label is None else "not_home" if label == "away" else label
        where = (None, None, None) if circle is None else (circle.latitude, circle.longitude, circle.radius)
        named = {"latitude": where[0], "longitude": where[1], "gps_accuracy": where[2]}
        return state, named | RELEASED_BY

    def page(self, rows: Sequence[JournalRow], following: Key | None) -> bytes:
        """Rows as one JSON document; `next` is the identity after which more follow."""
        after = None if following is None else event_id(following)
        return encoded({"releases": [self.event(row) for row in rows], "next": after})

    def table(self, rows: Sequence[JournalRow]) -> bytes:
        """Rows as CSV, a header first; what an output does not have is empty."""
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\r\n")
        table.writerow(COLUMNS)
        for row in rows:
            event = self.event(row) | {"value": text_of(self.view.of(row.output))}
            table.writerow([event.get(column, "") for column in COLUMNS])
        return text.getvalue().encode()

    def server_sent(self, row: JournalRow) -> bytes:
        """One event of a stream; its id is the slot's identity."""
        return b"id: %s\nevent: output\ndata: %s\n\n" % (event_id(row.key).encode(), encoded(self.event(row)))


def encoded(document: object) -> bytes:
    """JSON, the same bytes for the same document."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


def entity_tag(body: bytes) -> str:
    """An ETag of the bytes that are sent, of a view's own and no others: one over finer ones would tell of them."""
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def event_id(key: Key) -> str:
    """The identity of a slot on the wire, within a person; its order is that of time."""
    return f"{key[0].isoformat()}.{key[1]}"


def key_of(text: str) -> Key | None:
    """The slot of an identity; None where it is none of ours."""
    date, dot, slot = text.strip().partition(".")
    if not (dot and slot.isascii() and slot.isdigit() and len(slot) <= DIGITS):
        return None
    try:
        return dt.date.fromisoformat(date), int(slot)
    except ValueError:
        return None


def _label(output: Output) -> str | None:
    match output:
        case Released(label) | Generalized(label):
            return label
    return None


def _circle(place: Place) -> PublicCircle:
    latitude, longitude = place.shape.middle
    middle = points_of([(latitude, longitude)])
    rims = [chords(points_of(ring), middle) for ring in place.shape.rings]
    radius = int(np.ceil(max(float(rim.max()) for rim in rims) - 1e-6))
    return PublicCircle(round(latitude, DEGREES), round(longitude, DEGREES), max(1, radius))


def _utc(seconds: int) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat().replace("+00:00", "Z")
