"""Server-sent events: each output when it is told, to all at the same moment, and from where a reader was left.

`Last-Event-ID` names the last slot that a reader has; what follows it comes first, none twice and none left out.
Between outputs a comment goes out at fixed times of the machine's clock, the same for everybody, whatever is decided:
it keeps a connection open and tells nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import Any, cast

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from discreet.gateway.auth.authorization import Authorization
from discreet.gateway.auth.tokens import Access, Grant
from discreet.gateway.forms import Forms, key_of
from discreet.gateway.runtime import Gateway, Missed
from discreet.gateway.store.journal.base import JournalRow, Key
from discreet.gateway.wires.reads import Reads

LOG = logging.getLogger("discreet.gateway.wires.sse")

BEAT = 15.0
"""Seconds from one comment to the next."""

MOST = 10
"""Streams of one token at once."""

HEADERS = {"Cache-Control": "no-store", "Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no"}


class Streams:
    """The streams that are open, by token: revoking one ends its streams, and stopping ends all."""

    def __init__(self, access: Access, *, beat: float = BEAT) -> None:
        self.beat = beat
        self._open: dict[str, set[_Ending]] = defaultdict(set)
        self._ahead: set[str] = set()
        access.on_revoked(self.end)

    def __len__(self) -> int:
        return sum(map(len, self._open.values()))

    def opened(self, token: str) -> _Ending:
        """Count one in; more than a token may have are refused."""
        if len(self._open[token]) >= MOST:
            raise HTTPException(429, f"a token has at most {MOST} streams at once", {"Retry-After": "60"})
        ending = _Ending()
        self._open[token].add(ending)
        return ending

    def closed(self, token: str, ending: _Ending) -> None:
        """Count one out."""
        self._open[token].discard(ending)
        if not self._open[token]:
            del self._open[token]

    def ahead(self, token: str) -> None:
        """An application names a slot that nobody was told of yet: said once, for it may ask as often as it likes."""
        if token not in self._ahead:
            self._ahead.add(token)
            LOG.warning("an application has seen more than was told: is the journal a restored backup?")

    def end(self, token: str) -> None:
        """End the streams of a token; from any thread."""
        for ending in list(self._open.get(token, ())):
            ending.now()

    def end_all(self) -> None:
        """End every stream: the gateway stops."""
        for token in list(self._open):
            self.end(token)


class _Ending:
    """Says once that a stream is over."""

    def __init__(self) -> None:
        self._loop, self._event = asyncio.get_running_loop(), asyncio.Event()

    def now(self) -> None:
        self._loop.call_soon_threadsafe(self._event.set)

    async def wait(self) -> None:
        await self._event.wait()


def begins_after(gateway: Gateway, grant: Grant, person: str, last: str | None) -> Key | None:
    """The slot after which a stream begins: the one named, or the one before the present; None before the first.

    A grant of the present alone gets the present, whatever it names. What is named is compared with what was shown and
    never with the journal, which has a slot a margin earlier: the answer would change when it is decided.
    """
    shown = gateway.shown(person)
    given = None if last is None else key_of(last)
    if last is not None and given is None:
        raise HTTPException(400, "Last-Event-ID is no identity of ours, such as 2026-03-29.17; leave it out")
    if given is not None and (shown is None or given > shown):
        raise HTTPException(409, "Last-Event-ID is after all that is known here; connect without it to start again")
    if shown is None:
        return None
    before = (shown[0], shown[1] - 1)
    return before if given is None or (grant.now_only and given < before) else given


class EventStream(Response):
    """An answer that goes on until its reader leaves, falls behind, or may not read any more."""

    def __init__(
        self,
        gateway: Gateway,
        person: str,
        forms: Callable[[], Forms | None],
        after: Key | None,
        streams: Streams,
        token: str,
        missed_after: Missed | None = None,
    ) -> None:
        """`forms` is asked at each event: a map or a view may change while a stream is open, or it is over (None)."""
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]
        self._rows = cast(AsyncGenerator[JournalRow, None], gateway.listen(person, after, missed_after))
        self._forms, self._streams, self._token = forms, streams, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        ending = self._streams.opened(self._token)
        over = {asyncio.create_task(ending.wait()), asyncio.create_task(_left(receive))}
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": b"retry: 2000\n\n", "more_body": True})
            await self._send_rows(send, over)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except OSError:
            pass  # the reader has gone
        finally:
            for task in over:
                task.cancel()
            await self._rows.aclose()
            self._streams.closed(self._token, ending)

    async def _send_rows(self, send: Send, over: set[asyncio.Task[None]]) -> None:
        loop = asyncio.get_running_loop()
        beat = self._streams.beat
        due = (loop.time() // beat + 1) * beat
        row = self._next()
        try:
            while True:
                waited: set[asyncio.Task[Any]] = {row, *over}
                await asyncio.wait(waited, timeout=due - loop.time(), return_when=asyncio.FIRST_COMPLETED)
                if any(task.done() for task in over):
                    return
                if row.done():
                    told = row.result()
                    forms = self._forms()
                    if told is None or forms is None:  # too far behind: it comes again, and reads what it missed
                        return
                    await send(_part(forms.server_sent(told)))
                    row = self._next()
                if loop.time() >= due:
                    await send(_part(b":\n\n"))
                    due += beat
        finally:
            row.cancel()
            await asyncio.gather(row, return_exceptions=True)

    def _next(self) -> asyncio.Task[JournalRow | None]:
        async def following() -> JournalRow | None:
            return await anext(self._rows, None)

        return asyncio.create_task(following())


def _part(body: bytes) -> dict[str, object]:
    return {"type": "http.response.body", "body": body, "more_body": True}


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def stream_of(gateway: Gateway, auth: Authorization, streams: Streams, reads: Reads, request: Request) -> Response:
    """The answer to GET /v1/people/{person}/stream."""
    grant, forms = auth.reader(request)
    try:
        after = begins_after(gateway, grant, forms.person, request.headers.get("last-event-id"))
    except HTTPException as error:
        if error.status_code == 409:
            streams.ahead(grant.token)
        raise
    if request.method == "HEAD":
        return Response(headers=HEADERS)

    def shown() -> Forms | None:
        """As map and view are now; None where the person has an account of their own since."""
        may = grant.purpose != "owner" or auth.may_read(grant, forms.person)
        return auth.forms_of(forms.person, grant.view) if may else None

    missed = partial(reads.missed, grant, forms.person)
    return EventStream(gateway, forms.person, shown, after, streams, grant.token, missed)
