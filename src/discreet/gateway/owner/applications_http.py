"""The owner's routes to what applications get: one token's answers, and the views that tokens are made for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from discreet.errors import DiscreetError
from discreet.gateway.auth.authorization import Authorization
from discreet.gateway.auth.tokens import Grant
from discreet.gateway.config.settings import view_of, write_view
from discreet.gateway.config.views import View
from discreet.gateway.runtime import Gateway
from discreet.gateway.wires.http import answers_of, groups_of

Show = Callable[[str, View | None], None]


def application_routes(
    gateway: Gateway, auth: Authorization, file: Path | None, show: Show, in_use: Collection[str] = ()
) -> list[Route]:
    """What `app` mounts. `file` has the settings, `show` is told of a view in force, and those `in_use` stay."""
    return [
        Route("/v1/owner/tokens/{token}/gets", partial(_shown, gateway, auth), methods=["GET"]),
        *_views(auth, file, show, in_use),
    ]


async def _shown(gateway: Gateway, auth: Authorization, request: Request) -> Response:
    """What a token gets, without its secret, which nobody has any more."""
    asking, name = auth.owning(request), request.path_params["token"]
    grant = next((one.grant for one in auth.access.list() if one.grant.token == name), None)
    if (
        grant is None
        or not auth.reaches(asking, grant.person)
        or grant.purpose != "application"
        or grant.person not in auth.people
    ):
        raise HTTPException(404, "there is no such app token")
    if grant.view not in auth.views:
        raise HTTPException(404, "this token's view is no longer in discreet.toml, so it gets nothing")
    forms = auth.forms_of(str(grant.person), grant.view)
    found = await run_in_threadpool(answers_of, gateway, forms, grant)
    return JSONResponse(found | groups_of(forms.view))


def _views(auth: Authorization, file: Path | None, show: Show, in_use: Collection[str]) -> list[Route]:
    """Looked at, written and taken away."""
    turn = asyncio.Lock()  # one change of the file at a time

    async def put(grant: Grant, name: str, view: View | None) -> Response:
        if file is None:
            raise HTTPException(400, "views cannot be saved, because discreet was started without a discreet.toml")
        try:
            async with turn:
                await run_in_threadpool(write_view, file, name, view)
                show(name, view)
        except DiscreetError as error:
            raise HTTPException(400, str(error)) from None
        return JSONResponse(described(auth, grant, file))

    def check_own(grant: Grant, name: str) -> None:
        """Nobody changes what somebody else's applications are shown; an account not what the settings name either."""
        readers = [one for one in auth.access.list() if _reads(one, name)]
        others = any(not auth.reaches(grant, one.grant.person) for one in readers)
        known = name in auth.views
        foreign = grant.person is not None and known and (name in in_use or name not in auth.views_for(grant))
        if others or foreign:
            raise HTTPException(403, "somebody else uses this view; make one by another name")

    async def look(request: Request) -> Response:
        return JSONResponse(described(auth, auth.owning(request), file))

    async def write(request: Request) -> Response:
        grant = auth.in_person(request)
        given = _given(await request.body())
        name = str(request.path_params["view"])
        try:
            view = view_of(name, given["groups"], given.get("rest"))
        except DiscreetError as error:
            raise HTTPException(400, str(error)) from None
        check_own(grant, name)
        return await put(grant, name, view)

    async def remove(request: Request) -> Response:
        grant = auth.in_person(request)
        name = str(request.path_params["view"])
        check_own(grant, name)
        readers = [one.name or one.grant.token for one in auth.access.list() if _reads(one, name)]
        if name in in_use:
            readers.append("discreet.toml")
        if readers:
            raise HTTPException(400, f"{readers[0]} uses this view; revoke or change that first")
        if name not in auth.views:
            raise HTTPException(404, "there is no such view")
        return await put(grant, name, None)

    path = "/v1/owner/views/{view}"
    return [
        Route("/v1/owner/views", look, methods=["GET"]),
        Route(path, write, methods=["PUT"]),
        Route(path, remove, methods=["DELETE"]),
    ]


def _reads(token: Any, view: str) -> bool:
    return token.revoked is None and token.grant.purpose == "application" and token.grant.view == view


def described(auth: Authorization, grant: Grant, file: Path | None) -> dict[str, Any]:
    """Every view that an owner may give, with its groups, and the contexts of whom it may be a view of."""
    views = {
        name: {"groups": {group: sorted(inside) for group, inside in view.groups.items()}, "rest": view.rest}
        for name, view in auth.views_for(grant).items()
        if view.groups is not None
    }
    contexts = sorted({context for one in auth.reach(grant) for context in auth.people[one].routine.contexts})
    return {"views": views, "contexts": contexts, "file": None if file is None else file.name}


def _given(body: bytes) -> dict[str, Any]:
    try:
        given = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise HTTPException(400, "the body is not JSON") from None
    texts = isinstance(given, dict) and isinstance(given.get("groups"), dict) and given.keys() <= {"groups", "rest"}
    if not texts or not isinstance(given.get("rest"), str | None):
        raise HTTPException(400, "send an object with groups, such as {'home': ['home']}, and perhaps rest, a text")
    return dict(given)
