"""The routes of the first run, and the files of the page. The first all take the password."""

from __future__ import annotations

from discreet.dashboard import FILES
from discreet.gateway.wires.openapi.owner import NO_JSON
from discreet.gateway.wires.openapi.parts import (
    ANY,
    ERROR,
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
from discreet.gateway.wires.page import kind_of

STEPS: Schema = keyed(
    {
        "step": ANY,
        "person": maybe(TEXT),
        "zone": TEXT,
        "zone_is_fixed": YES,
        "slots": WHOLE,
        "cut": TEXT,
        "carry": NUMBER,
        "taken": listed(TEXT),
        "limit": WHOLE,
        "tiles": ANY,
        "files": listed(ANY),
        "home_assistant": YES,
        "entity": maybe(TEXT),
        "secrets": listed(TEXT),
        "doubles": YES,
        "held": ANY,
        "share": maybe(NUMBER),
        "job": ANY,
        "problem": maybe(TEXT),
    }
)
NOT_NOW = {"409": answer("something is under way, or the step before is not done", ERROR)}
AWAY = {"502": answer("Home Assistant does not answer as it should", ERROR)}
MADE = keyed({"token": TEXT, "secret": TEXT, "name": TEXT})
NAMES: Schema = {"type": "object", "additionalProperties": {"type": ["string", "null"]}}


def _step(summary: str, body: Schema) -> Operation:
    stands = {"202": answer("it has begun; where it stands", STEPS)}
    return Operation(summary, "in person", stands, body=body, also=NOT_NOW | NO_JSON)


PATH = "/v1/owner/setup"

SETUP: Routes = {
    PATH: {
        "get": Operation("Where the first run stands", "in person", {"200": answer("it", STEPS)}),
        "delete": Operation(
            "Forget what was brought and answered", "in person", {"204": answer("forgotten")}, also=NOT_NOW
        ),
    },
    f"{PATH}/work": {
        "delete": Operation(
            "Cancel what is under way", "in person", {"200": answer("where it stands", STEPS)}, also=NOT_NOW
        )
    },
    f"{PATH}/files": {
        "post": Operation(
            "Bring a file of a history",
            "in person",
            {"201": answer("it is kept", keyed({"id": TEXT, "name": TEXT, "size": WHOLE, "format": maybe(TEXT)}))},
            [asked("name", "the file's name", TEXT, required=True)],
            body={"type": "string", "format": "binary"},
            kind="application/octet-stream",
            also=NOT_NOW,
        )
    },
    f"{PATH}/files/{{id}}": {
        "delete": Operation("Take a file away again", "in person", {"204": answer("it is gone")}, also=NOT_NOW)
    },
    f"{PATH}/home-assistant": {
        "get": Operation(
            "Who Home Assistant knows to be somewhere, where discreet is one of its apps",
            "in person",
            {"200": answer("they", keyed({"trackers": listed(keyed({"entity": TEXT, "name": TEXT}))}))},
            also=AWAY,
        ),
        "post": Operation(
            "Choose a tracker, and bring what the recorder has of it",
            "in person",
            {"201": answer("the file, or null for none", keyed({"entity": TEXT, "file": maybe(TEXT)}))},
            body=only({"entity": TEXT}),
            also=NOT_NOW | NO_JSON | AWAY,
        ),
    },
    f"{PATH}/read": {
        "post": _step(
            "Whose the files are; places are found in them",
            only({"person": TEXT, "zone": TEXT, "carry": WHOLE}, {"user": TEXT}),
        )
    },
    f"{PATH}/places": {"post": _step("Names of places, by their numbers; null drops one", only({"names": NAMES}))},
    f"{PATH}/secrets": {"post": _step("What is secret", only({"secrets": listed(TEXT)}, {"doubles": YES}))},
    f"{PATH}/hold": {
        "post": _step(
            "What keeping part of delta back for later days would cost", only({"delta": NUMBER, "vocabulary": TEXT})
        )
    },
    f"{PATH}/choice": {
        "post": _step(
            "How strict, and what may be shown instead of the truth; hold reserves the share of delta that was found",
            only({"delta": NUMBER, "vocabulary": TEXT, "accept": YES}, {"hold": YES}),
        )
    },
    f"{PATH}/finish": {
        "post": Operation(
            "Write the files, and serve the person",
            "in person",
            {
                "201": answer(
                    "who is served, and tokens", keyed({"person": TEXT}, {"application": MADE, "source": MADE})
                )
            },
            body=only({}, {"application": TEXT, "source": TEXT}),
            also=NOT_NOW | NO_JSON,
        )
    },
}


def _file(words: str, kind: str) -> dict[str, Operation]:
    schema = {"type": "object"} if kind.endswith("json") else TEXT
    return {"get": Operation(words, "anybody", {"200": answer("it", schema, kind)})}


PAGES: Routes = {
    "/": _file("The owner's page", "text/html"),
    "/page": _file("The owner's page, also in the demo", "text/html"),
    **{f"/page/{name}": _file("What the page is made of", kind_of(name)) for name in FILES},
    "/docs": _file("This description, for people", "text/html"),
    "/docs.css": _file("Its style", "text/css"),
    "/openapi.json": {
        "get": Operation("This description, for programs", "anybody", {"200": answer("it", {"type": "object"})})
    },
}
