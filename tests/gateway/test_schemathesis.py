"""Schemathesis over the description of the routes: what it makes of each operation is answered as the description says.

A gateway for every kind of caller, at a port of its own. Only `make audit` runs it.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from discreet.gateway.wires.openapi import DOCUMENT, PATHS
from discreet.models.store import save
from tests.gateway.first import empty_web, enter
from tests.gateway.people import START
from tests.gateway.web import ROUTINE, Wall, Web

pytestmark = pytest.mark.audit

SETTINGS = """
[clock]
zone = "UTC"
slots = 12
[people.jane]
routine = "jane.model"
policy = "policy.toml"
[views.family]
groups = { home = ["home"] }
[limits]
application = 1000
source = 1000
"""

NOT_ASKED = {
    "/v1/people/{person}/stream": "it does not end",
    "/v1/owner/logout": "it would end the session that all others need",
    "/v1/owner/logout/everywhere": "likewise",
    "/v1/owner/password": "likewise",
}

CALLERS: dict[str, str] = {
    "nobody": "",
    "source": "readings|/pub|/owntracks",
    "application": "/v1/people|/api/0|/v1/gets",
    "owner": "/v1/owner|/metrics|/v1/people",
    "in person": "/v1/owner",
}
"""Who calls, and a pattern of what is asked for: all, for who has no credential; what gets further, for others."""

EXAMPLES = 10
"""Cases that chance makes of an operation, beside those of its limits."""


async def credentials(web: Web, caller: str) -> dict[str, str]:
    """The headers that a caller sends."""
    match caller:
        case "source" | "application":
            return web.bearer(caller)
        case "owner":
            return web.bearer("owner", None)
        case "in person":
            await enter(web)
            cookie = "; ".join(f"{name}={value}" for name, value in web.client.cookies.items())
            return {"Cookie": cookie, "X-CSRF-Token": web.client.headers["X-CSRF-Token"]}
    return {}


@contextmanager
def running(folder: Path, caller: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The address of a gateway that runs in a thread, and the headers of a caller."""
    ready: list[tuple[str, dict[str, str]]] = []
    begun, over = threading.Event(), threading.Event()
    folder.mkdir()
    save(folder / "jane.model", ROUTINE)
    (folder / "policy.toml").write_text('delta = 0.1\n[[secret]]\ncontexts = ["clinic"]\n', encoding="utf-8")

    async def serve() -> None:
        async with empty_web(folder, Wall(START.timestamp()), SETTINGS) as web:
            await web.pass_slots(20)
            ready.append((str(web.client.base_url), await credentials(web, caller)))
            begun.set()
            while not over.is_set():
                await asyncio.sleep(0.05)

    def whole() -> None:
        try:
            asyncio.run(serve())
        finally:
            begun.set()

    thread = threading.Thread(target=whole)
    thread.start()
    begun.wait()
    try:
        yield ready[0]
    finally:
        over.set()
        thread.join()


def configuration(address: str, headers: dict[str, str], caller: str) -> dict[str, Any]:
    """What schemathesis is told."""
    checks: dict[str, Any] = {}
    if caller not in ("source", "application"):
        # What the owner may ask for is bounded by files, habits and steps, which no description can state.
        checks["positive_data_acceptance"] = {"enabled": False}
    if caller == "in person":
        # The session's cookie and csrf are in every request, also where their absence is to be tried: that is what
        # test_authorization does, for every route.
        checks["missing_required_header"] = checks["ignored_auth"] = {"enabled": False}
    return {
        "base-url": address,
        "headers": headers,
        "parameters": {"after": "2026-03-02.5"},  # a date is more than a pattern of one
        "generation": {"max-examples": EXAMPLES, "deterministic": True, "with-security-parameters": not headers},
        "phases": {"stateful": {"enabled": False}},
        "checks": checks,
        "operations": [{"include-path": path, "enabled": False} for path in NOT_ASKED],
    }


@pytest.mark.parametrize("caller", list(CALLERS))
def test_every_operation_is_as_described(caller: str, tmp_path: Path) -> None:
    schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed (discreet[dev])")
    from schemathesis.config import SchemathesisConfig
    from schemathesis.engine import events

    wanted = [path for path in PATHS if re.search(CALLERS[caller], path) and path not in NOT_ASKED]
    asked, failed = set(), []
    with running(tmp_path / "home", caller) as (address, headers):
        told = SchemathesisConfig.from_dict(configuration(address, headers, caller))
        document = {**DOCUMENT, "paths": {path: PATHS[path] for path in wanted}}
        schema = schemathesis.openapi.from_dict(document, config=told)
        for event in schemathesis.engine.from_schema(schema).execute():
            if isinstance(event, events.ScenarioFinished):
                asked.add(event.recorder.label)
                checks = [check for some in event.recorder.checks.values() for check in some]
                failed += [
                    f"{event.recorder.label}: {check.name}: {check.failure_info.failure.message}\n"
                    f"{check.failure_info.code_sample}"
                    for check in checks
                    if check.failure_info is not None
                ]
            elif isinstance(event, events.NonFatalError | events.FatalError):
                failed.append(f"schemathesis itself: {event}")
    described = {f"{method.upper()} {path}" for path in wanted for method in PATHS[path]}
    assert not failed, "\n\n".join(dict.fromkeys(failed))
    assert asked == described, "every operation was asked for"
