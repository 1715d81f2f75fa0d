"""discreet as an app of Home Assistant: what it asks of a made-up Supervisor, what it writes, and the first run by it.

The Supervisor itself cannot run here: its routes are made as its own sources have them.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import os
import re
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiomqtt
import httpx
import pytest

from discreet.cli import run
from discreet.errors import DataError, DiscreetError
from discreet.gateway.config.settings import Settings
from discreet.gateway.server import listening
from discreet.gateway.setup.files import with_sections
from discreet.gateway.setup.supervisor import Supervisor, SupervisorError, Tracker, checked_entity, sections
from tests.gateway.browser import look
from tests.gateway.first import SETUP, WHERE, did, empty_web, enter
from tests.gateway.house import open_house
from tests.gateway.mosquitto import ABSENT, PROGRAM, Mosquitto, until
from tests.gateway.supervisor import PHONE, TOKEN, FakeSupervisor, open_supervisor, tracked

MQTT = {"host": "core-mosquitto", "port": 1883, "ssl": False, "username": "addons", "password": "pä'ss", "protocol": ""}


def lived(days: int = 20) -> list[dict[str, Any]]:
    """What the recorder has of a phone: home, work, and a third place on Tuesdays; it moves while it is not_home."""
    first = (dt.datetime.now(dt.UTC) - dt.timedelta(days=days)).replace(hour=0, minute=5, second=0, microsecond=0)
    found = []
    for half in range(48 * days):
        at = first + dt.timedelta(minutes=30 * half)
        place = "work" if 9 <= at.hour < 17 and at.weekday() < 5 else "home"
        place = "place 3" if at.weekday() == 1 and 17 <= at.hour < 19 else place
        latitude, longitude = WHERE[place]
        where = {"latitude": latitude, "longitude": longitude, "gps_accuracy": 12}
        found.append(tracked(PHONE, "home" if place == "home" else "not_home", at, **where))
    return found


@pytest.fixture
def fake() -> Iterator[FakeSupervisor]:
    with open_supervisor(FakeSupervisor(dict(MQTT), lived())) as one:
        yield one


def test_the_settings_of_a_first_start_are_the_supervisors(tmp_path: Path, fake: FakeSupervisor) -> None:
    file = tmp_path / "data" / "discreet.toml"
    assert Supervisor.at(fake.url, TOKEN).prepare(file)
    settings = Settings.read(file, nobody=True)
    assert (settings.server.host, settings.server.ingress) == ("0.0.0.0", "127.0.0.1")
    broker = settings.broker
    assert broker is not None
    assert (broker.host, broker.port, broker.user, broker.password, broker.tls) == (
        "core-mosquitto",
        1883,
        "addons",
        "pä'ss",
        False,
    )
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in file.parent.iterdir())
    assert "pä'ss" not in file.read_text("utf-8"), "passwords have files of their own"
    assert Supervisor("http://supervisor", TOKEN).ingress == "172.30.32.2"


def test_a_later_start_renews_the_token_and_the_broker_and_nothing_else(tmp_path: Path, fake: FakeSupervisor) -> None:
    file = tmp_path / "discreet.toml"
    Supervisor.at(fake.url, TOKEN).prepare(file)
    own = "\n# mine\n[keeping]\nretention_days = 7\n"
    file.write_text(file.read_text("utf-8") + own, encoding="utf-8")
    before = file.read_bytes()
    assert Supervisor.at(fake.url, TOKEN).prepare(file)
    assert file.read_bytes() == before
    fake.mqtt = MQTT | {"password": "another", "port": 8883, "ssl": True}
    assert Supervisor.at(fake.url, TOKEN).prepare(file)
    assert own in file.read_text("utf-8")
    broker = Settings.read(file, nobody=True).broker
    assert broker is not None
    assert (broker.port, broker.tls, broker.password) == (8883, True, "another")
    fake.mqtt = None
    after = file.read_bytes()
    assert Supervisor.at(fake.url, TOKEN).prepare(file), "a broker that is away for a while stays in the settings"
    assert file.read_bytes() == after


def test_a_broker_of_the_owners_own_stays(tmp_path: Path, fake: FakeSupervisor) -> None:
    file = tmp_path / "discreet.toml"
    file.write_text('[broker]\nhost = "mine"\n', encoding="utf-8")
    assert Supervisor.at(fake.url, TOKEN).prepare(file)
    assert file.read_text("utf-8") == '[broker]\nhost = "mine"\n'


def test_without_a_broker_there_is_none(tmp_path: Path, fake: FakeSupervisor) -> None:
    fake.mqtt = None
    assert not Supervisor.at(fake.url, TOKEN).prepare(tmp_path / "discreet.toml")
    assert Settings.read(tmp_path / "discreet.toml", nobody=True).broker is None


def test_trackers_are_known_by_name_and_not_those_of_discreet(fake: FakeSupervisor) -> None:
    assert Supervisor.at(fake.url, TOKEN).trackers() == [
        Tracker("device_tracker.tv", "device_tracker.tv"),
        Tracker("person.jane", "Jane"),
        Tracker(PHONE, "Jane's phone"),
    ]


def test_the_recorder_is_read_week_by_week_with_moves_while_away(fake: FakeSupervisor) -> None:
    now = dt.datetime.now(dt.UTC)
    told = json.loads(Supervisor.at(fake.url, TOKEN).history(PHONE, now))
    assert [state for states in told for state in states] == fake.history
    assert len(fake.asked) == 3 + 5, "five weeks with nothing are enough"
    assert Supervisor.at(fake.url, TOKEN).history("person.nobody", now) == b"[]"


@pytest.mark.parametrize("entity", ["light.hall", "person.jane&filter_entity_id=x", "person.", "person.j/../x", ""])
def test_an_entity_that_is_nobody_is_refused(entity: str) -> None:
    with pytest.raises(DataError, match="choose one of the list"):
        checked_entity(entity)


def test_what_goes_wrong_is_said_without_the_token(fake: FakeSupervisor) -> None:
    with pytest.raises(SupervisorError, match="does not let this app ask") as refused:
        Supervisor(fake.url, "another").trackers()
    assert "another" not in str(refused.value) + repr(Supervisor(fake.url, "another"))
    with listening("127.0.0.1", 0) as nobody:
        port = nobody.getsockname()[1]
    with pytest.raises(SupervisorError, match="does not answer"):
        Supervisor(f"http://127.0.0.1:{port}", TOKEN).trackers()
    with pytest.raises(SupervisorError, match="status 404"):
        Supervisor(f"{fake.url}/elsewhere", TOKEN).trackers()


def test_sections_that_would_spoil_the_file_are_not_written() -> None:
    also = sections("", "jane", PHONE, "http://supervisor")
    assert "http://supervisor/core" in also
    with pytest.raises(DiscreetError, match=r"by hand.*\n\n\[\[home_assistant"):
        with_sections("home_assistant = []\n", also)


def test_the_option_needs_a_supervisor(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUPERVISOR_TOKEN", raising=False)
    for url, words in (("http://supervisor", "SUPERVISOR_TOKEN is not set"), ("supervisor", "no address of a")):
        assert run(["serve", "--supervisor", url]) == 2
        assert words in " ".join(capsys.readouterr().err.split())


def test_the_command_runs_as_an_app(tmp_path: Path, fake: FakeSupervisor) -> None:
    with listening("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    words = ["serve", "--supervisor", fake.url, "--config", "discreet.toml", "--data", "files", "--port", str(port)]
    program = subprocess.Popen(
        [str(Path(sys.executable).with_name("discreet")), *words],
        cwd=tmp_path,
        env={**os.environ, "SUPERVISOR_TOKEN": TOKEN},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert program.stdout is not None
        said = ""
        while "works once" not in said:
            line = program.stdout.readline()
            assert line, said
            said += line
        path = f"/api/hassio_ingress/{'t' * 43}"
        for _ in range(100):
            try:
                page = httpx.get(f"http://127.0.0.1:{port}/", headers={"X-Ingress-Path": path, "Host": "ha.local"})
                break
            except httpx.ConnectError:
                time.sleep(0.05)
        assert page.status_code == 200
        assert "frame-ancestors 'self'" in page.headers["content-security-policy"]
        assert TOKEN not in said
    finally:
        program.terminate()
        program.communicate(timeout=60)
    assert re.search(r"^ingress = \"127.0.0.1\"", (tmp_path / "discreet.toml").read_text("utf-8"), re.MULTILINE)


@pytest.mark.broker
@pytest.mark.slow("learns somebody's routine and compares eight choices")
@pytest.mark.skipif(PROGRAM is None, reason=ABSENT)
def test_from_a_tracker_to_a_device_in_home_assistant(tmp_path: Path, fake: FakeSupervisor) -> None:
    """The first run by name, and at its end, without a restart, the tracker is followed and the broker is told."""
    folder = tmp_path / "home"
    folder.mkdir()
    mosquitto = Mosquitto(tmp_path).start()
    fake.mqtt = MQTT | {"host": "127.0.0.1", "port": mosquitto.port}
    house = Supervisor.at(fake.url, TOKEN)
    house.prepare(folder / "discreet.toml")

    async def story() -> None:
        async with empty_web(folder, supervisor=house) as web:
            await enter(web)
            found = (await web.client.get(f"{SETUP}/home-assistant")).json()["trackers"]
            assert {"entity": PHONE, "name": "Jane's phone"} in found
            assert (await web.client.post(f"{SETUP}/home-assistant", json={"entity": "light.x"})).status_code == 400
            answer = await web.client.post(f"{SETUP}/home-assistant", json={"entity": PHONE})
            assert (answer.status_code, answer.json()["entity"]) == (201, PHONE)
            assert answer.json()["file"] == "0001"
            stood = await did(web, "read", {"person": "jane", "zone": "UTC", "carry": 24})
            assert (stood["step"], stood["problem"], stood["home_assistant"]) == (3, None, True)
            names = {str(one["number"]): one["name"] for one in stood["history"]["places"]}
            assert len(names) == 3
            stood = await did(web, "places", {"names": names})
            stood = await did(web, "secrets", {"secrets": ["place 3"]})
            assert stood["problem"] is None
            choice = {"delta": 0.1, "vocabulary": "suppress", "accept": True}
            assert (await web.client.post(f"{SETUP}/choice", json=choice)).status_code == 202
            answer = await web.client.post(f"{SETUP}/finish", json={})
            assert answer.status_code == 201, answer.text
            settings = Settings.read(folder / "discreet.toml")
            assert [dict(one.entities) for one in settings.home_assistant] == [{PHONE: "jane"}]
            assert settings.home_assistant[0].url == f"{fake.url}/core"
            assert settings.broker is not None
            assert [one.person for one in settings.broker.tells] == ["jane"]
            await until("somebody who follows", lambda: fake.followed == 1)
            async with aiomqtt.Client("127.0.0.1", mosquitto.port) as client, asyncio.timeout(300):
                await client.subscribe("homeassistant/device_tracker/+/config")
                async for message in client.messages:
                    assert "discreet/jane/whole" in str(message.payload)
                    break

    try:
        asyncio.run(story())
    finally:
        mosquitto.stop()


@pytest.mark.browser
def test_in_home_assistants_frame_somebody_is_chosen_by_name(tmp_path: Path, fake: FakeSupervisor) -> None:
    fake.mqtt = None  # the page would say that it cannot be reached
    house = Supervisor.at(fake.url, TOKEN)
    (tmp_path / "home").mkdir()
    house.prepare(tmp_path / "home" / "discreet.toml")

    async def story() -> None:
        async with (
            empty_web(tmp_path / "home", supervisor=house, ingress="127.0.0.1") as web,
            open_house(str(web.client.base_url).rstrip("/")) as shown,
        ):
            await look(web, "tracker", tmp_path, (), shown.prefix, address=shown.address, slots=0)

    asyncio.run(story())
