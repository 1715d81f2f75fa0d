"""The description of the routes for programs (OpenAPI) and for people (one page): no script, no other host."""

from __future__ import annotations

from html import escape
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from discreet.gateway.http import PAGE
from discreet.gateway.posted import MOST

TEXT = {"type": "string"}
DATE = {"type": "string", "format": "date"}
NUMBER = {"type": "number"}
WHOLE = {"type": "integer"}

EVENT: dict[str, Any] = {
    "type": "object",
    "description": "One slot as this token's view shows it. kind is released, generalized, suppressed (nothing is "
    "said) or skipped (nothing was decided). A place has its public circle.",
    "required": ["person", "date", "slot", "start", "end", "kind"],
    "properties": {
        "person": TEXT,
        "date": DATE,
        "slot": WHOLE,
        "start": TEXT,
        "end": TEXT,
        "kind": TEXT,
        "context": TEXT,
        "node": TEXT,
        "latitude": NUMBER,
        "longitude": NUMBER,
        "radius": WHOLE,
    },
}

READING: dict[str, Any] = {
    "type": "object",
    "description": "A label, or latitude and longitude, or both, at a time. The same source and time are one reading.",
    "required": ["time"],
    "additionalProperties": False,
    "properties": {
        "time": {"description": "ISO 8601 with a zone, or seconds since 1970", "oneOf": [TEXT, NUMBER]},
        "label": {**TEXT, "minLength": 1, "maxLength": 100},
        "latitude": {**NUMBER, "minimum": -90, "maximum": 90},
        "longitude": {**NUMBER, "minimum": -180, "maximum": 180},
        "accuracy": NUMBER,
        "source": {**TEXT, "minLength": 1, "maxLength": 100},
    },
}


def _answer(words: str, schema: dict[str, Any] | None = None, kind: str = "application/json") -> dict[str, Any]:
    return {"description": words} | ({} if schema is None else {"content": {kind: {"schema": schema}}})


REFUSALS = {
    "400": _answer("what is wrong, in words"),
    "401": _answer("no token, or one that does not hold"),
    "403": _answer("a token for something else"),
    "404": _answer("nothing here for this token, whether or not there is such a person"),
    "429": _answer("too many requests; Retry-After says how long to wait"),
    "503": _answer("the journal cannot be used; send again in a moment"),
}

PERSON = {"name": "person", "in": "path", "required": True, "schema": TEXT}


def _asked(name: str, words: str, schema: dict[str, Any], where: str = "query") -> dict[str, Any]:
    return {"name": name, "in": where, "required": False, "description": words, "schema": schema}


PATHS: dict[str, Any] = {
    "/v1/people/{person}/now": {
        "get": {
            "summary": "The present: the last slot that was told",
            "parameters": [PERSON, _asked("If-None-Match", "an ETag: 304 where nothing changed", TEXT, "header")],
            "responses": {
                "200": _answer("the slot", EVENT),
                "204": _answer("nothing was told yet"),
                "304": _answer("as it was"),
            }
            | REFUSALS,
        }
    },
    "/v1/people/{person}/releases": {
        "get": {
            "summary": "What was told, from the first slot on, in pages",
            "parameters": [
                PERSON,
                _asked("from", "the first date", DATE),
                _asked("to", "the last date", DATE),
                _asked("after", "what next of the page before says", TEXT),
                _asked("limit", "slots of a page", {**WHOLE, "minimum": 1, "maximum": PAGE}),
                _asked("format", "or by Accept", {"type": "string", "enum": ["json", "csv"]}),
            ],
            "responses": {
                "200": {
                    "description": "a page; next is null on the last",
                    "content": {
                        "application/json": {
                            "schema": {
                                "type": "object",
                                "required": ["releases", "next"],
                                "properties": {
                                    "releases": {"type": "array", "items": EVENT},
                                    "next": {"type": ["string", "null"]},
                                },
                            }
                        },
                        "text/csv": {"schema": TEXT},
                    },
                },
                "304": _answer("as it was"),
            }
            | REFUSALS,
        }
    },
    "/v1/people/{person}/stream": {
        "get": {
            "summary": "Server-sent events: the present, then each slot when it is told",
            "parameters": [
                PERSON,
                _asked("Last-Event-ID", "the last slot that the reader has: what follows comes first", TEXT, "header"),
            ],
            "responses": {
                "200": _answer("events, without end", TEXT, "text/event-stream"),
                "409": _answer("Last-Event-ID is after all that is known here"),
            }
            | REFUSALS,
        }
    },
    "/v1/gets": {
        "get": {
            "summary": "This token's last answers, byte by byte, to be shown to whom they concern",
            "parameters": [],
            "responses": {
                "200": _answer("requests that it may make, each with the text of its answer", {"type": "object"}),
            }
            | REFUSALS,
        }
    },
    "/v1/people/{person}/readings": {
        "post": {
            "summary": "Write readings; answered when they are on disk",
            "parameters": [PERSON],
            "requestBody": {
                "required": True,
                "content": {
                    "application/json": {
                        "schema": {"oneOf": [READING, {"type": "array", "items": READING, "maxItems": MOST}]}
                    }
                },
            },
            "responses": {
                "200": _answer(
                    "how many are kept, and how many refused because they lie in the future",
                    {"type": "object", "properties": {"kept": WHOLE, "refused": WHOLE}},
                ),
                "408": _answer("the body took too long"),
                "413": _answer("the body is too large"),
            }
            | REFUSALS,
        }
    },
}

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {
        "title": "discreet",
        "version": "1",
        "description": "Between the sources of a person's context and applications: an output a slot, one for all.",
    },
    "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    "security": [{"token": []}],
    "paths": PATHS,
}


def page() -> str:
    """The description as a page."""
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><title>discreet: routes</title>",
        "<meta name=viewport content='width=device-width'><link rel=stylesheet href=/docs.css>",
        f"<main><h1>Routes</h1><p>{escape(DOCUMENT['info']['description'])} Every request brings a token: "
        "<code>Authorization: Bearer …</code>. For programs: <a href=/openapi.json>openapi.json</a>.</p>",
    ]
    for path, methods in PATHS.items():
        for method, one in methods.items():
            parts.append(f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{escape(one['summary'])}.</p>")
            parts.append(_table(((p["name"], p.get("description", "whose")) for p in one["parameters"]), "Given"))
            parts.append(_table(((code, a["description"]) for code, a in one["responses"].items()), "Answers"))
    for name, schema in (("An output", EVENT), ("A reading", READING)):
        keys = ", ".join(f"<code>{escape(key)}</code>" for key in schema["properties"])
        parts.append(f"<h2>{name}</h2><p>{escape(schema['description'])}</p><p>{keys}</p>")
    return "".join([*parts, "</main></html>"])


def _table(rows: Any, title: str) -> str:
    cells = "".join(f"<tr><td><code>{escape(a)}</code><td>{escape(b)}" for a, b in rows)
    return f"<table><caption>{title}</caption>{cells}</table>"


STYLE = """main{max-width:46rem;margin:2rem auto;padding:0 1rem;font:16px/1.5 system-ui,sans-serif}
h2{margin-top:2.5rem;font-size:1.1rem}caption{text-align:left;font-weight:600}table{margin:.75rem 0}
td{padding:.1rem 1rem .1rem 0;vertical-align:top}code{font-size:.95em}
@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}a{color:#8bf}}"""


def document_routes() -> list[Route]:
    """What `app` mounts."""
    whole = page()

    async def document(request: Request) -> Response:
        return JSONResponse(DOCUMENT)

    async def docs(request: Request) -> Response:
        return HTMLResponse(whole)

    async def style(request: Request) -> Response:
        return Response(STYLE, media_type="text/css")

    return [Route("/openapi.json", document), Route("/docs", docs), Route("/docs.css", style)]
