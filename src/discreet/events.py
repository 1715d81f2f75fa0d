"""Events as contexts: what a person did, when and where, and the vocabularies that such triples are made of.

A model of events is an ordinary model whose contexts are events in one word, "activity|time|location", so that
mechanisms, beliefs and audits need not know about events.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise, product
from typing import Literal

import numpy as np

from discreet.clock import DAY_SECONDS, Clock, seconds_of
from discreet.contexts import by_frequency
from discreet.errors import DiscreetError, did_you_mean
from discreet.given import as_zone
from discreet.numerics import IntArray
from discreet.outputs import MARK, PartialEvent
from discreet.policy import At, Secret

Attribute = Literal["activity", "time", "location"]

ATTRIBUTES: tuple[Attribute, ...] = ("activity", "time", "location")
"""The three attributes, in the order of labels, arrays and outputs."""

PARTS = {"night": "00:00", "morning": "06:00", "afternoon": "12:00", "evening": "18:00"}
"""The intervals of time where nothing else is asked for."""


@dataclass(frozen=True, slots=True)
class Event:
    """What somebody did, in which interval of time, and where."""

    activity: str
    time: str
    location: str

    def __post_init__(self) -> None:
        for attribute, value in zip(ATTRIBUTES, self.values, strict=True):
            _checked(value, attribute)

    @property
    def values(self) -> tuple[str, str, str]:
        """The three values, in the order of `ATTRIBUTES`."""
        return self.activity, self.time, self.location

    @property
    def label(self) -> str:
        """The event as a context: "activity|time|location"."""
        return MARK.join(self.values)

    @classmethod
    def of(cls, label: str) -> Event:
        """The event of a label."""
        parts = label.split(MARK)
        if len(parts) != len(ATTRIBUTES):
            raise DiscreetError(f"{label!r} is not the label of an event; write it as 'activity|time|location'")
        return cls(*parts)


def _checked(value: object, attribute: str) -> None:
    if not isinstance(value, str) or not value:
        raise DiscreetError(f"{attribute} {value!r} of an event is not a label; use non-empty strings")
    if MARK in value:
        raise DiscreetError(f"{attribute} {value!r} of an event contains {MARK!r}; write it another way")


@dataclass(frozen=True)
class Intervals:
    """The rule that makes time intervals of timestamps: parts of the day, each from its clock time to the next part's.

    The last part lasts until the first of the next day. Clock times are on the wall clock of `zone`; where it is None,
    on that of whatever the rule is used on, and of UTC where that says nothing.
    """

    parts: Mapping[str, str] = field(default_factory=lambda: dict(PARTS))
    zone: str | None = None

    def __post_init__(self) -> None:
        if not self.parts:
            raise DiscreetError("the day has no parts; name at least one, such as {'day': '00:00'}")
        for part in self.parts:
            _checked(part, "time")
        for before, after in pairwise((*self.starts, DAY_SECONDS)):
            if not before < after:
                raise DiscreetError(
                    f"the parts of the day start at {', '.join(self.parts.values())}; give them in order of time, "
                    "the part that runs over midnight last"
                )
        if self.zone is not None:
            object.__setattr__(self, "zone", as_zone(self.zone))
        _ = self._clock  # checks the zone

    @classmethod
    def of(cls, rule: str, zone: str | None = None) -> Intervals:
        """From text: "night 00:00, morning 06:00, afternoon 12:00, evening 18:00"."""
        parts: dict[str, str] = {}
        for entry in rule.split(","):
            name, _, start = entry.strip().rpartition(" ")
            if not name or name in parts:
                raise DiscreetError(
                    f"{entry.strip()!r} in {rule!r} is not a part of the day; write names of their own with times, "
                    "such as 'night 00:00, day 08:00'"
                )
            parts[name.strip()] = start
        return cls(parts, zone)

    def on(self, zone: str | None) -> Intervals:
        """The same rule on the wall clock of `zone`, unless the rule states one of its own."""
        return self if self.zone is not None or zone is None else replace(self, zone=zone)

    @property
    def names(self) -> tuple[str, ...]:
        """The intervals, in the order of their starts."""
        return tuple(self.parts)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """When each part starts, in seconds after midnight."""
        return tuple(seconds_of(start, f"the start of {part!r}") for part, start in self.parts.items())

    @cached_property
    def _clock(self) -> Clock:
        return Clock(slots=DAY_SECONDS, zone=self.zone or "UTC")

    def locate(self, timestamp: dt.datetime) -> str:
        """The interval of a timestamp; one without a zone is taken as wall-clock time in the rule's zone."""
        second = self._clock.locate(timestamp)[1]
        return self.names[bisect_right(self.starts, second) - 1]  # before the first start: -1, the last part


@dataclass(frozen=True)
class Trajectory:
    """One person's events in the order of time; how many there are differs between people.

    `timestamps`, where they are known, are one an event, in UTC and in order. They are never published: they would tell
    an event's interval where it is withheld.
    """

    person: str
    events: tuple[Event, ...]
    timestamps: tuple[dt.datetime, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", tuple(self.events))
        if not self.events:
            raise DiscreetError(f"the trajectory of {self.person!r} has no events; leave such people out")
        for position, event in enumerate(self.events):
            if not isinstance(event, Event):
                raise DiscreetError(f"event {position} of {self.person!r} is {event!r}; give Event(...) objects")
        if self.timestamps is not None:
            object.__setattr__(self, "timestamps", self._in_utc(self.timestamps))

    def _in_utc(self, timestamps: Sequence[dt.datetime]) -> tuple[dt.datetime, ...]:
        """The timestamps, checked. UTC, because the wall clock of a zone repeats an hour and so cannot be compared."""
        if len(timestamps) != len(self.events):
            raise DiscreetError(
                f"the trajectory of {self.person!r} has {len(self.events)} events and {len(timestamps)} timestamps; "
                "give one an event"
            )
        for timestamp in timestamps:
            if not isinstance(timestamp, dt.datetime):
                raise DiscreetError(f"timestamp {timestamp!r} of {self.person!r} is not a datetime; give datetimes")
            if timestamp.tzinfo is None:
                raise DiscreetError(f"a timestamp of {self.person!r} has no time zone; give all of them one")
        instants = tuple(timestamp.astimezone(dt.UTC) for timestamp in timestamps)
        for position, (before, after) in enumerate(pairwise(instants), 1):
            if after < before:
                raise DiscreetError(
                    f"event {position} of {self.person!r} is at {after}, before event {position - 1} at {before}; "
                    "sort the events by time"
                )
        return instants

    def __len__(self) -> int:
        return len(self.events)


@dataclass(frozen=True)
class Events:
    """Vocabulary: the values of the three attributes, and the events (contexts) that are considered.

    These are all triples in C order (location runs fastest), or only the `occurring` ones, in that same order; those of
    `Events.of_contexts` stand in the order given.
    """

    activities: tuple[str, ...]
    times: tuple[str, ...]
    locations: tuple[str, ...]
    occurring: tuple[Event, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name, attribute in zip(("activities", "times", "locations"), ATTRIBUTES, strict=True):
            given: object = getattr(self, name)
            if isinstance(given, str):
                raise DiscreetError(f"{name} is one string, {given!r}; give a tuple of labels")
            values = tuple(getattr(self, name))
            if not values:
                raise DiscreetError(f"there are no {name}; give at least one")
            for value, count in Counter(values).items():
                _checked(value, attribute)
                if count > 1:
                    raise DiscreetError(f"{attribute} {value!r} occurs twice; values must be distinct")
            object.__setattr__(self, name, values)
        if self.occurring is not None:
            for event in self.occurring:
                if not isinstance(event, Event):
                    raise DiscreetError(f"{event!r} among those that occur is not an event; give Event(...) objects")
            distinct = {event: self._place(event) for event in self.occurring}
            if not distinct:
                raise DiscreetError("no event occurs; give at least one, or leave `occurring` out to mean all triples")
            object.__setattr__(self, "occurring", tuple(sorted(distinct, key=distinct.__getitem__)))

    @classmethod
    def of_contexts(cls, contexts: Sequence[str]) -> Events:
        """The vocabulary behind a model's contexts, which must be labels of events; contexts keep their order."""
        occurring = tuple(map(Event.of, contexts))
        activities, times, locations = (
            tuple(dict.fromkeys(values)) for values in zip(*(event.values for event in occurring), strict=True)
        )
        found = cls(activities, times, locations, occurring)
        object.__setattr__(found, "occurring", occurring)  # in the order given, not sorted
        return found

    @classmethod
    def from_trajectories(cls, trajectories: Iterable[Trajectory], occurring_only: bool = False) -> Events:
        """The values that occur, by falling frequency; with `occurring_only` also only the triples that occur."""
        seen: Counter[Event] = Counter()
        for trajectory in trajectories:
            seen.update(trajectory.events)
        if not seen:
            raise DiscreetError("there are no trajectories; give at least one")
        return cls.from_counts(seen, occurring_only=occurring_only)

    @classmethod
    def from_counts(cls, seen: Mapping[Event, int], *, occurring_only: bool = False) -> Events:
        """The same from how often each event occurs."""
        counts: tuple[Counter[str], ...] = tuple(Counter() for _ in ATTRIBUTES)
        for event, count in seen.items():
            for counter, value in zip(counts, event.values, strict=True):
                counter[value] += count
        activities, times, locations = map(by_frequency, counts)
        return cls(activities, times, locations, occurring=tuple(seen) if occurring_only else None)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """How many activities, times and locations there are."""
        return len(self.activities), len(self.times), len(self.locations)

    @cached_property
    def contexts(self) -> tuple[str, ...]:
        """The n labels of the events considered: a model's contexts."""
        if self.occurring is not None:
            return tuple(event.label for event in self.occurring)
        return tuple(map(MARK.join, product(self.activities, self.times, self.locations)))

    @cached_property
    def attribute_index(self) -> IntArray:
        """(n, 3): for each context the indices of its activity, time and location."""
        if self.occurring is None:
            places = np.indices(self.sizes, dtype=np.int64).reshape(3, -1).T
        else:
            places = np.array([self._place(event) for event in self.occurring], dtype=np.int64)
        index = np.ascontiguousarray(places)
        index.setflags(write=False)
        return index

    @cached_property
    def _context_index(self) -> dict[str, int]:
        return {context: k for k, context in enumerate(self.contexts)}

    @cached_property
    def _value_index(self) -> tuple[dict[str, int], ...]:
        return tuple({value: k for k, value in enumerate(self.values(attribute))} for attribute in ATTRIBUTES)

    def values(self, attribute: str) -> tuple[str, ...]:
        """The values of an attribute."""
        return (self.activities, self.times, self.locations)[self.position(attribute)]

    def position(self, attribute: str) -> int:
        """0 for the activity, 1 for the time, 2 for the location: the column of `attribute_index`."""
        for position, known in enumerate(ATTRIBUTES):
            if attribute == known:
                return position
        raise DiscreetError(f"events have no attribute {attribute!r}; {did_you_mean(str(attribute), ATTRIBUTES)}")

    def value_index(self, attribute: str, value: str) -> int:
        """The index of a value among its attribute's."""
        index = self._value_index[self.position(attribute)]
        if value not in index:
            raise DiscreetError(f"{attribute} {value!r} is not known; {did_you_mean(str(value), index)}")
        return index[value]

    def _place(self, event: Event) -> tuple[int, ...]:
        return tuple(self.value_index(a, value) for a, value in zip(ATTRIBUTES, event.values, strict=True))

    def index_of(self, event: Event | str) -> int:
        """The context index of an event or its label."""
        label = event.label if isinstance(event, Event) else event
        if label not in self._context_index:
            self._place(Event.of(label))  # a value that is not known is the better message
            raise DiscreetError(f"event {label!r} never occurs among those considered; learn from data that have it")
        return self._context_index[label]

    def codes(self, trajectory: Trajectory, missing: int | None = None) -> IntArray:
        """(length,): context indices of a trajectory's events; one that is not known is an error, or `missing`."""
        if missing is None:
            return np.array([self.index_of(event) for event in trajectory.events], dtype=np.int64)
        known = self._context_index
        return np.array([known.get(event.label, missing) for event in trajectory.events], dtype=np.int64)

    def secret(
        self,
        attribute: str,
        value: str,
        *,
        at: At = "each",
        delta: float | None = None,
        cap: float | None = None,
        name: str | None = None,
    ) -> Secret:
        """The secret that an attribute has a value, such as "activity = gambling": every event with that value."""
        wanted = self.value_index(attribute, value)
        has = np.flatnonzero(self.attribute_index[:, self.position(attribute)] == wanted)
        if not has.size:
            raise DiscreetError(f"no event that occurs has {attribute} {value!r}, so it cannot be secret; leave it out")
        contexts = (self.contexts[k] for k in has)
        return Secret(name or f"{attribute} = {value}", contexts, delta=delta, at=at, cap=cap)

    def partial(self, context_index: int, kept: tuple[bool, bool, bool]) -> PartialEvent:
        """The output that shows the kept attributes of an event and withholds the others."""
        values = Event.of(self.contexts[context_index]).values
        return PartialEvent(*(value if keep else None for value, keep in zip(values, kept, strict=True)))
