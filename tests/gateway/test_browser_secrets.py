"""The owner's page in a real browser: a secret is declared, tried out and saved."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.choosing.policy_text import policy_file_text
from discreet.policy import Policy
from discreet.secret import Secret
from tests.gateway.browser import look
from tests.gateway.people import START, person_config, readings
from tests.gateway.web import ROUTINE, listening_web


@pytest.mark.browser
def test_a_secret_is_declared_previewed_and_saved(tmp_path: Path) -> None:
    longer = Secret("in two days", {"clinic"}, at="any", over=2, sliding=True)
    policy = Policy(["clinic", longer], delta=0.1)
    person = replace(person_config(routine=ROUTINE, outputs="suppress"), policy=policy)
    path = tmp_path / "policy.toml"
    path.write_text(policy_file_text(person.policy, ROUTINE), encoding="utf-8")
    at = readings(("home",) * 4 + ("work",) * 4 + ("clinic",) + ("home",) * 3, START.date())

    async def story() -> None:
        async with listening_web(tmp_path / "files", people=[person], policy_files={"jane": path}) as web:
            for one in at:
                await web.pass_slot(one)
            await look(web, "secrets", tmp_path, ("secrets", "secrets-edited", "secrets-preview", "secrets-saved"))
        saved = path.read_text(encoding="utf-8")
        assert "work at night" in saved
        assert "at all in two days" in saved
        assert "over = 2" in saved

    asyncio.run(story())
