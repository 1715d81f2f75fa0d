"""The routes of the owner's page: the days of a person, what was believed, and the map."""

from __future__ import annotations

import datetime as dt
from functools import partial

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from discreet.gateway.day import beliefs_of, day_of, days_of, places_of
from discreet.gateway.doors import Doors
from discreet.gateway.runtime import Gateway


def day_routes(gateway: Gateway, doors: Doors) -> list[Route]:
    """What `app` mounts; all of it is for the owner who has logged in."""

    async def days(request: Request) -> Response:
        person = doors.present(request)
        return JSONResponse(await run_in_threadpool(days_of, gateway, person))

    async def day(request: Request) -> Response:
        person = doors.present(request)
        date = _date(request)
        return JSONResponse(await run_in_threadpool(day_of, gateway, person, doors.people[person].clock, date))

    async def beliefs(request: Request) -> Response:
        person = doors.present(request)
        date = _date(request)
        session = gateway.keeper.people[person].session
        return JSONResponse(await gateway.between_slots(partial(beliefs_of, session, date)))

    async def places(request: Request) -> Response:
        person = doors.present(request)
        return JSONResponse({"places": places_of(doors.people[person].places)})

    path = "/v1/owner/people/{person}"
    return [
        Route(f"{path}/days", days, methods=["GET"]),
        Route(f"{path}/day", day, methods=["GET"]),
        Route(f"{path}/beliefs", beliefs, methods=["GET"]),
        Route(f"{path}/places", places, methods=["GET"]),
    ]


def _date(request: Request) -> dt.date:
    try:
        return dt.date.fromisoformat(request.query_params["date"])
    except (KeyError, ValueError):
        raise HTTPException(400, "date: give a date, such as 2026-03-29") from None
