from __future__ import annotations

import datetime as dt
import time

import numpy as np
import pytest

from discreet.contexts import UNKNOWN
from discreet.errors import DiscreetError
from discreet.models import MarkovChain
from discreet.models.simulate import START, codes, people, person


def test_the_same_arguments_give_the_same_people() -> None:
    _, once = codes(3, 20, 48, 12, seed=5)
    np.testing.assert_array_equal(once, codes(3, 20, 48, 12, seed=5)[1])
    assert not np.array_equal(once, codes(3, 20, 48, 12, seed=6)[1])
    assert not np.array_equal(once[0], once[1])


def test_days_are_the_codes_in_words() -> None:
    labels, drawn = codes(12, 9, 24, 8, seed=2)
    by_name = people(12, 9, 24, 8, seed=2)
    assert list(by_name) == [f"p{number:02d}" for number in range(1, 13)]
    for number, (name, days) in enumerate(by_name.items()):
        for k, day in enumerate(days):
            assert day.contexts == tuple(labels[c] for c in drawn[number, k])
            assert (day.person, day.date) == (name, START + dt.timedelta(days=k))
    start = dt.date(2026, 5, 2)
    days = person("ann", 3, 24, 8, seed=4, start=start)
    assert [(day.person, day.date) for day in days] == [("ann", start + dt.timedelta(days=k)) for k in range(3)]
    assert days[0].contexts == tuple(labels[c] for c in codes(1, 3, 24, 8, 4, start)[1][0, 0])


@pytest.mark.parametrize("contexts", [4, 5, 7, 12, 13, 40])
@pytest.mark.parametrize("slots", [1, 24, 48, 96])
def test_any_size_can_be_made(slots: int, contexts: int) -> None:
    labels, drawn = codes(20, 30, slots, contexts, seed=1)
    assert len(set(labels)) == contexts == len(labels)
    assert drawn.shape == (20, 30, slots)
    assert drawn.min() >= 0
    assert drawn.max() < contexts
    assert (UNKNOWN in labels) == (contexts > 4)
    assert labels[:4] == ("home", "work", "hospital", "pharmacy")
    assert [label for label in labels if label.startswith("place")] == [f"place {k}" for k in range(13, contexts + 1)]
    if slots > 1:
        assert len(np.unique(drawn)) == contexts  # every place is somebody's


@pytest.mark.parametrize("slots", [24, 48, 96])
def test_the_hospital_is_rare_and_gives_itself_away(slots: int) -> None:
    labels, drawn = codes(200, 100, slots, 12, seed=3)
    hospital = (drawn == labels.index("hospital")).any(axis=2)
    pharmacy = (drawn == labels.index("pharmacy")).any(axis=2)
    share = hospital.mean(axis=1)
    assert share.min() >= 0.02
    assert share.max() <= 0.09
    assert 0.04 < share.mean() < 0.065
    assert pharmacy[hospital].mean() > 0.7
    assert pharmacy[~hospital].mean() < 0.02
    weekend = (START.weekday() + np.arange(100)) % 7 >= 5
    assert not hospital[:, weekend].any()


def test_the_pharmacy_comes_right_after_the_hospital() -> None:
    labels, drawn = codes(300, 100, 48, 4, seed=8)  # without missing readings
    hospital, pharmacy = labels.index("hospital"), labels.index("pharmacy")
    leaving = (drawn[:, :, :-1] == hospital) & (drawn[:, :, 1:] != hospital)
    assert 0.8 < (drawn[:, :, 1:][leaving] == pharmacy).mean() < 0.95
    entering = (drawn[:, :, 1:] == pharmacy) & (drawn[:, :, :-1] != pharmacy)
    assert (drawn[:, :, :-1][entering] == hospital).mean() > 0.85


def test_people_stay_where_they_are_as_people_do() -> None:
    _, drawn = codes(100, 100, 48, 12, seed=4)
    stays = (drawn[:, :, 1:] == drawn[:, :, :-1]).mean(axis=(1, 2))
    assert stays.min() > 0.8
    assert 0.84 < stays.mean() < 0.9
    chain = MarkovChain.fit(person(days=100, seed=4))
    staying = np.einsum("ti,tii->t", chain.prior[:-1], chain.transitions)
    assert 0.8 < staying.mean() < 0.93


def test_weekends_differ_and_some_people_do_not_work() -> None:
    labels, drawn = codes(200, 98, 48, 12, seed=5)
    weekend = (START.weekday() + np.arange(98)) % 7 >= 5
    work = (drawn == labels.index("work")).mean(axis=2)
    assert not work[:, weekend].any()
    workers = work[:, ~weekend].mean(axis=1)
    assert 0.05 < (workers == 0).mean() < 0.3
    assert workers[workers > 0].min() > 0.2


def test_readings_go_missing_more_in_some_places() -> None:
    labels, drawn = codes(300, 100, 48, 12, seed=6)
    unknown = labels.index(UNKNOWN)
    assert 0.02 < (drawn == unknown).mean() < 0.12
    lost = {
        place: (drawn[:, :, 1:][drawn[:, :, :-1] == labels.index(place)] == unknown).mean()
        for place in ("home", "work", "gym")
    }
    assert lost["home"] < lost["work"] < lost["gym"]


def test_weekdays_have_habits() -> None:
    """A person's evening out goes to the same place more often on the same weekday than on the one before."""
    labels, drawn = codes(100, 98, 48, 12, seed=7)
    evenings = drawn[:, :, 36:40].reshape(100, 14, 7, 4)
    out = ~np.isin(evenings, [labels.index(label) for label in ("home", "work", UNKNOWN)])
    moved, moved_out = np.roll(evenings, 1, axis=2), np.roll(out, 1, axis=2)
    same = (evenings[:, 1:] == evenings[:, :-1])[out[:, 1:] & out[:, :-1]].mean()
    other = (evenings[:, 1:] == moved[:, :-1])[out[:, 1:] & moved_out[:, :-1]].mean()
    assert same > other + 0.1


def test_what_cannot_be_simulated_says_so() -> None:
    for arguments, message in (
        ((0, 1, 1, 4), r"0 people cannot be simulated; give at least 1"),
        ((1, 0, 1, 4), r"0 days cannot be simulated; give at least 1"),
        ((1, 1, 0, 4), r"0 slots cannot be simulated; give at least 1"),
        ((1, 1, 1, 3), r"3 contexts cannot be simulated; give at least 4"),
    ):
        with pytest.raises(DiscreetError, match=message):
            codes(*arguments)


def test_a_million_readings_a_second() -> None:
    """Far below what a machine does; it fails where somebody loops over people."""
    began = time.process_time()
    _, drawn = codes(1_000, 20, 48, 12, seed=9)
    assert drawn.size / (time.process_time() - began) > 1_000_000
