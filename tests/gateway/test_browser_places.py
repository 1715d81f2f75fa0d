"""The owner's page in a real browser: the map, and what applications get."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.gateway.config.sections import Page
from discreet.gateway.store.own_store import Reading
from discreet.places import Circle, Place, Places, read_places, write_places
from tests.gateway.browser import look
from tests.gateway.people import PLACES, START, WHERE, person_config, readings
from tests.gateway.test_routines import files_in, recent
from tests.gateway.tiles import town
from tests.gateway.web import ROUTINE, listening_web


@pytest.mark.browser
def test_the_map_of_places(tmp_path: Path) -> None:
    file = tmp_path / "places.geojson"
    here = {"campus": (48.152, 11.582, 700), "library": (48.155, 11.586, 90), "market": (48.118, 11.535, 80)}
    more = [Place(name, Circle(*where)) for name, where in here.items()]
    write_places(file, Places([*PLACES.places, *more]))
    person = replace(person_config(routine=ROUTINE, outputs="suppress"), places=read_places(file))

    async def story() -> None:
        tiles = Page(town(tmp_path / "here.pmtiles", *WHERE["home"], zoom=13))
        async with listening_web(tmp_path / "files", people=[person], maps={"jane": file}, page=tiles) as web:
            web.served.gateway.keeper.own.read(wandered())
            await look(web, "places", tmp_path, ("places", "places-drawing", "places-waiting"))

    asyncio.run(story())


def wandered() -> list[Reading]:
    """A week of somebody who is at home, walks to a pool that no place knows, and stays there for an hour."""
    rng = np.random.default_rng(5)
    home, pool = np.array(WHERE["home"]), np.array([48.126, 11.552])
    found = []
    for day in range(1, 8):
        begins = int(START.timestamp()) - day * 86_400
        walk = [home + (pool - home) * k / 12 for k in range(13)]
        for k, where in enumerate([*[home] * 12, *walk, *[pool] * 12, *walk[::-1], *[home] * 12]):
            at = tuple((where + rng.normal(0, 1e-4, 2)).tolist())
            found.append(Reading("jane", "phone", (begins + 300 * k) * 1_000_000, at, 10.0))
    return found


@pytest.mark.browser
def test_a_routine_is_learned_without_a_terminal(tmp_path: Path) -> None:
    file = tmp_path / "places.geojson"
    write_places(file, PLACES)
    person = person_config(routine=ROUTINE, outputs="suppress")
    files = files_in(tmp_path)

    async def story() -> None:
        async with listening_web(
            tmp_path / "files", people=[person], maps={"jane": file}, routines={"jane": files}
        ) as web:
            web.served.gateway.keeper.own.read(recent())
            await look(web, "routine", tmp_path, ("routine-found", "routine-coming"), slots=6)

    asyncio.run(story())


@pytest.mark.browser
def test_what_applications_get(tmp_path: Path) -> None:
    file = tmp_path / "discreet.toml"
    file.write_text("# settings\n")

    async def story() -> None:
        async with listening_web(tmp_path / "files", file=file) as web:
            for reading in readings(("home",) * 5, START.date()):
                await web.pass_slot(reading)
            await look(web, "applications", tmp_path, ("view", "gets", "phone-token", "own-gets"), slots=0)

    asyncio.run(story())
