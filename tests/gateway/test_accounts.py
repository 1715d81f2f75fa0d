"""Accounts of people: each sees to one person, and who administers to nobody who has one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from discreet.gateway.auth.accounts import INVITED
from discreet.gateway.auth.tokens import Access
from discreet.gateway.config.views import View
from discreet.gateway.wires.openapi import PATHS
from tests.gateway.mosquitto import until
from tests.gateway.people import START, person_config, readings
from tests.gateway.test_http import told
from tests.gateway.web import ROUTINE, Web, events, listening_web, opened

JANE, JOE, KIM = (person_config(name, routine=ROUTINE, outputs="suppress") for name in ("jane", "joe", "kim"))
PASSWORD = "olive tram ladder"

ADMINISTRATORS = {
    ("POST", "/v1/owner/clock"),
    ("GET", "/v1/owner/accounts"),
    ("POST", "/v1/owner/accounts/{person}"),
}
"""What no account may do; the steps of setup are asked in another gateway below."""

ENTERING = {"/v1/owner/door", "/v1/owner/first", "/v1/owner/login", "/v1/owner/invitation"}
OPEN = ENTERING | {"/v1/owner/logout"}
"""What anybody may ask; to leave takes nothing but the cookie that is left."""


def household(folder: Path) -> AbstractAsyncContextManager[Web]:
    return opened(folder, people=(JANE, JOE, KIM))


def entered(web: Web, person: str | None) -> dict[str, str]:
    """The headers of a session."""
    cookie = web.served.owner._opened(person)
    session = web.served.owner.session(cookie)
    assert session is not None
    return web.cookie(cookie) | {"X-CSRF-Token": session.csrf}


def with_account(web: Web, person: str) -> dict[str, str]:
    """A session of somebody who has an account; who was logged in there is not any more."""
    accounts = web.served.access.accounts
    accounts.invite(person)
    accounts.accept(person, "a hash")
    web.served.owner._hashed[person] = "a hash"
    return entered(web, person)


async def _status(web: Web, method: str, path: str, headers: Mapping[str, str]) -> int:
    return (await web.client.request(method, path, headers=headers, json={})).status_code


def test_every_route_of_the_owner_is_held_to_whose_it_is(tmp_path: Path) -> None:
    """Of the table of routes: each that names a person is 404 to whoever does not see to that person, before anything
    else is looked at, and the same as for a person who is not there."""

    async def story() -> None:
        async with household(tmp_path) as web:
            await web.pass_slots(1)
            jane, house = with_account(web, "jane"), entered(web, None)
            joe, token = with_account(web, "joe"), web.bearer("owner", None)
            held = 0
            for path, methods in PATHS.items():
                if "/people/{person}" not in path or not path.startswith("/v1/owner"):
                    continue
                for method in map(str.upper, methods):
                    for headers, foreign in ((jane, "joe"), (jane, "kim"), (house, "jane"), (joe, "jane")):
                        url = path.replace("{preview}", "0" * 32)
                        asked = await web.client.request(method, url.replace("{person}", foreign), headers=headers)
                        nobody = await web.client.request(method, url.replace("{person}", "x"), headers=headers)
                        assert (asked.status_code, asked.content) == (404, nobody.content), (method, path, foreign)
                    assert await _status(web, method, url.replace("{person}", "kim"), token) == 403, (method, path)
                    own = await web.client.request(method, url.replace("{person}", "jane"), headers=jane)
                    assert own.content != nobody.content, (method, path)
                    kims = await web.client.request(method, url.replace("{person}", "kim"), headers=house)
                    assert kims.content != nobody.content, (method, path)
                    held += 1
            assert held > 20
            for what in ("now", "releases"):
                statuses = [
                    (await web.client.get(f"/v1/people/{person}/{what}", headers=headers)).status_code
                    for headers in (jane, joe, house, token)
                    for person in ("jane", "joe", "kim")
                ]
                assert statuses == [200, 404, 404, 404, 200, 404, 404, 404, 200, 404, 404, 200], what

    asyncio.run(story())


def test_no_other_credential_opens_any_route_of_the_owner(tmp_path: Path) -> None:
    """Every route and method of the table by every kind of credential that is none of the owner's, or not any more.

    The answer is the same for a person who is served, for one who has an account, and for one who is not there.
    """

    async def story() -> None:
        async with household(tmp_path) as web:
            access, owner = web.served.access, web.served.owner
            with_account(web, "jane")
            left, gone = entered(web, None), with_account(web, "joe")
            await web.client.post("/v1/owner/logout", headers=left)
            await web.client.delete("/v1/owner/accounts/joe", headers=gone)
            revoked, ended = (access.add("owner", None) for _ in range(2))
            access.revoke(revoked[0])
            access._execute("UPDATE token SET expires = 1 WHERE token = ?", (ended[0],))
            access._forget_version()
            kinds = {
                "nobody": ({}, 401),
                "a token that was guessed": ({"Authorization": "Bearer " + "A" * 43}, 401),
                "a cookie that was guessed": (web.cookie("A" * 43), 401),
                "a source": (web.bearer("source", "kim"), 403),
                "an application": (web.bearer("application", "kim"), 403),
                "a token that was revoked": ({"Authorization": f"Bearer {revoked[1]}"}, 401),
                "a token that has ended": ({"Authorization": f"Bearer {ended[1]}"}, 401),
                "who has left": (left, 401),
                "an account that is gone": (gone, 401),
            }
            house, word = entered(web, None), "X-CSRF-Token"
            asked = 0
            for path, methods in PATHS.items():
                if not path.startswith("/v1/owner") or path.startswith("/v1/owner/setup") or path in OPEN:
                    continue
                url = path.replace("{zoom}", "1").replace("{x}", "1").replace("{y}", "1").replace("{preview}", "0" * 32)
                for method in map(str.upper, methods):
                    for who, (headers, status) in kinds.items():
                        found = {
                            await _answer(web, method, url.replace("{person}", person), headers)
                            for person in ("kim", "jane", "x")
                        }
                        assert len(found) == 1, (method, path, who)
                        assert found.pop()[0] == status, (method, path, who)
                        asked += 1
                    if method != "GET":
                        for more in ({}, {word: "guessed"}):
                            headers = {key: value for key, value in house.items() if key != word} | more
                            assert await _status(web, method, url.replace("{person}", "kim"), headers) == 403, path
            assert asked > 300
            assert owner.session(house["Cookie"].partition("=")[2]) is not None, "nothing of it changed anything"

    asyncio.run(story())


async def _answer(web: Web, method: str, path: str, headers: Mapping[str, str]) -> tuple[int, bytes]:
    answer = await web.client.request(method, path, headers=headers, json={})
    return answer.status_code, answer.content


def test_what_is_of_the_machine_is_for_who_administers_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with household(tmp_path) as web:
            jane, house = with_account(web, "jane"), entered(web, None)
            for method, path in ADMINISTRATORS:
                url = path.replace("{person}", "jane")
                assert await _status(web, method, url, jane) == 403, path
                assert await _status(web, method, url, house) in (200, 201, 409), path
            others = {
                (method.upper(), path) for path, methods in PATHS.items() for method in methods if "/owner" in path
            }
            others -= ADMINISTRATORS
            seen = {path for _, path in others if "/people/" not in path and "/setup" not in path} - ENTERING
            assert seen == {
                "/v1/owner",
                "/v1/owner/accounts/{person}",
                "/v1/owner/logout",
                "/v1/owner/logout/everywhere",
                "/v1/owner/notices",
                "/v1/owner/password",
                "/v1/owner/tiles/{zoom}/{x}/{y}",
                "/v1/owner/tokens",
                "/v1/owner/tokens/{token}",
                "/v1/owner/tokens/{token}/gets",
                "/v1/owner/views",
                "/v1/owner/views/{view}",
            }, "a route that is new here has to be held to accounts, and to stand in a test"

    asyncio.run(story())


def test_an_account_sees_and_ends_its_own_tokens_alone(tmp_path: Path) -> None:
    async def story() -> None:
        async with household(tmp_path) as web:
            await web.pass_slots(1)
            jane, joe, house = with_account(web, "jane"), with_account(web, "joe"), entered(web, None)
            path = "/v1/owner/tokens"
            asked = {"purpose": "application", "view": "family"}
            for headers, person, status in (
                (jane, "jane", 201),
                (jane, "joe", 400),
                (jane, "kim", 400),
                (house, "jane", 400),
                (house, "kim", 201),
                (joe, "joe", 201),
            ):
                made = await web.client.post(path, json={**asked, "person": person}, headers=headers)
                assert made.status_code == status, person
            assert (await web.client.post(path, json={"purpose": "owner"}, headers=jane)).status_code == 403
            of = {
                name: [one["token"] for one in (await web.client.get(path, headers=headers)).json()["tokens"]]
                for name, headers in (("jane", jane), ("joe", joe), ("house", house))
            }
            assert [len(found) for found in of.values()] == [1, 1, 1]
            assert len({*of["jane"], *of["joe"], *of["house"]}) == 3
            for headers, mine in ((jane, "jane"), (house, "house")):
                for name, (token,) in of.items():
                    gets = (await web.client.get(f"{path}/{token}/gets", headers=headers)).status_code
                    assert (gets == 200) == (name == mine), (mine, name)
            for name in ("joe", "house", "jane"):
                ended = await web.client.delete(f"{path}/{of[name][0]}", headers=jane)
                assert ended.status_code == (204 if name == "jane" else 404)

    asyncio.run(story())


def test_an_account_hears_nothing_of_others(tmp_path: Path) -> None:
    async def story() -> None:
        async with household(tmp_path) as web:
            everybody = ("jane", "joe", "kim")
            await web.pass_slot(*(one for who in everybody for one in readings(("home",), START.date(), who)))
            jane, house, token = with_account(web, "jane"), entered(web, None), web.bearer("owner", None)
            for headers, others in ((jane, ("joe", "kim")), (house, ("jane",)), (token, ("jane",))):
                metrics = (await web.client.get("/metrics", headers=headers)).text
                session = (await web.client.get("/v1/owner", headers=headers)).json()
                notices = (await web.client.get("/v1/owner/notices", headers=headers)).text
                for other in others:
                    assert f'"{other}"' not in metrics
                    assert other not in session["people"]
                    assert other not in notices
            assert 'person="jane"' in (await web.client.get("/metrics", headers=jane)).text
            assert (await web.client.get("/readyz", headers=jane)).json() == {"ready": True}

    asyncio.run(story())


def test_views_that_somebody_elses_applications_have_are_not_changed(tmp_path: Path) -> None:
    settings = tmp_path / "discreet.toml"
    settings.write_text('[views.family]\ngroups.home = ["home"]\nrest = "out"\n')

    async def story() -> None:
        away = View("away", {"away": frozenset({"cabin"})})
        async with opened(tmp_path / "data", people=(JANE, JOE, KIM), file=settings) as web:
            web.served.auth.show("away", away)
            jane, joe, house = with_account(web, "jane"), with_account(web, "joe"), entered(web, None)
            web.bearer("application", "joe", view="family")
            finer = {"groups": {"home": ["home"], "work": ["work"]}, "rest": "out"}
            path = "/v1/owner/views/"
            for headers, name, status in (
                (jane, "family", 403),  # joe's application would be told more
                (house, "family", 403),
                (joe, "family", 200),
                (jane, "away", 403),  # it names a place that is not hers
                (jane, "mine", 200),
            ):
                answer = await web.client.put(path + name, json=finer, headers=headers)
                assert answer.status_code == status, (name, answer.text)
            shown = (await web.client.get("/v1/owner/views", headers=jane)).json()["views"]
            assert "away" not in shown
            assert "mine" in shown
            assert "away" in (await web.client.get("/v1/owner/views", headers=house)).json()["views"]
            assert (await web.client.delete(path + "family", headers=jane)).status_code == 403
            assert (await web.client.delete(path + "mine", headers=jane)).status_code == 200

    asyncio.run(story())


def test_an_invitation_opens_an_account_once(tmp_path: Path) -> None:
    async def story() -> None:
        async with household(tmp_path) as web:
            house = entered(web, None)
            accounts, path = "/v1/owner/accounts", "/v1/owner/invitation"
            assert (await web.client.post(f"{accounts}/nobody", headers=house)).status_code == 404
            assert (await web.client.post(f"{accounts}/jane", headers=web.bearer("owner", None))).status_code == 403
            older = (await web.client.post(f"{accounts}/jane", headers=house)).json()["invitation"]
            made = await web.client.post(f"{accounts}/jane", headers=house)
            assert made.status_code == 201
            invitation = made.json()["invitation"]
            assert (await web.client.get("/v1/owner/people/jane/days", headers=house)).status_code == 200, "until then"
            for given in (older, "guess"):
                refused = await web.client.post(path, json={"invitation": given, "password": PASSWORD})
                assert refused.status_code == 403
            weak = await web.client.post(path, json={"invitation": invitation, "password": "password123"})
            assert weak.status_code == 403
            other = {"Origin": "http://evil.example"}
            taken = await web.client.post(path, json={"invitation": invitation, "password": PASSWORD}, headers=other)
            assert taken.status_code == 403
            opened_ = await web.client.post(path, json={"invitation": invitation, "password": PASSWORD})
            assert opened_.status_code == 200
            session = (await web.client.get("/v1/owner")).json()
            assert (session["account"], session["people"]) == ("jane", ["jane"])
            assert (await web.client.get("/v1/owner/people/jane/days", headers=house)).status_code == 404
            again = await web.client.post(path, json={"invitation": invitation, "password": PASSWORD})
            assert again.status_code == 403
            web.client.cookies.clear()
            for person, password, status in (
                ("jane", PASSWORD, 200),
                ("jane", "another one", 401),
                ("nobody", PASSWORD, 401),
                (None, PASSWORD, 401),
            ):
                said = {"password": password} | ({} if person is None else {"person": person})
                answer = await web.client.post("/v1/owner/login", json=said)
                assert answer.status_code == status, person
            assert (await web.client.get("/v1/owner/door")).json()["accounts"] is True

    asyncio.run(story())


def test_a_person_without_an_account_takes_as_long_to_refuse(tmp_path: Path) -> None:
    """Whether there is an account must not be told by the time that a refusal takes."""

    async def story() -> None:
        async with household(tmp_path) as web:
            owner = web.served.owner
            web.served.access.accounts.invite("jane")
            web.served.access.accounts.accept("jane", owner._hasher.hash(PASSWORD))

            async def cost(person: str) -> float:
                began = time.process_time()
                assert await owner.login("10.0.0.1", "a wrong password", person) is None
                return time.process_time() - began

            await cost("jane")
            there, absent = [await cost("jane") for _ in range(3)], [await cost("nobody") for _ in range(3)]
            assert min(absent) > min(there) / 2

    asyncio.run(story())


def test_an_invitation_ends(tmp_path: Path) -> None:
    now = [1_000_000.0]
    access = Access(tmp_path / "access.db", clock=lambda: now[0])
    secret = access.accounts.invite("jane")
    assert access.accounts.invited(secret) == "jane"
    now[0] += INVITED
    assert access.accounts.invited(secret) is None
    assert [(one.open, one.until) for one in access.accounts.known()] == [(False, None)]
    access.close()


@pytest.mark.parametrize("how", ["removed", "invited anew", "by herself", "by the command", "while nothing runs"])
def test_who_takes_an_account_over_sees_nothing_from_before(tmp_path: Path, how: str) -> None:
    """Or whoever administers would remove an account in order to look."""

    async def story() -> None:
        async with household(tmp_path) as web:
            jane = with_account(web, "jane")
            await web.pass_slot(*(one for who in ("jane", "kim") for one in readings(("clinic",), START.date(), who)))
            own, accounts = web.served.gateway.keeper.own, web.served.access.accounts
            date = START.date()
            assert own.truth("jane", date) == {0: "clinic"}
            house = entered(web, None)
            path = "/v1/owner/accounts/jane"
            if how == "removed":
                assert (await web.client.delete(path, headers=house)).status_code == 204
            elif how == "by herself":
                assert (await web.client.delete("/v1/owner/accounts/kim", headers=jane)).status_code == 404
                assert (await web.client.delete(path, headers=jane)).status_code == 204
            elif how == "invited anew":
                secret = (await web.client.post(path, headers=house)).json()["invitation"]
                assert own.truth("jane", date), "the invitation alone changes nothing"
                assert (await web.client.get("/v1/owner", headers=jane)).status_code == 200
                taken = {"invitation": secret, "password": PASSWORD}
                assert (await web.client.post("/v1/owner/invitation", json=taken)).status_code == 200
                web.client.cookies.clear()
            else:
                beside = Access(tmp_path / "access.db")  # another process
                assert beside.accounts.remove("jane")
                beside.close()
                hidden = await web.client.get("/v1/owner/people/jane/days", headers=house)
                assert hidden.status_code == 404, "not before the past is erased"
                if how == "by the command":
                    await until("the past is erased", lambda: own.truth("jane", date) == {} and not accounts.owed())
            if how != "while nothing runs":
                assert own.truth("jane", date) == {}
                assert own.readings("jane", 0) == []
                assert (await web.client.get("/v1/owner", headers=jane)).status_code == 401
            assert own.truth("kim", date) == {0: "clinic"}
            assert (not accounts.owed()) == (how != "while nothing runs")
        async with household(tmp_path) as web:
            own = web.served.gateway.keeper.own
            assert own.truth("jane", date) == {}
            (row,) = [row for row in await web.pass_slot() if row.person == "jane"]
            assert row.slot == 1, "decisions go on"
            house = entered(web, None)
            theirs = (await web.client.get("/v1/owner", headers=house)).json()["people"]
            assert theirs == (["joe", "kim"] if how == "invited anew" else ["jane", "joe", "kim"])

    asyncio.run(story())


def test_a_stream_that_is_open_ends_when_the_person_has_an_account(tmp_path: Path) -> None:
    async def story() -> None:
        async with listening_web(tmp_path, people=(JANE, JOE)) as web:
            await web.pass_slots(1)
            house = entered(web, None)
            web.served.owner._calls.clear()
            async with web.client.stream("GET", "/v1/people/jane/stream", headers=house) as stream:
                lines = stream.aiter_lines()
                await events(lines, 0)
                with_account(web, "jane")
                await web.pass_slots(2)
                left = [line async for line in lines]
                assert not any(line.startswith("data:") and 'slot":1' in line for line in left)
                assert not any('"slot":2' in line for line in left)

    asyncio.run(story())


def test_passwords_of_accounts_are_changed_each_by_itself(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        first = {"token": web.served.owner.first, "password": "a long password"}
        assert (await web.client.post("/v1/owner/first", json=first)).status_code == 200
        web.client.cookies.clear()
        house = entered(web, None)
        made = await web.client.post("/v1/owner/accounts/jane", headers=house)
        taken = {"invitation": made.json()["invitation"], "password": PASSWORD}
        answer = await web.client.post("/v1/owner/invitation", json=taken)
        mine, elsewhere = {"X-CSRF-Token": answer.json()["csrf"]}, entered(web, "jane")
        path = "/v1/owner/password"
        owners = {"password": "a long password", "new": "paper lamp river"}
        assert (await web.client.post(path, json=owners, headers=mine)).status_code == 403
        own = {"password": PASSWORD, "new": "paper lamp river"}
        assert (await web.client.post(path, json=own, headers=mine)).status_code == 200
        web.client.cookies.clear()
        assert (await web.client.get("/v1/owner", headers=elsewhere)).status_code == 401
        assert (await web.client.get("/v1/owner", headers=house)).status_code == 200, "the owner's session stays"
        for said, status in (
            ({"password": "paper lamp river", "person": "jane"}, 200),
            ({"password": "a long password"}, 200),
            ({"password": "paper lamp river"}, 401),
        ):
            assert (await web.client.post("/v1/owner/login", json=said)).status_code == status
            web.client.cookies.clear()
        third = entered(web, "jane")
        await web.client.post("/v1/owner/logout/everywhere", headers=house)
        assert (await web.client.get("/v1/owner", headers=third)).status_code == 200, "each ends their own"

    told(tmp_path, story)


def test_sessions_of_accounts_survive_a_restart_as_what_they_were(tmp_path: Path) -> None:
    async def story() -> None:
        async with household(tmp_path) as web:
            jane = with_account(web, "jane")
        async with household(tmp_path) as web:
            session: dict[str, Any] = (await web.client.get("/v1/owner", headers=jane)).json()
            assert (session["account"], session["people"]) == ("jane", ["jane"])

    asyncio.run(story())
