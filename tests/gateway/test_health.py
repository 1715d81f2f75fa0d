"""Whether it runs and whether it is ready: for anybody; why not: for the owner; in the log: once."""

from __future__ import annotations

import asyncio
import logging
from collections import namedtuple
from pathlib import Path

import pytest

from discreet.gateway.health import Health
from discreet.gateway.runtime import Gateway
from discreet.gateway.store.journal import JournalError
from tests.gateway.people import START, habits, keeper, person_config, readings
from tests.gateway.test_runtime import Wall, eventually
from tests.gateway.web import Web, opened

ROUTINE = habits()


def test_one_line_when_it_breaks_and_one_when_it_is_back(caplog: pytest.LogCaptureFixture) -> None:
    health = Health()
    with caplog.at_level(logging.INFO, "discreet"):
        for number in range(100):
            health.broken("disk", "the disk is full", f"try {number}")
        health.mended("clock")
        assert [one.words for one in health.reasons] == ["try 99"]
        health.mended("disk")
        health.mended("disk")
    assert [(line.levelname, line.part) for line in caplog.records] == [("ERROR", "disk"), ("WARNING", "disk")]  # type: ignore[attr-defined]


def test_a_journal_that_cannot_be_written_is_said_once_and_once_when_it_can(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.gateway.runtime.CLOCK_CHECK", 0.01)

    async def story() -> None:
        wall = Wall(START.timestamp())
        one = keeper(tmp_path, wall(), person_config(routine=ROUTINE, outputs="suppress"))
        tries = []

        def full(*_: object) -> None:
            tries.append(1)
            raise JournalError("disk full")

        async with Gateway(one, wall=wall).running() as gateway:
            real, one.journal.append = one.journal.append, full  # type: ignore[method-assign, assignment]
            wall.now = one.next
            await eventually(lambda: len(tries) > 20)
            assert [reason.what for reason in gateway.health.reasons] == ["slots"]
            one.journal.append = real  # type: ignore[method-assign]
            await eventually(lambda: gateway.health.ready)

    with caplog.at_level(logging.INFO, "discreet"):
        asyncio.run(story())
    assert [line.levelname for line in caplog.records] == ["ERROR", "WARNING"]


def test_a_lost_journal_and_a_full_disk_are_seen_between_slots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.gateway.runtime.DISK_CHECK", 0.01)
    usage = namedtuple("usage", "free")  # what shutil gives

    async def story() -> None:
        one = keeper(tmp_path, START.timestamp(), person_config(routine=ROUTINE, outputs="suppress"))
        async with Gateway(one, wall=Wall(START.timestamp())).running() as gateway:
            real = one.journal.mark

            def lost() -> str | None:
                raise JournalError("the server is away")

            one.journal.mark = lost  # type: ignore[method-assign]
            await eventually(lambda: [reason.what for reason in gateway.health.reasons] == ["journal"])
            one.journal.mark = real  # type: ignore[method-assign]
            await eventually(lambda: gateway.health.ready)
            with monkeypatch.context() as patch:
                patch.setattr("shutil.disk_usage", lambda _: usage(1000))
                await eventually(lambda: [reason.what for reason in gateway.health.reasons] == ["disk"])
            await eventually(lambda: gateway.health.ready)

    asyncio.run(story())


def test_alive_and_ready_differ_and_reasons_are_for_the_owner(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        health = web.served.gateway.health
        health.broken("telling the broker", "the broker is away", "its address is 10.0.0.7")
        application = web.bearer("application")
        for headers in ({}, application, web.bearer("source"), {"Authorization": "Bearer wrong"}):
            alive, ready = [await web.client.get(path, headers=headers) for path in ("/healthz", "/readyz")]
            assert (alive.status_code, alive.json()) == (200, {"ok": True})
            assert (ready.status_code, ready.json()) == (503, {"ready": False})
        owner = (await web.client.get("/readyz", headers=web.bearer("owner", None))).json()
        reasons = [{"part": "telling the broker", "words": "its address is 10.0.0.7"}]
        assert owner == {"ready": False, "reasons": reasons}
        health.mended("telling the broker")
        assert (await web.client.get("/readyz")).status_code == 200
        web.served.gateway._tasks[0].cancel()
        await eventually(lambda: not web.served.gateway.at_work)
        assert (await web.client.get("/healthz")).status_code == 503
        assert (await web.client.get("/readyz")).status_code == 503

    asyncio.run(_told(tmp_path, story))


def test_only_the_owner_accepts_a_clock_and_only_one_that_is_held(tmp_path: Path) -> None:
    async def story() -> None:
        steady = [1000.0]
        async with opened(tmp_path, steady=lambda: steady[0]) as web:
            document = {"token": web.served.owner.first, "password": "correct horse"}
            csrf = {"X-CSRF-Token": (await web.client.post("/v1/owner/first", json=document)).json()["csrf"]}
            assert (await web.client.post("/v1/owner/clock", headers=csrf)).status_code == 409
            before = web.wall.now
            web.wall.now += 86_400
            assert web.served.gateway.wall() == before
            token = web.bearer("owner", None)
            web.client.cookies, cookies = type(web.client.cookies)(), web.client.cookies
            assert (await web.client.post("/v1/owner/clock", headers=token)).status_code == 403
            web.client.cookies = cookies
            assert (await web.client.post("/v1/owner/clock", headers=csrf)).status_code == 204
            assert web.served.gateway.wall() == before + 86_400

    asyncio.run(story())


def test_readings_that_cannot_be_written_make_it_unready(tmp_path: Path) -> None:
    async def story() -> None:
        one = keeper(tmp_path, START.timestamp(), person_config(routine=ROUTINE, outputs="suppress"))
        async with Gateway(one, wall=Wall(START.timestamp() + 7200)).running() as gateway:

            def full(_: object) -> int:
                raise JournalError("disk full")

            real, one.own.read = one.own.read, full  # type: ignore[method-assign, assignment]
            with pytest.raises(JournalError):
                await gateway.accept(list(readings(("home",), START.date())))
            assert [reason.what for reason in gateway.health.reasons] == ["readings"]
            one.own.read = real  # type: ignore[method-assign]
            await gateway.accept(list(readings(("home",), START.date())))
            assert gateway.health.ready

    asyncio.run(story())


async def _told(folder: Path, story: object) -> None:
    async with opened(folder) as web:
        await story(web)  # type: ignore[operator]
