"""The owner's page in a real browser: the first password, today, an application's token, and the door."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

import pytest

from discreet.gateway.own_store import OwnStore
from tests.gateway.browser import look
from tests.gateway.test_nightly import changed
from tests.gateway.web import listening_web


@pytest.mark.browser
def test_what_an_owner_does(tmp_path: Path) -> None:
    with closing(OwnStore(tmp_path / "other.db")) as own:
        notice = changed(own)

    async def story() -> None:
        async with listening_web(tmp_path / "files") as web:
            await web.pass_slots(5)
            web.served.notices["jane"] = notice
            await look(web, "owner", tmp_path, ("login", "today", "applications"))

    asyncio.run(story())
