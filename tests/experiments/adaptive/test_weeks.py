"""Days in a row: the same dates day by day and without end, before an observer who knows how nights join days."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.adversary.unrolled import Unrolled, day_by_day
from discreet.charts import canvas
from discreet.contexts import Day
from discreet.mechanisms import Adaptive
from discreet.models import MarkovChain
from discreet.models.routine.routine import Routine
from discreet.numerics import SLACK
from discreet.policy import Policy
from discreet.randomness import SeededEntropy
from discreet_experiments.adaptive.run import AdaptiveReproduction, Extent
from discreet_experiments.adaptive.weeks import (
    CUT,
    Person,
    Variant,
    released,
    runs_of,
    variants,
    walked,
    weekly,
)
from discreet_experiments.shared.people import Rules, Trace, reality_mining
from discreet_experiments.shared.subjects import Setting
from tests.experiments.quiet import quiet
from tests.experiments.recorded import RECORDED, made_up

SETTING = Setting(Rules(slots=12, least_days=10), secrets=2)
MONDAY = dt.date(2026, 1, 5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up(tmp_path_factory.mktemp("data"), count=2, days=16)


@pytest.fixture(scope="module")
def trace(folder: Path) -> Trace:
    return reality_mining(folder, weekly(SETTING).rules)[0]


@pytest.fixture(scope="module")
def person(trace: Trace) -> Person:
    found = released(trace, weekly(SETTING), (2, 3), 2)
    assert found is not None
    return found


def dated(*offsets: int) -> list[Day]:
    return [Day(("x",), MONDAY + dt.timedelta(days=offset)) for offset in offsets]


def test_runs_are_consecutive_dates_that_do_not_overlap() -> None:
    days = dated(0, 1, 2, 3, 5, 6, 8, 9, 10)
    assert [[day.date.day for day in run if day.date] for run in runs_of(days, 2, None)] == [
        [5, 6],
        [7, 8],
        [10, 11],
        [13, 14],
    ]
    assert [run[0].date for run in runs_of(days, 3, None)] == [MONDAY, MONDAY + dt.timedelta(days=8)]
    assert len(runs_of(days, 2, 2)) == 2
    assert runs_of(days, 5, None) == []


def test_without_end_nothing_is_breached_or_off_the_model(person: Person) -> None:
    assert person.refused is None
    assert person.horizon is not None
    for variant in variants((2, 3)):
        runs = person.runs[variant]
        assert runs
        for run in runs:
            assert len(run.seconds) == 12 * variant.days
            assert 0 <= run.truth <= len(run.seconds)
            assert run.off_model == 0
            if variant.starts == "without end":
                assert not run.breached
                assert run.worst_gain <= SETTING.delta + SLACK
                assert len(run.rows) == len(run.seconds)
            else:
                assert run.rows == ()


def test_a_person_is_the_same_again(trace: Trace, person: Person) -> None:
    again = released(trace, weekly(SETTING), (2,), 2)
    assert again is not None
    for variant, runs in again.runs.items():
        assert [(run.truth, run.worst_gain, run.rows) for run in runs] == [
            (run.truth, run.worst_gain, run.rows) for run in person.runs[variant]
        ]


def staying(night: float) -> Routine:
    """Two slots a day; who is somewhere at night wakes up there with that chance."""
    contexts = ("clinic", "home")
    stay = np.array([[0.9, 0.1], [0.1, 0.9]])
    chain = MarkovChain(contexts, [0.5, 0.5], stay[None])
    return Routine({"day": chain}, {("day", "day"): np.array([[night, 1 - night], [1 - night, night]])})


def test_an_observer_of_the_whole_run_finds_what_starting_anew_gives_away() -> None:
    routine, policy = staying(0.95), Policy("clinic", delta=0.2)
    daily = Adaptive(routine.day("day"), policy, outputs="deceive")
    endless = Adaptive(routine.since(MONDAY), policy, outputs="deceive")
    codes = [0, 0, 0, 1, 1, 1, 0, 0, 0, 0]
    anew = walked(day_by_day(daily, routine, 5, since=MONDAY), codes, SeededEntropy(3))
    never = walked(Unrolled(endless, 5), codes, SeededEntropy(3))
    assert anew.breached
    assert anew.worst_gain > 0.25
    assert not never.breached
    assert never.worst_gain <= 0.2 + SLACK
    assert never.worst_gain == pytest.approx(0.2, abs=0.05)  # and it is used


def test_nights_that_tell_nothing_make_no_difference() -> None:
    routine, policy = staying(0.5), Policy("clinic", delta=0.2)
    daily = Adaptive(routine.day("day"), policy, outputs="deceive")
    run = walked(day_by_day(daily, routine, 4, since=MONDAY), [0, 0, 1, 1, 0, 1, 1, 0], SeededEntropy(1))
    assert not run.breached
    assert run.worst_gain <= 0.2 + SLACK


def test_a_routine_that_is_refused_is_told(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.adversary.endless.HORIZON", 2)
    found = released(trace, weekly(SETTING), (2,), 1)
    assert found is not None
    assert found.refused is not None
    assert "larger floor" in found.refused
    assert found.runs == {}


def test_who_has_no_run_takes_no_part(trace: Trace) -> None:
    assert released(trace, weekly(SETTING), (50,), None) is None


def test_the_figure(folder: Path, tmp_path: Path) -> None:
    extent = Extent(lengths=(2, 50), runs=1)
    figure = AdaptiveReproduction(quiet(folder), replace(SETTING, pool="all"), extent).figure("weeks")
    rows = figure.summary.records()
    assert [(row["days"], row["released"]) for row in rows] == [(2, "day by day"), (2, "without end")] * 4
    assert f"cut {CUT}" in figure.note
    for row in rows:
        assert row["runs"] == row["people"] == 2
        if row["released"] == "without end":
            assert row["runs breached"] == 0
            assert row["off model"] == 0
            assert row["horizon"] is not None
        elif row["memory"] == "last":
            assert row["of day by day's"] == 1
    assert len(figure.people.rows) == 2 * len(rows)
    assert "refused: 0" in figure.remarks[-1]
    if canvas.available():
        figure.draw(tmp_path / "weeks.png")
        assert (tmp_path / "weeks.png").read_bytes().startswith(b"\x89PNG")


def test_what_a_variant_is_compared_with() -> None:
    assert Variant(3, "without end", "deceive", "none").leaky == Variant(3, "day by day", "deceive", "last")


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the recorded data is not part of the project")
def test_on_a_recorded_person_days_anew_breach_and_days_without_end_do_not() -> None:
    setting = weekly(Setting())
    found = released(reality_mining(RECORDED, setting.rules)[40], setting, (3,), None)
    assert found is not None
    breached = dict.fromkeys(("day by day", "without end"), 0)
    for variant, runs in found.runs.items():
        breached[variant.starts] += sum(run.breached for run in runs)
    assert breached["day by day"] > 0
    assert breached["without end"] == 0
