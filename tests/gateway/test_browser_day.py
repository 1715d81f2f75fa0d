"""The owner's page in a real browser: a day with ten secrets, how fast it is drawn, and a year of days."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Sequence
from pathlib import Path

import pytest

from discreet import Clock, Day, Policy, Routine, Secret
from discreet.gateway.slots.person import PersonConfig
from discreet.gateway.store.own_store import Reading
from discreet.mechanisms.named import Spec
from discreet.models.simulate import person
from discreet.places import Places
from tests.gateway.browser import look
from tests.gateway.people import START
from tests.gateway.web import Web, listening_web

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


def busy() -> tuple[PersonConfig, list[Day]]:
    """Somebody with 96 slots a day and ten secrets, and two of their days, with a visit to the hospital."""
    days = person("jane", days=70, slots=FINE.slots, contexts=8, seed=7)
    routine = Routine.fit([day for day in days if str(day.date) < str(START.date())], clock=FINE, secrets=TEN)
    visit = next(k for k, day in enumerate(days) if "hospital" in day.contexts)
    return PersonConfig("jane", FINE, routine, Spec("adaptive"), TEN, Places([]), hold=3600.0), days[visit : visit + 2]


async def live(web: Web, days: Sequence[Day], slots: int) -> None:
    """So many slots of days that follow each other, with a label in the middle of each."""
    contexts = [context for day in days for context in day.contexts][:slots]
    for number, context in enumerate(contexts):
        date, slot = START.date() + dt.timedelta(days=number // FINE.slots), number % FINE.slots
        middle = FINE.start_of(date, slot).timestamp() + FINE.slot_seconds / 2
        await web.pass_slot(Reading("jane", "phone", int(middle * 1e6), label=context))


@pytest.mark.browser
def test_a_day_with_ten_secrets(tmp_path: Path) -> None:
    async def story() -> None:
        somebody, days = busy()
        async with listening_web(tmp_path / "files", people=[somebody]) as web:
            await live(web, days, FINE.slots + 30)
            await look(web, "day", tmp_path, ("day", "month", "week-zoomed", "calendar"), pause=0.7, slots=60)

    asyncio.run(story())
