"""Slots go first: reads leave the event loop, take turns, cost what they read, and wait while slots are decided."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from discreet.gateway.auth.tokens import Grant
from discreet.gateway.config.sections import Keeping, Rates
from discreet.gateway.rate_limits import Rate, RateLimit
from discreet.gateway.slots.precedence import Gate
from discreet.gateway.store.journal import SqliteJournal
from discreet.gateway.wires.reads import PIECE, WAITING
from tests.gateway.people import START, person_config
from tests.gateway.web import ROUTINE, Wall, Web, events, listening_web, opened

LOCATIONS = "/api/0/locations?from=2020-01-01T00:00:00"
STREAM = "/v1/people/jane/stream"


def watched(monkeypatch: pytest.MonkeyPatch, before: Callable[[], None]) -> None:
    """Call this at each page of the journal that is read."""
    real = SqliteJournal.page

    def page(self: SqliteJournal, *given: Any, **options: Any) -> Any:
        before()
        return real(self, *given, **options)

    monkeypatch.setattr(SqliteJournal, "page", page)


def test_the_journal_is_never_read_on_the_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with listening_web(tmp_path) as web:
            headers = web.bearer("application")
            await web.pass_slots(3)
            threads: list[bool] = []
            watched(monkeypatch, lambda: threads.append(threading.current_thread() is threading.main_thread()))
            paths = (LOCATIONS, "/api/0/last", "/v1/people/jane/now", "/v1/people/jane/releases", "/v1/gets")
            for path in paths:
                assert (await web.client.get(path, headers=headers)).status_code == 200, path
            more = headers | {"Last-Event-ID": "2020-01-01.0"}
            async with web.client.stream("GET", STREAM, headers=more) as answer:
                assert len(await events(answer.aiter_lines(), 3)) == 3
            assert len(threads) >= len(paths)
            assert not any(threads)

    asyncio.run(story())


def test_one_request_of_a_token_at_a_time_and_few_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with opened(tmp_path) as web:
            one, other = web.bearer("application"), web.bearer("application")
            await web.pass_slots(1)
            held = threading.Event()
            watched(monkeypatch, lambda: _ignored(held.wait(10)))
            asked = [asyncio.create_task(web.client.get(LOCATIONS, headers=one)) for _ in range(2 * WAITING)]
            refused = [await task for task in asyncio.as_completed(asked[WAITING:])]
            assert [answer.status_code for answer in refused] == [429] * WAITING
            assert refused[0].headers["retry-after"] == "1"
            another = asyncio.create_task(web.client.get(LOCATIONS, headers=other))
            held.set()
            assert (await another).status_code == 200, "a token of its own"
            assert [(await task).status_code for task in asked[:WAITING]] == [200] * WAITING
            assert (await web.client.get(LOCATIONS, headers=one)).status_code == 200

    asyncio.run(story())


def test_a_tokens_turn_begins_when_the_one_before_is_done(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path) as web:
            reads, seen = web.served._reads, []

            async def asking(token: str) -> None:
                async with reads.of(Grant(token, "application", "jane")):
                    seen.append(f"{token} begins")
                    await asyncio.sleep(0.05)
                    seen.append(f"{token} ends")

            await asyncio.gather(asking("one"), asking("one"), asking("two"))
            mine = [word for word in seen if word.startswith("one")]
            assert mine == ["one begins", "one ends"] * 2
            assert seen.index("two begins") < seen.index("one ends"), "another token does not wait for it"

    asyncio.run(story())


def test_a_request_costs_what_it_reads(tmp_path: Path) -> None:
    """Two and a half pieces of rows are as much as five requests."""

    async def story() -> None:
        rates = Rates(application=Rate(8, 0.001))
        async with opened(tmp_path, limits=rates) as web:
            keeper = web.served.gateway.keeper
            web.wall.now += (5 * PIECE // 2) * 7200.0  # away for long: as many slots are skipped
            await web.served.gateway.tell(await web.served.gateway.between_slots(partial(keeper.turn, web.wall.now)))
            cheap, dear = web.bearer("application"), web.bearer("application")
            for _ in range(7):
                assert (await web.client.get("/v1/people/jane/now", headers=cheap)).status_code == 200
            answer = await web.client.get("/v1/people/jane/releases", headers=dear)
            assert len(answer.json()["releases"]) >= 2 * PIECE
            codes = [(await web.client.get("/v1/people/jane/now", headers=dear)).status_code for _ in range(4)]
            assert codes[0] == 200
            assert codes[-1] == 429

    asyncio.run(story())


def test_a_limit_can_be_charged_more_than_is_there() -> None:
    wall = Wall(0.0)
    limit = RateLimit(Rate(3, 1.0), wall)
    limit.charge("a", 5)
    assert limit.wait("a") == 3.0
    wall.now += 3
    assert limit.wait("a") == 0


def test_a_gate_lets_nobody_wait_for_ever() -> None:
    async def story() -> None:
        gate = Gate(longest=0.05)
        with gate.held():
            began = time.monotonic()
            await gate.passed()
            assert time.monotonic() - began >= 0.04
        await asyncio.wait_for(gate.passed(), 10)

    asyncio.run(story())


def _ignored(value: object) -> None:
    """A call for what it does."""


class Passing(Wall):
    """A clock that goes on from an instant, as soon as it is asked to."""

    began: float | None = None

    def __call__(self) -> float:
        return self.now if self.began is None else self.now + time.monotonic() - self.began


async def crowding(web: Web, headers: dict[str, str]) -> None:
    while True:
        await web.client.get(LOCATIONS, headers=headers)


def test_a_crowd_and_the_owners_questions_hold_up_no_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every read takes half a second, and trying a change three; an event leaves at its margin all the same.

    A crowd holds up every event, and a busy machine one of them: of four, one has to be in time.
    """
    real = time.sleep
    watched(monkeypatch, lambda: real(0.5))
    monkeypatch.setattr("discreet.gateway.slots.keeper.changed", lambda *given: real(3))
    people = [person_config(name, ROUTINE, outputs="suppress") for name in ("jane", "joe")]

    async def story() -> None:
        wall = Passing()
        async with listening_web(tmp_path, wall, people, keeping=Keeping(margin=1.0)) as web:
            await web.pass_slots(1)
            boundary = web.served.gateway.keeper.next
            owner = web.served.owner
            cookie = owner._opened()
            session = owner.session(cookie)
            assert session is not None
            mine = {**web.cookie(cookie), "X-CSRF-Token": session.csrf}
            async with web.client.stream(
                "GET", "/v1/people/joe/stream", headers=web.bearer("application", "joe")
            ) as one:
                lines = one.aiter_lines()
                await events(lines, 1)
                wall.now, wall.began = boundary - 1.0, time.monotonic()
                crowd = [asyncio.create_task(crowding(web, web.bearer("application"))) for _ in range(8)]
                draft = {"secrets": [{"name": "clinic", "contexts": ["clinic"], "delta": 0.05}]}
                path = "/v1/owner/people/jane/secrets/preview"
                asking = asyncio.create_task(web.client.post(path, json=draft, headers=mine))
                late: list[float] = []
                while len(late) < 4 and min(late, default=1.0) >= 0.3:
                    if late:  # on to just before the next boundary
                        boundary = web.served.gateway.keeper.next
                        wall.now, wall.began = boundary - 1.0, time.monotonic()
                    told = wall.began + 2.0
                    ((name, _),) = await events(lines, 1)
                    late.append(time.monotonic() - told)
                    assert name == f"{START.date()}.{len(late)}"
                    assert late[-1] > -0.05
                assert min(late) < 0.3
                for task in crowd:
                    task.cancel()
                await asyncio.gather(*crowd, return_exceptions=True)
                assert (await asking).status_code == 202

    asyncio.run(story())
