"""`discreet serve --demo` in a real browser: its own page, and the owner's page on the first day."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from discreet.gateway.config.sections import Server
from discreet.gateway.demo import GatewayDemo
from discreet.gateway.server import listening, server_of
from tests.gateway.browser import CHROMIUM, LONGEST, NODE, SOURCES


@pytest.mark.browser
def test_a_life_that_is_made_up_is_looked_at(tmp_path: Path) -> None:
    async def story() -> None:
        bound = listening("127.0.0.1", 0)
        port = bound.getsockname()[1]
        files = tmp_path / "files"
        files.mkdir()
        demo = GatewayDemo(files, Server(port=port))
        server = server_of(demo.served)
        serving = asyncio.create_task(server._serve([bound]))
        try:
            while not server.started:
                await asyncio.sleep(0.1)
            program = await asyncio.create_subprocess_exec(
                str(NODE),
                str(SOURCES / "look" / "simulated.mjs"),
                f"http://127.0.0.1:{port}",
                str(demo.served.owner.first),
                str(tmp_path),
                env={**os.environ, "CHROMIUM": str(CHROMIUM)},
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            async with asyncio.timeout(LONGEST):
                said, _ = await program.communicate()
            assert program.returncode == 0, said.decode()
            assert (tmp_path / "demo-filter-320.png").stat().st_size > 1000
        finally:
            server.should_exit = True
            await serving
            bound.close()

    asyncio.run(story())
