"""Imported weeks, as they would have been told: simulated, for the owner, and nothing is told of it."""

from __future__ import annotations

import asyncio
import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.data.importing import write_readings
from discreet.gateway.owner.past import WEEKS, past_told
from discreet.gateway.owner.relearn import HistoryOrder, together
from discreet.gateway.owner.routines import RoutineFiles
from discreet.places import Places
from tests.gateway.people import CLOCK, PLACES, START, person_config
from tests.gateway.test_day import logged_in
from tests.gateway.test_routines import files_in, recent
from tests.gateway.web import ROUTINE, Web, opened

PATH = "/v1/owner/people/jane/past"
DAYS = 14


def imported(folder: Path, days: int = DAYS) -> RoutineFiles:
    """So many days of readings, as the first run keeps them."""
    order = HistoryOrder("jane", CLOCK, 3600.0, None, tuple(recent(days)), None, START.date(), Places([]))
    write_readings(folder / "jane.parquet", together(order).drop("context"))
    return replace(files_in(folder), past=folder / "jane.parquet")


async def looked(web: Web) -> Any:
    """Ask until it is known."""
    async with asyncio.timeout(120):
        while True:
            found = (await web.client.get(PATH)).json()
            if not found["kept"] or found["days"] is not None or found["problem"] is not None:
                return found
            await asyncio.sleep(0.05)


def test_imported_weeks_are_looked_at_as_they_would_have_been_told_and_nothing_is_told(tmp_path: Path) -> None:
    async def story() -> None:
        person = replace(person_config(routine=ROUTINE, outputs="suppress"), places=PLACES)
        async with opened(tmp_path / "files", people=[person], routines={"jane": imported(tmp_path)}) as web:
            assert (await web.client.get(PATH)).status_code == 401
            await logged_in(web)
            found = await looked(web)
            assert found["problem"] is None
            assert found["times"][:2] == [CLOCK.label(0), CLOCK.label(1)]
            assert found["secret"] == ["clinic"]
            dates = [(START.date() - dt.timedelta(days=k)).isoformat() for k in range(DAYS, 0, -1)]
            assert [one["date"] for one in found["days"]] == dates
            for one in found["days"]:
                assert len(one["true"]) == len(one["told"]) == one["decided"] == CLOCK.slots
                assert one["shown"] == sum(bool(label) for label in one["told"])
                # under `suppress` what is told is the truth or nothing, and the secret never
                assert all(told in {"", true} for told, true in zip(one["told"], one["true"], strict=True))
                assert "clinic" not in one["told"]
            assert any("clinic" in one["true"] for one in found["days"]), "the secret was never true"
            assert sum(one["shown"] for one in found["days"]) > 0
            assert await looked(web) == found, "it is drawn once"
            assert web.served.gateway.rows("jane") == []
            assert web.served.gateway.keeper.people["jane"].session.slot == 0
            assert not list((tmp_path / "files" / "past").iterdir()), "what was written on the way stays"

    asyncio.run(story())


def test_only_the_last_weeks_are_looked_at_and_where_nothing_was_imported_none(tmp_path: Path) -> None:
    async def story() -> None:
        person = person_config(routine=ROUTINE, outputs="suppress")
        async with opened(tmp_path / "files", people=[person], routines={"jane": files_in(tmp_path)}) as web:
            await logged_in(web)
            found = await looked(web)
            assert (found["kept"], found["days"], found["job"]) == (False, None, None)
            pasts = web.served._pasts
            assert pasts.order("jane") is None
            pasts._past_of = lambda _: imported(tmp_path).past
            order = pasts.order("jane")
            assert order is not None
            assert order.history.until == web.served.gateway.keeper.people["jane"].head.start
            long = replace(order, history=replace(order.history, past=imported(tmp_path, 7 * WEEKS + 5).past))
            days = past_told(tmp_path, lambda *_: None, None, long)["days"]
            assert len(days) == 7 * WEEKS
            assert days[-1]["date"] == (START.date() - dt.timedelta(days=1)).isoformat()

    asyncio.run(story())
