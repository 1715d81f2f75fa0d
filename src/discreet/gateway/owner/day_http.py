"""The routes of the owner's page: the days of a person, what was believed, the map, and days of pause."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from discreet.errors import DiscreetError
from discreet.gateway.auth.authorization import Authorization
from discreet.gateway.owner.beliefs import Watching
from discreet.gateway.owner.calendar import MOST, STRIPS, CalendarDays
from discreet.gateway.owner.day import beliefs_of, day_of, days_of, places_of
from discreet.gateway.owner.http import document
from discreet.gateway.owner.past import Pasts
from discreet.gateway.runtime import Gateway
from discreet.gateway.slots.pauses import AHEAD
from discreet.gateway.slots.person import believed
from discreet.gateway.slots.sources import Use, sources_of
from discreet.gateway.store.journal.base import JournalError
from discreet.gateway.wires.http import LAST_SLOT
from discreet.session import Session

DONE = object()

BROKER = ("telling the broker", "readings from the broker")
"""What health calls the two wires to it."""

FIRST_YEAR = 1970
"""Before it, and in the last year that there is, times of day cannot be told in all zones."""


def day_routes(gateway: Gateway, auth: Authorization, pasts: Pasts, *, broker: bool = False) -> list[Route]:
    """What `app` mounts; all of it is for the owner who has logged in. `broker` says whether there is one."""
    watching, calendar_days = Watching(), CalendarDays(gateway)

    def session_of(person: str) -> Session:
        return gateway.keeper.people[person].session

    async def days(request: Request) -> Response:
        person = auth.present(request)
        return JSONResponse(await run_in_threadpool(days_of, gateway, person, auth.people[person].clock))

    async def day(request: Request) -> Response:
        person = auth.present(request)
        date, first = _date(request), _first(request)
        steps = gateway.keeper.explain(person, date)  # a slot a step: one that ends meanwhile waits for no more
        while await gateway.between_slots(partial(next, steps, DONE)) is not DONE:
            pass
        return JSONResponse(await run_in_threadpool(day_of, gateway, person, auth.people[person].clock, date, first))

    async def calendar(request: Request) -> Response:
        person = auth.present(request)
        strips = "strips" in request.query_params
        dates = _dates(request, STRIPS if strips else MOST)
        clock = auth.people[person].clock
        found = await run_in_threadpool(partial(calendar_days.of, person, clock, dates, strips=strips))
        return JSONResponse({"days": found})

    async def beliefs(request: Request) -> Response:
        person = auth.present(request)
        date = _date(request)
        whole = "lines" not in request.query_params
        with suppress(DiscreetError):  # there are none of that date, which is said below
            while not await gateway.between_slots(lambda: watching.follow(person, session_of(person), date)):
                pass
        found = await gateway.between_slots(lambda: beliefs_of(watching, person, session_of(person), date, whole=whole))
        return JSONResponse(found)

    async def past(request: Request) -> Response:
        person = auth.present(request)
        order = await gateway.between_slots(partial(pasts.order, person))
        return JSONResponse(await run_in_threadpool(pasts.document, person, order))

    async def sources(request: Request) -> Response:
        person = auth.present(request)
        names = {one.grant.token: one.name for one in auth.access.list()}
        now, own, config = gateway.wall(), gateway.keeper.own, gateway.keeper.people[person].config

        def looked() -> list[dict[str, Any]]:
            newest = believed(own, config, now)

            def use(source: str) -> Use:
                return "believed" if source == newest else "others" if config.counts(source) else "ignored"

            return sources_of(own, person, now, names, use)

        found = await run_in_threadpool(looked)
        away = any(one.what in BROKER for one in gateway.health.reasons) if broker else None
        told = {"refused": gateway.refused.of(person), "now": now, "broker": away}
        return JSONResponse({"sources": found, "phone": config.phone, **told})

    async def places(request: Request) -> Response:
        person = auth.present(request)
        return JSONResponse({"places": places_of(auth.people[person].places)})

    path = "/v1/owner/people/{person}"
    return [
        Route(f"{path}/days", days, methods=["GET"]),
        Route(f"{path}/day", day, methods=["GET"]),
        Route(f"{path}/glance", calendar, methods=["GET"]),
        Route(f"{path}/beliefs", beliefs, methods=["GET"]),
        Route(f"{path}/past", past, methods=["GET"]),
        Route(f"{path}/sources", sources, methods=["GET"]),
        Route(f"{path}/places", places, methods=["GET"]),
    ]


def pause_routes(gateway: Gateway, auth: Authorization) -> list[Route]:
    """What `app` mounts: a person's pauses announced, looked at, taken back."""
    keeper = gateway.keeper

    def described(person: str) -> dict[str, Any]:
        today, _ = keeper.people[person].next
        pauses = [{"first": first.isoformat(), "last": last.isoformat()} for first, last in keeper.pauses.of(person)]
        return {"earliest": (today + AHEAD).isoformat(), "today": today.isoformat(), "pauses": pauses}

    async def asked(call: Callable[[], Any]) -> Any:
        try:
            return await gateway.between_slots(call)
        except JournalError:
            raise
        except DiscreetError as error:
            raise HTTPException(400, str(error)) from None

    async def look(request: Request) -> Response:
        return JSONResponse(await asked(partial(described, auth.present(request))))

    async def announce(request: Request) -> Response:
        person = auth.present(request)
        given = await document(request, {"first": str, "last": str}, needed={"first", "last"})
        first, last = _as_date(given["first"]), _as_date(given["last"])
        await asked(lambda: keeper.pauses.announce(keeper.people[person], first, last))
        return JSONResponse(await asked(partial(described, person)))

    async def take_back(request: Request) -> Response:
        person = auth.present(request)
        first = _as_date(request.path_params["first"])
        await asked(lambda: keeper.pauses.take_back(keeper.people[person], first))
        return JSONResponse(await asked(partial(described, person)))

    path = "/v1/owner/people/{person}/pauses"
    return [
        Route(path, look, methods=["GET"]),
        Route(path, announce, methods=["POST"]),
        Route(f"{path}/{{first}}", take_back, methods=["DELETE"]),
    ]


def _as_date(text: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise HTTPException(400, "first, last: give dates, such as 2026-03-29") from None


def _date(request: Request, name: str = "date") -> dt.date:
    try:
        found = dt.date.fromisoformat(request.query_params[name])
        if not FIRST_YEAR <= found.year < dt.MAXYEAR:
            raise ValueError
        return found
    except (KeyError, ValueError):
        raise HTTPException(400, f"{name}: give a date, such as 2026-03-29") from None


def _dates(request: Request, most: int) -> list[dt.date]:
    first, last = _date(request, "from"), _date(request, "to")
    days = (last - first).days + 1
    if not 1 <= days <= most:
        raise HTTPException(400, f"from, to: give up to {most} days, the first first")
    return [first + dt.timedelta(days=k) for k in range(days)]


def _first(request: Request) -> int:
    try:
        return min(LAST_SLOT, max(0, int(request.query_params.get("first", "0"))))
    except ValueError:
        raise HTTPException(400, "first: give the number of a slot") from None
