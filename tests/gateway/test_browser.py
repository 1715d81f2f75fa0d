"""The owner's page in a real browser: the stories of `dashboard/look/` do what an owner does; nothing is wrong."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from tests.cli.histories import phone_history
from tests.gateway.first import empty_web
from tests.gateway.web import Web, listening_web

SOURCES = Path(__file__).parents[2] / "dashboard"
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
NODE = shutil.which("node")
LONGEST = 120


def _absent() -> str | None:
    if CHROMIUM is None:
        return "Chromium is not installed (Debian: apt-get install chromium)"
    if NODE is None or not (SOURCES / "node_modules" / "playwright-core").is_dir():
        return "what looks at the page is not installed (Node, and: make dashboard)"
    return None


needs_browser = pytest.mark.skipif(_absent() is not None, reason=str(_absent()))


async def look(web: Web, story: str, folder: Path, pictures: tuple[str, ...], *given: str) -> None:
    """Tell one story in the browser, while slots go on being told; it finds nothing wrong and takes its pictures."""
    program = await asyncio.create_subprocess_exec(
        str(NODE),
        str(SOURCES / "look" / f"{story}.mjs"),
        str(web.client.base_url).rstrip("/"),
        str(web.served.owner.first),
        str(folder),
        *given,
        env={**os.environ, "CHROMIUM": str(CHROMIUM)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    looking = asyncio.create_task(program.communicate())
    try:
        async with asyncio.timeout(LONGEST):
            while not looking.done():
                await asyncio.wait([looking], timeout=3)
                if web.served.gateway.keeper.people:
                    await web.pass_slot()
        said, _ = await looking
    finally:
        if program.returncode is None:
            program.kill()
            await program.wait()
    assert program.returncode == 0, said.decode()
    for name in pictures:
        assert (folder / f"{name}-320.png").stat().st_size > 1000


@needs_browser
def test_what_an_owner_does(tmp_path: Path) -> None:
    async def story() -> None:
        async with listening_web(tmp_path / "files") as web:
            await web.pass_slots(5)
            await look(web, "owner", tmp_path, ("login", "today", "applications"))

    asyncio.run(story())


@needs_browser
def test_from_nothing_to_a_person_who_is_served(tmp_path: Path) -> None:
    phone_history(tmp_path / "phone.csv", days=35)

    async def story() -> None:
        async with empty_web(tmp_path / "home", text="[clock]\nslots = 24\n") as web:
            pictures = ("bring", "places", "secrets", "costs", "application", "done")
            names = tuple(f"first-{name}" for name in pictures)
            await look(web, "first", tmp_path, names, str(tmp_path / "phone.csv"))

    asyncio.run(story())
