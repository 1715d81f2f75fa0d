"""The owner's routes: logging in, tokens, views, and what is watched."""

from __future__ import annotations

from discreet.gateway.wires.openapi.applications import GETS
from discreet.gateway.wires.openapi.parts import (
    ANY,
    DATE,
    ERROR,
    TEXT,
    WHOLE,
    YES,
    Operation,
    Routes,
    Schema,
    answer,
    keyed,
    listed,
    maybe,
    only,
)

NO_TOKEN = {"404": answer("there is no such token, or it has ended", ERROR)}
NO_VIEW = {"404": answer("there is no such view", ERROR)}
NO_JSON = {"415": answer("send JSON, as application/json", ERROR)}

ENTERED = {"200": answer("the session's csrf; the session itself is a cookie", keyed({"csrf": TEXT}))}
TOO_OFTEN = {
    "429": answer("too many tries; Retry-After says how long to wait", ERROR),
    "503": answer("the journal cannot be used; send again in a moment", ERROR),
}
ANOTHER_PAGE = {"403": answer("a wrong token, or from another site's page", ERROR)}
WRONG = {"401": answer("the password is wrong", ERROR)}

TOKEN: Schema = keyed(
    {
        "token": TEXT,
        "purpose": TEXT,
        "person": maybe(TEXT),
        "view": TEXT,
        "now_only": YES,
        "name": TEXT,
        "made": WHOLE,
        "expires": maybe(WHOLE),
        "used": maybe(WHOLE),
        "revoked": maybe(WHOLE),
    }
)
PURPOSE: Schema = {"type": "string", "enum": ["source", "application", "owner"]}
NEW_TOKEN: Schema = only(
    {"purpose": PURPOSE},
    {"person": TEXT, "view": TEXT, "now_only": YES, "name": TEXT, "expires": WHOLE},
)

GROUPS: Schema = {"type": "object", "additionalProperties": listed(TEXT)}
VIEWS: Schema = keyed(
    {
        "views": {"type": "object", "additionalProperties": keyed({"groups": GROUPS, "rest": maybe(TEXT)})},
        "contexts": listed(TEXT),
        "file": maybe(TEXT),
    }
)

READY: Schema = keyed({"ready": YES}, {"reasons": listed(keyed({"part": TEXT, "words": TEXT}))})

DOOR: dict[str, Schema] = {"owned": YES, "entered": YES, "accounts": YES}

ACCOUNT: Schema = keyed({"person": TEXT, "account": YES, "open": YES, "invited": maybe(WHOLE)})
NO_ACCOUNT = {"404": answer("there is no such person, or no such account", ERROR)}
NOT_THEIRS = {"403": answer("for who administers the gateway, in person", ERROR)}

SESSION: Schema = keyed(
    {"csrf": maybe(TEXT), "account": maybe(TEXT), "people": listed(TEXT), "views": {"type": "object"}}
)

OWNER: Routes = {
    "/v1/owner/door": {
        "get": Operation(
            "Whether there is an owner, and whether this browser is logged in",
            "anybody",
            {"200": answer("these, and whether anybody has an account", keyed(DOOR))},
        )
    },
    "/v1/owner/first": {
        "post": Operation(
            "Set the first password, with the token that the terminal shows",
            "anybody",
            ENTERED,
            body=only({"token": TEXT, "password": TEXT}),
            also=TOO_OFTEN | ANOTHER_PAGE | NO_JSON,
        )
    },
    "/v1/owner/login": {
        "post": Operation(
            "Log in",
            "anybody",
            ENTERED,
            body=only({"password": TEXT}, {"person": TEXT}),
            also=TOO_OFTEN | ANOTHER_PAGE | WRONG | NO_JSON,
        )
    },
    "/v1/owner/invitation": {
        "post": Operation(
            "Open an account with an invitation, and set its password",
            "anybody",
            ENTERED,
            body=only({"invitation": TEXT, "password": TEXT}),
            also=TOO_OFTEN | ANOTHER_PAGE | NO_JSON,
        )
    },
    "/v1/owner/accounts": {
        "get": Operation(
            "Who has an account, and who is invited; for who administers the gateway",
            "owner",
            {"200": answer("accounts", keyed({"accounts": listed(ACCOUNT)}))},
        )
    },
    "/v1/owner/accounts/{person}": {
        "post": Operation(
            "Invite a person to an account, or anew; for who administers the gateway",
            "in person",
            {"201": answer("the invitation, shown once", keyed({"invitation": TEXT, "seconds": WHOLE}))},
            also=NO_ACCOUNT | NOT_THEIRS | {"409": answer("the account has just ended", ERROR)},
        ),
        "delete": Operation(
            "End an account, one's own or as who administers; the past that is kept of the person is erased",
            "in person",
            {"204": answer("it has ended")},
            also=NO_ACCOUNT,
        ),
    },
    "/v1/owner/logout": {
        "post": Operation("Log out", "anybody", {"204": answer("the session has ended")}, also=ANOTHER_PAGE)
    },
    "/v1/owner/logout/everywhere": {
        "post": Operation("End every session of the owner's", "in person", {"204": answer("all have ended")})
    },
    "/v1/owner/password": {
        "post": Operation(
            "Change the password; every other session ends",
            "in person",
            ENTERED,
            body=only({"password": TEXT, "new": TEXT}),
            also=TOO_OFTEN
            | {"403": answer("the present password is wrong, or not the owner in person", ERROR)}
            | NO_JSON,
        )
    },
    "/v1/owner/clock": {
        "post": Operation(
            "Accept a clock that is held because it jumped",
            "in person",
            {"204": answer("slots go on by it")},
            also={"409": answer("the clock is not held", ERROR)},
        )
    },
    "/v1/owner": {
        "get": Operation(
            "Who is served, the views, and the session's csrf",
            "owner",
            {"200": answer("names", SESSION)},
        )
    },
    "/v1/owner/tokens": {
        "get": Operation(
            "Every token, without its secret", "owner", {"200": answer("tokens", keyed({"tokens": listed(TOKEN)}))}
        ),
        "post": Operation(
            "Make a token",
            "owner",
            {
                "201": answer(
                    "its name, and its secret, which is shown this once", keyed({"token": TEXT, "secret": TEXT})
                )
            },
            body=NEW_TOKEN,
            also=NO_JSON,
        ),
    },
    "/v1/owner/tokens/{token}": {
        "delete": Operation("End a token at once", "owner", {"204": answer("it has ended")}, also=NO_TOKEN)
    },
    "/v1/owner/tokens/{token}/gets": {
        "get": Operation(
            "The last answers that an application's token gets, byte by byte",
            "owner",
            {"200": answer("requests that it may make, each with the text of its answer", GETS)},
            also=NO_TOKEN,
        )
    },
    "/v1/owner/views": {
        "get": Operation("The views, and what they can be made of", "owner", {"200": answer("views", VIEWS)})
    },
    "/v1/owner/views/{view}": {
        "put": Operation(
            "Write a view to discreet.toml",
            "in person",
            {"200": answer("the views, as they are now", VIEWS)},
            body=only({"groups": GROUPS}, {"rest": maybe(TEXT)}),
        ),
        "delete": Operation(
            "Take a view away that nobody uses",
            "in person",
            {"200": answer("the views, as they are now", VIEWS)},
            also=NO_VIEW,
        ),
    },
    "/v1/owner/notices": {
        "get": Operation(
            "Whether everybody's habits are still true, as of last night",
            "owner",
            {
                "200": answer(
                    "a notice a person",
                    keyed(
                        {
                            "notices": listed(
                                keyed(
                                    {
                                        "person": TEXT,
                                        "date": DATE,
                                        "drifted": maybe(YES),
                                        "holds": maybe(YES),
                                        "words": ANY,
                                    }
                                )
                            )
                        }
                    ),
                )
            },
        )
    },
    "/metrics": {
        "get": Operation(
            "Figures for Prometheus; none of a person", "owner", {"200": answer("figures", TEXT, "text/plain")}
        )
    },
    "/healthz": {
        "get": Operation(
            "Whether the gateway is alive",
            "anybody",
            {"200": answer("it is", keyed({"ok": YES})), "503": answer("it is not", keyed({"ok": YES}))},
        )
    },
    "/readyz": {
        "get": Operation(
            "Whether everything works; what does not is said to the owner alone",
            "anybody",
            {"200": answer("it does", READY), "503": answer("something does not", READY)},
        )
    },
}
