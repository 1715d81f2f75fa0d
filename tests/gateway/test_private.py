"""Nothing of a reading leaves: every byte that was answered and every line that was logged is searched for it."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from discreet.gateway import logs
from discreet.gateway.store.journal import JournalError
from tests.gateway.people import START
from tests.gateway.web import Web, events, listening_web

RAW: dict[str, list[Any]] = {
    "latitude": [48.1000317, 48.1500423, 48.2000519, 47.9123457],
    "longitude": [11.5000271, 11.5800339, 11.6000447, 10.7654329],
    "accuracy": [17.25, 33.125],
    "label": ["zanzibar", "the-oncologist"],
    "battery": [83.77],
    "ssid": ["HomeNet-7731"],
    "source": ["janes-telephone-9000"],
}
"""Positions are within the places and beside their public centres; the labels are in no vocabulary."""

MOMENTS = [START.timestamp() + k * 601.25 + 3.5 for k in range(48)]


def searched() -> list[str]:
    """Every raw value as a program might write it."""
    values = [str(value) for many in RAW.values() for value in many]
    values += [f"{value:.7f}" for key in ("latitude", "longitude") for value in RAW[key]]
    for moment in MOMENTS:
        values += [str(moment), str(int(moment)), str(int(moment * 1e6))]
    return values


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """Everything that any library logs, at every level, through the gateway's own handler."""
    root = logging.getLogger()
    before = {name: logging.getLogger(name).level for name in ("discreet", "uvicorn", "uvicorn.error")}
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    logs.set_up(stream, logging.DEBUG)
    root.setLevel(logging.DEBUG)
    for name in before:
        logging.getLogger(name).setLevel(logging.DEBUG)
    yield stream
    root.handlers[:], root.level = handlers, level
    for name, old in before.items():
        logging.getLogger(name).setLevel(old)


def hostile() -> Iterator[dict[str, Any] | list[Any]]:
    """Readings good and bad, each full of what must not leave."""
    for k, moment in enumerate(MOMENTS):
        where = k % len(RAW["latitude"])
        reading: dict[str, Any] = {
            "time": moment,
            "latitude": RAW["latitude"][where],
            "longitude": RAW["longitude"][where],
            "accuracy": RAW["accuracy"][k % 2],
            "source": RAW["source"][0],
        }
        yield reading
        yield {"time": moment, "label": RAW["label"][k % 2]}
        if k % 8 == 0:
            yield reading | {"battery": RAW["battery"][0]}
            yield [reading, {"time": moment, "ssid": RAW["ssid"][0]}]
            yield reading | {"latitude": str(RAW["latitude"][where])}
            yield reading | {"time": f"{moment} o'clock"}
            yield {"time": moment, "label": RAW["label"][0] + "\n"}


def received(answer: httpx.Response) -> str:
    """All of an answer."""
    return f"{answer.status_code} {answer.headers} {answer.text}"


async def lived(web: Web) -> str:
    """Four hours of hostile readings; everything that anybody was answered meanwhile."""
    callers = [web.bearer("application"), web.bearer("application", view="family"), web.bearer("owner", None), {}]
    source = web.bearer("source")
    got: list[str] = []
    async with web.client.stream("GET", "/v1/people/jane/stream", headers=callers[0]) as stream:
        lines = stream.aiter_lines()
        for number, body in enumerate(hostile()):
            web.wall.now = max(web.wall.now, MOMENTS[min(number // 2, len(MOMENTS) - 1)])
            got.append(received(await web.client.post("/v1/people/jane/readings", json=body, headers=source)))
            if number % 25 == 24:
                await web.pass_slot()
                got += [f"{name} {json.dumps(event)}" for name, event in await events(lines, 1)]
                for headers in callers:
                    for path in ("now", "releases", "releases?format=csv", "releases?from=x"):
                        got.append(received(await web.client.get(f"/v1/people/jane/{path}", headers=headers)))
                    for path in ("/metrics", "/healthz", "/v1/owner/tokens", "/openapi.json"):
                        got.append(received(await web.client.get(path, headers=headers)))
        got += await failing(web, source)
    return "\n".join(got)


async def failing(web: Web, source: dict[str, str]) -> list[str]:
    """What is answered when the inside fails with a reading in its mouth."""
    keeper = web.served.gateway.keeper
    real = keeper.own.read

    def full(given: Any) -> int:
        raise JournalError(f"cannot write {given}")

    keeper.own.read = full  # type: ignore[method-assign, assignment]
    body = {"time": MOMENTS[0], "latitude": RAW["latitude"][0], "longitude": RAW["longitude"][0]}
    got = [received(await web.client.post("/v1/people/jane/readings", json=body, headers=source))]
    keeper.own.read = real  # type: ignore[method-assign]

    def broken(*given: Any) -> Any:
        raise RuntimeError(f"at {RAW['latitude'][0]}, {RAW['label'][0]}")

    web.served.gateway.accept = broken  # type: ignore[method-assign, assignment]
    got.append(received(await web.client.post("/v1/people/jane/readings", json=body, headers=source)))
    assert [one[:3] for one in got] == ["503", "500"]

    async def forgotten() -> None:
        raise ValueError(f"{RAW['ssid'][0]} at {RAW['longitude'][0]}")

    task = asyncio.create_task(forgotten())
    await asyncio.sleep(0)
    del task  # asyncio logs an error that nobody asked for, with its text
    logging.getLogger("discreet.gateway").warning("read %s", RAW["label"][1], extra={"reading": RAW["latitude"][1]})
    logging.getLogger("somebody.elses").error(f"payload {RAW['ssid'][0]}")
    return got


def test_no_raw_value_leaves_in_any_byte_or_line(tmp_path: Path, logged: io.StringIO) -> None:
    async def story() -> str:
        async with listening_web(tmp_path) as web:
            told = await lived(web)
            assert len(web.served.gateway.keeper.own.readings("jane", 0)) == 2 * len(MOMENTS), "they are all inside"
            return told

    answered = asyncio.run(story())
    lines = logged.getvalue()
    assert answered.count('"slot"') > 20
    assert '"says": "read %s"' in lines, "the message as the program has it"
    assert '"from": "somebody.elses"' in lines
    assert "RuntimeError" in lines
    for value in searched():
        assert value not in answered, value
        assert value not in lines, value
    for line in lines.splitlines():
        assert set(json.loads(line)) <= {"time", "level", "from", "says", "at", *logs.FIELDS}


def test_words_of_the_log_stand_by_themselves() -> None:
    """What a message would be filled with is left out, so that one which is only filled in says nothing."""
    found = 0
    for file in Path(logs.__file__).parent.rglob("*.py"):
        for said in re.findall(r"LOG\.\w+\(\s*f?\"([^\"]*)\"", file.read_text(encoding="utf-8")):
            assert "%" not in said, f"{file.name}: {said}"
            found += 1
    assert found > 5
