"""The wall clock, held where it jumps: a brief jump must not be acted on, because slots that are skipped stay skipped.

`CLOCK_BOOTTIME` counts while the machine sleeps too and is never set, so what the wall clock should say follows from
it. A difference beyond `JUMP` is held: the gateway goes on as if the clock had not jumped, says that it is not ready,
and takes the new time when it has lasted `ACCEPTED` seconds or the owner accepts it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from discreet.gateway.health import Health
from discreet.gateway.slots.recovery import utc

LOG = logging.getLogger("discreet.gateway")

JUMP = 60.0
"""Seconds by which the wall clock may be set at once. Less than a slot's grace, so that nothing is skipped by it."""

ACCEPTED = 600.0
"""Seconds after which a clock that jumped, and stayed there, is believed."""

SETTLED = 60.0
"""Seconds by which a held clock may move while it counts as the same jump."""

BACK = 60.0
"""Seconds that the wall clock may be behind the last boundary that was decided."""

EARLIEST = 1_767_225_600.0
"""2026-01-01: before it no clock is right that runs this program. Boards without a battery begin in 1970."""

CLOCK = "clock"
"""What health calls it."""


def boot_time() -> float:
    """Seconds since the machine started, those of suspension included; it is never set."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class WallClock:
    """The time to act by. `reached` is the last boundary that was decided: a clock behind it cannot be right."""

    def __init__(
        self,
        health: Health,
        *,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] | None = None,
        reached: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """Without `steady` the wall clock is believed, whatever it says: for a life that is shown in brief."""
        self._health, self._wall, self._steady, self._reached = health, wall, steady, reached
        self._lock = threading.Lock()  # slots and readings ask from threads of their own
        self._offset = 0.0 if steady is None else wall() - steady()
        self._jump = 0.0  # that is held; 0 where none is
        self._since = 0.0  # by the steady clock

    def __call__(self) -> float:
        """The time: the wall clock's, or while it is held what it would be without the jump."""
        with self._lock:
            now = self._looked()
        self._say(now)
        return now

    @property
    def latest(self) -> float:
        """The later of the two clocks while one is held: a reading that either calls past is not of the future."""
        return max(self(), self._wall())

    @property
    def held(self) -> bool:
        """Whether a jump is held."""
        self()
        return self._jump != 0.0

    def accept(self) -> bool:
        """Believe the wall clock as it is: its owner says so. Whether there was anything to accept."""
        with self._lock:
            jumped = self._steady is not None and self._jump != 0.0
            if jumped:
                self._believe()
        self()
        return jumped

    def _looked(self) -> float:
        wall = self._wall()
        if self._steady is None:
            return wall
        steady = self._steady()
        expected = steady + self._offset
        jump = wall - expected
        if abs(jump) <= JUMP or expected < self._reached() - BACK <= wall:
            self._offset, self._jump = wall - steady, 0.0
            return wall
        if self._jump == 0.0 or abs(jump - self._jump) > SETTLED:
            self._jump, self._since = jump, steady
        elif steady - self._since >= ACCEPTED:
            self._believe()
            return wall
        return expected

    def _believe(self) -> None:
        assert self._steady is not None  # what is held was found by it
        self._offset, self._jump = self._wall() - self._steady(), 0.0

    def _say(self, now: float) -> None:
        reached = self._reached()
        if self._jump:
            self._health.broken(
                CLOCK,
                "the clock jumped, and is held",
                f"the clock jumped by {self._jump:+.0f} s to {utc(self._wall())}. The gateway goes on as if it had "
                f"not, and believes it after {ACCEPTED / 60:.0f} minutes. Set the clock right, or accept it",
            )
        elif now < reached - BACK:
            self._health.broken(
                CLOCK,
                "the clock is behind the last slot that was decided; the gateway waits for it",
                f"the clock says {utc(now)}, and a slot that ended {utc(reached)} is decided. Set the clock right, or "
                "wait; if a wrong clock wrote that slot, stop the gateway and begin a new stream (discreet serve "
                "--new-stream)",
            )
        else:
            self._health.mended(CLOCK)


def waited_for(
    wall: Callable[[], float], say: Callable[[str], None], sleep: Callable[[float], None] = time.sleep
) -> None:
    """Wait until the clock has been set: a board without a battery learns the time some while after it started.

    A stream that began by its clock would begin in 1970.
    """
    if wall() >= EARLIEST:
        return
    say(f"the clock says {utc(wall())}, which cannot be; waiting until it is set")
    while wall() < EARLIEST:
        sleep(1.0)
    say(f"the clock says {utc(wall())} now; going on")
