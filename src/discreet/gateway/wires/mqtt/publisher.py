"""The broker is told: one retained message a slot and view, at the moment when everybody is told.

A broker that was away is told what it missed, in order, and the last row in any case: it may have forgotten what it had
retained. A gateway that was killed learns from what the broker has retained which row it was told last, and goes on
from there. A row told twice has the same identity, (person, date, slot).
"""

from __future__ import annotations

import asyncio
import datetime as dt
import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import paho.mqtt.client as paho

from discreet.gateway.config.broker import Broker, identifier
from discreet.gateway.config.views import View
from discreet.gateway.runtime import Gateway
from discreet.gateway.slots.person import PersonConfig
from discreet.gateway.store.journal.base import JournalError, JournalRow, Key
from discreet.gateway.wires.mqtt.connection import FIRST, LONGEST, PATIENCE, REFUSED, BrokerConnection, Message
from discreet.gateway.wires.mqtt.messages import Wire, wires
from discreet.places.named import Places

TOLD = "telling the broker"
"""What health calls it."""

SWEEP = 2.0
"""Seconds in which a broker sends what it has retained, so that what is told no more can be cleared."""

FAREWELL = 1.0
"""Seconds for saying goodbye."""


RETOLD = dt.timedelta(days=30)
"""What a broker retained before that is too old to go on from: it is told the last row alone."""


class MqttPublisher:
    """The views that are told on a broker."""

    def __init__(
        self,
        gateway: Gateway,
        broker: Broker,
        people: Mapping[str, PersonConfig],
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
        self._retained: dict[str, Key] = {}
        """The slot that the broker has retained on a topic, as it says when the gateway comes."""
        self._since: dict[str, Key] = {}
        """Where a broker that knows nothing starts: just before the last slot that was told when it was reached."""
        self._queue: asyncio.Queue[Sequence[JournalRow] | None] | None = None
        self._heard: asyncio.Queue[paho.MQTTMessage] = asyncio.Queue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._announced, self.connected = asyncio.Event(), asyncio.Event()
        gateway.on_told(self._told)

    async def _told(self, rows: Sequence[JournalRow]) -> None:
        if self._queue is not None:
            self._queue.put_nowait(rows)

    def redraw(self, person: str, places: Places) -> None:
        """Another map is in force: what is told from now on has its circles. From any thread."""
        for wire in list(self._wires.get(person, ())):
            wire.change(places=places)

    def show(self, view: View) -> None:
        """Another view of that name: what is told from now on is as it shows it. From any thread."""
        for wire in [one for told in list(self._wires.values()) for one in told if one.told.view == view.name]:
            wire.change(view=view)

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
            self._heard = asyncio.Queue()
            self._announced.clear()
            link = BrokerConnection(self._broker, "told", self._take, will=self._broker.status)
            try:
                await link.open()
                delay = self._first
                await self._serve(link)
            except PermissionError:
                self._gateway.health.broken(TOLD, REFUSED)
            except (OSError, ValueError, JournalError):
                self._gateway.health.broken(TOLD, "the broker is away; it is told again when it is back")
            finally:
                self._queue = None
                self.connected.clear()
                await link.close()
            await asyncio.sleep(delay)
            delay = min(2 * delay, LONGEST)

    def _take(self, client: paho.Client, data: Any, message: paho.MQTTMessage) -> None:
        if message.topic == self._broker.status:
            if not message.retain:
                self._announced.set()
            return
        if message.retain and (key := _key_in(message.payload)) is not None:
            self._retained[message.topic] = key
        self._heard.put_nowait(message)

    async def _serve(self, link: BrokerConnection) -> None:
        """One connection: what was missed, then rows as they are told."""
        self._queue = asyncio.Queue()  # before the journal is read: nothing falls between
        self._since = {person: _before(self._gateway.shown(person)) for person in self._wires}
        topics = (*self._sweeping, f"{self._broker.discovery}/status", self._broker.status)
        link.client.subscribe([(topic, 0) for topic in topics])
        await self._clear_now(link)
        await self._introduce(link)
        if not self._wires.keys() <= self._reached.keys():
            await self._learn(link)
        await self._catch_up(link)
        self.connected.set()
        self._gateway.health.mended(TOLD)
        works = (self._send(link), self._hear(link), self._stop_sweeping(link), self._held(link))
        tasks = [asyncio.create_task(work) for work in works]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            with suppress(OSError, TimeoutError):  # who leaves in good order has no will
                await asyncio.wait_for(link.publish([Message(self._broker.status, b"offline")]), FAREWELL)

    async def _held(self, link: BrokerConnection) -> None:
        await link.held()
        raise ConnectionError("the broker is away")

    async def _introduce(self, link: BrokerConnection) -> None:
        """Say what there is, and that the gateway is there."""
        shown = [message for told in self._wires.values() for wire in told for message in wire.discovery]
        await link.publish([*shown, Message(self._broker.status, b"online")])

    async def _learn(self, link: BrokerConnection) -> None:
        """Wait until the broker has sent what it retains: that comes before the gateway's own `online` comes back.

        A broker that does not send that back is told the last rows only.
        """
        waiting = [asyncio.create_task(one) for one in (self._announced.wait(), link.held())]
        await asyncio.wait(waiting, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    async def _catch_up(self, link: BrokerConnection) -> None:
        """Tell what the broker missed of everybody, the earliest first, or the last row again."""
        missed = {person: rows for person in self._wires if (rows := await self._missed(person))}
        messages = []
        for row in sorted((row for rows in missed.values() for row in rows), key=lambda row: row.ends):
            last = row is missed[row.person][-1]
            confirmed = row.key == self._reached.get(row.person)
            for wire in self._wires[row.person]:
                told = wire.of(row) if last or not wire.told.now_only else ()
                # A broker forgets what it retains, not what it passed on: a location is not passed on twice.
                messages += [one for one in told if one.retain or not confirmed]
        await link.publish(messages)
        self._reached |= {person: rows[-1].key for person, rows in missed.items()}

    async def _missed(self, person: str) -> list[JournalRow]:
        shown = self._gateway.shown(person)
        if shown is None:
            return []
        reached = self._reached.get(person) or self._kept_before(person, shown) or self._since[person]
        missed: list[JournalRow] = []
        rows, read = partial(self._gateway.rows, person), self._gateway.read
        while some := await read(partial(rows, after=reached)):
            missed += some
            reached = some[-1].key
        return missed or await read(partial(rows, after=_before(shown)))

    def _kept_before(self, person: str, shown: Key) -> Key | None:
        """The slot before the last that all of a person's views are known to have: that one is told again."""
        found = [self._retained[wire.topic] for wire in self._wires[person] if wire.topic in self._retained]
        if not found or not shown[0] - RETOLD <= min(found)[0] or min(found) > shown:
            return None
        return _before(min(found))

    async def _send(self, link: BrokerConnection) -> None:
        """Rows as they are told; of those that were told while the broker was catching up, none twice."""
        queue = self._queue
        assert queue is not None  # made before this task
        while True:
            rows = await queue.get()
            await self._clear_now(link)
            fresh = [row for row in rows or () if row.person in self._wires and self._is_new(row)]
            await link.publish(
                [message for row in fresh for wire in self._wires[row.person] for message in wire.of(row)]
            )
            for row in fresh:
                self._reached[row.person] = row.key

    def _is_new(self, row: JournalRow) -> bool:
        reached = self._reached.get(row.person)
        return reached is None or row.key > reached

    async def _clear_now(self, link: BrokerConnection) -> None:
        clearing, self._clear = self._clear, []
        try:
            await link.publish(clearing)
        except OSError:
            self._clear = clearing + self._clear  # when the broker is back
            raise

    # --- what the broker sends

    @property
    def _sweeping(self) -> list[str]:
        below = f"{self._broker.name}/+/+"
        found = [f"{self._broker.discovery}/{kind}/+/config" for kind in ("device_tracker", "sensor")]
        return [below, f"{below}/state", f"{below}/attributes", *found]

    async def _hear(self, link: BrokerConnection) -> None:
        """Clear what is retained of views that are told no more; introduce the others when Home Assistant starts."""
        told = {topic for wires in self._wires.values() for wire in wires for topic in wire.retained}
        while True:
            message = await self._heard.get()
            topic = message.topic
            if topic == f"{self._broker.discovery}/status":
                if message.payload == b"online" and not message.retain:
                    await self._introduce(link)
            elif message.retain and message.payload and topic not in told and self._is_ours(topic):
                await link.publish([Message(topic, b"")])

    def _is_ours(self, topic: str) -> bool:
        parts = topic.split("/")
        return parts[0] == self._broker.name or parts[-2].startswith(identifier(self._broker.name, ""))

    async def _stop_sweeping(self, link: BrokerConnection) -> None:
        await asyncio.sleep(SWEEP)
        link.client.unsubscribe(self._sweeping)


def _before(key: Key | None) -> Key:
    """The place just before a slot; without a slot, the place before all of them."""
    return (dt.date.min, 0) if key is None else (key[0], key[1] - 1)


def _key_in(payload: bytes | bytearray) -> Key | None:
    """The slot of an event; None for whatever else is retained."""
    try:
        event = json.loads(payload)
        return dt.date.fromisoformat(event["date"]), int(event["slot"])
    except (ValueError, KeyError, TypeError):
        return None


async def run(gateway: Gateway, broker: Broker, people: Mapping[str, PersonConfig], views: Mapping[str, View]) -> None:
    """A task beside the server: the broker is told, until cancelled."""
    await MqttPublisher(gateway, broker, people, views).run()
