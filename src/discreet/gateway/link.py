"""paho on the event loop: one connection, without a thread of its own.

A thread would hand each message over and fight for the interpreter, which halves how many can be kept a second.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import paho.mqtt.client as paho

AT_ONCE = 20
"""Packets that are read before others have their turn; a broker sends about as many before it waits."""

MISC = 1.0
"""Seconds between two looks at whether a ping is due."""


class Link:
    """A connection; `lost` is done when it has ended."""

    def __init__(self, client: paho.Client) -> None:
        self.client = client
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        self.lost: asyncio.Future[None] = self._loop.create_future()
        client.on_socket_open = self._opened
        client.on_socket_close = self._closed
        client.on_socket_register_write = self._wants_to_write
        client.on_socket_unregister_write = self._has_written

    async def open(self, *arguments: Any, **options: Any) -> None:
        """Connect, as `paho.Client.connect` does; an OSError if nobody is there."""
        await self._loop.run_in_executor(None, lambda: self.client.connect(*arguments, **options))

    async def held(self) -> None:
        """Return when the connection has ended."""
        while not self.lost.done():
            self._step(self.client.loop_misc)
            await asyncio.wait([self.lost], timeout=MISC)

    async def close(self) -> None:
        """End it in good order."""
        self._step(self.client.disconnect)
        self._step(self.client.loop_write)
        sock = self.client.socket()
        if sock is not None:
            self._has_written(self.client, None, sock)
            self._closed(self.client, None, sock)
            sock.close()

    def end(self) -> None:
        """Note that it has ended."""
        if not self.lost.done():
            self.lost.set_result(None)

    def _step(self, call: Callable[[], Any]) -> bool:
        """One step of paho; what it raises, and what it says is wrong, is a connection that broke."""
        try:
            fine: bool = call() == paho.MQTT_ERR_SUCCESS
        except (OSError, ValueError):
            fine = False
        if not fine:
            self.end()
        return fine

    def _read(self) -> None:
        for _ in range(AT_ONCE):
            if not self._step(self.client.loop_read):
                return
        pending = getattr(self.client.socket(), "pending", None)
        if pending is not None and pending():  # decoded by TLS already: the socket will not say so
            self._loop.call_soon(self._read)

    # paho calls these from the thread that connects, too.

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
