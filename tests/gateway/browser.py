"""The owner's page in a real browser: what a test needs to tell one of the stories of `dashboard/look/`."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

from tests.gateway.web import Web

SOURCES = Path(__file__).parents[2] / "dashboard"
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
NODE = shutil.which("node")
LONGEST = 600
"""Seconds that a story may take: machines that others use are slow."""


def absent() -> str | None:
    """What a browser test lacks here, with the remedy."""
    if CHROMIUM is None:
        return "Chromium is not installed (Debian: apt-get install chromium)"
    if NODE is None or not (SOURCES / "node_modules" / "playwright-core").is_dir():
        return "what looks at the page is not installed (Node, and: make dashboard)"
    return None


async def look(
    web: Web,
    story: str,
    folder: Path,
    pictures: tuple[str, ...],
    *given: str,
    pause: float = 3,
    slots: int = 10_000,
    address: str | None = None,
) -> None:
    """Tell one story in the browser, while some slots are told; it finds nothing wrong and takes its pictures.

    It begins at an address that is given, or at the gateway's own.
    """
    program = await asyncio.create_subprocess_exec(
        str(NODE),
        str(SOURCES / "look" / f"{story}.mjs"),
        address or str(web.client.base_url).rstrip("/"),
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
                await asyncio.wait([looking], timeout=pause)
                if web.served.gateway.keeper.people and (slots := slots - 1) >= 0:
                    await web.pass_slot()
        said, _ = await looking
    finally:
        if program.returncode is None:
            program.kill()
            await program.wait()
    assert program.returncode == 0, said.decode()
    for name in pictures:
        assert (folder / f"{name}-320.png").stat().st_size > 1000
