"""When a phone was heard last, and what of it could not be used: for the owner, and on no wire."""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import replace
from pathlib import Path

import pytest
from nacl.secret import SecretBox

from discreet.gateway.config.broker import Broker
from discreet.gateway.owner.day_http import BROKER
from discreet.gateway.slots.sources import sources_of
from discreet.gateway.store.own_store import OwnStore, Reading
from discreet.gateway.wires.mqtt.publisher import TOLD
from discreet.gateway.wires.mqtt.subscriber import SOURCE
from discreet.gateway.wires.owntracks_source import OwnTracksSource
from tests.gateway.people import START, WHERE, person_config
from tests.gateway.test_day import logged_in
from tests.gateway.web import ROUTINE, opened

NOW = START.timestamp()
HOUR = 3600.0


def kept(folder: Path, last: float, every: float, count: int) -> OwnStore:
    own = OwnStore(folder / "own.db")
    own.read([Reading("jane", "4f/watch", int((last - k * every) * 1e6), label="home") for k in range(count)])
    return own


@pytest.mark.parametrize(
    ("ago", "every", "count", "quiet"),
    [
        (1800, 600, 50, False),  # less than an hour is never worth a word
        (2 * HOUR, 600, 50, True),
        (2 * HOUR, 3 * HOUR, 50, False),  # it is often as quiet
        (4 * HOUR, 3 * HOUR, 50, True),
        (4 * HOUR, 600, 10, False),  # of so few, nothing is usual
    ],
)
def test_a_source_that_is_quiet_longer_than_usual(
    tmp_path: Path, ago: float, every: float, count: int, quiet: bool
) -> None:
    own = kept(tmp_path, NOW - ago, every, count)
    (one,) = sources_of(own, "jane", NOW, {"4f": "phone"})
    assert (one["source"], one["quiet"]) == ("phone/watch", quiet)
    assert one["usual"] == max(HOUR, every)
    assert sources_of(own, "joe", NOW) == []
    own.close()


UNUSED = {"unreadable": 1, "wrong_key": 2}


@pytest.mark.parametrize(
    ("clear", "refused"), [(True, UNUSED | {"future": 1, "unusable": 1}), (False, UNUSED | {"not_encrypted": 3})]
)
def test_wrong_keys_and_readings_that_cannot_be_used_are_counted_for_the_owner(
    tmp_path: Path, clear: bool, refused: dict[str, int]
) -> None:
    key, wrong = (name.encode().ljust(32, b"\0") for name in ("right", "wrong"))

    def sealed(secret: bytes) -> bytes:
        said = json.dumps({"_type": "location", "lat": 48.1, "lon": 11.5, "tst": int(NOW), "acc": 10}).encode()
        data = base64.b64encode(SecretBox(secret).encrypt(said)).decode()
        return json.dumps({"_type": "encrypted", "data": data}).encode()

    bodies = (
        sealed(wrong),
        sealed(wrong),
        b"\xff no json",
        b'{"_type": "location", "lat": 1000, "lon": 0, "tst": 1}',
        json.dumps({"_type": "location", "lat": 48.1, "lon": 11.5, "tst": int(NOW) + 90_000, "acc": 9}).encode(),
        b'{"_type": "waypoints", "waypoints": []}',
        sealed(key),
    )

    async def story() -> None:
        phone = OwnTracksSource("jane", "jane", key="right", clear=clear)
        async with opened(tmp_path, owntracks=[phone]) as web:
            source = web.bearer("source")
            for body in bodies:
                answer = await web.client.post("/pub", content=body, headers=source)
                assert answer.status_code == 200, "phones would hold all others back"
            path = "/v1/owner/people/jane/sources"
            for headers in ({}, source, web.bearer("application"), web.bearer("owner", None)):
                assert (await web.client.get(path, headers=headers)).status_code in (401, 403)
            text = (await web.client.get("/metrics", headers=web.bearer("owner", None))).text
            assert f'discreet_heard_seconds{{person="jane"}} {int(NOW)}\n' in text
            assert "wrong_key" not in text
            assert (await web.client.get("/metrics", headers=web.bearer("application"))).status_code == 403
            await logged_in(web)
            found = (await web.client.get(path)).json()
            assert found["refused"] == refused
            assert [(one["source"], one["heard"]) for one in found["sources"]] == [
                ("owntracks/phone", START.isoformat())
            ]

    asyncio.run(story())


@pytest.mark.parametrize("phone", [None, "pixel", "lost"])
def test_the_owner_sees_which_of_several_phones_counts(tmp_path: Path, phone: str | None) -> None:
    """And it is decided by that one: the tablet stays at home and says so again and again."""
    who = replace(person_config(routine=ROUTINE, outputs="suppress"), phone=phone)

    async def story() -> None:
        async with opened(tmp_path, people=(who,)) as web:
            begins = int(NOW * 1e6)
            tablet = [Reading("jane", "owntracks/tablet", begins + k * 600_000_000, WHERE["home"]) for k in range(6)]
            pixel = Reading("jane", "owntracks/pixel", begins + 60_000_000, WHERE["work"])
            await web.pass_slot(*tablet, pixel)
            await logged_in(web)
            found = (await web.client.get("/v1/owner/people/jane/sources")).json()
            others = "others" if phone is None else "ignored"
            pixels = "ignored" if phone == "lost" else "believed"
            assert found["phone"] == phone
            assert {one["source"]: one["use"] for one in found["sources"]} == {
                "owntracks/tablet": others,
                "owntracks/pixel": pixels,
            }
            true = web.served.gateway.keeper.own.truth("jane", START.date())
            assert true == {0: "unknown" if phone == "lost" else "work"}

    asyncio.run(story())


def test_without_a_key_an_encrypted_message_is_said_to_need_one(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path) as web:
            await web.client.post(
                "/pub", content=b'{"_type": "encrypted", "data": "AA=="}', headers=web.bearer("source")
            )
            assert web.served.gateway.refused.of("jane") == {"no_key": 1}

    asyncio.run(story())


def test_the_owner_is_told_whether_the_broker_is_away(tmp_path: Path) -> None:
    assert BROKER == (TOLD, SOURCE)  # which importing would bring a client of MQTT with it

    async def story() -> None:
        async with opened(tmp_path / "without") as web:
            await logged_in(web)
            assert (await web.client.get("/v1/owner/people/jane/sources")).json()["broker"] is None
        async with opened(tmp_path / "with", broker=Broker(port=9)) as web:
            await logged_in(web)
            health = web.served.gateway.health
            for part in BROKER:
                health.broken(part, "the broker is away")
                assert (await web.client.get("/v1/owner/people/jane/sources")).json()["broker"] is True
                health.mended(part)
            assert (await web.client.get("/v1/owner/people/jane/sources")).json()["broker"] is False

    asyncio.run(story())
