"""A sample of hostile requests: none is an error of ours, and each is answered as the description says."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from pathlib import Path

import httpx
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import DataError
from discreet.gateway.config.sections import Rates
from discreet.gateway.rate_limits import Rate
from discreet.gateway.store.own_store import Reading
from discreet.gateway.wires.openapi import PATHS
from discreet.gateway.wires.posted_readings import readings_of
from tests.gateway.fuzzed import Fuzz, Sent
from tests.gateway.web import Web, opened

FREE = Rates(Rate(1e9, 1e9), Rate(1e9, 1e9))
"""No limit, so that what stands behind it is reached."""

MORE = {"404", "405", "421", "413", "415"}
"""Answers of the server itself, whatever the route."""


async def answered(web: Web, sent: Sent) -> httpx.Response:
    """The answer; a stream is asked for its head alone, because it would not end."""
    method = "HEAD" if sent.url.partition("?")[0].endswith("/stream") and sent.method == "GET" else sent.method
    return await web.client.request(method, sent.url, headers=dict(sent.headers), content=sent.body)


def tokens_of(web: Web) -> list[str]:
    """Secrets of every purpose, and one that was revoked."""
    made = [web.bearer("source"), web.bearer("application"), web.bearer("application", view="family")]
    made += [web.bearer("application", now_only=True), web.bearer("application", "joe"), web.bearer("owner", None)]
    token, secret = web.served.access.add("application", "jane")
    web.served.access.revoke(token)
    return [one["Authorization"].removeprefix("Bearer ") for one in made] + [secret]


def described(sent: Sent) -> set[str] | None:
    """The statuses that the description has for a request; None for routes that are not in it."""
    path = sent.url.partition("?")[0]
    for template, methods in PATHS.items():
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path):
            method = {"HEAD": "get"}.get(sent.method, sent.method.lower())
            return {*methods[method]["responses"], *MORE} if method in methods else {"405", *MORE, "400"}
    return None


def test_a_thousand_hostile_requests(tmp_path: Path) -> None:
    async def story() -> Counter[int]:
        statuses: Counter[int] = Counter()
        async with opened(tmp_path, limits=FREE) as web:
            await web.pass_slots(20)
            fuzz = Fuzz(1, tokens_of(web))
            for _ in range(1000):
                sent = fuzz.request()
                answer = await answered(web, sent)
                assert answer.status_code < 500, sent
                assert "Traceback" not in answer.text
                known = described(sent)
                assert known is None or str(answer.status_code) in known, (sent, answer.status_code, answer.text)
                assert answer.headers["x-content-type-options"] == "nosniff"
                statuses[answer.status_code] += 1
        return statuses

    statuses = asyncio.run(story())
    assert {200, 400, 401, 403, 404, 405} <= set(statuses)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KEYS = ("time", "label", "latitude", "longitude", "accuracy", "source")
NEAR = st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, JSON)) | st.lists(JSON, max_size=3)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200) | NEAR.map(lambda one: json.dumps(one).encode()))
def test_a_body_is_readings_or_an_error(body: bytes) -> None:
    try:
        found = readings_of(body, "jane", "token")
    except DataError:
        return
    for one in found:
        assert isinstance(one, Reading)
        assert one.person == "jane"
        assert one.source.split("/")[0] == "token"
        assert 0 <= one.instant < 2**62
        assert one.position is not None or one.label is not None
