"""Home Assistant's WebSocket API as a source: whole states as they change, with a long-lived access token.

`websockets` speaks the protocol: uvicorn serves WebSockets with the same library, it depends on nothing, and it ships
types.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidURI, WebSocketException

from discreet.data.json_objects import loads
from discreet.data.rows import inside
from discreet.gateway.runtime import Gateway
from discreet.gateway.store.own_store import Reading
from discreet.gateway.wires.home_assistant import HomeAssistantSource
from discreet.gateway.wires.ingest import kept
from discreet.places.sightings import SECOND

LOG = logging.getLogger("discreet.gateway")

FIRST, LONGEST = 1.0, 60.0
"""Seconds until Home Assistant is tried again: doubled each time, up to a minute."""

AWAY = "readings from Home Assistant"
"""What health calls it."""

PATIENCE = 10.0
"""Seconds for each step of the greeting."""

LARGEST = 64 << 20
"""Bytes of a message: all states of a large house are some megabytes."""


class SocketRefusedError(Exception):
    """Home Assistant does not take the token, or does not speak as it should."""


async def run(gateway: Gateway, source: HomeAssistantSource, *, first: float = FIRST) -> None:
    """A task beside the server: states of one Home Assistant, until cancelled."""
    delay, away = first, f"{AWAY} at {source.url}"
    while True:
        try:
            async with connect(source.socket, max_size=LARGEST, open_timeout=PATIENCE, proxy=None) as socket:
                await _greet(socket, source)
                delay = first
                gateway.health.mended(away)
                await _follow(gateway, socket, source)
        except SocketRefusedError as error:
            gateway.health.broken(away, f"Home Assistant: {error}")  # words of this file alone
            delay = LONGEST
        except (OSError, TimeoutError, WebSocketException, InvalidURI):
            gateway.health.broken(away, "Home Assistant is away; it is tried again")
        await asyncio.sleep(delay)
        delay = min(2 * delay, LONGEST)


async def _greet(socket: ClientConnection, source: HomeAssistantSource) -> None:
    """Prove who we are, and ask for every change of a state."""
    await _expect(socket, "auth_required")
    await socket.send(json.dumps({"type": "auth", "access_token": source.token}))
    await _expect(socket, "auth_ok")
    await socket.send(json.dumps({"id": 1, "type": "subscribe_events", "event_type": "state_changed"}))


async def _expect(socket: ClientConnection, kind: str) -> None:
    said = _message(await asyncio.wait_for(socket.recv(), PATIENCE))
    if inside(said, "type") == "auth_invalid":
        raise SocketRefusedError("the token is not accepted; make a long-lived access token and give it as token_file")
    if inside(said, "type") != kind:
        raise SocketRefusedError(f"no {kind} came; check that the address is that of Home Assistant")


async def _follow(gateway: Gateway, socket: ClientConnection, source: HomeAssistantSource) -> None:
    """Keep what comes: changes, and now and then all states, of which one that lasts is still true."""
    asking = asyncio.create_task(_ask(socket, source.again))
    try:
        async for text in socket:
            if found := _readings(_message(text), source, gateway.wall()):
                await kept(gateway, found)
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)


async def _ask(socket: ClientConnection, again: int) -> None:
    number = 2
    while True:
        await socket.send(json.dumps({"id": number, "type": "get_states"}))
        if not again:
            return
        await asyncio.sleep(again)
        number += 1


def _readings(said: Any, source: HomeAssistantSource, now: float) -> list[Reading]:
    """The readings in a message: of a change, or of all states."""
    changed = inside(said, "event", "data", "new_state")
    if changed is not None:
        found = [source.reading(changed, inside(changed, "entity_id"))]
    else:
        states = inside(said, "result")
        held = [one for one in states if isinstance(one, dict)] if isinstance(states, list) else []
        named = [(one, one.get("entity_id")) for one in held]
        # The first answer has states that changed while nobody listened; all answers say what holds now.
        found = [source.reading(one, entity) for one, entity in named]
        found += [source.reading(one, entity, int(now * SECOND)) for one, entity in named] if source.again else []
    return [one for one in found if one is not None]


def _message(text: str | bytes) -> Any:
    try:
        return loads(text)
    except (ValueError, RecursionError):
        return None
