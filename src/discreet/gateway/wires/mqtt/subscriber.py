"""Readings from the broker: OwnTracks and Home Assistant's statestream.

A message is acknowledged after its readings are on disk, and not before: one that was lost with the process comes
again, because the client has a fixed id and keeps its session. paho does this (`manual_ack`); libraries above it
acknowledge on receipt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import paho.mqtt.client as paho

from discreet.gateway.config.broker import Broker
from discreet.gateway.runtime import Gateway
from discreet.gateway.store.own_store import Reading
from discreet.gateway.wires.home_assistant import HomeAssistantSource
from discreet.gateway.wires.ingest import kept
from discreet.gateway.wires.mqtt.connection import FIRST, LONGEST, REFUSED, BrokerConnection
from discreet.gateway.wires.owntracks_source import LARGEST, OwnTracksSource, opened, readings_of, why_unused
from discreet.gateway.wires.statestream import PATIENCE, Statestream, joined

SOURCE = "readings from the broker"
"""What health calls it."""

WAITING = 10_000
"""Messages that wait; beyond, those sent at most once (QoS 0) are dropped. The broker holds back the others itself."""


@dataclass(frozen=True, eq=False)
class Sent:
    """A message, and the connection that it came over: only there may it be acknowledged."""

    message: paho.MQTTMessage
    client: paho.Client


class MqttSource:
    """The broker's messages as readings of people."""

    def __init__(
        self,
        gateway: Gateway,
        broker: Broker,
        phones: Sequence[OwnTracksSource] = (),
        states: Sequence[HomeAssistantSource] = (),
        *,
        first: float = FIRST,
    ) -> None:
        self._first = first
        self._gateway, self._broker, self._phones = gateway, broker, phones
        self._streams = [Statestream[Sent](one) for one in states if one.statestream is not None]
        self._link: BrokerConnection | None = None
        self._waiting: list[Sent] = []
        self._arrived = asyncio.Event()
        self.connected = asyncio.Event()

    @property
    def topics(self) -> list[str]:
        """What is subscribed to: the phones that are known, not everybody's."""
        found = []
        for one in self._phones:
            base = f"owntracks/{one.user}/{one.device or '+'}"
            found += [base, f"{base}/event"]
        return list(dict.fromkeys(found + [topic for one in self._streams for topic in one.topics]))

    async def run(self) -> None:
        """Read until cancelled; a broker that goes away is tried again."""
        if not self.topics:
            return
        keeping = asyncio.create_task(self._keep())
        try:
            await self._hold()
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    async def _hold(self) -> None:
        """One connection after another."""
        delay, health = self._first, self._gateway.health
        while True:
            self._link = link = BrokerConnection(self._broker, "source", self._take, keeps=True)
            try:
                await link.open()
                link.client.subscribe([(topic, 1) for topic in self.topics])
                delay = self._first
                self.connected.set()
                health.mended(SOURCE)
                await link.held()
                health.broken(SOURCE, "the broker is away; readings wait there until it is back")
            except PermissionError:
                health.broken(SOURCE, REFUSED)
            except (OSError, ValueError):  # nobody there, or not with such a name or certificate
                health.broken(SOURCE, "the broker cannot be reached; readings wait there until it is back")
            finally:
                self.connected.clear()
                await link.close()
            await asyncio.sleep(delay)
            delay = min(2 * delay, LONGEST)

    async def _keep(self) -> None:
        while True:
            await self._turn()

    async def _turn(self) -> None:
        """Read what waits, keep it, acknowledge it."""
        patience = PATIENCE if any(one.waits for one in self._streams) else None
        with suppress(TimeoutError):
            await asyncio.wait_for(self._arrived.wait(), patience)
        self._arrived.clear()
        batch, self._waiting = self._waiting, []
        now = self._gateway.wall()
        readings, done = joined([self._read(one, now) for one in batch] + [one.overdue() for one in self._streams])
        if readings:
            await kept(self._gateway, readings)
        for one in done:
            if one.message.qos and self._link is not None and one.client is self._link.client:
                one.client.ack(one.message.mid, one.message.qos)

    def _read(self, sent: Sent, now: float) -> tuple[list[Reading], list[Sent]]:
        """The readings in a message, and which messages are dealt with; what cannot be read is, too."""
        try:
            topic, payload = sent.message.topic, bytes(sent.message.payload)
        except UnicodeDecodeError:
            return [], [sent]
        if len(payload) > LARGEST:
            return [], [sent]
        for stream in self._streams:
            if stream.hears(topic):
                return stream.hear(topic, payload, retained=sent.message.retain, now=now, sent=sent)
        return self._located(topic, payload), [sent]

    def _located(self, topic: str, payload: bytes) -> list[Reading]:
        """What a phone says; its topic tells whose it is."""
        base, user, device, *rest = [*topic.split("/"), "", "", ""]
        if base != "owntracks" or rest[0] not in ("", "event"):
            return []
        for one in self._phones:
            if one.user == user and one.device in (None, device):
                boxes = () if one.box is None else (one.box,)
                said, _ = opened(payload, boxes, clear=one.reads_clear)
                found = readings_of(said, one.person, device[:64])
                if not found and payload and (why := why_unused(payload, said, boxes)) is not None:
                    self._gateway.refused.count(one.person, why)
                return found
        return []

    def _take(self, client: paho.Client, data: Any, message: paho.MQTTMessage) -> None:
        if message.qos or len(self._waiting) < WAITING:
            self._waiting.append(Sent(message, client))
            self._arrived.set()


async def run(
    gateway: Gateway,
    broker: Broker,
    phones: Sequence[OwnTracksSource] = (),
    states: Sequence[HomeAssistantSource] = (),
) -> None:
    """A task beside the server: readings from the broker, until cancelled."""
    await MqttSource(gateway, broker, phones, states).run()
