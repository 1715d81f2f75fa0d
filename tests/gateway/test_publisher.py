"""What applications receive over a real broker: the forms of the journal's rows, no field more, and nothing stale."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiomqtt
import numpy as np
import pytest

from discreet import Clock
from discreet.errors import DiscreetError
from discreet.gateway.config.broker import Broker, ToldView
from discreet.gateway.config.views import View
from discreet.gateway.forms import Forms, encoded
from discreet.gateway.runtime import Gateway
from discreet.gateway.store.journal import JournalRow
from discreet.gateway.wires.mqtt.connection import BrokerConnection
from discreet.gateway.wires.mqtt.messages import Wire
from discreet.gateway.wires.mqtt.publisher import MqttPublisher
from discreet.outputs import SUPPRESSED, Released, Skipped
from tests.gateway.mosquitto import Heard, Mosquitto, hearing, until
from tests.gateway.people import CLOCK, PLACES, START, a_day, closed, habits, keeper, person_config, readings, seeded

JANE = person_config(routine=habits(), outputs="suppress")
PEOPLE = {"jane": JANE}
VIEWS = {"whole": View(), "family": View("family", {"home": frozenset({"home"})}, rest="away")}
FORMS = {name: Forms("jane", JANE.clock, JANE.places, view) for name, view in VIEWS.items()}
WHOLE, FAMILY = ToldView("jane"), ToldView("jane", "family", token="app")


def messages(heard: Heard, topic: str) -> list[bytes]:
    return [bytes(one.payload) for one in heard if str(one.topic) == topic]


@asynccontextmanager
async def telling(gateway: Gateway, broker: Broker, **options: object) -> AsyncIterator[MqttPublisher]:
    teller = MqttPublisher(gateway, broker, PEOPLE, VIEWS, first=0.1, **options)  # type: ignore[arg-type]
    task = asyncio.create_task(teller.run())
    try:
        await asyncio.wait_for(teller.connected.wait(), 120)
        yield teller
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def opened(folder: Path, now: dt.datetime = START) -> AsyncIterator[Gateway]:
    """A gateway whose slots the test turns itself."""
    gateway = Gateway(keeper(folder, now.timestamp(), JANE, bits=seeded()), wall=now.timestamp)
    yield gateway
    closed(gateway.keeper)


def days(gateway: Gateway, count: int) -> Iterator[list[JournalRow]]:
    """Days of readings, decided slot by slot."""
    rng = np.random.default_rng(4)
    for day in range(count):
        date = START.date() + dt.timedelta(days=day)
        gateway.keeper.own.read(list(readings(a_day(CLOCK, rng), date)))
    for _ in range(count * CLOCK.slots):
        yield gateway.keeper.turn(gateway.keeper.next)


def row(output: Released | Skipped, slot: int = 5) -> JournalRow:
    ends = int(CLOCK.end_of(START.date(), slot).timestamp())
    return JournalRow("jane", START.date(), slot, ends, 1, slot, output, "", ())


@pytest.mark.parametrize(("version", "count"), [("3.1.1", 7), ("5", 2)])
def test_a_week_on_the_wire_is_the_journal_in_its_forms(
    tmp_path: Path, mosquitto: Mosquitto, version: str, count: int
) -> None:
    async def story() -> None:
        broker = Broker(port=mosquitto.port, tells=(WHOLE, FAMILY), version="5" if version == "5" else "3.1.1")
        async with (
            hearing(mosquitto, "#", version=version) as heard,
            opened(tmp_path) as gateway,
            telling(gateway, broker),
        ):
            rows = []
            for turned in days(gateway, count):
                rows += turned
                await gateway.tell(turned)
            places = {name: [forms.owntracks(one, "JA") for one in rows] for name, forms in FORMS.items()}
            expected = 2 * 3 * (len(rows) + 1) + 1 + sum(one is not None for told in places.values() for one in told)
            await until("the last", lambda: len(heard) == expected, 20)  # with six documents, and a status
            assert len(rows) == count * CLOCK.slots == len(list(gateway.keeper.journal.all_rows("jane")))
            if count == 7:
                assert {type(one.output).__name__ for one in rows} == {"Released", "Suppressed"}
            for name, forms in FORMS.items():
                base = f"discreet/jane/{name}"
                assert messages(heard, base) == [encoded(forms.event(one)) for one in rows]
                assert messages(heard, f"{base}/state") == [forms.home_assistant(one)[0].encode() for one in rows]
                assert messages(heard, f"{base}/attributes") == [encoded(forms.home_assistant(one)[1]) for one in rows]
                located = messages(heard, f"released/jane/{name}")
                assert located == [encoded(one) for one in places[name] if one is not None]
                times = [json.loads(one)["tst"] for one in located]
                assert all(np.diff(times) > 0)
            _only_allowed_fields(heard)

    asyncio.run(story())


def _only_allowed_fields(heard: Heard) -> None:
    """Whatever topic it is on: fields that are on the list, and topics that are on the list."""
    places = {"latitude", "longitude", "radius"}
    slot = {"person", "date", "slot", "start", "end", "kind"}
    for one in heard:
        parts, payload = str(one.topic).split("/"), bytes(one.payload)
        match parts:
            case ["discreet", "jane", "whole" | "family"]:
                assert set(json.loads(payload)) <= slot | places | {"context"}
            case ["discreet", "jane", "whole" | "family", "state"]:
                assert payload.decode() in {"None", "not_home", "home", "work", "clinic", "moving", "other", "unknown"}
            case ["discreet", "jane", "whole" | "family", "attributes"]:
                assert set(json.loads(payload)) == {"latitude", "longitude", "gps_accuracy", "released_by"}
            case ["released", "jane", "whole" | "family"]:
                assert set(json.loads(payload)) == {"_type", "lat", "lon", "tst", "tid", "acc"}
                assert json.loads(payload)["acc"] > 0
            case ["homeassistant", "device_tracker" | "sensor", _, "config"]:
                assert b"jane" in payload
            case ["discreet", "status"]:
                assert payload in (b"online", b"offline")
            case _:
                raise AssertionError(f"a topic that nobody knows: {one.topic}")


def test_silence_overwrites_what_was_retained_and_says_nothing_to_owntracks(
    tmp_path: Path, mosquitto: Mosquitto
) -> None:
    async def story() -> None:
        broker = Broker(port=mosquitto.port, tells=(WHOLE,))
        async with opened(tmp_path) as gateway, telling(gateway, broker):
            shown, silent = row(Released("work"), 5), row(SUPPRESSED, 6)  # type: ignore[arg-type]
            async with hearing(mosquitto, "released/#") as located:
                await gateway.tell([shown])
                await gateway.tell([silent])
                await until("what is retained", lambda: len(located) == 1)
                await asyncio.sleep(0.2)
                assert len(located) == 1
            async with hearing(mosquitto, "discreet/jane/#", "released/#") as late:
                await until("what is retained", lambda: len(late) == 3)
                assert all(one.retain for one in late)
                event = json.loads(messages(late, "discreet/jane/whole")[0])
                assert (event["slot"], event["kind"]) == (6, "suppressed")
                assert "latitude" not in event
                assert messages(late, "discreet/jane/whole/state") == [b"None"]
                nowhere = {"latitude": None, "longitude": None, "gps_accuracy": None, "released_by": "discreet"}
                assert json.loads(messages(late, "discreet/jane/whole/attributes")[0]) == nowhere

    asyncio.run(story())


def test_after_a_restart_the_last_row_is_told_again(tmp_path: Path, mosquitto: Mosquitto) -> None:
    async def story() -> None:
        broker = Broker(port=mosquitto.port, tells=(WHOLE,))
        async with opened(tmp_path) as gateway:
            for turned in days(gateway, 1):
                await gateway.tell(turned)
            last = gateway.keeper.journal.last("jane")
            assert last is not None
        tomorrow = START + dt.timedelta(days=1)
        async with opened(tmp_path, tomorrow) as gateway, hearing(mosquitto, "discreet/jane/whole") as heard:
            async with telling(gateway, broker):
                await until("it", lambda: bool(heard))
            assert messages(heard, "discreet/jane/whole") == [encoded(FORMS["whole"].event(last))]

    asyncio.run(story())


def test_a_gateway_that_was_killed_goes_on_from_what_the_broker_has_retained(
    tmp_path: Path, mosquitto: Mosquitto
) -> None:
    """Slots that were told to others while nobody told the broker: the next publisher knows nothing of the first."""

    async def story() -> None:
        broker = Broker(port=mosquitto.port, tells=(WHOLE,))
        async with opened(tmp_path) as gateway, hearing(mosquitto, "discreet/jane/whole") as heard:
            slots = days(gateway, 1)
            told = [next(slots) for _ in range(3)]
            async with telling(gateway, broker) as teller:
                for turned in told:
                    await gateway.tell(turned)
                await until("its confirmation", lambda: teller._reached.get("jane") == told[-1][-1].key)
            missed = [next(slots) for _ in range(5)]
            for turned in missed:
                await gateway.tell(turned)
            await until("the first three", lambda: len(heard) >= 3)
            async with telling(gateway, broker):
                await until("the last", lambda: len(heard) >= 3 + 1 + 5)
            rows = [one for turned in (*told, *told[-1:], *missed) for one in turned]
            assert messages(heard, "discreet/jane/whole") == [encoded(FORMS["whole"].event(one)) for one in rows]

    asyncio.run(story())


def test_slots_that_pass_while_the_broker_says_what_it_has_retained_are_told(
    tmp_path: Path, mosquitto: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the last of them alone: nothing is retained on a new broker, and slots may be short."""

    async def story() -> None:
        broker = Broker(port=mosquitto.port, tells=(WHOLE,))
        async with opened(tmp_path) as gateway, hearing(mosquitto, "discreet/jane/whole") as heard:
            slots = days(gateway, 1)
            told = [next(slots) for _ in range(4)]
            learn = MqttPublisher._learn

            async def slowly(self: MqttPublisher, link: BrokerConnection) -> None:
                await learn(self, link)
                for turned in told:
                    await gateway.tell(turned)

            monkeypatch.setattr(MqttPublisher, "_learn", slowly)
            async with telling(gateway, broker):
                await until("the last", lambda: len(heard) >= 4, seconds=10)
            rows = [one for turned in told for one in turned]
            assert messages(heard, "discreet/jane/whole") == [encoded(FORMS["whole"].event(one)) for one in rows]

    asyncio.run(story())


def test_a_broker_that_was_killed_is_told_what_it_missed_in_order(tmp_path: Path, mosquitto: Mosquitto) -> None:
    async def story() -> None:
        now = ToldView("jane", "family", now_only=True)
        broker = Broker(port=mosquitto.port, tells=(WHOLE, now))
        async with opened(tmp_path) as gateway, telling(gateway, broker) as teller:
            slots = days(gateway, 1)
            first = [next(slots) for _ in range(3)]
            for turned in first:
                await gateway.tell(turned)
            async with hearing(mosquitto, "discreet/jane/whole") as before:
                await until("the third", lambda: bool(before))
            mosquitto.stop(signal.SIGKILL)
            await until("that it is away", lambda: not teller.connected.is_set())
            missed = [turned for turned, _ in zip(slots, range(4), strict=False)]
            for turned in missed:
                await gateway.tell(turned)
            listening, catch_up = asyncio.Event(), teller._catch_up

            async def when_heard(link: BrokerConnection) -> None:
                await listening.wait()
                await catch_up(link)

            teller._catch_up = when_heard  # type: ignore[method-assign]
            mosquitto.start()
            async with hearing(mosquitto, "discreet/jane/+") as heard:
                listening.set()
                await asyncio.wait_for(teller.connected.wait(), 120)
                rows = [one for turned in first + missed for one in turned]
                last = [(f"discreet/jane/{view}", encoded(FORMS[view].event(rows[-1]))) for view in ("whole", "family")]

                def live() -> Heard:  # rows from before may come again, so that counting them tells nothing
                    return [one for one in heard if not one.retain]

                await until("the last of both", lambda: all(body in messages(live(), topic) for topic, body in last))
                told = messages(live(), "discreet/jane/whole")
                assert len(told) >= len(missed), "those before may come again, if they were not confirmed"
                assert told == [encoded(FORMS["whole"].event(one)) for one in rows[-len(told) :]]
                assert messages(live(), "discreet/jane/family") == [last[1][1]], "now only"

    asyncio.run(story())


def test_times_of_locations_rise_though_a_broker_was_away(tmp_path: Path, mosquitto: Mosquitto) -> None:
    """What it retained is told again; a location that it has confirmed is not, for phones want times that rise."""

    async def story() -> None:
        broker = Broker(port=mosquitto.port, tells=(WHOLE,))
        async with opened(tmp_path) as gateway, telling(gateway, broker) as teller:
            slots, times = days(gateway, 1), []
            async with hearing(mosquitto, "released/#") as heard:
                located = None
                while located is None:  # until the last row is a place
                    turned = next(slots)
                    await gateway.tell(turned)
                    located = FORMS["whole"].owntracks(turned[-1], "JA")
                await until("the location", lambda: bool(heard))
                times += [json.loads(one)["tst"] for one in messages(heard, "released/jane/whole")]
            await until("its confirmation", lambda: teller._reached.get("jane") == turned[-1].key)
            mosquitto.stop()
            await until("that it is away", lambda: not teller.connected.is_set())
            listening, catch_up = asyncio.Event(), teller._catch_up

            async def when_heard(link: BrokerConnection) -> None:
                await listening.wait()
                await catch_up(link)

            teller._catch_up = when_heard  # type: ignore[method-assign]
            mosquitto.start()
            async with hearing(mosquitto, "discreet/jane/whole", "released/#") as again:
                listening.set()
                await asyncio.wait_for(teller.connected.wait(), 120)
                await until("the event", lambda: bool([one for one in again if not one.retain]))
                for turned in slots:
                    await gateway.tell(turned)
                last = encoded(FORMS["whole"].event(turned[-1]))
                await until("the last", lambda: last in messages(again, "discreet/jane/whole"))
                times += [json.loads(one)["tst"] for one in messages(again, "released/jane/whole")]
            assert len(times) > 2
            assert all(np.diff(times) > 0)

    asyncio.run(story())


def test_revocation_clears_what_is_retained_and_stays_silent(tmp_path: Path, mosquitto: Mosquitto) -> None:
    async def story() -> None:
        broker = Broker(port=mosquitto.port, tells=(WHOLE, FAMILY))
        async with opened(tmp_path) as gateway:
            async with telling(gateway, broker) as teller:
                await gateway.tell([row(Released("home"), 5)])
                async with hearing(mosquitto, "discreet/jane/family") as heard:
                    await until("the row", lambda: bool(heard))
                    teller.revoke("another")
                    teller.revoke("app")
                    await until("the clearing", lambda: heard[-1].payload == b"")
                    await gateway.tell([row(Released("work"), 6)])
                async with hearing(mosquitto, "discreet/#", "homeassistant/#") as left:
                    await until("the other view", lambda: b'"work"' in b"".join(messages(left, "discreet/jane/whole")))
                    await asyncio.sleep(0.2)
                    assert not [one for one in left if "family" in str(one.topic)]
            async with telling(gateway, broker, revoked={"app"}):
                await gateway.tell([row(Released("home"), 7)])
                async with hearing(mosquitto, "discreet/#") as left:
                    await until("the other view", lambda: b'"home"' in b"".join(messages(left, "discreet/jane/whole")))
                    assert not [one for one in left if "family" in str(one.topic)]

    asyncio.run(story())


def test_what_is_told_no_more_is_cleared_and_others_messages_are_not(tmp_path: Path, mosquitto: Mosquitto) -> None:
    async def story() -> None:
        others = {"homeassistant/sensor/lamp/config": b"{}", "other/jane/family": b"1", "owntracks/jane/pixel": b"{}"}
        async with aiomqtt.Client("127.0.0.1", mosquitto.port) as client:
            for topic, payload in others.items():
                await client.publish(topic, payload, 1, retain=True)
        async with opened(tmp_path) as gateway:
            async with telling(gateway, Broker(port=mosquitto.port, tells=(WHOLE, FAMILY))):
                await gateway.tell([row(Released("home"), 5)])
                async with hearing(mosquitto, "discreet/jane/family/state") as heard:
                    await until("the row", lambda: bool(heard))
            async with (
                hearing(mosquitto, "discreet/jane/family/#", "homeassistant/+/+/config") as clearing,
                telling(gateway, Broker(port=mosquitto.port, tells=(WHOLE,))),
            ):
                await until("six empty messages", lambda: len([one for one in clearing if not one.payload]) == 6)
                async with hearing(mosquitto, "#") as left:
                    await until("the rest", lambda: len(left) >= len(others) + 7)
                    topics = {str(one.topic) for one in left if one.retain}
                    assert not [topic for topic in topics if "family" in topic and topic not in others]
                    assert topics >= {"discreet/jane/whole", "discreet/jane/whole/state", *others}

    asyncio.run(story())


def test_home_assistant_finds_the_person_by_itself(tmp_path: Path, mosquitto: Mosquitto) -> None:
    async def story() -> None:
        async with opened(tmp_path) as gateway, hearing(mosquitto, "homeassistant/+/+/config", "+/status") as heard:
            async with telling(gateway, Broker(port=mosquitto.port, tells=(FAMILY,))):
                await until("three documents", lambda: len(heard) == 4)
                documents = {str(one.topic): json.loads(one.payload) for one in heard[:3]}
                assert messages(heard, "discreet/status") == [b"online"]
                async with aiomqtt.Client("127.0.0.1", mosquitto.port) as house:
                    await house.publish("homeassistant/status", b"online")
                await until("them again", lambda: len(heard) >= 8)
            await until("a farewell", lambda: messages(heard, "discreet/status")[-1] == b"offline")
            device = {"identifiers": ["discreet-jane-family"], "name": "jane (family)"}
            tracker = documents["homeassistant/device_tracker/discreet-jane-family/config"]
            assert tracker == {
                "unique_id": "discreet-jane-family",
                "name": None,
                "device": device,
                "origin": {"name": "discreet"},
                "state_topic": "discreet/jane/family/state",
                "json_attributes_topic": "discreet/jane/family/attributes",
                "payload_reset": "None",
                "source_type": "gps",
                "availability_topic": "discreet/status",
                "qos": 1,
            }
            for name in ("place", "time"):
                sensor = documents[f"homeassistant/sensor/discreet-jane-family-{name}/config"]
                assert (sensor["device"], sensor["state_topic"]) == (device, "discreet/jane/family")

    asyncio.run(story())


def test_an_application_that_may_know_the_present_alone_finds_nothing_queued(
    tmp_path: Path, mosquitto: Mosquitto
) -> None:
    """A client with a session of its own, away for three slots, gets the last one when it comes back, and no other."""

    def away() -> aiomqtt.Client:
        return aiomqtt.Client("127.0.0.1", mosquitto.port, identifier="app", clean_session=False)

    async def story() -> None:
        async with away() as client:
            await client.subscribe("discreet/jane/+", 1)
        now = ToldView("jane", "family", frozenset({"json"}), now_only=True)
        async with (
            opened(tmp_path) as gateway,
            telling(gateway, Broker(port=mosquitto.port, tells=(ToldView("jane", forms=frozenset({"json"})), now))),
            hearing(mosquitto, "discreet/jane/family") as live,
        ):
            for slot in (3, 4, 5):
                await gateway.tell([row(Released("home"), slot)])
            await until("three", lambda: len(live) == 3)
            heard: Heard = []

            async def hear(client: aiomqtt.Client) -> None:
                async for message in client.messages:
                    heard.append(message)

            async with away() as client:
                hearing_it = asyncio.create_task(hear(client))
                await until("what was queued", lambda: len(messages(heard, "discreet/jane/whole")) == 3)
                await asyncio.sleep(0.3)  # for what must not come
                hearing_it.cancel()
                await asyncio.gather(hearing_it, return_exceptions=True)
            assert len(messages(heard, "discreet/jane/whole")) == 3
            assert messages(heard, "discreet/jane/family") == []

    asyncio.run(story())


def test_a_slot_that_clocks_pass_over_is_no_location() -> None:
    clock = Clock(48, "Europe/Paris")
    forms = Forms("jane", clock, PLACES, View())
    date = dt.date(2026, 3, 29)
    rows = [
        JournalRow("jane", date, slot, int(clock.end_of(date, slot).timestamp()), 1, slot, Released("home"), "", ())
        for slot in range(48)
    ]
    times = [one["tst"] for row in rows if (one := forms.owntracks(row, "JA")) is not None]
    assert len(times) == 46
    assert all(np.diff(times) > 0)


def test_a_view_has_only_the_forms_that_it_is_told_in() -> None:
    broker, shown = Broker(), row(Released("home"))

    def topics(*forms: str) -> set[str]:
        wire = Wire(broker, ToldView("jane", forms=frozenset(forms)), FORMS["whole"])
        return {one.topic.split("/", 3)[0] + "/" + one.topic.rpartition("/")[2] for one in wire.of(shown)}

    assert topics("json") == {"discreet/whole"}
    assert topics("owntracks") == {"released/whole"}
    assert topics("home_assistant") == {"discreet/whole", "discreet/state", "discreet/attributes"}
    locations = [one for one in Wire(broker, WHOLE, FORMS["whole"]).of(shown) if one.topic.startswith("released/")]
    assert [one.retain for one in locations] == [False]
    assert Wire(broker, WHOLE, FORMS["whole"]).of(row(Skipped()))[0].payload == encoded(
        FORMS["whole"].event(row(Skipped()))
    )


def test_a_view_or_person_that_is_not_there_is_named(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path) as gateway:
            for told, key in (
                (ToldView("joe"), "broker.tell[0].person"),
                (ToldView("jane", "x"), "broker.tell[0].view"),
            ):
                with pytest.raises(DiscreetError) as caught:
                    MqttPublisher(gateway, Broker(tells=(told,)), PEOPLE, VIEWS)
                assert key in str(caught.value)

    asyncio.run(story())


class Tracker:
    """A device tracker over MQTT by Home Assistant's own rule (its device_tracker entity, and mqtt/device_tracker)."""

    def __init__(self) -> None:
        self.name: str | None = None
        self.where: tuple[float | None, float | None] = (None, None)
        self.history: list[str] = []

    @property
    def state(self) -> str:
        """The name that was sent; without one, coordinates make it: no zone is here, so it is not_home."""
        if self.name is not None:
            return self.name
        return "unknown" if None in self.where else "not_home"

    def hear(self, topic: str, payload: bytes) -> None:
        """A message, after which Home Assistant writes a state, and automations run where it is another one."""
        if topic.endswith("/state"):
            self.name = None if payload == b"None" else payload.decode()
        elif topic.endswith("/attributes"):
            said = json.loads(payload)
            self.where = (said["latitude"], said["longitude"])
        if self.history[-1:] != [self.state]:
            self.history.append(self.state)


def test_home_assistant_never_makes_a_state_of_coordinates() -> None:
    """Its history has what was told, and no `not_home` in between, on which automations would run."""
    outputs: list[Any] = [
        SUPPRESSED,
        Released("work"),
        Released("home"),
        Skipped(),
        Released("gym"),
        Released("work"),
        SUPPRESSED,
    ]
    for view, expected in (
        ("whole", ["unknown", "work", "home", "unknown", "gym", "work", "unknown"]),
        ("family", ["unknown", "not_home", "home", "unknown", "not_home", "unknown"]),  # its rest is called away
    ):
        tracker, wire = Tracker(), Wire(Broker(), ToldView("jane", view), FORMS[view])
        for output in outputs:
            for one in wire.of(row(output)):
                tracker.hear(one.topic, one.payload)
        assert tracker.history == expected
