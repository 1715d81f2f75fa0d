from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from discreet.errors import DiscreetError, FileFormatError
from discreet.events import Event, Trajectory
from discreet.models.topics.simulate import topic_model, trajectories
from discreet.policy import Policy
from discreet.publish import ChainHabits, Plan, RunKey, TopicHabits, habits_file, publish_person
from discreet.publish.habits_file import PEOPLE, SHARED, copy_habits, joined, load_habits, load_some, save_habits
from discreet.publish.person import published
from discreet.publish.plan import HabitsName


@pytest.mark.parametrize("habits", ["events", "topics"])
def test_kept_habits_publish_as_learned_ones_do(tmp_path: Path, habits: str) -> None:
    people = trajectories(topic_model(people=5, topics=2, sizes=(3, 2, 2), seed=4), length=(6, 9), seed=4)
    policy = Policy("activity=activity 1", delta=0.1)
    plan = Plan.learn(people[:4], policy, habits=habits, topics=2, sweeps=400, piece_length=4)  # type: ignore[arg-type]
    save_habits(tmp_path / "habits", plan.habits)
    assert (tmp_path / "habits").stat().st_mode & 0o777 == 0o700
    kept = Plan(load_habits(tmp_path / "habits"), plan.policy, plan.mechanism, plan.piece_length)
    assert kept.habits.name == plan.habits.name
    assert isinstance(plan.habits, TopicHabits)
    assert isinstance(kept.habits, TopicHabits)
    assert kept.habits.fingerprint == plan.habits.fingerprint
    newcomer = Trajectory("somebody else", people[0].events)
    stranger = Trajectory("stranger", (Event("never seen", "interval 1", "location 1"), *people[0].events))
    assert publish_person(kept, stranger, RunKey.of_seed(1))[1].off_model == 1
    for one in [*people[:4], newcomer, stranger]:
        assert publish_person(kept, one, RunKey.of_seed(1)) == publish_person(plan, one, RunKey.of_seed(1))
    with pytest.raises(DiscreetError, match="is there already"):
        save_habits(tmp_path / "habits", plan.habits)


@pytest.mark.parametrize("habits", ["events", "topics"])
def test_some_rows_publish_their_people_as_all_rows_do(
    tmp_path: Path, habits: HabitsName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the bit, also of those who are not in the table, and of habits whose rows come later."""
    monkeypatch.setattr(habits_file, "ROWS", 2)  # several row groups
    people = trajectories(topic_model(people=6, topics=2, sizes=(3, 2, 2), seed=4), length=(6, 9), seed=4)
    plan = Plan.learn(people[:5], Policy("activity=activity 1"), habits=habits, topics=2, sweeps=400, piece_length=4)
    save_habits(tmp_path / "all", plan.habits)
    copy_habits(tmp_path / "all", tmp_path / "habits")
    assert (tmp_path / "habits").stat().st_mode & 0o777 == 0o700
    two, newcomer = people[1:3], people[5]
    some = load_some(tmp_path / "habits", [one.person for one in [*two, newcomer]])
    assert some.model.people == tuple(one.person for one in two)
    assert isinstance(plan.habits, TopicHabits)
    assert (some.name, some.fingerprint) == (plan.habits.name, plan.habits.fingerprint)
    rows = pl.read_parquet(tmp_path / "habits" / PEOPLE).filter(pl.col("person") == people[4].person)
    later = joined(load_some(tmp_path / "habits"), rows)
    for chosen, known in (([*two, newcomer], some), ([people[4], newcomer], later)):
        for one in chosen:
            wanted = published(plan, one, RunKey.of_seed(1))
            assert published(replace(plan, habits=known), one, RunKey.of_seed(1)) == wanted
    with pytest.raises(DiscreetError, match="copy the folder"):
        save_habits(tmp_path / "other", some)
    with pytest.raises(DiscreetError, match="read these by load_some"):
        joined(plan.habits, rows)
    with pytest.raises(DiscreetError, match="are not here"):
        some.model.person(people[0].person, 4)


def test_tables_of_two_habits_are_not_mixed(tmp_path: Path) -> None:
    for name, seed in (("one", 1), ("other", 2)):
        save_habits(tmp_path / name, TopicHabits(topic_model(people=3, topics=2, seed=seed)))
    (tmp_path / "one" / SHARED).replace(tmp_path / "other" / SHARED)
    for load in (load_habits, load_some):
        with pytest.raises(FileFormatError, match="not the one that was written with shared"):
            load(tmp_path / "other")


def test_what_are_no_habits_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DiscreetError, match="nothing to keep"):
        save_habits(tmp_path / "habits", ChainHabits())
    with pytest.raises(FileFormatError, match="holds no habits"):
        load_habits(tmp_path)
    given = TopicHabits(topic_model(people=3, topics=2, seed=1))  # never learned, so nothing was counted
    save_habits(tmp_path / "habits [1]", given)
    assert load_habits(tmp_path / "habits [1]").fingerprint == given.fingerprint
    save_habits(tmp_path / "habits", given)
    assert load_habits(tmp_path / "habits").fingerprint == given.fingerprint
    (tmp_path / "habits" / PEOPLE).write_bytes(b"PAR1")
    with pytest.raises(FileFormatError, match="or damaged ones"):
        load_habits(tmp_path / "habits")
