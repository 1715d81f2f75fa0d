from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from discreet.contracts import Model
from discreet.errors import DiscreetError
from discreet.events import Events, Trajectory
from discreet.publish import Plan, RunKey, publish_person
from discreet.publish.tables import Made, Tables, weight
from tests.publish.plans import plan_of


class Archetypes:
    """Habits of which there are few: everybody has those of one of three people."""

    name = "archetypes"

    def __init__(self, plan: Plan, models: Sequence[Trajectory]) -> None:
        self._plan, self._models = plan, models

    def of(self, pieces: Sequence[Trajectory], slots: int) -> tuple[Model, Events]:
        like = self._models[int(pieces[0].person) % len(self._models)]
        return self._plan.habits.of([like], slots)


def population(size: int) -> tuple[Plan, list[Trajectory]]:
    plan, people = plan_of(5, name="no-internal")
    everybody = [Trajectory(str(number), people[number % 2].events[:5]) for number in range(size)]
    return replace(plan, habits=Archetypes(plan, people)), everybody


def test_people_who_share_a_model_pay_for_it_once_and_are_published_alike() -> None:
    plan, people = population(30)
    tables = Tables()
    shared = [publish_person(plan, one, RunKey.of_seed(1), tables) for one in people]
    assert tables.made == 2 * 3  # the second time shows that it is shared
    assert shared == [publish_person(plan, one, RunKey.of_seed(1)) for one in people]
    other = replace(plan, policy=replace(plan.policy, delta=0.05))
    publish_person(other, people[0], RunKey.of_seed(1), tables)
    assert tables.made == 2 * 3 + 1


def test_memory_is_bounded() -> None:
    plan, people = population(6)
    one = Tables()
    for person in people:
        publish_person(plan, person, RunKey.of_seed(1), one)
    size = one._bytes // 3
    small = Tables(int(1.5 * size))
    for person in people * 3:
        publish_person(plan, person, RunKey.of_seed(1), small)
        assert small._bytes <= 1.5 * size
        assert small._bytes == sum(kept[2] for kept in small._kept.values())
    assert small.made == 18  # three take turns, and there is room for one
    with pytest.raises(DiscreetError, match="-1 bytes"):
        Tables(-1)


def test_what_grows_is_weighed_again() -> None:
    class Growing:
        held: list[np.ndarray]

    growing = Growing()
    growing.held = []
    made = Made("a", growing, None, False, ())  # type: ignore[arg-type]  # it is only held
    tables = Tables(1_000_000)
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
