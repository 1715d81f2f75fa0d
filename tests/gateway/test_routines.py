"""Habits learned anew on the page: looked at, announced for a later cut with their map, undone until then."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from discreet import Routine
from discreet.gateway.owner.relearn import days_of
from discreet.gateway.owner.routines import RoutineFiles
from discreet.gateway.store.own_store import Reading
from discreet.models.store import load_days, save
from discreet.places import read_places, write_places
from tests.gateway.people import CLOCK, PLACES, START, WHERE, person_config
from tests.gateway.test_day import logged_in
from tests.gateway.test_maps import changed, circle
from tests.gateway.web import ROUTINE, Wall, Web, opened

PATH = "/v1/owner/people/jane/routine"
GYM = (48.11, 11.51)
LEARNED = ("home",) * 4 + ("work",) * 4 + ("gym",) + ("home",) * 3
WAIT = 120.0
"""Seconds that learning may take on a machine that is busy."""


def recent(days: int = 14) -> list[Reading]:
    """The last days of somebody who goes to a gym, which no place knows yet, and is at the clinic on Mondays."""
    where = {**WHERE, "gym": GYM}
    found = []
    for back in range(days, 0, -1):
        date = START.date() - dt.timedelta(days=back)
        for slot, context in enumerate(LEARNED):
            place = "clinic" if date.weekday() == 0 and slot == 7 else context
            instant = int(CLOCK.start_of(date, slot).timestamp() + CLOCK.slot_seconds / 2) * 1_000_000
            found.append(Reading("jane", "phone", instant, where[place], 20.0))
    return found


def files_in(folder: Path) -> RoutineFiles:
    save(folder / "jane.model", ROUTINE)
    return RoutineFiles(folder / "jane.model")


def routine_in(folder: Path) -> Routine:
    found = load_days(folder / "jane.model")
    assert isinstance(found, Routine)
    return found


def told(tmp_path: Path, story: Callable[[Web, Path], Awaitable[None]], readings: list[Reading] | None = None) -> None:
    """A gateway with a map, habits in a file, and two weeks of readings."""
    file = tmp_path / "places.geojson"
    write_places(file, PLACES)

    async def whole() -> None:
        files = files_in(tmp_path)
        async with opened(
            tmp_path / "files",
            people=[person_config(routine=ROUTINE, outputs="suppress")],
            maps={"jane": file},
            routines={"jane": files},
        ) as web:
            await logged_in(web)
            web.client.headers["X-CSRF-Token"] = (await web.client.get("/v1/owner")).json()["csrf"]
            web.served.gateway.keeper.own.read(recent() if readings is None else readings)
            await story(web, file)

    asyncio.run(whole())


async def asked(web: Web, method: str = "GET", path: str = "", status: int = 200, given: Any = None) -> Any:
    answer = await web.client.request(method, PATH + path, json=(given or {}) if method == "POST" else None)
    assert answer.status_code == status, answer.text
    return answer.json()


async def learned(web: Web, **given: Any) -> Any:
    """Learn, to its end."""
    await asked(web, "POST", "/learn", 202, given)
    async with asyncio.timeout(WAIT):
        while (found := await asked(web))["job"] is not None:
            await asyncio.sleep(0.05)
    return found


def config(web: Web) -> Any:
    return web.served.gateway.keeper.people["jane"].config


async def until(web: Web, date: dt.date) -> None:
    """Pass slots until the next is the first of that date."""
    while web.served.gateway.keeper.people["jane"].next[0] < date:
        await web.pass_slot()


def test_a_place_that_was_added_is_learned_announced_and_comes_into_force_with_its_map(tmp_path: Path) -> None:
    async def story(web: Web, file: Path) -> None:
        reader = web.bearer("application")
        model = (tmp_path / "jane.model").read_bytes()
        await changed(web, do="add", name="gym", shape=circle(GYM, 60))
        found = (await learned(web))["result"]
        assert found["new"] == ["gym"]
        assert (found["days"], found["from"]) == (14, "2026-03-04")
        assert {one["name"] for one in found["secrets"]} == {"clinic"}
        assert (tmp_path / "jane.model").read_bytes() == model, "nothing changes before it is announced"
        assert len(config(web).history) == 1

        said = await asked(web, "POST", "/announce", 409, {"from": "2026-03-05", "accept": True})
        assert "2026-03-04" in said["error"]
        coming = (await asked(web, "POST", "/announce", given={"from": "2026-03-04", "accept": True}))["coming"]
        assert coming == {"from": "2026-03-04", "new": ["gym"], "gone": []}
        assert "gym" in routine_in(tmp_path).contexts
        assert (tmp_path / "jane.before.model").read_bytes() == model
        assert (tmp_path / "jane.model").stat().st_mode & 0o777 == 0o600
        assert read_places(file).names == PLACES.names, "the map before stays in force"
        # Until then names stay, and shapes may change.
        refused = await changed(web, do="rename", name="gym", to="pool", status=400)
        assert "starts on 2026-03-04" in refused["error"]
        await changed(web, do="redraw", number=3, shape=circle(GYM, 90))
        answer = await web.client.delete("/v1/owner/people/jane/map/drawn")
        assert answer.status_code == 400

        await until(web, dt.date(2026, 3, 4))
        assert config(web).places.names == PLACES.names
        instant = int(CLOCK.start_of(dt.date(2026, 3, 4), 0).timestamp() + 1800) * 1_000_000
        (row,) = await web.pass_slot(Reading("jane", "phone", instant, GYM, 10.0))
        assert web.served.gateway.keeper.own.truth("jane", row.date)[row.slot] == "gym"
        assert read_places(file).names == (*PLACES.names, "gym")
        assert not file.with_name("places.drawn.geojson").exists()
        assert web.served.auth.people["jane"].places.names == (*PLACES.names, "gym"), "on every wire"
        assert (await asked(web))["coming"] is None
        assert (await web.client.get("/v1/people/jane/now", headers=reader)).status_code == 200

    told(tmp_path, story)


def test_what_is_announced_can_be_undone_until_it_holds(tmp_path: Path) -> None:
    async def story(web: Web, file: Path) -> None:
        await changed(web, do="add", name="gym", shape=circle(GYM, 60))
        model = (tmp_path / "jane.model").read_bytes()
        date = (await learned(web))["result"]["from"]
        await asked(web, "POST", "/announce", given={"from": date, "accept": True})
        await web.pass_slots(14)  # the next day: still before it holds
        assert (await asked(web, "DELETE", "/announce"))["coming"] is None
        assert (tmp_path / "jane.model").read_bytes() == model
        assert read_places(file.with_name("places.drawn.geojson")).names[-1] == "gym", "what was drawn stays drawn"
        await until(web, dt.date(2026, 3, 5))
        assert config(web).places.names == PLACES.names
        assert set(web.served.gateway.keeper.people["jane"].session.mechanism.model.contexts) >= {"home", "clinic"}
        assert (await asked(web, "DELETE", "/announce", 409))["error"].startswith("no new routine")
        # It can be learned and announced once more.
        print((await learned(web))["problem"])
        date = (await learned(web))["result"]["from"]
        assert (await asked(web, "POST", "/announce", given={"from": date, "accept": True}))["coming"]["new"] == ["gym"]

    told(tmp_path, story)


def test_a_start_goes_on_with_what_was_announced_and_puts_the_map_in_force(tmp_path: Path) -> None:
    at: list[float] = []

    async def story(web: Web, file: Path) -> None:
        await changed(web, do="add", name="gym", shape=circle(GYM, 60))
        date = (await learned(web))["result"]["from"]
        await asked(web, "POST", "/announce", given={"from": date, "accept": True})
        await web.pass_slots(2)
        at.append(web.wall.now)

    told(tmp_path, story)
    file, model = tmp_path / "places.geojson", routine_in(tmp_path)

    async def again(now: float) -> None:
        person = replace(person_config(routine=model, outputs="suppress"), places=read_places(file))
        options: Any = {"maps": {"jane": file}, "routines": {"jane": RoutineFiles(tmp_path / "jane.model")}}
        async with opened(tmp_path / "files", Wall(now), people=[person], **options) as web:
            history = config(web).history
            assert [one.date for one in history] == [START.date(), dt.date(2026, 3, 4)]
            await until(web, dt.date(2026, 3, 4))  # skipped: nothing is decided of them
            assert web.served.auth.people["jane"].places.names == read_places(file).names

    asyncio.run(again(at[0] + 10))
    assert read_places(file).names == PLACES.names
    asyncio.run(again(CLOCK.start_of(dt.date(2026, 3, 6), 3).timestamp()))  # off over the cut
    asyncio.run(again(CLOCK.start_of(dt.date(2026, 3, 6), 4).timestamp()))
    assert read_places(file).names == (*PLACES.names, "gym")


def test_what_cannot_be_learned_or_started_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    async def story(web: Web, file: Path) -> None:
        found = await learned(web)
        assert "5 days" in found["problem"]
        assert found["result"] is None
        await asked(web, "POST", "/announce", 409, {"from": "2026-03-04"})
        await asked(web, "POST", "/learn", 400, {"weeks": 0})
        web.served.gateway.keeper.own.read(recent())
        found = await learned(web, weeks=1)
        assert found["result"]["days"] == 7
        if found["result"]["truth"]["holds"] is False:
            await asked(web, "POST", "/announce", 400, {"from": found["result"]["from"]})
        await changed(web, do="add", name="gym", shape=circle(GYM, 60))
        assert (await asked(web))["stale"]
        await asked(web, "POST", "/announce", 409, {"from": found["result"]["from"], "accept": True})
        assert (await asked(web, "DELETE", "/learn"))["result"] is None
        assert len(config(web).history) == 1

    told(tmp_path, story, recent(5))


def test_somebody_whose_routine_is_in_no_file_is_told_so(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "files") as web:
            await logged_in(web)
            web.client.headers["X-CSRF-Token"] = (await web.client.get("/v1/owner")).json()["csrf"]
            assert "not in a file" in (await asked(web))["can"]
            await asked(web, "POST", "/learn", 400)

    asyncio.run(story())


@pytest.mark.parametrize("share", [None, 3])
def test_what_was_imported_counts_until_the_phone_came(tmp_path: Path, share: int | None) -> None:
    import polars as pl

    from discreet.gateway.owner.relearn import RelearnOrder, columns

    rows = [one for one in recent(30) if one.instant < recent(7)[0].instant + 3_600_000_000]
    past = tmp_path / "readings.parquet"
    pl.DataFrame(
        {
            "user": ["somebody"] * len(rows),
            "timestamp": [one.instant for one in rows],
            "latitude": [one.position[0] for one in rows if one.position],
            "longitude": [one.position[1] for one in rows if one.position],
        }
    ).with_columns(pl.col("timestamp").cast(columns()["timestamp"])).write_parquet(past)
    since = None if share is None else START.date() - dt.timedelta(weeks=share)
    order = RelearnOrder(
        "jane",
        CLOCK,
        4 * 3600.0,
        past,
        tuple(recent(7)),
        since,
        START.date(),
        PLACES,
        (),
        None,  # type: ignore[arg-type]
    )
    days = days_of(order, tmp_path / "all.parquet")
    assert len(days) == (30 if share is None else 21)
    assert {day.person for day in days} == {"jane"}
    assert not (tmp_path / "all.parquet").exists()
