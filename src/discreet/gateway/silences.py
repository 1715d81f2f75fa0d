"""Why something else was told than the truth, found out between slots and kept with the truth, for the owner alone.

At a boundary nothing of this is computed: what was withheld waits, with the public state that it was decided in, until
somebody asks or nothing else is to be done. What still waits when the gateway stops is not explained.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
import logging
from typing import Any, NamedTuple

from discreet.clock import Clock
from discreet.gateway.own_store import OwnStore
from discreet.gateway.person import Drawn, Person
from discreet.mechanisms import Adaptive
from discreet.mechanisms.adaptive.withheld import InTheWay, Withheld
from discreet.outputs import Output, Released, Suppressed

LOG = logging.getLogger("discreet.gateway")

WAITING = 8
"""Slots of a person that wait to be explained at most; of more, the latest."""

TOGETHER = 64
"""People whose silences are found out about and written at once: some 20 ms, and one sync."""

NAMED = 3
"""Rows whose facts are kept of one slot; how many others bind too is kept beside."""


class Silence(NamedTuple):
    """A slot whose truth was withheld, as it was decided."""

    person: str
    date: dt.date
    slot: int
    clock: Clock
    start: dt.date
    """Of the stream: absolute slots count from it."""
    mechanism: Adaptive
    state: Any
    private: int
    told: Output

    @classmethod
    def of(cls, person: Person, drawn: Drawn) -> Silence | None:
        """Before the row is taken: the person's session is the one that it was drawn by. None for the truth."""
        session, output, private = person.session, drawn.row.output, drawn.session.private
        withheld = drawn.stamp is not None and output != Released(drawn.stamp.context)
        if not withheld or private is None or not isinstance(session.mechanism, Adaptive):
            return None
        clock, start = person.settled.clock, person.head.start
        date, slot = drawn.row.date, drawn.row.slot
        return cls(person.name, date, slot, clock, start, session.mechanism, session.state, private, output)

    def facts(self) -> str | None:
        """What is kept of the reason, as JSON; None where what was told is the truth in the words of the habits."""
        why = self.mechanism.withheld(self.state, self.private, self.told)
        if why is None and not isinstance(self.told, Suppressed):
            return None
        return json.dumps(self._facts(why), ensure_ascii=False)

    def _facts(self, why: Withheld | None) -> dict[str, Any]:
        """`possible`: whether habits have a place for what was true; where they have not, it is never shown."""
        if why is None:
            return {"possible": False, "share": 0.0, "rows": [], "others": 0}
        rows = [self._row(one) for one in why.rows[:NAMED]]
        return {"possible": True, "share": _brief(why.share), "rows": rows, "others": max(0, len(why.rows) - NAMED)}

    def _row(self, one: InTheWay) -> dict[str, Any]:
        return {
            "secret": one.secret,
            "own": one.own,
            "by": one.by,
            "start": self._instant(one.opens),
            "end": self._instant(one.closes + 1),
            "slots": one.closes - one.opens + 1,
            "belief": _brief(one.belief),
            "limit": _brief(one.limit),
        }

    def _instant(self, absolute: int) -> str:
        """When an absolute slot begins."""
        days, slot = divmod(absolute, self.clock.slots)
        return self.clock.start_of(self.start + dt.timedelta(days=days), slot).astimezone(dt.UTC).isoformat()


class Silences:
    """What waits to be explained, by person."""

    def __init__(self, own: OwnStore) -> None:
        self._own = own
        self._waiting: dict[str, list[Silence]] = {}

    def add(self, silence: Silence | None) -> None:
        """Let one wait; of a person who has too many the earliest goes."""
        if silence is not None:
            waiting = self._waiting.setdefault(silence.person, [])
            waiting.append(silence)
            del waiting[:-WAITING]

    def __len__(self) -> int:
        return len(self._waiting)

    def explain(self, person: str | None = None) -> None:
        """Find out about one person's, or those of who comes first, and keep it."""
        names = list(itertools.islice(self._waiting, TOGETHER)) if person is None else [person]
        every = [one for name in names for one in self._waiting.pop(name, [])]
        found = [(one.person, one.date, one.slot, facts) for one in every if (facts := _tried(one)) is not None]
        if found:
            self._own.keep_why(found)


def _brief(value: float) -> float:
    """Six digits: more than is shown, in half the room."""
    return float(f"{value:.6g}")


def _tried(one: Silence) -> str | None:
    try:
        return one.facts()
    except Exception as error:  # that one slot is not explained; nothing else depends on it
        LOG.error("a silence could not be explained", extra={"kind": type(error).__name__})
        return None
