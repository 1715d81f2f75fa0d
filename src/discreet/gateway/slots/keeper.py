"""The slots of everybody at the gateway, by the rule of `live`, kept on disk: no decision is lost or made again.

`turn` does all that is due at an instant that it is given; it reads no clock and tells nobody, so that tests can walk
it through any night of the year, and kill it between any two writes. Waiting and telling is the application's.

How long deciding took must not be seen: outputs leave a fixed margin after the boundary, whatever was decided; what
misses that leaves at the next multiple of the margin.
"""

from __future__ import annotations

import datetime as dt
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from discreet.gateway.slots.changes import HabitsFrom, announce, changed, in_words, keep, known
from discreet.gateway.slots.pauses import Pauses
from discreet.gateway.slots.person import Decided, PersonConfig, PersonStream
from discreet.gateway.slots.recovery import FIRST, begun, gone_on, unknown_to_own_store, unmarked
from discreet.gateway.slots.silences import explained
from discreet.gateway.store.journal.base import Journal, JournalError, JournalRow
from discreet.gateway.store.own_store import OwnStore, Reading
from discreet.live.mechanism_cache import SharedMechanisms
from discreet.live.slots import GRACE, MARGIN, SECOND, Schedule, latest, micros
from discreet.models.routine.routine import Routine
from discreet.policy import Policy
from discreet.session import Session


class Keeper:
    """The people of a gateway, and their slots."""

    def __init__(
        self,
        people: Iterable[PersonConfig],
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
        self.margin, self._schedule = margin, Schedule(grace=grace)
        self._key, self._bits = key, bits
        self._written: list[JournalRow] = []  # and not returned yet
        self._unsettled: list[Decided] = []  # written, and the own store has their bits still
        self._in_doubt = False  # whether a commit failed that may have happened all the same
        # What is announced, and perhaps not written down yet.
        self._changing: tuple[PersonStream, Session, PersonConfig] | None = None
        self._shared = SharedMechanisms()
        self.pauses = Pauses(own)
        """Days on which nothing is told."""
        self.before_deciding: Callable[[PersonStream], None] = lambda person: None
        """Called with each person whose slot is about to be decided: what is in force by its date is put into force."""
        self.reached = 0.0
        """The end of the last slot that was decided of anybody: a clock behind it is wrong, or that slot's was."""
        self.notes: list[str] = []
        """What the owner has to know of how it was opened."""
        unmarked(journal)
        wanted = {one.name: one for one in people}
        self.people: Mapping[str, PersonStream] = {name: self._opened(one, now) for name, one in wanted.items()}
        self._decide([person for person in self.people.values() if person.pending])  # before anything changes
        for name, person in self.people.items():
            self._change(person, wanted[name])

    def admit(self, config: PersonConfig, now: float) -> None:
        """Serve one more person; where that fails, everybody else is served as before.

        A change of somebody else's that waits for the disk is written first: theirs may be announced in its place.
        """
        if config.name in self.people:  # asked for twice at a time
            return
        self.finish_change()
        person = self._opened(config, now)
        if person.pending:
            self._decide([person])
        self._change(person, config)
        self.people = {**self.people, config.name: person}

    def _opened(self, config: PersonConfig, now: float) -> PersonStream:
        last = self.journal.last(config.name)
        if last is not None:  # no slot is due until the clock has passed it, whatever the clock says now
            self.reached = max(self.reached, last.ends)
        head = self.journal.head(config.name)
        if head is None:
            unknown_to_own_store(config, self.own)
            return begun(config, self.journal, now, FIRST, self._shared)
        history = known(self.own, self.journal, head, config.spec, self._shared)
        return gone_on(replace(config, history=history), self.journal, self.own, head, self._shared)

    def _change(self, person: PersonStream, wanted: PersonConfig) -> None:
        """Keep what a stream is of; where other habits or another policy are wanted, announce them for a later cut."""
        head, history = person.head, person.config.history
        if not history:
            first = HabitsFrom(head.start, wanted.routine, wanted.policy, head.first)
            keep(self.own, head, first)
            person.config = replace(wanted, history=(first,))
        elif not history[-1].same(wanted.routine, wanted.policy):
            self._finish(person)
            after = self._announced(person, wanted, *_changed(person, wanted))
            self.notes.append(in_words(person.name, history[-1], after))

    def _announced(self, person: PersonStream, wanted: PersonConfig, session: Session, after: HabitsFrom) -> HabitsFrom:
        self._changing = (person, session, replace(wanted, history=(*person.config.history, after)))
        self.finish_change()
        return after

    def finish_change(self) -> None:
        """Write down a change that was begun. Until that is done no slot is decided: it would be by the old terms, and
        after a restart it could not be told by which."""
        if self._changing is not None:
            person, session, config = self._changing
            announce(session, self.own, self.journal, person.head, config.history)
            person.go_on_with(session, config)
            self._changing = None

    def change(
        self,
        name: str,
        policy: Policy | None = None,
        write: Callable[[], None] = lambda: None,
        *,
        routine: Routine | None = None,
        date: dt.date | None = None,
    ) -> HabitsFrom:
        """Announce another policy or other habits, between two slots; the same again changes nothing.

        They hold from the cut after next on, or from that of a later `date`, and habits from the first cut from then on
        at which the change itself breaks no limit.

        What cannot be announced is refused before anything is written. `write` writes the file that a start reads,
        before the rest: after a stop in between, the start announces it. What fails because of the disk is resumed
        before the next slot is decided.
        """
        self.finish_change()
        self._settle()
        person = self.people[name]
        if person.pending:
            raise JournalError(f"{name}: a slot is being decided, and waits for the disk; try again when it is written")
        config = person.config
        wanted = replace(config, policy=policy or config.policy, routine=routine or config.routine)
        if config.history[-1].same(wanted.routine, wanted.policy):
            return config.history[-1]
        session, after = _changed(person, wanted, date)
        write()
        return self._announced(person, wanted, session, after)

    def _finish(self, person: PersonStream) -> None:
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

    def latest(self, now: float) -> int:
        """The last instant, in microseconds, that a reading may have: clocks differ, but not by more."""
        return latest(micros(now))

    @property
    def next(self) -> float:
        """When the next slot of anybody ends."""
        return min((person.ends / SECOND for person in self.people.values()), default=math.inf)

    def turn(self, now: float) -> list[JournalRow]:
        """Decide every slot that has ended by now, earliest first, and write it: what is returned may be told."""
        while self.step(now):
            pass
        return self.taken()

    def step(self, now: float) -> bool:
        """Decide the earliest of the slots that have ended by now, of everybody whose slots end together; whether there
        were any. Who has a clock reads it anew for each step: it may be set while the steps are taken.

        One that was stamped before the machine stopped is never skipped.
        """
        at = micros(now)
        due = [person for person in self.people.values() if self._schedule.due(person.ends) <= at]
        if not due:  # what was written before may be told, though its bits cannot be erased just now
            return False
        self.finish_change()
        self._settle()
        first = min(person.ends for person in due)
        together = [person for person in due if person.ends == first]
        late = self._schedule.skips(first, at)
        skipped = [one for one in together if not one.pending and (late or self.pauses.holds(one))]
        if skipped:
            self._write([(one, one.decided(one.stream.skipped(), self._key)) for one in skipped])
        self._decide([one for one in together if one not in skipped])
        return True

    def taken(self) -> list[JournalRow]:
        """What the steps wrote since this was asked last, which may be told. After a step that failed, too."""
        told, self._written = self._written, []
        return told

    def _decide(self, people: Sequence[PersonStream]) -> None:
        """Stamp, sync, draw, commit, sync: people whose slots end together share each sync."""
        if not people:
            return
        for person in people:
            if not person.pending:
                self.before_deciding(person)
        stamps = [person.stamped(self.own, self._bits) for person in people]
        self.own.stamp(stamps)
        drawn = [(person, person.drawn(stamp, self._key)) for person, stamp in zip(people, stamps, strict=True)]
        self._write(drawn)
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

    def _write(self, drawn: Sequence[tuple[PersonStream, Decided]]) -> None:
        """Commit rows, with checkpoints at cuts; then they are the past."""
        missing = [(who, one) for who, one in drawn if not (self._in_doubt and self._is_there(one.row))]
        points = [point for _, one in missing for point in one.checkpoint]
        if missing:
            self._in_doubt = True
            self.journal.append([one.row for _, one in missing], points)
        self._in_doubt = False
        for person, one in drawn:
            person.take(one)
            self._written.append(one.row)
            self.reached = max(self.reached, one.row.ends)

    def _is_there(self, row: JournalRow) -> bool:
        """Whether a commit that was said to fail has happened: a connection can break between it and the answer."""
        last = self.journal.last(row.person)
        return last is not None and last == row

    def prepare(self, *names: str) -> None:
        """Compute the next kernel of these people, or of everybody, between boundaries."""
        for name in names or self.people:
            self.people[name].prepare()

    def explain(self, name: str, date: dt.date) -> Iterator[None]:
        """Find out why something was withheld on a date, a slot a step; only ever because the owner asks."""
        with suppress(JournalError):  # it is to look at, and nothing is decided by it
            yield from explained(self.people[name], self.journal, self.own, date)

    def leaves(self, row: JournalRow, now: float) -> float:
        """When a row may leave: the first multiple of the margin after its boundary that is not past."""
        return row.ends + self.margin * max(1, math.ceil((now - row.ends) / self.margin))


def _changed(person: PersonStream, wanted: PersonConfig, date: dt.date | None = None) -> tuple[Session, HabitsFrom]:
    """The stream with other habits or another policy from a later cut on; nothing has changed yet."""
    return changed(person.session, person.config.history[-1], wanted.routine, wanted.policy, date)
