"""Previews under way: each in a process that is really ended when it is cancelled, takes too long, or nobody asks.

At most one a person: another takes its place. What was found is in memory for as long as somebody asks for it.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from discreet.errors import DiscreetError
from discreet.gateway.owner.preview import PreviewWork, command, packed
from discreet.gateway.owner.trial import Trial

LEASE = 10.0
"""Seconds after which a preview that nobody asks for is ended: the browser has gone."""

LONGEST = 240.0
"""Seconds that a preview may take."""

LEASE_CHECK = 0.5
"""Seconds between two looks at who still asks."""

TOGETHER = 2
"""Previews under way at a time, of different people."""

LINE = 1 << 24
"""Bytes of an answer, at most."""

ENDED = "the preview ran out of time or memory; try fewer secrets"

Finish = Callable[[dict[str, Any]], dict[str, Any]]


class TooManyPreviewsError(DiscreetError):
    """The machine is at work for others."""


class Preview:
    """One of them; `state` is what the page is told."""

    def __init__(self, person: str, work: PreviewWork, finish: Finish) -> None:
        self.name, self.person = secrets.token_hex(16), person
        self.state: dict[str, Any] = {"done": 0, "total": None, "result": None, "problem": None}
        self.asked = time.monotonic()
        self._work, self._finish = work, finish
        self._task = asyncio.create_task(self._run())

    @property
    def under_way(self) -> bool:
        """Whether its process runs."""
        return not self._task.done()

    async def end(self) -> None:
        """Stop it now; when this returns its process is gone."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        try:
            process = await _started()
        except OSError:  # the system gives no process
            self.state["problem"] = ENDED
            return
        try:
            async with asyncio.timeout(LONGEST):
                await self._heard(process)
        except (TimeoutError, ValueError, OSError):
            self.state["problem"] = ENDED
        finally:
            await _gone(process)

    async def _heard(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None  # both are pipes
        assert process.stdout is not None
        process.stdin.write(packed(self._work))
        await process.stdin.drain()
        async for line in process.stdout:
            said: Mapping[str, Any] = json.loads(line)
            if said.get("result") is not None:
                self.state["result"] = self._finish(said["result"])
                return
            self.state.update(said)
            if self.state["problem"] is not None:
                return
        raise ValueError(ENDED)


async def _started() -> asyncio.subprocess.Process:
    """A process; none is left behind where whoever waits is cancelled, however often, while it starts."""
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *command(),
            env={**os.environ, **one_thread},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,  # what an error says may be private
            limit=LINE,
        )
    )
    cancelled = False
    while not starting.done():
        try:
            await asyncio.wait([starting])
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        if not starting.cancelled() and starting.exception() is None:
            await _gone(starting.result())
        raise asyncio.CancelledError
    return starting.result()


async def _gone(process: asyncio.subprocess.Process) -> None:
    """End a process, and wait until it has: also where whoever waits is cancelled once more meanwhile."""
    with suppress(ProcessLookupError):
        process.kill()
    if process.stdin is not None:
        process.stdin.close()
    while process.returncode is None:
        with suppress(asyncio.CancelledError):
            await process.wait()


class Previews:
    """All of them, by person."""

    def __init__(self, lease: float = LEASE) -> None:
        self._lease = lease
        self._of: dict[str, Preview] = {}
        self._trials = asyncio.Semaphore(1)

    async def start(self, person: str, work: PreviewWork, finish: Finish = lambda result: result) -> str:
        """Begin one in the place of the person's last; its name. `finish` makes of what was found what is shown."""
        while person in self._of:  # another may have begun while one was ended
            await self._drop(person)
        if sum(one.under_way for one in self._of.values()) >= TOGETHER:
            raise TooManyPreviewsError("other previews are running; try again in a moment")
        self._of[person] = Preview(person, work, finish)
        return self._of[person].name

    async def tried(self, trial: Trial) -> dict[str, Any]:
        """What a change would be, found in a process of its own; what cannot be announced is refused."""
        async with self._trials:
            try:
                process = await _started()
            except OSError:
                raise DiscreetError(ENDED) from None
            try:
                assert process.stdin is not None  # both are pipes
                assert process.stdout is not None
                async with asyncio.timeout(LONGEST):
                    process.stdin.write(packed(trial))
                    await process.stdin.drain()
                    found = json.loads(await process.stdout.readline())
            except (TimeoutError, ValueError, OSError):
                raise DiscreetError(ENDED) from None
            finally:
                await _gone(process)
        if found.get("problem") is not None:
            raise DiscreetError(found["problem"])
        result: dict[str, Any] = found["result"]
        return result

    def state(self, person: str, name: str) -> Mapping[str, Any] | None:
        """How far it is, and what was found; None where there is no such preview (any more)."""
        one = self._of.get(person)
        if one is None or one.name != name:
            return None
        one.asked = time.monotonic()
        return one.state

    async def cancel(self, person: str, name: str) -> bool:
        """End one; whether there was one."""
        one = self._of.get(person)
        if one is None or one.name != name:
            return False
        await self._drop(person)
        return True

    async def _drop(self, person: str) -> None:
        one = self._of.pop(person, None)
        if one is not None:
            await one.end()

    async def watch(self) -> None:
        """End those that nobody asks for; all of them when the gateway stops."""
        try:
            while True:
                await asyncio.sleep(LEASE_CHECK)
                late = time.monotonic() - self._lease
                for person in [person for person, one in self._of.items() if one.asked < late]:
                    await self._drop(person)
        finally:
            for person in list(self._of):
                await self._drop(person)
