"""Clients that ask for all of the past, again and again, and a preview, while everybody's slots end.

A gateway has to tell at its moment all the same: `crowd` says how much later each stream heard of its slot.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

from benchmarks._http import Server, reading
from discreet.live.slots import MARGIN

SETTLED = 4.0
"""Seconds before the boundary at which the crowd is there, and after the telling until it leaves."""


@dataclass
class Crowd:
    """What was seen: seconds after the moment of telling at which each stream heard, and answers by status."""

    late: list[float] = field(default_factory=list)
    answers: Counter[int] = field(default_factory=Counter)
    health: list[float] = field(default_factory=list)


async def crowd(server: Server, clients: int, ahead: float) -> Crowd:
    """So many clients, shared out over the tokens of all people, from SETTLED seconds before the boundary on."""
    found, boundary = Crowd(), server.began + ahead
    readers = await reading(server)
    await asyncio.sleep(boundary - SETTLED - time.monotonic())
    until = boundary + MARGIN + SETTLED
    asking = [
        asyncio.create_task(_asking(server, server.readers[k % len(server.readers)], until, found))
        for k in range(clients)
    ]
    asking.append(asyncio.create_task(_preview(server, until)))
    asking.append(asyncio.create_task(_health(server, until, found)))
    await asyncio.sleep(until - time.monotonic())
    await asyncio.gather(*asking)
    for reader in readers:
        after = [heard for heard in reader.events if heard > boundary]
        found.late.append((after[0] if after else time.monotonic() + 60) - boundary - MARGIN)
    return found


async def _answer(server: Server, request: str, body: bytes = b"") -> tuple[int, bytes]:
    """One request on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        writer.write(f"{request}\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode() + body)
        head, _, content = (await reader.read()).partition(b"\r\n\r\n")
        return int(head.split(b" ")[1]), content
    finally:
        writer.close()


async def _asking(server: Server, secret: str, until: float, found: Crowd) -> None:
    asked = f"GET /api/0/locations?from=2020-01-01T00:00:00 HTTP/1.1\r\nAuthorization: {_basic(secret)}"
    while time.monotonic() < until:
        with suppress(OSError, IndexError):
            status, _ = await _answer(server, asked)
            found.answers[status] += 1


def _basic(secret: str) -> str:
    import base64

    return "Basic " + base64.b64encode(f"x:{secret}".encode()).decode()


async def _preview(server: Server, until: float) -> None:
    """The owner's, asked about until the end: one that nobody asks about is ended."""
    path, cookie = "/v1/owner/people/p0/secrets/preview", f"Cookie: {server.cookie}"
    draft = json.dumps({"secrets": [{"name": "clinic", "contexts": ["clinic"], "delta": 0.05}]}).encode()
    kind = f"Content-Type: application/json\r\nContent-Length: {len(draft)}\r\nX-CSRF-Token: {server.csrf}"
    status, body = await _answer(server, f"POST {path} HTTP/1.1\r\n{cookie}\r\n{kind}", draft)
    if status != 202:
        raise RuntimeError(f"the preview was answered by {status}: {body.decode(errors='replace')}")
    name = json.loads(body)["preview"]
    while time.monotonic() < until:
        await _answer(server, f"GET {path}/{name} HTTP/1.1\r\n{cookie}")
        await asyncio.sleep(0.5)


async def _health(server: Server, until: float, found: Crowd) -> None:
    while time.monotonic() < until:
        began = time.monotonic()
        await _answer(server, "GET /healthz HTTP/1.1")
        found.health.append(time.monotonic() - began)
        await asyncio.sleep(0.1)
