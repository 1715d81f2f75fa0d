"""The slot clock: at each boundary, and only then, every person's slot is decided once, written down, and told.

`turn` does all that is due at an instant that it is given; it reads no clock and tells nobody, so that tests can walk
it through any night of the year, and kill it between any two writes. Waiting and telling is the application's.

How long deciding took must not be seen: outputs leave a fixed margin after the boundary, whatever was decided; what
misses that leaves at the next multiple of the margin.
"""

from __future__ import annotations

import datetime as dt
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from discreet.errors import DiscreetError
from discreet.gateway.changes import Habits, announce, changed, in_words, keep, known
from discreet.gateway.going_on import FIRST, begun, gone_on, unknown_to_own_store, unmarked
from discreet.gateway.journal.base import Journal, JournalError, Row
from discreet.gateway.makers import Makers
from discreet.gateway.own_store import OwnStore, Reading
from discreet.gateway.person import Drawn, Person, Settled
from discreet.gateway.silences import Silence, Silences
from discreet.places.sightings import SECOND
from discreet.policy import Policy
from discreet.session import Session

MARGIN = 2.0
"""Seconds from a boundary to telling."""

GRACE = 60.0
"""Seconds after a boundary within which it is still decided from the readings before it; public, hence fixed."""

AHEAD = 120.0
"""Seconds that a reading may be ahead of the clock; one further ahead is of a clock that is wrong."""

BACK = 60.0
"""Seconds that the wall clock may be behind the last boundary that was decided."""


class Keeper:
    """The people of a gateway, and their slots."""

    def __init__(
        self,
        people: Iterable[Settled],
        journal: Journal,
        own: OwnStore,
        key: bytes,
        now: float,
        *,
        grace: float = GRACE,
        margin: float = MARGIN,
        bits: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self.journal, self.own = journal, own
        self.grace, self.margin = grace, margin
        self._key, self._bits = key, bits
        self._written: list[Row] = []  # and not returned yet
        self._unsettled: list[Drawn] = []  # written, and the own store has their bits still
        self._in_doubt = False  # whether a commit failed that may have happened all the same
        self._changing: tuple[Person, Session, Settled] | None = None  # announced, and perhaps not written down yet
        self._makers = Makers()
        self.silences = Silences(own)
        self.notes: list[str] = []
        """What the owner has to know of how it was opened."""
        unmarked(journal)
        wanted = {one.name: one for one in people}
        self.people: Mapping[str, Person] = {name: self._opened(one, now) for name, one in wanted.items()}
        self._decide([person for person in self.people.values() if person.pending])  # before anything changes
        for name, person in self.people.items():
            self._change(person, wanted[name])

    def admit(self, settled: Settled, now: float) -> None:
        """Serve one more person; where that fails, everybody else is served as before.

        A change of somebody else's that waits for the disk is written first: theirs may be announced in its place.
        """
        if settled.name in self.people:  # asked for twice at a time
            return
        self.finish_change()
        person = self._opened(settled, now)
        if person.pending:
            self._decide([person])
        self._change(person, settled)
        self.people = {**self.people, settled.name: person}

    def _opened(self, settled: Settled, now: float) -> Person:
        last = self.journal.last(settled.name)
        if last is not None and now < last.ends - BACK:
            raise DiscreetError(
                f"the clock says {_utc(now)}, and {settled.name}'s slot that ended {_utc(last.ends)} is decided; set "
                "the clock right, or wait"
            )
        head = self.journal.head(settled.name)
        if head is None:
            unknown_to_own_store(settled, self.own)
            return begun(settled, self.journal, dt.datetime.fromtimestamp(now, dt.UTC), FIRST, self._makers)
        history = known(self.own, self.journal, head, settled.spec, self._makers)
        return gone_on(replace(settled, history=history), self.journal, self.own, head, self._makers)

    def _change(self, person: Person, wanted: Settled) -> None:
        """Keep what a stream is of; where other habits or another policy are wanted, announce them for a later cut."""
        head, history = person.head, person.settled.history
        if not history:
            first = Habits(head.start, wanted.routine, wanted.policy, head.first)
            keep(self.own, head, first)
            person.settled = replace(wanted, history=(first,))
        elif not history[-1].same(wanted.routine, wanted.policy):
            self._finish(person)
            after = self._announced(person, wanted)
            self.notes.append(in_words(person.name, history[-1], after))

    def _announced(self, person: Person, wanted: Settled) -> Habits:
        history = person.settled.history
        session, after = changed(person.session, history[-1], wanted.routine, wanted.policy)
        self._changing = (person, session, replace(wanted, history=(*history, after)))
        self.finish_change()
        return after

    def finish_change(self) -> None:
        """Write down a change that was begun. Until that is done no slot is decided: it would be by the old terms, and
        after a restart it could not be told by which."""
        if self._changing is not None:
            person, session, settled = self._changing
            announce(session, self.own, self.journal, person.head, settled.history)
            person.go_on_with(session, settled)
            self._changing = None

    def tried(self, name: str, policy: Policy) -> Habits:
        """What a change to this policy would be if it were made now; nothing changes."""
        person = self.people[name]
        return changed(person.session, person.settled.history[-1], person.settled.routine, policy)[1]

    def change(self, name: str, policy: Policy, write: Callable[[], None] = lambda: None) -> Habits:
        """Announce another policy for the cut after next, between two slots; the same again changes nothing.

        `write` writes the file that a start reads, before the rest: after a stop in between, the start announces it.
        What fails because of the disk is gone on with before the next slot is decided.
        """
        self.finish_change()
        self._settle()
        person = self.people[name]
        if person.pending:
            raise JournalError(f"{name}: a slot is being decided, and waits for the disk; try again when it is written")
        if person.settled.history[-1].same(person.settled.routine, policy):
            return person.settled.history[-1]
        write()
        return self._announced(person, replace(person.settled, policy=policy))

    def _finish(self, person: Person) -> None:
        """Erase the bits of the last slot, if a stop came before that: its private state is about to be renumbered."""
        stamp, last = self.own.stamped(person.name), self.journal.last(person.name)
        if stamp is not None and stamp.bits is not None and last is not None:
            self.own.settle([(stamp, last.date, last.slot, person.session.private)])

    def read(self, readings: Sequence[Reading], now: float) -> tuple[int, int]:
        """Keep readings durably: how many are new, and how many were refused because they lie in the future.

        What belongs to a slot that is decided changes nothing of it; it stands in later slots as the rule says.
        """
        edge = self.latest(now)
        present = [one for one in readings if 0 <= one.instant <= edge and one.person in self.people]
        return (self.own.read(present) if present else 0), len(readings) - len(present)

    def latest(self, now: float) -> float:
        """The last instant, in microseconds, that a reading may have: clocks differ, but not by more."""
        return (now + AHEAD) * SECOND

    @property
    def next(self) -> float:
        """When the next slot of anybody ends."""
        return min((person.ends for person in self.people.values()), default=math.inf)

    def turn(self, now: float) -> list[Row]:
        """Decide every slot that has ended by now, earliest first, and write it: what is returned may be told.

        A slot that ended longer ago than the grace is skipped, unless it was stamped before the machine stopped. What
        was written before something failed is returned by the next turn that does not fail.
        """
        self.finish_change()
        self._settle()
        while due := [person for person in self.people.values() if person.ends <= now]:
            first = min(person.ends for person in due)
            together = [person for person in due if person.ends == first]
            if now - first > self.grace:
                self._write([(one, one.skipped(self._key)) for one in together if not one.pending])
                together = [person for person in together if person.pending]
            self._decide(together)
        told, self._written = self._written, []
        return told

    def _decide(self, people: Sequence[Person]) -> None:
        """Stamp, sync, draw, commit, sync: people whose slots end together share each sync."""
        if not people:
            return
        stamps = [person.stamped(self.own, self._bits) for person in people]
        self.own.stamp(stamps)
        drawn = [(person, person.drawn(stamp, self._key)) for person, stamp in zip(people, stamps, strict=True)]
        withheld = [Silence.of(person, one) for person, one in drawn]
        self._write(drawn)
        for silence in withheld:
            self.silences.add(silence)
        self._unsettled += [one for _, one in drawn]
        with suppress(JournalError):  # the rows are written, and may be told; the bits are erased when that is possible
            self._settle()

    def _settle(self) -> None:
        """Erase the bits of what is written."""
        if self._unsettled:
            self.own.settle(
                (one.stamp, one.row.date, one.row.slot, one.session.private)
                for one in self._unsettled
                if one.stamp is not None
            )
            self._unsettled = []

    def _write(self, drawn: Sequence[tuple[Person, Drawn]]) -> None:
        """Commit rows, with checkpoints at cuts; then they are the past."""
        missing = [(who, one) for who, one in drawn if not (self._in_doubt and self._is_there(one.row))]
        points = [
            (one.row.stream, one.session.slot, one.session.checkpoint().to_json())
            for person, one in missing
            if one.session.slot % person.settled.clock.slots == 0
        ]
        if missing:
            self._in_doubt = True
            self.journal.append([one.row for _, one in missing], points)
        self._in_doubt = False
        for person, one in drawn:
            person.take(one)
            self._written.append(one.row)

    def _is_there(self, row: Row) -> bool:
        """Whether a commit that was said to fail has happened: a connection can break between it and the answer."""
        last = self.journal.last(row.person)
        return last is not None and last == row

    def prepare(self) -> None:
        """Compute everybody's next kernel, between boundaries."""
        for person in self.people.values():
            person.prepare()

    def explain(self, person: str | None = None) -> bool:
        """Find out why something was withheld, of one person or of some; whether there is more to find out."""
        with suppress(JournalError):  # it is for the owner to look at, and nothing is decided by it
            self.silences.explain(person)
        return len(self.silences) > 0

    def leaves(self, row: Row, now: float) -> float:
        """When a row may leave: the first multiple of the margin after its boundary that is not past."""
        return row.ends + self.margin * max(1, math.ceil((now - row.ends) / self.margin))


def _utc(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat(timespec="seconds")
