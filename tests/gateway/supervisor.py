"""A made-up Supervisor with a Home Assistant behind it: the routes that an app asks, as their own sources have them.

It answers with a token alone, as the real one; what the real one does besides is not here.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from discreet.gateway.server import listening

TOKEN = "0123456789abcdef0123456789abcdef"
PHONE, RELEASED = "device_tracker.pixel_9", "device_tracker.jane"


def tracked(entity: str, state: str, at: dt.datetime, **attributes: Any) -> dict[str, Any]:
    """A state as the REST API has it."""
    when = at.isoformat()
    return {"entity_id": entity, "state": state, "attributes": attributes, "last_changed": when, "last_updated": when}


@dataclass
class FakeSupervisor:
    """What it knows, and what it was asked."""

    mqtt: dict[str, Any] | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    """States of the phone."""
    asked: list[str] = field(default_factory=list)
    followed: int = 0
    """How many have asked for events over the WebSocket."""
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def app(self) -> Starlette:
        """Its routes."""
        return Starlette(
            routes=[
                Route("/services/mqtt", self._mqtt),
                Route("/core/api/states", self._states),
                Route("/core/api/history/period/{start:path}", self._history),
                WebSocketRoute("/core/api/websocket", self._socket),
            ]
        )

    def _refused(self, request: Request) -> Response | None:
        self.asked.append(str(request.url))
        known = request.headers.get("authorization") == f"Bearer {TOKEN}"
        return None if known else JSONResponse({"result": "error"}, 401)

    async def _mqtt(self, request: Request) -> Response:
        if (refused := self._refused(request)) is not None:
            return refused
        if self.mqtt is None:
            return JSONResponse({"result": "error", "message": "Service not enabled"}, 400)
        return JSONResponse({"result": "ok", "data": self.mqtt})

    async def _states(self, request: Request) -> Response:
        now = dt.datetime.now(dt.UTC)
        return self._refused(request) or JSONResponse(
            [
                tracked("light.hall", "on", now),
                tracked(RELEASED, "home", now, friendly_name="jane", released_by="discreet"),
                tracked(PHONE, "home", now, friendly_name="Jane's phone", source_type="gps"),
                tracked("person.jane", "home", now, friendly_name="Jane"),
                tracked("device_tracker.tv", "home", now),
            ]
        )

    async def _history(self, request: Request) -> Response:
        if (refused := self._refused(request)) is not None:
            return refused
        start = dt.datetime.fromisoformat(request.path_params["start"])
        end = dt.datetime.fromisoformat(request.query_params["end_time"])
        told = [
            one
            for one in self.history
            if one["entity_id"] == request.query_params["filter_entity_id"]
            and start <= dt.datetime.fromisoformat(one["last_changed"]) < end
        ]
        if request.query_params.get("significant_changes_only") != "0":
            told = [
                one
                for one, before in zip(told, [None, *told], strict=False)
                if before is None or one["state"] != before["state"]
            ]
        return JSONResponse([told] if told else [])

    async def _socket(self, socket: WebSocket) -> None:
        await socket.accept()
        await socket.send_json({"type": "auth_required"})
        said = await socket.receive_json()
        if said != {"type": "auth", "access_token": TOKEN}:
            await socket.send_json({"type": "auth_invalid"})
            return
        await socket.send_json({"type": "auth_ok"})
        try:
            while True:
                asked = await socket.receive_json()
                answer = self.history[-1:] if asked["type"] == "get_states" else None
                await socket.send_json({"id": asked["id"], "type": "result", "success": True, "result": answer})
                self.followed += asked["type"] == "subscribe_events"
        except WebSocketDisconnect:
            return


@contextmanager
def open_supervisor(fake: FakeSupervisor) -> Iterator[FakeSupervisor]:
    """One at a port of its own, in a thread: a gateway in another process or thread can ask it."""
    bound = listening("127.0.0.1", 0)
    fake.port = bound.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(fake.app(), log_level="error", lifespan="off", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=lambda: asyncio.run(server._serve([bound])))
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield fake
    finally:
        server.should_exit = True
        thread.join()
        bound.close()
