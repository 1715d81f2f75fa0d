"""Below a prefix: of any proxy by the settings, and of Home Assistant's ingress, that the Supervisor alone names."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx
import pytest

from discreet import DiscreetError
from discreet.gateway.config.section import Section
from discreet.gateway.config.sections import Server
from tests.gateway.browser import look
from tests.gateway.house import House, open_house
from tests.gateway.web import Web, listening_web, opened

TOKEN = "kGCzR7TfYq1cNw0d2n4vJ3u8bXhLmPsE5iOaQtZyWrU"
PATH = f"/api/hassio_ingress/{TOKEN}"
PASSWORD = "correct horse"


def told(tmp_path: Path, story: Callable[[Web], Awaitable[None]], server: Server) -> None:
    async def whole() -> None:
        async with opened(tmp_path, server=server) as web:
            await story(web)

    asyncio.run(whole())


async def first(web: Web, prefix: str = "", headers: dict[str, str] | None = None) -> httpx.Response:
    document = {"token": web.served.owner.first, "password": PASSWORD}
    return await web.client.post(f"{prefix}/v1/owner/first", json=document, headers=headers or {})


@pytest.mark.parametrize("kept", [True, False], ids=["left in the path", "taken away"])
def test_a_proxys_prefix_holds_whether_it_is_left_in_the_path_or_not(tmp_path: Path, kept: bool) -> None:
    async def story(web: Web) -> None:
        prefix = "/at/home" if kept else ""
        page = await web.client.get(f"{prefix}/")
        assert page.status_code == 200
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
        assert page.headers["x-frame-options"] == "DENY"
        answer = await first(web, prefix)
        assert answer.status_code == 200
        assert "Path=/at/home;" in answer.headers["set-cookie"]
        web.client.headers["X-CSRF-Token"] = answer.json()["csrf"]
        cookies = {"Cookie": answer.headers["set-cookie"].partition(";")[0]}
        assert (await web.client.get(f"{prefix}/v1/owner", headers=cookies)).json()["people"] == ["jane"]
        left = await web.client.post(f"{prefix}/v1/owner/logout", headers=cookies)
        assert left.status_code == 204
        assert "Path=/at/home;" in left.headers["set-cookie"], "it takes away the cookie that it set"
        if kept:
            lead = await web.client.get("/at/home")
            assert (lead.status_code, lead.headers["location"]) == (307, "/at/home/")

    told(tmp_path, story, Server(root_path="/at/home"))


def test_limits_of_bodies_hold_below_a_prefix(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        for path in ("/at/home/v1/owner/login", "/v1/owner/login"):
            answer = await web.client.post(path, content=b"x" * 5000)
            assert answer.status_code == 413, "somebody unknown sends little"

    told(tmp_path, story, Server(root_path="/at/home"))


@pytest.mark.parametrize("prefix", ["home", "/a//b", "/a/../b", "/..", "/a;b", "/a b", "/ä", "//evil.example"])
def test_a_prefix_that_is_none_is_refused(prefix: str) -> None:
    with pytest.raises(DiscreetError, match=r"discreet.toml: server.root_path: .*'/discreet'"):
        Server.read(Section(Path("discreet.toml"), {"root_path": prefix}, ("server",)))


def test_a_last_slash_is_no_matter() -> None:
    assert Server.read(Section(Path("discreet.toml"), {"root_path": "/home/"}, ("server",))).root_path == "/home"
    assert Server.read(Section(Path("discreet.toml"), {"root_path": "/"}, ("server",))).root_path == ""


def test_the_supervisor_is_named_by_its_number() -> None:
    with pytest.raises(DiscreetError, match=r"server.ingress: 'supervisor' is no address"):
        Server.read(Section(Path("discreet.toml"), {"ingress": "supervisor"}, ("server",)))


def test_by_ingress_the_page_is_framed_by_its_own_origin_alone_and_the_cookie_is_its_own(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        by = {"X-Ingress-Path": PATH, "Host": "homeassistant.local:8123"}
        page = await web.client.get("/", headers=by)
        assert page.status_code == 200, "Home Assistant is reached by any name"
        assert "frame-ancestors 'self'" in page.headers["content-security-policy"]
        assert page.headers["x-frame-options"] == "SAMEORIGIN"
        assert (await web.client.get("/v1/owner", headers=by)).status_code == 401, "an administrator is not the owner"
        secure = by | {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "my.house", "Origin": "https://my.house"}
        answer = await first(web, headers=secure)
        assert answer.status_code == 200, answer.text
        assert answer.headers["set-cookie"].startswith("__Secure-")
        assert f"Path={PATH};" in answer.headers["set-cookie"]
        assert "strict-transport-security" not in answer.headers, "that is for Home Assistant to say"
        other = await web.client.post(
            "/v1/owner/login", json={"password": PASSWORD}, headers=secure | {"Origin": "https://elsewhere"}
        )
        assert other.status_code == 403, "another site's page"
        direct = await web.client.get("/")
        assert "frame-ancestors 'none'" in direct.headers["content-security-policy"]

    told(tmp_path, story, Server(ingress="127.0.0.1"))


@pytest.mark.parametrize(
    "path",
    ["", "/", "/evil", "//evil.example/", f"{PATH}/", f"{PATH}/../x", f"{PATH};Domain=x", "/api/hassio_ingress/short"],
)
def test_an_ingress_path_of_another_form_is_refused(tmp_path: Path, path: str) -> None:
    async def story(web: Web) -> None:
        answer = await web.client.get("/", headers={"X-Ingress-Path": path})
        assert answer.status_code == 400
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]

    told(tmp_path, story, Server(ingress="127.0.0.1"))


@pytest.mark.parametrize("ingress", [None, "172.30.32.2"])
def test_the_header_of_anybody_else_is_refused(tmp_path: Path, ingress: str | None) -> None:
    """Other add-ons are in the same network, and could send it."""

    async def story(web: Web) -> None:
        answer = await web.client.get("/", headers={"X-Ingress-Path": PATH})
        assert answer.status_code == 400
        assert "server.ingress" in answer.json()["error"]
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert (await web.client.get("/", headers={"X-Forwarded-For": "10.0.0.1"})).status_code == 400

    told(tmp_path, story, Server(ingress=ingress))


def at_house(tmp_path: Path, story: Callable[[Web, House, httpx.AsyncClient], Awaitable[None]]) -> None:
    """A gateway on the wire behind a made-up Home Assistant."""

    async def whole() -> None:
        async with (
            listening_web(tmp_path, server=Server(ingress="127.0.0.1")) as web,
            open_house(str(web.client.base_url).rstrip("/")) as house,
            httpx.AsyncClient(base_url=house.address + house.prefix, timeout=120) as client,
        ):
            await story(web, house, client)

    asyncio.run(whole())


def test_all_of_the_page_comes_through_home_assistant(tmp_path: Path) -> None:
    async def story(web: Web, house: House, client: httpx.AsyncClient) -> None:
        page = await client.get("/")
        assert page.status_code == 200
        for name in ("page/page.js", "page/page.css", "page/manifest.webmanifest", "docs", "openapi.json"):
            assert (await client.get(name)).status_code == 200, name
        answer = await client.post(
            "v1/owner/first",
            json={"token": web.served.owner.first, "password": PASSWORD},
            headers={"Origin": house.address},
        )
        assert answer.status_code == 200, answer.text
        assert f"Path={house.prefix};" in answer.headers["set-cookie"]
        client.headers["X-CSRF-Token"] = answer.json()["csrf"]
        assert (await client.get("v1/owner")).json()["people"] == ["jane"]
        async with client.stream("GET", "v1/people/jane/stream") as stream:
            lines = stream.aiter_lines()
            assert (await anext(lines)).startswith("retry")
            await web.pass_slot()
            async with asyncio.timeout(120):
                async for line in lines:
                    if line == "event: output":
                        break
        assert (await client.post("v1/owner/logout")).status_code == 204
        assert (await client.get("v1/owner")).status_code == 401

    at_house(tmp_path, story)


@pytest.mark.browser
def test_in_a_browser_the_page_works_in_home_assistants_frame(tmp_path: Path) -> None:
    async def story(web: Web, house: House, client: httpx.AsyncClient) -> None:
        await look(web, "ingress", tmp_path, (), house.prefix, address=house.address)

    at_house(tmp_path, story)
