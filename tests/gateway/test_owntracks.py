"""OwnTracks over HTTP: phones are always answered as they expect, and the frontend sees what was released."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nacl.secret import SecretBox
from starlette.applications import Starlette

from discreet.errors import DiscreetError
from discreet.gateway.auth.authorization import Authorization
from discreet.gateway.auth.login import Owner
from discreet.gateway.auth.tokens import Access, Grant
from discreet.gateway.config.broker import Broker
from discreet.gateway.config.section import Section
from discreet.gateway.config.sections import Rates
from discreet.gateway.config.views import View
from discreet.gateway.forms import Forms
from discreet.gateway.rate_limits import Rate
from discreet.gateway.runtime import Gateway
from discreet.gateway.store.journal import JournalError
from discreet.gateway.store.own_store import Reading
from discreet.gateway.wires.mqtt.subscriber import MqttSource
from discreet.gateway.wires.owntracks import routes
from discreet.gateway.wires.owntracks_source import OwnTracksSource, opened, readings_of
from tests.gateway.payloads import HOSTILE, LOCATION, SILENT, TRANSITION, TST, encoded
from tests.gateway.people import START, WHERE, closed, habits, keeper, person_config, readings, seeded

ROUTINE = habits()
JANE = person_config(routine=ROUTINE, outputs="suppress")
VIEWS = {"whole": View(), "family": View("family", {"home": frozenset({"home"})}, rest="out")}


class Known(Access):
    """Tokens whose secrets a test can write down."""

    def sessions(self) -> dict[bytes, tuple[str, str | None, float]]:
        return {}

    def __init__(self) -> None:
        pass

    def password(self) -> str | None:
        return None

    def passwords(self) -> dict[str | None, str]:
        return {}

    def grant(self, secret: str) -> Grant | None:
        return {
            "phone-secret": Grant("1", "source", "jane"),
            "app-secret": Grant("2", "application", "jane"),
            "family-secret": Grant("3", "application", "jane", "family"),
            "now-secret": Grant("4", "application", "jane", now_only=True),
            "lost-secret": Grant("5", "application", "jane", "no such view"),
            "owner-secret": Grant("6", "owner", None),
        }.get(secret)

    def has_password(self) -> bool:
        return True


def doors_of(views: Mapping[str, View], rates: Rates | None = None) -> Authorization:
    """Doors for these tokens."""
    access = Known()
    return Authorization(access, Owner(access), {"jane": JANE}, views, rates)


PHONE = httpx.BasicAuth("jane", "phone-secret")


@asynccontextmanager
async def serving(
    folder: Path, sources: Sequence[OwnTracksSource] = (), *, at_work: bool = True, rates: Rates | None = None
) -> AsyncIterator[tuple[Gateway, httpx.AsyncClient]]:
    gateway = Gateway(keeper(folder, START.timestamp(), JANE, bits=seeded()), wall=START.timestamp)
    app = Starlette(routes=routes(gateway, doors_of(VIEWS, rates), sources))
    async with (
        gateway.running() if at_work else closing(gateway),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gateway") as client,
    ):
        yield gateway, client


@asynccontextmanager
async def closing(gateway: Gateway) -> AsyncIterator[Gateway]:
    """A gateway whose slots the test turns itself."""
    yield gateway
    closed(gateway.keeper)


def kept(gateway: Gateway) -> list[Reading]:
    return gateway.keeper.own.readings("jane", 0)


def test_a_location_is_kept_and_answered_with_an_empty_list(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path) as (gateway, client):
            for path in ("/owntracks", "/pub"):
                answer = await client.post(path, content=encoded(LOCATION), auth=PHONE)
                assert (answer.status_code, answer.content) == (200, b"[]")
            bearer = {"Authorization": "Bearer phone-secret"}
            assert (await client.post("/pub", content=encoded(TRANSITION), headers=bearer)).content == b"[]"
            assert kept(gateway) == [
                Reading("jane", "owntracks/phone/event", TST * 1_000_000, WHERE["home"], 21.5, "home"),
                Reading("jane", "owntracks/pixel", TST * 1_000_000, WHERE["home"], 13.0),
            ], "twice the same message is one reading; an event of the same second is another"

    asyncio.run(story())


def test_a_token_that_comes_too_often_is_asked_to_come_again_and_nothing_is_lost(tmp_path: Path) -> None:
    """The same limits as on every other route; 503 is the one refusal after which Android keeps a message."""
    rates = Rates(application=Rate(1, 1e-3), source=Rate(2, 1e-3))

    async def story() -> None:
        async with serving(tmp_path, rates=rates) as (gateway, client):
            for second in range(3):
                body = encoded({**LOCATION, "tst": TST + second})
                answer = await client.post("/pub", content=body, auth=PHONE)
                assert answer.status_code == (200 if second < 2 else 503)
            assert answer.headers["retry-after"] == "1000"
            assert len(kept(gateway)) == 2
            app = httpx.BasicAuth("", "app-secret")
            statuses = [(await client.get("/api/0/last", auth=app)).status_code for _ in range(2)]
            assert statuses == [200, 429]
            assert (await client.post("/pub", auth=httpx.BasicAuth("jane", "wrong"))).status_code == 401

    asyncio.run(story())


def test_everything_that_is_authenticated_is_answered_and_nothing_of_it_kept(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path) as (gateway, client):
            for body in [*map(encoded, SILENT), *HOSTILE]:
                answer = await client.post("/owntracks", content=body, auth=PHONE)
                assert (answer.status_code, answer.content) == (200, b"[]"), body[:80]
            assert {(one.instant, one.label) for one in kept(gateway)} == {(1_700_000_000_000_000, None)}, (
                "hostile messages with a good position are readings, without what cannot be a label"
            )
            later = {**LOCATION, "tst": int(START.timestamp()) + 3600}
            assert (await client.post("/owntracks", content=encoded(later), auth=PHONE)).content == b"[]"
            assert max(one.instant for one in kept(gateway)) == 1_700_000_000_000_000, "of the future"

    asyncio.run(story())


@pytest.mark.parametrize(
    "header",
    [
        None,
        "Basic",
        "Basic %%%",
        "Basic " + base64.b64encode(b"jane:wrong").decode(),
        "Basic " + base64.b64encode(b"phone-secret").decode(),
        "Basic " + base64.b64encode(b"jane:app-secret").decode(),
        "Basic " + base64.b64encode(b"jane:owner-secret").decode(),
        "Basic " + base64.b64encode(b"\xff\xfe:").decode(),
        "Bearer",
        "Bearer " + "x" * 5000,
        "Digest phone-secret",
    ],
)
def test_wrong_credentials_alone_are_refused(tmp_path: Path, header: str | None) -> None:
    async def story() -> None:
        async with serving(tmp_path) as (gateway, client):
            headers = {} if header is None else {"Authorization": header}
            answer = await client.post("/owntracks", content=encoded(LOCATION), headers=headers)
            assert answer.status_code == 401
            assert kept(gateway) == []

    asyncio.run(story())


def test_only_while_nothing_can_be_written_the_phone_is_told_to_come_again(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path) as (gateway, client):

            def full(_: object) -> int:
                raise JournalError("disk full")

            real, gateway.keeper.own.read = gateway.keeper.own.read, full  # type: ignore[method-assign, assignment]
            assert (await client.post("/owntracks", content=encoded(LOCATION), auth=PHONE)).status_code == 503
            assert (await client.post("/owntracks", content=b"{}", auth=PHONE)).status_code == 200
            gateway.keeper.own.read = real  # type: ignore[method-assign]
            assert (await client.post("/owntracks", content=encoded(LOCATION), auth=PHONE)).status_code == 200
            assert len(kept(gateway)) == 1

    asyncio.run(story())


def test_encrypted_messages_are_read_and_answered_encrypted(tmp_path: Path) -> None:
    box = SecretBox(b"correct horse".ljust(32, b"\0"))

    def sealed(message: object) -> bytes:
        return encoded({"_type": "encrypted", "data": base64.b64encode(box.encrypt(encoded(message))).decode()})

    async def story() -> None:
        sources = [OwnTracksSource("jane", "jane", key="another"), OwnTracksSource("jane", "jane", key="correct horse")]
        async with serving(tmp_path, sources) as (gateway, client):
            answer = (await client.post("/pub", content=sealed(LOCATION), auth=PHONE)).json()
            assert set(answer) == {"_type", "data"}
            assert answer["_type"] == "encrypted"
            assert box.decrypt(base64.b64decode(answer["data"])) == b"[]"
            assert [one.position for one in kept(gateway)] == [WHERE["home"]]
        async with serving(tmp_path) as (gateway, client):
            answer = await client.post("/pub", content=sealed({**LOCATION, "tst": TST - 60}), auth=PHONE)
            assert (answer.status_code, answer.content) == (200, b"[]"), "without a key it cannot be read"
            assert len(kept(gateway)) == 1

    asyncio.run(story())


@pytest.mark.parametrize(
    ("sources", "is_read"),
    [
        ([OwnTracksSource("jane", "jane", key="correct horse")], False),
        ([OwnTracksSource("jane", "jane", key="correct horse", clear=True)], True),
        ([OwnTracksSource("jane", "jane", "one", "correct horse"), OwnTracksSource("jane", "jane", "two")], True),
        ([OwnTracksSource("joe", "joe", key="correct horse")], True),
        ([], True),
    ],
)
def test_where_a_key_is_set_a_message_in_clear_is_not_read(
    tmp_path: Path, sources: list[OwnTracksSource], is_read: bool
) -> None:
    """Who has the phone's password and not its key says nothing; the phone hears 200, or its queue would stop."""

    async def story() -> None:
        async with serving(tmp_path, sources) as (gateway, client):
            for body in (encoded(LOCATION), encoded([LOCATION])):
                answer = await client.post("/pub", content=body, auth=PHONE)
                assert (answer.status_code, answer.content) == (200, b"[]")
            assert bool(kept(gateway)) == is_read
        source = MqttSource(gateway, Broker(), sources)
        heard = source._located("owntracks/jane/pixel", encoded(LOCATION))
        mine = [one for one in sources if one.person == "jane"]
        assert len(heard) == (1 if any(one.reads_clear and one.device is None for one in mine) else 0)

    asyncio.run(story())


def test_the_frontend_reads_what_was_released_and_nothing_else(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path, at_work=False) as (gateway, client):
            own, rows = gateway.keeper.own, []
            own.read(list(readings(("home",) * 4 + ("work",) * 4 + ("clinic",) + ("home",) * 3, START.date())))
            for _ in range(12):
                turned = gateway.keeper.turn(gateway.keeper.next)
                await gateway.tell(turned)
                rows += turned
            forms = Forms("jane", JANE.clock, JANE.places, View())
            told = [one for row in rows if (one := forms.owntracks(row, "JA")) is not None]
            assert told, "something was released"
            whose = {"username": "jane", "device": "whole", "topic": "released/jane/whole"}

            async def get(path: str, secret: str = "app-secret", **params: str) -> httpx.Response:
                return await client.get(f"/api/0/{path}", params=params, auth=httpx.BasicAuth("", secret))

            assert (await get("version")).json() == {"version": "discreet"}
            assert (await get("list")).json() == {"results": ["jane"]}
            assert (await get("list", user="jane")).json() == {"results": ["whole"]}
            assert (await get("list", user="joe")).json() == {"results": []}
            assert (await get("last")).json() == [told[-1] | whose]
            assert (await get("last", user="joe")).json() == []
            day = {"from": "2026-03-02T00:00:00", "to": "2026-03-03T00:00:00", "format": "json"}
            answer = (await get("locations", user="jane", device="whole", **day)).json()
            assert answer == {"count": len(told), "data": [one | whose for one in told]}
            low, high = (START.replace(hour=hour, minute=0).timestamp() for hour in (4, 8))
            part = (await get("locations", **{"from": "2026-03-02T04:00:00", "to": "2026-03-02T08:00:00"})).json()
            assert part["data"] == [one | whose for one in told if low <= one["tst"] <= high]
            for wrong in ({"from": "yesterday"}, {"to": "9999-12-31T23:59:59"}, {"from": "0001-01-01"}):
                assert (await get("locations", **wrong)).status_code == 200
            assert (await get("locations", user="jane", device="family", **day)).json()["data"] == []
            family = (await get("locations", "family-secret", **day)).json()["data"]
            assert {(one["lat"], one["lon"]) for one in family} <= {WHERE["home"]}, "'out' is no place"
            present = (await get("locations", "now-secret", **day)).json()["data"]
            assert [one["tst"] for one in present] == [one["tst"] for one in told if one["tst"] == rows[-1].ends]
            for secret in ("phone-secret", "owner-secret", "wrong", "lost-secret"):
                assert (await get("last", secret)).status_code == 401

    asyncio.run(story())


def test_settings_name_the_key_that_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("correct horse\n")
    (tmp_path / "key").chmod(0o600)
    read = OwnTracksSource.read(
        Section(tmp_path / "discreet.toml", {"person": "jane", "key_file": "key"}, ("owntracks[0]",))
    )
    assert read == OwnTracksSource("jane", "jane", None, "correct horse")
    assert "horse" not in repr(read)
    (tmp_path / "key").chmod(0o644)
    for table, message in (
        ({}, "owntracks[0].person: is missing"),
        ({"person": "jane", "user": "a/b"}, "owntracks[0].user: is 'a/b'"),
        ({"person": "jane", "key": "x" * 33}, "owntracks[0].key: is longer than 32 bytes"),
        ({"person": "jane", "key_file": "key"}, "chmod 600"),
        ({"person": "jane", "key_file": "none"}, "owntracks[0].key_file"),
        ({"person": "jane", "devise": "x"}, "owntracks[0].devise: is not known"),
    ):
        with pytest.raises(DiscreetError) as caught:
            OwnTracksSource.read(Section(tmp_path / "discreet.toml", table, ("owntracks[0]",)))
        assert message in str(caught.value)


def test_no_answer_holds_a_command(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path) as (_, client):
            cmd = {"_type": "cmd", "action": "dump"}
            for body in (cmd, [cmd, LOCATION]):
                answer = await client.post("/owntracks", content=json.dumps(body), auth=PHONE)
                assert answer.json() == []

    asyncio.run(story())


FIELDS = ("_type", "tst", "lat", "lon", "acc", "inregions", "event", "desc", "topic", "data", "username")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["location", "transition"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from(FIELDS), VALUES) | VALUES | st.lists(st.dictionaries(st.text(), VALUES)))
def test_whatever_is_said_is_read_or_passed_over(said: object) -> None:
    box = SecretBox(bytes(32))
    for one in (said, opened(json.dumps(said).encode(), [box])[0]):
        for found in readings_of(one, "jane", "phone"):
            assert found.position is not None or found.label is not None
            assert 0 <= found.instant < 2**62
            (found.label or "").encode()


@settings(max_examples=100, deadline=None)
@given(st.binary())
def test_whatever_bytes_come_are_read_or_passed_over(body: bytes) -> None:
    box = SecretBox(bytes(32))
    sealed = encoded({"_type": "encrypted", "data": base64.b64encode(body).decode()})
    for one in (body, sealed, encoded({"_type": "encrypted", "data": base64.b64encode(box.encrypt(body)).decode()})):
        assert isinstance(readings_of(opened(one, [box])[0], "jane", "phone"), list)
