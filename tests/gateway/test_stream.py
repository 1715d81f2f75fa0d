"""Streams over a real server: no gap, no repeat, an end when the token ends, and beats that tell nothing."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from discreet.gateway.auth.login import SESSION, SESSIONS
from discreet.gateway.auth.tokens import Access
from discreet.gateway.forms import event_id
from discreet.gateway.wires.sse import MOST
from tests.gateway.people import START, readings
from tests.gateway.web import Wall, Web, events, listening_web, opened

STREAM = "/v1/people/jane/stream"


async def opened_streams(web: Web, count: int) -> None:
    """Wait until so many are open."""
    for _ in range(12_000):
        if len(web.served.streams) == count:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{len(web.served.streams)} streams are open instead of {count}")


def test_the_present_then_each_slot_and_after_a_restart_what_was_missed(tmp_path: Path) -> None:
    wall = Wall()
    seen: list[str] = []
    expected: list[str] = []

    async def first() -> dict[str, str]:
        async with listening_web(tmp_path, wall) as web:
            headers = web.bearer("application")
            expected.extend(event_id(row.key) for row in await web.pass_slots(3))
            async with web.client.stream("GET", STREAM, headers=headers) as answer:
                assert answer.headers["content-type"].startswith("text/event-stream")
                assert "server" not in answer.headers
                lines = answer.aiter_lines()
                ((name, event),) = await events(lines, 1)
                assert name == expected[-1], "the present comes at once"
                assert event["slot"] == 2
                seen.append(name)
                expected.extend(event_id(row.key) for row in await web.pass_slots(2))
                seen.extend(name for name, _ in await events(lines, 2))
            expected.extend(event_id(row.key) for row in await web.pass_slots(2))
            return headers

    async def second(headers: dict[str, str]) -> None:
        async with listening_web(tmp_path, wall) as web:
            expected.extend(event_id(row.key) for row in await web.pass_slots(2))
            again = {**headers, "Last-Event-ID": seen[-1]}
            async with web.client.stream("GET", STREAM, headers=again) as answer:
                lines = answer.aiter_lines()
                seen.extend(name for name, _ in await events(lines, 4))
                expected.extend(event_id(row.key) for row in await web.pass_slots(1))
                seen.extend(name for name, _ in await events(lines, 1))

    headers = asyncio.run(first())
    asyncio.run(second(headers))
    assert seen == expected[2:]
    assert len(set(seen)) == len(seen)


def test_revoking_closes_a_stream_whoever_does_it_and_leaves_others(tmp_path: Path) -> None:
    async def story() -> None:
        async with listening_web(tmp_path) as web:
            await web.pass_slots(1)
            doomed, other = web.bearer("application"), web.bearer("application")
            by_secret = web.served.access.grant(doomed["Authorization"].removeprefix("Bearer "))
            assert by_secret is not None
            async with (
                web.client.stream("GET", STREAM, headers=doomed) as one,
                web.client.stream("GET", STREAM, headers=other) as two,
            ):
                first, second = one.aiter_lines(), two.aiter_lines()
                await events(first, 1)
                await events(second, 1)
                command = Access(tmp_path / "access.db")  # as another process does
                began = time.monotonic()
                assert command.revoke(by_secret.token)
                command.close()
                left = [line async for line in first]
                assert time.monotonic() - began < 10, "within a look, which is a second, on a machine that is busy"
                assert [line for line in left if line.startswith("data")] == []
                await web.pass_slots(1)
                assert len(await events(second, 1)) == 1
            assert (await web.client.get(STREAM, headers=doomed)).status_code == 401

    asyncio.run(story())


def test_a_stream_by_cookie_ends_with_the_session(tmp_path: Path) -> None:
    """Twelve hours after logging in, at logging out, and where too many sessions make the oldest give way."""

    async def story() -> None:
        async with listening_web(tmp_path) as web:
            await web.pass_slots(1)
            owner, moment = web.served.owner, [0.0]
            owner._clock = lambda: moment[0]
            first = owner._opened()
            cookies = web.cookie(first)
            async with web.client.stream("GET", STREAM, headers=cookies) as one:
                lines = one.aiter_lines()
                assert len(await events(lines, 1)) == 1
                moment[0] = SESSION - 1
                await asyncio.sleep(1.2)  # a look
                assert len(web.served.streams) == 1
                moment[0] = SESSION
                assert [line async for line in lines if line.startswith("data")] == []
            assert (await web.client.get(STREAM, headers=cookies)).status_code == 401
            second = owner._opened()
            async with web.client.stream("GET", STREAM, headers=web.cookie(second)) as two:
                lines = two.aiter_lines()
                assert len(await events(lines, 1)) == 1
                for _ in range(SESSIONS):
                    owner._opened()
                assert [line async for line in lines if line.startswith("data")] == []

    asyncio.run(story())


def test_the_present_alone_has_no_backlog(tmp_path: Path) -> None:
    async def story() -> None:
        async with listening_web(tmp_path) as web:
            rows = await web.pass_slots(5)
            names = [event_id(row.key) for row in rows]
            headers = web.bearer("application", now_only=True)
            for last, expected in ((None, names[4]), (names[0], names[4]), (names[3], names[4])):
                more = {} if last is None else {"Last-Event-ID": last}
                async with web.client.stream("GET", STREAM, headers={**headers, **more}) as answer:
                    assert [name for name, _ in await events(answer.aiter_lines(), 1)] == [expected]
            async with web.client.stream("GET", STREAM, headers={**headers, "Last-Event-ID": names[4]}) as answer:
                lines = answer.aiter_lines()
                await opened_streams(web, 1)
                (row,) = await web.pass_slot()
                assert [name for name, _ in await events(lines, 1)] == [event_id(row.key)], "and no repeat"

    asyncio.run(story())


def test_names_that_cannot_be_are_refused_and_too_many_streams(tmp_path: Path) -> None:
    async def story() -> None:
        async with listening_web(tmp_path) as web:
            headers = web.bearer("application")
            early = await web.client.get(STREAM, headers={**headers, "Last-Event-ID": "2026-03-02.0"})
            assert early.status_code == 409, "nothing was told yet"
            await web.pass_slots(2)
            for last, status in (("x", 400), ("2026-03-02", 400), ("2026-03-02.-1", 400), ("2027-01-01.0", 409)):
                answer = await web.client.get(STREAM, headers={**headers, "Last-Event-ID": last})
                assert answer.status_code == status, last
            open_now = [web.client.stream("GET", STREAM, headers=headers) for _ in range(MOST)]
            for one in open_now:
                await one.__aenter__()
            assert (await web.client.get(STREAM, headers=headers)).status_code == 429
            for one in open_now:
                await one.__aexit__(None, None, None)
            await opened_streams(web, 0)  # readers that left are noticed before anything is sent

    asyncio.run(story())


def test_beats_go_out_at_the_same_moments_whatever_is_decided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two readers, one of whom came later, hear them together; an output between two beats moves none.

    When they are heard depends on how busy the machine is, so it is looked at until when a stream waits.
    """
    real, until = asyncio.wait, list[float]()

    async def wait(tasks: Any, *, timeout: float | None = None, return_when: str = asyncio.ALL_COMPLETED) -> Any:
        if timeout is not None:
            until.append(asyncio.get_running_loop().time() + timeout)
        return await real(tasks, timeout=timeout, return_when=return_when)

    monkeypatch.setattr("discreet.gateway.wires.sse.asyncio.wait", wait)

    async def story() -> None:
        beat = 0.8
        async with listening_web(tmp_path, beat=beat) as web:
            headers = web.bearer("application")

            async def beats(count: int) -> None:
                async with web.client.stream("GET", STREAM, headers=headers) as answer:
                    async for line in answer.aiter_lines():
                        count -= line == ":"
                        if count == 0:
                            return

            first = asyncio.create_task(beats(4))
            await asyncio.sleep(1.2)  # half a beat later than the first
            second = asyncio.create_task(beats(3))
            await opened_streams(web, 2)
            await web.pass_slot(*readings(("home",), START.date()))
            await asyncio.gather(first, second)
            assert len(until) >= 7
            away = [abs(moment / beat - round(moment / beat)) for moment in until]
            assert max(away) < 0.1, "of a beat, from its multiples"

    asyncio.run(story())


def test_stopping_lets_readers_go_and_goes_on_after_it(tmp_path: Path) -> None:
    async def story() -> None:
        wall = Wall()
        async with listening_web(tmp_path, wall) as web:
            headers = web.bearer("application")
            await web.pass_slots(1)
            reader = httpx.AsyncClient(base_url=web.client.base_url, timeout=120)
            answer = await reader.send(reader.build_request("GET", STREAM, headers=headers), stream=True)
            lines = answer.aiter_lines()
            await events(lines, 1)
            began = time.monotonic()
        assert [line async for line in lines if line.startswith("data")] == []
        assert time.monotonic() - began < 20
        await reader.aclose()
        async with listening_web(tmp_path, wall) as web:
            assert (await web.client.get("/v1/people/jane/now", headers=headers)).status_code == 200

    asyncio.run(story())


def test_an_identity_is_compared_with_what_was_told_and_not_with_what_is_decided(tmp_path: Path) -> None:
    """Between the two lies the margin; an answer that changes before it tells when a slot was decided."""

    async def story() -> None:
        async with opened(tmp_path) as web:
            await web.pass_slots(1)
            keeper, gateway = web.served.gateway.keeper, web.served.gateway
            headers = web.bearer("application") | {"Last-Event-ID": "2026-03-02.1"}
            web.wall.now = keeper.next - 1
            assert (await web.client.head(STREAM, headers=headers)).status_code == 409
            rows = await gateway.between_slots(partial(keeper.turn, keeper.next))
            assert [row.key for row in rows] == [(START.date(), 1)]
            assert (await web.client.head(STREAM, headers=headers)).status_code == 409, "decided, and not told"
            await gateway.tell(rows)
            assert (await web.client.head(STREAM, headers=headers)).status_code == 200

    asyncio.run(story())


@pytest.mark.parametrize("digits", [7, 19, 4000, 5000])
def test_an_identity_with_a_huge_number_is_none_of_ours(tmp_path: Path, digits: int) -> None:
    async def story() -> None:
        async with opened(tmp_path) as web:
            await web.pass_slots(1)
            for date in ("2020-01-01", "2026-03-02"):
                headers = web.bearer("application") | {"Last-Event-ID": f"{date}.{'9' * digits}"}
                assert (await web.client.get(STREAM, headers=headers)).status_code == 400

    asyncio.run(story())


def test_an_application_that_is_ahead_writes_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with opened(tmp_path) as web:
            headers = web.bearer("application") | {"Last-Event-ID": "2030-01-01.0"}
            for _ in range(5):
                assert (await web.client.get(STREAM, headers=headers)).status_code == 409

    asyncio.run(story())
    assert len([one for one in caplog.records if "seen more" in one.msg]) == 1
