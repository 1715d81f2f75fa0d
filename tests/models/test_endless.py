"""Chains without end: bounded memory, priors that settle, and a first slot that is not the first of all."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as d
from discreet.contracts import EndlessModel, Model, is_endless
from discreet.models.kinds import MONDAY, ONE_DAY
from discreet.models.routine.endless import KEPT_DAYS
from discreet.models.routine.routine import Routine
from discreet.numerics import RESOLUTION
from tests.models.test_routine import random_routine, simulated
from tests.strategies import searches


def test_priors_that_follow_from_a_beginning_settle_at_a_cut_for_good() -> None:
    for seed in searches(8):
        routine = random_routine(seed)
        endless = routine.since(MONDAY + ONE_DAY, initial=[0, 1, 0])
        own = endless.unrolled(60).prior
        settled = [endless.cyclic_at(t) for t in range(len(own))]
        first = settled.index(True)
        assert first % 3 == 0, seed
        assert first > 0, seed
        assert all(settled[first:]), seed
        cycle = routine.prior(endless.date_of(first)[0])[0]
        assert np.abs(own[first] - cycle).sum() <= 2 * RESOLUTION, seed
        before = routine.prior(endless.date_of(first - 3)[0])[0]
        assert np.abs(own[first - 3] - before).sum() > 2 * RESOLUTION, seed
        for t, prior in enumerate(own):
            if t < first:
                np.testing.assert_allclose(endless.prior_at(t), prior, rtol=1e-14)  # sums are made one at each cut
                assert endless.phase(t) is None
            else:
                np.testing.assert_allclose(endless.prior_at(t), prior, rtol=0, atol=RESOLUTION)
                assert endless.phase(t) == routine.since(MONDAY + ONE_DAY).phase(t)


def test_the_order_of_questions_changes_no_answer() -> None:
    routine = random_routine(4)
    asked, order = routine.since(MONDAY, initial=[1, 0, 0]), np.random.default_rng(0).permutation(90)
    found = {int(t): (asked.prior_at(int(t)), asked.phase(int(t))) for t in order}
    for t in range(90):
        fresh = routine.since(MONDAY, initial=[1, 0, 0])
        np.testing.assert_array_equal(fresh.prior_at(t), found[t][0])
        assert fresh.phase(t) == found[t][1]


def test_a_learned_routine_settles_and_then_keeps_nothing_more() -> None:
    routine = Routine.fit(simulated())
    initial = np.eye(len(routine.contexts))[0]
    endless = routine.since(MONDAY, initial=initial)
    assert endless.cyclic_at(200 * 24)
    held = len(endless._starts)
    assert held < 200
    endless.prior_at(10_000 * 24)
    assert (len(endless._starts), len(endless._kept) <= KEPT_DAYS) == (held, True)


def test_priors_that_never_repeat_keep_one_row_a_day() -> None:
    flip = d.MarkovChain(("a", "b"), [1, 0], [np.eye(2)[::-1]] * 2)
    routine = Routine({"day": flip}, {("day", "day"): np.eye(2)[::-1]})  # it alternates, so no day is like the last
    endless = routine.since(MONDAY, initial=[1, 0])
    assert not endless.cyclic_at(3000)
    np.testing.assert_array_equal(endless.prior_at(3000), [1, 0])
    np.testing.assert_array_equal(endless.prior_at(301), [0, 1])
    assert len(endless._starts) == 1001
    assert len(endless._kept) == KEPT_DAYS


@pytest.mark.parametrize("first", [0, 1, 5, 6])
def test_a_chain_may_begin_in_the_middle(first: int) -> None:
    routine = random_routine(5)
    whole = routine.since(MONDAY)
    later = routine.since(MONDAY, first=first)
    known = routine.since(MONDAY, initial=[0, 0, 1], first=first)
    for t in range(first, first + 12):
        np.testing.assert_array_equal(later.prior_at(t), whole.prior_at(t))
        np.testing.assert_array_equal(known.transition(t), whole.transition(t))
        np.testing.assert_allclose(known.prior_at(t), known.unrolled(5).prior[t - first], rtol=1e-14)
        assert known.date_of(t) == whole.date_of(t)
        assert later.phase(t) == whole.phase(t)
    if first:
        assert known.fingerprint != routine.since(MONDAY, initial=[0, 0, 1]).fingerprint
        for ask in (known.prior_at, known.transition, known.cyclic_at, known.phase):
            with pytest.raises(d.DiscreetError, match=f"slot {first - 1} is before the chain's first, {first}"):
                ask(first - 1)


def test_without_a_stationary_distribution_a_chain_begins_as_its_day_is() -> None:
    chain = d.MarkovChain(("a", "b"), [0.3, 0.7], np.array([np.full((2, 2), 0.5), np.eye(2)]))
    routine = Routine({"day": chain}, {("day", "day"): np.eye(2)})
    assert routine.cycle is not None
    split = d.MarkovChain(("a", "b"), [0.3, 0.7], [np.eye(2), np.eye(2)])
    parted = Routine({"day": split}, {("day", "day"): np.eye(2)})
    np.testing.assert_array_equal(parted.since(MONDAY, first=4).initial, split.prior[1])
    assert not parted.since(MONDAY, first=4).cyclic_at(100)


def test_a_first_slot_before_the_start_is_refused() -> None:
    with pytest.raises(d.DiscreetError, match="first slot is -1; give 0 or more"):
        random_routine(0).since(MONDAY, first=-1)


def test_a_model_without_end_is_told_from_one_of_a_day() -> None:
    routine = random_routine(6)
    endless: EndlessModel = routine.since(MONDAY)
    several: list[Model] = [endless, routine.day("weekday")]
    assert [is_endless(model) for model in several] == [True, False]
    for model in several:
        np.testing.assert_array_equal(model.transition(0), routine.day("weekday").transitions[0])
