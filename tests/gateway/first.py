"""A gateway that serves nobody yet, on the wire, and what it is brought."""

from __future__ import annotations

import asyncio
import datetime as dt
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from discreet.errors import DiscreetError
from discreet.gateway.app import PreparedGateway, plan_of
from discreet.gateway.config.sections import Server
from discreet.gateway.config.settings import Settings
from discreet.gateway.server import listening, server_of
from discreet.gateway.setup.supervisor import Supervisor
from discreet.gateway.store.folder import Folder
from tests.gateway.web import Wall, Web

SETUP = "/v1/owner/setup"
PASSWORD = "correct horse"
LONGEST = 600.0
"""Seconds that a step may take on a machine that is busy."""


def settings_in(folder: Path, text: str | None = None) -> Settings:
    """The settings of a folder: a file of this text, the one that is there, or none."""
    folder.mkdir(exist_ok=True)
    file = folder / "discreet.toml"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    return Settings.read(file, nobody=True) if file.exists() else Settings.of_nobody(file)


@asynccontextmanager
async def empty_web(
    folder: Path,
    wall: Wall | None = None,
    text: str | None = None,
    *,
    supervisor: Supervisor | None = None,
    ingress: str | None = None,
) -> AsyncIterator[Web]:
    """A gateway at a port of its own, with whatever is in the folder: nothing, at first."""
    wall = wall or Wall(time.time())
    settings = settings_in(folder, text)
    bound = listening("127.0.0.1", 0)
    port = bound.getsockname()[1]
    plan = replace(plan_of(settings), server=Server(port=port, ingress=ingress), wall=wall)
    try:
        served = PreparedGateway(plan, Folder.made(folder / "discreet-data"), settings=settings, supervisor=supervisor)
    except DiscreetError:
        bound.close()
        raise
    assert served.steps is not None
    served.steps.weeks = 2
    server: uvicorn.Server = server_of(served)
    serving = asyncio.create_task(server._serve([bound]))
    while not server.started:
        await asyncio.sleep(0.01)
        if serving.done():
            serving.result()
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=LONGEST) as client:
            yield Web(served, wall, client)
    finally:
        server.should_exit = True
        await serving
        bound.close()


async def enter(web: Web) -> None:
    """As the owner, the first time or again; writes carry the session's word."""
    first = web.served.owner.first
    if first is not None:
        answer = await web.client.post("/v1/owner/first", json={"token": first, "password": PASSWORD})
    else:
        answer = await web.client.post("/v1/owner/login", json={"password": PASSWORD})
    assert answer.status_code == 200
    web.client.headers["X-CSRF-Token"] = answer.json()["csrf"]


async def stands(web: Web) -> Any:
    """Where the steps stand, when nothing is under way."""
    async with asyncio.timeout(LONGEST):
        while (found := (await web.client.get(SETUP)).json())["job"] is not None:
            await asyncio.sleep(0.05)
    return found


async def did(web: Web, step: str, document: dict[str, Any]) -> Any:
    """Do a step to its end; where it then stands."""
    answer = await web.client.post(f"{SETUP}/{step}", json=document)
    assert answer.status_code == 202, answer.text
    return await stands(web)


async def brought(web: Web, name: str, content: bytes) -> httpx.Response:
    """Bring a file."""
    return await web.client.post(f"{SETUP}/files", params={"name": name}, content=content)


WHERE = {"home": (48.10, 11.50), "work": (48.15, 11.58), "place 3": (48.20, 11.60)}


def recorded(days: int = 21, first: dt.date = dt.date(2026, 1, 5)) -> bytes:
    """What OwnTracks' recorder writes, three weeks of somebody in Munich: home, work, and a third place on Tuesdays."""
    lines = []
    for k in range(days):
        date = first + dt.timedelta(days=k)
        for half in range(48):
            hour = half / 2
            place = "work" if 9 <= hour < 17 and date.weekday() < 5 else "home"
            place = "place 3" if date.weekday() == 1 and 17 <= hour < 19 else place
            latitude, longitude = WHERE[place]
            stamp = dt.datetime.combine(date, dt.time(), dt.UTC) + dt.timedelta(minutes=30 * half + 5)
            report = (
                f'{{"_type":"location","lat":{latitude},"lon":{longitude},"tst":{int(stamp.timestamp())},"acc":12}}'
            )
            lines.append(f"{stamp:%Y-%m-%dT%H:%M:%SZ}\t*                 \t{report}")
    return ("\n".join(lines) + "\n").encode()
