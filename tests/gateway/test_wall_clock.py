"""A wall clock that jumps is held, and a stop is a stop: what is skipped cannot be taken back."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from discreet.gateway.health import Health
from discreet.gateway.runtime import Gateway
from discreet.gateway.slots.restore import mended
from discreet.gateway.slots.wall_clock import ACCEPTED, EARLIEST, JUMP, WallClock, boot_time, waited_for
from discreet.gateway.store.journal.base import JournalRow, broken_link
from discreet.live.slots import SECOND
from discreet.outputs import Skipped
from tests.gateway.people import CLOCK, KEY, START, closed, habits, keeper, person_config
from tests.gateway.test_runtime import Wall, eventually

ROUTINE = habits()
NOW = START.timestamp()
DAY = 86_400.0
ROOT = Path(__file__).parents[2]


class Clocks:
    """The two clocks of a machine, and what is made of them."""

    def __init__(self, reached: float = 0.0) -> None:
        self.wall, self.steady, self.reached, self.health = NOW, 1000.0, reached, Health()
        self.clock = WallClock(
            self.health, wall=lambda: self.wall, steady=lambda: self.steady, reached=lambda: self.reached
        )

    def go(self, seconds: float) -> float:
        """Let time pass; the time to act by."""
        self.wall += seconds
        self.steady += seconds
        return self.clock()


@pytest.mark.parametrize("jump", [400 * DAY, -400 * DAY, JUMP + 1, -JUMP - 1])
def test_a_brief_jump_is_not_acted_on_and_is_said_once(jump: float, caplog: pytest.LogCaptureFixture) -> None:
    one = Clocks()
    with caplog.at_level(logging.INFO, "discreet"):
        assert one.go(5) == NOW + 5
        one.wall += jump
        for second in range(1, 21):
            assert one.go(1) == NOW + 5 + second
            assert not one.health.ready
        assert one.clock.held
        assert [line.levelname for line in caplog.records] == ["ERROR"], "one line, not one a second"
        assert f"{jump:+.0f} s" in one.health.reasons[0].words
        one.wall -= jump
        assert one.go(1) == NOW + 26
        assert one.health.ready
    assert [line.levelname for line in caplog.records] == ["ERROR", "WARNING"]


def test_a_jump_that_lasts_or_that_the_owner_accepts_is_believed() -> None:
    lasting, accepted = Clocks(), Clocks()
    for one in (lasting, accepted):
        one.clock()
        one.wall += 3 * DAY
        one.clock()
    assert lasting.go(ACCEPTED - 1) == NOW + ACCEPTED - 1
    assert lasting.go(2) == NOW + 3 * DAY + ACCEPTED + 1
    assert lasting.health.ready
    assert accepted.go(1) == NOW + 1
    assert accepted.clock.accept()
    assert accepted.go(1) == NOW + 3 * DAY + 2
    assert not accepted.clock.accept(), "there is nothing more to accept"


def test_a_clock_that_keeps_jumping_is_never_believed() -> None:
    one = Clocks()
    one.clock()
    for number in range(100):
        one.wall += DAY if number % 2 else -2 * DAY
        assert one.go(60) == NOW + 60 * (number + 1)


def test_small_corrections_and_sleep_are_no_jumps() -> None:
    """CLOCK_BOOTTIME counts while the machine sleeps, so both clocks have moved when it wakes."""
    one = Clocks()
    one.wall += JUMP - 1
    assert one.go(0) == NOW + JUMP - 1
    one.go(8 * 3600)
    assert one.health.ready
    one.wall -= JUMP - 1
    assert one.go(0) == NOW + 8 * 3600
    assert boot_time() >= time.monotonic() - 1


def test_a_clock_behind_the_last_slot_waits_and_is_believed_as_soon_as_it_is_set() -> None:
    """A board that kept the time of its last shutdown, or has none: what it says cannot be."""
    one = Clocks(reached=NOW + DAY)
    assert one.go(1) == NOW + 1
    assert "--new-stream" in one.health.reasons[0].words
    one.wall += DAY
    assert one.go(1) == NOW + DAY + 2, "not after ten minutes"
    assert one.health.ready


def test_a_board_that_begins_in_1970_waits_until_it_knows_the_time() -> None:
    wall = Wall(100.0)
    said: list[str] = []

    def sleep(seconds: float) -> None:
        wall.now = 200.0 if wall.now < 150 else NOW

    waited_for(wall, said.append, sleep)
    assert (wall.now, len(said)) == (NOW, 2)
    waited_for(lambda: EARLIEST, said.append, sleep)
    assert len(said) == 2


def test_slots_are_as_if_the_clock_had_not_jumped(tmp_path: Path) -> None:
    async def story() -> None:
        clocks = Clocks()
        one = keeper(tmp_path, NOW, person_config(routine=ROUTINE, outputs="suppress"))
        gateway = Gateway(one, wall=lambda: clocks.wall, steady=lambda: clocks.steady)
        end = one.next

        def pass_to(moment: float) -> None:
            """The wall clock's difference stays."""
            gone = moment - clocks.steady - (NOW - 1000.0)
            clocks.wall += gone
            clocks.steady += gone

        pass_to(end - 30)
        async with gateway.running():
            clocks.wall += 400 * DAY
            await eventually(lambda: not gateway.health.ready)
            pass_to(end + 0.5)
            await eventually(lambda: one.journal.last("jane") is not None)
            pass_to(end + 20)
            clocks.wall -= 400 * DAY
            await eventually(lambda: gateway.health.ready)
            await eventually(lambda: gateway.shown("jane") is not None)
            (row,) = gateway.rows("jane")
            assert not isinstance(row.output, Skipped)
            assert one.next == end + CLOCK.slot_seconds

    asyncio.run(story())


def test_the_clock_is_read_anew_before_each_slot_and_a_stop_waits_for_one(tmp_path: Path) -> None:
    """Without a steady clock, or after ten minutes, years may be due at once."""

    async def story() -> None:
        wall = Wall(NOW)
        one = keeper(tmp_path, NOW, person_config(routine=ROUTINE, outputs="suppress"))
        gateway, real, steps = Gateway(one, wall=wall), one.step, []

        def step(now: float) -> bool:
            steps.append(now)
            if len(steps) == 5:
                wall.now = NOW
            return real(now)

        one.step = step  # type: ignore[method-assign]
        async with gateway.running():
            wall.now = NOW + 400 * DAY
            await eventually(lambda: len(steps) >= 6)
            await asyncio.sleep(0.1)
            assert len(list(one.journal.all_rows("jane"))) == 5
            one.step = real  # type: ignore[method-assign]
            wall.now = NOW + 400 * DAY
            await eventually(lambda: one.reached > NOW + DAY)
            began = time.monotonic()
        assert time.monotonic() - began < 20, "400 days were due"
        assert one.reached < NOW + 400 * DAY

    asyncio.run(story())


def test_slots_that_end_faster_than_they_are_decided_are_told_all_the_same(tmp_path: Path) -> None:
    async def story() -> None:
        wall = Wall(NOW)
        one = keeper(tmp_path, NOW, person_config(routine=ROUTINE, outputs="suppress"))
        gateway, real, told = Gateway(one, wall=wall, pace=1e6), one.step, list[JournalRow]()

        def step(now: float) -> bool:
            wall.now += CLOCK.slot_seconds  # a slot ends while one is decided
            return real(now)

        async def send(rows: Sequence[JournalRow]) -> None:
            told.extend(rows)

        one.step = step  # type: ignore[method-assign]
        gateway.on_told(send)
        async with gateway.running():
            wall.now += CLOCK.slot_seconds
            await eventually(lambda: len(told) >= 3)

    asyncio.run(story())


def test_new_stream_recovers_from_slots_that_were_written_in_the_future(tmp_path: Path) -> None:
    who = person_config(routine=ROUTINE, outputs="suppress")
    one = keeper(tmp_path, NOW, who)
    first = one.next
    before = one.turn(first)
    ahead = one.turn(first + 30 * DAY)
    assert len(ahead) == 30 * CLOCK.slots
    now, aside = first + 600, tmp_path / "aside.jsonl"
    (note,) = mended([who], one.journal, one.own, KEY, now, new_stream=True, aside=aside)
    assert "THE PROMISE IS BROKEN OFF" in note
    assert "the clock" in note
    closed(one)
    two = keeper(tmp_path, now, who)
    assert list(two.journal.all_rows("jane")) == before
    assert two.next == first + CLOCK.slot_seconds
    (row,) = two.turn(two.next)
    assert not isinstance(row.output, Skipped)
    assert broken_link(two.journal.all_rows("jane"), KEY) is None
    said = [json.loads(line) for line in aside.read_text(encoding="utf-8").splitlines()]
    assert [(one["date"], one["slot"]) for one in said] == [(one.date.isoformat(), one.slot) for one in ahead]
    assert aside.stat().st_mode & 0o777 == 0o600
    assert mended([who], two.journal, two.own, KEY, row.ends, new_stream=True, aside=aside) == [], "once is enough"
    closed(two)


def test_a_clock_that_is_a_little_behind_takes_nothing_out(tmp_path: Path) -> None:
    who = person_config(routine=ROUTINE, outputs="suppress")
    one = keeper(tmp_path, NOW, who)
    (row,) = one.turn(one.next)
    assert mended([who], one.journal, one.own, KEY, row.ends - 30, new_stream=True) == []
    assert row.ends * SECOND < one.people["jane"].ends
    closed(one)


BUSY = """
import sys, time
from pathlib import Path
from tests.gateway.web import Wall, plan_for
from discreet.gateway.app import PreparedGateway
from discreet.gateway.store.folder import Folder
from discreet.gateway.server import listening, run

served = PreparedGateway(plan_for(Wall()), Folder.made(Path(sys.argv[1])))
served.gateway.keeper.prepare = lambda *names: time.sleep(60)
run(served, listening("127.0.0.1", 0), lambda: print("ready", flush=True))
"""


STOPPED = 2.5
"""Two seconds, and half a one for a machine that is busy."""


def test_a_stop_is_obeyed_within_two_seconds_whatever_is_being_computed(tmp_path: Path) -> None:
    """It cannot be cut short, so it is not waited for: files are as after a power cut.

    A busy machine may stop a process for longer than that: of three times, one has to be within it.
    """
    took: list[float] = []
    while len(took) < 3 and min(took, default=60.0) >= STOPPED:
        command = [sys.executable, "-c", BUSY, str(tmp_path / str(len(took)))]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.5)
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            process.wait(50)
            took.append(time.monotonic() - began)
    assert min(took) < STOPPED
