"""The routes of applications, sources, phones and the OwnTracks frontend."""

from __future__ import annotations

from discreet.gateway.wires.http import PAGE
from discreet.gateway.wires.openapi.parts import (
    ANY,
    DATE,
    EVENT,
    NUMBER,
    TEXT,
    WHOLE,
    YES,
    Operation,
    Routes,
    Schema,
    answer,
    asked,
    keyed,
    listed,
    maybe,
    only,
)
from discreet.gateway.wires.posted_readings import LATEST, MOST
from discreet.places.named import LONGEST_NAME

NAMED: Schema = {**TEXT, "minLength": 1, "maxLength": LONGEST_NAME, "pattern": r"^\S(.*\S)?$"}
PLACE: Schema = {
    "latitude": {**NUMBER, "minimum": -90, "maximum": 90},
    "longitude": {**NUMBER, "minimum": -180, "maximum": 180},
}
TIME: Schema = {
    "description": "ISO 8601 with a zone, or seconds since 1970",
    "oneOf": [{**TEXT, "format": "date-time"}, {**NUMBER, "minimum": 0, "maximum": LATEST}],
}
READING: Schema = only(
    {"time": TIME},
    {"label": NAMED, **PLACE, "accuracy": {**NUMBER, "minimum": 0, "maximum": 1e7}, "source": NAMED},
) | {
    "description": "A label, or latitude and longitude, or both, at a time. The same source and time are one reading.",
    "anyOf": [{"required": ["label"]}, {"required": ["latitude", "longitude"]}],
    "dependentRequired": {"latitude": ["longitude"], "longitude": ["latitude"]},
}

RELEASES: Schema = keyed({"releases": listed(EVENT), "next": maybe(TEXT)})
GETS: Schema = keyed(
    {
        "person": TEXT,
        "view": TEXT,
        "now_only": YES,
        "slots": WHOLE,
        "answers": listed(keyed({"request": TEXT, "body": TEXT})),
    }
)

APPLICATIONS: Routes = {
    "/v1/people/{person}/now": {
        "get": Operation(
            "The present: the last published slot",
            "reader",
            {
                "200": answer("the slot", EVENT),
                "204": answer("nothing was published yet"),
                "304": answer("unchanged"),
            },
            [asked("If-None-Match", "an ETag: 304 where nothing changed", TEXT, "header")],
        )
    },
    "/v1/people/{person}/releases": {
        "get": Operation(
            "All published slots, from the first on, in pages",
            "reader",
            {
                "200": {
                    "description": "a page; next is null on the last",
                    "content": {"application/json": {"schema": RELEASES}, "text/csv": {"schema": TEXT}},
                },
                "304": answer("unchanged"),
            },
            [
                asked("from", "the first date", DATE),
                asked("to", "the last date", DATE),
                asked("after", "what next of the page before says", {**TEXT, "pattern": r"^\d{4}-\d\d-\d\d\.\d{1,6}$"}),
                asked("limit", "slots of a page", {**WHOLE, "minimum": 1, "maximum": PAGE}),
                asked("format", "or by Accept", {"type": "string", "enum": ["json", "csv"]}),
            ],
        )
    },
    "/v1/people/{person}/stream": {
        "get": Operation(
            "Server-sent events: the present, then each slot when it is published",
            "reader",
            {"200": answer("events, without end", TEXT, "text/event-stream")},
            [asked("Last-Event-ID", "the last slot that the reader has: what follows comes first", TEXT, "header")],
            also={"409": answer("Last-Event-ID is after all that is known here")},
        )
    },
    "/v1/people/{person}/readings": {
        "post": Operation(
            "Write readings; answered when they are on disk",
            "source",
            {
                "200": answer(
                    "how many are kept, and how many refused because they lie in the future",
                    keyed({"kept": WHOLE, "refused": WHOLE}),
                )
            },
            body={"oneOf": [READING, listed(READING, maxItems=MOST)]},
        )
    },
    "/v1/gets": {
        "get": Operation(
            "This token's last answers, byte by byte, to show to the person they are about",
            "application",
            {"200": answer("requests that it may make, each with the text of its answer", GETS)},
        )
    },
}

LOCATION: Schema = keyed(
    {
        "_type": TEXT,
        "lat": NUMBER,
        "lon": NUMBER,
        "tst": WHOLE,
        "tid": TEXT,
        "acc": WHOLE,
        "username": TEXT,
        "device": TEXT,
        "topic": TEXT,
    }
)

PHONES = Operation(
    "An OwnTracks phone's message; anything is taken, and nothing is asked of the phone",
    "phone",
    {"200": answer("taken: [], or the same in an encrypted object", ANY)},
    [asked("X-Limit-D", "the device's name, where the message has none", TEXT, "header")],
    body=ANY,
    needed=False,
)

WHOSE = [asked("user", "the person", TEXT), asked("device", "the view", TEXT)]
BETWEEN = [asked("from", "ISO 8601, in UTC", TEXT), asked("to", "likewise", TEXT)]

OWNTRACKS: Routes = {
    "/pub": {"post": PHONES},
    "/owntracks": {"post": PHONES},
    "/api/0/version": {
        "get": Operation("The name of the program", "frontend", {"200": answer("its name", keyed({"version": TEXT}))})
    },
    "/api/0/list": {
        "get": Operation(
            "The person, or of a person the view",
            "frontend",
            {"200": answer("names", keyed({"results": listed(TEXT)}))},
            WHOSE,
        )
    },
    "/api/0/last": {
        "get": Operation(
            "The last released location", "frontend", {"200": answer("one, or none", listed(LOCATION))}, WHOSE
        )
    },
    "/api/0/locations": {
        "get": Operation(
            "Released locations, of the last six hours unless asked otherwise",
            "frontend",
            {"200": answer("locations by time", keyed({"count": WHOLE, "data": listed(LOCATION)}))},
            [*WHOSE, *BETWEEN],
        )
    },
}
