"""The owner's map: shapes in force at the next slot, names that wait for habits, and secrets that lose no ground."""

from __future__ import annotations

import asyncio
import datetime as dt
import shlex
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet import DiscreetError, Policy, Released, Routine
from discreet.cli import app
from discreet.gateway.config.sections import Page
from discreet.gateway.owner.maps import added, judged, reshaped
from discreet.gateway.store.own_store import Reading
from discreet.models.store import load
from discreet.places import Circle, Place, Places, read_places, write_places
from tests.gateway.people import CLOCK, PLACES, START, WHERE, person_config, readings
from tests.gateway.test_day import logged_in
from tests.gateway.tiles import PICTURE, mbtiles
from tests.gateway.web import ROUTINE, Wall, Web, opened

PATH = "/v1/owner/people/jane/map"


def told(tmp_path: Path, story: Callable[[Web, Path], Awaitable[None]], **options: Any) -> None:
    file = tmp_path / "places.geojson"
    write_places(file, PLACES)
    person = person_config(routine=ROUTINE, outputs="suppress")

    async def whole() -> None:
        async with opened(tmp_path / "files", people=[person], maps={"jane": file}, **options) as web:
            await logged_in(web)
            web.client.headers["X-CSRF-Token"] = (await web.client.get("/v1/owner")).json()["csrf"]
            await story(web, file)

    asyncio.run(whole())


async def got(web: Web, path: str = PATH) -> Any:
    answer = await web.client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def changed(web: Web, status: int = 200, **given: Any) -> Any:
    version = (await got(web))["version"]
    answer = await web.client.post(PATH, json={"version": version, **given})
    assert answer.status_code == status, answer.text
    return answer.json()


def circle(where: tuple[float, float], radius: float) -> dict[str, Any]:
    return {"middle": list(where), "radius": radius}


def test_a_shape_is_in_force_at_the_next_slot_on_every_wire_and_in_the_file(tmp_path: Path) -> None:
    async def story(web: Web, file: Path) -> None:
        headers = web.bearer("application")
        away = (48.12, 11.50)
        found = await changed(web, do="redraw", number=0, shape=circle(away, 80))
        assert found["said"]["at_once"]
        assert found["waiting"] is None
        assert found["places"][0]["middle"] == list(away)
        assert read_places(file).places[0].shape.middle == away
        assert file.stat().st_mode & 0o777 == 0o600
        instant = int(CLOCK.start_of(START.date(), 0).timestamp() + 1800) * 1_000_000
        (row,) = await web.pass_slot(Reading("jane", "phone", instant, away, 10.0))
        assert web.served.gateway.keeper.own.truth("jane", row.date)[row.slot] == "home"
        assert row.output == Released("home"), "nothing is secret about home at night"
        event = (await web.client.get("/v1/people/jane/now", headers=headers)).json()
        assert (event["latitude"], event["longitude"], event["radius"]) == (*away, 80)

    told(tmp_path, story)


def test_a_name_that_habits_do_not_know_waits_and_changes_nothing(tmp_path: Path) -> None:
    async def story(web: Web, file: Path) -> None:
        before = file.read_bytes()
        found = await changed(web, do="add", name="gym", shape=circle((48.11, 11.51), 60))
        assert not found["said"]["at_once"]
        assert "gym" in found["said"]["words"]
        assert [one["name"] for one in found["places"] if one["waits"]] == ["gym"]
        told_to = shlex.split(found["waiting"]["learn"])
        assert told_to[:5] == ["discreet", "learn", "READINGS", "--places", "places.drawn.geojson"]
        assert [told_to[k + 1] for k, word in enumerate(told_to) if word == "--keep"] == ["clinic", "gym"]
        assert file.read_bytes() == before
        drawn = file.with_name("places.drawn.geojson")
        assert read_places(drawn).names == ("home", "work", "clinic", "gym")
        assert drawn.stat().st_mode & 0o777 == 0o600
        settled_now = web.served.gateway.keeper.people["jane"].config
        assert settled_now.places.names == PLACES.names
        found = await changed(web, do="rename", name="gym", to="pool")  # what waits can be changed further
        assert [one["name"] for one in found["places"]][-1] == "pool"
        found = await changed(web, do="rename", name="pool", to="work")  # merged: another part of work
        assert found["said"]["at_once"]
        assert found["waiting"] is None
        assert not drawn.exists()
        assert read_places(file).names == ("home", "work", "clinic")
        assert len(web.served.gateway.keeper.people["jane"].config.places) == 4

    told(tmp_path, story)


def test_only_what_is_new_is_not_in_force_yet(tmp_path: Path) -> None:
    nudge = 1.234567e-8  # a file has fewer digits
    finer = Places([Place(name, Circle(a + nudge, b + nudge, 120.0)) for name, (a, b) in WHERE.items()])
    file = tmp_path / "places.geojson"
    person = replace(person_config(routine=ROUTINE, outputs="suppress"), places=finer)

    async def whole() -> None:
        async with opened(tmp_path / "files", people=[person], maps={"jane": file}) as web:
            await logged_in(web)
            web.client.headers["X-CSRF-Token"] = (await web.client.get("/v1/owner")).json()["csrf"]
            found = await changed(web, do="add", name="gym", shape=circle((48.11, 11.51), 60))
            assert [one["name"] for one in found["places"] if one["waits"]] == ["gym"]

    asyncio.run(whole())


def test_a_colour_is_kept_with_its_place(tmp_path: Path) -> None:
    async def story(web: Web, file: Path) -> None:
        before = await got(web, f"{PATH[:-3]}colours")
        assert {"home", "work", "clinic"} <= before.keys()
        assert len({*before.values()}) == len(before)
        found = await changed(web, do="add", name="gym", shape=circle((48.11, 11.51), 60))
        gym = next(one["colour"] for one in found["places"] if one["name"] == "gym")
        assert gym not in before.values()
        found = await changed(web, do="rename", name="gym", to="pool")
        colours = {one["name"]: one["colour"] for one in found["places"]}
        assert colours == {name: before[name] for name in ("home", "work", "clinic")} | {"pool": gym}
        await changed(web, do="remove", number=3)
        after = await got(web, f"{PATH[:-3]}colours")
        assert before.items() <= after.items()
        web.served.gateway.keeper.own.erase("jane")
        assert web.served.gateway.keeper.own.colours("jane") == {}

    told(tmp_path, story)


def test_a_map_behind_a_link_is_written_there(tmp_path: Path) -> None:
    async def story(web: Web, file: Path) -> None:
        kept = file.rename(tmp_path / "kept.geojson")
        file.symlink_to(kept)
        assert (await changed(web, do="redraw", number=0, shape=circle(WHERE["home"], 180)))["said"]["at_once"]
        assert file.is_symlink()
        assert read_places(kept).places[0].shape == Circle(*WHERE["home"], 180)

    told(tmp_path, story)


def test_what_waits_can_be_let_go(tmp_path: Path) -> None:
    async def story(web: Web, file: Path) -> None:
        await changed(web, do="rename", name="work", to="office")
        answer = await web.client.delete(f"{PATH}/drawn")
        assert answer.status_code == 200
        assert [one["name"] for one in answer.json()["places"]] == ["home", "work", "clinic"]
        assert not file.with_name("places.drawn.geojson").exists()

    told(tmp_path, story)


@pytest.mark.parametrize(
    "change",
    [
        {"do": "redraw", "number": 2, "shape": circle(WHERE["clinic"], 100)},
        {"do": "redraw", "number": 2, "shape": circle((48.21, 11.60), 150)},
        {"do": "rename", "name": "clinic", "to": "hospital"},
        {"do": "rename", "name": "clinic", "to": "work"},
        {"do": "remove", "number": 2},
        {"do": "add", "name": "reception", "shape": circle(WHERE["clinic"], 20)},
        {"do": "add", "name": "work", "shape": circle(WHERE["clinic"], 20)},
    ],
)
def test_a_secret_place_loses_no_ground(tmp_path: Path, change: dict[str, Any]) -> None:
    async def story(web: Web, file: Path) -> None:
        before = file.read_bytes()
        refused = await changed(web, 400, **change)
        assert "'clinic' is secret" in refused["error"]
        assert "drop the secret first" in refused["error"]
        assert file.read_bytes() == before
        assert not file.with_name("places.drawn.geojson").exists()
        larger = await changed(web, do="redraw", number=2, shape=circle(WHERE["clinic"], 200))
        assert larger["said"]["at_once"]

    told(tmp_path, story)


def test_where_no_place_is_may_be_secret_and_loses_no_ground_either() -> None:
    """As `away`, or what a source calls by a label; and `other`, which also is every place that habits do not know."""
    person: Any = SimpleNamespace(
        config=replace(person_config(routine=ROUTINE), policy=Policy(["other"], delta=0.1)), next=(START.date(), 0)
    )
    for change in (reshaped(0, Circle(*WHERE["home"], 160)), added("work", Circle(48.0, 11.0, 50))):
        with pytest.raises(DiscreetError, match="'other' is secret, and with this change it would lose ground"):
            judged(person, change(PLACES))
    assert judged(person, reshaped(0, Circle(*WHERE["home"], 140))(PLACES)) == []
    shed = Places([*PLACES.places, Place("shed", Circle(48.0, 11.0, 50))])
    person.config = replace(person.config, places=shed)
    with pytest.raises(DiscreetError, match="'shed' is secret"):
        judged(person, reshaped(3, Circle(48.0, 11.0, 40))(shed))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"do": "erase"}, "add, redraw"),
        ({"do": "add", "name": "unknown", "shape": circle((48.0, 11.0), 50)}, "meaning of its own"),
        ({"do": "add", "name": "x", "shape": circle((98.0, 11.0), 50)}, "latitude"),
        ({"do": "add", "name": "x", "shape": {"points": [[48.0, 11.0], [48.1, 11.0]]}}, "three corners"),
        ({"do": "add", "name": "x", "shape": {"points": [[48.0, 11.0], [48.1, 11.1], [48.2, 11.2]]}}, "encloses"),
        ({"do": "add", "name": "x", "shape": circle((48.0, 11.0), -5)}, "radius"),
        ({"do": "add", "name": "x"}, "shape"),
        ({"do": "redraw", "number": 7, "shape": circle((48.0, 11.0), 50)}, "no place 7"),
        ({"do": "rename", "name": "nowhere", "to": "x"}, "nowhere"),
    ],
)
def test_what_cannot_be_drawn_is_said(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    async def story(web: Web, file: Path) -> None:
        assert words in (await changed(web, 400, **change))["error"]

    told(tmp_path, story)


def test_a_map_that_was_changed_elsewhere_is_looked_at_again(tmp_path: Path) -> None:
    async def story(web: Web, file: Path) -> None:
        version = (await got(web))["version"]
        await changed(web, do="redraw", number=0, shape=circle(WHERE["home"], 180))
        late = {"version": version, "do": "redraw", "number": 0, "shape": circle(WHERE["home"], 90)}
        assert (await web.client.post(PATH, json=late)).status_code == 409

    told(tmp_path, story)


def test_without_a_file_the_map_is_shown_and_not_changed(tmp_path: Path) -> None:
    async def whole() -> None:
        async with opened(tmp_path, people=[person_config(routine=ROUTINE)]) as web:
            await logged_in(web)
            web.client.headers["X-CSRF-Token"] = (await web.client.get("/v1/owner")).json()["csrf"]
            assert (await got(web))["file"] is None
            assert "people.jane.places" in (await changed(web, 400, do="remove", number=0))["error"]

    asyncio.run(whole())


def test_people_who_share_a_map_are_all_asked(tmp_path: Path) -> None:
    file = tmp_path / "places.geojson"
    write_places(file, PLACES)
    jane = person_config(routine=ROUTINE, outputs="suppress")
    joe = replace(person_config("joe", routine=ROUTINE, outputs="suppress"))

    async def whole() -> None:
        maps = {"jane": file, "joe": file}
        async with opened(tmp_path / "files", people=[jane, joe], maps=maps) as web:
            await logged_in(web)
            web.client.headers["X-CSRF-Token"] = (await web.client.get("/v1/owner")).json()["csrf"]
            await changed(web, do="redraw", number=0, shape=circle(WHERE["home"], 190))
            for one in web.served.gateway.keeper.people.values():
                assert one.config.places.places[0].shape.area > PLACES.places[0].shape.area

    asyncio.run(whole())


def test_what_is_unexplained_has_dots_and_suggestions(tmp_path: Path) -> None:
    async def story(web: Web, file: Path) -> None:
        assert (await got(web, f"{PATH}/unexplained"))["dots"] == []
        own = web.served.gateway.keeper.own
        own.read(list(readings(("home",) * 6 + ("work",) * 6, START.date() - dt.timedelta(days=2))))
        pool, seen = (48.13, 11.52), []
        for day in (1, 2, 3):
            begins = int(START.timestamp()) - day * 86_400 + 40_000
            seen += [Reading("jane", "phone", (begins + 300 * k) * 1_000_000, pool, 10.0) for k in range(13)]
        seen.append(Reading("jane", "phone", int(START.timestamp() - 1000) * 1_000_000, (48.3, 11.9), 900.0))
        own.read(seen)
        found = await got(web, f"{PATH}/unexplained")
        assert found["count"] == 39, "one that may be 900 m off says no place"
        assert found["dots"][0] == list(pool)
        (suggestion,) = found["suggestions"]
        assert suggestion["middle"] == pytest.approx(pool, abs=1e-4)
        assert suggestion["days"] == 3
        assert found["share"] > 0
        assert set(found["hours"]) == {"home", "work", "clinic"}
        await changed(web, do="add", name="pool", shape=circle(pool, suggestion["radius"]))
        assert (await got(web, f"{PATH}/unexplained"))["dots"] == [], "what is drawn explains, though it waits"

    told(tmp_path, story)


def test_it_is_for_the_owner_in_person(tmp_path: Path) -> None:
    async def whole() -> None:
        async with opened(tmp_path, people=[person_config(routine=ROUTINE)]) as web:
            asked = (PATH, f"{PATH}/unexplained", "/v1/owner/tiles/1/0/0")
            for path in asked:
                assert (await web.client.get(path)).status_code == 401
                for headers in (web.bearer("application"), web.bearer("source"), web.bearer("owner", None)):
                    assert (await web.client.get(path, headers=headers)).status_code == 403
            await logged_in(web)
            assert (await web.client.post(PATH, json={"version": ""})).status_code == 403, "without the session's word"
            assert (await web.client.delete(f"{PATH}/drawn")).status_code == 403

    asyncio.run(whole())


def test_tiles_of_the_owners_file_count_from_the_north(tmp_path: Path) -> None:
    async def story(web: Web, file: Path) -> None:
        assert (await got(web))["tiles"] == {"least": 3, "most": 3, "vector": False}
        answer = await web.client.get("/v1/owner/tiles/3/4/2")
        assert (answer.content, answer.headers["content-type"]) == (PICTURE, "image/png")
        for path in ("3/4/5", "4/4/2", "3/400/2", "99/0/0"):
            assert (await web.client.get(f"/v1/owner/tiles/{path}")).status_code == 204
        assert (await web.client.get("/v1/owner/tiles/3/4/x")).status_code == 404

    told(tmp_path, story, page=Page(mbtiles(tmp_path / "here.mbtiles")))


def test_many_readings_are_looked_at_a_day_at_a_time_until_there_are_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(web: Web, file: Path) -> None:
        own = web.served.gateway.keeper.own
        for day in range(1, 6):
            own.read(list(readings(("home",) * 12, START.date() - dt.timedelta(days=day))))
        monkeypatch.setattr("discreet.gateway.owner.unexplained.ENOUGH", 20)
        assert (await got(web, f"{PATH}/unexplained"))["days"] == 2
        monkeypatch.setattr("discreet.gateway.owner.unexplained.ENOUGH", 1000)
        found = await got(web, f"{PATH}/unexplained")
        assert (found["days"], found["count"]) == (14, 0)
        assert found["hours"]["home"] > 100

    told(tmp_path, story)


def test_what_the_page_says_brings_a_drawn_map_into_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command that it shows is run, its files are named, and a gateway of them goes on with the same stream."""
    file, pool = tmp_path / "places.geojson", (48.13, 11.52)
    commands: list[dict[str, Any]] = []

    async def before() -> None:
        person = person_config(routine=ROUTINE, outputs="suppress")
        async with opened(tmp_path / "files", people=[person], maps={"jane": file}) as web:
            await logged_in(web)
            web.client.headers["X-CSRF-Token"] = (await web.client.get("/v1/owner")).json()["csrf"]
            found = await changed(web, do="add", name="the pool", shape=circle(pool, 80))
            commands.append(found["waiting"])
            await web.pass_slots(3)

    write_places(file, PLACES)
    asyncio.run(before())
    table = ["user,timestamp,latitude,longitude"]
    for day in range(28):
        for slot in range(12):
            place = pool if slot == 9 and day % 2 else WHERE["work"] if 4 <= slot < 8 else WHERE["home"]
            when = CLOCK.start_of(START.date() - dt.timedelta(days=day + 1), slot) + dt.timedelta(hours=1)
            table.append(f"jane,{when.isoformat()},{place[0]},{place[1]}")
    (tmp_path / "readings.csv").write_text("\n".join(table))
    words = [word.replace("READINGS", "readings.csv") for word in shlex.split(commands[0]["learn"])]
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, words[1:])
    assert done.exit_code == 0, done.output
    routine = load(tmp_path / commands[0]["settings"]["routine"])
    assert isinstance(routine, Routine)
    assert {"clinic", "the pool"} <= set(routine.contexts)

    async def after() -> None:
        places = read_places(tmp_path / commands[0]["settings"]["places"])
        person = replace(person_config(routine=routine, outputs="suppress"), places=places)
        async with opened(tmp_path / "files", wall=Wall(START.timestamp() + 21_600), people=[person]) as web:
            (note,) = web.served.notes
            assert "the habits changed" in note

    asyncio.run(after())


@pytest.mark.parametrize("path", ["9" * 5000 + "/0/0", "0/" + "9" * 5000 + "/0", "0/0/-1", "0/0/x", "0/0/٣", "0/0/1e9"])
def test_a_tile_that_cannot_be_is_not_there(tmp_path: Path, path: str) -> None:
    async def story() -> None:
        async with opened(tmp_path) as web:
            headers = web.cookie(web.served.owner._opened())
            assert (await web.client.get(f"/v1/owner/tiles/{path}", headers=headers)).status_code == 404

    asyncio.run(story())
