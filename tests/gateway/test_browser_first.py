"""The owner's page in a real browser: the first run, from nothing to a person who is served."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.cli.histories import phone_history
from tests.gateway.browser import look
from tests.gateway.first import empty_web


@pytest.mark.browser
def test_from_nothing_to_a_person_who_is_served(tmp_path: Path) -> None:
    phone_history(tmp_path / "phone.csv", days=35)

    async def story() -> None:
        async with empty_web(tmp_path / "home", text="[clock]\nslots = 24\n") as web:
            pictures = ("bring", "places", "secrets", "costs", "application", "done", "running")
            names = tuple(f"first-{name}" for name in pictures)
            await look(web, "first", tmp_path, names, str(tmp_path / "phone.csv"), slots=0)

    asyncio.run(story())
