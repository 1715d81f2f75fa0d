"""Pictures of the owner's page for README and docs: `python -m tests.gateway.pictures FOLDER`, or `make pictures`.

The person is the demo's; a week has passed, on a clock that does not wait.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import sys
import tempfile
from pathlib import Path

from discreet.contexts import UNKNOWN
from discreet.gateway.own_store import Reading
from discreet.gateway.sections import Server
from discreet.gateway.simulated import CLOCK, NAME, Life
from tests.gateway.browser import look
from tests.gateway.web import Wall, listening_web

DAYS = 7
LAST = 36
"""The slot of the last day that has been told: what is still to come is seen too."""


async def taken(folder: Path, files: Path) -> None:
    """Live a week, and look at every screen."""
    life = Life()
    people = life.plan(Server()).people
    wall = Wall(CLOCK.start_of(life.first, 0).timestamp())
    async with listening_web(files, wall, people) as web:
        for name in ("kitchen tablet", "car"):
            web.served.access.add("application", NAME, name=name)
        web.served.access.add("source", NAME, name="phone")
        for number in range(DAYS * CLOCK.slots + LAST):
            await web.pass_slot(*_read(life, life.first + dt.timedelta(number // CLOCK.slots), number % CLOCK.slots))
        await look(web, "pictures", folder, ())


def _read(life: Life, date: dt.date, slot: int) -> list[Reading]:
    """What the phone sent in a slot."""
    label = life.true(date, slot)
    if label == UNKNOWN:
        return []
    instant = int(CLOCK.start_of(date, slot).timestamp() + 60) * 1_000_000
    return [Reading(NAME, "phone", instant, life.where[label], 20.0)]


if __name__ == "__main__":
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as kept:
        asyncio.run(taken(out, Path(kept) / "files"))
