"""How fast people are published, against sessions a slot at a time; a part of `scale`.

Both run here and now, so that their ratio means something on a busy machine; rows and reports are compared.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from unittest import mock

from benchmarks.trajectories import PAPER, secret, topics
from discreet.contracts import DayModel
from discreet.events import Event, Events, Trajectory
from discreet.mechanisms.named import Spec
from discreet.models.topics.model import TopicModel
from discreet.models.topics.simulate import topic_model, trajectories
from discreet.publish import Plan, RunKey
from discreet.publish.mechanism_cache import MechanismCache
from discreet.publish.person import PublishedPerson, published
from discreet.publish.walk import Walk

KEY = RunKey.of_seed(1)


@dataclass(frozen=True)
class Archetypes:
    """A few people's habits, of which everybody has one."""

    models: tuple[DayModel, ...]
    name: str = "archetypes"

    def of(self, pieces: Sequence[Trajectory], slots: int) -> tuple[DayModel, Events]:
        """The model of the person's kind."""
        return self.models[int(pieces[0].person) % len(self.models)], PAPER


def population(people: int, archetypes: int, slots: int) -> tuple[Archetypes, list[Trajectory]]:
    """People of the benchmark's model (`trajectories.topics`), each with one of so many habits."""
    models = [topics(seed, slots=slots) for seed in range(archetypes)]
    everybody = []
    for number in range(people):
        codes = models[number % archetypes].sample_codes(1, seed=number)[0].tolist()
        everybody.append(Trajectory(str(number), tuple(Event.of(PAPER.contexts[code]) for code in codes)))
    return Archetypes(tuple(models)), everybody


def timed(plan: Plan, people: Sequence[Trajectory], *, plain: bool) -> tuple[float, list[PublishedPerson]]:
    """Seconds of the processor, and what was published: with tables shared, or by sessions if `plain`."""
    by_sessions = mock.patch.object(Walk, "of", classmethod(lambda cls, *given: None))
    with by_sessions if plain else nullcontext():
        published(plan, people[0], KEY)  # compiles
        tables, began = MechanismCache(), time.process_time()
        done = [published(plan, one, KEY, tables) for one in people]
        return time.process_time() - began, done


def compared(name: str, delta: float, people: int, archetypes: int, slots: int) -> str:
    """One line: events a second of both."""
    habits, everybody = population(people, archetypes, slots)
    plan = Plan(habits, secret(delta), Spec(name), None)
    fast, done = timed(plan, everybody, plain=False)
    slow, twin = timed(plan, everybody, plain=True)
    events, who = people * slots, "habits of their own" if archetypes == people else f"kinds of habits: {archetypes}"
    return (
        f"{name}, delta {delta:g}, {people} people of {slots} events, {who}: {events / fast:.0f} events a second, "
        f"by sessions {events / slow:.0f}: {slow / fast:.1f}x; same rows and reports: {done == twin}"
    )


def learning(people: int = 200, sweeps: int = 400) -> str:
    """What learning topics costs, by the sampler's own unit, and what that makes of 200,000 people."""
    truth = topic_model(people=people, topics=8, sizes=PAPER.sizes, seed=1)
    pieces = trajectories(truth, length=20, seed=1)
    TopicModel.fit(pieces[:5], 8, sweeps=sweeps)  # compiles
    began = time.process_time()
    learned = TopicModel.fit(pieces, 8, sweeps=sweeps)
    spent = time.process_time() - began
    took = sweeps if learned.diagnostics is None else learned.diagnostics.sweeps
    each = spent / took / (people * 20)
    return (
        f"learning 8 topics of {people} people of 20 events: {took} sweeps in {spent:.1f} s, {each * 1e6:.2f} us an "
        f"event and sweep; 200,000 people take {each * 200_000 * 20:.1f} s a sweep, {each * 4e6 * 2000 / 3600:.1f} "
        "hours for 2,000, on one core"
    )


def lines() -> Iterator[str]:
    """The rates, line by line."""
    yield compared("pa-markov", 0.3, 2_000, 4, 20)
    yield compared("pa-markov", 0.3, 400, 4, 50)
    yield compared("pa-markov", 0.3, 100, 100, 50)
    yield compared("adaptive", 0.1, 40, 1, 3)
    yield compared("adaptive", 0.1, 4, 1, 50)
    yield compared("adaptive", 0.3, 4, 1, 50)
    yield compared("adaptive", 0.1, 3, 3, 50)
    yield learning()
