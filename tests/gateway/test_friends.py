"""Friends on the map of OwnTracks: what was told of who grants it, in answers to a phone, and nothing else."""

from __future__ import annotations

import asyncio
import base64
import json
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest
from nacl.secret import SecretBox

from discreet.errors import DiscreetError
from discreet.gateway.config.section import Section
from discreet.gateway.config.views import View
from discreet.gateway.wires.owntracks_friends import Friend
from discreet.gateway.wires.owntracks_source import OwnTracksSource
from tests.gateway.payloads import HOSTILE, LOCATION, encoded
from tests.gateway.people import START, person_config, readings
from tests.gateway.web import ROUTINE, Web, opened

JANE, JOE, KIM = (person_config(name, routine=ROUTINE, outputs="suppress") for name in ("jane", "joe", "kim"))
KEY = "a key of the app"
BOX = SecretBox(KEY.encode().ljust(32, b"\0"))


def household(folder: Path, *friends: Friend, **options: Any) -> AbstractAsyncContextManager[Web]:
    return opened(folder, people=(JANE, JOE, KIM), friends=friends, **options)


async def said(web: Web, person: str, body: bytes = encoded(LOCATION)) -> Any:
    """What a phone of this person is answered."""
    answer = await web.client.post("/pub", content=body, headers=web.bearer("source", person))
    assert answer.status_code == 200
    return json.loads(answer.content)


async def everybody_at(web: Web, context: str) -> None:
    """Slots pass until everybody's last slot was told as this place."""
    slot = 0
    while True:
        now = web.served.gateway.keeper.next
        given = [one for who in ("jane", "joe", "kim") for one in readings((context,) * 12, START.date(), who)]
        rows = await web.pass_slot(*[one for one in given if one.instant < (now - 1) * 1e6])
        slot += 1
        if all(getattr(row.output, "context", None) == context for row in rows):
            return
        assert slot < 10


def test_nobody_is_shown_unless_it_is_granted(tmp_path: Path) -> None:
    async def story() -> None:
        async with household(tmp_path) as web:
            await everybody_at(web, "home")
            for person in ("jane", "joe", "kim"):
                assert await said(web, person) == []

    asyncio.run(story())


def test_a_phone_is_told_what_an_application_with_that_view_is(tmp_path: Path) -> None:
    async def story() -> None:
        grants = (Friend("joe", "jane"), Friend("kim", "jane", "family"), Friend("kim", "jane", "gone"))
        async with household(tmp_path, *grants) as web:
            assert await said(web, "jane") == [], "nothing was told yet"
            await everybody_at(web, "home")
            joe, card, kim, _ = await said(web, "jane")
            told = web.served.gateway.keeper.journal.last("joe")
            assert told is not None
            circle = JOE.places.places[0].shape.middle
            assert joe == {
                "_type": "location",
                "lat": circle[0],
                "lon": circle[1],
                "tst": told.ends,
                "tid": "JO",
                "acc": joe["acc"],
                "topic": "owntracks/joe/whole",
            }
            assert card == {"_type": "card", "name": "joe", "tid": "JO", "topic": "owntracks/joe/whole/info"}
            assert kim["topic"] == "owntracks/kim/family"
            assert await said(web, "joe") == [], "it is not granted the other way round"
            assert await said(web, "kim") == []
            for body in HOSTILE:
                answer = json.dumps(await said(web, "jane", body))
                assert "cmd" not in answer

    asyncio.run(story())


def test_silence_is_no_entry_and_a_slot_that_is_not_told_yet_is_none(tmp_path: Path) -> None:
    async def story() -> None:
        async with household(tmp_path, Friend("joe", "jane")) as web:
            await everybody_at(web, "home")
            before = await said(web, "jane")
            keeper = web.served.gateway.keeper
            rows = await web.served.gateway.between_slots(lambda: keeper.turn(keeper.next))
            assert rows, "decided and written"
            assert await said(web, "jane") == before, "and not told"
            await web.served.gateway.tell(rows)
            for _ in range(12):
                at, now = readings(("clinic",) * 24, START.date(), "joe"), keeper.next
                given = [one for one in at if now - 7200 < one.instant / 1e6 < now]
                (row,) = [row for row in await web.pass_slot(*given) if row.person == "joe"]
                found = await said(web, "jane")
                if not hasattr(row.output, "context"):
                    assert found == []
                    return
                assert all(one.get("tst", row.ends) == row.ends for one in found)
            raise AssertionError("nothing was silent")

    asyncio.run(story())


@pytest.mark.parametrize("clear", [False, True])
def test_what_came_encrypted_is_answered_encrypted(tmp_path: Path, clear: bool) -> None:
    sources = (OwnTracksSource("jane", "jane", key=KEY, clear=clear),)

    async def story() -> None:
        async with household(tmp_path, Friend("joe", "jane"), owntracks=sources) as web:
            sealed = encoded({"_type": "encrypted", "data": base64.b64encode(BOX.encrypt(encoded(LOCATION))).decode()})
            nothing = await said(web, "jane", sealed)
            assert BOX.decrypt(base64.b64decode(nothing["data"])) == b"[]"
            await everybody_at(web, "home")
            answers = await said(web, "jane", sealed)
            assert [one["_type"] for one in answers] == ["encrypted"] * 2
            inside = [json.loads(BOX.decrypt(base64.b64decode(one["data"]))) for one in answers]
            assert [one["_type"] for one in inside] == ["location", "card"]
            other = SecretBox(bytes(32))
            foreign = encoded({"_type": "encrypted", "data": base64.b64encode(other.encrypt(b"{}")).decode()})
            for body in (encoded(LOCATION), foreign, b"", b"[]"):
                shown = await said(web, "jane", body)
                assert (shown == []) is not clear, "who has the password and not the key learns nothing"

    asyncio.run(story())


def test_whoever_has_no_phones_password_is_told_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        async with household(tmp_path, Friend("joe", "jane")) as web:
            await everybody_at(web, "home")
            callers: list[dict[str, str]] = [{}, web.bearer("application"), web.bearer("owner", None)]
            for headers in callers:
                answer = await web.client.post("/pub", content=encoded(LOCATION), headers=headers)
                assert (answer.status_code, answer.content) == (401, b"")
            basic = httpx.BasicAuth("jane", "wrong")
            assert (await web.client.post("/pub", content=encoded(LOCATION), auth=basic)).status_code == 401
            web.served.auth.show("whole", None)
            assert await said(web, "jane") == [], "a view that is gone shows nothing"
            web.served.auth.show("whole", View())

    asyncio.run(story())


@pytest.mark.parametrize(
    ("table", "words"),
    [({"person": "jane", "to": "jane"}, "as well"), ({"person": "jane"}, "to"), ({"to": "jane"}, "person")],
)
def test_a_grant_that_makes_no_sense_is_an_error(tmp_path: Path, table: dict[str, object], words: str) -> None:
    with pytest.raises(DiscreetError, match=words):
        Friend.read(Section(tmp_path / "discreet.toml", table, ("friend[0]",)))
