"""What stands before the routes: names, addresses, sizes, the owner's session, and limits."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from discreet import Policy
from discreet.gateway.config.sections import Rates, Server
from discreet.gateway.rate_limits import Rate
from discreet.gateway.slots.nightly import look
from discreet.gateway.wires.guard import BODY, HEADERS, UNFRAMED
from tests.gateway.people import START
from tests.gateway.test_http import NOW, READINGS, told
from tests.gateway.web import ROUTINE, Web, opened


def test_too_much_is_refused_before_anybody_works_for_it(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        headers = web.bearer("source")
        answer = await web.client.post(READINGS, content=b" " * (BODY + 1), headers=headers)
        assert answer.status_code == 413

        async def endless() -> Any:
            while True:
                yield b" " * 65536

        answer = await web.client.post(READINGS, content=endless(), headers=headers)
        assert answer.status_code == 413, "without a length too"
        assert "set-cookie" not in answer.headers

    told(tmp_path, story)


def test_what_every_answer_carries(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        for path in ("/healthz", NOW, "/nowhere", "/docs", "/openapi.json", "/v1/people/jane/now/"):
            answer = await web.client.get(path)
            for name, value in (*HEADERS, *UNFRAMED):
                assert answer.headers[name.decode()] == value.decode()
            assert answer.headers["cache-control"] == "no-store"
            assert "server" not in answer.headers
        assert (await web.client.delete(NOW)).status_code == 405
        page = (await web.client.get("/docs")).text
        assert "http:" not in page
        assert "https:" not in page
        assert "<script" not in page

    told(tmp_path, story)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:8321", 200),
        ("127.0.0.1:1", 200),
        ("[::1]:8321", 200),
        ("[::1]", 200),
        ("home.example", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("evil.example:8321", 421),
        ("127.0.0.1@evil.example", 421),
        ("", 421),
    ],
)
def test_only_names_on_the_list_are_answered(tmp_path: Path, host: str, status: int) -> None:
    async def story(web: Web) -> None:
        assert (await web.client.get("/healthz", headers={"Host": host})).status_code == status

    told(tmp_path, story, server=Server(hosts=("home.example",)))


def test_forwarded_addresses_are_taken_from_proxies_on_the_list_alone(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        for name in ("X-Forwarded-For", "X-Forwarded-Proto", "Forwarded", "X-Forwarded-Host"):
            assert (await web.client.get("/healthz", headers={name: "10.1.1.1"})).status_code == 400

    told(tmp_path / "none", story)

    async def behind(web: Web) -> None:
        first = web.served.owner.first
        for number in range(12):  # each from another address, whatever its caller writes before it
            headers = {"X-Forwarded-For": f"10.9.9.9, 10.1.1.{number}"}
            answer = await web.client.post("/v1/owner/login", json={"password": "x"}, headers=headers)
            assert answer.status_code == 401
        assert first is not None
        secure = {"X-Forwarded-Proto": "https", "Origin": "https://localhost"}
        answer = await web.client.post("/v1/owner/login", json={"password": "x"}, headers=secure)
        assert answer.status_code == 401, "the same site"
        answer = await web.client.post(
            "/v1/owner/login", json={"password": "x"}, headers={"Origin": "https://localhost"}
        )
        assert answer.status_code == 403

    told(tmp_path / "one", behind, server=Server(proxies=("127.0.0.1",)))


def test_the_owner_logs_in_and_writes_with_the_sessions_word_alone(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        client, password = web.client, "a long password"
        wrong = await client.post("/v1/owner/first", json={"token": "guess", "password": password})
        assert wrong.status_code == 403
        first = {"token": web.served.owner.first, "password": password}
        assert (await client.post("/v1/owner/first", data=first)).status_code == 415
        answer = await client.post("/v1/owner/first", json=first)
        assert answer.status_code == 200
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        csrf = answer.json()["csrf"]
        assert (await client.get("/v1/owner")).json() == {
            "csrf": csrf,
            "account": None,
            "people": ["jane"],
            "views": {"family": ["home"], "whole": []},
        }
        asked = {"purpose": "application", "person": "jane", "view": "family"}
        for headers in ({}, {"X-CSRF-Token": "wrong"}, {"X-CSRF-Token": csrf, "Origin": "http://evil.example"}):
            refused = await client.post("/v1/owner/tokens", json=asked, headers=headers)
            assert refused.status_code == 403
        own = {"X-CSRF-Token": csrf, "Origin": "http://localhost"}
        made = await client.post("/v1/owner/tokens", json=asked, headers=own)
        assert made.status_code == 201
        bearer = {"Authorization": f"Bearer {made.json()['secret']}"}
        await web.pass_slots(1)
        assert (await client.get(NOW, headers=bearer)).status_code == 200
        listed = (await client.get("/v1/owner/tokens")).json()["tokens"]
        assert [one["token"] for one in listed] == [made.json()["token"]]
        assert made.json()["secret"] not in json.dumps(listed)
        gone = await client.delete(f"/v1/owner/tokens/{made.json()['token']}", headers=own)
        assert gone.status_code == 204
        assert (await client.get(NOW, headers=bearer)).status_code == 401
        again = await client.delete(f"/v1/owner/tokens/{made.json()['token']}", headers=own)
        assert again.status_code == 404
        wrong_ones: list[Any] = [{**asked, "view": "none"}, {**asked, "person": "joe"}, {"purpose": "x"}, []]
        for bad in (*wrong_ones, {**asked, "now_only": 1}):
            assert (await client.post("/v1/owner/tokens", json=bad, headers=own)).status_code == 400
        assert (await client.post("/v1/owner/logout")).status_code == 403
        assert (await client.post("/v1/owner/logout", headers=own)).status_code == 204
        assert (await client.get("/v1/owner")).status_code == 401

    told(tmp_path, story)


def test_a_secure_server_gives_a_cookie_that_stays_secure(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        first = {"token": web.served.owner.first, "password": "a long password"}
        answer = await web.client.post("https://localhost/v1/owner/first", json=first)
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("__Host-discreet-")
        assert "Secure" in cookie
        assert "Path=/" in cookie
        assert (await web.client.get("https://localhost/v1/owner")).json()["csrf"] == answer.json()["csrf"]
        assert (await web.client.get("http://localhost/v1/owner")).status_code == 401

    told(tmp_path, story)


def test_tries_of_the_password_run_out(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        answers = [
            (await web.client.post("/v1/owner/login", json={"password": "guess"})).status_code for _ in range(12)
        ]
        assert answers == [401] * 10 + [429] * 2

    told(tmp_path, story)


def test_a_token_that_comes_too_often_waits_and_others_do_not(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        await web.pass_slots(1)
        one, two = web.bearer("application"), web.bearer("application")
        answers = [await web.client.get(NOW, headers=one) for _ in range(12)]
        assert [answer.status_code for answer in answers[:10]] == [200] * 10
        assert answers[11].status_code == 429
        assert int(answers[11].headers["retry-after"]) >= 1
        assert (await web.client.get(NOW, headers=two)).status_code == 200

    told(tmp_path, story, limits=Rates(application=Rate(10, 0.1)))


def test_the_owner_reads_notices_that_came_after_the_start(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        owner = web.bearer("owner", None)
        assert (await web.client.get("/v1/owner/notices", headers=owner)).json() == {"notices": []}
        notice = look(web.served.gateway.keeper.own, "jane", ROUTINE, Policy(["clinic"], delta=0.1), START.date())
        web.served.notices["jane"] = notice
        (shown,) = (await web.client.get("/v1/owner/notices", headers=owner)).json()["notices"]
        seen = {"drifted": notice.drifted, "holds": notice.truth.holds, "words": notice.words}
        assert shown == {"person": "jane", "date": "2026-03-02", **seen}
        assert (await web.client.get("/v1/owner/notices", headers=web.bearer("source"))).status_code == 403

    told(tmp_path, story)


def test_an_owners_token_makes_no_owners_token(tmp_path: Path) -> None:
    """One that ends in five seconds would make one that never does."""

    async def story(web: Web) -> None:
        owner = web.bearer("owner", None, expires=time.time() + 60)
        path = "/v1/owner/tokens"
        made = await web.client.post(path, json={"purpose": "owner"}, headers=owner)
        assert made.status_code == 403
        assert "log in with the password" in made.json()["error"]
        others = {"purpose": "application", "person": "jane"}
        assert (await web.client.post(path, json=others, headers=owner)).status_code == 201
        cookie = web.served.owner._opened()
        session = web.served.owner.session(cookie)
        assert session is not None
        mine = web.cookie(cookie) | {"X-CSRF-Token": session.csrf}
        assert (await web.client.post(path, json={"purpose": "owner"}, headers=mine)).status_code == 201
        for expires in (2**53, 2**63 - 1, 2**63, 2**64):
            late = await web.client.post(path, json={**others, "expires": expires}, headers=mine)
            assert late.status_code == 400, expires

    told(tmp_path, story)


def test_the_password_is_changed_on_the_page_and_everybody_is_logged_out(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        first = {"token": web.served.owner.first, "password": "a long password"}
        entered = await web.client.post("/v1/owner/first", json=first)
        mine = {"X-CSRF-Token": entered.json()["csrf"]}
        other = web.served.owner._opened()
        path = "/v1/owner/password"
        wrong = {"password": "another one", "new": "olive tram ladder"}
        assert (await web.client.post(path, json=wrong, headers=mine)).status_code == 403
        weak = {"password": "a long password", "new": "password123"}
        assert (await web.client.post(path, json=weak, headers=mine)).status_code == 400
        right = {"password": "a long password", "new": "olive tram ladder"}
        assert (await web.client.post(path, json=right)).status_code == 403, "no csrf"
        token = web.bearer("owner", None)
        assert (await web.client.post(path, json=right, headers=token)).status_code == 403
        changed = await web.client.post(path, json=right, headers=mine)
        assert changed.status_code == 200
        mine = {"X-CSRF-Token": changed.json()["csrf"]}
        assert (await web.client.get("/v1/owner")).status_code == 200, "with the new cookie"
        assert web.served.owner.session(other) is None
        another = web.served.owner._opened()
        assert (await web.client.post("/v1/owner/logout/everywhere", headers=mine)).status_code == 204
        assert web.served.owner.session(another) is None
        assert (await web.client.get("/v1/owner")).status_code == 401

    told(tmp_path, story)


def test_two_gateways_on_one_host_have_cookies_of_their_own(tmp_path: Path) -> None:
    async def story() -> set[str]:
        names = set()
        for name in ("one", "two", "one"):
            async with opened(tmp_path / name) as web:
                names.add(web.served.auth._cookie)
        return names

    assert len(asyncio.run(story())) == 2
