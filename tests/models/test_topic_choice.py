"""How many topics: secrets before events, the smallest of equals, and never one of them."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.events import Event, Events, Trajectory
from discreet.models.topics import choice as topic_choice
from discreet.models.topics.choice import choose_topics
from discreet.numerics import FloatArray


def people_without_order(count: int = 10) -> list[Trajectory]:
    rng = np.random.default_rng(2)
    events = [Event("w", "d", "o"), Event("r", "n", "h"), Event("m", "d", "c"), Event("g", "n", "k")]
    return [
        Trajectory(f"p{u}", tuple(events[k] for k in rng.choice(4, 40, p=[0.4, 0.3, 0.2, 0.1]))) for u in range(count)
    ]


def test_one_topic_is_not_taken_by_a_tie() -> None:
    """There is nothing to find, so that both numbers predict about as well."""
    people = people_without_order()
    events = Events.from_trajectories(people, occurring_only=True)
    choice = choose_topics(people, (1, 2), events=events, secrets=[{"g|n|k"}], whole_events=True, sweeps=400)
    assert choice.scores[1] == pytest.approx(choice.scores[2], abs=0.05)
    assert choice.topics == 2
    assert set(choice.smoothing) == {1, 2}
    assert all(-1 < score < 0 for score in choice.secret_scores.values())


def test_one_number_is_taken_as_it_is() -> None:
    people = people_without_order()
    choice = choose_topics(people, (1,), whole_events=True, sweeps=400)
    assert choice.topics == 1
    alone = choose_topics(people[:1], (2,), whole_events=True, sweeps=400)  # nothing to compare, so one will do
    assert alone.topics == 2


def score(*values: float) -> FloatArray:
    return np.array(values)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        # Behind in events by far, ahead in secrets by more than a standard error: secrets come first.
        ({2: (score(-1, -1), score(-5, -5)), 3: (score(-9, -9), score(-1, -1.1))}, 3),
        # Equal in secrets: events decide.
        ({2: (score(-9, -9), score(-1, -1)), 3: (score(-1, -1.1), score(-1, -1))}, 3),
        # Behind by less than a standard error in both: the smallest.
        ({2: (score(-1, -3), score(-1, -1)), 3: (score(-2, -1), score(-1, -1)), 4: (score(-2, -1), score(-1, -1))}, 2),
        # One topic only where no other is as good.
        ({1: (score(-1, -1), score(-1, -1)), 2: (score(-1, -1), score(-1, -1))}, 2),
        ({1: (score(-1, -1), score(-1, -1)), 2: (score(-2, -2), score(-1, -1))}, 1),
    ],
)
def test_secrets_first_then_events_then_the_smallest(
    scores: dict[int, tuple[FloatArray, FloatArray]], expected: int
) -> None:
    assert topic_choice._chosen(scores) == expected
