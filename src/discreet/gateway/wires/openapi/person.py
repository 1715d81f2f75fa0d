"""The owner's routes to one person: days, beliefs, the map and the secrets. All take the password."""

from __future__ import annotations

from discreet.gateway.wires.openapi.owner import NO_JSON
from discreet.gateway.wires.openapi.parts import (
    ANY,
    DATE,
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

NOBODY = {"404": answer("there is no such person", ERROR)}
CHANGED = {"409": answer("somebody else has changed it meanwhile; look at it again", ERROR)}
ON = asked("date", "the date", DATE, required=True)
FROM_TO = [asked("from", "the first date", DATE, required=True), asked("to", "the last date", DATE, required=True)]

SLOT: Schema = keyed({"slot": WHOLE, "start": TEXT, "end": TEXT, "told": ANY, "true": maybe(TEXT), "why": ANY})
DAY: Schema = keyed({"person": TEXT, "date": DATE, "zone": TEXT, "slots": listed(SLOT)})
GLANCE: Schema = keyed(
    {"date": DATE, "shown": WHOLE, "decided": WHOLE}, {"told": listed(maybe(TEXT)), "true": listed(maybe(TEXT))}
)

SOURCE: Schema = keyed({"source": TEXT, "heard": TEXT, "usual": WHOLE, "quiet": YES, "use": TEXT})

KINDS_OF_TILES = ("image/png", "image/jpeg", "image/webp", "application/vnd.mapbox-vector-tile")

PATH = "/v1/owner/people/{person}"

DAYS: Routes = {
    f"{PATH}/days": {
        "get": Operation(
            "The first and last date with published slots, when the next slot ends, and what is not promised",
            "in person",
            {
                "200": answer(
                    "dates",
                    keyed(
                        {
                            "first": maybe(DATE),
                            "last": maybe(DATE),
                            "next": TEXT,
                            "zone": TEXT,
                            "unpromised": maybe(TEXT),
                        }
                    ),
                )
            },
            also=NOBODY,
        )
    },
    f"{PATH}/day": {
        "get": Operation(
            "A day: what was published, what was true, and why they differ",
            "in person",
            {"200": answer("slots", DAY)},
            [ON, asked("first", "the first slot", {**WHOLE, "minimum": 0})],
            also=NOBODY,
        )
    },
    f"{PATH}/glance": {
        "get": Operation(
            "Days at a glance",
            "in person",
            {"200": answer("days with published slots", keyed({"days": listed(GLANCE)}))},
            [*FROM_TO, asked("strips", "with every slot, where it is given", TEXT)],
            also=NOBODY,
        )
    },
    f"{PATH}/beliefs": {
        "get": Operation(
            "What is believed of each secret on a date",
            "in person",
            {"200": answer("secrets", keyed({"secrets": listed(keyed({"name": TEXT})), "why": maybe(TEXT)}))},
            [ON, asked("lines", "beliefs alone, where it is given", TEXT)],
            also=NOBODY,
        )
    },
    f"{PATH}/past": {
        "get": Operation(
            "The weeks before the first slot as applications would have seen them; the request starts the work",
            "in person",
            {
                "200": answer(
                    "days, when they are known; kept says whether there is anything to know them by",
                    keyed(
                        {
                            "kept": YES,
                            "secret": listed(TEXT),
                            "times": listed(TEXT),
                            "job": ANY,
                            "days": maybe(listed(GLANCE)),
                            "problem": maybe(TEXT),
                        }
                    ),
                )
            },
            also=NOBODY,
        )
    },
    f"{PATH}/sources": {
        "get": Operation(
            "When each source was heard last, and what of it could not be used",
            "in person",
            {
                "200": answer(
                    "sources, the latest first, with what becomes of each (believed, others or ignored); phone is the "
                    "one that counts, by the settings; refused has numbers by what was wrong; now is the gateway's "
                    "time; broker says whether it is away",
                    keyed(
                        {
                            "sources": listed(SOURCE),
                            "refused": {"type": "object", "additionalProperties": WHOLE},
                            "now": NUMBER,
                            "phone": maybe(TEXT),
                            "broker": ANY,
                        }
                    ),
                )
            },
            also=NOBODY,
        )
    },
    f"{PATH}/places": {
        "get": Operation(
            "The places of the map",
            "in person",
            {
                "200": answer(
                    "places",
                    keyed({"places": listed(keyed({"name": TEXT, "middle": listed(NUMBER), "rings": listed(ANY)}))}),
                )
            },
            also=NOBODY,
        )
    },
}

PAUSES: Schema = keyed(
    {"earliest": DATE, "today": DATE, "pauses": listed(keyed({"first": DATE, "last": DATE}))},
)
PAUSED = {"400": answer("too soon, or no such pause", ERROR)}

PAUSED_DAYS: Routes = {
    f"{PATH}/pauses": {
        "get": Operation(
            "Days on which nothing is published, and the earliest day that may be announced now",
            "in person",
            {"200": answer("pauses", PAUSES)},
            also=NOBODY,
        ),
        "post": Operation(
            "Announce a pause of whole days, the night after next at the earliest",
            "in person",
            {"200": answer("pauses", PAUSES)},
            body=keyed({"first": DATE, "last": DATE}),
            also=NOBODY | PAUSED,
        ),
    },
    f"{PATH}/pauses/{{first}}": {
        "delete": Operation(
            "Take back the pause that begins then, but for days that can no longer be changed",
            "in person",
            {"200": answer("pauses", PAUSES)},
            also=NOBODY | PAUSED,
        )
    },
}

SHAPE: Schema = {
    "oneOf": [
        only({"middle": listed(NUMBER, minItems=2, maxItems=2), "radius": NUMBER}),
        only({"points": listed(listed(NUMBER, minItems=2, maxItems=2), minItems=3)}),
    ]
}
CHANGE: Schema = keyed(
    {"version": TEXT, "do": {"type": "string", "enum": ["add", "redraw", "rename", "remove"]}},
    {"name": TEXT, "to": TEXT, "number": WHOLE, "shape": SHAPE},
)
MAP: Schema = keyed(
    {"version": TEXT, "file": maybe(TEXT), "places": listed(ANY), "no_tree": maybe(TEXT), "waiting": ANY, "tiles": ANY}
)
UNEXPLAINED: Schema = keyed(
    {
        "dots": listed(ANY),
        "count": WHOLE,
        "share": maybe(NUMBER),
        "suggestions": listed(ANY),
        "hours": {"type": "object"},
        "days": WHOLE,
    }
)

MAPS: Routes = {
    f"{PATH}/map": {
        "get": Operation("The map, as it is drawn", "in person", {"200": answer("places", MAP)}, also=NOBODY),
        "post": Operation(
            "Change the map",
            "in person",
            {"200": answer("the map, and whether it holds at once", MAP)},
            body=CHANGE,
            also=NOBODY | CHANGED,
        ),
    },
    f"{PATH}/map/drawn": {
        "delete": Operation(
            "Let go of what is drawn and not in force", "in person", {"200": answer("the map", MAP)}, also=NOBODY
        )
    },
    f"{PATH}/map/unexplained": {
        "get": Operation(
            "Positions of the last days in no place",
            "in person",
            {"200": answer("positions, and places that are suggested", UNEXPLAINED)},
            also=NOBODY,
        )
    },
    f"{PATH}/colours": {
        "get": Operation(
            "The colour in which each place is drawn, for ever the same",
            "in person",
            {"200": answer("colours by name", {"type": "object", "additionalProperties": TEXT})},
            also=NOBODY,
        )
    },
    "/v1/owner/tiles/{zoom:int}/{x:int}/{y:int}": {
        "get": Operation(
            "A tile of the owner's own map",
            "in person",
            {
                "200": {
                    "description": "a picture, or vectors",
                    "content": {kind: {"schema": TEXT} for kind in KINDS_OF_TILES},
                },
                "204": answer("none there"),
            },
            also={"404": answer("no numbers of a tile", ERROR)},
        )
    },
}

ROUTINE: Schema = keyed(
    {
        "can": maybe(TEXT),
        "learned": keyed({"until": maybe(DATE)}),
        "past": YES,
        "coming": ANY,
        "job": ANY,
        "result": ANY,
        "stale": YES,
        "problem": maybe(TEXT),
    }
)
NOT_NOW = {"409": answer("something is under way, or nothing is there; look at it again", ERROR)}

ROUTINES: Routes = {
    f"{PATH}/routine": {
        "get": Operation(
            "The routine: what it was learned from, what is announced, what was learned anew",
            "in person",
            {"200": answer("it", ROUTINE)},
            also=NOBODY,
        )
    },
    f"{PATH}/routine/learn": {
        "post": Operation(
            "Learn the routine anew, with the map as it is drawn; nothing changes",
            "in person",
            {"202": answer("it has begun", ROUTINE)},
            body=only({}, {"weeks": {**WHOLE, "minimum": 1, "maximum": 520}}),
            also=NOBODY | NOT_NOW | NO_JSON,
        ),
        "delete": Operation(
            "Cancel that, or let go of what came of it", "in person", {"200": answer("it", ROUTINE)}, also=NOBODY
        ),
    },
    f"{PATH}/routine/announce": {
        "post": Operation(
            "Announce what was learned; it holds from the date that was said",
            "in person",
            {"200": answer("it", ROUTINE)},
            body=only({"from": DATE}, {"accept": YES}),
            also=NOBODY | NOT_NOW | NO_JSON,
        ),
        "delete": Operation(
            "Undo what is announced, until it holds", "in person", {"200": answer("it", ROUTINE)}, also=NOBODY | NOT_NOW
        ),
    },
}

SECRET: Schema = only(
    {"name": TEXT, "contexts": listed(TEXT)},
    {
        "slots": maybe(listed(WHOLE)),
        "delta": maybe(NUMBER),
        "at": {"type": "string", "enum": ["each", "any"]},
        "begins": maybe(WHOLE),
        "cap": maybe(NUMBER),
        "odds": maybe(NUMBER),
        "over": {"type": ["string", "integer"]},
        "sliding": {"type": "boolean"},
    },
)
DRAFT: Schema = only({"secrets": listed(SECRET)})
SECRETS: Schema = keyed(
    {
        "person": TEXT,
        "clock": {"type": "object"},
        "times": listed(TEXT),
        "contexts": listed(TEXT),
        "in_force": keyed({"from": DATE, "secrets": listed(ANY)}),
        "announced": listed(keyed({"from": DATE, "secrets": listed(ANY)})),
        "draft": keyed({"of": TEXT, "delta": NUMBER}),
        "already_told": listed(ANY),
        "fixed": maybe(TEXT),
    }
)
PREVIEW: Schema = keyed({"done": NUMBER, "total": maybe(NUMBER), "result": ANY, "problem": maybe(TEXT)})
NO_PREVIEW = {"404": answer("there is no such person, or no such preview any more", ERROR)}

SECRETS_ROUTES: Routes = {
    f"{PATH}/secrets": {
        "get": Operation(
            "Secrets in force and announced", "in person", {"200": answer("secrets", SECRETS)}, also=NOBODY
        ),
        "put": Operation(
            "Save secrets; they hold from the cut after next on",
            "in person",
            {"200": answer("secrets, as they are now", SECRETS)},
            body=only({"secrets": listed(SECRET), "of": TEXT}),
            also=NOBODY | CHANGED | NO_JSON,
        ),
    },
    f"{PATH}/secrets/check": {
        "post": Operation(
            "What a draft means, or why it would be refused",
            "in person",
            {"200": answer("its secrets, or in `refused` what is wrong with them", {"type": "object"})},
            body=only({"secrets": listed(ANY)}),
            also=NOBODY | NO_JSON,
        )
    },
    f"{PATH}/secrets/try": {
        "post": Operation(
            "From when a draft would hold; nothing changes",
            "in person",
            {"200": answer("its secrets, and the date", keyed({"secrets": listed(ANY), "same": YES, "from": DATE}))},
            body=DRAFT,
            also=NOBODY | CHANGED | NO_JSON,
        )
    },
    f"{PATH}/secrets/preview": {
        "post": Operation(
            "Start a preview: weeks as applications would see them under a draft",
            "in person",
            {"202": answer("its name", keyed({"preview": TEXT}))},
            body=DRAFT,
            also=NOBODY | CHANGED | NO_JSON,
        )
    },
    f"{PATH}/secrets/preview/{{preview}}": {
        "get": Operation(
            "How far a preview is, and what was found",
            "in person",
            {"200": answer("it", PREVIEW)},
            also=NO_PREVIEW,
        ),
        "delete": Operation("Cancel a preview", "in person", {"204": answer("it has ended")}, also=NO_PREVIEW),
    },
}
