"""A made-up Home Assistant with a Supervisor: it shows the gateway's page in a frame, below an ingress path.

Headers are those that Home Assistant's and the Supervisor's own sources send; neither of them runs here.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import HTMLResponse, StreamingResponse
from starlette.routing import Route

from discreet.gateway.server import listening

HOPS = ("transfer-encoding", "content-length", "connection", "content-encoding")
"""What is of one connection, or of a body as it was packed for one."""


@dataclass
class House:
    """What it forwards to, and below which path."""

    gateway: str
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    scheme: str = "http"
    """What Home Assistant itself is reached by."""
    port: int = 0

    @property
    def prefix(self) -> str:
        """The path of the page."""
        return f"/api/hassio_ingress/{self.token}"

    @property
    def address(self) -> str:
        """Home Assistant's own."""
        return f"http://127.0.0.1:{self.port}"

    def app(self) -> Starlette:
        """Its page with a frame, and what is below the ingress path."""
        methods = ["GET", "POST", "PUT", "DELETE"]
        return Starlette(
            routes=[
                Route("/", self._panel),
                Route("/api/hassio_ingress/{token}/{path:path}", self._forward, methods=methods),
            ]
        )

    async def _panel(self, request: Request) -> HTMLResponse:
        frame = f'<iframe title="discreet" width="1000" height="700" src="{self.prefix}/"></iframe>'
        icon = '<link rel="icon" href="data:,">'
        return HTMLResponse(f'<!doctype html><html lang="en"><head><title>Home</title>{icon}</head>{frame}</html>')

    async def _forward(self, request: Request) -> StreamingResponse:
        assert request.path_params["token"] == self.token
        given = [(name, value) for name, value in request.headers.items() if name not in HOPS]
        host = request.headers["host"]
        given += [
            ("X-Ingress-Path", self.prefix),
            ("X-Forwarded-For", "192.168.1.7, 172.30.32.1"),
            ("X-Forwarded-Host", host),
            ("X-Forwarded-Proto", self.scheme),
        ]
        client = httpx.AsyncClient(base_url=self.gateway, timeout=120)
        address = httpx.URL(f"{self.gateway}/{request.path_params['path']}", query=request.url.query.encode())
        asked = client.build_request(request.method, address, headers=given, content=await request.body())
        answer = await client.send(asked, stream=True)

        async def closed() -> None:
            await answer.aclose()
            await client.aclose()

        kept = [(name, value) for name, value in answer.headers.multi_items() if name not in HOPS]
        told = StreamingResponse(answer.aiter_bytes(), answer.status_code, background=BackgroundTask(closed))
        told.raw_headers = [(name.encode(), value.encode()) for name, value in kept]
        return told


@asynccontextmanager
async def open_house(gateway: str) -> AsyncIterator[House]:
    """A house at a port of its own."""
    bound = listening("127.0.0.1", 0)
    house = House(gateway, port=bound.getsockname()[1])
    server = uvicorn.Server(uvicorn.Config(house.app(), log_level="error", lifespan="off", timeout_graceful_shutdown=1))
    serving = asyncio.create_task(server._serve([bound]))
    while not server.started:
        await asyncio.sleep(0.01)
        if serving.done():
            serving.result()
    try:
        yield house
    finally:
        server.should_exit = True
        await serving
        bound.close()
