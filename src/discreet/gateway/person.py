"""One person at the gateway: the rule from readings to a slot's context, the session that decides, and going on.

A slot goes through four hands, each of which can be cut off and taken up again (theory, section 10; `own_store`):
`stamped` settles its context and takes random bits, `drawn` decides from exactly these, the journal writes it, and
`take` makes it the person's past. Before `take` nothing here has changed.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from discreet.adversary.checkpoint import Checkpoint
from discreet.clock import Clock
from discreet.contexts import UNKNOWN
from discreet.contracts import AnyMechanism, EndlessModel, Rng
from discreet.errors import DiscreetError
from discreet.gateway.journal.base import Head, Journal, Row
from discreet.gateway.own_store import OwnStore, Stamp
from discreet.models.routine import Routine
from discreet.outputs import Skipped
from discreet.places.dwell import contexts_in, instant_of
from discreet.places.named import Places
from discreet.places.sightings import APART, SECOND, Sightings, coded
from discreet.randomness import KEY_BYTES, KeyedEntropy, SystemEntropy
from discreet.session import Session

BUILD_MOVED = "its kernels are another build's"


@dataclass(frozen=True)
class Settled:
    """All that says how a person's slots are decided."""

    name: str
    clock: Clock
    routine: Routine
    make: Callable[[EndlessModel], AnyMechanism]
    """The mechanism over the habits from a date on: `partial(spec.make, policy=policy)`."""
    places: Places
    hold: float
    """Seconds that a position or a label stands when nothing follows."""


def context_of(own: OwnStore, person: Settled, date: dt.date, slot: int) -> str:
    """The context of a slot, by the rule of `places.dwell`, from the readings that are there when it is asked.

    Readings are taken from as long before the slot as they stand, and one position more, for the speed of the first.
    """
    begins, ends = (instant_of(edge) for edge in (person.clock.start_of(date, slot), person.clock.end_of(date, slot)))
    since = begins - round(person.hold * SECOND)
    seen = own.readings(person.name, since, ends)
    if not seen:
        return UNKNOWN
    before = own.reading_before(person.name, seen[0].instant - APART)
    if before is not None:
        seen.insert(0, before)
    sightings = Sightings.of([one.instant for one in seen], [one.position for one in seen], [one.label for one in seen])
    found = coded(sightings, person.places)
    bounds = np.array([begins, ends], dtype=np.int64)
    (code,) = contexts_in(found, sightings.instants, bounds, round(person.hold * SECOND)).tolist()
    return UNKNOWN if code < 0 else found.contexts[code]


@dataclass(frozen=True)
class Drawn:
    """A decision that nobody knows of yet: the row, and the session after it."""

    row: Row
    session: Session
    stamp: Stamp | None
    """None for a skip."""


class Person:
    """A person's stream as it stands; `next` is the slot that ends next."""

    def __init__(self, settled: Settled, head: Head, session: Session, chain: bytes) -> None:
        self.settled, self.head = settled, head
        self._session, self._chain = session, chain
        self._pending: Stamp | None = None

    @property
    def name(self) -> str:
        """Whose stream it is."""
        return self.settled.name

    @property
    def session(self) -> Session:
        """The session as of the last written row: what an observer may believe."""
        return self._session

    @property
    def next(self) -> tuple[dt.date, int]:
        """The date and slot that come next."""
        days, slot = divmod(self._session.slot, self.settled.clock.slots)
        return self.head.start + dt.timedelta(days=days), slot

    @property
    def ends(self) -> float:
        """When the next slot ends, in seconds since 1970."""
        return self.settled.clock.end_of(*self.next).timestamp()

    @property
    def pending(self) -> bool:
        """Whether the next slot was stamped, and is decided from its stamp whatever the time is."""
        return self._pending is not None

    def prepare(self) -> None:
        """Compute the next kernel, which needs no reading: at the boundary one draw and one commit are left."""
        _ = self._session.kernel

    def stamped(self, own: OwnStore, bits: Callable[[int], bytes] = os.urandom) -> Stamp:
        """The next slot's context and the bits that it is drawn from; the same again until the row is written."""
        if self._pending is None:
            context = context_of(own, self.settled, *self.next)
            position, before = self._session.slot, self._session.private
            self._pending = Stamp(self.name, self.head.stream, position, context, before, bits(KEY_BYTES))
        return self._pending

    def drawn(self, stamp: Stamp, key: bytes) -> Drawn:
        """The decision of a stamp: a function of its context, its bits and the public past."""
        assert stamp.bits is not None  # erased only after the row
        return self._decided(lambda session: session.release(stamp.context), KeyedEntropy(stamp.bits), stamp, key)

    def skipped(self, key: bytes) -> Drawn:
        """The next slot passed in public: nothing was decided."""
        return self._decided(lambda session: session.skip(), None, None, key)

    def _decided(self, decide: Callable[[Session], object], rng: Rng | None, stamp: Stamp | None, key: bytes) -> Drawn:
        date, slot = self.next
        kernel = None if stamp is None else self._session.kernel
        session = copy(self._session)
        if rng is not None:
            session.draw_from(rng)
        decide(session)
        session.draw_from(SystemEntropy())  # the bits have served
        output = session.output
        assert output is not None  # something was just decided
        told = kernel is not None and not isinstance(output, Skipped)
        row = Row(
            person=self.name,
            date=date,
            slot=slot,
            ends=int(self.ends),
            stream=self.head.stream,
            position=self._session.slot,
            output=output,
            kernel=kernel.digest.hex() if told and kernel is not None else "",
            column=tuple(kernel.likelihood(output).tolist()) if told and kernel is not None else (),
        )
        return Drawn(row.linked(key, self._chain), session, stamp)

    def take(self, drawn: Drawn) -> None:
        """The row is written: it is the past now."""
        self._session, self._chain, self._pending = drawn.session, drawn.row.chain, None


# --- beginning and going on


def begun(settled: Settled, journal: Journal, now: dt.datetime, why: str) -> Person:
    """A new stream from the slot that is under way, or the one after the last decided."""
    last = journal.last(settled.name)
    date, slot = settled.clock.locate(now)
    while settled.clock.end_of(date, slot) <= now or (last is not None and (date, slot) <= last.key):
        date, slot = (date, slot + 1) if slot + 1 < settled.clock.slots else (date + dt.timedelta(days=1), 0)
    head = journal.begin(settled.name, date, slot, why)
    return Person(settled, head, _fresh(settled, head), b"" if last is None else last.chain)


def gone_on(settled: Settled, journal: Journal, own: OwnStore, head: Head) -> Person:
    """The stream as the journal and the own store have it: nothing is drawn again.

    A slot that was stamped and not written is pending: it is decided from its stamp. A slot whose row was written
    before its bits were erased is drawn again here to have its private state, and must come out as it is written.
    """
    point = journal.checkpoint(head.stream)
    checkpoint = None if point is None else Checkpoint.from_json(point[1])
    since = journal.of_stream(head.stream, -1 if checkpoint is None else checkpoint.slot - 1)
    stamp = own.stamped(settled.name)
    if stamp is not None and stamp.stream != head.stream:
        stamp = None
    last = since[-1] if since else None
    if stamp is not None and stamp.bits is not None and last is not None and stamp.position == last.position:
        return _redrawn(settled, head, since, checkpoint, stamp, last)
    private = stamp.after if stamp is not None and _ends_there(stamp, last, checkpoint) else None
    session = _resumed(settled, head, since, checkpoint, private)
    written = journal.last(settled.name)
    person = Person(settled, head, session, b"" if written is None else written.chain)
    if stamp is not None and stamp.bits is not None and stamp.position == session.slot:
        person._pending = stamp
        person._session = _resumed(settled, head, since, checkpoint, stamp.before)
    return person


def _redrawn(
    settled: Settled, head: Head, since: list[Row], checkpoint: Checkpoint | None, stamp: Stamp, last: Row
) -> Person:
    before = _resumed(settled, head, since[:-1], checkpoint, stamp.before)
    person = Person(settled, head, before, b"")
    drawn = person.drawn(stamp, b"")
    if drawn.row.output != last.output:
        raise DiscreetError(
            f"{settled.name}: {last.date} slot {last.slot} was told as {last.wire} and would be drawn as "
            f"{drawn.row.wire} from the same bits: {BUILD_MOVED}, or the own store is not this journal's"
        )
    person.take(replace(drawn, row=last))
    return person


def _ends_there(stamp: Stamp, last: Row | None, checkpoint: Checkpoint | None) -> bool:
    """Whether a stamp is of the last slot that was written."""
    if last is not None:
        return stamp.position == last.position and stamp.bits is None
    return checkpoint is not None and stamp.position == checkpoint.slot - 1 and stamp.bits is None


def _resumed(
    settled: Settled, head: Head, since: list[Row], checkpoint: Checkpoint | None, private: int | None
) -> Session:
    """The session after these rows, by the likelihoods that they had: another build goes on from them too."""
    if not since and checkpoint is None:
        return _fresh(settled, head)
    mechanism = settled.make(settled.routine.since(head.start, first=head.first))
    outputs, columns = [row.output for row in since], [row.likelihood() for row in since]
    return Session.resume(mechanism, outputs, private, checkpoint=checkpoint, columns=columns)


def _fresh(settled: Settled, head: Head) -> Session:
    return Session(settled.make(settled.routine.since(head.start, first=head.first)))
