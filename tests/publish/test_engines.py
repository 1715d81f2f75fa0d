"""What every engine that publishes must do alike: one body, run for each of them."""

from __future__ import annotations

import csv
import datetime as dt
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count, pairwise
from pathlib import Path
from typing import Any, Literal

import pytest

from discreet.data import read_trajectories
from discreet.data.published import Row
from discreet.events import Trajectory
from discreet.mechanisms.named import Spec
from discreet.models.topics.simulate import topic_model, trajectories
from discreet.policy import Policy, Secret
from discreet.publish import Plan, Report, RunKey, TopicHabits, policy_for, publish, publish_person
from discreet.publish.own_secrets import OwnSecrets
from discreet.publish.plan import PIECE, PeoplesPolicies
from discreet.publish.report_schema import report_frame
from tests.publish.plans import SPECS, plan_of
from tests.publish.sparks import CLUSTER, LOCAL, by_spark, report_rows, session_at, stop_spark

ReportRows = list[dict[str, Any]]
Engine = Callable[[Plan, Sequence[Trajectory], int], tuple[list[Row], ReportRows]]


def local(plan: Plan, people: Sequence[Trajectory], seed: int) -> tuple[list[Row], ReportRows]:
    rows: list[Row] = []
    return rows, report_rows(publish(plan, people, rows.extend, seed=seed))


def two_workers(plan: Plan, people: Sequence[Trajectory], seed: int) -> tuple[list[Row], ReportRows]:
    rows: list[Row] = []
    return rows, report_rows(publish(plan, people, rows.extend, seed=seed, workers=2))


ENGINES: dict[str, Engine] = {"local": local, "two workers": two_workers}


@pytest.fixture(scope="module", params=[*ENGINES, pytest.param("spark", marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    if request.param in ENGINES:
        return ENGINES[request.param]
    request.getfixturevalue("spark_stops")
    session = session_at(LOCAL)

    def spark(plan: Plan, people: Sequence[Trajectory], seed: int) -> tuple[list[Row], ReportRows]:
        return by_spark(session, plan, people, seed, tmp_path_factory.mktemp("spark"))

    return spark


@pytest.fixture
def cluster(spark_stops: None, tmp_path: Path) -> Iterator[Engine]:
    """Spark, with executors that share no memory with the driver; a process has one session."""
    stop_spark()
    session, numbers = session_at(CLUSTER), count()

    def spark(plan: Plan, people: Sequence[Trajectory], seed: int) -> tuple[list[Row], ReportRows]:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        return by_spark(session, plan, people, seed, folder)

    yield spark
    stop_spark()


def slow(engine: Engine) -> bool:
    """Whether it starts processes, which takes seconds."""
    return engine is not local


def written(path: Path, order: int) -> Path:
    """The events of five people as a table, whose rows stand in an order of their own for each number."""
    start = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)
    model = topic_model(people=5, topics=2, sizes=(3, 3, 2), seed=2)
    rows = [
        (one.person, (start + dt.timedelta(hours=6 * place + number)).isoformat(), event.location, event.activity)
        for number, one in enumerate(trajectories(model, length=(5, 9), seed=2))
        for place, event in enumerate(one.events)
    ]
    rows += random.Random(order).sample(rows, 2 * order)  # rows that say the same as another are one event
    random.Random(order).shuffle(rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("user", "timestamp", "location", "activity"), *rows])
    return path


@pytest.mark.parametrize("habits", ["topics", "chain"])
def test_the_order_of_rows_and_people_does_not_matter(
    engine: Engine, habits: Literal["topics", "chain"], tmp_path: Path
) -> None:
    orders, found = set(), []
    if slow(engine) and engine is not two_workers and habits == "chain":
        pytest.skip("a table takes Spark seconds: topics stand for all")
    tables = 2 if slow(engine) else 3
    for order in range(tables):
        people = read_trajectories(written(tmp_path / f"{order}.csv", order))
        assert (people.duplicates, people.unordered > 0) == (2 * order, True)
        orders.add(people.people)
        topics = 2 if habits == "topics" else None
        plan = Plan.learn(people, Policy("location=location 1"), habits=habits, topics=topics, piece_length=4)
        found.append(engine(plan, people, 7))
    assert len(orders) == tables  # they do differ
    for one, other in pairwise(found):
        assert one == other
    rows, report = found[0]
    assert [person for person, _ in rows] == sorted(person for person, _ in rows)
    assert len(rows) == sum(one["events"] for one in report)


@pytest.mark.parametrize("name", SPECS)
def test_people_are_published_as_each_of_them_alone(engine: Engine, name: str) -> None:
    if slow(engine) and name not in ("adaptive", "pa-hmm"):
        pytest.skip("processes take seconds to start: those with and without memory stand for all")
    published_alone(engine, name)


@pytest.mark.spark
def test_executors_that_share_nothing_publish_the_same(cluster: Engine) -> None:
    published_alone(cluster, "pa-hmm")


def published_alone(engine: Engine, name: str) -> None:
    """An engine publishes many people, and one, as each of them alone."""
    plan, people = plan_of(4, 0.1, name)
    rows, report = engine(plan, people[::-1], 3)
    alone = [publish_person(plan, one, RunKey.of_seed(3)) for one in people]
    assert rows == [(own.person, event) for shown, own in alone for event in shown]
    assert report == report_rows(Report(tuple(own for _, own in alone)))
    assert engine(plan, people[1:2], 3) == (
        [(people[1].person, event) for event in alone[1][0]],
        report_rows(Report((alone[1][1],))),
    )


def test_long_trajectories_are_streams_on_every_engine(engine: Engine) -> None:
    truth = topic_model(people=2, topics=2, sizes=(2, 2, 2), seed=1)
    people = trajectories(truth, length=(PIECE + 2, PIECE + 6), seed=1)
    policy = policy_for(Policy("activity=activity 1", delta=0.1), truth.events)
    plan = Plan(TopicHabits(truth), policy, Spec("adaptive", {"outputs": "suppress"}))
    assert all(plan.streams(len(one)) for one in people)
    rows, report = engine(plan, people, 3)
    alone = [publish_person(plan, one, RunKey.of_seed(3)) for one in people]
    assert rows == [(own.person, event) for shown, own in alone for event in shown]
    assert report == report_rows(Report(tuple(own for _, own in alone)))
    assert {(one["pieces"], one["scope"], one["guarantee"]) for one in report} == {
        (1, "whole trajectory", "exact delta")
    }


def test_equal_seeds_publish_equally_and_others_do_not(engine: Engine) -> None:
    plan, people = plan_of(delta=0.1)
    assert engine(plan, people, 1) == local(plan, people, 1)
    assert slow(engine) or engine(plan, people, 1) == engine(plan, people, 1)
    assert len({tuple(local(plan, people, seed)[0]) for seed in range(1, 10)}) > 5


def test_people_have_secrets_and_deltas_of_their_own(engine: Engine) -> None:
    """The rows are those of each person under a plan that has their policy for everybody."""
    plan, people = plan_of(4, 0.2)
    assert isinstance(plan.habits, TopicHabits)
    events = plan.habits.model.events
    names = [one.person for one in people]
    stated = {
        names[0]: Policy([Secret("time=interval 1", delta=0.05), Secret("location=location 1", cap=0.6)]),
        names[1]: Policy([Secret("activity=activity 1", delta=0.4)]),
    }
    everybody = Policy("activity=activity 1", delta=0.2)
    own = PeoplesPolicies.laid(OwnSecrets.of(stated), everybody, events)
    rows, report = engine(replace(plan, policy=own.union, people=own), people, 3)
    alone = []
    for one in people:
        mine = stated.get(one.person, Policy())
        kept = [secret for secret in everybody.secrets if secret.name not in {each.name for each in mine.secrets}]
        # a row without a delta has the policy's of its own mapping: 0.1
        both = [*kept, *(replace(each, delta=mine.delta_of(each)) for each in mine.secrets)]
        policy = policy_for(Policy(sorted(both, key=order_of(kept)), delta=0.2), events)
        alone.append(publish_person(replace(plan, policy=policy), one, RunKey.of_seed(3)))
    assert rows == [(told.person, event) for shown, told in alone for event in shown]
    wanted = report_frame([told for _, told in alone], [secret.name for secret in own.union.secrets]).to_dicts()
    columns = report[0].keys()
    assert report == [{name: row[name] for name in columns} for row in wanted]
    assert {name for name in columns if name.startswith("gain ")} == {
        "gain activity=activity 1",
        "gain time=interval 1",
        "gain location=location 1",
    }


def order_of(first: Sequence[Secret]) -> Callable[[Any], tuple[bool, str]]:
    """Everybody's secrets before a person's own, which are in order of their names."""
    names = [secret.name for secret in first]
    return lambda secret: (secret.name not in names, secret.name)
