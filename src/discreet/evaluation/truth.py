"""Is the model true enough? Habits held against days that they were not learned from: a test that can fail.

Two observers are asked. One knows the habits alone: is each secret, at each hour, as frequent as its prior? The other
sees something besides, one slot in four hours or what a mechanism shows, and believes what follows: where that is 10 %,
is it 10 %? Both are judged by `calibration`, with one rate of false alarms together.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from discreet.clock import Clock
from discreet.contexts import OTHER, UNKNOWN, Day
from discreet.contracts import AnyMechanism
from discreet.errors import DiscreetError
from discreet.evaluation.calibration import ALARMS, DRAWS, Calibration, Cell, ClaimCounts, Kind
from discreet.evaluation.paths import paths
from discreet.evaluation.week import every_date
from discreet.models.chain.week import Models, weekpart
from discreet.models.hidden.markov import HiddenMarkovModel
from discreet.models.routine.parts import AnyModel, AnyRoutine, Make, parts_of, without_end
from discreet.numerics import BoolArray, FloatArray, IntArray
from discreet.policy import Policy, Secret
from discreet.randomness import SeededEntropy
from discreet.session import Session

FEWEST = 7
"""Days or people below which nothing is said: a week, so that each day of it was there."""

DAYS_REMEDY = (
    "these days are not like those that were learned: learn from recent days alone, or from more of them; let weekdays "
    "and weekends differ; look for labels that mean something else now"
)
"""What to do where habits are not true of later days."""

GLIMPSES = 6
"""Slots a day that the second observer sees where there is no mechanism: one in four hours."""

DOUBTFUL = 0.02
"""Beliefs that are off by more than this on average, and by thrice what chance explains, are in doubt."""

Likelihood = FloatArray | None
"""What a slot's output tells: (n,) over contexts, (n, n) over the context before and the one now; None for nothing."""


class UntestableError(DiscreetError):
    """What a mechanism shows cannot be judged here."""


# --- what was found


@dataclass(frozen=True)
class Look:
    """What one observer believes, held against the truth."""

    observer: str
    calibration: Calibration
    held_out: bool
    """Whether the habits were learned without these claims."""
    on: str
    """Which data the claims are about, in words."""

    @property
    def off(self) -> float:
        """How far beliefs are from frequencies, on average over all claims: 0.01 is one percentage point."""
        return self._mean(0)

    @property
    def by_chance(self) -> float:
        """How far they would be if the habits were exactly true."""
        return self._mean(1)

    def _mean(self, which: int) -> float:
        sizes = {name: sum(cell.claims for cell in self.calibration.of(name, "all")) for name in self.names}
        total = sum(sizes.values())
        return sum(sizes[name] * self.calibration.distances[name][which] for name in self.names) / total

    @property
    def names(self) -> tuple[str, ...]:
        """The secrets of which there are claims."""
        return tuple(self.calibration.distances)

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        calibration = self.calibration
        return {
            "observer": self.observer,
            "on": self.on,
            "held_out": self.held_out,
            "off": self.off,
            "by_chance": self.by_chance,
            "secrets": {
                name: {
                    "off": calibration.distances[name][0],
                    "by_chance": calibration.distances[name][1],
                    "notices": calibration.notices(name),
                }
                for name in self.names
            },
            "cells": [cell.to_json() for cell in calibration.cells],
        }


@dataclass(frozen=True)
class Truth:
    """Whether habits hold on data: `holds` is None where there is too little to say."""

    on: str
    """Which data, in words."""
    looks: tuple[Look, ...]
    untested: str | None
    """Why nothing can be said; None where something can."""
    remedy: str

    @property
    def held_out(self) -> bool:
        """Whether something was tried that the habits were not learned from."""
        return any(look.held_out for look in self.looks)

    @property
    def main(self) -> Look:
        """What is said first: the beliefs of who sees most, on held-out claims where there are some."""
        return max(self.looks, key=lambda look: look.held_out * len(self.looks) + self.looks.index(look))

    @property
    def holds(self) -> bool | None:
        """Whether no cell is off."""
        return None if self.untested else not self.findings

    @property
    def doubtful(self) -> bool:
        """Whether nothing is proven wrong although beliefs are further off than chance explains."""
        return bool(self.holds) and self.main.off > max(DOUBTFUL, 3 * self.main.by_chance)

    @property
    def findings(self) -> tuple[tuple[Look, Cell], ...]:
        """What is off, the worst first."""
        found = [(look, cell) for look in self.looks for cell in look.calibration.off]
        return tuple(sorted(found, key=lambda one: -one[1].supported))

    @property
    def figure(self) -> str:
        """How true the habits were, in half a sentence: what stands beside every promise."""
        if self.untested:
            return f"not tested: {self.untested}"
        off = f"{100 * self.main.off:.1f} points on average ({100 * self.main.by_chance:.1f} by chance alone)"
        held = f"on {self.main.on} beliefs were off by {off}"
        return held if self.holds else f"{held}, and {sentence_of(self.findings[0][1])}"

    def to_json(self) -> dict[str, Any]:
        """For machines: all cells, and the findings in words."""
        return {
            "holds": self.holds,
            "on": self.on,
            "held_out": self.held_out,
            "untested": self.untested,
            "figure": self.figure,
            "findings": [
                {"observer": look.observer, "words": sentence_of(cell)} | cell.to_json() for look, cell in self.findings
            ],
            "remedy": None if self.holds or self.untested else self.remedy,
            "alarms": ALARMS,
            "looks": [look.to_json() for look in self.looks],
        }

    def summary(self) -> dict[str, Any]:
        """What a model's file carries."""
        found = {"holds": self.holds, "on": self.on, "held_out": self.held_out, "figure": self.figure}
        return found | ({"off": self.main.off, "by_chance": self.main.by_chance} if self.looks else {})


def sentence_of(cell: Cell) -> str:
    """What is off, in a sentence: what was said, and what was."""
    where: Mapping[Kind, str] = {
        "all": "over all",
        "hour": f"from {cell.name}",
        "position": f"at {cell.name}",
        "belief": f"where the belief is {cell.name}",
        "shown": f"where {cell.name} is shown",
        "apart": f"twice, {cell.name} apart",
    }
    bound = f"{share(cell.low)} at least" if cell.was > cell.said else f"{share(cell.high)} at most"
    return (
        f"{cell.secret!r} {where[cell.kind]}: the habits say {share(cell.said)}, it was {share(cell.was)} "
        f"({bound}; {cell.claims} claims)"
    )


def share(value: float) -> str:
    """A probability as people say it, small ones too."""
    return (
        f"{100 * value:.0f} %" if 0.0995 <= value <= 0.9005 else f"{100 * value:.2g} %" if value < 0.1 else _high(value)
    )


def _high(value: float) -> str:
    return "100 %" if value == 1 else f"{min(99.9, 100 * value):.3g} %"


# --- secrets as classes of contexts: all that the test needs to know of a context


class Classes:
    """Contexts sorted by which secrets they belong to."""

    def __init__(self, secrets: Sequence[Secret]) -> None:
        self.secrets = tuple(secrets)
        self._patterns: dict[tuple[bool, ...], int] = {}

    def of(self, labels: Sequence[str]) -> IntArray:
        """(N,): the class of each label; one that no secret names is in the class of those."""
        patterns = {label: tuple(label in one.contexts for one in self.secrets) for label in set(labels)}
        for pattern in sorted(set(patterns.values())):
            self._patterns.setdefault(pattern, len(self._patterns))
        return np.array([self._patterns[patterns[label]] for label in labels], dtype=np.int64)

    def one_hot(self, labels: Sequence[str]) -> FloatArray:
        """(n, C)."""
        found = self.of(labels)
        return np.eye(len(self._patterns))[found]

    def members(self, secret: int, classes: int) -> BoolArray:
        """(classes,): which of them belong to a secret."""
        patterns = list(self._patterns)
        return np.array([pattern[secret] for pattern in patterns[:classes]], dtype=np.bool_)


@dataclass(frozen=True)
class Stretch:
    """A model over N places, with what was seen at each (`paths.Steps`)."""

    initial: FloatArray  # (Z,)
    transition: Callable[[int], FloatArray]  # from t to t + 1
    emission: Callable[[int], FloatArray] | None  # (Z, n); None where states are contexts
    in_class: FloatArray  # (n, C)
    seen: Sequence[Likelihood]  # (N,)

    @property
    def places(self) -> int:
        """N."""
        return len(self.seen)

    def first(self, *, seen: bool) -> FloatArray:
        """P(z, output) at the first place."""
        return self.initial * self._weights(0, seen)

    def step(self, t: int, *, seen: bool) -> FloatArray:
        """P(z', output | z)."""
        return np.asarray(self.transition(t - 1) * self._weights(t, seen))

    def _weights(self, t: int, seen: bool) -> FloatArray | float:
        likelihood = self.seen[t]
        if likelihood is None or not seen:
            return 1.0
        return likelihood if self.emission is None else np.asarray(self.emission(t) @ likelihood)

    def classes(self, t: int, *, seen: bool) -> FloatArray:
        """P(class | z, output)."""
        if self.emission is None:
            return self.in_class
        likelihood = self.seen[t]
        emitted = self.emission(t) if likelihood is None or not seen else self.emission(t) * likelihood
        total = emitted.sum(axis=1, keepdims=True)
        return np.asarray(
            np.where(total > 0, emitted, self.emission(t)) @ self.in_class / np.where(total > 0, total, 1)
        )


# --- days


@dataclass(frozen=True)
class Course:
    """Days that follow each other under one model: all dates of a routine, or one day of a model of days."""

    model: Any
    days: tuple[Day, ...]
    counted: tuple[bool, ...]  # days without a reading are in between, and no claim
    transition: Callable[[int], FloatArray]

    @property
    def labels(self) -> list[str]:
        """(N,)."""
        return [label for day in self.days for label in day.contexts]


Sight = Callable[[Course], Sequence[Likelihood]]
"""What an observer sees of a course."""


def courses(model: AnyModel, days: Sequence[Day]) -> Iterator[Course]:
    """The days under their models; those that no part of the model serves are left out."""
    if isinstance(model, AnyRoutine):
        for own in _by_person(days):
            every = [day.fitted(model.contexts) for day in every_date(own)]
            given = {day.date for day in own}
            endless = model.since(_date(every[0]))
            yield Course(endless, tuple(every), tuple(day.date in given for day in every), endless.transition)
        return
    parts = parts_of(model)
    for day in days:
        part = weekpart(day.date) if isinstance(model, Models) and day.date is not None else None
        if part in parts:
            one = parts[part]
            yield Course(one, (day.fitted(one.contexts),), (True,), one.transition)


def _by_person(days: Sequence[Day]) -> Iterator[list[Day]]:
    people: dict[str | None, list[Day]] = {}
    for day in days:
        people.setdefault(day.person, []).append(day)
    return iter(people.values())


def _date(day: Day) -> dt.date:
    if day.date is None:
        raise DiscreetError("a routine judges dated days; give Day(contexts, date=...)")
    return day.date


def nothing(course: Course) -> Sequence[Likelihood]:
    """What an observer of the habits alone sees."""
    return [None] * len(course.labels)


def glimpses(course: Course) -> Sequence[Likelihood]:
    """The truth at one slot in four hours, and nothing in between."""
    known = {label: k for k, label in enumerate(course.model.contexts)}
    own = np.eye(len(known))
    slots = len(course.days[0])
    every = max(2, slots // GLIMPSES)
    seen: list[Likelihood] = []
    for day, counted in zip(course.days, course.counted, strict=True):
        for slot, label in enumerate(day.contexts):
            shown = counted and slot % every == every // 2 and label in known
            seen.append(own[known[label]] if shown else None)
    return seen


@dataclass(frozen=True)
class DrawnOutputs:
    """What a mechanism shows, by draws of a seed."""

    model: AnyModel
    make: Make
    seed: int = 0
    _made: list[tuple[Any, AnyMechanism]] = field(default_factory=list, compare=False, repr=False)

    def _mechanism(self, model: Any) -> AnyMechanism:
        """The mechanism of a day, made once: planning it may take longer than all days of its release."""
        for known, mechanism in self._made:
            if known is model:
                return mechanism
        self._made.append((model, self.make(model)))
        return self._made[-1][1]

    def __call__(self, course: Course) -> Sequence[Likelihood]:
        """The likelihood of each slot's output."""
        rng = SeededEntropy(self.seed)
        if isinstance(self.model, AnyRoutine):
            running = without_end(self.model, self.make, _date(course.days[0]))
            if running is not None:
                return list(_watched(Session(running, rng=rng), running, course.labels))
            daily = {kind: self.make(self.model.day(kind)) for kind in self.model.kinds}
            made = [daily[self.model.kind_of(_date(day))] for day in course.days]
        else:
            made = [self._mechanism(course.model)]
        return [
            seen
            for day, mechanism in zip(course.days, made, strict=True)
            for seen in _watched(Session(mechanism, rng=rng), mechanism, day.contexts)
        ]


def _watched(session: Session, mechanism: AnyMechanism, labels: Sequence[str]) -> Iterator[Likelihood]:
    """Release a stream slot by slot, and say what each output tells of the contexts before and now."""
    first, after = remembered(mechanism)
    with session:
        for place, label in enumerate(labels):
            kernel = mechanism.kernel(session.state)
            likelihood = kernel.likelihood(session.release(label))
            yield likelihood[first] if place == 0 or after is None else likelihood[after]


def remembered(mechanism: AnyMechanism) -> tuple[IntArray, IntArray | None]:
    """(n,) and (n, n): the private state of each context at the start, and of each after another.

    None for the second where the context before does not matter.
    """
    count, private = len(mechanism.model.contexts), np.asarray(mechanism.private_contexts)
    first = np.array([mechanism.remember(None, x) for x in range(count)], dtype=np.int64)
    if len(private) == count:
        return first, None
    table = np.array([[mechanism.remember(p, x) for x in range(count)] for p in range(len(private))], dtype=np.int64)
    after = table[first]
    if (table != after[private]).any():
        raise UntestableError("the mechanism remembers more than the context before")
    return first, after


@dataclass(frozen=True)
class Observer:
    """Who is asked, in words, and what they see."""

    name: str
    sees: Sight


HABITS_ALONE = Observer("who knows the habits alone", nothing)
GLIMPSING = Observer("who sees one slot in four hours", glimpses)


def check_days(
    model: AnyModel,
    days: Sequence[Day],
    policy: Policy,
    *,
    on: str,
    held_out: bool,
    observer: Observer = GLIMPSING,
    counted: Callable[[Day], bool] = lambda day: True,
    learned_from: int | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    remedy: str = "",
) -> Truth:
    """Hold habits against days: their priors, and what an observer believes who sees something.

    `on` says in words which days these are, `learned_from` how many others the habits were learned from. Days that are
    not `counted` are seen, and no claims are made of them.
    """
    found = list(courses(model, days))
    known = {label for course in found for label in course.model.contexts}
    secrets = [secret for secret in policy.secrets if secret.contexts <= known]
    number = sum(counted(day) for course in found for day in _given(course))
    empty = Truth(on, (), None, remedy)
    if not secrets:
        return replace(empty, untested="no secrets are declared")
    if number < FEWEST:
        return replace(empty, untested=f"too few days ({number}; it takes {FEWEST})")
    delta_of = {secret.name: policy.delta_of(secret) for secret in secrets}
    looks = []
    for asked in (HABITS_ALONE, observer):
        tally = ClaimCounts(draws)
        tally.groups = number
        rng = np.random.default_rng(seed)
        try:
            for course in found:
                _count_course(tally, course, asked.sees(course), secrets, counted, rng)
        except UntestableError as error:
            return replace(empty, untested=str(error))
        calibration = tally.judged(delta_of, alarms=ALARMS / 2, learned_from=learned_from)
        if calibration.cells:  # a mechanism that shows all leaves nothing to believe
            looks.append(Look(asked.name, calibration, held_out, on))
    return replace(empty, looks=tuple(looks))


def _given(course: Course) -> Iterator[Day]:
    return (day for day, given in zip(course.days, course.counted, strict=True) if given)


def _count_course(
    tally: ClaimCounts,
    course: Course,
    seen: Sequence[Likelihood],
    secrets: Sequence[Secret],
    counted: Callable[[Day], bool],
    rng: np.random.Generator,
) -> None:
    model, labels, slots = course.model, course.labels, len(course.days[0])
    classes = Classes(secrets)
    true_class = classes.of([*labels, *model.contexts])[: len(labels)]
    in_class = classes.one_hot(model.contexts)
    emission = (lambda t: model.emissions[t]) if isinstance(model, HiddenMarkovModel) else None
    shown_by = in_class
    pairs = getattr(model, "pairs", None)
    if pairs is not None:  # a chain over pairs: what is seen and secret of a pair is its context's
        emission, shown_by, seen = None, in_class[pairs.now], [_of_pairs(one, pairs.now) for one in seen]
    found = paths(Stretch(model.initial, course.transition, emission, shown_by, seen), tally.draws, rng)
    claim = np.repeat([given and counted(day) for given, day in zip(course.counted, course.days, strict=True)], slots)
    told_already = np.array([one is not None and np.count_nonzero(np.atleast_2d(one).any(axis=0)) == 1 for one in seen])
    hours = [_hour(slot, slots, model.clock) for slot in range(slots)]
    for g, secret in enumerate(secrets):
        member = classes.members(g, in_class.shape[1])
        counts = _Counts(secret, found.beliefs @ member, member[true_class], member[found.draws])
        if secret.at == "any":
            _add_windows(tally, counts, claim, slots)
        else:
            active = np.isin(
                np.arange(len(labels)) % slots, range(slots) if secret.slots is None else list(secret.slots)
            )
            _add_slots(tally, counts, claim & active & ~told_already, slots, hours)


def _of_pairs(likelihood: Likelihood, now: IntArray) -> Likelihood:
    """A likelihood over contexts, or over a context and the one before it, as one over pairs."""
    if likelihood is None:
        return None
    return likelihood[now] if likelihood.ndim == 1 else np.ascontiguousarray(likelihood[np.ix_(now, now)])


@dataclass(frozen=True)
class _Counts:
    """One secret over a course of N slots."""

    secret: Secret
    belief: FloatArray  # (N,)
    true: BoolArray  # (N,)
    drawn: BoolArray  # (K, N)


def _add_slots(tally: ClaimCounts, one: _Counts, claim: BoolArray, slots: int, hours: Sequence[str]) -> None:
    """Claims of each slot; and whether a secret comes back on the next day, or in a week, more than is believed."""
    for first in range(0, len(claim), slots):
        mine = first + np.flatnonzero(claim[first : first + slots])
        places: list[tuple[Kind, Sequence[str]]] = [("hour", [hours[place % slots] for place in mine.tolist()])]
        tally.add(one.secret.name, one.belief[mine], one.true[mine], one.drawn[:, mine], places)
    tally.add_apart(one.secret.name, claim, one.true, one.drawn, {"a day": slots, "a week": 7 * slots})


def _add_windows(tally: ClaimCounts, one: _Counts, claim: BoolArray, slots: int) -> None:
    """One claim a window: at some slot of it."""
    place = np.arange(len(claim))
    inside = np.isin(place % slots, range(slots) if one.secret.slots is None else list(one.secret.slots))
    window = place // slots - (place % slots < one.secret.begins)
    for number in np.unique(window[inside]):
        mine = np.flatnonzero(inside & (window == number))
        if claim[mine].all():
            tally.add_any(one.secret.name, one.true[mine], one.drawn[:, mine])


def _hour(slot: int, slots: int, clock: Clock | None) -> str:
    """The hour of a slot; of a day with fewer slots, the slot."""
    each = max(1, slots // 24)
    first = slot - slot % each
    last = min(first + each, slots)
    return f"slots {first} to {last - 1}" if clock is None else f"{clock.label(first)} to {clock.label(last % slots)}"


def any_context(contexts: Sequence[str]) -> Policy:
    """Every context a secret of its own: what habits are held against where no policy says what matters."""
    return Policy([label for label in contexts if label not in (OTHER, UNKNOWN)])


__all__ = [
    "FEWEST",
    "GLIMPSING",
    "HABITS_ALONE",
    "Classes",
    "DrawnOutputs",
    "Look",
    "Observer",
    "Stretch",
    "Truth",
    "any_context",
    "check_days",
    "courses",
    "sentence_of",
]
