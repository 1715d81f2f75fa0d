"""What every request passes first: the names that are answered to, whose word on addresses is taken, how much may come.

A body is read when its route asks for it, which is after it knows who calls: nothing is held in memory for a stranger.
It also sends what every answer carries, and sees to it that nothing of an error leaves: an error's text may hold what
was read.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import suppress
from typing import Any

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.gateway.wires.prefix import PrefixError, ingress_of, placed_below, told_by_home_assistant, within

LOG = logging.getLogger("discreet.gateway.wires.guard")

BODY = 1 << 20
"""Bytes of a request's body."""

UNKNOWN_BODY = 4096
"""Bytes of a body that is read from somebody who is not known yet: a password, or the first token and a password."""

LINGERING = 1.0
"""Seconds in which a body that nobody wants is read and forgotten, if it is no longer than others may send: a socket
that is closed before that sends a reset, which may overtake the answer."""

PATIENCE = 30.0
"""Seconds in which a body has to be there, once it is asked for."""

POLICY = b"default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors "

UNFRAMED = ((b"content-security-policy", POLICY + b"'none'"), (b"x-frame-options", b"DENY"))

FRAMED = ((b"content-security-policy", POLICY + b"'self'"), (b"x-frame-options", b"SAMEORIGIN"))
"""By ingress Home Assistant shows the page in a frame, of the same origin."""

HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)

UNSTORED = (b"cache-control", b"no-store")

TLS_ONLY = (b"strict-transport-security", b"max-age=31536000")
"""For a year browsers come to this name over TLS alone, whatever port is asked for."""

STRANGER = (401, 403, 404, 405)
"""Answers to somebody who is not let in."""


class RequestRefusedError(Exception):
    """A request that goes no further."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status, self.words = status, words


class Guard:
    """Stands before an application; `counted` is called with the status of each answer.

    Bodies of `streamed` (method and path) are bounded by their route itself. Those of `unknown` are of anybody, and
    short.
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
        unknown: Collection[tuple[str, str]] = (),
        tls_only: bool = True,
        root_path: str = "",
        ingress: str | None = None,
        counted: Callable[[int], None] = lambda status: None,
        turn: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`turn` is waited for before a request is begun; `ingress` is the Supervisor's address."""
        self._app, self._proxies = app, frozenset(proxies)
        self._root_path, self._ingress = root_path, ingress
        self._hosts = frozenset(host.lower() for host in hosts)
        self._most, self._patience, self._counted = most, patience, counted
        self._streamed, self._unknown = frozenset(streamed), frozenset(unknown)
        self._tls_only, self._turn = tls_only, turn

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
        if self._turn is not None:
            await self._turn()
        try:
            headers = [(name.lower(), value) for name, value in scope["headers"]]
            ingress = self._ingress_of(scope, headers)
            if ingress is None:
                self._check_host(headers)
            else:  # Home Assistant has let its administrator in, by whatever name it is reached
                answering.framing = FRAMED
                scope = {**scope, "headers": told_by_home_assistant(headers)}
            scope = self._seen_through_proxies(scope, headers)
            scope = placed_below(scope, self._root_path if ingress is None else ingress)
            if scope["root_path"] and not within(scope):
                await answering.lead(scope["root_path"] + "/")
                return
            if self._tls_only and ingress is None and scope["scheme"] == "https":
                answering.also = (TLS_ONLY,)
            answering.body = body = self._body(scope, headers, receive)
            await self._app(scope, body, answering)
        except RequestRefusedError as refused:
            await answering.refuse(refused.status, refused.words)
        except Exception as error:  # whatever it says may be private: its kind and no more is written down
            LOG.error("a request failed", extra={"kind": type(error).__name__, "method": scope["method"]})
            await answering.refuse(500, "this failed, and the reason is in the log")

    def _body(self, scope: Scope, headers: list[tuple[bytes, bytes]], receive: Receive) -> _Body:
        """The body with its limits; one that says that it is too long is refused at once."""
        route = (scope["method"], within(scope))
        given = dict(headers)
        length = given.get(b"content-length", b"0")
        sent = length != b"0" or b"transfer-encoding" in given
        short = b"expect" not in given and length.isdigit() and int(length[:20]) <= self._most
        if route in self._streamed:
            return _Body(receive, sent, None, None, short)
        most = min(self._most, UNKNOWN_BODY) if route in self._unknown else self._most
        if length.isdigit() and int(length[:20]) > most:
            raise RequestRefusedError(413, TOO_MUCH.format(most))
        return _Body(receive, sent, most, self._patience, short)

    def _ingress_of(self, scope: Scope, headers: list[tuple[bytes, bytes]]) -> str | None:
        client = scope.get("client")
        try:
            return ingress_of(headers, None if client is None else client[0], self._ingress)
        except PrefixError as error:
            raise RequestRefusedError(400, str(error)) from None

    def _check_host(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """A name that is not ours is a page of somebody else's whose name was made to lead here (DNS rebinding)."""
        given = [value.decode("latin-1").strip().lower() for name, value in headers if name == b"host"]
        if len(given) != 1:
            raise RequestRefusedError(400, "a request names one host")
        name, _, port = given[0].rpartition(":") if not given[0].endswith("]") else (given[0], "", "")
        if (name if name and port.isdigit() else given[0]) not in self._hosts:
            raise RequestRefusedError(421, "this name is not served here; add it to server.hosts in discreet.toml")

    def _seen_through_proxies(self, scope: Scope, headers: list[tuple[bytes, bytes]]) -> Scope:
        forwarded = {name: value.decode("latin-1") for name, value in headers if b"forwarded" in name}
        if not forwarded:
            return scope
        client = scope.get("client")
        if client is None or client[0] not in self._proxies:
            raise RequestRefusedError(400, "X-Forwarded headers are taken from server.proxies of discreet.toml alone")
        hops = [one.strip() for one in forwarded.get(b"x-forwarded-for", "").split(",")]
        outer = [one for one in hops if one and one not in self._proxies]
        changed: dict[str, Any] = {**scope, "client": (outer[-1] if outer else client[0], 0)}
        if forwarded.get(b"x-forwarded-proto") in ("http", "https"):
            changed["scheme"] = forwarded[b"x-forwarded-proto"]
        return changed


TOO_MUCH = "a body has at most {} bytes; send less at a time"
CLOSING = {"Connection": "close"}
"""What is left of the body is not read."""


class _Body:
    """A request's messages as a route receives them; a body that is too long or too slow ends with an answer."""

    def __init__(self, receive: Receive, sent: bool, most: int | None, patience: float | None, short: bool) -> None:
        self._receive, self._most, self._patience, self._short = receive, most, patience, short
        self.left = sent
        """Whether there is a body that nobody has read to its end."""
        self.bounded = most is not None
        self._whole, self._read = False, 0
        self._until: float | None = None

    async def __call__(self) -> Message:
        """The next message."""
        if self._whole:
            return await self._receive()
        if self._patience is not None and self._until is None:
            self._until = asyncio.get_running_loop().time() + self._patience
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, "the body took too long", CLOSING) from None
        if message["type"] == "http.disconnect":
            if self.left and self.bounded:
                raise HTTPException(400, "the body ended early", CLOSING)
            return message
        self._read += len(message.get("body", b""))
        if self._most is not None and self._read > self._most:
            raise HTTPException(413, TOO_MUCH.format(self._most), CLOSING)
        if not message.get("more_body", False):
            self._whole, self.left = True, False
        return message

    async def drop(self) -> None:
        """Read the rest and forget it, piece by piece; what takes longer, or says that it is longer, is left."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGERING):
                while self._short and self.left and self._read <= BODY:
                    message = await self._receive()
                    self._read += len(message.get("body", b""))
                    self.left = message["type"] == "http.request" and message.get("more_body", False)


class _Answering:
    """Sends an answer with the headers that all have, and can still refuse while none has begun."""

    def __init__(self, send: Send, counted: Callable[[int], None]) -> None:
        self._send, self._counted, self._begun = send, counted, False
        self.body: _Body | None = None
        self.framing = UNFRAMED
        self.also: tuple[tuple[bytes, bytes], ...] = ()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._begun = True
            self._counted(message["status"])
            given = [(name.lower(), value) for name, value in message.get("headers", [])]
            names = {name for name, _ in given}
            more = [one for one in (*self.framing, *HEADERS, UNSTORED, *self.also) if one[0] not in names]
            if await self._hangs_up(message["status"]) and b"connection" not in names:
                more.append((b"connection", b"close"))
            message = {**message, "headers": given + more}
        await self._send(message)

    async def _hangs_up(self, status: int) -> bool:
        """Whether to hang up rather than wait for a body that nobody wants; who uploads a file may hear why not."""
        body = self.body
        if body is None or not (body.bounded or status in STRANGER):
            return False
        await body.drop()
        return body.left

    async def lead(self, where: str) -> None:
        """To the page, whose addresses are relative to a folder: the prefix alone is none without its last slash."""
        headers = [(b"location", where.encode()), (b"content-length", b"0")]
        await self({"type": "http.response.start", "status": 307, "headers": headers})
        await self({"type": "http.response.body", "body": b""})

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
