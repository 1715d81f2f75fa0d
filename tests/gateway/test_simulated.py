"""The first look: a made-up life that moves, written by a phone and read by an application over the wire."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx

from discreet.gateway.config.sections import Server
from discreet.gateway.demo import SECRET, GatewayDemo
from discreet.gateway.server import listening, server_of


def test_it_moves_and_shows_what_was_true_beside_what_was_told(tmp_path: Path) -> None:
    async def story() -> None:
        bound = listening("127.0.0.1", 0)
        port = bound.getsockname()[1]
        demo = GatewayDemo(tmp_path, Server(port=port), slot=1.0)
        server = server_of(demo.served)
        serving = asyncio.create_task(server._serve([bound]))
        try:
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=120) as client:
                seen: list[dict[str, Any]] = []
                for _ in range(100):
                    await asyncio.sleep(0.3)
                    if not server.started:
                        continue
                    seen = (await client.get("/demo/seen")).json()["slots"]
                    if len(seen) >= 10 and any(one["truth"] == SECRET for one in seen):
                        break
                assert any(one["truth"] == SECRET for one in seen), "a visit to the secret place comes soon"
                for path in ("/", "/demo.js", "/demo.css"):
                    page = await client.get(path)
                    assert page.status_code == 200
                    assert "http:" not in page.text
                    assert "https:" not in page.text
                shown = [one for one in seen if one["kind"] == "released"]
                assert sum(one["told"] == one["truth"] for one in shown) >= len(shown) - 1, "one may be at a change"
                assert len(shown) >= 3
                visits = [one for one in seen if one["truth"] == SECRET]
                assert all(one["filtered"] == "" for one in visits)
                assert max(one["filtered_guess"] for one in visits) > 0.9, "a simple filter gives the visit away"
                assert max(one["guess"] for one in seen) < 0.5, "discreet does not"
        finally:
            server.should_exit = True
            await serving
            bound.close()

    asyncio.run(story())
