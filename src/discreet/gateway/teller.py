"""The broker is told: one retained message a slot and view, at the moment when everybody is told.

A broker that was away is told what it missed, in order, and the last row in any case: it may have forgotten what it had
retained. A row told twice has the same identity, (person, date, slot). A client is made anew for each connection, so
that nothing that waited in an old one can overtake what is newer.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress

import aiomqtt

from discreet.gateway.broker import Broker, identifier
from discreet.gateway.journal.base import JournalError, Key, Row
from discreet.gateway.person import Settled
from discreet.gateway.runtime import Gateway
from discreet.gateway.told import Message, Wire, wires
from discreet.gateway.views import View

LOG = logging.getLogger("discreet.gateway")

QUIET = logging.getLogger("discreet.gateway.aiomqtt")
"""The library warns of many calls at once, which is what a boundary is."""
QUIET.setLevel(logging.ERROR)

FIRST, LONGEST = 1.0, 60.0
"""Seconds until a broker that is away is tried again: doubled each time, up to a minute."""

SWEEP = 2.0
"""Seconds in which a broker sends what it has retained, so that what is told no more can be cleared."""

TIMEOUT = 30.0
FAREWELL = 1.0


class Teller:
    """The views that are told on a broker."""

    def __init__(
        self,
        gateway: Gateway,
        broker: Broker,
        people: Mapping[str, Settled],
        views: Mapping[str, View],
        *,
        revoked: Collection[str] = (),
        first: float = FIRST,
    ) -> None:
        self._gateway, self._broker, self._first = gateway, broker, first
        self._wires: dict[str, list[Wire]] = defaultdict(list)
        self._clear: list[Message] = []
        for wire in wires(broker, people, views):
            if wire.told.token in revoked:
                self._clear += wire.cleared
            else:
                self._wires[wire.told.person].append(wire)
        self._reached: dict[str, Key] = {}
        """The last slot of each person that the broker has confirmed."""
        self._queue: asyncio.Queue[Sequence[Row] | None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.connected = asyncio.Event()
        gateway.on_told(self._told)

    async def _told(self, rows: Sequence[Row]) -> None:
        if self._queue is not None:
            self._queue.put_nowait(rows)

    def revoke(self, token: str) -> None:
        """Tell its view no more, and clear what is retained: now, or when the broker is back. From any thread."""
        if self._loop is None:
            self._withdraw(token)
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._withdraw, token)

    def _withdraw(self, token: str) -> None:
        for person, told in self._wires.items():
            gone = [wire for wire in told if wire.told.token == token]
            self._wires[person] = [wire for wire in told if wire not in gone]
            self._clear += [message for wire in gone for message in wire.cleared]
        if self._clear and self._queue is not None:
            self._queue.put_nowait(None)

    async def run(self) -> None:
        """Tell until cancelled; a broker that goes away is tried again."""
        self._loop = asyncio.get_running_loop()
        delay = self._first
        while True:
            try:
                async with self._client() as client:
                    delay = self._first
                    await self._serve(client)
            except (aiomqtt.MqttError, JournalError, OSError):
                LOG.warning("the broker is away; it is told again when it is back")
            finally:
                self._queue = None
                self.connected.clear()
            await asyncio.sleep(delay)
            delay = min(2 * delay, LONGEST)

    def _client(self) -> aiomqtt.Client:
        newer = self._broker.version == "5"
        return aiomqtt.Client(
            self._broker.host,
            self._broker.port,
            username=self._broker.user,
            password=self._broker.password,
            identifier=f"{self._broker.name}-told",
            protocol=aiomqtt.ProtocolVersion.V5 if newer else aiomqtt.ProtocolVersion.V311,
            clean_session=None if newer else True,
            will=aiomqtt.Will(self._broker.status, b"offline", qos=1, retain=True),
            keepalive=30,
            timeout=TIMEOUT,
            tls_context=self._broker.context,
            logger=QUIET,
        )

    async def _serve(self, client: aiomqtt.Client) -> None:
        """One connection: what was missed, then rows as they are told."""
        self._queue = asyncio.Queue()  # before the journal is read: nothing falls between
        await client.subscribe([(topic, 0) for topic in self._sweeping], timeout=TIMEOUT)
        await client.subscribe(f"{self._broker.discovery}/status", 0, timeout=TIMEOUT)
        await self._clear_now(client)
        await self._introduce(client)
        for person in self._wires:
            await self._catch_up(client, person)
        self.connected.set()
        tasks = [asyncio.create_task(work(client)) for work in (self._send, self._hear, self._stop_sweeping)]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            with suppress(aiomqtt.MqttError):  # who leaves in good order has no will
                await client.publish(self._broker.status, b"offline", 1, retain=True, timeout=FAREWELL)

    async def _introduce(self, client: aiomqtt.Client) -> None:
        """Say what there is, and that the gateway is there."""
        shown = [message for told in self._wires.values() for wire in told for message in wire.discovery]
        await self._publish(client, [*shown, Message(self._broker.status, b"online")])

    async def _catch_up(self, client: aiomqtt.Client, person: str) -> None:
        """Tell what the broker missed, or the last row again."""
        shown, reached = self._gateway.shown(person), self._reached.get(person)
        if shown is None:
            return
        missed: list[Row] = []
        while reached is not None and (some := self._gateway.rows(person, after=reached)):
            missed += some
            reached = some[-1].key
        rows = missed or self._gateway.rows(person, after=(shown[0], shown[1] - 1))
        if not rows:
            return
        messages = []
        for wire in self._wires[person]:
            for row in rows[-1:] if wire.told.now_only else rows:
                messages += wire.of(row)
        await self._publish(client, messages)
        self._reached[person] = rows[-1].key

    async def _send(self, client: aiomqtt.Client) -> None:
        """Rows as they are told; of those that were told while the broker was catching up, none twice."""
        queue = self._queue
        assert queue is not None  # made before this task
        while True:
            rows = await queue.get()
            await self._clear_now(client)
            fresh = [row for row in rows or () if row.person in self._wires and self._is_new(row)]
            await self._publish(
                client, [message for row in fresh for wire in self._wires[row.person] for message in wire.of(row)]
            )
            for row in fresh:
                self._reached[row.person] = row.key

    def _is_new(self, row: Row) -> bool:
        reached = self._reached.get(row.person)
        return reached is None or row.key > reached

    async def _clear_now(self, client: aiomqtt.Client) -> None:
        clearing, self._clear = self._clear, []
        try:
            await self._publish(client, clearing)
        except aiomqtt.MqttError:
            self._clear = clearing + self._clear  # when the broker is back
            raise

    async def _publish(self, client: aiomqtt.Client, messages: Iterable[Message]) -> None:
        """Send all, in order, and wait until the broker has confirmed them all."""
        await asyncio.gather(
            *(client.publish(one.topic, one.payload, one.qos, one.retain, timeout=TIMEOUT) for one in messages)
        )

    # --- what the broker sends

    @property
    def _sweeping(self) -> list[str]:
        below = f"{self._broker.name}/+/+"
        found = [f"{self._broker.discovery}/{kind}/+/config" for kind in ("device_tracker", "sensor")]
        return [below, f"{below}/state", f"{below}/attributes", *found]

    async def _hear(self, client: aiomqtt.Client) -> None:
        """Clear what is retained of views that are told no more; introduce the others when Home Assistant starts."""
        told = {topic for wires in self._wires.values() for wire in wires for topic in wire.retained}
        async for message in client.messages:
            topic, payload = str(message.topic), message.payload
            if topic == f"{self._broker.discovery}/status":
                if payload == b"online" and not message.retain:
                    await self._introduce(client)
            elif message.retain and payload and topic not in told and self._is_ours(topic):
                await self._publish(client, [Message(topic, b"")])

    def _is_ours(self, topic: str) -> bool:
        parts = topic.split("/")
        return parts[0] == self._broker.name or parts[-2].startswith(identifier(self._broker.name, ""))

    async def _stop_sweeping(self, client: aiomqtt.Client) -> None:
        await asyncio.sleep(SWEEP)
        await client.unsubscribe(self._sweeping, timeout=TIMEOUT)


async def run(gateway: Gateway, broker: Broker, people: Mapping[str, Settled], views: Mapping[str, View]) -> None:
    """A task beside the server: the broker is told, until cancelled."""
    await Teller(gateway, broker, people, views).run()
