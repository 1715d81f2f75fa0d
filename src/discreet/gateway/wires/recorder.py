"""The read routes of the OwnTracks Recorder over what was released, so that its frontend shows that and no more.

The user is the person and the device is the view: a token opens one of each. Only slots in which a place was released
are there; silence is no location.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from discreet.gateway.auth.authorization import Authorization, refused
from discreet.gateway.forms import Forms, encoded
from discreet.gateway.runtime import Gateway
from discreet.gateway.store.journal.base import JournalError, JournalRow, Key
from discreet.gateway.wires.reads import Pages, Reads

DEFAULT = dt.timedelta(hours=6)
"""How far back locations go when no time is asked for, as in the Recorder."""

LOOK_BACK = 31
"""Days in which the last location is looked for."""

MOST = 20_000
"""Rows of the journal that one answer reads at most."""


class RecorderReads:
    """What one token may read, in its turn."""

    def __init__(self, gateway: Gateway, forms: Forms, pages: Pages, *, now_only: bool) -> None:
        self.gateway, self.forms, self.now_only = gateway, forms, now_only
        self._pages = pages

    def location(self, row: JournalRow) -> dict[str, Any] | None:
        """A location as the frontend reads it: the released form, and whose it is."""
        person, view = self.forms.person, self.forms.view.name
        found = self.forms.owntracks(row, tracker_of(person))
        if found is None:
            return None
        return found | {"username": person, "device": view, "topic": f"released/{person}/{view}"}

    async def last(self) -> dict[str, Any] | None:
        """The last released location; of who may know the present alone, that of the last slot."""
        shown = self.gateway.shown(self.forms.person)
        if shown is None:
            return None
        slots = self.forms.clock.slots
        for back in range(LOOK_BACK):
            date = shown[0] - dt.timedelta(days=back)
            rows = await self._pages.rows(self.forms.person, (date, -1), min(shown, (date, slots)), slots + 1)
            for row in reversed(rows):
                if (found := self.location(row)) is not None:
                    return found
                if self.now_only:
                    return None
        return None

    async def between(self, start: dt.datetime, end: dt.datetime) -> AsyncIterator[tuple[int, bytes]]:
        """The locations of slots that ended between two instants, in order: how many, and their text, by the piece."""
        first, last = start.timestamp(), end.timestamp()
        if self.now_only:
            found = await self.last()
            if found is not None and first <= found["tst"] <= last:
                yield 1, encoded(found)
            return

        def written(rows: Sequence[JournalRow]) -> tuple[int, bytes]:
            located = [self.location(row) for row in rows if first <= row.ends <= last]
            texts = [encoded(one) for one in located if one is not None]
            return len(texts), b",".join(texts)

        clock = self.forms.clock
        after: Key = (clock.locate(start)[0] - dt.timedelta(days=1), clock.slots)
        async for made in self._pages.made(self.forms.person, after, clock.locate(end), MOST, written):
            if made[0]:
                yield made


Answer = Callable[[Request, RecorderReads], Awaitable[bytes]]


def routes(gateway: Gateway, auth: Authorization, reads: Reads) -> list[Route]:
    """`/api/0/` for applications: every request needs a token, and sees that token's person and view alone."""

    def route(path: str, answer: Answer) -> Route:
        async def serve(request: Request) -> Response:
            try:
                frontend = auth.frontend(request)
                if frontend is None:
                    return refused()
                grant, forms = frontend
                async with reads.of(grant) as pages:
                    body = await answer(request, RecorderReads(gateway, forms, pages, now_only=grant.now_only))
            except JournalError:
                return Response(status_code=503)
            return Response(body, media_type="application/json", headers={"Cache-Control": "no-store"})

        return Route(f"/api/0/{path}", serve, methods=["GET"])

    return [route("version", _version), route("list", _list), route("last", _last), route("locations", _locations)]


async def _version(request: Request, shown: RecorderReads) -> bytes:
    return encoded({"version": "discreet"})


async def _list(request: Request, shown: RecorderReads) -> bytes:
    asked = request.query_params
    if "user" not in asked:
        return encoded({"results": [shown.forms.person]})
    of_person = asked["user"] == shown.forms.person and "device" not in asked
    return encoded({"results": [shown.forms.view.name] if of_person else []})


async def _last(request: Request, shown: RecorderReads) -> bytes:
    found = await shown.last() if _asks_for(request, shown) else None
    return encoded([] if found is None else [found])


async def _locations(request: Request, shown: RecorderReads) -> bytes:
    now = dt.datetime.fromtimestamp(shown.gateway.wall(), dt.UTC)
    end = _instant(request.query_params.get("to")) or now
    start = _instant(request.query_params.get("from")) or _earlier(end)
    asked = _asks_for(request, shown)
    found = [piece async for piece in shown.between(start, end)] if asked else []
    texts = b",".join(text for _, text in found)
    return b'{"count":%d,"data":[%s]}' % (sum(count for count, _ in found), texts)


def _asks_for(request: Request, shown: RecorderReads) -> bool:
    """Whether the person and the view are asked for, or nobody in particular."""
    asked, forms = request.query_params, shown.forms
    return asked.get("user", forms.person) == forms.person and asked.get("device", forms.view.name) == forms.view.name


def _instant(text: str | None) -> dt.datetime | None:
    """A time as the frontend writes it, in UTC; None for anything that no calendar of ours can reach."""
    try:
        found = dt.datetime.fromisoformat(text or "")
        found = found.replace(tzinfo=dt.UTC) if found.tzinfo is None else found.astimezone(dt.UTC)
    except (ValueError, OverflowError):
        return None
    return found if dt.MINYEAR + 1 < found.year < dt.MAXYEAR - 1 else None


def _earlier(end: dt.datetime) -> dt.datetime:
    return end - DEFAULT


def tracker_of(person: str) -> str:
    """The two characters that stand for a person on maps."""
    return person[:2].upper()
