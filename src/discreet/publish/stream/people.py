"""People followed as their readings come: a state, readings and the time in; outputs and the next state out.

No engine: Spark (`spark_stream`) keeps the states and wakes people up, and so could anything else. The rule is that of
`live`: a slot is decided and told `margin` after its end, from the readings that have come by then. Of slots that are
told no more is kept than the reading that stands.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from cachetools import LRUCache

from discreet.clock import Clock
from discreet.contracts import AnyMechanism
from discreet.errors import DiscreetError
from discreet.live import Stream
from discreet.live.mechanism_cache import since as from_slot
from discreet.live.slots import GRACE, MARGIN, ONE_DAY, Schedule, instants, slot_at
from discreet.live.standing import Heard, Label, StandingRule
from discreet.live.stream import heard_in
from discreet.mechanisms.named import Spec
from discreet.models.routine.endless import EndlessChain
from discreet.models.routine.pairs import PairRoutine
from discreet.models.routine.parts import secrets_by_part
from discreet.models.routine.routine import Routine
from discreet.models.store import files_for, load_days
from discreet.numerics import digest_of
from discreet.outputs import Release
from discreet.policy import Policy, read_policy
from discreet.publish.draws import in_words
from discreet.publish.stream.day_keys import DayKeys, SlotDraws, day_of

PEOPLE = 50_000
"""Of whom a process remembers whose habits are theirs."""

MECHANISMS = 1_000
"""That a process keeps: for days of 48 slots, each takes 0.2 MB when made and some 2 MB after a week."""

MILLISECOND = 1_000
"""Spark's time is in milliseconds, the slot clock's in microseconds."""


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

    @property
    def schedule(self) -> Schedule:
        """When slots are decided."""
        return Schedule(self.margin, self.grace)

    @property
    def rule(self) -> StandingRule:
        """Which reading stands in a slot."""
        return StandingRule(self.carry)

    def __post_init__(self) -> None:
        for name in ("carry", "margin", "grace"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < 10**9:
                raise DiscreetError(f"{name} is {value} seconds; give 0 or more")


class LabelledInstant(NamedTuple):
    """A context at an instant, in milliseconds since 1970."""

    instant: int
    context: str


@dataclass(frozen=True)
class Held:
    """What changes with every reading: where the stream is, and the readings that may stand in slots not yet told."""

    start: dt.date
    slot: int
    """The slot that comes next, counted from the first of `start`."""
    due: int
    """When it is told, in milliseconds."""
    heard: Heard = Heard()  # noqa: RUF009  never changed
    older: bool = False
    """Whether an earlier version wrote it: then the reading that stands is in the stream's state."""

    def to_bytes(self) -> bytes:
        """For whoever keeps the state: trusted, for it holds the truth."""
        readings = [[one.instant // MILLISECOND, one.label] for one in self.heard.labels]
        return json.dumps([self.start.isoformat(), self.slot, self.due, readings, self.older]).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> Held:
        """What `to_bytes` gave, now or in an earlier version, which kept [slot, reading] of the last of each slot."""
        try:
            start, slot, due, readings, *rest = json.loads(content)
            pairs = readings if rest else [reading for _, reading in readings]
            heard = Heard(tuple(Label(int(instant) * MILLISECOND, str(context)) for instant, context in pairs))
            return cls(dt.date.fromisoformat(start), int(slot), int(due), heard, rest != [False])
        except (ValueError, TypeError) as error:
            raise DiscreetError(f"the state of a person is damaged: {error!r}; go on from another checkpoint") from None


# --- what is known of a person


@dataclass(frozen=True, eq=False)
class FollowedPerson:
    """A person's habits, and what is to be kept of them."""

    name: str
    routine: Routine
    clock: Clock
    policy: Policy
    decision: str
    """A digest of what decides: habits, policy, mechanism."""


class People:
    """The people of a folder of models, each read when first asked for; those who share habits share tables."""

    def __init__(self, following: Following) -> None:
        self.following = following
        self.keys = DayKeys(following.keys)
        self._known: LRUCache[str, FollowedPerson] = LRUCache(PEOPLE)
        self._routines: LRUCache[tuple[str, Clock], Routine] = LRUCache(MECHANISMS)
        self._made: LRUCache[tuple[str, dt.date, int], AnyMechanism] = LRUCache(MECHANISMS)
        self._like: LRUCache[str, AnyMechanism] = LRUCache(MECHANISMS)

    def get(self, name: str) -> FollowedPerson | None:
        """A person, or None if there is no model of theirs."""
        return self._known.get(name) or self._read(name)

    def _read(self, name: str) -> FollowedPerson | None:
        path = files_for(self.following.models, [name, ""])[name]
        if not path.is_file():
            return None
        model = load_days(path)
        if isinstance(model, PairRoutine):
            raise DiscreetError(f"{path}: has habits over two contexts; learn it again with --order 1")
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
        self._routines[decision, model.clock] = shared
        person = FollowedPerson(name, shared, model.clock, policy, decision)
        self._known[name] = person
        return person

    def mechanism(self, person: FollowedPerson, start: dt.date, first: int, model: Any) -> AnyMechanism:
        """What releases this person's slots from one on; those who share habits share what was decided for any."""
        kept = self._made.get((person.decision, start, first))
        if kept is None:
            make = partial(self.following.mechanism.make, policy=person.policy)
            like = self._like.get(person.decision)
            kept = make(model) if like is None else from_slot(like, make, start, first)
            self._made[person.decision, start, first] = kept
            if like is None:
                self._like[person.decision] = kept
        return kept

    def stream(self, person: FollowedPerson, held: Held, state: bytes, rng: SlotDraws | None) -> Stream:
        """The person's stream as its state says, or at its start where there is no state yet."""

        def make(model: Any) -> AnyMechanism:
            if not isinstance(model, EndlessChain):
                raise DiscreetError(f"{person.name}: {NOT_ENDLESS}")
            return self.mechanism(person, model.start, model.first, model)

        if state:
            return Stream.resume(person.routine, make, state.decode(), rng=rng)
        return Stream(person.routine, make, start=held.start, first=held.slot, person=person.name, rng=rng)


NOT_ENDLESS = (
    "a stream is without end, and here each day starts anew; give a routine with a clock (discreet learn without "
    "--day-by-day), and adaptive or dphmm"
)


# --- a person's life


def begun(people: People, person: FollowedPerson, now: int, since: dt.date | None = None) -> Held:
    """What is held before the first output: the stream begins with the present slot, or with the first of a date."""
    start, slot = slot_at(person.clock, now * MILLISECOND) if since is None else (since, 0)
    held = Held(start, slot, _due(people, person, start, slot))
    people.stream(person, held, b"", None)  # what cannot be followed is refused now
    return held


def _due(people: People, person: FollowedPerson, date: dt.date, slot: int) -> int:
    return people.following.schedule.due(instants(person.clock, date, slot)[1]) // MILLISECOND


def read(people: People, person: FollowedPerson, held: Held, readings: Iterable[LabelledInstant]) -> Held:
    """Keep the readings that may stand in slots that are not told."""
    days, of_day = divmod(held.slot, person.clock.slots)
    opens, _ = instants(person.clock, held.start + days * ONE_DAY, of_day)
    heard = held.heard.hear(Label(one.instant * MILLISECOND, one.context) for one in readings)
    return replace(held, heard=heard.since(opens, people.following.carry))


def told(
    people: People, person: FollowedPerson, held: Held, state: bytes, now: int
) -> tuple[list[Release], Held, bytes]:
    """All that is due by now, slot after slot, and what is left."""
    draws = SlotDraws(people.keys, person.name, person.decision)
    stream = people.stream(person, held, state, draws)
    heard = held.heard
    if held.older and state:
        heard = heard.hear(heard_in(state.decode(), person.clock).labels)
    rule, releases = people.following.rule, list[Release]()
    for ends, skips in stream.due(people.following.schedule, now * MILLISECOND):
        if skips:
            releases.append(stream.skip())
        else:
            draws.at(stream.date, stream.slot, ends // MILLISECOND)
            releases.append(
                stream.release(rule.context(heard, instants(person.clock, stream.date, stream.slot)[0], ends))
            )
    opens, due = instants(person.clock, stream.date, stream.slot)[0], _due(people, person, stream.date, stream.slot)
    left = Held(held.start, held.slot + len(releases), due, heard.since(opens, people.following.carry))
    return releases, left, stream.state().encode()


def written_by(now: int, margin: float) -> dt.date:
    """The first day whose key is still needed, when all that was due by now is written for good.

    Every slot that ended before now - margin is told, so no slot of an earlier day is ever drawn again. One that ended
    at that very instant may not be: Spark's timers go off after their time, not at it.
    """
    return day_of(now - round(margin * 1000))
