"""People whose events come from hidden topics, for tests, benchmarks and experiments: made up, the same for a seed."""

from __future__ import annotations

import numpy as np

from discreet.errors import DiscreetError
from discreet.events import Event, Events, Trajectory
from discreet.models.topics.model import TopicModel


def topic_model(
    people: int = 10,
    topics: int = 4,
    sizes: tuple[int, int, int] = (4, 3, 8),
    concentration: float = 0.3,
    seed: int = 0,
) -> TopicModel:
    """A random model: every row is drawn from a symmetric Dirichlet distribution with that parameter for each cell.

    `sizes` are the numbers of activities, time intervals and locations. The defaults are the simulated data of Li and
    Sun (2020), Table 3; how many topics those had is not told.
    """
    for what, value in (("people", people), ("topics", topics), ("values of an attribute", min(sizes))):
        if value < 1:
            raise DiscreetError(f"{value} {what} cannot be simulated; give at least 1")
    rng = np.random.default_rng(seed)
    activities, times, locations = (
        tuple(f"{what} {number}" for number in range(1, size + 1))
        for what, size in zip(("activity", "interval", "location"), sizes, strict=True)
    )
    width = len(str(people))
    activity, time, location = (rng.dirichlet(np.full(size, concentration), topics) for size in sizes)
    return TopicModel(
        Events(activities, times, locations),
        tuple(f"p{number:0{width}d}" for number in range(1, people + 1)),
        initial=rng.dirichlet(np.full(topics, concentration)),
        transitions=rng.dirichlet(np.full(topics, concentration), (people, topics)),
        activity=activity,
        time=time,
        location=location,
    )


def trajectories(model: TopicModel, length: int | tuple[int, int] = 50, seed: int = 0) -> list[Trajectory]:
    """One trajectory a person, each of that length, or of a random one from the lowest to the highest."""
    low, high = (length, length) if isinstance(length, int) else length
    if not 1 <= low <= high:
        raise DiscreetError(f"trajectories cannot be {length} long; give a number from 1, or two in order")
    rng = np.random.default_rng(seed)
    drawn = []
    for person in model.people:
        slots = int(rng.integers(low, high + 1))
        day = model.person(person, slots).sample(1, seed=int(rng.integers(2**32)))[0]
        drawn.append(Trajectory(person, tuple(map(Event.of, day.contexts))))
    return drawn
