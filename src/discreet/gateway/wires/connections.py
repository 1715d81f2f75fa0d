"""Connections, before anything of a request is known: how many, how large a request's head may be, and how slow.

Uvicorn leaves all of that open: one that sends headers for ever is listened to for ever. TLS begins here too, because
asyncio would show a connection only after its handshake: connections that never finish one would not be counted. What
is refused here writes no line, because a stranger would fill the log.
"""

from __future__ import annotations

import asyncio
import ssl
from asyncio.sslproto import SSLProtocol
from collections import Counter
from collections.abc import Collection
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.protocols.utils import get_remote_addr

from discreet.gateway.rate_limits import household

HEAD_BYTES = 32 * 1024
"""Of a request's line and headers together."""

HEADERS = 100
"""Headers of a request."""

HEAD_SECONDS = 10.0
"""In which a request's head has to be there, from the connection or from the request's first byte."""

AT_ONCE = 16 * 1024
"""Bytes that are parsed before the limits are looked at again: by so many a head may be larger."""

REFUSED = {400: b"this is no HTTP request", 408: b"the request took too long", 431: b"the headers are too large"}


class Connections:
    """How many are open: of one address (proxies are not counted so, for they speak for many), and in all."""

    def __init__(self, of_one: int, in_all: int, proxies: Collection[str] = ()) -> None:
        self.of_one, self.in_all = of_one, in_all
        self._proxies = frozenset(map(household, proxies))
        self._open: Counter[str] = Counter()
        self._all = 0

    def enter(self, address: str) -> bool:
        """Count one in, if there is room for it."""
        caller = household(address)
        crowded = caller not in self._proxies and self._open[caller] >= self.of_one
        if crowded or self._all >= self.in_all:
            return False
        self._open[caller] += 1
        self._all += 1
        return True

    def leave(self, address: str) -> None:
        """Count one out."""
        caller = household(address)
        self._open[caller] -= 1
        self._all -= 1
        if self._open[caller] <= 0:
            del self._open[caller]

    def __len__(self) -> int:
        return self._all


class HeadError(Exception):
    """The head of a request is too large."""


class Limited(HttpToolsProtocol):
    """Uvicorn's protocol with limits; `limited` gives a class with the connections to count in."""

    counted: Connections
    tls: ssl.SSLContext | None = None
    head_seconds = HEAD_SECONDS

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._due: asyncio.TimerHandle | None = None
        self._head, self._in_head = 0, True
        self._counted_as: str | None = None

    # --- the connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Count it in, or hang up; over TLS it is made once more, when the handshake is done."""
        if self._counted_as is None and not self._count_in(transport):
            transport.abort()
        elif self.tls is not None and transport.get_extra_info("sslcontext") is None:
            secure = Secure(self, self.tls)
            transport.set_protocol(secure)
            secure.connection_made(transport)
        else:
            super().connection_made(transport)
            self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Count it out."""
        if self.transport is not None:  # uvicorn knows of it
            super().connection_lost(exc)
        self._stop_waiting()
        self.count_out()

    def _count_in(self, transport: asyncio.Transport) -> bool:
        client = get_remote_addr(transport)
        address = "" if client is None else client[0]
        self._counted_as = address if self.counted.enter(address) else None
        return self._counted_as is not None

    def count_out(self) -> None:
        """It has ended; a second time changes nothing."""
        if self._counted_as is not None:
            self.counted.leave(self._counted_as)
            self._counted_as = None

    @property
    def _idle(self) -> bool:
        """Whether no answer is under way."""
        return self.cycle is None or self.cycle.response_complete

    # --- what comes

    def data_received(self, data: bytes) -> None:
        """Parse it, a piece at a time."""
        self._unset_keepalive_if_required()
        if self._in_head and self._idle:
            self._wait_for_head()  # also for empty lines between requests, which begin none
        for start in range(0, len(data), AT_ONCE):
            if self.transport.is_closing() or not self._parsed(data[start : start + AT_ONCE]):
                return

    def _parsed(self, piece: bytes) -> bool:
        """Whether more may follow."""
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade:
            return False  # what is asked for is answered as any other request; nothing else is spoken here
        except httptools.HttpParserError as error:
            self._refuse(431 if isinstance(error.__context__, HeadError) else 400)
            return False
        self._head = self._head + len(piece) if self._in_head else 0
        if self._head > HEAD_BYTES:
            self._refuse(431)
            return False
        return True

    def on_message_begin(self) -> None:
        """A request begins, perhaps behind another in the same piece."""
        super().on_message_begin()
        self._in_head = True
        self._wait_for_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header more."""
        if len(self.headers) >= HEADERS:
            raise HeadError
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is there: the application takes over, and has limits of its own for the body."""
        self._in_head, self._head = False, 0
        self._stop_waiting()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The next one begins with its head."""
        super().on_message_complete()
        self._in_head = True

    # --- limits

    def _wait_for_head(self) -> None:
        if self._due is None:
            self._due = self.loop.call_later(self.head_seconds, self._refuse, 408)

    def _stop_waiting(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _refuse(self, status: int) -> None:
        """Answer and hang up; where another answer is under way, hang up."""
        self._stop_waiting()
        if self.transport.is_closing():
            return
        if self._idle:
            words = REFUSED[status]
            length = str(len(words)).encode()
            head = b"content-type: text/plain\r\ncontent-length: " + length + b"\r\nconnection: close\r\n\r\n"
            self.transport.write(STATUS_LINE[status] + head + words)
        self.transport.close()


class Secure(SSLProtocol):
    """asyncio's TLS, begun by hand: a loop's `start_tls` may miss what came before it (uvloop's does)."""

    def __init__(self, limited: Limited, tls: ssl.SSLContext) -> None:
        seconds = limited.head_seconds
        super().__init__(
            limited.loop,
            limited,
            tls,
            waiter=None,  # type: ignore[arg-type]  # nobody waits: it says so itself when it is done
            server_side=True,
            ssl_handshake_timeout=seconds,  # type: ignore[arg-type]  # seconds as elsewhere, which need not be whole
            ssl_shutdown_timeout=seconds,
        )
        self._limited = limited

    def connection_lost(self, exc: BaseException | None) -> None:
        """Count it out, also where HTTP never heard of it because the handshake failed."""
        super().connection_lost(exc)
        self._limited.count_out()


def limited(connections: Connections, tls: ssl.SSLContext | None = None) -> type[Limited]:
    """The protocol of a server that counts its connections there, over TLS if a context is given."""
    return type("Limited", (Limited,), {"counted": connections, "tls": tls})
