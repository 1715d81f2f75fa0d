"""The owner's routes: the first password, logging in and out, tokens, health and metrics."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from discreet.errors import DiscreetError
from discreet.gateway.auth.authorization import Authorization, check_origin, check_write, cookie_path, is_secure
from discreet.gateway.auth.login import SESSION, TooManyError
from discreet.gateway.auth.tokens import Token
from discreet.gateway.config.views import WHOLE
from discreet.gateway.metrics import GatewayMetrics
from discreet.gateway.owner.accounts_http import account_routes
from discreet.gateway.slots.nightly import Notice
from discreet.gateway.store.journal.base import JournalError

LATEST = 253_402_300_799
"""The last second of the year 9999."""

UNKNOWN = (("POST", "/v1/owner/first"), ("POST", "/v1/owner/login"), ("POST", "/v1/owner/invitation"))
"""Routes whose body is read before it is known who calls."""


def owner_routes(
    auth: Authorization, metrics: GatewayMetrics, notices: Mapping[str, Notice], settle: Callable[[], None]
) -> list[Route]:
    """What `app` mounts; `notices` fills while it runs, and `settle` erases the past that accounts owe."""
    return [
        *_entering(auth, settle),
        *account_routes(auth, settle),
        *_tokens(auth),
        *_looking(auth, metrics, notices),
    ]


def _entering(auth: Authorization, settle: Callable[[], None]) -> list[Route]:
    """The first password, logging in and out, and an account that is opened."""
    owner = auth.owner

    async def first(request: Request) -> Response:
        check_origin(request)
        given = await document(request, {"token": str, "password": str})
        try:
            cookie = await owner.begin(_address(request), given["token"], given["password"])
        except TooManyError as error:
            raise _too_many(error) from None
        except DiscreetError as error:
            raise HTTPException(403, str(error)) from None
        return _welcomed(request, auth, cookie)

    async def login(request: Request) -> Response:
        check_origin(request)
        given = await document(request, {"password": str, "person": str}, needed={"password"})
        try:
            cookie = await owner.login(_address(request), given["password"], given.get("person"))
        except TooManyError as error:
            raise _too_many(error) from None
        if cookie is None:
            raise HTTPException(401, "the password is wrong")
        return _welcomed(request, auth, cookie)

    async def accept(request: Request) -> Response:
        check_origin(request)
        given = await document(request, {"invitation": str, "password": str})
        try:
            cookie = await owner.accept(_address(request), given["invitation"], given["password"])
        except TooManyError as error:
            raise _too_many(error) from None
        except JournalError:
            raise
        except DiscreetError as error:
            raise HTTPException(403, str(error)) from None
        await run_in_threadpool(settle)
        return _welcomed(request, auth, cookie)

    async def logout(request: Request) -> Response:
        session = auth.session(request)
        if session is not None:
            check_write(request, session)
            owner.logout(request.cookies[auth.cookie_of(request)])
        return _left(request, auth)

    async def everywhere(request: Request) -> Response:
        owner.logout_everywhere(auth.in_person(request).person)
        return _left(request, auth)

    async def change(request: Request) -> Response:
        whose = auth.in_person(request).person
        given = await document(request, {"password": str, "new": str})
        try:
            cookie = await owner.change(_address(request), given["password"], given["new"], whose)
        except TooManyError as error:
            raise _too_many(error) from None
        except JournalError:
            raise
        except DiscreetError as error:
            raise HTTPException(400, str(error)) from None
        if cookie is None:
            raise HTTPException(403, "the current password is wrong")
        return _welcomed(request, auth, cookie)

    async def session(request: Request) -> Response:
        grant = auth.owning(request)
        found = auth.session(request)
        views = {name: sorted(view.groups or ()) for name, view in auth.views_for(grant).items()}
        said = {"csrf": found and found.csrf, "account": grant.person, "people": auth.reach(grant), "views": views}
        return JSONResponse(said)

    async def door(request: Request) -> Response:
        """What a page has to ask before it can ask for a password: no error, for nobody has done anything wrong."""
        several = bool(auth.access.accounts.closed())
        entered = auth.session(request) is not None
        return JSONResponse({"owned": owner.first is None, "entered": entered, "accounts": several})

    return [
        Route("/v1/owner/door", door, methods=["GET"]),
        _post("/v1/owner/first", first),
        _post("/v1/owner/login", login),
        _post("/v1/owner/invitation", accept),
        _post("/v1/owner/logout", logout),
        _post("/v1/owner/logout/everywhere", everywhere),
        _post("/v1/owner/password", change),
        Route("/v1/owner", session, methods=["GET"]),
    ]


def _tokens(auth: Authorization) -> list[Route]:
    """Listed, made and revoked."""
    access = auth.access

    async def tokens(request: Request) -> Response:
        grant = auth.owning(request)
        found = [one for one in access.list() if auth.reaches(grant, one.grant.person)]
        return JSONResponse({"tokens": [described(one) for one in found]})

    async def add(request: Request) -> Response:
        grant = auth.owning(request)
        kinds: dict[str, type] = {"purpose": str, "person": str, "view": str, "now_only": bool, "name": str}
        given = await document(request, kinds | {"expires": int}, needed={"purpose"})
        if given["purpose"] == "owner":
            # A token that ends would make one that does not.
            auth.in_person(request, "log in with the password to make an owner's token")
            auth.administering(request)
        if given.get("expires", 0) > LATEST:
            raise HTTPException(400, "expires: give seconds since 1970, up to the year 9999; or leave it out")
        person, view = given.get("person"), given.get("view", WHOLE)
        served = person is None or (person in auth.people and auth.reaches(grant, person))
        if not served or view not in auth.views_for(grant):
            raise HTTPException(400, "there is no such person, or no such view")
        try:
            token, secret = access.add(**{**given, "person": person})
        except DiscreetError as error:
            raise HTTPException(400, str(error)) from None
        return JSONResponse({"token": token, "secret": secret}, 201)

    async def revoke(request: Request) -> Response:
        grant, name = auth.owning(request), request.path_params["token"]
        found = next((one.grant for one in access.list() if one.grant.token == name), None)
        if found is None or not auth.reaches(grant, found.person) or not access.revoke(name):
            raise HTTPException(404, "there is no such token, or it has ended")
        return Response(status_code=204)

    return [
        Route("/v1/owner/tokens", tokens, methods=["GET"]),
        _post("/v1/owner/tokens", add),
        Route("/v1/owner/tokens/{token}", revoke, methods=["DELETE"]),
    ]


def _looking(auth: Authorization, metrics: GatewayMetrics, notices: Mapping[str, Notice]) -> list[Route]:
    """Notices, metrics and health."""

    async def nightly(request: Request) -> Response:
        theirs = auth.reach(auth.owning(request))
        told = [
            {
                "person": one.person,
                "date": one.date.isoformat(),
                "drifted": one.drifted,
                "holds": one.truth.holds,
                "words": one.words,
            }
            for one in notices.values()
            if one.person in theirs
        ]
        return JSONResponse({"notices": told})

    async def prometheus(request: Request) -> Response:
        theirs = auth.reach(auth.owning(request))
        return PlainTextResponse(await run_in_threadpool(metrics.text, theirs), media_type="text/plain; version=0.0.4")

    async def health(request: Request) -> Response:
        return JSONResponse({"ok": metrics.alive}, 200 if metrics.alive else 503)

    async def ready(request: Request) -> Response:
        """Anybody may know whether; why is for the owner."""
        well = metrics.well
        said: dict[str, object] = {"ready": well}
        if auth.is_owner(request):
            said["reasons"] = metrics.reasons
        return JSONResponse(said, 200 if well else 503)

    async def accept_clock(request: Request) -> Response:
        auth.administering_in_person(request)
        if not metrics.clock.accept():
            raise HTTPException(409, "the clock is fine; there is nothing to accept")
        return Response(status_code=204)

    return [
        Route("/v1/owner/notices", nightly, methods=["GET"]),
        Route("/metrics", prometheus, methods=["GET"]),
        Route("/healthz", health, methods=["GET"]),
        Route("/readyz", ready, methods=["GET"]),
        _post("/v1/owner/clock", accept_clock),
    ]


def described(one: Token) -> dict[str, object]:
    """A token as a list shows it; its secret is nowhere."""
    grant = one.grant
    return {
        "token": grant.token,
        "purpose": grant.purpose,
        "person": grant.person,
        "view": grant.view,
        "now_only": grant.now_only,
        "name": one.name,
        "made": one.made,
        "expires": one.expires,
        "used": one.used,
        "revoked": one.revoked,
    }


def _post(path: str, call: Callable[[Request], Any]) -> Route:
    return Route(path, call, methods=["POST"])


def _welcomed(request: Request, auth: Authorization, cookie: str) -> Response:
    session = auth.owner.session(cookie)
    assert session is not None  # it was just opened
    answer = JSONResponse({"csrf": session.csrf})
    name, secure = auth.cookie_of(request), is_secure(request)
    path = cookie_path(request)
    answer.set_cookie(name, cookie, max_age=int(SESSION), secure=secure, httponly=True, samesite="strict", path=path)
    return answer


def _left(request: Request, auth: Authorization) -> Response:
    answer = Response(status_code=204)
    name, secure, path = auth.cookie_of(request), is_secure(request), cookie_path(request)
    answer.delete_cookie(name, path, secure=secure, httponly=True, samesite="strict")
    return answer


def _too_many(error: TooManyError) -> HTTPException:
    return HTTPException(429, str(error), {"Retry-After": str(math.ceil(error.wait))})


def _address(request: Request) -> str:
    return "" if request.client is None else request.client.host


async def document(request: Request, kinds: dict[str, type], needed: set[str] | None = None) -> dict[str, Any]:
    """A JSON object with these keys, and of these kinds. A form of another site cannot send one."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "send JSON, as application/json")
    try:
        given = orjson.loads(await request.body())
    except orjson.JSONDecodeError:
        raise HTTPException(400, "the body is not JSON") from None
    needed = set(kinds) if needed is None else needed
    if not isinstance(given, dict) or not needed <= given.keys() <= kinds.keys():
        raise HTTPException(400, f"send an object with {', '.join(sorted(kinds))}")
    for key, value in given.items():
        if type(value) is not kinds[key] or (isinstance(value, str) and len(value) > 2000):
            raise HTTPException(400, f"{key} is of the wrong kind")
    return given
