"""The server process: uvicorn with no banner and no access log, and a stop that lets readers go first."""

from __future__ import annotations

import logging
import os
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from types import FrameType
from typing import Any

import uvicorn

from discreet.errors import DiscreetError
from discreet.gateway.app import PreparedGateway
from discreet.gateway.config.sections import Server
from discreet.gateway.wires.connections import Connections, limited

resource: Any = import_module("resource") if os.name == "posix" else None

LOG = logging.getLogger("discreet.gateway.server")

CONNECTIONS = 2_000
"""In all, as far as the system allows."""

FILES = 8_192
"""Open files that are asked for: connections are files."""

SPARE = 200
"""Open files that connections leave to journals, processes and the broker."""

STOPPING = 1
"""Seconds that requests have to end."""

STOPPED = 1.5
"""Seconds after which a stop does not wait any more: a computation cannot be cut short, and whatever is going on, the
files are as after a power cut, from which the gateway goes on."""


class _Server(uvicorn.Server):
    """Ends open streams when it stops: uvicorn would wait for them."""

    def __init__(self, config: uvicorn.Config, served: PreparedGateway, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._served, self._ready = served, ready
        self.leaving: threading.Timer | None = None
        """Set when it was asked to stop: what is left of its time."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop, whatever else is being done."""
        if self.leaving is None:
            self.leaving = threading.Timer(STOPPED, _leave)
            self.leaving.daemon = True
            self.leaving.start()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        if not self.should_exit:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop."""
        self._served.streams.end_all()
        await super().shutdown(sockets)


def _leave() -> None:
    LOG.warning("stopped without waiting for what was being done")
    os._exit(0)


def server_of(served: PreparedGateway, ready: Callable[[], None] = lambda: None) -> _Server:
    """The server of a gateway."""
    at = served.plan.server
    connections = Connections(served.plan.limits.connections, room(), at.behind)
    config = uvicorn.Config(
        served.app(),
        host=at.host,
        port=at.port,
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        http=limited(connections, tls_of(at)),
        timeout_graceful_shutdown=STOPPING,
        lifespan="on",
        ws="none",
    )
    return _Server(config, served, ready)


def tls_of(at: Server) -> ssl.SSLContext | None:
    """What its certificate and key are used with; none without them."""
    if at.certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(at.certificate, at.key)
    except OSError as error:
        raise DiscreetError(
            f"{at.certificate}: cannot be used for TLS with the key {at.key}: {error.strerror or error}; "
            "server.certificate and server.key name two PEM files that belong together"
        ) from None
    return context


def room() -> int:
    """How many connections fit, when as many files may be open as the system lets us have."""
    if resource is None:
        return CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return CONNECTIONS if soft == resource.RLIM_INFINITY else max(1, min(CONNECTIONS, soft - SPARE))


def listening(host: str, port: int) -> socket.socket:
    """The socket, bound before anything else starts: a port that is taken is said at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise DiscreetError(f"{host}:{port}: cannot be listened at: {error.strerror}; give another --port") from None
    return bound


def run(served: PreparedGateway, bound: socket.socket, ready: Callable[[], None] = lambda: None) -> bool:
    """Serve until the process is asked to stop; whether it ended well."""
    server = server_of(served, ready)
    server.run([bound])  # on uvloop, which the extra installs, or on asyncio's own loop
    if server.leaving is not None:
        server.leaving.cancel()
    LOG.info("stopped")
    return server.started
