"""A gateway on the wire for tests: its clock stands until a test moves it, and callers are httpx's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from discreet.gateway.app import GatewayPlan, PreparedGateway
from discreet.gateway.config.views import View
from discreet.gateway.server import listening, server_of
from discreet.gateway.slots.person import PersonConfig
from discreet.gateway.store.folder import Folder
from discreet.gateway.store.journal import JournalRow
from discreet.gateway.store.own_store import Reading
from tests.gateway.people import START, habits, person_config

ROUTINE = habits()
FAMILY = View("family", {"home": frozenset({"home"})}, rest="out")


@dataclass
class Wall:
    """A clock that a test moves."""

    now: float = START.timestamp()

    def __call__(self) -> float:
        return self.now


@dataclass
class Web:
    """A gateway that runs, and clients for it."""

    served: PreparedGateway
    wall: Wall
    client: httpx.AsyncClient

    def bearer(self, purpose: Any, person: str | None = "jane", **options: Any) -> dict[str, str]:
        """The headers of a new token."""
        return {"Authorization": f"Bearer {self.served.access.add(purpose, person, **options)[1]}"}

    def cookie(self, value: str) -> dict[str, str]:
        """The header of a session."""
        return {"Cookie": f"{self.served.auth._cookie}={value}"}

    async def pass_slot(self, *readings: Reading) -> list[JournalRow]:
        """Let the slot that is under way end, with these readings in it, and tell what was decided.

        It is decided in the gateway's own thread: a policy that the page saves meanwhile is changed there too.
        """
        keeper = self.served.gateway.keeper
        end = keeper.next
        self.wall.now = end - 1  # the gateway's own task finds nothing to do
        if readings:
            await self.served.gateway.accept(readings)
        rows = await self.served.gateway.between_slots(partial(keeper.turn, end))
        self.wall.now = end + keeper.margin
        await self.served.gateway.tell(rows)
        return rows

    async def pass_slots(self, count: int) -> list[JournalRow]:
        """The same several times, without readings."""
        return [row for _ in range(count) for row in await self.pass_slot()]


def plan_for(wall: Wall, people: Sequence[PersonConfig] = (), **options: Any) -> GatewayPlan:
    """The plan of a small gateway."""
    people = people or (person_config(routine=ROUTINE, outputs="suppress"),)
    return GatewayPlan(people, {FAMILY.name: FAMILY}, wall=wall, **options)


@asynccontextmanager
async def opened(
    folder: Path, wall: Wall | None = None, people: Sequence[PersonConfig] = (), **options: Any
) -> AsyncIterator[Web]:
    """A gateway without a socket."""
    wall = wall or Wall()
    served = PreparedGateway(plan_for(wall, people, **options), Folder.made(folder))
    app: Any = served.app()
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with served.running(), httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield Web(served, wall, client)


@asynccontextmanager
async def listening_web(
    folder: Path, wall: Wall | None = None, people: Sequence[PersonConfig] = (), **options: Any
) -> AsyncIterator[Web]:
    """A gateway at a port of its own, for streams."""
    wall = wall or Wall()
    bound = listening("127.0.0.1", 0)
    port = bound.getsockname()[1]
    plan = plan_for(wall, people, **options)
    served = PreparedGateway(replace(plan, server=replace(plan.server, port=port)), Folder.made(folder))
    server: uvicorn.Server = server_of(served)
    serving = asyncio.create_task(server._serve([bound]))
    while not server.started:
        await asyncio.sleep(0.01)
        if serving.done():
            serving.result()
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=120) as client:
            yield Web(served, wall, client)
    finally:
        server.should_exit = True
        await serving
        bound.close()


async def events(lines: AsyncIterator[str], count: int) -> list[tuple[str, Mapping[str, Any]]]:
    """The next events of a stream, each with its id."""
    import json

    found: list[tuple[str, Mapping[str, Any]]] = []
    name = ""
    async for line in lines:
        if line.startswith("id: "):
            name = line[4:]
        if line.startswith("data: "):
            found.append((name, json.loads(line[6:])))
        if len(found) == count:
            break
    return found
