"""The owner's page in a real browser: the stories of `dashboard/look/` do what an owner does; nothing is wrong."""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from discreet import Clock, Day, Policy, Routine, Secret
from discreet.gateway.own_store import Reading
from discreet.gateway.person import Settled
from discreet.mechanisms.named import Spec
from discreet.models.simulate import person
from discreet.places import Places
from tests.gateway.people import START
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


async def look(
    web: Web, story: str, folder: Path, pictures: tuple[str, ...], pause: float = 3, slots: int = 10_000
) -> None:
    """Tell one story in the browser, while some slots are told; it finds nothing wrong and takes its pictures."""
    program = await asyncio.create_subprocess_exec(
        str(NODE),
        str(SOURCES / "look" / f"{story}.mjs"),
        str(web.client.base_url).rstrip("/"),
        str(web.served.owner.first),
        str(folder),
        env={**os.environ, "CHROMIUM": str(CHROMIUM)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    looking = asyncio.create_task(program.communicate())
    try:
        async with asyncio.timeout(LONGEST):
            while not looking.done():
                await asyncio.wait([looking], timeout=pause)
                if (slots := slots - 1) >= 0:
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


FINE = Clock(96, "UTC")
HEALTH = {"hospital", "pharmacy"}
TEN = Policy(
    [
        "hospital",
        Secret("hospital today", {"hospital"}, at="any"),
        "pharmacy",
        "cafe",
        "supermarket",
        Secret("friend at night", {"friend"}, slots=range(80, 96)),
        Secret("out", {"friend", "cafe"}, slots=range(60, 90)),
        Secret("health", HEALTH),
        Secret("health today", HEALTH, at="any"),
        Secret("friend today", {"friend"}, at="any"),
    ],
    delta=0.1,
)


def busy() -> tuple[Settled, list[Day]]:
    """Somebody with 96 slots a day and ten secrets, and two of their days, with a visit to the hospital."""
    days = person("jane", days=70, slots=FINE.slots, contexts=8, seed=7)
    routine = Routine.fit([day for day in days if str(day.date) < str(START.date())], clock=FINE, secrets=TEN)
    visit = next(k for k, day in enumerate(days) if "hospital" in day.contexts)
    return Settled("jane", FINE, routine, Spec("adaptive"), TEN, Places([]), hold=3600.0), days[visit : visit + 2]


async def live(web: Web, days: Sequence[Day], slots: int) -> None:
    """So many slots of days that follow each other, with a label in the middle of each."""
    contexts = [context for day in days for context in day.contexts][:slots]
    for number, context in enumerate(contexts):
        date, slot = START.date() + dt.timedelta(days=number // FINE.slots), number % FINE.slots
        middle = FINE.start_of(date, slot).timestamp() + FINE.slot_seconds / 2
        await web.pass_slot(Reading("jane", "phone", int(middle * 1e6), label=context))


@needs_browser
def test_a_day_with_ten_secrets(tmp_path: Path) -> None:
    async def story() -> None:
        somebody, days = busy()
        async with listening_web(tmp_path / "files", people=[somebody]) as web:
            await live(web, days, FINE.slots + 30)
            await look(web, "day", tmp_path, ("day", "calendar"), pause=0.7, slots=60)

    asyncio.run(story())
