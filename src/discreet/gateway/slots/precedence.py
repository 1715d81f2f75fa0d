"""Slots go first: who waits for whom between a slot's end and the moment at which it is told.

One process decides, tells and answers, so what is answered must not keep a slot from leaving at its moment. Long reads
and the owner's questions wait while slots are decided; when they are about to be told, new requests wait too, for a
fraction of a second. When that is follows from the clock alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST = 10.0
"""Seconds that anything waits at most: a disk that fails must not shut everybody out."""

AHEAD = 0.3
"""Seconds before rows are told in which no further request is begun: those that are under way end meanwhile."""

AFTER = 0.1
"""Seconds after it, in which they are on their way to everybody who listens."""


class Gate:
    """Open, or shut for a while."""

    def __init__(self, longest: float = LONGEST) -> None:
        self._longest = longest
        self._opened = asyncio.Event()
        self._opened.set()

    def shut(self, shut: bool) -> None:
        """Let nobody pass until it is opened."""
        if shut:
            self._opened.clear()
        else:
            self._opened.set()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Shut within the block."""
        self.shut(True)
        try:
            yield
        finally:
            self.shut(False)

    async def passed(self) -> None:
        """Wait until it is open, or too long."""
        if not self._opened.is_set():
            try:
                async with asyncio.timeout(self._longest):
                    await self._opened.wait()
            except TimeoutError:
                pass


class Precedence:
    """`deciding` is shut from a slot's end until it is told, `telling` around the telling."""

    def __init__(self) -> None:
        self.deciding, self.telling = Gate(), Gate(longest=2 * (AHEAD + AFTER))
