from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from discreet.adversary.belief import Adversary
from discreet.contracts import DayModel, Mechanism
from discreet.errors import DiscreetError
from discreet.events import Event, Events, Trajectory
from discreet.mechanisms.named import Spec
from discreet.numerics import SLACK
from discreet.outputs import SUPPRESSED, Output, PartialEvent, Perturbed, Released
from discreet.policy import Policy, Secret
from discreet.publish import ChainHabits, Plan, RunKey, policy_for, publish_person
from discreet.publish.person import known_before, publish_piece, shown
from discreet.publish.plan import for_events
from discreet.randomness import SeededEntropy
from tests.mechanisms.events.event_models import SMALL, event_models, event_policy
from tests.publish.plans import SPECS, Known, plan_of
from tests.strategies import searches, with_caps


def slow_gains(
    model: DayModel, mechanism: Mechanism[Any], policy: Policy, outputs: Sequence[Output]
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


def test_what_a_piece_tells_is_what_adding_up_all_sequences_says() -> None:
    checked = 0
    for seed in searches(6):
        for model in event_models(seed, slots=3):
            policy = event_policy(seed)
            events = tuple(map(Event.of, model.sample(1, seed=seed)[0].contexts))
            for name, spec in SPECS.items():
                mechanism = for_events(spec).make(model, policy, events=SMALL)
                if len(mechanism.private_contexts) > len(model.contexts):
                    continue  # remembers
                outputs, told = publish_piece(
                    mechanism, Adversary(mechanism), Trajectory("ann", events), SeededEntropy(seed)
                )
                gains = slow_gains(model, mechanism, policy, outputs)
                assert told.off_model == 0
                assert told.by_secret == pytest.approx(
                    {secret.name: gains[g].max() for g, secret in enumerate(policy.secrets)}, abs=1e-9
                ), (seed, name)
                if np.abs(gains - policy.delta).min() > 1e-9:  # at the limit, rounding decides
                    assert told.breached == int((gains > policy.delta + SLACK).any(axis=0).sum()), (seed, name)
                    checked += 1
    assert checked > 30


def test_a_cap_is_kept_and_what_is_known_is_told_of_every_secret() -> None:
    never = Secret("never", {"sleep|day|here"}, cap=0.3)
    for seed in searches(4):
        model = event_models(seed, slots=3)[0]
        policy = with_caps(seed, model, event_policy(seed))
        mechanism = for_events(Spec("adaptive")).make(model, policy, events=SMALL)
        judge, events = Adversary(mechanism), tuple(map(Event.of, model.sample(1, seed=seed)[0].contexts))
        _, told = publish_piece(mechanism, judge, Trajectory("ann", events), SeededEntropy(seed))
        assert max(told.excess_by_secret.values()) <= SLACK, seed
        assert [one.name for one in told.known] == [secret.name for secret in policy.secrets]
        assert [one.rows for one in told.known] == [3] * len(policy.secrets)
        every = known_before(Policy([*policy.secrets, never], delta=policy.delta), judge)
        assert every[:-1] == told.known
        assert (every[-1].highest, every[-1].limit, every[-1].told) == (0.0, min(0.3, policy.delta), 0)


def test_a_habit_without_exception_is_counted_as_settled() -> None:
    always = Event("play", "day", "here")
    events = Events(("work", "play"), ("day",), ("here", "there"), occurring=(always,))
    policy = policy_for(Policy("activity=play"), SMALL)
    chain = event_models(0, slots=3, events=events)[0]
    _, person = publish_person(
        Plan(Known(chain, events), policy, SPECS["no-mask"]), Trajectory("ann", (always,) * 3), RunKey.of_seed(0)
    )
    assert (person.settled, person.breached, person.worst_gain) == (3, 0, 0.0)


def test_events_that_the_habits_do_not_know_are_withheld_and_counted() -> None:
    plan, people = plan_of(name="no-mask")
    strange = Trajectory(people[0].person, (Event("sleep", "never", "nowhere"), *people[0].events))
    rows, person = publish_person(plan, strange, RunKey.of_seed(0))
    assert rows == (PartialEvent(), *(PartialEvent(*event.values) for event in people[0].events))
    assert (person.off_model, person.silent) == (1, 1)


def test_a_person_without_events_is_refused_by_name() -> None:
    with pytest.raises(DiscreetError, match=r"'ann' has no events; leave such people out"):
        Trajectory("ann", ())


def test_a_secret_that_nobody_has_is_refused_and_one_that_this_person_has_not_is_no_trouble() -> None:
    plan, people = plan_of(name="sensitive-mask")
    with pytest.raises(DiscreetError, match="nobody does this"):
        policy_for(Policy("activity=nobody does this"), plan.habits.of(people[:1], 5)[1])
    innocent = Trajectory("ann", tuple(event for event in people[0].events if event.activity != "activity 1") * 2)
    own = replace(plan, habits=ChainHabits())
    rows, report = publish_person(own, innocent, RunKey.of_seed(1))
    assert rows == tuple(PartialEvent(*event.values) for event in innocent.events)
    assert (report.breached, report.settled, report.worst_gain) == (0, 0, 0.0)
    assert [(one.name, one.highest) for one in report.known] == [(plan.policy.secrets[0].name, 0.0)]


def test_what_rows_show() -> None:
    assert shown(Released("a|b|c")) == PartialEvent("a", "b", "c")
    assert shown(PartialEvent(time="b")) == PartialEvent(None, "b", None)
    assert shown(SUPPRESSED) == PartialEvent()
    with pytest.raises(DiscreetError, match="cannot stand in a table of events"):
        shown(Perturbed((1.0, 2.0)))


@pytest.mark.parametrize("length", [None, 3])
def test_a_person_is_published_by_their_events_plan_and_chance_alone(length: int | None) -> None:
    plan, people = plan_of(length, delta=0.1)
    alone = [publish_person(plan, one, RunKey.of_seed(5)) for one in people]
    assert [publish_person(plan, one, RunKey.of_seed(5)) for one in reversed(people)] == alone[::-1]
    for one, (rows, report) in zip(people, alone, strict=True):
        assert len(rows) == report.events == len(one)
        assert report.person == one.person


def test_the_weakest_guarantee_of_a_persons_pieces_is_theirs() -> None:
    plan, people = plan_of(4, name="pa-hmm")  # promises windows of 3, and the whole of shorter pieces
    whole = Trajectory(people[0].person, people[0].events[:5])
    _, report = publish_person(plan, whole, RunKey.of_seed(0))
    assert report.pieces == 2
    assert report.guarantee.kind == "window only"


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_all_that_a_worker_needs_pickles(spec: Spec) -> None:
    given, people = plan_of(4, 0.1, spec.name)
    for plan in (given, replace(given, habits=ChainHabits())):
        task = publish_person, plan, people[0], RunKey.of_seed(1)
        sent, *arguments = pickle.loads(pickle.dumps(task))
        result = publish_person(plan, people[0], RunKey.of_seed(1))
        assert sent(*arguments) == result
        assert pickle.loads(pickle.dumps(result)) == result
