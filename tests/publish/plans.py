"""Plans and people that the tests of publishing share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.contracts import Model
from discreet.events import Events, Trajectory
from discreet.mechanisms import Adaptive, NoInternal, NoMask, PaHmm, PaMarkov, SensitiveMask
from discreet.models.simulate_events import topic_model, trajectories
from discreet.policy import Policy
from discreet.publish import Plan, TopicHabits, policy_for

MAKES: dict[str, Any] = {
    "NoMask": lambda model, policy, events: NoMask(model, policy),
    "SensitiveMask": lambda model, policy, events: SensitiveMask(model, policy, events=events),
    "NoInternal": lambda model, policy, events: NoInternal(model, policy, events=events),
    "PaMarkov": lambda model, policy, events: PaMarkov(model, policy, events=events),
    "PaHmm": lambda model, policy, events: PaHmm(model, policy, budget=200),
    "Adaptive": lambda model, policy, events: Adaptive(model, policy, outputs="attributes", events=events),
}


@dataclass(frozen=True)
class Known:
    """Habits that are given."""

    model: Model
    events: Events
    name: str = "given"

    def of(self, pieces: Sequence[Trajectory], slots: int) -> tuple[Model, Events]:
        return self.model, self.events


def plan_of(
    piece_length: int | None = None, delta: float = 0.2, make: Any = MAKES["Adaptive"]
) -> tuple[Plan, list[Trajectory]]:
    truth = topic_model(people=3, topics=2, sizes=(2, 2, 2), seed=1)
    people = trajectories(truth, length=(5, 9), seed=1)
    policy = policy_for(Policy("activity=activity 1", delta=delta), truth.events)
    return Plan(TopicHabits(truth), policy, make, piece_length), people
