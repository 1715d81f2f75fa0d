"""The description of the routes for programs (OpenAPI) and for people (one page): no script, no other host.

Every route is in it. One that is added to the routing table gets an `Operation` under its path in one of the tables
here (`applications`, `owner`, `person`, `setup`); a test compares the two, and says which is missing.
"""

from __future__ import annotations

from html import escape
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from discreet.gateway.wires.openapi.applications import APPLICATIONS, OWNTRACKS, READING
from discreet.gateway.wires.openapi.owner import OWNER
from discreet.gateway.wires.openapi.parts import EVENT, SCHEMES, paths_of
from discreet.gateway.wires.openapi.person import DAYS, MAPS, PAUSED_DAYS, ROUTINES, SECRETS_ROUTES
from discreet.gateway.wires.openapi.setup import PAGES, SETUP

PATHS: dict[str, Any] = paths_of(
    APPLICATIONS, OWNTRACKS, OWNER, DAYS, PAUSED_DAYS, MAPS, ROUTINES, SECRETS_ROUTES, SETUP, PAGES
)

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {
        "title": "discreet",
        "version": "1",
        "description": "Between sources of a person's context and applications: one output for each slot, for all.",
    },
    "components": {"securitySchemes": SCHEMES},
    "paths": PATHS,
}


def page() -> str:
    """The description as a page."""
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><title>discreet: routes</title>",
        "<meta name=viewport content='width=device-width'><link rel=stylesheet href=docs.css>",
        f"<main><h1>Routes</h1><p>{escape(DOCUMENT['info']['description'])} A token is sent as "
        "<code>Authorization: Bearer …</code>; a session is the owner's, by password, and a password is a token that "
        "OwnTracks sends. For programs: <a href=openapi.json>openapi.json</a>.</p>",
    ]
    for path, methods in PATHS.items():
        for method, one in methods.items():
            parts.append(f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{escape(one['summary'])}.</p>")
            allowed = " or ".join(name for option in one["security"] for name in option) or "nothing"
            parts.append(f"<p>It takes: {allowed}.</p>")
            if one["parameters"]:
                parts.append(_table(((p["name"], p["description"]) for p in one["parameters"]), "Given"))
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
