"""Readings from a real broker: acknowledged after the commit, and none lost with a process or a broker."""

from __future__ import annotations

import asyncio
import base64
import datetime as dt
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiomqtt
import pytest
from nacl.secret import SecretBox

from discreet.errors import DiscreetError
from discreet.gateway.config.broker import Broker, ToldView, identifier
from discreet.gateway.config.section import Section
from discreet.gateway.owner.leftovers import cleared, topics_of
from discreet.gateway.runtime import Gateway
from discreet.gateway.store.journal import JournalError
from discreet.gateway.store.own_store import Reading
from discreet.gateway.wires.home_assistant import HomeAssistantSource
from discreet.gateway.wires.mqtt.subscriber import MqttSource
from discreet.gateway.wires.owntracks_source import OwnTracksSource
from tests.gateway.mosquitto import ABSENT, PROGRAM, Mosquitto, until
from tests.gateway.payloads import HOSTILE, LOCATION, SILENT, TRANSITION, TST, encoded
from tests.gateway.people import START, WHERE, habits, keeper, person_config

JANE = person_config(routine=habits(), outputs="suppress")
PHONES = [OwnTracksSource("jane", "jane")]
TOPIC = "owntracks/jane/pixel"


@asynccontextmanager
async def reading(
    gateway: Gateway,
    mosquitto: Mosquitto,
    version: str = "3.1.1",
    states: Sequence[HomeAssistantSource] = (),
    phones: Sequence[OwnTracksSource] = PHONES,
) -> AsyncIterator[MqttSource]:
    """A source at work."""
    broker = Broker(port=mosquitto.port, version="5" if version == "5" else "3.1.1")
    source = MqttSource(gateway, broker, phones, states)
    task = asyncio.create_task(source.run())
    try:
        await asyncio.wait_for(source.connected.wait(), 120)
        yield source
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def opened(folder: Path) -> Gateway:
    return Gateway(keeper(folder, START.timestamp(), JANE), wall=START.timestamp)


def kept(gateway: Gateway) -> list[Reading]:
    return gateway.keeper.own.readings("jane", 0)


async def send(mosquitto: Mosquitto, *messages: tuple[str, bytes], retain: bool = True, qos: int = 1) -> None:
    """As a phone does: QoS 1, retained."""
    async with aiomqtt.Client("127.0.0.1", mosquitto.port) as phone:
        for topic, payload in messages:
            await phone.publish(topic, payload, qos=qos, retain=retain)


def location(tst: int) -> tuple[str, bytes]:
    return TOPIC, encoded({**LOCATION, "tst": tst})


@pytest.mark.parametrize("version", ["3.1.1", "5"])
def test_positions_and_events_arrive_retained_or_not(tmp_path: Path, mosquitto: Mosquitto, version: str) -> None:
    async def story() -> None:
        await send(mosquitto, location(TST - 600))
        async with opened(tmp_path).running() as gateway, reading(gateway, mosquitto, version):
            await send(mosquitto, location(TST), (f"{TOPIC}/event", encoded(TRANSITION)), retain=False)
            await send(mosquitto, location(TST - 60), retain=False, qos=0)
            await send(mosquitto, ("owntracks/joe/pixel", encoded(LOCATION)))
            await until("four readings", lambda: len(kept(gateway)) >= 4)
            assert [(one.source, one.instant // 1_000_000, one.label) for one in kept(gateway)] == [
                ("owntracks/pixel", TST - 600, None),
                ("owntracks/pixel", TST - 60, None),
                ("owntracks/pixel", TST, None),
                ("owntracks/pixel/event", TST, "home"),
            ]

    asyncio.run(story())


@pytest.mark.parametrize("version", ["3.1.1", "5"])
def test_killed_before_the_commit_it_comes_again(tmp_path: Path, mosquitto: Mosquitto, version: str) -> None:
    async def story() -> None:
        async with opened(tmp_path).running() as gateway:
            tried = asyncio.Event()

            async def lost(_: object) -> int:
                tried.set()
                raise JournalError("the process dies here")

            real, gateway.accept = gateway.accept, lost  # type: ignore[method-assign, assignment]
            async with reading(gateway, mosquitto, version):
                await send(mosquitto, *map(location, range(TST - 50, TST)), retain=False)
                await asyncio.wait_for(tried.wait(), 120)
            gateway.accept = real  # type: ignore[method-assign]
            assert kept(gateway) == [], "nothing was written, and nothing acknowledged"
            async with reading(gateway, mosquitto, version):
                await until("all of them", lambda: len(kept(gateway)) == 50)

    asyncio.run(story())


def test_while_nothing_can_be_written_the_broker_keeps_it(tmp_path: Path, mosquitto: Mosquitto) -> None:
    async def story() -> None:
        async with opened(tmp_path).running() as gateway:
            full = True
            write = gateway.keeper.own.read

            def read(readings: Sequence[Reading]) -> int:
                if full:
                    raise JournalError("disk full")
                return write(readings)

            gateway.keeper.own.read = read  # type: ignore[method-assign]
            async with reading(gateway, mosquitto):
                await send(mosquitto, *map(location, range(TST - 100, TST)), retain=False)
                await asyncio.sleep(0.3)
                full = False
                await until("all of them", lambda: len(kept(gateway)) == 100)

    asyncio.run(story())


def test_a_broker_that_is_killed_and_comes_back_loses_nothing(tmp_path: Path, mosquitto: Mosquitto) -> None:
    async def story() -> None:
        async with opened(tmp_path).running() as gateway, reading(gateway, mosquitto) as source:
            await send(mosquitto, *map(location, range(TST - 100, TST - 50)), retain=False)
            mosquitto.save()
            mosquitto.stop(signal.SIGKILL)
            await until("that it is away", lambda: not source.connected.is_set())
            mosquitto.start()
            await send(mosquitto, *map(location, range(TST - 50, TST)), retain=True)
            await until("all of them", lambda: len(kept(gateway)) == 100)

    asyncio.run(story())


def test_hostile_messages_stop_nothing(tmp_path: Path, mosquitto: Mosquitto) -> None:
    stream = HomeAssistantSource({"person.jane": "jane"}, statestream="statestream")

    async def story() -> None:
        async with opened(tmp_path).running() as gateway, reading(gateway, mosquitto, states=[stream]) as source:
            bodies = [*map(encoded, SILENT), *HOSTILE]
            topics = [TOPIC, f"{TOPIC}/event", "owntracks/jane/\U0001f4f1", "statestream/person/jane/state"]
            topics += ["statestream/person/jane/last_updated"]
            await send(mosquitto, *((topic, body) for body in bodies for topic in topics), retain=False)
            await send(mosquitto, location(TST), retain=False)
            await until("the good one", lambda: any(one.instant == TST * 1_000_000 for one in kept(gateway)))
            assert source.connected.is_set()
            for one in kept(gateway):
                assert one.label is None or len(one.label) <= 200

    asyncio.run(story())


def test_a_statestream_gives_labels_at_their_time(tmp_path: Path, mosquitto: Mosquitto) -> None:
    entities = {"person.jane": "jane", "input_select.doing": "jane"}
    stream = HomeAssistantSource(entities, {"Work": "work"}, statestream="house/states")
    at = dt.datetime.fromtimestamp(TST, dt.UTC)

    def state(entity: str, value: str, when: dt.datetime | None) -> list[tuple[str, bytes]]:
        base = f"house/states/{entity.replace('.', '/')}"
        messages = [(f"{base}/state", value.encode())]
        if when is not None:
            stamp = when.isoformat().encode()
            messages += [(f"{base}/last_updated", stamp), (f"{base}/last_changed", stamp)]
        return [*messages, (f"{base}/latitude", b"48.1"), (f"{base}/friendly_name", b'"Jane"')]

    async def story() -> None:
        await send(mosquitto, *state("input_select.doing", "old", None))
        await send(mosquitto, *state("person.jane", "home", at))
        async with opened(tmp_path).running() as gateway, reading(gateway, mosquitto, states=[stream]):
            await send(mosquitto, *state("person.jane", "Work", at + dt.timedelta(seconds=1)))
            await send(mosquitto, *state("person.jane", "unavailable", at + dt.timedelta(seconds=2)))
            await send(mosquitto, *state("person.jane", "not_home", at + dt.timedelta(seconds=3)))
            await send(mosquitto, *state("person.joe", "home", at))
            await until("three", lambda: len(kept(gateway)) == 3)
            await send(mosquitto, *state("input_select.doing", "reading", None))
            await until("the one without a time", lambda: len(kept(gateway)) == 4)
            assert [(one.source, one.instant, one.label, one.position) for one in kept(gateway)] == [
                ("home_assistant/person.jane", TST * 1_000_000, "home", None),
                ("home_assistant/person.jane", (TST + 1) * 1_000_000, "work", None),
                ("home_assistant/person.jane", (TST + 3) * 1_000_000, "away", None),
                ("home_assistant/input_select.doing", int(START.timestamp()) * 1_000_000, "reading", None),
            ], "a retained state without a time is of no time"

    asyncio.run(story())


def test_one_device_of_a_user_may_be_meant(tmp_path: Path, mosquitto: Mosquitto) -> None:
    phones = [OwnTracksSource("jane", "home", "pixel")]

    async def story() -> None:
        async with opened(tmp_path).running() as gateway, reading(gateway, mosquitto, phones=phones):
            await send(mosquitto, ("owntracks/home/tablet", encoded(LOCATION)), retain=False)
            await send(mosquitto, ("owntracks/home/pixel", encoded(LOCATION)), retain=False)
            await until("one", lambda: bool(kept(gateway)))
            assert [(one.source, one.position) for one in kept(gateway)] == [("owntracks/pixel", WHERE["home"])]

    asyncio.run(story())


def test_a_gateway_without_sources_needs_no_broker(tmp_path: Path) -> None:
    async def story() -> None:
        gateway = opened(tmp_path)
        async with gateway.running():
            assert await MqttSource(gateway, Broker(port=1)).run() is None  # type: ignore[func-returns-value]

    asyncio.run(story())


def test_settings_name_the_key_that_is_wrong() -> None:
    table = {"host": "broker", "version": "5", "tell": [{"person": "jane", "view": "family", "forms": ["json"]}]}
    read = Broker.read(Section(Path("discreet.toml"), table, ("broker",)))
    assert read == Broker("broker", version="5", tells=(ToldView("jane", "family", frozenset({"json"})),))
    assert Broker.read(Section(Path("discreet.toml"), {}, ("broker",))) == Broker()
    assert Broker.read(Section(Path("discreet.toml"), {"tls": True}, ("broker",))).port == 8883
    assert "horse" not in repr(
        Broker.read(Section(Path("discreet.toml"), {"user": "g", "password": "horse"}, ("broker",)))
    )
    for wrong, message in (
        ({"port": 0}, "broker.port: is 0"),
        ({"port": True}, "broker.port: is True"),
        ({"version": "3.1"}, "broker.version: is '3.1'"),
        ({"password": "x"}, "broker.user: is missing"),
        ({"tls": "yes"}, "broker.tls: is 'yes'"),
        ({"authority": __file__}, "broker.tls"),
        ({"authority": "none.pem", "tls": True}, "broker.authority: there is no such file"),
        ({"name": "released"}, "broker.name"),
        ({"tell": [{"view": "x"}]}, "broker.tell[0].person: is missing"),
        ({"tell": [{"person": "a", "forms": ["xml"]}]}, "broker.tell[0].forms: has 'xml'"),
        ({"tell": [{"person": "a"}, {"person": "a"}]}, "broker.tell: a has the view whole twice"),
        ({"tell": {"person": "a"}}, "broker.tell: is {'person': 'a'}; write each as [[broker.tell]]"),
        ({"hots": "x"}, "broker.hots: is not known"),
    ):
        with pytest.raises(DiscreetError) as caught:
            Broker.read(Section(Path("discreet.toml"), wrong, ("broker",)))
        assert message in str(caught.value)


def test_identifiers_tell_names_apart() -> None:
    names = [("a", "b c"), ("a b", "c"), ("a-b", "c"), ("a", "b-c"), ("a_20_b", "c"), ("ä", "c"), ("", "c")]
    found = {identifier(*pair) for pair in names}
    assert len(found) == len(names)
    assert all(set(one) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_") for one in found)


def test_encrypted_messages_are_read_with_the_key_of_their_phone(tmp_path: Path, mosquitto: Mosquitto) -> None:
    box = SecretBox(b"correct horse".ljust(32, b"\0"))
    sealed = encoded({"_type": "encrypted", "data": base64.b64encode(box.encrypt(encoded(LOCATION))).decode()})
    phones = [
        OwnTracksSource("jane", "jane", "pixel", "correct horse"),
        OwnTracksSource("jane", "jane", "old", "other"),
    ]

    async def story() -> None:
        async with opened(tmp_path).running() as gateway, reading(gateway, mosquitto, phones=phones):
            await send(mosquitto, ("owntracks/jane/old", sealed), (TOPIC, sealed), retain=False)
            await until("one", lambda: bool(kept(gateway)))
            assert [(one.source, one.position) for one in kept(gateway)] == [("owntracks/pixel", WHERE["home"])]

    asyncio.run(story())


@pytest.mark.broker
@pytest.mark.skipif(PROGRAM is None, reason=ABSENT)
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed, which makes the certificate")
@pytest.mark.filterwarnings(  # paho leaves the socket of a handshake that failed to the garbage collector
    "ignore:Exception ignored in. <ssl.SSLSocket:pytest.PytestUnraisableExceptionWarning"
)
def test_a_broker_with_tls_must_prove_itself(tmp_path: Path) -> None:
    certificate, key = tmp_path / "broker.pem", tmp_path / "broker.key"
    made = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=broker -addext subjectAltName=IP:127.0.0.1"
    subprocess.run([*made.split(), "-out", certificate, "-keyout", key], check=True, capture_output=True)
    mosquitto = Mosquitto(tmp_path, f"certfile {certificate}\nkeyfile {key}\n").start()

    async def story() -> None:
        trusting = Broker(port=mosquitto.port, tls=True, authority=certificate)
        wary = Broker(port=mosquitto.port, tls=True)
        async with opened(tmp_path).running() as gateway:
            refused, source = MqttSource(gateway, wary, PHONES), MqttSource(gateway, trusting, PHONES)
            tasks = [asyncio.create_task(one.run()) for one in (refused, source)]
            await asyncio.wait_for(source.connected.wait(), 120)
            context = trusting.context
            async with aiomqtt.Client("127.0.0.1", mosquitto.port, tls_context=context) as phone:
                for tst in range(TST - 100, TST):
                    await phone.publish(*location(tst), qos=1)
            await until("all of them", lambda: len(kept(gateway)) == 100)
            assert not refused.connected.is_set()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    try:
        asyncio.run(story())
    finally:
        mosquitto.stop()


def test_a_broker_that_is_away_makes_the_gateway_unready_until_it_is_back(tmp_path: Path, mosquitto: Mosquitto) -> None:
    async def story() -> None:
        gateway = opened(tmp_path)
        async with gateway.running(), reading(gateway, mosquitto):
            assert gateway.health.ready
            mosquitto.stop()
            await until("that it is away", lambda: not gateway.health.ready)
            assert [one.what for one in gateway.health.reasons] == ["readings from the broker"]
            mosquitto.start()
            await until("that it is back", lambda: gateway.health.ready)

    asyncio.run(story())


def test_positions_that_phones_left_at_the_broker_are_cleared(mosquitto: Mosquitto) -> None:
    async def story() -> None:
        broker, others = Broker(port=mosquitto.port), "owntracks/joe/pixel"
        await send(mosquitto, (TOPIC, b"{}"), (f"{TOPIC}/event", b"{}"), (others, b"{}"))
        mine, theirs = topics_of(PHONES, "jane"), topics_of([OwnTracksSource("joe", "joe")], "joe")
        assert topics_of(PHONES, "joe") == []
        assert await cleared(broker, mine) == ([TOPIC, f"{TOPIC}/event"], [])
        assert await cleared(broker, mine) == ([], [])
        assert await cleared(broker, theirs) == ([others], []), "others' were left alone"

    asyncio.run(story())
