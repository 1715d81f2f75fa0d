"""Families of observers: what they saw, that they fit the person's routine, and that a file keeps them."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import numpy as np
import pytest

import discreet as d
from discreet.contexts import Day
from discreet.mechanisms import Adaptive
from discreet.models.learning.observers import observers_of, some_weeks, tilted
from discreet.models.simulate import person
from tests.models.test_routine import random_routine


@pytest.fixture(scope="module")
def days() -> list[Day]:
    monday = dt.date(2026, 8, 31)
    drawn = person(days=28, slots=8, contexts=5, seed=2)
    return [Day(day.contexts, date=monday + k * dt.timedelta(days=1)) for k, day in enumerate(drawn)]


def test_those_who_saw_other_days_are_learned_from_them(days: list[Day]) -> None:
    routine = d.Routine.fit(days)
    first, second, late, plain, *weeks = observers_of(routine, days, 6)

    def learned(some: list[Day], smoothing: str = routine.learned.smoothing) -> str:  # type: ignore[union-attr]
        return d.Routine.fit(some, smoothing=smoothing, contexts=routine.contexts).fingerprint  # type: ignore[call-overload, no-any-return]

    assert [one.fingerprint for one in (first, second, late)] == [
        learned(days[:14]),
        learned(days[14:]),
        learned(days[-9:]),
    ]
    assert plain.fingerprint == learned(days, "none")
    assert [one.fingerprint for one in weeks] == [learned(some_weeks(days, seed)) for seed in (0, 1)]


def test_some_weeks_are_half_of_them_whole(days: list[Day]) -> None:
    drawn = {tuple(day.date for day in some_weeks(days, seed)) for seed in range(8)}
    assert len(drawn) > 2
    for dates in drawn:
        assert len(dates) == 14
        assert len({date.isocalendar()[1] for date in dates if date}) == 2


def test_tilted_rows_are_multiplied_and_made_whole(days: list[Day]) -> None:
    routine = d.Routine.fit(days)
    secret = routine.contexts.index("home")
    more = tilted(routine, ["home"], 3.0)
    for kind in routine.kinds:
        was, now = routine.day(kind).transitions, more.day(kind).transitions
        odds = was[..., secret] / (1 - was[..., secret])
        np.testing.assert_allclose(now[..., secret] / (1 - now[..., secret]), 3 * odds, rtol=1e-9)
        others = [k for k in range(len(routine.contexts)) if k != secret]
        ratio = now[..., others] / was[..., others]
        np.testing.assert_allclose(ratio, np.broadcast_to(ratio[..., :1], ratio.shape), rtol=1e-9)


def test_the_family_fits_the_routine_whatever_is_secret(days: list[Day]) -> None:
    routine = d.Routine.fit(days, secrets=["clinic"])
    family = observers_of(routine, days, 8, secrets=["clinic", "home"])
    assert len(family) == 8
    mechanism = Adaptive(routine.since("2026-10-05"), d.Policy(["clinic", "home"], delta=0.1), observers=family)
    assert len(mechanism.observers) == 8
    assert 0 < float(mechanism.expected_utility(days=2)) < 1


def test_few_days_make_few_observers(days: list[Day]) -> None:
    routine = d.Routine.fit(days[:4])
    assert observers_of(routine, days[:4], 5) == []
    assert len(observers_of(routine, days[:4], 5, secrets=["home"])) == 2
    assert observers_of(routine, days[:4], 0) == []
    with pytest.raises(d.DiscreetError, match="give 0 or more"):
        observers_of(routine, days, -1)


def test_a_file_keeps_them_and_adaptive_thinks_of_them(days: list[Day], tmp_path: Path) -> None:
    plain = d.Routine.fit(days)
    routine = plain.with_observers(observers_of(plain, days, 3, secrets=["home"]))
    d.save(tmp_path / "own.model", routine)
    loaded = d.load(tmp_path / "own.model")
    assert isinstance(loaded, d.Routine)
    assert [one.fingerprint for one in loaded.observers] == [one.fingerprint for one in routine.observers]
    assert loaded.fingerprint == routine.fingerprint == plain.fingerprint
    policy = d.Policy(["home"], delta=0.1)
    mechanisms = [Adaptive(one.since("2026-10-05"), policy) for one in (loaded, routine, plain)]
    assert [len(mechanism.observers) for mechanism in mechanisms] == [3, 3, 0]
    assert mechanisms[0].settings == mechanisms[1].settings != mechanisms[2].settings
    assert Adaptive(loaded.since("2026-10-05"), policy, observers=[]).settings == mechanisms[2].settings


def test_a_routine_with_observers_is_learned_anew(days: list[Day]) -> None:
    plain = d.Routine.fit(days[:14])
    routine = plain.with_observers(observers_of(plain, days[:14], 2))
    with pytest.raises(d.DiscreetError, match="learn again from all days"):
        routine.updated(days[14:])
    session = d.Session(Adaptive(plain.since("2026-10-05"), d.Policy(["home"])))
    with pytest.raises(d.DiscreetError, match="new stream"):
        session.change(routine=routine)


def test_a_file_keeps_each_night_where_it_belongs(tmp_path: Path) -> None:
    """Whatever the order in which an observer's nights were given."""
    own, other = random_routine(1), random_routine(2)
    chains = {kind: other.day(kind) for kind in other.kinds}
    turned = d.Routine(chains, dict(reversed(list(other.nights.items()))))
    assert list(turned.nights) != list(own.nights)
    d.save(tmp_path / "own.model", own.with_observers([turned]))
    loaded = d.load(tmp_path / "own.model")
    assert isinstance(loaded, d.Routine)
    assert loaded.observers[0].fingerprint == turned.fingerprint


def test_a_reader_that_knows_no_observers_refuses_their_file(tmp_path: Path) -> None:
    own = random_routine(1)
    versions = []
    for routine in (own, own.with_observers([random_routine(2)])):
        d.save(tmp_path / "own.model", routine)
        with np.load(tmp_path / "own.model") as stored:
            versions.append(json.loads(str(stored["header"]))["version"])
    assert versions == [2, 3]


def test_observers_of_other_contexts_are_refused() -> None:
    own = random_routine(1)
    other = random_routine(2)
    chains = {
        kind: d.MarkovChain(own.contexts[::-1], other.day(kind).initial, other.day(kind).transitions)
        for kind in other.kinds
    }
    with pytest.raises(d.DiscreetError, match="observer 1 has other contexts"):
        own.with_observers([d.Routine(chains, other.nights)])
    with pytest.raises(d.DiscreetError, match="observer 2 has other contexts, slots or kinds"):
        own.with_observers([other, random_routine(2, week=False)])


def test_habits_that_change_lose_no_observers_silently() -> None:
    own, other = random_routine(1), random_routine(2)
    policy = d.Policy([own.contexts[0]], delta=0.2)
    watched = own.with_observers([random_routine(3)])
    for changing in (watched.then(other, "2026-03-09"), other.then(watched, "2026-03-09")):
        with pytest.raises(d.DiscreetError, match=r"these routines have others.*observers=\[\]"):
            Adaptive(changing.since("2026-03-02"), policy)
        assert not Adaptive(changing.since("2026-03-02"), policy, observers=[]).observers
    with pytest.raises(d.DiscreetError, match="observer 1 has habits that change"):
        Adaptive(own.since("2026-03-02"), policy, observers=[own.then(other, "2026-03-09").since("2026-03-02")])
