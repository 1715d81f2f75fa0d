"""People followed as their readings come: a state, readings and the time in; outputs and the next state out.

No engine: Spark (`spark_stream`) keeps the states and wakes people up, and so could anything else. What is told is what
`live.Stream` tells of the same readings by the same bits.

The rules, which are public:

- A slot is told once, `margin` after its end, whether or not anything was read in it. Of the readings between its start
  and its end that have come by then, the last stands.
- A reading that comes after its slot was told is late. It changes nothing.
- A slot that ended longer ago than `grace`, because nothing was running, is skipped: nothing was decided in it.

Which readings have come, in what order and in how many parts does not matter, as long as none is late.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from discreet.clock import Clock
from discreet.contracts import AnyMechanism
from discreet.errors import DiscreetError
from discreet.live import ONE_DAY, Stream
from discreet.mechanisms.named import Spec
from discreet.models.parts import secrets_by_part
from discreet.models.routine import Routine
from discreet.models.store import files_for, load
from discreet.numerics import digest_of
from discreet.outputs import Release
from discreet.policy import Policy, read_policy
from discreet.publish.day_keys import DayKeys, SlotDraws, day_of
from discreet.publish.draws import in_words
from discreet.publish.recent import Recent

MARGIN = 2.0
"""Seconds from the end of a slot to its telling, unless told otherwise."""

GRACE = 60.0
"""Seconds that a slot may be told late; after that it is skipped."""

PEOPLE = 50_000
"""Of whom a process remembers whose habits are theirs."""

MECHANISMS = 1_000
"""That a process keeps: for days of 48 slots, each takes 0.2 MB when made and some 2 MB after a week."""

FIRST_STATES = 1_000
"""Of habits that begin at one slot, which a process remembers."""


@dataclass(frozen=True)
class Following:
    """How people are followed: data that every worker is sent. Of the keys it has the folder and nothing else."""

    models: Path
    policy: Path
    keys: Path
    mechanism: Spec
    carry: float = 0
    """Seconds that a reading stands when none follows."""
    margin: float = MARGIN
    grace: float | None = GRACE
    """None where time is that of the readings: nothing is ever skipped."""

    def __post_init__(self) -> None:
        for name in ("carry", "margin", "grace"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < 10**9:
                raise DiscreetError(f"{name} is {value} seconds; give 0 or more")


class Reading(NamedTuple):
    """A context at an instant, in milliseconds since 1970."""

    instant: int
    context: str


@dataclass(frozen=True)
class Held:
    """What changes with every reading: where the stream is, and what was read in slots that are not told."""

    start: dt.date
    slot: int
    """The slot that comes next, counted from the first of `start`."""
    due: int
    """When it is told, in milliseconds."""
    readings: Mapping[int, Reading]
    """The last of each slot."""

    def to_bytes(self) -> bytes:
        """For whoever keeps the state: trusted, for it holds the truth."""
        return json.dumps([self.start.isoformat(), self.slot, self.due, list(self.readings.items())]).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> Held:
        """What `to_bytes` gave."""
        try:
            start, slot, due, readings = json.loads(content)
            held = {int(number): Reading(int(instant), str(context)) for number, (instant, context) in readings}
            return cls(dt.date.fromisoformat(start), int(slot), int(due), held)
        except (ValueError, TypeError) as error:
            raise DiscreetError(f"the state of a person is damaged: {error!r}; go on from another checkpoint") from None


class State(NamedTuple):
    """A person's state, in two parts: the first changes with every reading, the second with every slot."""

    held: bytes
    stream: bytes
    """`Stream.state`, empty before the first slot: the observer's belief, the private state and the last reading."""


# --- what is known of a person


@dataclass(frozen=True, eq=False)
class Person:
    """A person's habits, and what is to be kept of them."""

    name: str
    routine: Routine
    clock: Clock
    policy: Policy
    decision: str
    """A digest of what decides: habits, policy, mechanism."""

    def carried(self, seconds: float) -> int:
        """How many whole slots that is."""
        return int(seconds // self.clock.slot_seconds)


class People:
    """The people of a folder of models, each read when first asked for; those who share habits share tables."""

    def __init__(self, following: Following) -> None:
        self.following = following
        self.keys = DayKeys(following.keys)
        self._known: Recent[str, Person] = Recent(PEOPLE)
        self._routines: Recent[tuple[str, Clock], Routine] = Recent(MECHANISMS)
        self._made: Recent[tuple[str, dt.date], AnyMechanism] = Recent(MECHANISMS)
        self._first: Recent[tuple[str, dt.date, int], dict[str, Any]] = Recent(FIRST_STATES)

    def get(self, name: str) -> Person | None:
        """A person, or None if there is no model of theirs."""
        return self._known.get(name) or self._read(name)

    def _read(self, name: str) -> Person | None:
        path = files_for(self.following.models, [name, ""])[name]
        if not path.is_file():
            return None
        model = load(path)
        if not isinstance(model, Routine) or model.clock is None:
            raise DiscreetError(f"{path}: {NOT_ENDLESS}")
        policy, clock = read_policy(self.following.policy, model.clock)
        try:
            secrets_by_part(model, policy, clock)
        except DiscreetError as error:
            raise DiscreetError(f"{self.following.policy}: {error}") from None
        observers = [one.fingerprint for one in model.observers]
        words = [
            "discreet stream",
            model.fingerprint,
            observers,
            policy.fingerprint,
            *in_words(self.following.mechanism),
        ]
        decision = digest_of(words).hex()
        shared = self._routines.get((decision, model.clock)) or model  # one object: what it computes, it computes once
        self._routines.keep((decision, model.clock), shared)
        person = Person(name, shared, model.clock, policy, decision)
        self._known.keep(name, person)
        return person

    def mechanism(self, person: Person, start: dt.date, model: Any) -> AnyMechanism:
        """What releases this person's slots from a date on; one object for all who share habits and start."""
        kept = self._made.get((person.decision, start))
        if kept is None:
            kept = self.following.mechanism.make(model, person.policy)
            self._made.keep((person.decision, start), kept)
        return kept

    def stream(self, person: Person, start: dt.date, state: bytes, rng: SlotDraws | None) -> Stream:
        """The person's stream as its state says, or at its start where there is no state yet."""

        def make(model: Any) -> AnyMechanism:
            return self.mechanism(person, start, model)

        carry = person.carried(self.following.carry)
        if state:
            return Stream.resume(person.routine, make, state.decode(), carry=carry, rng=rng)
        stream = Stream(person.routine, make, start=start, carry=carry, person=person.name, rng=rng)
        if not stream.endless:
            raise DiscreetError(f"{person.name}: {NOT_ENDLESS}")
        return stream

    def first_state(self, person: Person, start: dt.date, slot: int) -> bytes:
        """The state of a stream whose slots before this one of its first date are skipped; empty where none is.

        Nothing is drawn in them, so it is the same for all who share habits, but for the name.
        """
        key = person.decision, start, slot
        known = self._first.get(key)
        if known is None:
            stream = self.stream(person, start, b"", None)
            for _ in range(slot):
                stream.skip()
            known = json.loads(stream.state()) if slot else {}
            self._first.keep(key, known)
        return json.dumps({**known, "person": person.name}, ensure_ascii=False).encode() if slot else b""


NOT_ENDLESS = (
    "a stream is without end, and here each day starts anew; give a routine with a clock (discreet learn without "
    "--day-by-day), and adaptive or dphmm"
)


# --- time


def slot_at(clock: Clock, instant: int) -> tuple[dt.date, int]:
    """The date and slot in which an instant lies, by `start_of` and `end_of`.

    In the second run of a repeated hour it is the slot that has not ended, whatever the wall clock shows.
    """
    date, slot = clock.locate(dt.datetime.fromtimestamp(instant / 1000, dt.UTC))
    while _milliseconds(clock.end_of(date, slot)) <= instant:
        date, slot = (date, slot + 1) if slot + 1 < clock.slots else (date + ONE_DAY, 0)
    return date, slot


def _milliseconds(moment: dt.datetime) -> int:
    return round(moment.timestamp() * 1000)


def _place(start: dt.date, clock: Clock, slot: int) -> tuple[dt.date, int]:
    """Date and slot of the day of a slot that is counted from the first of `start`."""
    days, of_day = divmod(slot, clock.slots)
    return start + days * ONE_DAY, of_day


def _end(start: dt.date, clock: Clock, slot: int) -> int:
    return _milliseconds(clock.end_of(*_place(start, clock, slot)))


# --- a person's life


def begun(people: People, person: Person, now: int, since: dt.date | None = None) -> State:
    """The state before the first output: the present slot's, or the first slot's of a date.

    Slots of the date before the present one are skipped and not shown: there was no stream then.
    """
    start, slot = slot_at(person.clock, now) if since is None else (since, 0)
    held = Held(start, slot, _due(people, person, start, slot), {})
    return State(held.to_bytes(), people.first_state(person, start, slot))


def _due(people: People, person: Person, start: dt.date, slot: int) -> int:
    return _end(start, person.clock, slot) + round(people.following.margin * 1000)


def read(person: Person, held: Held, readings: Iterable[Reading]) -> Held:
    """Keep the last reading of each slot that is not told; late ones are left out.

    Of readings at the same instant the label that is last by name stands, so that their order does not matter.
    """
    kept = dict(held.readings)
    opens = _milliseconds(person.clock.start_of(*_place(held.start, person.clock, held.slot)))
    for reading in readings:
        if reading.instant < opens:
            continue
        date, of_day = slot_at(person.clock, reading.instant)
        slot = (date - held.start).days * person.clock.slots + of_day
        kept[slot] = max(reading, kept.get(slot, reading))
    return replace(held, readings=kept)


def told(people: People, person: Person, held: Held, state: bytes, now: int) -> tuple[list[Release], Held, bytes]:
    """All that is due by now, slot after slot, and what is left."""
    draws = SlotDraws(people.keys, person.name, person.decision)
    stream = people.stream(person, held.start, state, draws)
    releases = []
    slot, due, grace = held.slot, held.due, people.following.grace
    while due <= now:
        late = grace is not None and now - due > grace * 1000
        if late:
            releases.append(stream.skip())
        else:
            date, of_day = _place(held.start, person.clock, slot)
            draws.at(date, of_day, _end(held.start, person.clock, slot))
            reading = held.readings.get(slot)
            releases.append(stream.release(None if reading is None else reading.context))
        slot += 1
        due = _due(people, person, held.start, slot)
    open_slots = {number: reading for number, reading in held.readings.items() if number >= slot}
    return releases, Held(held.start, slot, due, open_slots), stream.state().encode()


def written_by(now: int, margin: float) -> dt.date:
    """The first day whose key is still needed, when all that was due by now is written for good.

    Every slot that ended before now - margin is told, so no slot of an earlier day is ever drawn again. One that ended
    at that very instant may not be: Spark's timers go off after their time, not at it.
    """
    return day_of(now - round(margin * 1000))
