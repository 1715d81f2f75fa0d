"""The routes: who may do what, what comes back, and what hostile callers get."""

from __future__ import annotations

import asyncio
import csv
import datetime as dt
import io
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from discreet.gateway.forms import entity_tag
from discreet.gateway.store.journal import JournalError
from discreet.gateway.wires.posted_readings import MOST
from tests.gateway.people import START, readings
from tests.gateway.web import Wall, Web, opened

NOW = "/v1/people/jane/now"
RELEASES = "/v1/people/jane/releases"
READINGS = "/v1/people/jane/readings"


def told(tmp_path: Path, story: Callable[[Web], Awaitable[None]], **options: Any) -> None:
    """Run a story against a gateway."""

    async def whole() -> None:
        async with opened(tmp_path, **options) as web:
            await story(web)

    asyncio.run(whole())


def test_each_purpose_against_each_route(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        await web.pass_slots(2)
        callers = {
            "nobody": {},
            "wrong": {"Authorization": "Bearer wrong"},
            "basic": {"Authorization": "Basic d3Jvbmc6d3Jvbmc="},
            "source": web.bearer("source"),
            "other's source": web.bearer("source", "joe"),
            "application": web.bearer("application"),
            "family": web.bearer("application", view="family"),
            "present": web.bearer("application", now_only=True),
            "gone view": web.bearer("application", view="gone"),
            "other's": web.bearer("application", "joe"),
            "owner": web.bearer("owner", None),
        }
        body = json.dumps({"time": START.timestamp(), "label": "home"})
        asked: dict[str, Callable[[dict[str, str]], Awaitable[httpx.Response]]] = {
            "now": lambda headers: web.client.get(NOW, headers=headers),
            "releases": lambda headers: web.client.get(RELEASES, headers=headers),
            "stream": lambda headers: web.client.head("/v1/people/jane/stream", headers=headers),
            "readings": lambda headers: web.client.post(READINGS, content=body, headers=headers),
            "metrics": lambda headers: web.client.get("/metrics", headers=headers),
            "tokens": lambda headers: web.client.get("/v1/owner/tokens", headers=headers),
        }
        expected = {
            "nobody": (401, 401, 401, 401, 401, 401),
            "wrong": (401, 401, 401, 401, 401, 401),
            "basic": (401, 401, 401, 401, 401, 401),
            "source": (403, 403, 403, 200, 403, 403),
            "other's source": (404, 404, 404, 404, 403, 403),
            "application": (200, 200, 200, 403, 403, 403),
            "family": (200, 200, 200, 403, 403, 403),
            "present": (200, 403, 200, 403, 403, 403),
            "gone view": (403, 403, 403, 403, 403, 403),
            "other's": (404, 404, 404, 404, 403, 403),
            "owner": (200, 200, 200, 403, 200, 200),
        }
        for name, headers in callers.items():
            answers = [await ask(headers) for ask in asked.values()]
            assert tuple(answer.status_code for answer in answers) == expected[name], name

    told(tmp_path, story)


def test_without_a_grant_it_does_not_matter_whether_there_is_such_a_person(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        await web.pass_slots(1)
        for headers in ({}, web.bearer("application", "joe"), web.bearer("source", "joe")):
            for what in ("now", "releases", "stream"):
                answers = [
                    await web.client.get(f"/v1/people/{person}/{what}", headers=headers)
                    for person in ("jane", "nobody", "j%C3%A4ne", "%00")
                ]
                assert len({(one.status_code, one.content, tuple(one.headers.items())) for one in answers}) == 1
                assert answers[0].status_code in (401, 404)

    told(tmp_path, story)


def test_the_present_and_its_tag(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        whole, family = web.bearer("application"), web.bearer("application", view="family")
        assert (await web.client.get(NOW, headers=whole)).status_code == 204
        (row,) = await web.pass_slot(*readings(("home",), START.date()))
        first = await web.client.get(NOW, headers=whole)
        shown = first.json()
        assert (shown["person"], shown["date"], shown["slot"]) == ("jane", "2026-03-02", 0)
        assert shown["end"] == dt.datetime.fromtimestamp(row.ends, dt.UTC).isoformat().replace("+00:00", "Z")
        assert first.headers["etag"] == entity_tag(first.content), "of these bytes and no others"
        same = await web.client.get(NOW, headers={**whole, "If-None-Match": f'"x", W/{first.headers["etag"]}'})
        assert (same.status_code, same.content) == (304, b"")
        other = await web.client.get(NOW, headers=family)
        assert other.headers["etag"] == entity_tag(other.content)
        await web.pass_slot()
        changed = await web.client.get(NOW, headers={**whole, "If-None-Match": first.headers["etag"]})
        assert changed.status_code == 200
        assert changed.json()["slot"] == 1

    told(tmp_path, story)


def test_history_in_pages_as_json_and_as_a_table(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        rows = await web.pass_slots(30)
        headers = web.bearer("application")
        found: list[dict[str, Any]] = []
        address: str | None = f"{RELEASES}?limit=7"
        pages = 0
        while address is not None:
            answer = await web.client.get(address, headers=headers)
            found += answer.json()["releases"]
            pages += 1
            address = answer.links["next"]["url"] if "next" in answer.links else None
            assert (answer.json()["next"] is None) == (address is None)
        assert pages == 5
        assert [(one["date"], one["slot"]) for one in found] == [(row.date.isoformat(), row.slot) for row in rows]
        second = await web.client.get(f"{RELEASES}?from=2026-03-03&to=2026-03-03", headers=headers)
        assert {one["date"] for one in second.json()["releases"]} == {"2026-03-03"}
        assert len(second.json()["releases"]) == 12
        for table in (
            await web.client.get(f"{RELEASES}?format=csv", headers=headers),
            await web.client.get(RELEASES, headers={**headers, "Accept": "text/csv"}),
        ):
            assert table.headers["content-type"].startswith("text/csv")
            lines = list(csv.DictReader(io.StringIO(table.text)))
            assert [(one["date"], int(one["slot"]), one["kind"]) for one in lines] == [
                (one["date"], one["slot"], one["kind"]) for one in found
            ]
        same = await web.client.get(RELEASES, headers={**headers, "If-None-Match": entity_tag(b"")})
        assert same.status_code == 200
        for wrong in ("from=yesterday", "to=2026-13-01", "after=1", "limit=0", "limit=1001", "format=xml", "form=csv"):
            refused = await web.client.get(f"{RELEASES}?{wrong}", headers=headers)
            assert refused.status_code == 400, wrong
            assert wrong.partition("=")[0][:4] in refused.json()["error"] or "not known" in refused.json()["error"]

    told(tmp_path, story)


def test_readings_one_or_many_and_the_same_again(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        web.wall.now += 3600
        headers = web.bearer("source")
        start = START.timestamp()
        one = {"time": "2026-03-02T01:20:00+01:00", "label": "home"}
        many = [{"time": start + k, "latitude": 48.1, "longitude": 11.5, "accuracy": 20} for k in range(20)]
        late = {"time": start + 10**6, "label": "home"}
        for _ in range(2):
            answer = await web.client.post(READINGS, json=one, headers=headers)
            assert answer.json() == {"kept": 1, "refused": 0}
            answer = await web.client.post(READINGS, json=[*many, late], headers=headers)
            assert answer.json() == {"kept": 20, "refused": 1}, "of a clock that is wrong"
        kept = web.served.gateway.keeper.own.readings("jane", 0)
        assert len(kept) == 21, "by source and time"
        assert {one.label for one in kept} == {None, "home"}
        assert min(one.instant for one in kept) == int(start * 1e6)
        again = await web.client.post(READINGS, json={**one, "source": "watch"}, headers=headers)
        assert again.json() == {"kept": 1, "refused": 0}
        assert len(web.served.gateway.keeper.own.readings("jane", 0)) == 22
        assert (await web.client.post(READINGS, json=[], headers=headers)).json() == {"kept": 0, "refused": 0}

    told(tmp_path, story)


HOSTILE: list[bytes] = [
    b"",
    b"{",
    b"null",
    b"7",
    b'"text"',
    b"[[]]",
    b"[null]",
    b"{}",
    b'{"time": 1}',
    b'{"time": 1, "label": ""}',
    b'{"time": 1, "label": 7}',
    b'{"time": 1, "label": "a\\nb"}',
    b'{"time": 1, "label": "\\u0000"}',
    b'{"time": 1, "label": "\\ud800"}',
    b'{"time": 1, "label": "%s"}' % (b"x" * 101),
    b'{"time": true, "label": "home"}',
    b'{"time": "noon", "label": "home"}',
    b'{"time": "2026-03-02T10:00:00", "label": "home"}',
    b'{"time": "0001-01-01T00:00:00+23:59", "label": "home"}',
    b'{"time": 1e400, "label": "home"}',
    b'{"time": NaN, "label": "home"}',
    b'{"time": -1, "label": "home"}',
    b'{"time": 99999999999999999999, "label": "home"}',
    b'{"time": 1, "latitude": 48}',
    b'{"time": 1, "latitude": 91, "longitude": 0}',
    b'{"time": 1, "latitude": "48", "longitude": "11"}',
    b'{"time": 1, "latitude": 1e309, "longitude": 0}',
    b'{"time": 1, "label": "home", "battery": 5}',
    b'{"time": 1, "label": "home", "accuracy": "20"}',
    b"\xff\xfe{}",
    b"[" * 100_000,
    b"[" + b"{}," * MOST + b"{}]",
    b'{"time": 1, "label": "home"}' * 2,
]


@pytest.mark.parametrize("body", HOSTILE, ids=lambda body: str(body[:40]))
def test_hostile_readings_are_told_what_is_wrong_and_not_what_they_held(tmp_path: Path, body: bytes) -> None:
    async def story(web: Web) -> None:
        answer = await web.client.post(READINGS, content=body, headers=web.bearer("source"))
        assert answer.status_code == 400
        assert set(answer.json()) == {"error"}
        for held in ("noon", "91", "battery", "48", "Traceback"):
            assert held not in answer.text
        assert web.served.gateway.keeper.own.readings("jane", 0) == []

    told(tmp_path, story)


def test_a_journal_that_cannot_write_is_503_and_says_no_more(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        def full(_: object) -> int:
            raise JournalError("disk full at 48.1234")

        own = web.served.gateway.keeper.own
        real, own.read = own.read, full  # type: ignore[method-assign, assignment]
        headers = web.bearer("source")
        body = {"time": START.timestamp(), "label": "home"}
        answer = await web.client.post(READINGS, json=body, headers=headers)
        assert answer.status_code == 503
        assert "48.1234" not in answer.text
        assert "retry-after" in answer.headers
        own.read = real  # type: ignore[method-assign]
        assert (await web.client.post(READINGS, json=body, headers=headers)).status_code == 200
        assert (await web.client.get("/readyz")).json() == {"ready": True}

    told(tmp_path, story)


def test_figures_are_of_the_machine_and_not_of_the_person(tmp_path: Path) -> None:
    async def figures(folder: Path, contexts: tuple[str, ...]) -> str:
        async with opened(folder, Wall()) as web:
            headers, source = web.bearer("owner", None), web.bearer("source")
            for one in readings(contexts, START.date()):
                latitude, longitude = one.position or (0.0, 0.0)
                body = {"time": one.instant / 1e6, "latitude": latitude, "longitude": longitude}
                await web.client.post(READINGS, json=body, headers=source)
            await web.pass_slots(4)
            text = (await web.client.get("/metrics", headers=headers)).text
            mine = ("discreet_started", "discreet_heard_seconds{")  # when it was heard last is for the owner
            return "\n".join(line for line in text.splitlines() if not line.startswith(mine))

    quiet = asyncio.run(figures(tmp_path / "quiet", ()))
    busy = asyncio.run(figures(tmp_path / "busy", ("home", "work", "clinic", "home")))
    assert quiet == busy
    assert "discreet_slots_told_total 4" in quiet
    assert "jane" not in quiet


def test_what_fails_inside_says_nothing_outside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def story(web: Web) -> None:
        def broken(*given: object) -> None:
            raise RuntimeError("at 48.1234 in the clinic")

        web.served.gateway.rows = broken  # type: ignore[method-assign, assignment]
        answer = await web.client.get(RELEASES, headers=web.bearer("application"))
        assert answer.status_code == 500
        assert "clinic" not in answer.text
        assert "48.1234" not in answer.text

    told(tmp_path, story)
    assert [record.__dict__["kind"] for record in caplog.records if record.name.startswith("discreet")] == [
        "RuntimeError"
    ]
