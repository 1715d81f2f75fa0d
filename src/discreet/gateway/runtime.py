"""The gateway at work: readings in, slots decided at their boundaries, rows told to whoever listens.

Readings that come while others are being written share the next sync (group commit), and their senders are answered
when it is done. Rows are told a fixed margin after their boundary, to all at the same moment; until then nobody can
read them either, because how long deciding took would speak.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import shutil
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TypeVar

from discreet.errors import DiscreetError
from discreet.gateway.health import Health
from discreet.gateway.slots.keeper import Keeper
from discreet.gateway.slots.person import PersonConfig
from discreet.gateway.slots.precedence import AFTER, AHEAD, Precedence
from discreet.gateway.slots.sources import Refused
from discreet.gateway.slots.wall_clock import WallClock
from discreet.gateway.store.journal.base import JournalError, JournalRow, Key
from discreet.gateway.store.own_store import RETENTION, Reading

LOG = logging.getLogger("discreet.gateway")

CLOCK_CHECK = 1.0
"""Seconds after which the wall clock is looked at again: it may be set while the gateway waits."""

QUEUED = 10_000
"""Readings that may wait for a sync; more are refused until there is room."""

BACKLOG = 1_000
"""Rows that a slow listener may be behind before it is cut off; it comes again, and reads what it missed."""

TOLD_AGAIN = 2
"""Rows of a person that are told again after a start: more than one slot ends at an instant where clocks go forward."""

CHANGE_TAKES = 5.0
"""Seconds that a change of somebody's policy or habits may take, and one more person to serve."""

SLOTS, READINGS, JOURNAL, DISK = "slots", "readings", "journal", "disk"
"""What health calls deciding and writing slots, keeping readings, and what both need."""

DISK_CHECK = 10.0
"""Seconds between two looks at journal and disk."""

ROOM = 32 << 20
"""Bytes that have to be free: some weeks of a family."""

KEEP_EVERY = dt.timedelta(hours=1)

T = TypeVar("T")
Missed = Callable[[Key], Awaitable[Sequence[JournalRow]]]
"""Some rows after a key; none where there are no more."""
Listener = Callable[[Sequence[JournalRow]], Awaitable[None]]
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
        steady: Callable[[], float] | None = None,
        pace: float = 1.0,
        retention: dt.timedelta = RETENTION,
    ) -> None:
        """With a `steady` clock beside it the wall clock is held where it jumps (`wall_clock`)."""
        self.keeper, self.retention, self.health = keeper, retention, Health()
        self.refused = Refused()
        self.wall = WallClock(self.health, wall=wall, steady=steady, reached=lambda: keeper.reached)
        self._pace = pace  # seconds of the wall clock in a second: more than one for a life that is shown in brief
        self._tasks: list[asyncio.Task[None]] = []
        self._waiting: list[Waiting] = []
        self._queued = 0
        self._arrived = asyncio.Event()
        self._writer = ThreadPoolExecutor(1, "readings")
        self._decider = ThreadPoolExecutor(1, "slots")
        self._reader = ThreadPoolExecutor(1, "reads")
        self._one_question = asyncio.Semaphore(1)
        self.precedence = Precedence()
        self._listeners: dict[str, set[asyncio.Queue[JournalRow | None]]] = defaultdict(set)
        self._senders: list[Listener] = []
        self._shown: dict[str, Key] = {}
        self._untold: list[JournalRow] = []
        for name in keeper.people:
            self._go_on(name, self.wall())

    def _go_on(self, person: str, now: float) -> None:
        """The last rows may not have been told before the machine stopped: they are told again, when they are due."""
        for row in self.keeper.journal.latest(person, TOLD_AGAIN):
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
                self.health.broken(READINGS, "readings cannot be written; their senders keep them", str(error))
                _failed(batch, error)
            except Exception:  # something in it that no database takes: it is its sender's alone
                for one in batch:
                    try:
                        await self._write_batch([one])
                    except Exception as error:
                        _failed([one], error)

    async def _write_batch(self, batch: Sequence[Waiting]) -> None:
        now, every = self.wall.latest, [one for readings, _ in batch for one in readings]
        await asyncio.get_running_loop().run_in_executor(self._writer, self.keeper.read, every, now)
        self.health.mended(READINGS)
        edge = self.keeper.latest(now)
        for readings, done in batch:
            ahead = [one for one in readings if one.instant > edge]
            for one in ahead:
                self.refused.count(one.person, "future")
            if not done.done():  # its sender may have gone
                done.set_result(len(ahead))

    # --- slots

    async def _keep_slots(self) -> None:
        rows: Sequence[JournalRow] = self._untold
        while True:
            try:
                await self._tell_when_due(rows)
                self.precedence.deciding.shut(False)
                await self._prepare()
                await self._until_next()
                self.precedence.deciding.shut(True)
                rows = await self._decided()
                self.health.mended(SLOTS)
            except JournalError as error:
                self._stumbled("slots cannot be written; nothing is told until they can", str(error))
            except Exception as error:  # of one slot, or one person: the clock goes on, and the owner sees it
                kind = type(error).__name__
                self._stumbled(
                    "a slot could not be decided; it is tried again", f"a slot cannot be decided: {kind}", kind
                )
            else:
                continue
            rows = ()
            await asyncio.sleep(CLOCK_CHECK)

    async def _prepare(self) -> None:
        """Compute everybody's next kernel, a person at a time: a slot that ends meanwhile waits for one person's."""
        loop, due = asyncio.get_running_loop(), self.keeper.next
        for name in self.keeper.people:  # another mapping where somebody is admitted meanwhile
            if self.wall() >= due:  # the rest are computed when their slots end
                return
            await loop.run_in_executor(self._decider, self.keeper.prepare, name)

    async def _decided(self) -> Sequence[JournalRow]:
        """Decide what has ended, a boundary at a time: the clock is read anew for each, and a stop waits for one.

        What ends meanwhile is decided after these are told: slots shorter than deciding would keep everything back.
        """
        loop, now = asyncio.get_running_loop(), self.wall()
        while await loop.run_in_executor(self._decider, self.keeper.step, min(now, self.wall())):
            pass
        return self.keeper.taken()

    def _stumbled(self, log: str, words: str, kind: str = "") -> None:
        """Tell nothing: what was written and not told is told after the next step that does not fail."""
        self.precedence.deciding.shut(False)
        self.health.broken(
            SLOTS, log, f"{words}. Nothing is told until that works; it is tried every second", kind=kind
        )

    async def _until_next(self) -> None:
        """Wait for the end of the next slot, which may be that of somebody who comes meanwhile."""
        while (left := self.keeper.next - self.wall()) > 0:
            await asyncio.sleep(min(left / self._pace, CLOCK_CHECK))

    async def _until(self, moment: float) -> None:
        """Wait for an instant of the wall clock, which may be set meanwhile."""
        while (left := moment - self.wall()) > 0:
            await asyncio.sleep(min(left / self._pace, CLOCK_CHECK))

    async def _tell_when_due(self, rows: Sequence[JournalRow]) -> None:
        now = self.wall()
        leaving: dict[float, list[JournalRow]] = defaultdict(list)
        for row in rows:
            leaving[self.keeper.leaves(row, now)].append(row)
        for moment in sorted(leaving):
            await self._until(moment - AHEAD * self._pace)
            with self.precedence.telling.held():
                await self._until(moment)
                await self.tell(leaving[moment])
                await asyncio.sleep(AFTER / self._pace)

    async def tell(self, rows: Sequence[JournalRow]) -> None:
        """Let everybody know, at the same moment."""
        for row in rows:
            self._shown[row.person] = max(row.key, self._shown.get(row.person, row.key))
            for queue in list(self._listeners[row.person]):
                if queue.qsize() >= BACKLOG:
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

    def rows(
        self, person: str, after: Key | None = None, until: Key | None = None, limit: int = 1000
    ) -> list[JournalRow]:
        """Rows of the journal that anybody may know of."""
        shown = self._shown.get(person)
        if shown is None:
            return []
        return self.keeper.journal.page(
            person, after=after, until=shown if until is None else min(until, shown), limit=limit
        )

    async def read(self, call: Callable[[], T]) -> T:
        """Read some of the journal for somebody who asks: beside the event loop, and not while slots are decided."""
        await self.precedence.deciding.passed()
        return await asyncio.get_running_loop().run_in_executor(self._reader, call)

    async def between_slots(self, call: Callable[[], T], *, takes: float = 0.0) -> T:
        """Ask something of sessions in the thread that decides, so that the two never share tables at one time.

        One question at a time, and none between a slot's end and its telling: a slot that ends waits for one at most.
        One that `takes` seconds is not begun so shortly before a slot ends.
        """
        async with self._one_question:
            await self._room_for(takes)
            await self.precedence.deciding.passed()
            return await asyncio.get_running_loop().run_in_executor(self._decider, call)

    async def _room_for(self, seconds: float) -> None:
        slots = (one.config.clock.slot_seconds for one in self.keeper.people.values())
        wanted = min(seconds, min(slots, default=0.0) / self._pace / 4)
        while 0 < (self.keeper.next - self.wall()) / self._pace < wanted:
            await asyncio.sleep(min(wanted, CLOCK_CHECK) / 20)

    async def admit(self, config: PersonConfig) -> None:
        """Serve one more person, from the slot that is under way on."""
        await self.between_slots(partial(self.keeper.admit, config, self.wall()), takes=CHANGE_TAKES)
        self._go_on(config.name, self.wall())

    def on_told(self, send: Listener) -> None:
        """Call this with rows when they are told."""
        self._senders.append(send)

    async def listen(
        self, person: str, after: Key | None = None, missed_after: Missed | None = None
    ) -> AsyncIterator[JournalRow]:
        """Rows as they are told, after a key if one is given: first those of the journal, then live; none twice.

        It ends when the listener falls too far behind. `missed_after` reads the journal; by default all at once.
        """
        read = missed_after or (lambda key: self.read(partial(self.rows, person, after=key)))
        queue: asyncio.Queue[JournalRow | None] = asyncio.Queue()
        self._listeners[person].add(queue)  # before the journal is read: nothing falls between
        try:
            reached = after
            while reached is not None and (missed := await read(reached)):
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

    async def _look_after(self) -> None:
        """Whether the journal answers and the disk has room: a slot that ends in half an hour is too late to know."""
        loop = asyncio.get_running_loop()
        while True:
            await loop.run_in_executor(self._reader, self._look)  # which a stop waits for, before files are closed
            await asyncio.sleep(DISK_CHECK)

    def _look(self) -> None:
        try:
            self.keeper.journal.mark()
        except JournalError as error:
            self.health.broken(JOURNAL, "the journal cannot be read; nothing is told until it can", str(error))
        else:
            self.health.mended(JOURNAL)
        folder = self.keeper.own.path.parent
        try:
            free = shutil.disk_usage(folder).free
        except OSError:
            free = 0
        if free < ROOM:
            words = f"{folder}: the disk has {free >> 20} MB left. Make room: what cannot be written is not told"
            self.health.broken(DISK, "the disk is full, or nearly", words)
        else:
            self.health.mended(DISK)

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
        works = (self._write_readings, self._keep_slots, self._forget, self._look_after)
        tasks = self._tasks = [asyncio.create_task(work()) for work in works]
        for task in tasks:
            task.add_done_callback(_ended)
        try:
            yield self
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for pool in (self._decider, self._writer, self._reader):
                pool.shutdown(wait=True, cancel_futures=True)
            self.keeper.journal.close()
            self.keeper.own.close()


def _ended(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        LOG.critical("a task ended; restart the gateway", extra={"kind": type(error).__name__})


def _failed(batch: Sequence[Waiting], error: Exception) -> None:
    for _, done in batch:
        if not done.done():
            done.set_exception(error)
