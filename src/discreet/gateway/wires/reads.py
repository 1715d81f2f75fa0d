"""Reads of many rows for applications: not on the event loop, a piece at a time, one such request of a token at a time.

They are charged by what they read, so that a hundred requests for a year of history are not a hundred requests. Pieces
of different tokens take turns in one thread, and none begins while slots are decided (`precedence`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

from starlette.exceptions import HTTPException

from discreet.gateway.auth.tokens import Grant
from discreet.gateway.runtime import Gateway
from discreet.gateway.store.journal.base import JournalRow, Key

PIECE = 200
"""Rows that are read before others have their turn: some milliseconds."""

A_CALL = 100
"""Rows that cost as much as a request."""

WAITING = 4
"""Requests of one token that may wait for each other, with the one that is read; more are refused."""

T = TypeVar("T")
Charge = Callable[[Grant, float], None]


class _Turn:
    def __init__(self) -> None:
        self.lock, self.waiting = asyncio.Lock(), 0


class Reads:
    """Whose turn it is. `charge` is told of what a token has read, in requests."""

    def __init__(self, gateway: Gateway, charge: Charge) -> None:
        self._gateway, self._charge = gateway, charge
        self._turns: dict[str, _Turn] = {}

    @asynccontextmanager
    async def of(self, grant: Grant, *, most: int = WAITING) -> AsyncIterator[Pages]:
        """A token's turn, when the one before is done."""
        turn = self._turns.setdefault(grant.token, _Turn())
        if turn.waiting >= most:
            raise HTTPException(429, "this token reads already; wait for the answer", {"Retry-After": "1"})
        turn.waiting += 1
        pages = Pages(self._gateway)
        try:
            async with turn.lock:
                yield pages
        finally:
            turn.waiting -= 1
            if not turn.waiting:
                self._turns.pop(grant.token, None)
            self._charge(grant, pages.count / A_CALL)

    async def missed(self, grant: Grant, person: str, after: Key) -> list[JournalRow]:
        """Rows that a stream has missed, the first of them; its token has few streams, and all of them may wait."""
        async with self.of(grant, most=WAITING + 1000) as pages:
            return await pages.rows(person, after, None, PIECE)


class Pages:
    """What one request reads; `count` says how many rows that was."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway, self.count = gateway, 0

    async def rows(self, person: str, after: Key | None, until: Key | None, limit: int) -> list[JournalRow]:
        """Rows that anybody may know of, read piece by piece."""
        return [row async for piece in self.made(person, after, until, limit, list) for row in piece]

    async def made(
        self, person: str, after: Key | None, until: Key | None, limit: int, make: Callable[[Sequence[JournalRow]], T]
    ) -> AsyncIterator[T]:
        """What is made of each piece of rows, which is done beside the event loop as well."""

        def piece(after: Key | None, limit: int) -> tuple[list[JournalRow], T]:
            rows = self._gateway.rows(person, after, until, limit)
            return rows, make(rows)

        while limit > 0:
            asked = min(limit, PIECE)
            rows, found = await self._gateway.read(partial(piece, after, asked))
            self.count += len(rows)
            yield found
            if len(rows) < asked:
                return
            limit, after = limit - len(rows), rows[-1].key
