"""Routines: kinds of day joined by nights, priors that repeat, and nothing that is off the model."""

from __future__ import annotations

import datetime as dt
import pickle

import numpy as np
import pytest

import discreet as d
from discreet.contexts import OTHER, UNKNOWN
from discreet.models.routine.changing import over
from discreet.models.routine.routine import MONDAY, Kinds, Routine
from discreet.models.simulate import person
from tests.strategies import labels, random_chain, random_rows, searches

ONE_DAY = dt.timedelta(days=1)


def random_routine(seed: int, n: int = 3, slots: int = 3, zeros: float = 0.0, week: bool = True) -> Routine:
    rng = np.random.default_rng([seed, 7])
    kinds = ("weekday", "weekend") if week else ("day",)
    chains = {kind: random_chain(seed + 1000 * k, n, slots, zeros) for k, kind in enumerate(kinds)}
    return Routine(chains, {(a, b): random_rows(rng, (n, n), zeros) for a in kinds for b in kinds})


def simulated(days: int = 60) -> list[d.Day]:
    return person(days=days, slots=24, contexts=6, seed=3)


def test_the_endless_chain_is_the_days_joined_by_nights() -> None:
    routine = random_routine(1)
    friday = dt.date(2024, 1, 5)
    endless = routine.since(friday)
    weekday, weekend = routine.day("weekday"), routine.day("weekend")
    expected = [
        *weekday.transitions,
        routine.nights["weekday", "weekend"],
        *weekend.transitions,
        routine.nights["weekend", "weekend"],
        *weekend.transitions,
        routine.nights["weekend", "weekday"],
        *weekday.transitions,
    ]
    np.testing.assert_array_equal(endless.unrolled(4).transitions, expected)
    for t, step in enumerate(expected):
        np.testing.assert_array_equal(endless.transition(t), step)
    assert endless.date_of(7) == (dt.date(2024, 1, 7), 1)
    assert endless.slot_of(dt.date(2024, 1, 7), 1) == 7


def test_priors_are_the_chains_own_and_repeat_with_the_week() -> None:
    for seed in searches(12):
        routine = random_routine(seed, zeros=0.2)
        if routine.cycle is None:
            continue
        endless = routine.since("2024-01-03")
        unrolled = endless.unrolled(16)
        for t in range(16 * 3):
            np.testing.assert_allclose(endless.prior_at(t), unrolled.prior[t], atol=1e-12)
            np.testing.assert_array_equal(endless.prior_at(t), endless.prior_at(t + 7 * 3))
            np.testing.assert_array_equal(endless.prior_at(t), routine.prior(endless.date_of(t)[0])[t % 3])


def test_a_prior_belongs_to_a_date_not_to_a_kind() -> None:
    routine = random_routine(2)
    monday, tuesday = routine.prior(MONDAY), routine.prior(MONDAY + ONE_DAY)
    assert np.abs(monday - tuesday).max() > 1e-3
    np.testing.assert_array_equal(monday, routine.prior(MONDAY + 14 * ONE_DAY))


def test_where_a_stream_began_may_be_known() -> None:
    routine = random_routine(3)
    endless = routine.since(MONDAY, initial=[1, 0, 0])
    assert endless.phase(0) is None
    np.testing.assert_array_equal(endless.prior_at(0), [1, 0, 0])
    np.testing.assert_allclose(endless.prior_at(7), endless.unrolled(3).prior[7], atol=1e-15)
    assert routine.since(MONDAY).phase(22) == 22 % 21


def test_several_stationary_distributions_start_with_the_first_day() -> None:
    chain = d.MarkovChain(labels(2), [0.3, 0.7], [np.eye(2)])
    routine = Routine({"day": chain}, {("day", "day"): np.eye(2)})
    assert routine.cycle is None
    np.testing.assert_array_equal(routine.since(MONDAY).prior_at(5), [0.3, 0.7])
    with pytest.raises(d.DiscreetError, match="no one stationary"):
        routine.prior(MONDAY)


def test_a_learned_routine_is_total() -> None:
    routine = Routine.fit(simulated(), secrets=d.Policy([d.Secret("never", {"casino"})]))
    assert {OTHER, UNKNOWN, "casino"} <= set(routine.contexts)
    for kind in routine.kinds:
        assert (routine.day(kind).transitions > 0).all()
        assert (routine.day(kind).initial > 0).all()
    assert all((rows > 0).all() for rows in routine.nights.values())
    never = routine.contexts.index("casino")
    assert 0 < routine.prior(MONDAY)[:, never].max() < 1e-3  # never visited: possible, and no trap


def test_nights_are_counted_between_consecutive_dates_of_one_person() -> None:
    days = [
        d.Day(("a", "b"), dt.date(2024, 1, 1), "p"),
        d.Day(("a", "a"), dt.date(2024, 1, 2), "p"),
        d.Day(("b", "b"), dt.date(2024, 1, 4), "p"),  # after a gap
        d.Day(("b", "a"), dt.date(2024, 1, 5), "q"),  # of somebody else
        d.Day(("b", "b"), dt.date(2024, 1, 6), "q"),
    ]
    learned = Routine.fit(days, smoothing="none").learned
    assert learned is not None
    order = Routine.fit(days).contexts
    a, b = order.index("a"), order.index("b")
    expected = np.zeros((4, 4), dtype=int)
    expected[b, a] = 1
    np.testing.assert_array_equal(learned.nights["weekday", "weekday"], expected)
    expected = np.zeros((4, 4), dtype=int)
    expected[a, b] = 1
    np.testing.assert_array_equal(learned.nights["weekday", "weekend"], expected)
    assert not learned.nights["weekend", "weekday"].any()


def test_a_kind_without_days_is_learned_from_all() -> None:
    weekdays = [day for day in simulated() if day.date is not None and day.date.weekday() < 5]
    routine = Routine.fit(weekdays)
    np.testing.assert_array_equal(routine.day("weekend").transitions, routine.day("weekday").transitions)


def test_a_rule_of_ones_own_declares_its_period() -> None:
    chain = random_chain(1, 2, 2, 0.0)
    shifts = Kinds(lambda date: "late" if date.toordinal() % 3 == 0 else "early", period=3)
    nights = {
        (a, b): random_rows(np.random.default_rng(0), (2, 2), 0.0) for a in ("early", "late") for b in ("early", "late")
    }
    routine = Routine({"early": chain, "late": random_chain(2, 2, 2, 0.0)}, nights, kind_of=shifts)
    assert routine.by == "own"
    endless = routine.since(MONDAY)
    np.testing.assert_allclose(endless.prior_at(9), endless.unrolled(6).prior[9], atol=1e-13)
    unbounded = Routine({"early": chain, "late": chain}, nights, kind_of=Kinds(shifts.of))
    assert unbounded.since(MONDAY).phase(3) is None


def test_more_days_are_the_same_as_all_at_once() -> None:
    days = simulated(40)
    for split in (1, 3, 20, 39):
        for by, smoothing in (("weekpart", "auto"), (None, "none")):
            first = Routine.fit(days[:split], by, smoothing, secrets=["casino"])  # type: ignore[call-overload]
            whole = Routine.fit(days, by, smoothing, secrets=["casino"])  # type: ignore[call-overload]
            assert first.updated(days[split:]).fingerprint == whole.fingerprint
    one_by_one = Routine.fit(days[:1])
    for day in days[1:]:
        one_by_one = one_by_one.updated(day)  # the night before each is counted too
    assert one_by_one.fingerprint == Routine.fit(days).fingerprint


def test_new_labels_and_new_secrets_become_contexts_unless_contexts_were_given() -> None:
    monday, tuesday = d.Day(("a", "b"), MONDAY), d.Day(("a", "gym"), MONDAY + ONE_DAY)
    grown = Routine.fit([monday]).updated(tuesday, secrets="casino")
    assert grown.contexts == ("a", "b", "gym", "casino", OTHER, UNKNOWN)
    given = Routine.fit([monday], contexts=("b", "a")).updated([tuesday])
    assert given.contexts == ("b", "a", OTHER, UNKNOWN)
    assert given.learned is not None
    assert given.learned.occupancy.tolist() == [1, 2, 1, 0]  # the gym is other
    declared = Routine.fit([monday], contexts=("b", "a")).updated(tuesday, secrets=d.Policy("gym"))
    assert "gym" in declared.contexts


def test_days_that_were_learned_before_are_refused() -> None:
    monday = d.Day(("a", "b"), MONDAY, "p")
    routine = Routine.fit([monday])
    with pytest.raises(d.DiscreetError, match=r"2024-01-01 is not after 2024-01-01.*learn again"):
        routine.updated(monday)
    with pytest.raises(d.DiscreetError, match=r"is of q, and the routine was learned from p; learn a routine for each"):
        routine.updated(d.Day(("a", "b"), MONDAY + ONE_DAY, "q"))
    with pytest.raises(d.DiscreetError, match=r"have 3 slots, the chain 2"):
        routine.updated(d.Day(("a", "b", "b"), MONDAY + ONE_DAY, "p"))
    with pytest.raises(d.DiscreetError, match=r"not learned from days"):
        random_routine(0).updated(monday)


@pytest.mark.parametrize(
    ("days", "nights", "message"),
    [
        ({}, {}, "no kinds of day"),
        ({"day": random_chain(0)}, {}, "no night leads"),
        ({"day": random_chain(0)}, {("day", "day"): np.full((3, 3), 0.5)}, "sums to 1.5"),
        ({"day": random_chain(0)}, {("day", "day"): np.eye(3), ("day", "feast"): np.eye(3)}, "no kind of day"),
        ({"weekday": random_chain(0), "weekend": random_chain(0, n=2)}, {}, "contexts"),
        ({"weekday": random_chain(0), "weekend": random_chain(0, slots=4)}, {}, "slots"),
        ({"monday": random_chain(0)}, {}, "kind_of"),
    ],
)
def test_what_is_no_routine_is_refused_with_the_reason(days: dict, nights: dict, message: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(d.DiscreetError, match=message):
        Routine(days, nights)


def test_days_that_cannot_be_learned_from_are_refused() -> None:
    day = simulated(1)[0]
    with pytest.raises(d.DiscreetError, match="two days"):
        Routine.fit([day, day])
    with pytest.raises(d.DiscreetError, match="dated"):
        Routine.fit([d.Day(("a",))])
    with pytest.raises(d.DiscreetError, match="no days"):
        Routine.fit([])
    with pytest.raises(d.DiscreetError, match="floor"):
        Routine.fit([day], floor=0.0)
    with pytest.raises(d.DiscreetError, match="no date"):
        Routine.fit([day]).since("monday")


def test_a_routine_from_another_process_is_the_same_over_more_contexts() -> None:
    """Its rule of kinds is an equal object there and not the same one; a checkpoint names the model by its digest."""
    chain = d.MarkovChain(("a", "b"), [0.5, 0.5], np.full((1, 2, 2), 0.5))
    nights = {(one, other): np.full((2, 2), 0.5) for one in ("weekday", "weekend") for other in ("weekday", "weekend")}
    one = d.Routine({"weekday": chain, "weekend": chain}, nights)
    other = pickle.loads(pickle.dumps(one))
    wide = ("a", "b", "c")
    assert over(one, wide).by == over(other, wide).by == "weekpart"
    assert over(one, wide).fingerprint == over(other, wide).fingerprint
