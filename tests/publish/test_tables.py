from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from discreet.contracts import DayModel
from discreet.errors import DiscreetError
from discreet.events import Event, Events, Trajectory
from discreet.mechanisms.named import Spec
from discreet.policy import Guarantee, Policy
from discreet.publish import ChainHabits, Plan, RunKey, policy_for, publish_person
from discreet.publish.mechanism_cache import MOST_BYTES, Made, MechanismCache, weight
from discreet.publish.walk import Parts, Walk
from tests.publish.plans import plan_of


class Archetypes:
    """Habits of which there are few: everybody has those of one of three people."""

    name = "archetypes"

    def __init__(self, plan: Plan, models: Sequence[Trajectory]) -> None:
        self._plan, self._models = plan, models

    def of(self, pieces: Sequence[Trajectory], slots: int) -> tuple[DayModel, Events]:
        like = self._models[int(pieces[0].person) % len(self._models)]
        return self._plan.habits.of([like], slots)


def population(size: int) -> tuple[Plan, list[Trajectory]]:
    plan, people = plan_of(5, name="no-internal")
    everybody = [Trajectory(str(number), people[number % 2].events[:5]) for number in range(size)]
    return replace(plan, habits=Archetypes(plan, people)), everybody


def test_people_who_share_a_model_pay_for_it_once_and_are_published_alike() -> None:
    plan, people = population(30)
    tables = MechanismCache()
    shared = [publish_person(plan, one, RunKey.of_seed(1), tables) for one in people]
    assert tables.made == 2 * 3  # the second time shows that it is shared
    assert shared == [publish_person(plan, one, RunKey.of_seed(1)) for one in people]
    other = replace(plan, policy=replace(plan.policy, delta=0.05))
    publish_person(other, people[0], RunKey.of_seed(1), tables)
    assert tables.made == 2 * 3 + 1


def test_memory_is_bounded() -> None:
    plan, people = population(6)
    one = MechanismCache()
    for person in people:
        publish_person(plan, person, RunKey.of_seed(1), one)
    size = one._bytes // 3
    small = MechanismCache(int(1.5 * size))
    for person in people * 3:
        publish_person(plan, person, RunKey.of_seed(1), small)
        assert small._bytes <= 1.5 * size
        assert small._bytes == sum(kept[2] for kept in small._kept.values())
    assert 6 < small.made < 18  # three take turns, and there is room for one, and what was walked of another
    with pytest.raises(DiscreetError, match="-1 bytes"):
        MechanismCache(-1)


def test_many_kinds_of_people_in_any_order_pay_for_a_table_each() -> None:
    kinds = 300
    rng = np.random.default_rng(3)
    events = [Event(f"a{a}", f"t{t}", f"l{k}") for a in range(4) for t in range(4) for k in range(6)]
    sorts = [tuple(events[k] for k in rng.integers(0, len(events), 20)) for _ in range(kinds)]
    policy = policy_for(Policy("activity=a1", delta=0.2), Events.from_counts(dict.fromkeys(events, 1)))
    plan = Plan(ChainHabits(), policy, Spec("pa-markov"), 50)
    tables = MechanismCache(kinds * (MOST_BYTES // 2) // 1_000)  # of two workers, each has room for a thousand kinds
    order = rng.permutation(3 * kinds) % kinds
    for number, kind in enumerate(order):
        publish_person(plan, Trajectory(str(number), sorts[kind]), RunKey.of_seed(1), tables)
    assert tables.made <= 1.05 * kinds
    assert len(tables._kept) == kinds
    strangers = MechanismCache(kinds * (MOST_BYTES // 2) // 1_000)
    for kind in order[:20]:
        shared = publish_person(plan, Trajectory("ann", sorts[kind]), RunKey.of_seed(1), tables)
        assert shared == publish_person(plan, Trajectory("ann", sorts[kind]), RunKey.of_seed(1), strangers)


def test_a_mechanism_that_the_walk_holds_on_to_is_not_laid_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, people = plan_of(5, name="pa-markov")
    whole, holding = Walk.of, False

    def of(parts: Parts) -> Walk | None:
        walk = whole(parts)
        if holding and walk is not None:
            walk.held = parts.mechanism  # type: ignore[attr-defined]
        return walk

    monkeypatch.setattr(Walk, "of", of)
    found = []
    for holding in (False, True):  # noqa: B007  it is `of` that reads it
        tables = MechanismCache()
        for times in (1, 2):
            for one in people:
                publish_person(plan, one, RunKey.of_seed(1), tables)
            found.append((times, bool(tables._kept), any(made.parts for made, _, _ in tables._kept.values())))
    assert found == [(1, True, False), (2, True, False), (1, False, False), (2, True, True)]


def test_what_grows_is_weighed_again() -> None:
    class Growing:
        held: list[np.ndarray]

    growing = Growing()
    growing.held = []
    made = Made("a", False, (), Guarantee("none", ""), None, None, growing)  # type: ignore[arg-type]  # it is only held
    tables = MechanismCache(1_000_000)
    for _ in range(8):
        tables.get("a", lambda: made)
        growing.held.append(np.zeros(10_000))
    assert len(tables._kept) == 1
    for _ in range(40):
        growing.held.append(np.zeros(10_000))
    for _ in range(8):
        tables.get("a", lambda: made)
    assert (len(tables._kept), tables._bytes) == (0, 0)


def test_an_array_is_weighed_once_and_views_by_what_they_hold() -> None:
    array = np.zeros(10_000)
    alone = weight([array])
    assert 80_000 < alone < 82_000
    assert weight([array, array]) == alone
    assert weight([np.broadcast_to(array, (100, 10_000))]) < 82_000
    assert weight([array[:1]]) > 80_000
