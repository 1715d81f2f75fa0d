"""Plans and people that the tests of publishing share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.contracts import DayModel
from discreet.events import Events, Trajectory
from discreet.mechanisms.named import Spec
from discreet.models.topics.simulate import topic_model, trajectories
from discreet.policy import Policy
from discreet.publish import Plan, TopicHabits, policy_for

SPECS = {
    name: Spec(name, {"budget": 200} if name == "pa-hmm" else {})
    for name in ("no-mask", "sensitive-mask", "no-internal", "pa-markov", "pa-hmm", "adaptive")
}


@dataclass(frozen=True)
class Known:
    """Habits that are given."""

    model: DayModel
    events: Events
    name: str = "given"

    def of(self, pieces: Sequence[Trajectory], slots: int) -> tuple[DayModel, Events]:
        return self.model, self.events


def plan_of(
    piece_length: int | None = None, delta: float = 0.2, name: str = "adaptive"
) -> tuple[Plan, list[Trajectory]]:
    truth = topic_model(people=3, topics=2, sizes=(2, 2, 2), seed=1)
    people = trajectories(truth, length=(5, 9), seed=1)
    policy = policy_for(Policy("activity=activity 1", delta=delta), truth.events)
    return Plan(TopicHabits(truth), policy, SPECS[name], piece_length), people
