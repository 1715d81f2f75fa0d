"""Figures for whoever operates the gateway, and whether it is well.

They know the clock, the machine and the callers, and when each source was heard last: they are for the owner alone. How
many readings came, or how often something was released, would tell who moved, and is counted nowhere.
"""

from __future__ import annotations

import datetime as dt
import time
from collections import Counter
from collections.abc import Sequence

from discreet.gateway.runtime import Gateway
from discreet.gateway.slots.sources import sources_of
from discreet.gateway.slots.wall_clock import WallClock
from discreet.gateway.store.journal.base import JournalRow
from discreet.gateway.wires.sse import Streams

ENDED = "a task of the gateway ended; restart it, and it goes on where it was"

COUNTED = (401, 421, 500, 503)
"""Answers that are counted: what callers do wrong with credentials and names, and what fails here."""


class GatewayMetrics:
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

    async def _count_told(self, rows: Sequence[JournalRow]) -> None:
        keeper = self._gateway.keeper
        now = self._gateway.wall()
        self._told += len(rows)
        self._late += sum(now - row.ends > 2 * keeper.margin for row in rows)

    @property
    def clock(self) -> WallClock:
        """The clock, which may be held."""
        return self._gateway.wall

    @property
    def alive(self) -> bool:
        """Whether it runs; where it does not, a restart helps."""
        return self._gateway.at_work

    @property
    def well(self) -> bool:
        """Whether everything works: slots are decided, written and told by a clock that is right."""
        return self.alive and self._gateway.health.ready

    @property
    def reasons(self) -> list[dict[str, str]]:
        """What does not work, for the owner."""
        found = [{"part": one.what, "words": one.words} for one in self._gateway.health.reasons]
        return found if self.alive else [*found, {"part": "tasks", "words": ENDED}]

    def text(self, people: Sequence[str]) -> str:
        """For Prometheus; when sources were heard is said of these people alone."""
        lines = _figure("discreet_well", "gauge", "whether everything works", int(self.well))
        lines += _figure("discreet_started_seconds", "gauge", "when it started, since 1970", round(self._since))
        lines += _figure("discreet_people", "gauge", "people that are served", len(self._gateway.keeper.people))
        lines += _figure("discreet_streams", "gauge", "streams that are open", len(self._streams))
        lines += _figure("discreet_slots_told_total", "counter", "slots of all people that were told", self._told)
        lines += _figure("discreet_slots_late_total", "counter", "of them, after the first margin", self._late)
        lines += ["# HELP discreet_refused_total answers by status", "# TYPE discreet_refused_total counter"]
        lines += [f'discreet_refused_total{{status="{status}"}} {self._answers[status]}' for status in COUNTED]
        return "\n".join(lines + self._sources(people)) + "\n"

    def _sources(self, people: Sequence[str]) -> list[str]:
        """When anything was heard of each person last; by which source, and what could not be used, is on the page."""
        gateway = self._gateway
        lines = ["# HELP discreet_heard_seconds when a person's sources were heard last, since 1970"]
        lines += ["# TYPE discreet_heard_seconds gauge"]
        for person in people:
            if found := sources_of(gateway.keeper.own, person, gateway.wall()):
                heard = dt.datetime.fromisoformat(found[0]["heard"]).replace(second=0)  # as fine as is needed
                seconds = round(heard.timestamp())
                lines.append(f'discreet_heard_seconds{{person="{_label(person)}"}} {seconds}')
        return lines


def _label(text: str) -> str:
    """As Prometheus wants it between quotes."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _figure(name: str, kind: str, words: str, value: int) -> list[str]:
    return [f"# HELP {name} {words}", f"# TYPE {name} {kind}", f"{name} {value}"]
