"""The description of the routes has every route and no other, and says of each who may call."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from starlette.routing import Route

from discreet.gateway.app import GatewayPlan, PreparedGateway
from discreet.gateway.store.folder import Folder
from discreet.gateway.wires.openapi import DOCUMENT, PATHS, page
from discreet.gateway.wires.openapi.parts import plain
from discreet.gateway.wires.openapi.setup import PAGES
from tests.gateway.first import settings_in
from tests.gateway.web import Wall, opened, plan_for

REMEDY = "write an Operation under its path in a table of discreet/gateway/openapi/"


def mounted(folder: Path) -> set[str]:
    """Every method and path that a gateway answers, with a broker or without, and while somebody is set up."""
    settings = settings_in(folder)
    plan: GatewayPlan = plan_for(Wall())
    served = PreparedGateway(plan, Folder.made(folder / "data"), settings=settings)

    async def all_of_them() -> set[str]:
        async with served.running():
            routes = [one for one in served.routes if isinstance(one, Route)]
            assert len(routes) == len(served.routes), "a mount would hide what is below it"
            return {f"{method} {plain(one.path)}" for one in routes for method in one.methods or ()}

    return {one for one in asyncio.run(all_of_them()) if not one.startswith("HEAD ")}


def test_every_route_is_described_and_no_other(tmp_path: Path) -> None:
    described = {f"{method.upper()} {path}" for path, methods in PATHS.items() for method in methods}
    answered = mounted(tmp_path)
    assert not answered - described, f"not described: {sorted(answered - described)}; {REMEDY}"
    assert not described - answered, f"described, and not answered: {sorted(described - answered)}"


def test_a_document_of_its_standard() -> None:
    """What OpenAPI 3.1 asks of every operation: parts of the path as parameters, answers with words, known schemes."""
    assert json.loads(json.dumps(DOCUMENT)) == DOCUMENT
    schemes = DOCUMENT["components"]["securitySchemes"]
    for path, methods in PATHS.items():
        for method, one in methods.items():
            named = {p["name"] for p in one["parameters"] if p["in"] == "path"}
            assert named == {part[1:-1] for part in path.split("/") if part.startswith("{")}, path
            assert all(answer["description"] for answer in one["responses"].values())
            assert any(status < "400" for status in one["responses"])
            assert all(name in schemes for option in one["security"] for name in option)
            assert f"{method.upper()} {path}" in page()


def test_a_file_is_of_the_kind_that_is_described(tmp_path: Path) -> None:
    """What a browser parses as JSON is described as an object, and everything else as text."""

    async def story() -> None:
        async with opened(tmp_path) as web:
            for path in PAGES:
                answer = await web.client.get(path)
                ((kind, described),) = PATHS[path]["get"]["responses"]["200"]["content"].items()
                assert answer.headers["content-type"].split(";")[0] == kind, path
                is_json = kind.endswith("json")
                assert described["schema"] == {"type": "object" if is_json else "string"}, path
                assert not is_json or isinstance(answer.json(), dict), path

    asyncio.run(story())


def test_who_may_call_is_what_is_answered(tmp_path: Path) -> None:
    """Without a credential, every route that takes one refuses, before anything else is looked at."""

    async def story() -> None:
        async with opened(tmp_path) as web:
            for path, methods in PATHS.items():
                url = path.replace("{zoom}", "1").replace("{x}", "1").replace("{y}", "1").replace("{person}", "jane")
                for method, one in methods.items():
                    if path.startswith("/v1/owner/setup"):
                        continue  # not there, where nobody is set up
                    answer = await web.client.request(method.upper(), url, json={})
                    refused = answer.status_code == 401 and path != "/v1/owner/login"
                    assert refused == bool(one["security"]), f"{method} {path}: {answer.status_code}"

    asyncio.run(story())


def test_a_method_that_is_not_there_is_answered_with_those_that_are(tmp_path: Path) -> None:
    """Several routes have one path, and a caller asks for all their methods (RFC 9110, section 15.5.6)."""

    async def story() -> None:
        async with opened(tmp_path) as web:
            for path, methods in PATHS.items():
                if path.startswith("/v1/owner/setup"):
                    continue  # not there, where nobody is set up
                url = path.replace("{zoom}", "1").replace("{x}", "1").replace("{y}", "1").replace("{person}", "jane")
                answer = await web.client.request("PATCH", url)
                given = {one.lower() for one in answer.headers["allow"].split(", ")} - {"head"}
                assert (answer.status_code, given) == (405, set(methods)), path

    asyncio.run(story())
