"""Figures for whoever operates the gateway, and whether it is well.

They know the clock, the machine and the callers. How many readings came, or how often something was released, would
tell who moved, and is counted nowhere.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from discreet.gateway.journal.base import Row
from discreet.gateway.runtime import Gateway
from discreet.gateway.stream import Streams

COUNTED = (401, 421, 500, 503)
"""Answers that are counted: what callers do wrong with credentials and names, and what fails here."""


class Figures:
    """Counts since the gateway started."""

    def __init__(self, gateway: Gateway, streams: Streams) -> None:
        self._gateway, self._streams = gateway, streams
        self._since = time.time()
        self._answers: Counter[int] = Counter()
        self._told = self._late = 0
        gateway.on_told(self._count_told)

    def count(self, status: int) -> None:
        """Note an answer."""
        if status in COUNTED:
            self._answers[status] += 1

    async def _count_told(self, rows: Sequence[Row]) -> None:
        keeper = self._gateway.keeper
        now = self._gateway.wall()
        self._told += len(rows)
        self._late += sum(now - row.ends > 2 * keeper.margin for row in rows)

    @property
    def well(self) -> bool:
        """Whether decisions are being made and written."""
        return not self._gateway.failing and self._gateway.at_work

    def text(self) -> str:
        """For Prometheus."""
        lines = _figure("discreet_well", "gauge", "whether slots are decided and written", int(self.well))
        lines += _figure("discreet_started_seconds", "gauge", "when it started, since 1970", round(self._since))
        lines += _figure("discreet_people", "gauge", "people that are served", len(self._gateway.keeper.people))
        lines += _figure("discreet_streams", "gauge", "streams that are open", len(self._streams))
        lines += _figure("discreet_slots_told_total", "counter", "slots of all people that were told", self._told)
        lines += _figure("discreet_slots_late_total", "counter", "of them, after the first margin", self._late)
        lines += ["# HELP discreet_refused_total answers by status", "# TYPE discreet_refused_total counter"]
        lines += [f'discreet_refused_total{{status="{status}"}} {self._answers[status]}' for status in COUNTED]
        return "\n".join(lines) + "\n"


def _figure(name: str, kind: str, words: str, value: int) -> list[str]:
    return [f"# HELP {name} {words}", f"# TYPE {name} {kind}", f"{name} {value}"]
