"""What every request passes first: the names that are answered to, whose word on addresses is taken, how much may come.

It also sends what every answer carries, and sees to it that nothing of an error leaves: an error's text may hold what
was read.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Collection, Iterable
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOG = logging.getLogger("discreet.gateway.guard")

BODY = 1 << 20
"""Bytes of a request's body."""

PATIENCE = 30.0
"""Seconds in which a body has to be there."""

HEADERS = (
    (b"content-security-policy", b"default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
)

UNSTORED = (b"cache-control", b"no-store")


class RefusedError(Exception):
    """A request that goes no further."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status, self.words = status, words


class Guard:
    """Stands before an application; `counted` is called with the status of each answer.

    Bodies of `streamed` (method and path) are left to their route, which knows who calls before it reads, and bounds
    them itself.
    """

    def __init__(
        self,
        app: ASGIApp,
        hosts: Collection[str],
        proxies: Collection[str] = (),
        *,
        most: int = BODY,
        patience: float = PATIENCE,
        streamed: Collection[tuple[str, str]] = (),
        counted: Callable[[int], None] = lambda status: None,
    ) -> None:
        self._app, self._proxies = app, frozenset(proxies)
        self._hosts = frozenset(host.lower() for host in hosts)
        self._most, self._patience, self._counted = most, patience, counted
        self._streamed = frozenset(streamed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the application's life."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        answering = _Answering(send, self._counted)
        try:
            headers = [(name.lower(), value) for name, value in scope["headers"]]
            self._check_host(headers)
            scope = self._seen_through_proxies(scope, headers)
            if (scope["method"], scope["path"]) not in self._streamed:
                receive = _replayed(await self._body(scope, headers, receive), receive)
            await self._app(scope, receive, answering)
        except RefusedError as refused:
            await answering.refuse(refused.status, refused.words)
        except Exception as error:  # whatever it says may be private: its kind and no more is written down
            LOG.error("a request failed", extra={"kind": type(error).__name__, "method": scope["method"]})
            await answering.refuse(500, "this failed, and the reason is in the log")

    def _check_host(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """A name that is not ours is a page of somebody else's whose name was made to lead here (DNS rebinding)."""
        given = [value.decode("latin-1").strip().lower() for name, value in headers if name == b"host"]
        if len(given) != 1:
            raise RefusedError(400, "a request names one host")
        name, _, port = given[0].rpartition(":") if not given[0].endswith("]") else (given[0], "", "")
        if (name if name and port.isdigit() else given[0]) not in self._hosts:
            raise RefusedError(421, "this name is not served here; add it to server.hosts in discreet.toml")

    def _seen_through_proxies(self, scope: Scope, headers: list[tuple[bytes, bytes]]) -> Scope:
        forwarded = {name: value.decode("latin-1") for name, value in headers if b"forwarded" in name}
        if not forwarded:
            return scope
        client = scope.get("client")
        if client is None or client[0] not in self._proxies:
            raise RefusedError(400, "X-Forwarded headers are taken from server.proxies of discreet.toml alone")
        hops = [one.strip() for one in forwarded.get(b"x-forwarded-for", "").split(",")]
        outer = [one for one in hops if one and one not in self._proxies]
        changed: dict[str, Any] = {**scope, "client": (outer[-1] if outer else client[0], 0)}
        if forwarded.get(b"x-forwarded-proto") in ("http", "https"):
            changed["scheme"] = forwarded[b"x-forwarded-proto"]
        return changed

    async def _body(self, scope: Scope, headers: Iterable[tuple[bytes, bytes]], receive: Receive) -> bytes:
        """The whole body, before anybody works for it."""
        too_much = f"a body has at most {self._most} bytes; send less at a time"
        length = next((value for name, value in headers if name == b"content-length"), b"0")
        if length.isdigit() and int(length[:20]) > self._most:
            raise RefusedError(413, too_much)
        if scope["method"] in ("GET", "HEAD") and length == b"0":
            return b""
        body = bytearray()
        try:
            async with asyncio.timeout(self._patience):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise RefusedError(400, "the body ended early")
                    body += message.get("body", b"")
                    if len(body) > self._most:
                        raise RefusedError(413, too_much)
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            raise RefusedError(408, "the body took too long") from None


class _Answering:
    """Sends an answer with the headers that all have, and can still refuse while none has begun."""

    def __init__(self, send: Send, counted: Callable[[int], None]) -> None:
        self._send, self._counted, self._begun = send, counted, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._begun = True
            self._counted(message["status"])
            given = [(name.lower(), value) for name, value in message.get("headers", [])]
            names = {name for name, _ in given}
            message = {**message, "headers": given + [one for one in (*HEADERS, UNSTORED) if one[0] not in names]}
        await self._send(message)

    async def refuse(self, status: int, words: str) -> None:
        """Answer with an error, unless an answer has begun."""
        if self._begun:
            return
        body = json.dumps({"error": words}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        if status in (408, 413):
            headers.append((b"connection", b"close"))  # what is left of the body is not read
        await self({"type": "http.response.start", "status": status, "headers": headers})
        await self({"type": "http.response.body", "body": body})


def _replayed(body: bytes, receive: Receive) -> Receive:
    given = False

    async def next_message() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return next_message
