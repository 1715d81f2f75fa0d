"""The owner's page in a real browser: passwords, today, what does not work, an application's token, and the door."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

import pytest

from discreet.gateway.store.own_store import OwnStore, Reading
from discreet.live.slots import SECOND
from tests.gateway.browser import look
from tests.gateway.people import person_config
from tests.gateway.test_nightly import changed
from tests.gateway.web import ROUTINE, listening_web


@pytest.mark.browser
def test_what_an_owner_does(tmp_path: Path) -> None:
    with closing(OwnStore(tmp_path / "other.db")) as own:
        notice = changed(own)

    async def story() -> None:
        async with listening_web(tmp_path / "files") as web:
            await web.pass_slots(5)
            web.served.notices["jane"] = notice
            await look(web, "owner", tmp_path, ("login", "today", "stale", "quiet", "paused", "applications"))

    asyncio.run(story())


@pytest.mark.browser
def test_what_an_owner_is_told_and_another_password(tmp_path: Path) -> None:
    async def story() -> None:
        async with listening_web(tmp_path / "files") as web:
            gateway = web.served.gateway
            now = int(gateway.wall() * SECOND)
            await gateway.accept([Reading("jane", "phone", now - 60 * SECOND, label="home")])
            await gateway.accept([Reading("jane", "tablet", now - 90 * SECOND, label="home")])
            for _ in range(2):
                gateway.refused.count("jane", "wrong_key")
            gateway.health.broken("disk", "the disk is full", "It is full")
            with patch.object(gateway, "_look"):  # which would find room on it
                await look(web, "account", tmp_path, ("health", "account"), slots=0)

    asyncio.run(story())


@pytest.mark.browser
def test_an_invitation_and_an_account(tmp_path: Path) -> None:
    people = tuple(person_config(name, routine=ROUTINE, outputs="suppress") for name in ("jane", "joe"))

    async def story() -> None:
        async with listening_web(tmp_path / "files", people=people) as web:
            await web.pass_slots(2)
            await look(web, "accounts", tmp_path, ("invited", "own-account"), slots=0)
            assert not web.served.access.accounts.closed(), "the account has ended"

    asyncio.run(story())
