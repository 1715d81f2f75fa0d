from __future__ import annotations

import pickle
import random
from pathlib import Path

import polars as pl
import pytest

from discreet.errors import DiscreetError
from discreet.events import Trajectory
from discreet.models.topics.simulate import topic_model, trajectories
from discreet.policy import Policy
from discreet.publish import Plan, RunKey, TopicHabits, policy_for, publish_person
from discreet.publish.key_file import erase_key, read_key, write_key
from discreet.publish.report_schema import reports_in
from discreet.publish.work import PEOPLE, Done, PublishWork, trajectories_of
from tests.publish.plans import SPECS, plan_of

KEY = RunKey(bytes(range(32)))


def table(people: list[Trajectory]) -> pl.DataFrame:
    rows = [
        (one.person, event.activity, event.time, event.location)
        for one in sorted(people, key=lambda one: one.person)
        for event in one.events
    ]
    return pl.DataFrame(rows, schema=PEOPLE, orient="row")


def joined(parts: list[Done]) -> Done:
    rows = pl.concat([part.rows for part in parts]).sort("person", maintain_order=True)
    return Done(rows, pl.concat([part.reports for part in parts]).sort("person"))


def same(one: Done, other: Done) -> bool:
    return one.rows.equals(other.rows) and one.reports.equals(other.reports)


def test_a_table_is_its_people() -> None:
    _, people = plan_of()
    assert list(trajectories_of(table(people))) == sorted(people, key=lambda one: one.person)
    assert list(trajectories_of(table([]))) == []
    torn = pl.concat([table(people), table(people[:1])])
    with pytest.raises(DiscreetError, match="do not stand together"):
        list(trajectories_of(torn))


@pytest.mark.parametrize("name", SPECS)
def test_work_is_what_each_person_is_published_as(name: str) -> None:
    plan, people = plan_of(4, 0.1, name)
    done = PublishWork(plan, KEY)(table(people))
    alone = [publish_person(plan, one, KEY) for one in sorted(people, key=lambda one: one.person)]
    shown = [(own.person, row.activity, row.time, row.location) for rows, own in alone for row in rows]
    assert done.rows.rows() == shown
    assert list(reports_in(done.reports)) == [own for _, own in alone]


def test_halves_joined_are_the_whole_whatever_the_order_and_the_cuts() -> None:
    truth = topic_model(people=8, topics=2, sizes=(2, 2, 2), seed=3)
    people = trajectories(truth, length=(1, 9), seed=3)
    plan = Plan(TopicHabits(truth), policy_for(Policy("activity=activity 1", delta=0.1), truth.events), piece_length=4)
    whole = PublishWork(plan, KEY)(table(people))
    for seed in range(4):
        mixed = random.Random(seed).sample(people, len(people))
        cut = random.Random(seed).randrange(len(people) + 1)
        work = PublishWork(plan, KEY)  # one for both, as a process has it, or one for each
        other = work if seed % 2 else pickle.loads(pickle.dumps(work))
        assert same(joined([work(table(mixed[:cut])), other(table(mixed[cut:]))]), whole)


def test_a_key_in_a_file_is_not_in_what_is_sent(tmp_path: Path) -> None:
    plan, people = plan_of(4, 0.1)
    path = tmp_path / "key"
    write_key(path, KEY)
    assert path.stat().st_mode & 0o777 == 0o600
    work = PublishWork(plan, path)
    done = work(table(people))
    assert same(done, PublishWork(plan, KEY)(table(people)))
    sent = pickle.dumps(work)  # after it has begun
    assert KEY.key not in sent
    assert KEY.key.hex().encode() not in sent
    assert same(pickle.loads(sent)(table(people)), done)
    erase_key(path)
    assert not path.exists()
    with pytest.raises(DiscreetError, match="cannot be read"):
        pickle.loads(sent)(table(people))


def test_a_key_that_others_could_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key"
    write_key(path, RunKey.of_seed(3))
    assert read_key(path) == RunKey.of_seed(3)
    with pytest.raises(DiscreetError, match="cannot be written: File exists"):
        write_key(path, KEY)
    path.chmod(0o640)
    with pytest.raises(DiscreetError, match="others may have read"):
        read_key(path)
    path.chmod(0o600)
    path.write_text("{}")
    with pytest.raises(DiscreetError, match="holds no run's key"):
        read_key(path)
