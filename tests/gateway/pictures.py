"""Pictures of the owner's page and of the demo for README and docs: `python -m tests.gateway.pictures FOLDER`.

`make pictures` runs it. The person is the demo's; more than a week has passed, on a clock that does not wait.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import subprocess
import sys
import tempfile
from pathlib import Path

from discreet.contexts import UNKNOWN
from discreet.gateway.config.sections import Server
from discreet.gateway.demo import CLOCK, NAME, SECRET, Life, with_files
from discreet.gateway.store.own_store import Reading
from tests.gateway.browser import CHROMIUM, look
from tests.gateway.web import Wall, Web, listening_web

WEEK = 7
"""Days that have passed at least; the last is one with a visit to the secret place, some hours after it."""

AFTER, MOST = 9, 30
"""Slots told since the visit began: so many, and then until apps see a place, which chance decides."""


async def taken(folder: Path, files: Path) -> None:
    """Live a week and more, and look at every screen."""
    life = Life()
    last = next(number for number, day in enumerate(life.days) if number >= WEEK and SECRET in day.contexts)
    slots = last * CLOCK.slots + life.days[last].contexts.index(SECRET) + AFTER
    files.mkdir()
    plan = with_files(life.plan(Server()), files)
    wall = Wall(CLOCK.start_of(life.first, 0).timestamp())
    kept = {"policy_files": plan.policy_files, "maps": plan.maps}
    async with listening_web(files / "kept", wall, plan.people, **kept) as web:
        for name in ("car", "kitchen tablet"):
            _, token = web.served.access.add("application", NAME, name=name)
        web.served.access.add("source", NAME, name="phone")
        for number in range(slots + MOST):
            if number >= slots and await _seen(web, token):
                break
            await web.pass_slot(*_read(life, life.first + dt.timedelta(number // CLOCK.slots), number % CLOCK.slots))
        await look(web, "pictures", folder, (), slots=0)


async def _seen(web: Web, token: str) -> bool:
    """Whether an application sees a place now."""
    answer = await web.client.get(f"/v1/people/{NAME}/now", headers={"Authorization": f"Bearer {token}"})
    return bool(answer.json()["kind"] == "released")


def _read(life: Life, date: dt.date, slot: int) -> list[Reading]:
    """What the phone sent in a slot."""
    label = life.true(date, slot)
    if label == UNKNOWN:
        return []
    instant = int(CLOCK.start_of(date, slot).timestamp() + 60) * 1_000_000
    return [Reading(NAME, "phone", instant, life.where[label], 20.0)]


def demo_taken(folder: Path, files: Path) -> None:
    """The picture that the demo's page begins with."""
    from discreet.cli import run

    if run(["demo", "--out", str(files / "demo.html")]) != 0:
        raise SystemExit("discreet demo failed")
    options = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--user-data-dir={files / 'profile'}",
    )
    picture = ("--window-size=1000,512", f"--screenshot={folder / 'demo.png'}", (files / "demo.html").as_uri())
    subprocess.run([str(CHROMIUM), *options, *picture], check=True, capture_output=True)


if __name__ == "__main__":
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as kept:
        asyncio.run(taken(out, Path(kept) / "files"))
        demo_taken(out, Path(kept))
