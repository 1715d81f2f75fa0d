"""Trajectories without seams: who joins all that was published of a person gains no more than delta; of pieces, more.

Outputs are enumerated by the oracle of tests/endless, which knows nothing of how a mechanism keeps its belief.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from discreet.contracts import DayModel
from discreet.errors import DiscreetError
from discreet.events import Event, Events, Trajectory
from discreet.mechanisms.named import Spec
from discreet.models import HiddenMarkovModel
from discreet.numerics import SLACK
from discreet.outputs import Output
from discreet.policy import Policy, Secret
from discreet.publish import Plan, RunKey, policy_for, publish_person
from discreet.publish import trajectory as whole
from discreet.publish.joined import join_pieces
from discreet.publish.mechanism_cache import MechanismCache
from discreet.publish.person import NOTHING, given_of, published
from discreet.publish.plan import PIECE, cut, endless_of, length_for
from discreet.publish.trajectory import stream_decision, stream_mechanism
from tests.endless.hidden_oracle import rows_of, search
from tests.mechanisms.events.event_models import SMALL, event_policy
from tests.strategies import LONG, random_rows, searches

KEY = RunKey.of_seed(1)
AHEAD = 4
"""Positions after the last output whose rows are judged too."""


@dataclass(frozen=True)
class Sticky:
    """Topics that one stays with, the same for everybody."""

    seed: int
    stays: float | None = None
    events: Events = SMALL
    name: str = "sticky"

    def of(self, pieces: Sequence[Trajectory], slots: int) -> tuple[DayModel, Events]:
        rng = np.random.default_rng([self.seed, 7])
        states, n = int(rng.integers(2, 4)), len(self.events.contexts)
        stays = float(rng.choice([0.5, 0.7, 0.9, 0.97])) if self.stays is None else self.stays
        step = stays * np.eye(states) + (1 - stays) * random_rows(rng, (states, states), 0.0)
        emission = random_rows(rng, (states, n), float(rng.choice([0.0, 0.3])))
        initial = random_rows(rng, (states,), 0.0)
        return HiddenMarkovModel.homogeneous(self.events.contexts, initial, step, emission, slots), self.events


def plan_of(seed: int, outputs: str = "attributes", length: int | None = None, stays: float | None = None) -> Plan:
    return Plan(Sticky(seed, stays), event_policy(seed), Spec("adaptive", {"outputs": outputs}), length)


def lived(seed: int, events: int, person: str = "ann", stays: float | None = None) -> Trajectory:
    """A path of the habits."""
    model: Any = Sticky(seed, stays).of((), events)[0]
    return Trajectory(person, tuple(map(Event.of, model.sample(1, seed=seed)[0].contexts)))


class Pieces:
    """A mechanism of days, one after the other: what is published piece by piece."""

    def __init__(self, mechanism: Any, length: int) -> None:
        self.mechanism, self.length = mechanism, length
        self.private_contexts, self.model = mechanism.private_contexts, mechanism.model
        self.policy = mechanism.policy

    def remember(self, memory: int | None, context: int) -> int:
        return context

    def start(self) -> Any:
        return 0, self.mechanism.start()

    def kernel(self, state: Any) -> Any:
        return self.mechanism.kernel(state[1])

    def advance(self, state: Any, output: Output) -> Any:
        t = state[0] + 1
        return t, self.mechanism.advance(state[1], output) if t % self.length else self.mechanism.start()


@pytest.mark.parametrize("outputs", ["suppress", "attributes"])
def test_who_joins_all_that_was_published_gains_no_more_than_delta(outputs: str) -> None:
    """In `make test` 50 models each, in `make audit` 1,000 each."""
    tried, telling, decisions = 0, 0, 0
    for seed in searches(50):
        plan = plan_of(seed, outputs)
        one = Trajectory("ann", (Event.of(SMALL.contexts[0]),) * (PIECE + 1))
        decided = stream_decision(plan, one)
        machine = stream_mechanism(plan, decided)
        positions = 3 + seed % 2
        model: Any = plan.habits.of([one], positions + AHEAD)[0]
        rows = rows_of(decided.policy, model.contexts, positions + AHEAD)
        found = search(machine, model, rows, positions, budget=24 if LONG else 6, seed=seed)
        assert not found.worst.breached, (seed, float(found.worst.excess), found.worst)
        tried, telling, decisions = tried + 1, telling + found.telling, decisions + found.decisions
    assert tried == len(searches(50))
    assert telling > decisions / 4  # silence keeps any promise


def test_pieces_of_two_are_beyond_delta_once_they_are_joined() -> None:
    breached = 0
    for seed in range(12):
        plan = plan_of(seed, "suppress", length=2, stays=0.9)
        model: Any = plan.habits.of((), 4)[0]
        machine = Pieces(plan.mechanism.make(plan.habits.of((), 2)[0], plan.policy, events=SMALL), 2)
        found = search(machine, model, rows_of(plan.policy, model.contexts, 4), 4, budget=60, seed=seed)
        breached += found.worst.breached
    assert breached > 6  # 9 of them


def test_a_stream_gives_what_a_session_gives_and_who_shares_its_tables_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for seed, stays in ((1, None), (2, 0.9)):
        plan, one = plan_of(seed, "suppress", stays=stays), lived(seed, PIECE + 5, stays=stays)
        strange = replace(one, events=(*one.events[:9], Event("sleep", "never", "nowhere"), *one.events[9:]))
        for given in (one, strange):
            found = published(plan, given, KEY)
            assert (found.report.pieces, found.report.events, found.report.scope) == (1, len(given), "whole trajectory")
            assert found.report.off_model >= (given is strange)
            assert given_of(plan, given) == found.given
            tables = MechanismCache()
            assert [published(plan, given, KEY, tables) for _ in range(3)] == [found] * 3
            with monkeypatch.context() as patched:
                patched.setattr(whole, "_by_states", whole._by_session)
                assert published(plan, given, KEY) == found


def test_the_first_events_do_not_depend_on_those_that_follow() -> None:
    plan, one = plan_of(4), lived(4, 90)
    rows, report = publish_person(plan, one, KEY)
    short, _ = publish_person(plan, replace(one, events=one.events[:60]), KEY)
    assert rows[:60] == short
    assert not report.breached
    assert max(report.excess_by_secret.values()) <= SLACK


def test_memory_and_chains_of_their_own_are_streams_too() -> None:
    from discreet.publish import ChainHabits

    one = lived(5, 70)
    events = Events.from_trajectories([one], occurring_only=True)
    policy = policy_for(Policy("activity=play", delta=0.1), events)
    for options in ({"outputs": "suppress"}, {"outputs": "suppress", "memory": "last"}):
        _, report = publish_person(Plan(ChainHabits(), policy, Spec("adaptive", options)), one, KEY)
        assert (report.pieces, report.breached) == (1, 0)
        assert max(report.excess_by_secret.values()) <= SLACK
        assert [one.rows for one in report.known] == [70]


def test_a_secret_at_some_event_is_about_the_whole_trajectory() -> None:
    secret = Secret("ever", SMALL.secret("location", "there").contexts, at="any", delta=0.3)
    plan = Plan(Sticky(6, 0.97), Policy([secret, SMALL.secret("activity", "play")], delta=0.2), Spec("adaptive"))
    one = lived(6, 70, stays=0.97)
    _, report = publish_person(plan, one, KEY)
    assert not report.breached
    assert [known.rows for known in report.known] == [1, 70]
    assert report.by_secret["ever"] <= 0.3 + SLACK


def test_habits_that_never_forget_are_silent_and_keep_the_promise() -> None:
    plan, one = plan_of(8, stays=1 - 1e-6), lived(8, 60)
    rows, report = publish_person(plan, one, KEY)
    assert set(rows) == {NOTHING}
    assert (report.silent, report.breached, report.guarantee.kind) == (60, 0, "exact delta")
    assert "nothing is shown" in report.guarantee.statement


def test_short_trajectories_are_one_piece_and_other_mechanisms_are_cut() -> None:
    plan = plan_of(1)
    assert [plan.streams(events) for events in (1, PIECE, PIECE + 1)] == [False, False, True]
    assert not replace(plan, mechanism=Spec("pa-markov")).streams(1_000)
    assert not replace(plan, piece_length=10).streams(1_000)
    assert [length_for(Spec(name), "auto") for name in ("adaptive", "pa-markov", "pa-hmm")] == [None, PIECE, PIECE]
    assert length_for(Spec("pa-markov"), None) is None
    with pytest.raises(DiscreetError, match="pieces of -1 events"):
        length_for(Spec("adaptive"), -1)


def test_what_joined_pieces_tell_is_said() -> None:
    people = [lived(2, 40, person, 0.9) for person in ("ann", "bob", "eve")]
    plan = plan_of(2, "suppress", length=4, stays=0.9)
    reports = [publish_person(plan, one, KEY)[1] for one in people]
    assert {one.scope for one in reports} == {"each piece alone"}
    assert not any(one.breached for one in reports)  # each piece alone
    found = join_pieces(plan, people)
    assert found is not None
    assert (found.people, found.events) == (3, 120)
    assert found.breached_people > 0
    assert found.worst_gain > plan.policy.delta + 0.01
    assert "3 people in a sample (120 events)" in found.in_words
    assert join_pieces(plan, people[::-1]) == found
    assert join_pieces(replace(plan, piece_length=40), people) is None
    assert join_pieces(replace(plan, piece_length=None), people) is None


def test_the_models_without_end_are_those_of_the_pieces() -> None:
    one = lived(3, 6)
    model, _ = Sticky(3).of(cut(one, None), 6)
    endless = endless_of(model)
    np.testing.assert_allclose([endless.prior_at(t) for t in range(6)], model.prior, atol=1e-15)
