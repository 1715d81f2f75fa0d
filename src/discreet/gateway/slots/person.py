"""One person at the gateway: the slots of `live`, each written down before it is known.

A slot goes through four hands, each of which can be cut off and taken up again (theory, section 10; `own_store`):
`stamped` settles its context and takes random bits, `drawn` decides from exactly these, the journal writes it, and
`take` makes it the person's past. Before `take` nothing here has changed.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from discreet.clock import Clock
from discreet.contracts import AnyMechanism, EndlessModel
from discreet.gateway.slots.changes import HabitsFrom
from discreet.gateway.store.journal.base import Head, JournalRow, Key
from discreet.gateway.store.own_store import OwnStore, Stamp
from discreet.live import Stream
from discreet.live.slots import SECOND, instants, micros
from discreet.live.standing import Reading, StandingRule
from discreet.live.stream import Drawn
from discreet.mechanisms.named import Spec
from discreet.models.routine.routine import Routine
from discreet.outputs import Skipped
from discreet.places.named import Places
from discreet.policy import Policy
from discreet.randomness import KEY_BYTES, KeyedEntropy
from discreet.session import Session


@dataclass(frozen=True)
class PersonConfig:
    """All that says how a person's slots are decided."""

    name: str
    clock: Clock
    routine: Routine
    spec: Spec
    policy: Policy
    places: Places
    hold: float
    """Seconds that a position or a label stands when nothing follows."""
    sources: tuple[str, ...] = ()
    """In the order of the settings: of equally new changes the first is believed."""
    phone: str | None = None
    """The one source that counts, of several; None for the newest change of any."""
    history: tuple[HabitsFrom, ...] = ()
    """What the stream was of so far, the first first (`changes`); nothing where it never changed."""

    @property
    def make(self) -> Callable[[EndlessModel], AnyMechanism]:
        """The mechanism over habits from a date on."""
        return partial(self.spec.make, policy=self.policy)

    @property
    def rule(self) -> StandingRule:
        """Which context stands, of this person."""
        return StandingRule(self.hold, self.places, self.sources)

    def readings(self, own: OwnStore) -> StoredReadings:
        """The person's readings that count."""
        return StoredReadings(own, self.name, None if self.phone is None else self.counts)

    def counts(self, source: str) -> bool:
        """Whether a source's readings count: all do, or those of the phone that is named.

        A source is `owntracks/DEVICE`, `owntracks/DEVICE/event`, `TOKEN`, `TOKEN/NAME` or `home_assistant/ENTITY`.
        """
        first, _, name = source.partition("/")
        return self.phone is None or self.phone in (first, name, name.removesuffix("/event"))


def context_of(own: OwnStore, person: PersonConfig, date: dt.date, slot: int) -> str:
    """The context of a slot, from the readings that are there when it is asked."""
    return person.rule.context(person.readings(own), *instants(person.clock, date, slot))


def believed(own: OwnStore, person: PersonConfig, now: float) -> str | None:
    """The source that counts at present; None where nothing stands."""
    return person.rule.believed(person.readings(own), micros(now))


@dataclass(frozen=True)
class StoredReadings:
    """One person's readings in the own store that count, as the rule asks for them."""

    own: OwnStore
    person: str
    counts: Callable[[str], bool] | None = None
    """Whether a source's do; None where all do."""

    def between(self, since: int, until: int) -> list[Reading]:
        """Those from one instant to before another."""
        found = self.own.readings(self.person, since, until)
        return found if self.counts is None else [one for one in found if self.counts(one.source)]

    def before(self, source: str, instant: int) -> Reading | None:
        """The source's last position at that instant or before it."""
        return self.own.position_before(self.person, source, instant)


@dataclass(frozen=True)
class Decided:
    """A decision that nobody knows of yet: the row, and the stream after it."""

    row: JournalRow
    drawn: Drawn
    stamp: Stamp | None
    """None for a skip."""

    @property
    def session(self) -> Session:
        """The session after it."""
        return self.drawn.session

    @property
    def checkpoint(self) -> list[tuple[int, int, str]]:
        """What the journal keeps beside the row: a checkpoint where the day ends with it, else nothing."""
        session = self.session
        return [(self.row.stream, session.slot, session.checkpoint().to_json())] if self.drawn.cut else []


class PersonStream:
    """A person's stream as it stands; `next` is the slot that ends next."""

    def __init__(
        self, config: PersonConfig, head: Head, session: Session, chain: bytes, pending: Stamp | None = None
    ) -> None:
        self.config, self.head = config, head
        self.stream = Stream(config.routine, config.make, start=head.start, person=config.name, session=session)
        self._chain, self._pending = chain, pending
        self._ends: tuple[Key | None, int] = (None, 0)  # of which slot, and when: asked for more often than it changes

    @property
    def name(self) -> str:
        """Whose stream it is."""
        return self.config.name

    @property
    def session(self) -> Session:
        """The session as of the last written row: what an observer may believe."""
        return self.stream.session

    @property
    def next(self) -> Key:
        """The date and slot that come next."""
        return self.stream.date, self.stream.slot

    @property
    def ends(self) -> int:
        """When the next slot ends, in microseconds since 1970."""
        if self._ends[0] != self.next:
            self._ends = (self.next, instants(self.config.clock, *self.next)[1])
        return self._ends[1]

    @property
    def pending(self) -> bool:
        """Whether the next slot was stamped, and is decided from its stamp whatever the time is."""
        return self._pending is not None

    def prepare(self) -> None:
        """Compute the next kernel, which needs no reading: at the boundary one draw and one commit are left."""
        _ = self.session.kernel

    def stamped(self, own: OwnStore, bits: Callable[[int], bytes] = os.urandom) -> Stamp:
        """The next slot's context and the bits that it is drawn from; the same again until the row is written."""
        if self._pending is None:
            context = context_of(own, self.config, *self.next)
            position, before = self.session.slot, self.session.private
            self._pending = Stamp(self.name, self.head.stream, position, context, before, bits(KEY_BYTES))
        return self._pending

    def drawn(self, stamp: Stamp, key: bytes) -> Decided:
        """The decision of a stamp: a function of its context, its bits and the public past."""
        assert stamp.bits is not None  # erased only after the row
        self.prepare()  # the session that is drawn with, a copy, has the kernel too
        return self.decided(self.stream.drawn(stamp.context, KeyedEntropy(stamp.bits)), key, stamp)

    def decided(self, drawn: Drawn, key: bytes, stamp: Stamp | None = None) -> Decided:
        """The row of what the stream drew, linked to the one before."""
        output = drawn.release.output
        kernel = None if isinstance(output, Skipped) else self.session.kernel
        row = JournalRow(
            person=self.name,
            date=drawn.release.date,
            slot=drawn.release.slot,
            ends=self.ends // SECOND,
            stream=self.head.stream,
            position=self.session.slot,
            output=output,
            kernel="" if kernel is None else kernel.digest.hex(),
            column=() if kernel is None else tuple(kernel.likelihood(output).tolist()),
        )
        return Decided(row.linked(key, self._chain), drawn, stamp)

    def go_on_with(self, session: Session, config: PersonConfig) -> None:
        """A change is written down: the slot that comes next is decided with it."""
        self.stream.change(session)
        self.config = config

    def take(self, decided: Decided) -> None:
        """The row is written: it is the past now."""
        self.stream.take(decided.drawn)
        self._chain, self._pending = decided.row.chain, None
