"""Habits that are no longer true are noticed from the own store alone; habits that are, hold."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import DiscreetError, Policy
from discreet.gateway.slots.nightly import Notice, days_of, look
from discreet.gateway.store.own_store import OwnStore, Stamp
from tests.gateway.people import CLOCK, START, a_day, habits, person_config
from tests.gateway.web import opened

ROUTINE = habits(days=84)
POLICY = Policy(["clinic"], delta=0.1)
TODAY = START.date() + dt.timedelta(days=28)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[OwnStore]:
    store = OwnStore(tmp_path / "own.db")
    yield store
    store.close()


def lived(own: OwnStore, days: list[tuple[str, ...]]) -> None:
    """What was true, as the keeper leaves it."""
    for number, contexts in enumerate(days):
        date = START.date() + dt.timedelta(days=number)
        for slot, context in enumerate(contexts):
            own.settle([(Stamp("jane", 1, number * CLOCK.slots + slot, context, None, None), date, slot, None)])


def test_habits_that_hold(own: OwnStore) -> None:
    rng = np.random.default_rng(77)
    lived(own, [a_day(CLOCK, rng) for _ in range(28)])
    notice = look(own, "jane", ROUTINE, POLICY, TODAY)
    assert notice.truth.holds is True
    assert "the habits hold" in notice.words
    assert len(days_of(own, "jane", CLOCK.slots, START.date(), TODAY)) == 28


def changed(own: OwnStore) -> Notice:
    """What is found of a clinic every afternoon, where it was one in five."""
    rng = np.random.default_rng(77)
    days = [list(a_day(CLOCK, rng)) for _ in range(28)]
    for day in days:
        day[7] = day[8] = "clinic"
    lived(own, [tuple(day) for day in days])
    return look(own, "jane", ROUTINE, POLICY, TODAY)


def test_habits_that_changed_are_noticed_with_the_remedy(own: OwnStore) -> None:
    notice = changed(own)
    assert notice.drifted
    assert "DO NOT HOLD" in notice.words
    assert "--update" in notice.words


def test_a_share_of_delta_is_tried_on_the_same_weeks(own: OwnStore) -> None:
    rng = np.random.default_rng(77)
    lived(own, [a_day(CLOCK, rng) for _ in range(28)])
    held = Policy(["clinic"], delta=0.1, share=0.5)
    make = person_config("jane", ROUTINE).spec.make

    def careless(model: Any, policy: Policy) -> Any:  # a share that holds nothing
        return make(model, Policy(policy.secrets, delta=0.95))

    silent = look(own, "jane", ROUTINE, Policy(["clinic"], delta=0.1, share=0.0), TODAY, make)
    assert silent.beyond == 0.0
    assert not silent.drifted
    assert look(own, "jane", ROUTINE, POLICY, TODAY, make).beyond is None  # all of delta is spent
    told = look(own, "jane", ROUTINE, held, TODAY, careless)
    assert told.exceeded
    assert told.drifted
    assert "discreet policy hold" in told.words


def test_too_few_days_say_nothing(own: OwnStore) -> None:
    assert look(own, "jane", ROUTINE, POLICY, TODAY).truth.untested is not None
    lived(own, [a_day(CLOCK, np.random.default_rng(1))] * 3)
    notice = look(own, "jane", ROUTINE, POLICY, TODAY)
    assert notice.truth.holds is None
    assert "cannot be said" in notice.words


def test_a_night_that_fails_for_one_person_is_looked_at_for_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(own: OwnStore, person: str, *given: Any) -> Any:
        if person == "jane":
            raise DiscreetError("the own store cannot be read")
        return look(own, person, *given)

    async def story() -> None:
        people = [person_config(name, ROUTINE, "suppress") for name in ("jane", "kim")]
        policies = {one.name: one.policy for one in people}
        async with opened(tmp_path, people=people, policies=policies) as web, asyncio.timeout(300):
            while "kim" not in web.served.notices:
                await asyncio.sleep(0.01)
            assert "jane" not in web.served.notices

    monkeypatch.setattr("discreet.gateway.app.look", failing)
    asyncio.run(story())
