from __future__ import annotations

from pathlib import Path

import pytest

from discreet.errors import DiscreetError, FileFormatError
from discreet.events import Event, Trajectory
from discreet.models.simulate_events import topic_model, trajectories
from discreet.policy import Policy
from discreet.publish import ChainHabits, Plan, RunKey, TopicHabits, publish_person
from discreet.publish.habits_file import PEOPLE, load_habits, save_habits


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


def test_what_are_no_habits_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DiscreetError, match="nothing to keep"):
        save_habits(tmp_path / "habits", ChainHabits())
    with pytest.raises(FileFormatError, match="holds no habits"):
        load_habits(tmp_path)
    given = TopicHabits(topic_model(people=3, topics=2, seed=1))  # never learned, so nothing was counted
    save_habits(tmp_path / "habits [1]", given)
    assert (load_habits(tmp_path / "habits [1]").model.transitions == given.model.transitions).all()
    save_habits(tmp_path / "habits", given)
    found = load_habits(tmp_path / "habits")
    assert (found.model.transitions == given.model.transitions).all()
    (tmp_path / "habits" / PEOPLE).write_bytes(b"PAR1")
    with pytest.raises(FileFormatError, match="or damaged ones"):
        load_habits(tmp_path / "habits")
