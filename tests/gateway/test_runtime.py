"""The gateway at work: readings are on disk when their sender is answered, and rows leave on time, once each."""

from __future__ import annotations

import asyncio
import datetime as dt
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.gateway.runtime import Gateway
from discreet.gateway.store.journal import JournalError, JournalRow
from discreet.gateway.store.journal.base import Key
from tests.gateway.people import START, closed, habits, keeper, person_config, readings

ROUTINE = habits()


class Wall:
    """A clock that runs as fast as it is told to."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


async def eventually(holds: Callable[[], bool]) -> None:
    """Wait until something holds; a busy machine may take its time."""
    until = time.monotonic() + 300
    while not holds():
        if time.monotonic() > until:
            pytest.fail("it did not happen within five minutes")
        await asyncio.sleep(0.01)


def opened(folder: Path, wall: Wall) -> Gateway:
    return Gateway(keeper(folder, wall(), person_config(routine=ROUTINE, outputs="suppress"), margin=2.0), wall=wall)


async def hear(gateway: Gateway, heard: list[JournalRow], after: Key | None) -> None:
    async for row in gateway.listen("jane", after):
        heard += [row]


def test_answered_when_on_disk_and_refused_when_in_the_future(tmp_path: Path) -> None:
    async def story() -> None:
        wall = Wall(START.timestamp())
        async with opened(tmp_path, wall).running() as gateway:
            batch = list(readings(("home",) * 3, START.date()))
            answers = await asyncio.gather(*(gateway.accept([one]) for one in batch))
            assert answers == [0 if one.instant / 1e6 <= wall() + 120 else 1 for one in batch]
            kept = gateway.keeper.own.readings("jane", 0)
            assert [one.instant for one in kept] == [one.instant for one in batch if one.instant / 1e6 <= wall() + 120]

    asyncio.run(story())


def test_a_sender_learns_that_nothing_could_be_written(tmp_path: Path) -> None:
    async def story() -> None:
        wall = Wall(START.timestamp() + 7200)
        async with opened(tmp_path, wall).running() as gateway:

            def full(_: object) -> int:
                raise JournalError("disk full")

            real, gateway.keeper.own.read = gateway.keeper.own.read, full  # type: ignore[method-assign, assignment]
            with pytest.raises(JournalError):
                await gateway.accept(list(readings(("home",), START.date())))
            gateway.keeper.own.read = real  # type: ignore[method-assign]
            assert await gateway.accept(list(readings(("home",), START.date()))) == 0

    asyncio.run(story())


def test_nobody_sees_a_row_before_it_leaves_and_listeners_miss_none(tmp_path: Path) -> None:
    async def story() -> None:
        wall = Wall(START.timestamp())
        async with opened(tmp_path, wall).running() as gateway:
            heard: list[JournalRow] = []

            first = asyncio.create_task(hear(gateway, heard, None))
            await asyncio.sleep(0)
            assert gateway.rows("jane") == []
            end = gateway.keeper.next
            wall.now = end + 0.5
            await eventually(lambda: gateway.keeper.journal.last("jane") is not None)
            assert gateway.rows("jane") == [], "and not told yet"
            wall.now = end + 2.0
            await eventually(lambda: bool(heard))
            assert [row.key for row in gateway.rows("jane")] == [(START.date(), 0)]
            assert [row.key for row in heard] == [(START.date(), 0)]
            first.cancel()
            again: list[JournalRow] = []

            second = asyncio.create_task(hear(gateway, again, (START.date() - dt.timedelta(days=1), 11)))
            await eventually(lambda: bool(again))
            assert again == heard
            second.cancel()

    asyncio.run(story())


def test_a_reading_that_no_database_takes_is_its_senders_alone(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path, Wall(START.timestamp() + 7200)).running() as gateway:
            good = next(readings(("home",), START.date()))
            bad = replace(good, label="\ud800")
            answers = await asyncio.gather(gateway.accept([good]), gateway.accept([bad]), return_exceptions=True)
            assert answers[0] == 0
            assert isinstance(answers[1], UnicodeEncodeError)
            assert await gateway.accept([good]) == 0, "the gateway goes on"
            assert len(gateway.keeper.own.readings("jane", 0)) == 1

    asyncio.run(story())


def test_the_last_row_is_told_again_after_a_start_and_a_sender_that_fails_keeps_nothing_from_others(
    tmp_path: Path,
) -> None:
    """A machine that stopped between writing and telling: the row leaves with the same identity, when it is due."""
    wall = Wall(START.timestamp())
    before = keeper(tmp_path, wall(), person_config(routine=ROUTINE, outputs="suppress"))
    end = before.next
    (row,) = before.turn(end)
    closed(before)
    wall.now = end + 0.5

    async def story() -> None:
        heard: list[JournalRow] = []

        async def unreachable(_: Sequence[JournalRow]) -> None:
            raise OSError

        async def send(rows: Sequence[JournalRow]) -> None:
            heard.extend(rows)

        gateway = opened(tmp_path, wall)
        gateway.on_told(unreachable)
        gateway.on_told(send)
        async with gateway.running():
            await asyncio.sleep(0.05)
            assert gateway.rows("jane") == [], "before its time nobody reads it"
            wall.now = end + 2.0
            await eventually(lambda: bool(heard))
            assert heard == gateway.rows("jane") == [row]

    asyncio.run(story())


def test_whatever_fails_at_a_boundary_the_clock_goes_on(tmp_path: Path) -> None:
    async def story() -> None:
        wall = Wall(START.timestamp())
        async with opened(tmp_path, wall).running() as gateway:
            real = gateway.keeper.step

            def broken(now: float) -> bool:
                gateway.keeper.step = real  # type: ignore[method-assign]
                raise ZeroDivisionError

            gateway.keeper.step = broken  # type: ignore[method-assign]
            end = gateway.keeper.next
            wall.now = end + 5.0
            await eventually(lambda: not gateway.health.ready)
            await eventually(lambda: gateway.health.ready)
            wall.now = end + 30.0
            await eventually(lambda: len(gateway.rows("jane")) == 1)
            assert gateway.at_work

    asyncio.run(story())


def test_a_slot_that_ends_waits_for_one_persons_kernel_and_not_for_everybodys(tmp_path: Path) -> None:
    async def story() -> None:
        now = START.timestamp()
        wall = Wall(now)
        one = keeper(tmp_path, now, person_config("jane", ROUTINE), person_config("joe", ROUTINE))
        gateway, asked = Gateway(one, wall=wall), []
        prepare, step = one.prepare, one.step

        def preparing(*names: str) -> None:
            asked.append(names)
            wall.now = max(wall.now, one.next + 3)  # it takes until after the slot's end
            prepare(*names)

        def stepping(now: float) -> bool:
            asked.append(("a step",))
            return step(now)

        one.prepare, one.step = preparing, stepping  # type: ignore[method-assign]
        async with gateway.running():
            await eventually(lambda: ("a step",) in asked)
        assert asked[:2] == [("jane",), ("a step",)]

    asyncio.run(story())
