"""The table of examples/make_casino.py: where one is tells what one does, and few gamble. Is the promise true of it?"""

from __future__ import annotations

import sys
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from discreet.data import open_source, read_trajectories
from discreet.events import Intervals, Trajectory
from discreet.policy import Policy
from discreet.publish import Plan, RunKey, TopicHabits, publish_person
from discreet.publish.plan import cut

SCRIPT = Path(__file__).parents[2] / "examples" / "make_casino.py"
DELTA, LENGTH = 0.1, 25
SURE = 0.999
"""Of the two-sided exact intervals: a bound that is true is missed by one in two thousand seeds."""


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> list[Trajectory]:
    path = tmp_path_factory.mktemp("casino") / "casino.csv"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["make_casino.py", "--out", str(path)])
        run_path(str(SCRIPT), run_name="__main__")
    return list(read_trajectories(open_source(path), Intervals()))


@pytest.fixture(scope="module")
def plan(people: list[Trajectory]) -> Plan:
    """As published by default, with less work."""
    return learned(people, topics=2)


@pytest.fixture(scope="module")
def independent(people: list[Trajectory]) -> Plan:
    """One topic of independent attributes, which used to be chosen here."""
    return learned(people, topics=1, habits="topics")


def gambled(person: Trajectory) -> list[bool]:
    return [event.activity == "gambling" for event in person.events]


def learned(people: list[Trajectory], **options: Any) -> Plan:
    return Plan.learn(people, Policy("activity=gambling", delta=DELTA), piece_length=LENGTH, sweeps=400, **options)


def priors(plan: Plan, person: Trajectory) -> list[float]:
    """Of gambling, event by event."""
    pieces = cut(person, LENGTH)
    found: list[float] = []
    for piece in pieces:
        model, _ = plan.habits.of(pieces, len(piece))
        secret = [label.startswith("gambling|") for label in model.contexts]
        found += model.prior[:, secret].sum(axis=1).tolist()
    return found


def told(plan: Plan, people: list[Trajectory]) -> tuple[int, int, float]:
    """Events whose activity and place are withheld, how many are gambling, and the mean of prior + delta there."""
    withheld, secret, limit = 0, 0, 0.0
    for person in people:
        rows, report = publish_person(plan, person, RunKey.of_seed(1))
        assert not report.breached  # so the model says of each of them
        for row, true, prior in zip(rows, gambled(person), priors(plan, person), strict=True):
            if row.activity is None and row.location is None:
                withheld, secret, limit = withheld + 1, secret + true, limit + prior + DELTA
    return withheld, secret, limit / withheld


def test_the_table_is_what_it_says(people: list[Trajectory]) -> None:
    events = [event for person in people for event in person.events]
    assert (len(people), len(events)) == (60, 3000)
    assert len({event.location for event in events}) == len({(event.location, event.activity) for event in events})
    assert 0.015 < np.mean([event.activity == "gambling" for event in events]) < 0.025
    rows = run_path(str(SCRIPT))["rows"]
    places = [place for _, _, place, _ in rows(1, 400, 7, 1)]
    again = np.mean([place == before for place, before in zip(places[7:], places, strict=False)])
    assert again > 0.9  # a dependence that no model here has


def test_what_is_withheld_is_the_secret_no_more_often_than_promised(plan: Plan, people: list[Trajectory]) -> None:
    assert isinstance(plan.habits, TopicHabits)
    assert plan.habits.name.startswith("event HMM of 2 topics over whole events")
    withheld, secret, limit = told(plan, people)
    share = binomtest(secret, withheld).proportion_ci(SURE)  # Clopper and Pearson
    assert secret / withheld < limit, (withheld, secret, limit)
    assert share.low < limit
    assert share.high < 1.5 * limit  # there are enough of them to say so


def test_with_independent_attributes_it_is_broken_and_the_count_notices(
    independent: Plan, people: list[Trajectory]
) -> None:
    """The model holds gambling to be ten times rarer than it is."""
    withheld, secret, limit = told(independent, people[::2])
    assert binomtest(secret, withheld).proportion_ci(SURE).low > limit, (withheld, secret, limit)


def test_priors_are_frequencies_and_know_who_gambles(plan: Plan, independent: Plan, people: list[Trajectory]) -> None:
    frequency = np.array([np.mean(gambled(person)) for person in people])

    def of(plan: Plan) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.array([np.mean(priors(plan, person)) for person in people])

    ours, product = of(plan), of(independent)
    assert ours.mean() == pytest.approx(frequency.mean(), rel=0.1)
    assert product.mean() < 0.15 * frequency.mean()
    assert np.corrcoef(ours, frequency)[0, 1] > 0.7
    assert np.abs(ours - frequency).mean() < np.abs(frequency.mean() - frequency).mean()
