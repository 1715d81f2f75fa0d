"""The gateway at work: readings in, slots decided at their boundaries, rows told to whoever listens.

Readings that come while others are being written share the next sync (group commit), and their senders are answered
when it is done. Rows are told a fixed margin after their boundary, to all at the same moment; until then nobody can
read them either, because how long deciding took would speak.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TypeVar

from discreet.errors import DiscreetError
from discreet.gateway.journal.base import JournalError, Key, Row
from discreet.gateway.keeper import Keeper
from discreet.gateway.own_store import RETENTION, Reading
from discreet.gateway.person import Settled

LOG = logging.getLogger("discreet.gateway")

LOOK = 1.0
"""Seconds after which the wall clock is looked at again: it may be set while the gateway waits."""

QUEUED = 10_000
"""Readings that may wait for a sync; more are refused until there is room."""

LISTENER = 1_000
"""Rows that a slow listener may be behind before it is cut off; it comes again, and reads what it missed."""

AGAIN = 2
"""Rows of a person that are told again after a start: more than one slot ends at an instant where clocks go forward."""

KEEP_EVERY = dt.timedelta(hours=1)

T = TypeVar("T")
Listener = Callable[[Sequence[Row]], Awaitable[None]]
Waiting = tuple[Sequence[Reading], "asyncio.Future[int]"]


class BusyError(DiscreetError):
    """Too much waits to be written: come again."""


class Gateway:
    """A keeper with its tasks. `listen` is for streams, `on_told` for what is sent elsewhere."""

    def __init__(
        self,
        keeper: Keeper,
        *,
        wall: Callable[[], float] = time.time,
        pace: float = 1.0,
        retention: dt.timedelta = RETENTION,
    ) -> None:
        self.keeper, self.wall, self.retention = keeper, wall, retention
        self._pace = pace  # seconds of the wall clock in a second: more than one for a life that is shown in brief
        self._tasks: list[asyncio.Task[None]] = []
        self._waiting: list[Waiting] = []
        self._queued = 0
        self._arrived = asyncio.Event()
        self._writer = ThreadPoolExecutor(1, "readings")
        self._decider = ThreadPoolExecutor(1, "slots")
        self._listeners: dict[str, set[asyncio.Queue[Row | None]]] = defaultdict(set)
        self._senders: list[Listener] = []
        self._shown: dict[str, Key] = {}
        self.failing = False
        """Whether the journal could not be written at the last try."""
        self._untold: list[Row] = []
        for name in keeper.people:
            self._go_on(name, wall())

    def _go_on(self, person: str, now: float) -> None:
        """The last rows may not have been told before the machine stopped: they are told again, when they are due."""
        for row in self.keeper.journal.latest(person, AGAIN):
            if row.ends + self.keeper.margin <= now:
                self._shown[person] = row.key
            self._untold.append(row)

    # --- readings

    async def accept(self, readings: Sequence[Reading]) -> int:
        """Keep readings; it returns when they are on disk: how many were refused, because they lie in the future."""
        if self._queued + len(readings) > QUEUED:
            raise BusyError(f"{QUEUED} readings wait to be written; send again in a moment")
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append((readings, done))
        self._queued += len(readings)
        self._arrived.set()
        return await done

    async def _write_readings(self) -> None:
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            batch, self._waiting = self._waiting, []
            self._queued = 0
            try:
                await self._write_batch(batch)
            except JournalError as error:
                _failed(batch, error)
            except Exception:  # something in it that no database takes: it is its sender's alone
                for one in batch:
                    try:
                        await self._write_batch([one])
                    except Exception as error:
                        _failed([one], error)

    async def _write_batch(self, batch: Sequence[Waiting]) -> None:
        now, every = self.wall(), [one for readings, _ in batch for one in readings]
        await asyncio.get_running_loop().run_in_executor(self._writer, self.keeper.read, every, now)
        edge = self.keeper.latest(now)
        for readings, done in batch:
            if not done.done():  # its sender may have gone
                done.set_result(sum(one.instant > edge for one in readings))

    # --- slots

    async def _keep_slots(self) -> None:
        loop = asyncio.get_running_loop()
        rows: Sequence[Row] = self._untold
        while True:
            try:
                await self._tell_when_due(rows)
                await loop.run_in_executor(self._decider, self.keeper.prepare)
                await self._explain()
                await self._until_next()
                rows = await loop.run_in_executor(self._decider, self.keeper.turn, self.wall())
                self.failing = False
            except JournalError:
                LOG.error("the journal cannot be written; nothing is told until it can")
                rows = await self._stumbled()
            except Exception as error:  # of one slot, or one person: the clock goes on, and the owner sees it
                LOG.error("a slot could not be decided; it is tried again", extra={"kind": type(error).__name__})
                rows = await self._stumbled()

    async def _explain(self) -> None:
        """Find out why something was withheld, person after person, while no slot is due."""
        loop = asyncio.get_running_loop()
        while self.wall() < self.keeper.next and await loop.run_in_executor(self._decider, self.keeper.explain):
            pass

    async def _stumbled(self) -> Sequence[Row]:
        """Wait, and tell nothing: what was written and not told is returned by the next turn."""
        self.failing = True
        await asyncio.sleep(LOOK)
        return ()

    async def _until_next(self) -> None:
        """Wait for the end of the next slot, which may be that of somebody who comes meanwhile."""
        while (left := self.keeper.next - self.wall()) > 0:
            await asyncio.sleep(min(left / self._pace, LOOK))

    async def _until(self, moment: float) -> None:
        """Wait for an instant of the wall clock, which may be set meanwhile."""
        while (left := moment - self.wall()) > 0:
            await asyncio.sleep(min(left / self._pace, LOOK))

    async def _tell_when_due(self, rows: Sequence[Row]) -> None:
        now = self.wall()
        leaving: dict[float, list[Row]] = defaultdict(list)
        for row in rows:
            leaving[self.keeper.leaves(row, now)].append(row)
        for moment in sorted(leaving):
            await self._until(moment)
            await self.tell(leaving[moment])

    async def tell(self, rows: Sequence[Row]) -> None:
        """Let everybody know, at the same moment."""
        for row in rows:
            self._shown[row.person] = max(row.key, self._shown.get(row.person, row.key))
            for queue in list(self._listeners[row.person]):
                if queue.qsize() >= LISTENER:
                    self._listeners[row.person].discard(queue)
                    queue.put_nowait(None)
                else:
                    queue.put_nowait(row)
        for send in self._senders:
            try:
                await send(rows)
            except Exception as error:  # one that cannot be reached keeps nothing from the others
                LOG.error("rows could not be sent", extra={"kind": type(error).__name__})

    def shown(self, person: str) -> Key | None:
        """The last slot that anybody may know of; None before the first."""
        return self._shown.get(person)

    def rows(self, person: str, after: Key | None = None, until: Key | None = None, limit: int = 1000) -> list[Row]:
        """Rows of the journal that anybody may know of."""
        shown = self._shown.get(person)
        if shown is None:
            return []
        return self.keeper.journal.page(
            person, after=after, until=shown if until is None else min(until, shown), limit=limit
        )

    async def between_slots(self, call: Callable[[], T]) -> T:
        """Ask something of sessions in the thread that decides, so that the two never share tables at one time.

        A slot that ends meanwhile waits for it, within the margin.
        """
        return await asyncio.get_running_loop().run_in_executor(self._decider, call)

    async def admit(self, settled: Settled) -> None:
        """Serve one more person, from the slot that is under way on."""
        await self.between_slots(partial(self.keeper.admit, settled, self.wall()))
        self._go_on(settled.name, self.wall())

    def on_told(self, send: Listener) -> None:
        """Call this with rows when they are told."""
        self._senders.append(send)

    async def listen(self, person: str, after: Key | None = None) -> AsyncIterator[Row]:
        """Rows as they are told, after a key if one is given: first those of the journal, then live; none twice.

        It ends when the listener falls too far behind.
        """
        queue: asyncio.Queue[Row | None] = asyncio.Queue()
        self._listeners[person].add(queue)  # before the journal is read: nothing falls between
        try:
            reached = after
            while reached is not None and (missed := self.rows(person, after=reached)):
                for row in missed:
                    yield row
                    reached = row.key
            while (live := await queue.get()) is not None:
                if reached is None or live.key > reached:
                    yield live
                    reached = live.key
        finally:
            self._listeners[person].discard(queue)

    # --- running

    async def _forget(self) -> None:
        """Erase what is older than the retention, every hour."""
        loop = asyncio.get_running_loop()
        while True:
            now = dt.datetime.fromtimestamp(self.wall(), dt.UTC)
            with suppress(JournalError):
                await loop.run_in_executor(self._writer, self.keeper.own.forget, now, self.retention)
            await asyncio.sleep(KEEP_EVERY.total_seconds())

    @property
    def at_work(self) -> bool:
        """Whether all its tasks run; one that ended by an error needs a restart, which goes on where it was."""
        return bool(self._tasks) and not any(task.done() for task in self._tasks)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Gateway]:
        """The gateway at work within the block; it ends between two slots, and closes its files."""
        works = (self._write_readings, self._keep_slots, self._forget)
        tasks = self._tasks = [asyncio.create_task(work()) for work in works]
        for task in tasks:
            task.add_done_callback(_ended)
        try:
            yield self
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for pool in (self._decider, self._writer):
                pool.shutdown(wait=True)
            self.keeper.journal.close()
            self.keeper.own.close()


def _ended(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        LOG.critical("a task ended; restart the gateway", extra={"kind": type(error).__name__})


def _failed(batch: Sequence[Waiting], error: Exception) -> None:
    for _, done in batch:
        if not done.done():
            done.set_exception(error)
