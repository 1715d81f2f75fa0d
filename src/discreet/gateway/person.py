"""One person at the gateway: the rule from readings to a slot's context, and the session that decides.

A slot goes through four hands, each of which can be cut off and taken up again (theory, section 10; `own_store`):
`stamped` settles its context and takes random bits, `drawn` decides from exactly these, the journal writes it, and
`take` makes it the person's past. Before `take` nothing here has changed.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial

import numpy as np

from discreet.clock import Clock
from discreet.contexts import UNKNOWN
from discreet.contracts import AnyMechanism, EndlessModel, Rng
from discreet.gateway.changes import Habits
from discreet.gateway.journal.base import Head, Row
from discreet.gateway.own_store import OwnStore, Reading, Stamp
from discreet.mechanisms.named import Spec
from discreet.models.routine import Routine
from discreet.outputs import Output, Skipped
from discreet.places.dwell import contexts_in, instant_of
from discreet.places.named import Places
from discreet.places.sightings import APART, SECOND, Sightings, coded
from discreet.policy import Policy
from discreet.randomness import KEY_BYTES, KeyedEntropy, SystemEntropy
from discreet.session import Session


@dataclass(frozen=True)
class Settled:
    """All that says how a person's slots are decided."""

    name: str
    clock: Clock
    routine: Routine
    spec: Spec
    policy: Policy
    places: Places
    hold: float
    """Seconds that a position or a label stands when nothing follows."""
    history: tuple[Habits, ...] = ()
    """What the stream was of so far, the first first (`changes`); nothing where it never changed."""

    @property
    def make(self) -> Callable[[EndlessModel], AnyMechanism]:
        """The mechanism over habits from a date on."""
        return partial(self.spec.make, policy=self.policy)


def context_of(own: OwnStore, person: Settled, date: dt.date, slot: int) -> str:
    """The context of a slot, by the rule of `places.dwell`, from the readings that are there when it is asked."""
    begins, ends = (instant_of(edge) for edge in (person.clock.start_of(date, slot), person.clock.end_of(date, slot)))
    seen = own.readings(person.name, begins - round(person.hold * SECOND), ends)
    if not seen:
        return UNKNOWN
    place = _one_place(seen, person.places) if begins < ends else None
    if place is None:
        return by_the_rule(own, person, seen, begins, ends)
    stands = seen[-1].instant >= begins or seen[-1].instant + round(person.hold * SECOND) > begins
    return place if stands else UNKNOWN


def _one_place(seen: Sequence[Reading], places: Places) -> str | None:
    """The place that holds every position of these readings, if one does and none lacks one.

    Then nothing else can stand in the slot, whose context is that place or, where all have ceased to stand, `unknown`:
    the last reading stands longest. Most slots are such, and this takes half as long as the rule.
    """
    positions = [one.position for one in seen if one.position is not None]
    if len(positions) < len(seen):
        return None
    first, *others = places.at(np.array(positions)).tolist()
    return places.places[first].name if first >= 0 and all(one == first for one in others) else None


def by_the_rule(own: OwnStore, person: Settled, seen: list[Reading], begins: int, ends: int) -> str:
    """The same for any readings: those of the slot, from as long before it as they stand, and one position more, for
    the speed of the first."""
    before = own.reading_before(person.name, seen[0].instant - APART)
    if before is not None:
        seen = [before, *seen]
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

    def __init__(
        self, settled: Settled, head: Head, session: Session, chain: bytes, pending: Stamp | None = None
    ) -> None:
        self.settled, self.head = settled, head
        self._session, self._chain = session, chain
        self._pending = pending
        self._ends = (-1, 0.0)  # of which slot, and when it ends: asked for more often than it changes

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
        if self._ends[0] != self._session.slot:
            self._ends = (self._session.slot, self.settled.clock.end_of(*self.next).timestamp())
        return self._ends[1]

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
        return self._decided(lambda session: session.release(stamp.context), key, KeyedEntropy(stamp.bits), stamp)

    def skipped(self, key: bytes) -> Drawn:
        """The next slot passed in public: nothing was decided."""
        return self._decided(lambda session: session.skip(), key)

    def heard(self, output: Output, key: bytes) -> Drawn:
        """The next slot as it was told, by who heard it; an output that was never possible there is refused."""
        return self._decided(lambda session: session.follow(output), key)

    def _decided(
        self, decide: Callable[[Session], object], key: bytes, rng: Rng | None = None, stamp: Stamp | None = None
    ) -> Drawn:
        date, slot = self.next
        if rng is not None:
            self.prepare()  # the copy has the kernel too
        session = copy(self._session)
        session.draw_from(SystemEntropy() if rng is None else rng)
        decide(session)
        session.draw_from(SystemEntropy())  # the bits have served
        output = session.output
        assert output is not None  # something was just decided
        kernel = None if isinstance(output, Skipped) else self._session.kernel
        row = Row(
            person=self.name,
            date=date,
            slot=slot,
            ends=int(self.ends),
            stream=self.head.stream,
            position=self._session.slot,
            output=output,
            kernel="" if kernel is None else kernel.digest.hex(),
            column=() if kernel is None else tuple(kernel.likelihood(output).tolist()),
        )
        return Drawn(row.linked(key, self._chain), session, stamp)

    def go_on_with(self, session: Session, settled: Settled) -> None:
        """A change is written down: the slot that comes next is decided with it."""
        self._session, self.settled = session, settled

    def take(self, drawn: Drawn) -> None:
        """The row is written: it is the past now."""
        self._session, self._chain, self._pending = drawn.session, drawn.row.chain, None
