"""Topics over whole events: within a topic, what somebody does, when and where may depend on each other.

`TopicModel` takes the attributes of a topic for independent, so that it cannot know that the casino means gambling: the
product of two rare values is far rarer than the events that have both. Here each topic has a probability for every
event, and so has each person within a topic. There are few events for that many numbers, so each level is drawn to the
one above it, with a strength that counts in events (a hierarchical Dirichlet prior, its means):

    base         B_k      the product of topic k's attributes, over the events that occur, with its values' frequencies
    a topic's    E_k    = (n_k  + emission   B_k) / (sum of n_k  + emission)
    a person's   E_uk   = (n_uk + person     E_k) / (sum of n_uk + person)
    everybody's  P_k    = (m_k  + concentration share) / ..., a person's  P_uk = (m_uk + transition P_k) / ...

n are counts of events under the sampler's topics, m of transitions that leave a topic. So the prior of every event is
its frequency but for what the strengths take, and they are chosen by how well held-out events are predicted
(`chosen_strengths`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import DiscreetError, ModelError
from discreet.events import Events, Trajectory
from discreet.models.hidden.markov import HiddenMarkovModel
from discreet.models.topics.model import Concentrations, Diagnostics, TopicModel, Totals
from discreet.numerics import BoolArray, FloatArray, IntArray, normalised

if TYPE_CHECKING:
    from discreet.models.topics.predictions import Predictor

STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 1e4, 1e5)
"""Tried for each level: from counts that speak for themselves to counts that hardly do."""


@dataclass(frozen=True)
class Strengths:
    """How strongly each level is drawn to the one above it: the events that it weighs as much as."""

    emission: float = 30.0
    transition: float = 30.0
    person: float = 300.0

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 < value < np.inf:
                raise DiscreetError(f"the strength of {name} is {value!r}; give a number above 0")


@dataclass(frozen=True, eq=False)
class EventModel:
    """Topics over whole events, made of what a learned `TopicModel` counted."""

    learned: TopicModel
    strengths: Strengths = Strengths()

    def __post_init__(self) -> None:
        if self.learned.totals is None:
            raise ModelError("the topic model was not learned, so nothing was counted; make it by TopicModel.fit")

    @property
    def events(self) -> Events:
        """What the contexts are."""
        return self.learned.events

    @property
    def people(self) -> tuple[str, ...]:
        """Whose habits were learned."""
        return self.learned.people

    @property
    def topics(self) -> int:
        """K."""
        return self.learned.topics

    @property
    def diagnostics(self) -> Diagnostics | None:
        """How the sampler went."""
        return self.learned.diagnostics

    @property
    def _totals(self) -> Totals:
        assert self.learned.totals is not None
        return self.learned.totals

    @cached_property
    def _share(self) -> FloatArray:
        """(K,): how frequent each topic is."""
        return normalised(self._totals.topics.sum(axis=0))

    @cached_property
    def initial(self) -> FloatArray:
        """(K,): topics of first events, drawn to how frequent topics are."""
        return drawn_to(self._share, self._totals.starts, Concentrations().start * self.topics)

    @cached_property
    def transitions(self) -> FloatArray:
        """(U, K, K): each person's transitions, drawn to everybody's."""
        return drawn_to(self.shared_transition, self._totals.steps, self.strengths.transition)

    @cached_property
    def shared_transition(self) -> FloatArray:
        """(K, K): everybody's, of somebody of whom nothing is known."""
        steps = self._totals.steps.sum(axis=0)
        return drawn_to(self._share, steps, Concentrations().transition * self.topics)

    @cached_property
    def emissions(self) -> FloatArray:
        """(K, n): P(event | topic), of somebody of whom nothing is known."""
        counts = np.zeros((self.topics, len(self.events.contexts)))
        np.add.at(counts.T, self._totals.event, self._totals.topics)
        return drawn_to(self.learned.raked, counts, self.strengths.emission)

    @cached_property
    def _own(self) -> FloatArray:
        """(U, K): events of each person under each topic."""
        own = np.zeros((len(self.people), self.topics))
        np.add.at(own, self._totals.person, self._totals.topics)
        return own

    def emissions_of(self, person: str) -> FloatArray:
        """(K, n): P(event | topic) of one person."""
        totals, u = self._totals, self.learned.number_of(person)
        pairs = slice(*np.searchsorted(totals.person, [u, u + 1]))
        counts = np.zeros_like(self.emissions)
        counts[:, totals.event[pairs]] = totals.topics[pairs].T
        return drawn_to(self.emissions, counts, self.strengths.person)

    def person(self, person: str, slots: int) -> HiddenMarkovModel:
        """One person's model of trajectories of `slots` events: the same transition after each."""
        emissions, transition = self.emissions_of(person), self.transitions[self.learned.number_of(person)]
        return HiddenMarkovModel.homogeneous(self.events.contexts, self.initial, transition, emissions, slots)

    def predictor(self, held: HeldOutEvents) -> Predictor:
        """The events of trajectories as `predictions` takes them."""
        from discreet.models.topics.predictions import Predictor  # compiles

        totals, strength, n = self._totals, self.strengths.person, len(self.events.contexts)
        weight = self._own + strength  # (U, K)
        keys, wanted = totals.person * n + totals.event, held.person * n + held.codes
        pair = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        counts = np.where((keys[pair] == wanted)[:, None], totals.topics[pair], 0.0)
        sides = np.zeros((*weight.shape, held.sides.shape[1]))
        np.add.at(sides, totals.person, totals.topics[:, :, None] * held.sides[totals.event][:, None])
        sides += strength * (self.emissions @ held.sides)
        return Predictor(
            held.person,
            held.first,
            (counts + strength * self.emissions[:, held.codes].T) / weight[held.person],
            sides / weight[:, :, None],
            self.initial,
            self.transitions,
        )


def drawn_to(base: FloatArray, counts: FloatArray, strength: float) -> FloatArray:
    """The mean of a Dirichlet distribution around `base` that weighs `strength` events, given counts (..., n)."""
    return np.asarray((counts + strength * base) / (counts.sum(axis=-1, keepdims=True) + strength))


@dataclass(frozen=True, eq=False)
class HeldOutEvents:
    """Trajectories of known people, the last events of which are held out."""

    person: IntArray  # (N,)
    codes: IntArray  # (N,) which of the events
    first: IntArray  # (N,) 1 where a trajectory starts
    trajectory: IntArray  # (N,) which one
    tested: BoolArray  # (N,) what is held out
    members: FloatArray  # (n, S) 1 where an event is in a secret

    @classmethod
    def of(
        cls,
        trajectories: Sequence[Trajectory],
        shown: Callable[[Trajectory], int],
        people: Sequence[str],
        events: Events,
        secrets: Iterable[Collection[str]] = (),
    ) -> HeldOutEvents:
        """`shown` says how many events of a trajectory are not held out."""
        number = {person: u for u, person in enumerate(people)}
        lengths = np.array([len(whole) for whole in trajectories])
        position = np.concatenate([np.arange(length) for length in lengths])
        members = np.array([[label in secret for secret in secrets] for label in events.contexts], dtype=np.float64)
        return cls(
            person=np.repeat([number[whole.person] for whole in trajectories], lengths),
            codes=np.concatenate([events.codes(whole) for whole in trajectories]),
            first=(position == 0).astype(np.int64),
            trajectory=np.repeat(np.arange(len(lengths)), lengths),
            tested=position >= np.repeat([shown(whole) for whole in trajectories], lengths),
            members=members.reshape(len(events.contexts), -1),
        )

    @property
    def sides(self) -> FloatArray:
        """(n, 2 S): the secrets, and what is not in them; summed, for 1 minus a number near 1 is mostly rounding."""
        return np.concatenate([self.members, 1 - self.members], axis=1)

    def scores(self, predictor: Predictor) -> tuple[FloatArray, FloatArray]:
        """(D,), (D,): log scores of events and of secrets' sides, for each trajectory of which some are held out."""
        from discreet.models.topics.predictions import predictions

        seen, sides = predictions(predictor)
        inside, outside = np.split(sides[self.tested], 2, axis=1)
        true = self.members[self.codes[self.tested]] > 0
        _, which = np.unique(self.trajectory[self.tested], return_inverse=True)
        events, secrets = np.log(seen[self.tested]), np.log(np.where(true, inside, outside)).sum(axis=1)
        return np.asarray(np.bincount(which, events)), np.asarray(np.bincount(which, secrets))


def chosen_strengths(learned: TopicModel, held: HeldOutEvents) -> Strengths:
    """The strengths of STRENGTHS that predict held-out events best, found one after the other, twice over.

    `learned` must not have seen what is held out.
    """
    best = Strengths()
    for _ in range(2):
        for level in best.__dataclass_fields__:
            tried = [replace(best, **{level: strength}) for strength in STRENGTHS]
            best = max(tried, key=lambda one: held.scores(EventModel(learned, one).predictor(held))[0].sum())
    return best
