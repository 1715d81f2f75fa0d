"""Home Assistant's statestream: a state and its time are two messages, and are put together here.

It publishes the state as plain text, and after it, if `publish_timestamps` is set, `last_updated`. A state waits a
moment for its time; without one it is of the moment at which it came, unless it was retained, which may be any time
ago. Positions come as yet other messages, which no rule could match with a state: the WebSocket API has them.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from discreet.gateway.store.own_store import Reading
from discreet.gateway.wires.home_assistant import HomeAssistantSource

PATIENCE = 2.0
"""Seconds that a state waits for its time."""

Sent = TypeVar("Sent")


@dataclass(frozen=True)
class Waiting(Generic[Sent]):
    """A state without its time."""

    state: str
    retained: bool
    came: float
    """By the wall clock."""
    since: float
    """By a clock that nobody sets."""
    sent: Sent


class Statestream(Generic[Sent]):
    """The states of one source. `Sent` is what is given back when a message has been dealt with."""

    def __init__(self, source: HomeAssistantSource) -> None:
        self.source = source
        self._base = f"{source.statestream}/"
        self._waiting: dict[str, Waiting[Sent]] = {}

    @property
    def topics(self) -> list[str]:
        """What to subscribe to."""
        places = [self._base + entity.replace(".", "/") for entity in self.source.entities]
        return [f"{place}/{leaf}" for place in places for leaf in ("state", "last_updated")]

    def hears(self, topic: str) -> bool:
        """Whether a topic is one of this source's."""
        return topic.startswith(self._base)

    def hear(
        self, topic: str, payload: bytes, *, retained: bool, now: float, sent: Sent
    ) -> tuple[list[Reading], list[Sent]]:
        """What a message makes known, and which messages are dealt with."""
        entity, _, leaf = topic.removeprefix(self._base).replace("/", ".", 1).rpartition("/")
        if entity not in self.source.entities:
            return [], [sent]
        text = payload[:1000].decode(errors="replace")
        if leaf == "state":
            found = self._taken(entity)
            self._waiting[entity] = Waiting(text, retained, now, time.monotonic(), sent)
            return found
        if leaf == "last_updated" and entity in self._waiting:
            one = self._waiting.pop(entity)
            return self._read(entity, {"state": one.state, "last_updated": text}), [one.sent, sent]
        return [], [sent]

    def overdue(self) -> tuple[list[Reading], list[Sent]]:
        """States that have waited long enough."""
        readings: list[Reading] = []
        done: list[Sent] = []
        edge = time.monotonic() - PATIENCE
        for entity in [name for name, one in self._waiting.items() if one.since <= edge]:
            found, sent = self._taken(entity)
            readings += found
            done += sent
        return readings, done

    @property
    def waits(self) -> bool:
        """Whether any state waits."""
        return bool(self._waiting)

    def _taken(self, entity: str) -> tuple[list[Reading], list[Sent]]:
        """A state whose time does not come."""
        one = self._waiting.pop(entity, None)
        if one is None:
            return [], []
        if one.retained:
            return [], [one.sent]
        return self._read(entity, {"state": one.state, "last_updated": _iso(one.came)}), [one.sent]

    def _read(self, entity: str, state: dict[str, str]) -> list[Reading]:
        found = self.source.reading(state, entity)
        return [] if found is None else [found]


def _iso(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat()


def joined(parts: Sequence[tuple[list[Reading], list[Sent]]]) -> tuple[list[Reading], list[Sent]]:
    """Several answers as one."""
    return [one for readings, _ in parts for one in readings], [one for _, sent in parts for one in sent]
