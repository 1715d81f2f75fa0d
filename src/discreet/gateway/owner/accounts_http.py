"""The owner's routes to accounts: who has one, invitations, and their end."""

from __future__ import annotations

from collections.abc import Callable

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from discreet.gateway.auth.accounts import INVITED
from discreet.gateway.auth.authorization import Authorization

PATH = "/v1/owner/accounts"


def account_routes(auth: Authorization, settle: Callable[[], None]) -> list[Route]:
    """What `app` mounts; `settle` erases the past that a removal owes."""
    accounts = auth.access.accounts

    async def listed(request: Request) -> Response:
        auth.administering(request)
        found = {one.person: one for one in accounts.known()}
        told = [
            {"person": name, "account": name in found, "open": name in found and found[name].open}
            | {"invited": found[name].until if name in found else None}
            for name in sorted({*auth.people, *found})
        ]
        return JSONResponse({"accounts": told})

    async def invite(request: Request) -> Response:
        auth.administering_in_person(request)
        person = str(request.path_params["person"])
        if person not in auth.people:
            raise HTTPException(404, "there is no such person")
        if person in accounts.owed():
            raise HTTPException(409, "the account has just ended; try again in a moment")
        return JSONResponse({"invitation": accounts.invite(person), "seconds": int(INVITED)}, 201)

    async def remove(request: Request) -> Response:
        grant = auth.in_person(request)
        person = str(request.path_params["person"])
        if grant.person not in (None, person) or not accounts.remove(person):
            raise HTTPException(404, "there is no such account")
        auth.owner.logout_everywhere(person)
        await run_in_threadpool(settle)
        return Response(status_code=204)

    return [
        Route(PATH, listed, methods=["GET"]),
        Route(f"{PATH}/{{person}}", invite, methods=["POST"]),
        Route(f"{PATH}/{{person}}", remove, methods=["DELETE"]),
    ]
