"""People published along kept public states, against sessions of their own: row for row, report for report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from discreet.contracts import DayModel
from discreet.errors import DiscreetError
from discreet.events import Event, Events, Trajectory
from discreet.mechanisms.named import Spec
from discreet.models import HiddenMarkovModel, MarkovChain
from discreet.policy import Policy, Secret
from discreet.publish import ChainHabits, Plan, RunKey
from discreet.publish import walk as walks
from discreet.publish.mechanism_cache import MechanismCache
from discreet.publish.person import PublishedPerson, published
from discreet.publish.walk import Walk
from tests.publish.plans import SPECS, Known

EVENTS = Events(("a", "b"), ("day", "night"), ("x", "y"))
KEY = RunKey.of_seed(3)


@dataclass(frozen=True)
class Archetypes:
    """Everybody has one of a few people's habits, of whatever length."""

    hidden: tuple[bool, ...]
    seed: int
    name: str = "archetypes"

    def of(self, pieces: Sequence[Trajectory], slots: int) -> tuple[DayModel, Events]:
        kind = int(pieces[0].person) % len(self.hidden)
        return habits(self.hidden[kind], self.seed + kind, slots), EVENTS


def habits(hidden: bool, seed: int, slots: int) -> DayModel:
    """Some steps and events are impossible, so that readings may be off the model."""
    rng = np.random.default_rng(seed)
    states, n = (3 if hidden else len(EVENTS.contexts)), len(EVENTS.contexts)

    def rows(count: int, size: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        weights = rng.dirichlet(np.ones(size), count) * (rng.random((count, size)) < 0.8)
        weights[:, 0] += 1e-3
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    initial, step = rows(1, states)[0], rows(states, states)
    if hidden:
        return HiddenMarkovModel.homogeneous(EVENTS.contexts, initial, step, rows(states, n), slots)
    steps = [rows(states, states) for _ in range(slots - 1)]
    return MarkovChain(EVENTS.contexts, initial, np.array(steps).reshape(-1, states, states))


def people(seed: int, count: int = 6) -> list[Trajectory]:
    """Events by the habits, now and then any other, and one that no habits know."""
    rng = np.random.default_rng(seed)
    everybody = []
    for number in range(count):
        codes = rng.integers(0, len(EVENTS.contexts) if number % 3 else 3, int(rng.integers(4, 9)))
        events = [Event.of(EVENTS.contexts[code]) for code in codes]
        if number == 4:
            events[1] = Event("c", "day", "x")
        everybody.append(Trajectory(str(number), tuple(events)))
    return everybody


def policy(seed: int) -> Policy:
    """At each position, anywhere, and capped."""
    own = EVENTS.secret("activity", "a")
    secrets = [own, EVENTS.secret("location", "y", at="any", delta=0.3), EVENTS.secret("time", "night", cap=0.6)]
    chosen: list[Secret] = [own] if seed % 3 == 0 else secrets[: 1 + seed % 3]
    return Policy(chosen, delta=0.15)


def slow(plan: Plan, one: Trajectory, monkeypatch: pytest.MonkeyPatch) -> PublishedPerson:
    """By a session, and a mechanism that nobody has used before."""
    with monkeypatch.context() as patched:
        patched.setattr(Walk, "of", classmethod(lambda cls, *given: None))
        return published(plan, one, KEY)


@pytest.mark.parametrize("name", SPECS)
def test_a_walk_gives_what_sessions_give(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    walked: list[bool] = []
    whole = Walk.walked

    def counted(self: Walk, *given: Any) -> object:
        found = whole(self, *given)
        walked.append(found is not None)
        return found

    monkeypatch.setattr(Walk, "walked", counted)
    for seed, pieces in ((1, 3), (2, 4)):
        plan = Plan(Archetypes((True, False, True), seed), policy(seed), SPECS[name], pieces)
        everybody = people(seed)
        expected = {one.person: slow(plan, one, monkeypatch) for one in everybody}
        assert any(one.report.off_model for one in expected.values())
        for order, most, kept in ((1, 2**27, 2**24), (-1, 2**27, 0), (2, 0, 2**24)):  # kept, forgotten, made anew
            monkeypatch.setattr(walks, "MOST_BYTES", kept)
            tables = MechanismCache(most)
            for one in [*everybody[::order], *everybody[:3]]:
                assert published(plan, one, KEY, tables) == expected[one.person], (name, seed, one.person)
    assert True in walked
    assert False in walked


def test_a_walk_over_memory_and_chains_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    everybody = [one for one in people(5) if one.person != "4"]
    for options in ({"outputs": "suppress"}, {"outputs": "attributes", "memory": "none"}):
        plan = Plan(ChainHabits(), policy(1), Spec("adaptive", options), 4)
        tables = MechanismCache()
        for one in [*everybody, *everybody]:
            assert published(plan, one, KEY, tables) == slow(plan, one, monkeypatch)


def test_a_model_of_another_length_is_refused() -> None:
    plan = Plan(Known(habits(True, 1, 4), EVENTS), policy(0), SPECS["no-mask"], None)
    with pytest.raises(DiscreetError, match="5 slots, the model 4"):
        published(plan, Trajectory("ann", (Event.of(EVENTS.contexts[0]),) * 5), KEY, MechanismCache())


def test_what_is_forgotten_in_the_middle_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan(Archetypes((True,), 0), policy(0), SPECS["adaptive"], None)
    likely = [Event.of(label) for label in EVENTS.contexts[:2]]
    everybody = [Trajectory(str(n), tuple(likely[n >> k & 1] for k in range(5))) for n in range(30)]
    expected = [published(plan, one, KEY) for one in everybody]
    forgotten: list[int] = []
    whole = Walk._forget

    def counted(self: Walk) -> None:
        forgotten.append(1)
        whole(self)

    monkeypatch.setattr(Walk, "_forget", counted)
    monkeypatch.setattr(walks, "MOST_BYTES", 40_000)
    tables = MechanismCache()
    assert [published(plan, one, KEY, tables) for one in everybody] == expected
    assert 3 < len(forgotten) < 30
