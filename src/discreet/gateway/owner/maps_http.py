"""The routes of the page's map: looked at and drawn, by the owner in person; and the owner's own tiles."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from discreet.errors import DiscreetError
from discreet.gateway.auth.authorization import Authorization
from discreet.gateway.owner.maps import MapChangedError, Maps, added, removed, renamed, reshaped, shape_of
from discreet.gateway.owner.tiles import Tiles
from discreet.gateway.owner.tiles import described as tiles_described
from discreet.gateway.owner.unexplained import unexplained
from discreet.gateway.runtime import Gateway
from discreet.gateway.store.journal.base import JournalError
from discreet.places.named import Places

LONGEST = 9
"""Digits of a tile's number."""

Change = Callable[[Places], Places]


def map_routes(
    gateway: Gateway,
    auth: Authorization,
    maps: Maps,
    redrawn: Callable[[str, Places], None],
    tiles: Tiles | None = None,
) -> list[Route]:
    """What `app` mounts; all of it is for the owner who has logged in. `redrawn` is told of a map that is in force."""

    async def described(person: str) -> dict[str, Any]:
        try:
            found = await gateway.between_slots(partial(maps.described, person))
        except JournalError:
            raise
        except DiscreetError as error:  # a file that somebody has edited
            raise HTTPException(400, str(error)) from None
        return found | {"tiles": tiles_described(tiles)}

    async def look(request: Request) -> Response:
        return JSONResponse(await described(auth.present(request)))

    async def change(request: Request) -> Response:
        person = auth.present(request)
        given = _given(await request.body())
        try:
            said = await gateway.between_slots(partial(maps.change, person, given["version"], _change(given)))
        except MapChangedError as error:
            raise HTTPException(409, str(error)) from None
        except JournalError:
            raise
        except DiscreetError as error:
            raise HTTPException(400, str(error)) from None
        if given.get("do") == "rename":
            await gateway.between_slots(partial(maps.recolour, person, given["name"], given["to"].strip()))
        for name, places in said.taken.items():
            redrawn(name, places)
        return JSONResponse(await described(person) | {"said": {"at_once": bool(said.taken), "words": said.waits}})

    async def discard(request: Request) -> Response:
        person = auth.present(request)
        try:
            await gateway.between_slots(partial(maps.discard, person))
        except DiscreetError as error:
            raise HTTPException(400, str(error)) from None
        return JSONResponse(await described(person))

    async def left(request: Request) -> Response:
        person = auth.present(request)
        config = gateway.keeper.people[person].config
        try:
            drawn = await gateway.between_slots(partial(maps.drawn, person))
        except DiscreetError as error:  # a file that somebody has edited
            raise HTTPException(400, str(error)) from None
        asked = partial(unexplained, gateway.keeper.own, person, drawn, config.clock, config.hold, gateway.wall())
        return JSONResponse(await run_in_threadpool(asked))

    async def colours(request: Request) -> Response:
        person = auth.present(request)
        try:
            return JSONResponse(await gateway.between_slots(partial(maps.colours, person)))
        except JournalError:
            raise
        except DiscreetError as error:  # a file that somebody has edited
            raise HTTPException(400, str(error)) from None

    async def tile(request: Request) -> Response:
        auth.in_person(request)
        at = [_coordinate(request.path_params[key]) for key in ("zoom", "x", "y")]
        found = None if tiles is None else await run_in_threadpool(tiles.tile, *at)
        if found is None:
            return Response(status_code=204)  # most maps end somewhere, and that is no mistake
        return Response(found[0], media_type=found[1], headers={"Cache-Control": "private, max-age=86400"})

    path = "/v1/owner/people/{person}/map"
    return [
        Route(path, look, methods=["GET"]),
        Route(path, change, methods=["POST"]),
        Route(f"{path}/drawn", discard, methods=["DELETE"]),
        Route(f"{path}/unexplained", left, methods=["GET"]),
        Route("/v1/owner/people/{person}/colours", colours, methods=["GET"]),
        Route("/v1/owner/tiles/{zoom}/{x}/{y}", tile, methods=["GET"]),
    ]


def _coordinate(text: str) -> int:
    """A number of a tile's address; Starlette's own converter fails for one of thousands of digits."""
    if not (text.isascii() and text.isdigit() and len(text) <= LONGEST):
        raise HTTPException(404, "there is no such tile")
    return int(text)


def _given(body: bytes) -> dict[str, Any]:
    try:
        given = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise HTTPException(400, "the body is not JSON") from None
    if not isinstance(given, dict) or not isinstance(given.get("version"), str):
        raise HTTPException(400, "send an object with version, and what is to be done")
    return given


def _change(given: dict[str, Any]) -> Change:
    """What a request asks for; an error names what is missing."""
    does = {
        "add": lambda: added(_text(given, "name"), shape_of(given.get("shape"))),
        "redraw": lambda: reshaped(_number(given), shape_of(given.get("shape"))),
        "rename": lambda: renamed(_text(given, "name"), _text(given, "to")),
        "remove": lambda: removed(_number(given)),
    }
    made = does.get(str(given.get("do")))
    if made is None:
        raise DiscreetError(f"do: give one of {', '.join(does)}")
    return made()


def _text(given: dict[str, Any], key: str) -> str:
    value = given.get(key)
    if not isinstance(value, str):
        raise DiscreetError(f"{key}: give a place's name")
    return value


def _number(given: dict[str, Any]) -> int:
    value = given.get("number")
    if not isinstance(value, int) or isinstance(value, bool):
        raise DiscreetError("number: give a place's number, as the map has it")
    return value
