"""The model of a person whom topics were not learned from: the topics stay, their own habits are counted under them.

Topics are learned from a sample of people where there are very many. Everybody else has a model of the same form: their
events are spread over the topics by expectation (Baum and Welch's step) instead of by the sampler's draws, and what is
counted is drawn to everybody's with the strengths that the sample has chosen. A few rounds, because one's own counts
say where one's next events belong. It is a function of the person's own events and of the learned model alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.errors import DiscreetError
from discreet.events import Trajectory
from discreet.jit import FLOATS, FLOATS_2D, INTS, compiled
from discreet.models.hidden.markov import HiddenMarkovModel
from discreet.models.topics.event_model import drawn_to
from discreet.models.topics.model import Concentrations
from discreet.models.topics.shared import Topics
from discreet.numerics import FloatArray, IntArray, normalised

ROUNDS = 5
"""Of expectation: after these, held-out events are predicted no better (`benchmarks scale`)."""

FEW = 300
"""Events up to which plain Python is done before a compiler would be."""


def newcomer(model: Topics, pieces: Sequence[Trajectory], slots: int) -> HiddenMarkovModel:
    """The model of a piece of `slots` events of the person whose pieces these are."""
    codes, first = _codes(model, pieces)
    shared, strengths = model.shared_transition, model.strengths
    transition, emissions = shared, model.emissions
    for _ in range(ROUNDS):
        likelihood = np.ascontiguousarray(emissions[:, codes].T)
        steps, topics = expected(first, likelihood, model.initial, np.ascontiguousarray(transition))
        if strengths is None:  # emissions are everybody's, rows have a flat prior of their own
            transition = normalised(steps + Concentrations().transition)
            continue
        transition = drawn_to(shared, steps, strengths.transition)
        counts = np.zeros_like(model.emissions)
        np.add.at(counts.T, codes, topics)
        emissions = drawn_to(model.emissions, counts, strengths.person)
    return HiddenMarkovModel.homogeneous(model.events.contexts, model.initial, transition, emissions, slots)


def _codes(model: Topics, pieces: Sequence[Trajectory]) -> tuple[IntArray, IntArray]:
    """(N,) which events, and (N,) 1 where a piece starts; events that the topics have no place for are left out."""
    found = [codes[codes >= 0] for codes in (model.events.codes(piece, missing=-1) for piece in pieces)]
    first = [np.arange(len(own)) == 0 for own in found]
    if not found:
        raise DiscreetError("a person without events has no habits; leave such people out")
    return np.concatenate(found), np.concatenate(first).astype(np.int64)


@compiled(INTS, FLOATS_2D, FLOATS, FLOATS_2D, batch=lambda first, *_: len(first) > FEW)
def expected(
    first: IntArray, likelihood: FloatArray, initial: FloatArray, transition: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(K, K) transitions and (N, K) topics of N events, expected given all of them: forwards, then backwards.

    `likelihood` is (N, K). Where no topic has an event, it counts under none.
    """
    N, K = likelihood.shape
    ahead, steps, topics = np.zeros((N, K)), np.zeros((K, K)), np.zeros((N, K))
    for i in range(N):
        for k in range(K):
            if first[i]:
                ahead[i, k] = initial[k]
            else:
                for j in range(K):
                    ahead[i, k] += ahead[i - 1, j] * transition[j, k]
        total = 0.0
        for k in range(K):
            ahead[i, k] *= likelihood[i, k]
            total += ahead[i, k]
        if total > 0.0:
            for k in range(K):
                ahead[i, k] /= total
    back, before = np.ones(K), np.zeros(K)
    for i in range(N - 1, -1, -1):
        if i + 1 == N or first[i + 1]:
            for k in range(K):
                back[k] = 1.0
        total = 0.0
        for k in range(K):
            topics[i, k] = ahead[i, k] * back[k]
            total += topics[i, k]
        if total > 0.0:
            for k in range(K):
                topics[i, k] /= total
        if first[i]:
            continue
        weight = 0.0
        for j in range(K):
            before[j] = 0.0
            for k in range(K):
                before[j] += transition[j, k] * likelihood[i, k] * back[k]
            weight += ahead[i - 1, j] * before[j]
        if weight > 0.0:
            for j in range(K):
                for k in range(K):
                    steps[j, k] += ahead[i - 1, j] * transition[j, k] * likelihood[i, k] * back[k] / weight
                before[j] /= weight
        for k in range(K):
            back[k] = before[k]
    return steps, topics
