"""Home Assistant's WebSocket API, spoken by a server that answers as it does: states become readings."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve

from discreet.errors import DiscreetError
from discreet.gateway.config.section import Section
from discreet.gateway.runtime import Gateway
from discreet.gateway.slots.person import StoredReadings
from discreet.gateway.store.own_store import OwnStore, Reading
from discreet.gateway.wires.home_assistant import HomeAssistantSource, source_of
from discreet.gateway.wires.home_assistant_socket import _readings as readings_in
from discreet.gateway.wires.home_assistant_socket import run
from discreet.live.slots import SECOND
from discreet.live.standing import StandingRule
from tests.gateway.mosquitto import until
from tests.gateway.payloads import HOSTILE, TST, state
from tests.gateway.people import START, WHERE, habits, keeper, person_config

JANE = person_config(routine=habits(), outputs="suppress")
TOKEN = "a-long-lived-access-token"
ENTITIES = {"person.jane": "jane", "input_select.doing": "jane"}


class House:
    """Home Assistant as a gateway sees it."""

    def __init__(self, states: Sequence[dict[str, object]] = ()) -> None:
        self.states = list(states)
        self.connections: list[ServerConnection] = []
        self.asked: list[dict[str, Any]] = []

    async def greet(self, socket: ServerConnection) -> None:
        await socket.send(json.dumps({"type": "auth_required", "ha_version": "2026.11.1"}))
        said = json.loads(await socket.recv())
        if said != {"type": "auth", "access_token": TOKEN}:
            await socket.send(json.dumps({"type": "auth_invalid", "message": "Invalid access token or password"}))
            return
        await socket.send(json.dumps({"type": "auth_ok", "ha_version": "2026.11.1"}))
        async for text in socket:
            asked = json.loads(text)
            self.asked.append(asked)
            answer = self.states if asked["type"] == "get_states" else None
            await socket.send(json.dumps({"id": asked["id"], "type": "result", "success": True, "result": answer}))
            if asked["type"] == "subscribe_events":
                self.connections.append(socket)

    async def change(self, new: dict[str, object] | None) -> None:
        """An event as every subscriber gets it."""
        data = {"entity_id": None if new is None else new["entity_id"], "old_state": None, "new_state": new}
        event = {"event_type": "state_changed", "data": data, "origin": "LOCAL", "time_fired": "2026-03-02T00:00:00"}
        for socket in self.connections:
            await socket.send(json.dumps({"id": 1, "type": "event", "event": event}))

    async def send(self, text: str | bytes) -> None:
        for socket in self.connections:
            await socket.send(text)


@asynccontextmanager
async def following(
    folder: Path, house: House, token: str = TOKEN, again: int = 0, labels: dict[str, str] | None = None
) -> AsyncIterator[Gateway]:
    async with (
        serve(house.greet, "127.0.0.1", 0) as server,
        Gateway(keeper(folder, START.timestamp(), JANE), wall=START.timestamp).running() as gateway,
    ):
        port = next(iter(server.sockets)).getsockname()[1]
        source = HomeAssistantSource(ENTITIES, labels or {}, f"http://127.0.0.1:{port}/", token, again)
        task = asyncio.create_task(run(gateway, source, first=0.05))
        try:
            yield gateway
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def kept(gateway: Gateway) -> list[Reading]:
    return gateway.keeper.own.readings("jane", 0)


def test_changes_of_states_are_readings(tmp_path: Path) -> None:
    latitude, longitude = WHERE["work"]
    where = {"latitude": latitude, "longitude": longitude, "gps_accuracy": 14}

    async def story() -> None:
        house = House([state("person.jane", "home", TST - 60), state("light.hall", "on", TST - 60)])
        async with following(tmp_path, house, labels={"Work": "work"}) as gateway:
            await until("a subscription", lambda: len(house.asked) == 2)
            assert [one["type"] for one in house.asked] == ["subscribe_events", "get_states"]
            await house.change(state("person.jane", "Work", TST, **where))
            await house.change(state("person.jane", "not_home", TST + 1))
            await house.change(state("person.jane", "unavailable", TST + 2))
            await house.change(state("person.joe", "home", TST + 2))
            await house.change(state("input_select.doing", "reading", TST + 3))
            await house.change(None)  # an entity that was removed
            await until("all", lambda: len(kept(gateway)) == 4)
            assert kept(gateway) == [
                Reading("jane", "home_assistant/person.jane", (TST - 60) * 1_000_000, None, None, "home"),
                Reading("jane", "home_assistant/person.jane", TST * 1_000_000, WHERE["work"], 14.0, "work"),
                Reading("jane", "home_assistant/person.jane", (TST + 1) * 1_000_000, None, None, "away"),
                Reading("jane", "home_assistant/input_select.doing", (TST + 3) * 1_000_000, None, None, "reading"),
            ]

    asyncio.run(story())


def test_a_state_that_lasts_is_read_again(tmp_path: Path) -> None:
    async def story() -> None:
        house = House([state("person.jane", "home", TST - 3600, latitude=48.1, longitude=11.5)])
        async with following(tmp_path, house, again=1) as gateway:
            await until("three questions", lambda: len(house.asked) >= 4)
            then, now = kept(gateway)
            assert (then.instant, then.position) == ((TST - 3600) * 1_000_000, (48.1, 11.5))
            assert (now.instant, now.position, now.label) == (int(START.timestamp()) * 1_000_000, None, "home")

    asyncio.run(story())


def test_hostile_messages_and_lost_connections_stop_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        house = House()
        async with following(tmp_path, house) as gateway:
            await until("a subscription", lambda: bool(house.connections))
            for body in HOSTILE:
                await house.send(body)
                await house.send(b'{"id":1,"type":"event","event":{"data":{"new_state":%s}}}' % body)
                await house.send(b'{"id":1,"type":"result","result":[%s,{"entity_id":%s}]}' % (body, body))
            for wrong in ("\ud800".encode("utf-8", "surrogatepass").decode("utf-8", "replace"), "x" * 1000, ""):
                await house.change(state("person.jane", wrong, TST))
            await house.connections.pop().close()
            await until("another connection", lambda: bool(house.connections))
            await house.change(state("person.jane", "home", TST + 5))
            await until("the good one", lambda: any(one.label == "home" for one in kept(gateway)))

    asyncio.run(story())


def test_a_token_that_is_refused_is_said_and_not_written_down(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        with caplog.at_level(logging.DEBUG, "discreet"):
            async with following(tmp_path, House(), token="a-wrong-token"):
                await until("a word of it", lambda: "the token is not accepted" in caplog.text)
        assert "a-wrong-token" not in "".join(
            one.getMessage() for one in caplog.records if one.name.startswith("discreet")
        )

    asyncio.run(story())


def test_settings_name_the_key_that_is_wrong() -> None:
    entities = {"person.jane": "jane"}
    table = {"entities": entities, "url": "https://house:8123", "token": "secret-token"}
    read = HomeAssistantSource.read(Section(Path("discreet.toml"), table, ("home_assistant[0]",)))
    assert read.socket == "wss://house:8123/api/websocket"
    assert "secret-token" not in repr(read)
    stream = HomeAssistantSource.read(
        Section(Path("discreet.toml"), {"entities": entities, "statestream": "base/"}, ("home_assistant[0]",))
    )
    assert stream.statestream == "base"
    wrong: tuple[tuple[dict[str, object], str], ...] = (
        ({"url": "http://house"}, "home_assistant[0].entities: is missing"),
        ({"entities": {}, "statestream": "x"}, "home_assistant[0].entities: is empty"),
        ({"entities": {"jane": "jane"}, "statestream": "x"}, "home_assistant[0].entities: has 'jane'"),
        ({"entities": {"person.jane": 1}, "statestream": "x"}, "home_assistant[0].entities"),
        ({"entities": entities}, "home_assistant[0].url: give it, or statestream"),
        ({"entities": entities, "url": "house", "token": "x"}, "home_assistant[0].url: is 'house'"),
        ({"entities": entities, "url": "http://house"}, "home_assistant[0].token_file: is missing"),
        ({"entities": entities, "statestream": "a/#"}, "home_assistant[0].statestream"),
        ({"entities": entities, "statestream": "a", "tokn": "x"}, "home_assistant[0].tokn: is not known"),
    )
    for table_, message in wrong:
        with pytest.raises(DiscreetError) as caught:
            HomeAssistantSource.read(Section(Path("discreet.toml"), table_, ("home_assistant[0]",)))
        assert message in str(caught.value)


def test_a_choice_that_is_left_as_it_is_does_not_hide_where_somebody_is(tmp_path: Path) -> None:
    """Asked again, all states hold now; the tracker changed last, whichever entity comes last in the alphabet."""
    begins = (TST // 7200 + 1) * 7200
    entities = {"input_select.doing": "jane", "device_tracker.a": "jane"}
    source = HomeAssistantSource(entities, url="http://house", token=TOKEN)
    states = [
        state("device_tracker.a", "clinic", begins - 3600),
        state("input_select.doing", "office", begins - 3 * 86400),
    ]
    said = {"result": states}
    found = [one for hours in range(3) for one in readings_in(said, source, begins + 1800 * (hours - 1))]
    own = OwnStore(tmp_path / "own.db")
    own.read(found)
    kept = StoredReadings(own, "jane")
    for order in (tuple(entities), tuple(entities)[::-1]):
        rule = StandingRule(4 * 3600, sources=tuple(source_of(entity) for entity in order))
        assert rule.context(kept, begins * SECOND, (begins + 7200) * SECOND) == "clinic"
    own.close()
