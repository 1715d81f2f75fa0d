"""Publishing on one machine: person after person, memory bounded by one person's events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from discreet.adversary.belief import Adversary
from discreet.contracts import Mechanism, Rng
from discreet.errors import DiscreetError
from discreet.events import Event, Trajectory
from discreet.numerics import SLACK, IntArray
from discreet.outputs import Output, PartialEvent, Released, Suppressed, truthful
from discreet.policy import Guarantee
from discreet.publish.plan import Plan, cut, settled
from discreet.session import Session

NOTHING = PartialEvent()


@dataclass(frozen=True)
class Person:
    """What became of one person's events, and what the whole of it tells an observer who knows the habits."""

    person: str
    events: int
    windows: int
    attributes: float
    """Events' worth of attributes shown as they are: a third for each."""
    silent: int
    """Events of which nothing is shown."""
    breached: int
    """Positions where some secret's gain is over its delta."""
    worst_gain: float
    off_model: int
    settled: int
    """Positions where the habits alone put some secret's prior within delta of 1: what is shown there may be the truth."""
    by_secret: Mapping[str, float]

    @property
    def utility(self) -> float:
        """The share of attributes shown as they are."""
        return self.attributes / self.events

    @property
    def breach_rate(self) -> float:
        """The share of positions that are breached."""
        return self.breached / self.events


@dataclass
class Report:
    """What became of all people; filled as they are published."""

    people: list[Person] = field(default_factory=list)
    guarantee: Guarantee | None = None

    @property
    def events(self) -> int:
        """How many were published, in whole, in part or not at all."""
        return sum(one.events for one in self.people)

    @property
    def utility(self) -> float:
        """The share of all attributes that is shown as it is."""
        return sum(one.attributes for one in self.people) / self.events

    @property
    def breach_rate(self) -> float:
        """Li and Sun (2020), Eq. 2: the mean over people of the share of positions that are breached."""
        return sum(one.breach_rate for one in self.people) / len(self.people)

    @property
    def worst_gain(self) -> float:
        """The largest gain on any secret of anybody."""
        return max(one.worst_gain for one in self.people)

    @property
    def breached(self) -> bool:
        """Whether some gain is over its delta."""
        return any(one.breached for one in self.people)

    @property
    def by_secret(self) -> dict[str, float]:
        """The worst gain on each secret."""
        worst: dict[str, float] = {}
        for one in self.people:
            for name, gain in one.by_secret.items():
                worst[name] = max(worst.get(name, 0.0), gain)
        return worst


def publish(
    plan: Plan,
    trajectories: Iterable[Trajectory],
    rng: Rng,
    report: Report,
    progress: Callable[[int], None] | None = None,
) -> Iterator[tuple[str, PartialEvent]]:
    """(person, what is shown) of every event, in order; the report is complete when all are taken."""
    for number, trajectory in enumerate(trajectories, 1):
        outputs, person, guarantee = publish_person(plan, trajectory, rng)
        report.people.append(person)
        report.guarantee = guarantee
        yield from ((trajectory.person, shown(output)) for output in outputs)
        if progress is not None:
            progress(number)


def publish_person(plan: Plan, trajectory: Trajectory, rng: Rng) -> tuple[list[Output], Person, Guarantee]:
    """One person's outputs, window by window, and what they tell."""
    windows = cut(trajectory, plan.window)
    outputs: list[Output] = []
    told: list[Told] = []
    made: dict[int, tuple[Mechanism[Any], Adversary, bool]] = {}
    for window in windows:
        if len(window) not in made:
            made[len(window)] = _made(plan, windows, len(window))
        mechanism, adversary, certain = made[len(window)]
        own, learned = publish_window(mechanism, adversary, window, rng)
        outputs += own
        told.append(replace(learned, settled=len(window)) if certain else learned)
    return outputs, _person(trajectory, outputs, told), mechanism.guarantee


def _made(plan: Plan, windows: Sequence[Trajectory], slots: int) -> tuple[Mechanism[Any], Adversary, bool]:
    model, events = plan.habits.of(windows, slots)
    policy, certain = settled(plan.policy, model.contexts)
    mechanism = plan.make(model, policy, events)
    return mechanism, Adversary(mechanism), certain


@dataclass(frozen=True)
class Told:
    """What one window tells, at its end: a table is published whole, so that no part of it is seen before."""

    breached: int
    """Positions where some secret's gain is over its delta."""
    settled: int
    off_model: int
    by_secret: dict[str, float]
    """The worst gain on each secret."""


def publish_window(
    mechanism: Mechanism[Any], adversary: Adversary, window: Trajectory, rng: Rng
) -> tuple[list[Output], Told]:
    """The outputs for the events of one window, as long as the mechanism's model, and what all of them tell."""
    with Session(mechanism, rng=rng, adversary=adversary) as session:
        outputs = [session.release(event.label) for event in window.events]
    gains = session.belief.gains
    worst: dict[str, float] = {}
    for (name, _), gain in zip(adversary.gain_names, gains, strict=True):
        worst[name] = max(worst.get(name, 0.0), float(gain))
    return outputs, Told(
        breached=_positions(adversary, gains > adversary.deltas + SLACK),
        settled=_positions(adversary, adversary.priors + adversary.deltas >= 1),
        off_model=session.off_model,
        by_secret=worst,
    )


def _positions(adversary: Adversary, rows: np.ndarray[Any, np.dtype[np.bool_]]) -> int:
    """How many positions have one of these rows; a secret at="any" is about all of them."""
    each: IntArray = adversary.row_slot[rows[: len(adversary.row_slot)]]
    return adversary.process.slots if rows[len(adversary.row_slot) :].any() else len(np.unique(each))


def _person(trajectory: Trajectory, outputs: Sequence[Output], judged: Sequence[Told]) -> Person:
    worst: dict[str, float] = {}
    for window in judged:
        for name, gain in window.by_secret.items():
            worst[name] = max(worst.get(name, 0.0), gain)
    return Person(
        person=trajectory.person,
        events=len(trajectory),
        windows=len(judged),
        attributes=sum(truthful(event.label, output) for event, output in zip(trajectory.events, outputs, strict=True)),
        silent=sum(shown(output) == NOTHING for output in outputs),
        breached=sum(window.breached for window in judged),
        worst_gain=max(worst.values(), default=0.0),
        off_model=sum(window.off_model for window in judged),
        settled=sum(window.settled for window in judged),
        by_secret=worst,
    )


def shown(output: Output) -> PartialEvent:
    """An output as a row of the table shows it."""
    match output:
        case PartialEvent():
            return output
        case Released(label):
            return PartialEvent(*Event.of(label).values)
        case Suppressed():
            return NOTHING
    raise DiscreetError(
        f"{output!r} cannot stand in a table of events; use a mechanism that publishes events or parts of them"
    )
