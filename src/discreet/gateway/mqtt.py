"""Readings from the broker: OwnTracks and Home Assistant's statestream.

A message is acknowledged after its readings are on disk, and not before: one that was lost with the process comes
again, because the client has a fixed id and keeps its session. paho does this (`manual_ack`); libraries above it
acknowledge on receipt. paho's thread hands messages over; they are read, kept and acknowledged in the event loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from discreet.gateway.broker import Broker
from discreet.gateway.heard import kept
from discreet.gateway.home_assistant import HomeAssistantSource
from discreet.gateway.own_store import Reading
from discreet.gateway.owntracks import LARGEST, OwnTracksSource, opened, readings_of
from discreet.gateway.runtime import Gateway
from discreet.gateway.statestream import PATIENCE, Statestream, joined

LOG = logging.getLogger("discreet.gateway")

SESSION = 7 * 86_400
"""Seconds that a broker of MQTT 5 keeps what the gateway misses; of 3.1.1, it is the broker's to say."""

KEEPALIVE = 30

WAITING = 10_000
"""Messages that wait; beyond, those sent at most once (QoS 0) are dropped. The broker holds back the others itself."""


@dataclass(frozen=True, eq=False)
class Sent:
    """A message, and the connection that it came over: only there may it be acknowledged."""

    message: paho.MQTTMessage
    connection: int


class MqttSource:
    """The broker's messages as readings of people."""

    def __init__(
        self,
        gateway: Gateway,
        broker: Broker,
        phones: Sequence[OwnTracksSource] = (),
        states: Sequence[HomeAssistantSource] = (),
    ) -> None:
        self._gateway, self._broker, self._phones = gateway, broker, phones
        self._streams = [Statestream[Sent](one) for one in states if one.statestream is not None]
        self._connection = 0
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
        loop = asyncio.get_running_loop()
        client = self._client(loop)
        client.loop_start()
        try:
            while True:
                await self._turn(client)
        finally:
            client.on_message = client.on_connect = client.on_disconnect = None
            client.disconnect()
            await loop.run_in_executor(None, client.loop_stop)

    async def _turn(self, client: paho.Client) -> None:
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
            if one.message.qos and one.connection == self._connection:
                client.ack(one.message.mid, one.message.qos)

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
                said, _ = opened(payload, () if one.box is None else (one.box,))
                return readings_of(said, one.person, device[:64])
        return []

    # --- paho's side

    def _client(self, loop: asyncio.AbstractEventLoop) -> paho.Client:
        newer = self._broker.version == "5"
        client = paho.Client(
            CallbackAPIVersion.VERSION2,
            client_id=f"{self._broker.name}-source",
            clean_session=None if newer else False,
            protocol=MQTTProtocolVersion.MQTTv5 if newer else MQTTProtocolVersion.MQTTv311,
            manual_ack=True,
        )
        if self._broker.user is not None:
            client.username_pw_set(self._broker.user, self._broker.password)
        if (context := self._broker.context) is not None:
            client.tls_set_context(context)
        client.reconnect_delay_set(1, 60)

        def on_connect(client: paho.Client, data: Any, flags: Any, reason: Any, properties: Any) -> None:
            if reason.is_failure:
                LOG.warning("the broker refuses the gateway as a source; check its user, password and ACL")
                return
            self._connection += 1
            client.subscribe([(topic, 1) for topic in self.topics])
            _call(loop, self.connected.set)

        def on_disconnect(client: paho.Client, data: Any, flags: Any, reason: Any, properties: Any) -> None:
            self._connection += 1
            LOG.warning("the broker is away; readings wait there until it is back")
            _call(loop, self.connected.clear)

        def on_message(client: paho.Client, data: Any, message: paho.MQTTMessage) -> None:
            _call(loop, self._take, Sent(message, self._connection))

        client.on_connect, client.on_disconnect, client.on_message = on_connect, on_disconnect, on_message
        properties = None
        if newer:
            properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]  # paho gives it none
            properties.SessionExpiryInterval = SESSION
        client.connect_async(
            self._broker.host,
            self._broker.port,
            KEEPALIVE,
            clean_start=False if newer else paho.MQTT_CLEAN_START_FIRST_ONLY,
            properties=properties,
        )
        return client

    def _take(self, sent: Sent) -> None:
        if sent.message.qos or len(self._waiting) < WAITING:
            self._waiting.append(sent)
            self._arrived.set()


def _call(loop: asyncio.AbstractEventLoop, call: Any, *arguments: Any) -> None:
    """Have the event loop call it; a loop that ended hears no more."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(call, *arguments)


async def run(
    gateway: Gateway,
    broker: Broker,
    phones: Sequence[OwnTracksSource] = (),
    states: Sequence[HomeAssistantSource] = (),
) -> None:
    """A task beside the server: readings from the broker, until cancelled."""
    await MqttSource(gateway, broker, phones, states).run()
