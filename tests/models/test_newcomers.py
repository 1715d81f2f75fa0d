from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

from discreet.events import Events, Trajectory
from discreet.models.topics.event_model import EventModel
from discreet.models.topics.model import TopicModel
from discreet.models.topics.newcomers import expected, newcomer
from discreet.models.topics.simulate import topic_model, trajectories
from discreet.numerics import FloatArray, IntArray
from discreet.publish import RunKey
from discreet.publish.draws import sampled


def by_paths(
    first: IntArray, likelihood: FloatArray, initial: FloatArray, transition: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The same by every path of topics, piece by piece."""
    K = len(initial)
    steps, topics = np.zeros((K, K)), np.zeros_like(likelihood)
    starts = [*np.flatnonzero(first), len(first)]
    for low, high in pairwise(starts):
        paths = {}
        for path in product(range(K), repeat=high - low):
            weight = initial[path[0]]
            for place, topic in enumerate(path):
                weight *= likelihood[low + place, topic] * (transition[path[place - 1], topic] if place else 1.0)
            paths[path] = weight
        total = sum(paths.values())
        for path, weight in paths.items():
            for place, topic in enumerate(path):
                topics[low + place, topic] += weight / total
                if place:
                    steps[path[place - 1], topic] += weight / total
    return steps, topics


@pytest.mark.parametrize("seed", range(5))
def test_expected_topics_are_those_of_all_paths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = np.array([1, 0, 0, 0, 1, 1, 0])
    likelihood = rng.random((7, 3)) * (rng.random((7, 3)) > 0.2)
    likelihood[:, 0] += 0.1
    initial, transition = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3)
    found, wanted = (way(first, likelihood, initial, transition) for way in (expected, by_paths))
    for one, other in zip(found, wanted, strict=True):
        assert np.allclose(one, other, atol=1e-12, rtol=0)


@pytest.fixture(scope="module")
def people() -> list[Trajectory]:
    return trajectories(topic_model(people=60, topics=2, sizes=(3, 2, 3), seed=3), length=(40, 50), seed=3)


@pytest.fixture(scope="module")
def learned(people: list[Trajectory]) -> TopicModel:
    """From half of the people."""
    events = Events.from_trajectories(people, occurring_only=True)
    return TopicModel.fit(people[:30], 2, events=events, sweeps=400, seed=1)


@pytest.mark.parametrize("kind", ["independent attributes", "whole events"])
def test_somebody_who_was_not_learned_has_nearly_the_model_they_would_have(
    people: list[Trajectory], learned: TopicModel, kind: str
) -> None:
    model = EventModel(learned) if kind == "whole events" else learned
    for one in people[:5]:
        known, new = model.person(one.person, 4), newcomer(model, [one], 4)
        assert new.contexts == known.contexts
        assert np.abs(new.prior - known.prior).max() < 0.05
    stranger = newcomer(model, [people[40]], 4)
    assert np.allclose(stranger.prior.sum(axis=1), 1)
    halves = [replace(people[40], events=people[40].events[:20]), replace(people[40], events=people[40].events[20:])]
    again = newcomer(model, [replace(half, timestamps=None) for half in halves], 4)
    assert np.abs(again.prior - stranger.prior).max() < 0.05


def test_a_sample_is_by_lot_and_does_not_depend_on_the_order() -> None:
    everybody = [f"p{k}" for k in range(1000)]
    key = RunKey.of_seed(1)
    chosen = sampled(everybody, 100, key)
    assert chosen == sorted(chosen)
    assert len(set(chosen)) == 100
    assert sampled(everybody[::-1], 100, key) == chosen
    assert set(sampled(everybody, 50, key)) < set(chosen)
    assert len(set(sampled(everybody, 100, RunKey.of_seed(2))) & set(chosen)) < 40  # 10 on average, by lot
    assert sampled(everybody[:7], 100, key) == sorted(everybody[:7])
