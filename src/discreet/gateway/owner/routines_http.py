"""The routes of somebody's routine: learned anew, looked at, announced, undone. For the owner in person."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from discreet.errors import DiscreetError
from discreet.gateway.auth.authorization import Authorization
from discreet.gateway.owner.http import document
from discreet.gateway.owner.routines import Routines, instants_of
from discreet.gateway.runtime import CHANGE_TAKES, Gateway
from discreet.gateway.setup.steps import NotNowError
from discreet.gateway.store.journal.base import JournalError
from discreet.gateway.store.own_store import Reading

MOST_WEEKS = 520
"""Weeks that may be asked for: ten years."""


def routine_routes(gateway: Gateway, auth: Authorization, routines: Routines) -> list[Route]:
    """What `app` mounts."""
    keeper = gateway.keeper

    async def described(person: str, status: int = 200) -> Response:
        return JSONResponse(await gateway.between_slots(partial(routines.document, person)), status)

    async def asked(call: Callable[[], Any], takes: float = 0.0) -> Any:
        try:
            return await gateway.between_slots(call, takes=takes)
        except NotNowError as error:
            raise HTTPException(409, str(error)) from None
        except JournalError:
            raise
        except DiscreetError as error:
            raise HTTPException(400, str(error)) from None

    async def look(request: Request) -> Response:
        return await described(auth.present(request))

    async def learn(request: Request) -> Response:
        person = auth.present(request)
        weeks = (await document(request, {"weeks": int}, needed=set())).get("weeks")
        if weeks is not None and not 1 <= weeks <= MOST_WEEKS:
            raise HTTPException(400, f"weeks: give 1 to {MOST_WEEKS}, or leave it out for all days")
        now = gateway.wall()
        order = await asked(partial(routines.order, person, weeks, now))

        def read() -> tuple[Reading, ...]:
            days, counts = instants_of(gateway.retention.days + 1, now), keeper.people[person].config.counts
            every = (one for since, until in days for one in keeper.own.readings(person, since, until))
            return tuple(one for one in every if counts(one.source))

        order = replace(order, recent=await run_in_threadpool(read))
        try:
            await run_in_threadpool(routines.begin, person, order)
        except NotNowError as error:
            raise HTTPException(409, str(error)) from None
        return await described(person, 202)

    async def discard(request: Request) -> Response:
        person = auth.present(request)
        await run_in_threadpool(routines.discard, person)
        return await described(person)

    async def announce(request: Request) -> Response:
        person = auth.present(request)
        given = await document(request, {"from": str, "accept": bool}, needed={"from"})
        call = partial(routines.announce, person, given["from"], given.get("accept", False))
        await asked(call, takes=CHANGE_TAKES)
        await gateway.between_slots(partial(keeper.prepare, person), takes=CHANGE_TAKES)
        return await described(person)

    async def undo(request: Request) -> Response:
        person = auth.present(request)
        await asked(partial(routines.undo, person), takes=CHANGE_TAKES)
        await gateway.between_slots(partial(keeper.prepare, person), takes=CHANGE_TAKES)
        return await described(person)

    path = "/v1/owner/people/{person}/routine"
    return [
        Route(path, look, methods=["GET"]),
        Route(f"{path}/learn", learn, methods=["POST"]),
        Route(f"{path}/learn", discard, methods=["DELETE"]),
        Route(f"{path}/announce", announce, methods=["POST"]),
        Route(f"{path}/announce", undo, methods=["DELETE"]),
    ]
