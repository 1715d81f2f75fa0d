"""The routes of applications and sources. Plain functions: a body model would halve the rate of readings."""

from __future__ import annotations

import datetime as dt
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Route

from discreet.errors import DataError
from discreet.gateway.auth.authorization import Authorization
from discreet.gateway.auth.tokens import Grant
from discreet.gateway.config.views import View
from discreet.gateway.forms import Forms, encoded, entity_tag, event_id, key_of
from discreet.gateway.runtime import BusyError, Gateway
from discreet.gateway.store.journal.base import JournalError, Key
from discreet.gateway.wires.posted_readings import readings_of
from discreet.gateway.wires.reads import Reads
from discreet.gateway.wires.sse import Streams, stream_of

PAGE = 1000
"""Releases of one page, at most."""

LAST_SLOT = 10**6
"""Above every slot of a day."""

SHOWN = 12
"""Slots that are shown, the last ones."""

UNTOLD = 4
"""Slots that may be decided and not told yet."""

ASKED = frozenset({"from", "to", "after", "limit", "format"})


def routes(gateway: Gateway, auth: Authorization, streams: Streams, reads: Reads) -> list[Route]:
    """What `app` mounts."""

    async def now(request: Request) -> Response:
        _, forms = auth.reader(request)
        shown = gateway.shown(forms.person)
        if shown is None:
            return Response(status_code=204)
        (row,) = await run_in_threadpool(gateway.rows, forms.person, (shown[0], shown[1] - 1), shown, 1)
        return tagged(request, encoded(forms.event(row)), "application/json")

    async def releases(request: Request) -> Response:
        grant, forms = auth.reader(request)
        if grant.now_only:
            raise HTTPException(403, "this token is for the present; it has no history")
        after, until, limit, as_csv = asked_for(request)
        async with reads.of(grant) as pages:
            rows = await pages.rows(forms.person, after, until, limit + 1)
            following = rows[limit - 1].key if len(rows) > limit else None
            made = partial(forms.table, rows[:limit]) if as_csv else partial(forms.page, rows[:limit], following)
            body = await gateway.read(made)
        answer = tagged(request, body, "text/csv" if as_csv else "application/json")
        answer.headers["vary"] = "Accept"
        if following is not None:
            query = urlencode({**request.query_params, "after": event_id(following)})
            path = f"/v1/people/{quote(forms.person, safe='')}/releases"
            answer.headers["link"] = f'<{path}?{query}>; rel="next"'
        return answer

    async def stream(request: Request) -> Response:
        return stream_of(gateway, auth, streams, reads, request)

    async def own(request: Request) -> Response:
        """The token's own answers, on a page that can be shown: which person and view follows from the token."""
        grant, forms = auth.reading(request)
        return JSONResponse(await run_in_threadpool(answers_of, gateway, forms, grant))

    async def readings(request: Request) -> Response:
        grant, person = auth.writer(request)
        try:
            given = readings_of(await request.body(), person, grant.token)
        except DataError as error:
            raise HTTPException(400, str(error)) from None
        refused = await gateway.accept(given)
        return Response(encoded({"kept": len(given) - refused, "refused": refused}), media_type="application/json")

    person = "/v1/people/{person}"
    return [  # they are tried in this order, and readings come most often
        Route(f"{person}/readings", readings, methods=["POST"]),
        Route(f"{person}/now", now, methods=["GET"]),
        Route(f"{person}/releases", releases, methods=["GET"]),
        Route(f"{person}/stream", stream, methods=["GET"]),
        Route("/v1/gets", own, methods=["GET"]),
    ]


def tagged(request: Request, body: bytes, kind: str) -> Response:
    """A body with the tag of its own bytes; 304 where the caller has them."""
    tag = entity_tag(body)
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    known = [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]
    if tag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=kind)


def asked_for(request: Request) -> tuple[Key | None, Key | None, int, bool]:
    """What a request for releases asks for: after which slot, until which, how many, and whether as CSV."""
    given = request.query_params
    if not given.keys() <= ASKED:
        raise HTTPException(400, f"a parameter is not known; known: {', '.join(sorted(ASKED))}")
    first, last = _date(given.get("from"), "from"), _date(given.get("to"), "to")
    after = None if first is None else (first, -1)
    if "after" in given:
        key = key_of(given["after"])
        if key is None or key[1] > LAST_SLOT:
            raise HTTPException(400, "after: give what next says, such as 2026-03-29.17")
        after = key if after is None else max(after, key)
    limit = given.get("limit", str(PAGE))
    if not (limit.isascii() and limit.isdigit() and len(limit) < 6 and 1 <= int(limit) <= PAGE):
        raise HTTPException(400, f"limit: give a number from 1 to {PAGE}")
    form = given.get("format")
    if form not in (None, "json", "csv"):
        raise HTTPException(400, "format: give json or csv")
    accepted = request.headers.get("accept", "")
    as_csv = form == "csv" or (form is None and "text/csv" in accepted and "application/json" not in accepted)
    return after, None if last is None else (last, LAST_SLOT), int(limit), as_csv


def _date(text: str | None, name: str) -> dt.date | None:
    try:
        return None if text is None else dt.date.fromisoformat(text)
    except ValueError:
        raise HTTPException(400, f"{name}: give a date, such as 2026-03-29") from None


# --- what one application is sent, to the byte


def answers_of(gateway: Gateway, forms: Forms, grant: Grant) -> dict[str, Any]:
    """Requests that a token may make, each with the answer's text: the present, events of the stream, and a table.

    A token for the present alone gets the last slot and no other. What a view joins is not said: whoever reads
    "elsewhere" would learn which places are meant (`groups_of` is for the owner).
    """
    shown, last = gateway.shown(forms.person), 1 if grant.now_only else SHOWN
    rows = gateway.keeper.journal.latest(forms.person, last + UNTOLD)
    told = [row for row in rows if shown is not None and row.key <= shown][-last:]
    path = f"/v1/people/{quote(forms.person, safe='')}"
    answers = [
        _answer(f"GET {path}/now", encoded(forms.event(told[-1])) if told else b""),
        _answer(f"GET {path}/stream", b"".join(forms.server_sent(row) for row in told)),
    ]
    if not grant.now_only:
        answers.append(_answer(f"GET {path}/releases?format=csv", forms.table(told)))
    return {
        "person": forms.person,
        "view": forms.view.name,
        "now_only": grant.now_only,
        "slots": len(told),
        "answers": answers,
    }


def groups_of(view: View) -> dict[str, Any]:
    """Which contexts a view joins under which name, for the owner alone."""
    groups = None if view.groups is None else {name: sorted(inside) for name, inside in view.groups.items()}
    return {"groups": groups, "rest": view.rest}


def _answer(request: str, body: bytes) -> dict[str, str]:
    return {"request": request, "body": body.decode()}


# --- errors, in one form


async def refused(request: Request, error: Exception) -> Response:
    """An error that the caller can mend, or that a route chose."""
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(allowed(request))
    return JSONResponse({"error": error.detail}, error.status_code, headers=headers)


def allowed(request: Request) -> list[str]:
    """The methods of a path: of all its routes, where starlette would name those of the first."""
    routes = [one for one in request.app.routes if isinstance(one, Route)]
    found = [one.methods or set() for one in routes if one.matches(request.scope)[0] is not Match.NONE]
    return sorted(set().union(*found))


async def not_now(request: Request, error: Exception) -> Response:
    """Nothing can be written, or too much waits: come again. What exactly failed is not for the wire."""
    busy = isinstance(error, BusyError)
    words = "too much waits to be written" if busy else "the journal cannot be used"
    return JSONResponse({"error": f"{words}; send again in a moment"}, 503, headers={"Retry-After": "2"})


Handler = Callable[[Request, Exception], Awaitable[Response]]

HANDLERS: dict[type[Exception], Handler] = {HTTPException: refused, JournalError: not_now, BusyError: not_now}
