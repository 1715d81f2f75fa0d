"""From the phone to everybody: nothing of a reading leaves, and the sample ACL keeps applications from raw ones."""

from __future__ import annotations

import asyncio
import json
import subprocess
from contextlib import suppress
from pathlib import Path

import aiomqtt
import httpx
import pytest
from starlette.applications import Starlette

from discreet.gateway.config.broker import Broker, ToldView
from discreet.gateway.runtime import Gateway
from discreet.gateway.wires.owntracks import routes
from discreet.gateway.wires.owntracks_source import OwnTracksSource
from tests.gateway.mosquitto import ABSENT, PROGRAM, Heard, Mosquitto, hearing, until
from tests.gateway.payloads import LOCATION, TRANSITION, encoded
from tests.gateway.people import CLOCK, START, closed, keeper, seeded
from tests.gateway.test_mqtt import reading
from tests.gateway.test_owntracks import doors_of
from tests.gateway.test_publisher import JANE, VIEWS, telling

DEPLOY = Path(__file__).parents[2] / "deploy"

RAW = {
    "lat": 48.1000317,
    "lon": 11.5000429,
    "acc": 13.371,
    "alt": 519731,
    "batt": 87.4142,
    "vel": 4.2731,
    "cog": 271.828,
    "vac": 3.1729,
    "p": 97.13379,
    "BSSID": "b0:f2:08:45:94:33",
    "SSID": "Jane's secret Wi-Fi",
    "tid": "Zq",
    "poi": "a marked spot",
    "tag": "a tag of hers",
    "inregions": ["a region of hers"],
    "inrids": ["6da9cf1b"],
    "created_at": 1772409871,
    "motionactivities": ["cycling-fast"],
    "topic": "owntracks/jane/pixel-hidden-name",
}
"""Fields of a phone's message, each with a value that can be found again."""


def raw_values(times: list[int]) -> list[bytes]:
    values = [value[0] if isinstance(value, list) else value for value in RAW.values()]
    return [str(value).encode() for value in [*values, *times]] + [b"pixel", b"48.10003", b"11.50004"]


def test_no_byte_that_leaves_is_of_a_reading(tmp_path: Path, mosquitto: Mosquitto) -> None:
    """Over MQTT in and MQTT and HTTP out: every byte on every topic but the phone's own, and every answer."""

    async def story() -> None:
        gateway = Gateway(
            keeper(tmp_path, START.timestamp(), JANE, bits=seeded()), wall=lambda: START.timestamp() + 86_400
        )
        app = Starlette(routes=routes(gateway, doors_of(VIEWS)))
        broker = Broker(port=mosquitto.port, tells=(ToldView("jane"), ToldView("jane", "family")))
        writing = asyncio.create_task(gateway._write_readings())
        times = [int(CLOCK.start_of(START.date(), slot).timestamp()) + 1234 for slot in range(12)]
        async with (
            hearing(mosquitto, "#") as heard,
            reading(gateway, mosquitto, phones=[OwnTracksSource("jane", "jane")]),
            telling(gateway, broker),
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gateway") as client,
        ):
            topic = str(RAW["topic"])
            async with aiomqtt.Client("127.0.0.1", mosquitto.port) as phone:
                for tst in times:
                    await phone.publish(topic, encoded({**LOCATION, **RAW, "tst": tst}), 1, retain=True)
                await phone.publish(f"{topic}/event", encoded({**TRANSITION, **RAW, "tst": times[0]}), 1)
            await until("the readings", lambda: len(gateway.keeper.own.readings("jane", 0)) == 13)
            for _ in range(12):
                await gateway.tell(gateway.keeper.turn(gateway.keeper.next))
            await until("the last", lambda: len(_on(heard, "discreet/jane/family")) == 12)
            left = [bytes(one.payload) for one in heard if not str(one.topic).startswith("owntracks/")]
            left += [str(one.topic).encode() for one in heard if not str(one.topic).startswith("owntracks/")]
            for path in ("version", "list", "list?user=jane", "last", "locations?from=2026-03-02T00:00:00"):
                answer = await client.get(f"/api/0/{path}", headers={"Authorization": "Bearer app-secret"})
                assert answer.status_code == 200
                left += [answer.content, str(answer.headers.raw).encode()]
        assert any(json.loads(one).get("context") == "home" for one in _on(heard, "discreet/jane/whole")), "it was told"
        for value in raw_values(times):
            assert not [one for one in left if value in one], value
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        closed(gateway.keeper)

    asyncio.run(story())


def _on(heard: Heard, topic: str) -> list[bytes]:
    return [bytes(one.payload) for one in heard if str(one.topic) == topic]


@pytest.mark.broker
@pytest.mark.skipif(PROGRAM is None, reason=ABSENT)
def test_the_sample_of_a_broker_parts_phones_and_applications(tmp_path: Path) -> None:
    accounts = ("jane", "joe", "discreet", "family", "home-assistant")
    passwords = tmp_path / "passwd"
    passwords.write_text("".join(f"{name}:{name}-password\n" for name in accounts))
    hashed = subprocess.run(["mosquitto_passwd", "-U", str(passwords)], capture_output=True, check=False)
    if hashed.returncode:
        pytest.skip("mosquitto_passwd is not there")
    sample = (DEPLOY / "mosquitto.conf").read_text()
    replaced = {
        "/etc/mosquitto/passwd": str(passwords),
        "/etc/mosquitto/mosquitto.acl": str(DEPLOY / "mosquitto.acl"),
    }
    for old, new in replaced.items():
        assert old in sample
        sample = sample.replace(old, new)
    own = ("listener", "max_queued_messages", "#")  # the test's broker has its own
    lines = [line for line in sample.splitlines() if not line.startswith(own)]
    broker = Mosquitto(tmp_path, "\n".join(lines) + "\n").start()

    def client(name: str) -> aiomqtt.Client:
        return aiomqtt.Client("127.0.0.1", broker.port, username=name, password=f"{name}-password")

    async def story() -> None:
        async with (
            hearing(broker, "#", user="family", password="family-password") as family,
            hearing(broker, "#", user="joe", password="joe-password") as joe,
            hearing(broker, "#", user="discreet", password="discreet-password") as gateway,
        ):
            async with client("jane") as jane:
                await jane.publish("owntracks/jane/pixel", b"raw", 1, retain=True)
            forged = [("jane", "owntracks/joe/pixel"), ("family", "owntracks/jane/pixel")]
            for name, topic in [*forged, ("jane", "discreet/jane/family"), ("family", "discreet/jane/family")]:
                with suppress(aiomqtt.MqttError):  # a broker may close the door on who tries
                    async with client(name) as other:
                        await other.publish(topic, b"forged", 1)
            async with client("discreet") as own:
                for topic in ("discreet/jane/whole", "discreet/jane/family", "discreet/jane/family/state"):
                    await own.publish(topic, b"told", 1, retain=True)
                await own.publish("released/jane/family", b"told", 1)
                await own.publish("homeassistant/sensor/discreet-jane-family-place/config", b"told", 1, retain=True)
            await until("what is allowed", lambda: len(family) == 4)
            await asyncio.sleep(0.3)
            assert {str(one.topic) for one in family} == {
                "discreet/jane/family",
                "discreet/jane/family/state",
                "released/jane/family",
                "homeassistant/sensor/discreet-jane-family-place/config",
            }
            assert joe == []
            assert not [one for one in [*family, *gateway] if one.payload == b"forged"]
            assert [one.payload for one in gateway if str(one.topic) == "owntracks/jane/pixel"] == [b"raw"]

    try:
        asyncio.run(story())
    finally:
        broker.stop()
