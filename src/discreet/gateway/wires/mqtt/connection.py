"""One connection to the broker: paho on the event loop, without a thread of its own.

A thread would hand each message over and fight for the interpreter, and a task for each message that is published would
cost ten times the message. So paho's socket is watched by the loop, and messages are confirmed by the batch. A client
is made anew for each connection: nothing that waited in an old one can overtake what is newer.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from discreet.gateway.config.broker import Broker

KEEPALIVE = 30

SESSION = 7 * 86_400
"""Seconds that a broker of MQTT 5 keeps what the gateway misses; of 3.1.1, it is the broker's to say."""

PATIENCE = 30.0
"""Seconds until a broker that does not answer counts as lost."""

FIRST, LONGEST = 1.0, 60.0
"""Seconds until a broker that is away is tried again: doubled each time, up to a minute."""

AT_ONCE = 20
"""Packets that are read before others have their turn; a broker sends about as many before it waits."""

IN_FLIGHT = 1000
"""Messages that may wait for their confirmation at once. Brokers of MQTT 5 have limits; paho's 20 is within them."""

MISC = 1.0
"""Seconds between two looks at whether a ping is due."""

REFUSED = "the broker refuses the gateway; check broker.user, broker.password and the broker's ACL"

Take = Callable[[paho.Client, Any, paho.MQTTMessage], None]


@dataclass(frozen=True)
class Message:
    """One message to the broker; an empty payload that is retained clears the topic."""

    topic: str
    payload: bytes
    qos: int = 1
    retain: bool = True


@dataclass(eq=False)
class SentTogether:
    """Messages that were sent together."""

    left: int
    done: asyncio.Future[None]


class BrokerConnection:
    """A connection; `lost` is done when it has ended.

    With `keeps` the broker keeps what is missed, and a message is acknowledged by `client.ack` and not before.
    """

    def __init__(self, broker: Broker, role: str, take: Take, *, keeps: bool = False, will: str | None = None) -> None:
        self._broker, self._keeps = broker, keeps
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        self.lost: asyncio.Future[None] = self._loop.create_future()
        self._accepted: asyncio.Future[bool] = self._loop.create_future()
        self._batches: dict[int, SentTogether] = {}
        newer = broker.version == "5"
        self.client = paho.Client(
            CallbackAPIVersion.VERSION2,
            client_id=f"{broker.name}-{role}",
            clean_session=None if newer else not keeps,
            protocol=MQTTProtocolVersion.MQTTv5 if newer else MQTTProtocolVersion.MQTTv311,
            manual_ack=keeps,
        )
        if not newer:
            self.client.max_inflight_messages_set(IN_FLIGHT)
        if broker.user is not None:
            self.client.username_pw_set(broker.user, broker.password)
        if (context := broker.context) is not None:
            self.client.tls_set_context(context)
        if will is not None:
            self.client.will_set(will, b"offline", 1, retain=True)
        self._listen(take)

    def _listen(self, take: Take) -> None:
        client = self.client
        client.on_message, client.on_publish = take, self._confirmed
        client.on_connect, client.on_disconnect = self._answered, self._left
        client.on_socket_open, client.on_socket_close = self._opened, self._closed
        client.on_socket_register_write, client.on_socket_unregister_write = self._wants_to_write, self._has_written

    async def open(self) -> None:
        """Connect; an OSError if nobody is there, or will not have us."""
        options: dict[str, Any] = {}
        if self._broker.version == "5":
            properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]  # paho gives it none
            properties.SessionExpiryInterval = SESSION if self._keeps else 0
            options = {"clean_start": not self._keeps, "properties": properties}
        connect = self.client.connect
        await self._loop.run_in_executor(
            None, lambda: connect(self._broker.host, self._broker.port, KEEPALIVE, **options)
        )
        if not await self._in_time(self._accepted):
            raise ConnectionError("the broker does not answer")
        if not self._accepted.result():
            raise PermissionError(REFUSED)

    async def held(self) -> None:
        """Return when the connection has ended."""
        while not self.lost.done():
            self._step(self.client.loop_misc)
            await asyncio.wait([self.lost], timeout=MISC)

    async def publish(self, messages: Iterable[Message]) -> None:
        """Send all, in order, and return when the broker has confirmed them all; an OSError if it does not."""
        batch = SentTogether(0, self._loop.create_future())
        for one in messages:
            sent = self.client.publish(one.topic, one.payload, one.qos, one.retain)
            if sent.rc != paho.MQTT_ERR_SUCCESS:
                raise ConnectionError("the broker is away")
            if one.qos:
                self._batches[sent.mid] = batch
                batch.left += 1
        if batch.left and not await self._in_time(batch.done):
            raise ConnectionError("the broker confirms nothing")

    async def close(self) -> None:
        """End it in good order."""
        self._step(self.client.disconnect)
        self._step(self.client.loop_write)
        sock = self.client.socket()
        if sock is not None:
            self._has_written(self.client, None, sock)
            self._closed(self.client, None, sock)
            sock.close()

    async def _in_time(self, done: asyncio.Future[Any]) -> bool:
        waiting: list[asyncio.Future[Any]] = [done, self.lost]
        await asyncio.wait(waiting, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        return done.done()

    # --- what paho says

    def _answered(self, client: paho.Client, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        if not self._accepted.done():
            self._accepted.set_result(not reason.is_failure)

    def _left(self, client: paho.Client, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        self._end()

    def _confirmed(self, client: paho.Client, data: Any, number: int, reason: Any, properties: Any) -> None:
        batch = self._batches.pop(number, None)
        if batch is not None:
            batch.left -= 1
            if not batch.left and not batch.done.done():
                batch.done.set_result(None)

    def _end(self) -> None:
        if not self.lost.done():
            self.lost.set_result(None)

    def _step(self, call: Callable[[], Any]) -> bool:
        """One step of paho; what it raises, and what it says is wrong, is a connection that broke."""
        try:
            fine: bool = call() == paho.MQTT_ERR_SUCCESS
        except (OSError, ValueError):
            fine = False
        if not fine:
            self._end()
        return fine

    def _read(self) -> None:
        for _ in range(AT_ONCE):
            if not self._step(self.client.loop_read):
                return
        pending = getattr(self.client.socket(), "pending", None)
        if pending is not None and pending():  # decoded by TLS already: the socket will not say so
            self._loop.call_soon(self._read)

    # --- its socket; paho calls these from the thread that connects, too

    def _opened(self, client: paho.Client, data: Any, sock: Any) -> None:
        self._soon(sock, lambda number: self._loop.add_reader(number, self._read))

    def _closed(self, client: paho.Client, data: Any, sock: Any) -> None:
        if sock.fileno() >= 0:
            self._loop.remove_reader(sock.fileno())

    def _wants_to_write(self, client: paho.Client, data: Any, sock: Any) -> None:
        self._soon(sock, lambda number: self._loop.add_writer(number, self._step, client.loop_write))

    def _has_written(self, client: paho.Client, data: Any, sock: Any) -> None:
        if sock.fileno() >= 0:
            self._loop.remove_writer(sock.fileno())

    def _soon(self, sock: Any, watch: Callable[[int], None]) -> None:
        """Watch a socket, unless it is closed by then."""

        def now() -> None:
            if sock.fileno() >= 0:
                watch(sock.fileno())

        if threading.get_ident() == self._thread:
            now()
        else:
            self._loop.call_soon_threadsafe(now)
