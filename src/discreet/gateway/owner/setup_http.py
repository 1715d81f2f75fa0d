"""The routes of the page's first steps: files are brought, places looked at, secrets chosen, and somebody is served.

All of it is for the owner by password: these steps hold where somebody was.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from discreet.errors import DiscreetError
from discreet.gateway.auth.authorization import Authorization
from discreet.gateway.auth.tokens import Purpose
from discreet.gateway.config.settings import Settings
from discreet.gateway.owner.http import document
from discreet.gateway.setup.draft import File, Incoming, TooLargeError
from discreet.gateway.setup.steps import NotNowError, SetupSteps
from discreet.gateway.setup.supervisor import SupervisorError
from discreet.gateway.store.journal.base import JournalError

LOG = logging.getLogger("discreet.gateway.setup")

PATH = "/v1/owner/setup"
UPLOAD = ("POST", f"{PATH}/files")
"""What may have a body of any length up to the limit."""

PATIENCE = 30.0
"""Seconds without a byte after which a file that is being brought is given up."""

AT_ONCE = 1 << 20
"""Bytes that are written at a time."""

NAMES = 10_000
LONGEST = 200
"""Letters of a name that is given."""

Admit = Callable[[Settings, str], Awaitable[None]]
Handler = Callable[[Request], Awaitable[Response]]


def setup_routes(steps: SetupSteps, auth: Authorization, admit: Admit) -> list[Route]:
    """What `app` mounts; `admit` serves somebody whom the settings name from now on."""

    async def stands(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(steps.document))

    async def forget(request: Request) -> Response:
        await run_in_threadpool(steps.forget)
        return Response(status_code=204)

    async def cancel(request: Request) -> Response:
        await run_in_threadpool(steps.cancel)
        return JSONResponse(await run_in_threadpool(steps.document))

    def step(kinds: dict[str, type], call: Callable[[dict[str, Any]], None]) -> Handler:
        async def begin(request: Request) -> Response:
            given = await document(request, kinds, needed=set(kinds) - {"user", "doubles", "hold"})
            await run_in_threadpool(call, given)
            return JSONResponse(await run_in_threadpool(steps.document), 202)

        return begin

    def read(given: dict[str, Any]) -> None:
        steps.read(given["person"], given["zone"], given["carry"], given.get("user"))

    def learn(given: dict[str, Any]) -> None:
        steps.learn(_names(given["names"]))

    def compare(given: dict[str, Any]) -> None:
        steps.compare(_texts(given["secrets"]), doubles=given.get("doubles", False))

    def choose(given: dict[str, Any]) -> None:
        hold = given.get("hold", False)
        steps.choose(float(given["delta"]), given["vocabulary"], given["accept"], hold=hold)

    def hold(given: dict[str, Any]) -> None:
        steps.hold(float(given["delta"]), given["vocabulary"])

    async def finish(request: Request) -> Response:
        given = await document(request, {"application": str, "source": str}, needed=set())
        person = await run_in_threadpool(steps.finish)
        settings = await run_in_threadpool(Settings.read, steps.settings.file)
        await admit(settings, person)
        made = {}
        wanted: dict[str, Purpose] = {"application": "application", "source": "source"}
        for key, purpose in wanted.items():
            if given.get(key, "").strip():
                name = given[key].strip()[:LONGEST]
                token, secret = auth.access.add(purpose, person, name=name)
                made[key] = {"token": token, "secret": secret, "name": name}
        await run_in_threadpool(steps.forget)
        LOG.info("one more person is served")
        return JSONResponse({"person": person, **made}, 201)

    async def bring(request: Request) -> Response:
        file = await _brought(steps, request)
        return JSONResponse({"id": file.id, "name": file.name, "size": file.size, "format": file.format}, 201)

    async def remove(request: Request) -> Response:
        await run_in_threadpool(steps.remove, request.path_params["id"])
        return Response(status_code=204)

    async def trackers(request: Request) -> Response:
        found = await run_in_threadpool(steps.trackers)
        return JSONResponse({"trackers": [{"entity": one.entity, "name": one.name} for one in found]})

    async def track(request: Request) -> Response:
        given = await document(request, {"entity": str}, needed={"entity"})
        file = await run_in_threadpool(steps.choose_tracker, given["entity"])
        return JSONResponse({"entity": given["entity"], "file": None if file is None else file.id}, 201)

    routes: list[tuple[str, str, Handler]] = [
        ("GET", PATH, stands),
        ("DELETE", PATH, forget),
        ("DELETE", f"{PATH}/work", cancel),
        (*UPLOAD, bring),
        ("DELETE", f"{PATH}/files/{{id}}", remove),
        ("GET", f"{PATH}/home-assistant", trackers),
        ("POST", f"{PATH}/home-assistant", track),
        ("POST", f"{PATH}/read", step({"person": str, "zone": str, "carry": int, "user": str}, read)),
        ("POST", f"{PATH}/places", step({"names": dict}, learn)),
        ("POST", f"{PATH}/secrets", step({"secrets": list, "doubles": bool}, compare)),
        ("POST", f"{PATH}/hold", step({"delta": float, "vocabulary": str}, hold)),
        ("POST", f"{PATH}/choice", step({"delta": float, "vocabulary": str, "accept": bool, "hold": bool}, choose)),
        ("POST", f"{PATH}/finish", finish),
    ]
    return [Route(path, _owned(auth, call), methods=[method]) for method, path, call in routes]


def _owned(auth: Authorization, call: Handler) -> Handler:
    """For who administers, in person, before anything of the request is read; what is wrong is said in words."""

    async def checked(request: Request) -> Response:
        auth.administering_in_person(request)
        try:
            return await call(request)
        except NotNowError as error:
            raise HTTPException(409, str(error)) from None
        except TooLargeError as error:
            raise HTTPException(413, str(error)) from None
        except JournalError:
            raise
        except SupervisorError as error:
            raise HTTPException(502, str(error)) from None
        except DiscreetError as error:
            raise HTTPException(400, str(error)) from None

    return checked


async def _brought(steps: SetupSteps, request: Request) -> File:
    """A body as a private file, in pieces; whatever goes wrong, nothing of it stays."""
    incoming = await run_in_threadpool(steps.incoming, request.query_params.get("name", ""))
    try:
        announced = request.headers.get("content-length", "")
        if announced.isdigit():
            incoming.check(int(announced[:20]))
        await _filled(incoming, request)
        return await run_in_threadpool(steps.accept, incoming)
    except (ClientDisconnect, TimeoutError):
        raise HTTPException(408, "the upload was interrupted; try again") from None
    finally:
        await run_in_threadpool(incoming.gone)


async def _filled(incoming: Incoming, request: Request) -> None:
    pieces, size = [], 0
    stream = request.stream()
    while True:
        async with asyncio.timeout(PATIENCE):
            piece = await anext(stream, None)
        if piece is not None:
            pieces.append(piece)
            size += len(piece)
        if size >= AT_ONCE or (piece is None and size):
            await run_in_threadpool(incoming.write, b"".join(pieces))
            pieces, size = [], 0
        if piece is None:
            return


def _names(given: dict[str, Any]) -> dict[int, str | None]:
    """Numbers of places with their names; None drops a place."""
    if len(given) > NAMES:
        raise HTTPException(400, "names: these are too many")
    found: dict[int, str | None] = {}
    for number, name in given.items():
        if not number.isdigit() or len(number) > 9 or not (name is None or isinstance(name, str)):
            raise HTTPException(400, "names: give an object of numbers with names, or null for a place to drop")
        found[int(number)] = name
    return found


def _texts(given: list[Any]) -> list[str]:
    if len(given) > NAMES or not all(isinstance(one, str) and len(one) <= LONGEST for one in given):
        raise HTTPException(400, "secrets: give a list of names")
    return given
