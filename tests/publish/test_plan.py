from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import DiscreetError, PolicyError
from discreet.events import Event, Events, Trajectory
from discreet.mechanisms.named import Spec
from discreet.models.topics.model import TopicModel
from discreet.policy import Policy, Secret
from discreet.publish import ChainHabits, Plan, TopicHabits, policy_for
from discreet.publish.plan import _sample, cut, cut_all, left_open
from tests.mechanisms.events.event_models import SMALL

WORK, PLAY = Event("work", "day", "here"), Event("play", "day", "there")


def test_pieces_hold_every_event_once_and_in_order() -> None:
    whole = Trajectory("ann", (WORK, PLAY, PLAY, WORK, WORK))
    assert [part.events for part in cut(whole, 2)] == [(WORK, PLAY), (PLAY, WORK), (WORK,)]
    assert cut(whole, None) == [whole]
    assert [len(part) for part in cut_all([whole, whole], 3)] == [3, 2, 3, 2]
    with pytest.raises(DiscreetError, match="pieces of 0 events"):
        cut_all([whole], 0)


def test_a_value_stands_for_every_event_that_has_it() -> None:
    laid = policy_for(Policy([Secret("activity=play")], delta=0.2), SMALL)
    assert laid.secrets[0].contexts == {"play|day|here", "play|day|there"}
    assert laid.secrets[0].name == "activity=play"
    assert laid.delta == 0.2


def test_a_secret_may_be_a_union_over_attributes_and_whole_events() -> None:
    union = Secret("both", {"activity = play", "work|day|there"}, delta=0.3, at="any")
    laid = policy_for(Policy([union]), SMALL)
    assert laid.secrets == (Secret("both", {"play|day|here", "play|day|there", "work|day|there"}, delta=0.3, at="any"),)


@pytest.mark.parametrize(
    ("secret", "told"),
    [
        (Secret("activity=sleep"), "'sleep' is not known"),
        (Secret("mood=good"), "no attribute 'mood'"),
        (Secret("gambling"), "write it as 'activity=gambling'"),
        (Secret("activity="), "names no value"),
        (Secret("play|day|moon"), "'moon' is not known"),
        (Secret("time=day"), "covers every context"),
        (Secret("late", {"activity=play"}, slots=[1]), "limited to slots"),
    ],
)
def test_secrets_that_events_cannot_have(secret: Secret, told: str) -> None:
    with pytest.raises(PolicyError, match=told):
        policy_for(Policy([secret]), SMALL)


def test_what_habits_settle_is_left_out() -> None:
    policy = policy_for(Policy(["activity=play", "location=here"]), SMALL)
    kept, certain = left_open(policy, ("work|day|here", "work|day|there"))
    assert [(secret.name, secret.contexts) for secret in kept.secrets] == [
        ("location=here", frozenset({"work|day|here"}))
    ]
    assert not certain
    kept, certain = left_open(policy, ("play|day|there",))
    assert kept.secrets == ()
    assert certain


def test_a_chain_is_over_the_persons_own_events() -> None:
    model, events = ChainHabits().of([Trajectory("ann", (WORK, PLAY)), Trajectory("ann", (WORK,))], 3)
    assert set(events.contexts) == {WORK.label, PLAY.label}
    assert model.slots == 3
    assert model.contexts == events.contexts


def test_topics_are_over_the_triples_that_occur() -> None:
    people = [Trajectory(name, (WORK, PLAY) * 4) for name in ("ann", "bob")]
    habits = TopicHabits.learn(people, 2, sweeps=400)
    model, events = habits.of([people[1]], 5)
    assert set(model.contexts) == {WORK.label, PLAY.label}
    assert model.contexts == events.contexts
    assert model.slots == 5
    assert habits.name.startswith("event HMM of 2 topics over whole events")
    published = TopicHabits.learn(people, 2, whole_events=False)
    assert published.name.startswith("event HMM of 2 topics over independent attributes")
    assert isinstance(published.model, TopicModel)
    chosen = TopicHabits.learn(people, None, sweeps=400)
    assert chosen.choice is not None
    assert chosen.model.topics == chosen.choice.topics
    assert 1 not in chosen.choice.scores


def test_the_choice_is_made_from_some_people_with_all_their_pieces() -> None:
    pieces = [Trajectory(f"p{u}", (WORK, PLAY)) for u in range(10) for _ in range(3)]
    assert _sample(pieces, 60) == pieces
    some = _sample(pieces, 20)
    assert [piece.person for piece in some] == [f"p{u}" for u in (0, 3, 6, 9) for _ in range(3)]


def test_a_plan_refuses_pieces_of_nothing() -> None:
    with pytest.raises(DiscreetError, match="pieces of -1"):
        Plan(ChainHabits(), Policy(), piece_length=-1)


def test_events_of_a_plan_need_not_be_all_triples() -> None:
    occurring = Events(("work", "play"), ("day",), ("here", "there"), occurring=(WORK, PLAY))
    assert policy_for(Policy("activity=play"), occurring).secrets[0].contexts == {PLAY.label}


def test_adaptive_shows_attributes_unless_it_is_told_otherwise() -> None:
    plan = Plan(ChainHabits(), Policy())
    assert (plan.mechanism.name, dict(plan.mechanism.options)) == ("adaptive", {"outputs": "attributes"})
    whole = Spec("adaptive", {"outputs": "suppress"})
    assert Plan(ChainHabits(), Policy(), whole).mechanism == whole
    assert Plan(ChainHabits(), Policy(), Spec("pa-markov")).mechanism == Spec("pa-markov")


def test_a_plan_is_learned_from_the_people_in_any_order() -> None:
    people = [Trajectory(name, (WORK, PLAY, WORK) * 4) for name in ("ann", "bob")] + [
        Trajectory("eve", (PLAY, PLAY, WORK))
    ]
    plan = Plan.learn(people, Policy("activity=play"), topics=2, piece_length=5)
    assert plan.policy == policy_for(Policy("activity=play"), Events.from_trajectories(people, occurring_only=True))
    assert plan.piece_length == 5
    assert isinstance(plan.habits, TopicHabits)
    other = Plan.learn(people[::-1], Policy("activity=play"), topics=2, piece_length=5)
    assert isinstance(other.habits, TopicHabits)
    assert other.habits.model.people == plan.habits.model.people == ("ann", "bob", "eve")
    for table in ("initial", "transitions", "emissions"):
        assert np.array_equal(getattr(other.habits.model, table), getattr(plan.habits.model, table)), table
    assert Plan.learn(people, Policy("activity=play"), habits="chain").habits == ChainHabits()
    with pytest.raises(DiscreetError, match="a number of topics or sweeps is for"):
        Plan.learn(people, Policy("activity=play"), habits="chain", topics=2)
    with pytest.raises(DiscreetError, match="a number of topics or sweeps is for"):
        Plan.learn(people, Policy("activity=play"), habits="chain", sweeps=400)
    with pytest.raises(DiscreetError, match="use 'events', 'topics' or 'chain'"):
        Plan.learn(people, Policy("activity=play"), habits="topic")  # type: ignore[arg-type]
