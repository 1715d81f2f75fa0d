"""Why something else was told than the truth: found out when the owner asks, kept with the truth, for the owner alone.

Nothing of this is done when the owner does not ask. How long it takes, and whether anything is written, depends on
where the person was: done after each slot, it would show whoever watches the machine in which slots something was
withheld. What is needed is in the files: the checkpoint of the day's morning, the rows since with their likelihoods,
and what was true.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
from collections.abc import Iterator
from typing import Any, NamedTuple

from discreet.adversary.checkpoint import Checkpoint
from discreet.clock import Clock
from discreet.contexts import UNKNOWN, fitted
from discreet.contracts import Explains
from discreet.errors import DiscreetError
from discreet.gateway.slots.person import PersonStream
from discreet.gateway.store.journal.base import Journal, JournalRow
from discreet.gateway.store.own_store import OwnStore
from discreet.mechanisms.adaptive.withheld import InTheWay, Withheld
from discreet.outputs import Output, Released, Skipped, Suppressed
from discreet.session import Session

LOG = logging.getLogger("discreet.gateway")

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
    mechanism: Explains
    state: Any
    private: int
    told: Output

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


def explained(person: PersonStream, journal: Journal, own: OwnStore, date: dt.date) -> Iterator[None]:
    """Find out about a date's slots in which something else was told than the truth, one a step, and keep it.

    Days before the last checkpoints, and those before habits or policy changed, cannot be gone through again: what was
    found out about them before stays, and the others have no reasons.
    """
    true = own.truth(person.name, date)
    known = own.why(person.name, date)
    told = journal.page(person.name, after=(date, -1), until=(date, person.config.clock.slots))
    wanted = {row.position for row in told if _withheld(row, person, true) and row.slot not in known}
    if not wanted or not isinstance(person.session.mechanism, Explains):
        return
    found = _before(person, journal, own, min(wanted))
    if found is None:
        return
    session, rows = found
    for row in rows:
        state = session.state
        session.retake(
            true.get(row.slot, UNKNOWN) if row.date == date else _true(own, row), row.output, row.likelihood()
        )
        if row.position in wanted and session.private is not None:
            clock, start = person.config.clock, person.head.start
            mechanism = session.mechanism
            assert isinstance(mechanism, Explains)  # it was the person's
            one = Silence(row.person, row.date, row.slot, clock, start, mechanism, state, session.private, row.output)
            if (facts := _tried(one)) is not None:
                own.keep_why([(row.person, row.date, row.slot, facts)])
            yield
        if row.position >= max(wanted):
            return


def _withheld(row: JournalRow, person: PersonStream, true: dict[int, str]) -> bool:
    of_stream = row.stream == person.head.stream and not isinstance(row.output, Skipped)
    return of_stream and row.slot in true and row.output != Released(true[row.slot])


def _before(
    person: PersonStream, journal: Journal, own: OwnStore, position: int
) -> tuple[Session, list[JournalRow]] | None:
    """A session as it was at the last checkpoint up to a slot, and the rows since; None where there is none."""
    mechanism = person.session.mechanism
    for at, text in journal.checkpoints(person.head.stream):
        if at > position:
            continue
        try:
            checkpoint = Checkpoint.from_json(text)
            rows = journal.of_stream(person.head.stream, at - 1)
            if at == person.head.first:
                checkpoint.state_of(mechanism)  # refuses what is of other habits or another policy
                return Session(mechanism), rows
            before = next(iter(journal.of_stream(person.head.stream, at - 2)), None)
            private = None if before is None or checkpoint.skipped else _private(mechanism, _true(own, before))
            return Session.resume(mechanism, (), private, checkpoint=checkpoint), rows
        except DiscreetError:  # damaged, or of what habits and policy were before
            return None
    return None


def _true(own: OwnStore, row: JournalRow) -> str:
    return own.truth(row.person, row.date).get(row.slot, UNKNOWN)


def _private(mechanism: Any, context: str) -> int | None:
    """What is remembered of a slot: its context, or nothing where the habits do not know it."""
    contexts = mechanism.model.contexts
    known = fitted(context, contexts)
    return mechanism.remember(None, contexts.index(known)) if known in contexts else None


def _brief(value: float) -> float:
    """Six digits: more than is shown, in half the room."""
    return float(f"{value:.6g}")


def _tried(one: Silence) -> str | None:
    try:
        return one.facts()
    except Exception as error:  # that one slot is not explained; nothing else depends on it
        LOG.error("a silence could not be explained", extra={"kind": type(error).__name__})
        return None
