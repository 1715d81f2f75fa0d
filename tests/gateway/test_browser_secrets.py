"""The owner's page in a real browser: a secret is declared, tried out and saved."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from discreet.choosing.policy_text import policy_file_text
from tests.gateway.browser import look
from tests.gateway.people import START, person_config, readings
from tests.gateway.web import ROUTINE, listening_web


@pytest.mark.browser
def test_a_secret_is_declared_previewed_and_saved(tmp_path: Path) -> None:
    person = person_config(routine=ROUTINE, outputs="suppress")
    path = tmp_path / "policy.toml"
    path.write_text(policy_file_text(person.policy, ROUTINE), encoding="utf-8")
    at = readings(("home",) * 4 + ("work",) * 4 + ("clinic",) + ("home",) * 3, START.date())

    async def story() -> None:
        async with listening_web(tmp_path / "files", people=[person], policy_files={"jane": path}) as web:
            for one in at:
                await web.pass_slot(one)
            await look(web, "secrets", tmp_path, ("secrets", "secrets-edited", "secrets-preview", "secrets-saved"))
        assert "work at night" in path.read_text(encoding="utf-8")

    asyncio.run(story())
