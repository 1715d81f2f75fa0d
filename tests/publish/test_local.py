from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest

from discreet.adversary.belief import Adversary
from discreet.contracts import Mechanism, Model
from discreet.errors import DiscreetError
from discreet.events import Event, Events, Trajectory
from discreet.mechanisms import Adaptive, NoInternal, NoMask, PaHmm, PaMarkov, SensitiveMask
from discreet.models.simulate_events import topic_model, trajectories
from discreet.numerics import SLACK
from discreet.outputs import SUPPRESSED, Output, PartialEvent, Perturbed, Released
from discreet.policy import Policy
from discreet.publish import Plan, Report, TopicHabits, policy_for, publish
from discreet.publish.local import publish_person, publish_window, shown
from discreet.randomness import SeededEntropy
from tests.mechanisms.events.event_models import SMALL, event_models, event_policy
from tests.strategies import searches

MAKES: dict[str, Any] = {
    "NoMask": lambda model, policy, events: NoMask(model, policy),
    "SensitiveMask": lambda model, policy, events: SensitiveMask(model, policy, events=events),
    "NoInternal": lambda model, policy, events: NoInternal(model, policy, events=events),
    "PaMarkov": lambda model, policy, events: PaMarkov(model, policy, events=events),
    "PaHmm": lambda model, policy, events: PaHmm(model, policy, budget=200),
    "Adaptive": lambda model, policy, events: Adaptive(model, policy, outputs="attributes", events=events),
}


@dataclass(frozen=True)
class Known:
    """Habits that are given."""

    model: Model
    events: Events
    name: str = "given"

    def of(self, windows: Sequence[Trajectory], slots: int) -> tuple[Model, Events]:
        return self.model, self.events


def slow_gains(
    model: Model, mechanism: Mechanism[Any], policy: Policy, outputs: Sequence[Output]
) -> np.ndarray[Any, Any]:
    """(G, T): gains given all outputs, by adding up every sequence of events: for mechanisms without memory."""
    n, slots = len(model.contexts), model.slots
    columns, state = [], mechanism.start()
    for output in outputs:
        columns.append(mechanism.kernel(state).likelihood(output))
        state = mechanism.advance(state, output)
    members = policy.for_model(model.contexts, slots).members
    emissions = model.emissions if model.emissions is not None else np.broadcast_to(np.eye(n), (slots, n, n))
    total, inside = 0.0, np.zeros((len(members), slots))
    for path in product(range(n), repeat=slots):
        weight = np.array(model.initial) * emissions[0][:, path[0]]
        for t in range(1, slots):
            weight = weight @ model.transitions[t - 1] * emissions[t][:, path[t]]
        chance = float(weight.sum()) * float(np.prod([columns[t][c] for t, c in enumerate(path)]))
        total += chance
        inside += chance * members[:, list(path)]
    return inside / total - members @ model.prior.T


def test_what_a_window_tells_is_what_adding_up_all_sequences_says() -> None:
    checked = 0
    for seed in searches(6):
        for model in event_models(seed, slots=3):
            policy = event_policy(seed)
            events = tuple(map(Event.of, model.sample(1, seed=seed)[0].contexts))
            for name, make in MAKES.items():
                mechanism = make(model, policy, SMALL)
                if len(mechanism.private_contexts) > len(model.contexts):
                    continue  # remembers
                outputs, told = publish_window(
                    mechanism, Adversary(mechanism), Trajectory("ann", events), SeededEntropy(seed)
                )
                gains = slow_gains(model, mechanism, policy, outputs)
                assert told.off_model == 0
                assert told.by_secret == pytest.approx(
                    {secret.name: max(0.0, gains[g].max()) for g, secret in enumerate(policy.secrets)}, abs=1e-9
                ), (seed, name)
                if np.abs(gains - policy.delta).min() > 1e-9:  # at the limit, rounding decides
                    assert told.breached == int((gains > policy.delta + SLACK).any(axis=0).sum()), (seed, name)
                    checked += 1
    assert checked > 30


def plan_of(
    window: int | None = None, delta: float = 0.2, make: Any = MAKES["Adaptive"]
) -> tuple[Plan, list[Trajectory]]:
    truth = topic_model(people=3, topics=2, sizes=(2, 2, 2), seed=1)
    people = trajectories(truth, length=(5, 9), seed=1)
    policy = policy_for(Policy("activity=activity 1", delta=delta), truth.events)
    return Plan(TopicHabits(truth), policy, make, window), people


def test_people_are_taken_one_after_another() -> None:
    plan, people = plan_of()
    taken: list[str] = []

    def coming() -> Iterator[Trajectory]:
        for one in people:
            taken.append(one.person)
            yield one

    report = Report()
    rows = publish(plan, coming(), SeededEntropy(1), report)
    for _ in range(len(people[0])):
        assert next(rows)[0] == people[0].person
        assert taken == [people[0].person]
    next(rows)
    assert taken == [people[0].person, people[1].person]
    assert sum(1 for _ in rows) == sum(map(len, people[1:])) - 1
    assert [one.person for one in report.people] == taken
    assert report.events == sum(map(len, people))


@pytest.mark.parametrize("window", [None, 4, 1])
def test_the_report_adds_up(window: int | None) -> None:
    plan, people = plan_of(window, delta=0.1, make=MAKES["NoMask"])
    report = Report()
    rows = list(publish(plan, people, SeededEntropy(1), report))
    truth = [(one.person, PartialEvent(*event.values)) for one in people for event in one.events]
    assert rows == truth
    assert report.utility == 1
    assert report.breached
    assert report.worst_gain == max(report.by_secret.values()) > 0.1
    for one, whole in zip(report.people, people, strict=True):
        assert one.windows == (1 if window is None else -(-len(whole) // window))
        assert one.breached == sum(event.activity == "activity 1" for event in whole.events)  # told as it is
    assert report.breach_rate == pytest.approx(sum(one.breached / one.events for one in report.people) / 3)  # Eq. 2


def test_adaptive_breaches_nobody() -> None:
    for delta in (0.05, 0.3):
        for window in (None, 4):
            plan, people = plan_of(window, delta)
            report = Report()
            assert len(list(publish(plan, people, SeededEntropy(3), report))) == report.events
            assert not report.breached
            assert report.breach_rate == 0
            assert report.worst_gain <= delta + SLACK
            assert report.guarantee is not None
            assert report.guarantee.kind == "exact delta"
            assert sum(one.off_model for one in report.people) == 0


def test_equal_seeds_publish_equally_and_others_do_not() -> None:
    plan, people = plan_of(delta=0.1)
    drawn = [tuple(publish(plan, people, SeededEntropy(seed), Report())) for seed in (1, 1, *range(2, 10))]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) > 5


def test_a_habit_without_exception_is_counted_as_settled() -> None:
    always = Event("play", "day", "here")
    events = Events(("work", "play"), ("day",), ("here", "there"), occurring=(always,))
    policy = policy_for(Policy("activity=play"), SMALL)
    chain = event_models(0, slots=3, events=events)[0]
    _, person, _ = publish_person(
        Plan(Known(chain, events), policy, MAKES["NoMask"]), Trajectory("ann", (always,) * 3), SeededEntropy(0)
    )
    assert (person.settled, person.breached, person.worst_gain) == (3, 0, 0.0)


def test_events_that_the_habits_do_not_know_are_withheld_and_counted() -> None:
    plan, people = plan_of(make=MAKES["NoMask"])
    strange = Trajectory(people[0].person, (Event("sleep", "never", "nowhere"), *people[0].events))
    outputs, person, _ = publish_person(plan, strange, SeededEntropy(0))
    assert outputs[0] == SUPPRESSED
    assert (person.off_model, person.silent) == (1, 1)


def test_what_rows_show() -> None:
    assert shown(Released("a|b|c")) == PartialEvent("a", "b", "c")
    assert shown(PartialEvent(time="b")) == PartialEvent(None, "b", None)
    assert shown(SUPPRESSED) == PartialEvent()
    with pytest.raises(DiscreetError, match="cannot stand in a table of events"):
        shown(Perturbed((1.0, 2.0)))
