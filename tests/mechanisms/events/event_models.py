"""Small event models for tests: hidden topics, chains over triples, and three chains that are independent."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.contracts import DayModel
from discreet.events import ATTRIBUTES, Events
from discreet.models import HiddenMarkovModel, MarkovChain
from discreet.policy import Policy
from tests.strategies import random_chain, random_hidden, random_rows

SMALL = Events(("work", "play"), ("day",), ("here", "there"))


def as_events(model: DayModel, events: Events = SMALL) -> Any:
    """The same model, its contexts being events."""
    if model.emissions is None:
        return MarkovChain(events.contexts, model.initial, model.transitions)
    return HiddenMarkovModel(events.contexts, model.initial, model.transitions, model.emissions)


def event_models(seed: int, slots: int = 3, events: Events = SMALL, zeros: float = 0.2) -> list[Any]:
    """A chain over the triples and a hidden model."""
    n = len(events.contexts)
    chain = random_chain(seed, n=n, slots=slots, zeros=zeros)
    return [as_events(chain, events), as_events(random_hidden(seed, states=2, n=n, slots=slots, zeros=zeros), events)]


def event_policy(seed: int, events: Events = SMALL) -> Policy:
    """One or two secrets on values of attributes that have more than one."""
    rng = np.random.default_rng(seed)
    able = [attribute for attribute in ATTRIBUTES if len(events.values(attribute)) > 1]
    pairs = [(attribute, value) for attribute in able for value in events.values(attribute)]
    chosen = rng.choice(len(pairs), size=int(rng.integers(1, 3)), replace=False)
    return Policy([events.secret(*pairs[k]) for k in chosen], delta=float(rng.choice([0.05, 0.1, 0.2, 0.3])))


def topics(seed: int, events: Events, states: int, slots: int, spread: float = 0.5) -> HiddenMarkovModel:
    """Topics as the paper has them: given the topic, activity, time and location are drawn apart."""
    rng = np.random.default_rng(seed)
    parts = [rng.dirichlet(np.full(size, spread), states) for size in events.sizes]
    emissions = np.einsum("ka,kt,kl->katl", *parts).reshape(states, -1)
    initial, step = rng.dirichlet(np.ones(states)), rng.dirichlet(np.full(states, 0.5), states)
    return HiddenMarkovModel.homogeneous(events.contexts, initial, step, emissions, slots)


def independent(seed: int, events: Events, slots: int, zeros: float = 0.2) -> MarkovChain:
    """A chain over all triples whose attributes are three independent chains."""
    rng = np.random.default_rng(seed)
    initial: Any = np.ones(1)
    transitions: Any = np.ones((slots - 1, 1, 1))
    for size in events.sizes:
        initial = np.kron(initial, random_rows(rng, (size,), zeros))
        steps = random_rows(rng, (slots - 1, size, size), zeros)
        transitions = np.stack([np.kron(a, b) for a, b in zip(transitions, steps, strict=True)])
    return MarkovChain(events.contexts, initial, transitions)


def paths_of(model: DayModel) -> dict[tuple[int, ...], Fraction]:
    """Every path of contexts and its exact probability, up to one factor (the floats' sum)."""
    hidden, n = len(model.initial), len(model.contexts)
    emissions = [np.eye(n)] * model.slots if model.emissions is None else model.emissions
    found: dict[tuple[int, ...], Fraction] = {}
    for states in itertools.product(range(hidden), repeat=model.slots):
        chance = Fraction(float(model.initial[states[0]]))
        for t in range(1, model.slots):
            chance *= Fraction(float(model.transitions[t - 1][states[t - 1], states[t]]))
        if not chance:
            continue
        able = [[c for c in range(n) if emissions[t][y, c] > 0] for t, y in enumerate(states)]
        for path in itertools.product(*able):
            weight = chance
            for t, c in enumerate(path):
                weight *= Fraction(float(emissions[t][states[t], c]))
            found[path] = found.get(path, Fraction(0)) + weight
    return found
