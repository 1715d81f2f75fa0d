"""The routes of secrets: looked at, tried out, previewed, saved. For the owner who has logged in, and nobody else."""

from __future__ import annotations

import asyncio
import datetime as dt
import secrets
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from discreet.contexts import Day
from discreet.errors import DiscreetError
from discreet.gateway.auth.authorization import Authorization
from discreet.gateway.owner.day import day_of
from discreet.gateway.owner.http import document
from discreet.gateway.owner.preview import PreviewWork
from discreet.gateway.owner.previews import Previews, TooManyPreviewsError
from discreet.gateway.owner.secrets import (
    PolicyChangedError,
    PolicyFiles,
    checked,
    draft_of,
    save,
    secrets_of,
    trial_of,
)
from discreet.gateway.owner.trial import Trial
from discreet.gateway.runtime import CHANGE_TAKES, Gateway
from discreet.gateway.slots.nightly import days_of
from discreet.gateway.store.journal.base import JournalError
from discreet.policy import Policy

DRAFT: dict[str, type] = {"secrets": list}

REAL_DAYS = 7
"""Days of the past that are told again under a draft."""

T = TypeVar("T")


def secrets_routes(gateway: Gateway, auth: Authorization, files: PolicyFiles, previews: Previews) -> list[Route]:
    """What `app` mounts."""
    looks = _Looks(gateway, auth, files, previews)
    path = "/v1/owner/people/{person}/secrets"
    return [
        Route(path, looks.look, methods=["GET"]),
        Route(path, looks.put, methods=["PUT"]),
        Route(f"{path}/check", looks.check, methods=["POST"]),
        Route(f"{path}/try", looks.attempt, methods=["POST"]),
        *_preview_routes(looks, previews, f"{path}/preview"),
    ]


class _Looks:
    """Secrets and drafts of them."""

    def __init__(self, gateway: Gateway, auth: Authorization, files: PolicyFiles, previews: Previews) -> None:
        self.gateway, self.auth, self.files, self.previews = gateway, auth, files, previews
        self._one_draft = asyncio.Semaphore(1)  # more at a time would take the processor from slots

    async def look(self, request: Request) -> Response:
        """What is in force and announced."""
        person = self.auth.present(request)
        return JSONResponse(await run_in_threadpool(secrets_of, self.gateway.keeper, self.files, person))

    async def check(self, request: Request) -> Response:
        """What a draft means, as it is made, or why it would be refused: nobody has done anything wrong yet."""
        person = self.auth.present(request)
        given = await document(request, DRAFT)
        try:
            _, meant = await self.draft(person, given)
        except HTTPException as refused:
            meant = {"refused": refused.detail}
        return JSONResponse(meant)

    async def attempt(self, request: Request) -> Response:
        """What a change to a draft would be; nothing changes."""
        person = self.auth.present(request)
        policy, meant = await self.draft(person, await document(request, DRAFT))
        trial = await self.trial(person, policy)
        return JSONResponse({**meant, **await _asked(partial(self.previews.tried, trial))})

    async def put(self, request: Request) -> Response:
        """Save a draft; it is announced, and holds from the cut after next on."""
        person = self.auth.present(request)
        given = await document(request, DRAFT | {"of": str})
        policy, _ = await self.draft(person, given)
        keeper = self.gateway.keeper
        saving = partial(save, keeper, self.files, person, policy, given["of"])
        await _asked(partial(self.gateway.between_slots, saving, takes=CHANGE_TAKES))
        await self.gateway.between_slots(partial(keeper.prepare, person), takes=CHANGE_TAKES)
        return JSONResponse(await run_in_threadpool(secrets_of, keeper, self.files, person))

    async def draft(self, person: str, given: dict[str, Any]) -> tuple[Policy, dict[str, Any]]:
        """The policy that was sent, and what it means."""
        keeper = self.gateway.keeper

        def read() -> tuple[Policy, dict[str, Any]]:
            config = keeper.people[person].config
            policy = draft_of(given["secrets"], config.policy, config.routine)
            return policy, checked(keeper, person, policy)

        async with self._one_draft:
            return await _asked(partial(run_in_threadpool, read))

    async def trial(self, person: str, policy: Policy) -> Trial:
        """The session as it is between two slots, for a process to try a change on."""
        return await self.gateway.between_slots(partial(trial_of, self.gateway.keeper, person, policy))


def _preview_routes(looks: _Looks, previews: Previews, path: str) -> list[Route]:
    gateway, auth = looks.gateway, looks.auth

    async def begin(request: Request) -> Response:
        person = auth.present(request)
        policy, _ = await looks.draft(person, await document(request, DRAFT))
        trial = await looks.trial(person, policy)
        config = gateway.keeper.people[person].config
        real = await run_in_threadpool(real_days, gateway, person)
        seed = secrets.randbits(62)
        work = PreviewWork(config.routine, config.spec, config.policy, policy, tuple(real), seed, trial=trial)
        shown = await run_in_threadpool(_shown, gateway, person, real)
        try:
            name = await previews.start(person, work, partial(_beside, shown))
        except TooManyPreviewsError as error:
            raise HTTPException(429, str(error), {"Retry-After": "5"}) from None
        return JSONResponse({"preview": name}, 202)

    async def state(request: Request) -> Response:
        found = previews.state(auth.present(request), request.path_params["preview"])
        if found is None:
            raise HTTPException(404, "there is no such preview, or it has ended")
        return JSONResponse(found)

    async def cancel(request: Request) -> Response:
        if not await previews.cancel(auth.present(request), request.path_params["preview"]):
            raise HTTPException(404, "there is no such preview, or it has ended")
        return Response(status_code=204)

    return [
        Route(path, begin, methods=["POST"]),
        Route(f"{path}/{{preview}}", state, methods=["GET"]),
        Route(f"{path}/{{preview}}", cancel, methods=["DELETE"]),
    ]


def real_days(gateway: Gateway, person: str) -> list[Day]:
    """The last days up to the last slot that was told, as far as what was true is kept."""
    shown = gateway.shown(person)
    if shown is None:
        return []
    slots = gateway.keeper.people[person].config.clock.slots
    return days_of(gateway.keeper.own, person, slots, shown[0] - dt.timedelta(days=REAL_DAYS - 1), shown[0])


def _shown(gateway: Gateway, person: str, real: list[Day]) -> list[dict[str, Any]]:
    clock = gateway.keeper.people[person].config.clock
    return [day_of(gateway, person, clock, day.date) for day in real if day.date is not None]


def _beside(shown: list[dict[str, Any]], result: dict[str, Any]) -> dict[str, Any]:
    """What would have been told beside what was: of slots that were told, and no others."""
    would = result.pop("would")
    for day in shown:
        for slot, output in zip(day["slots"], would[day["date"]], strict=True):
            slot["would"] = None if slot["told"] is None else output
    return {**result, "days": shown}


async def _asked(call: Callable[[], Awaitable[T]]) -> T:
    """What a call answers; what the library refuses is said in its words."""
    try:
        return await call()
    except JournalError:
        raise
    except PolicyChangedError as error:
        raise HTTPException(409, str(error)) from None
    except DiscreetError as error:
        raise HTTPException(400, str(error)) from None
