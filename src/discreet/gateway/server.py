"""The server process: uvicorn with no banner and no access log, and a stop that lets readers go first."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable

import uvicorn

from discreet.errors import DiscreetError
from discreet.gateway.app import Served

LOG = logging.getLogger("discreet.gateway.server")

CONNECTIONS = 2_000
STOPPING = 10
"""Seconds that requests have to end."""


class _Server(uvicorn.Server):
    """Ends open streams when it stops: uvicorn would wait for them."""

    def __init__(self, config: uvicorn.Config, served: Served, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._served, self._ready = served, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        if not self.should_exit:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop."""
        self._served.streams.end_all()
        await super().shutdown(sockets)


def server_of(served: Served, ready: Callable[[], None] = lambda: None) -> uvicorn.Server:
    """The server of a gateway."""
    at = served.plan.server
    config = uvicorn.Config(
        served.app(),
        host=at.host,
        port=at.port,
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=STOPPING,
        ssl_certfile=at.certificate,
        ssl_keyfile=at.key,
        lifespan="on",
        ws="none",
    )
    return _Server(config, served, ready)


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


def run(served: Served, bound: socket.socket, ready: Callable[[], None] = lambda: None) -> bool:
    """Serve until the process is asked to stop; whether it ended well."""
    server = server_of(served, ready)
    server.run([bound])  # on uvloop, which the extra installs, or on asyncio's own loop
    LOG.info("stopped")
    return server.started
