"""Topics that all people share, with the habits of some of them: what a worker needs that has only these people.

A `TopicModel` or an `EventModel` holds everybody's transitions and counts, and what all share is summed from them. Here
the sums stand for themselves, so that people may be a part of those who were learned: each has, bit for bit, the model
that they have there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from discreet.errors import DiscreetError, did_you_mean
from discreet.events import Events
from discreet.models.hidden.markov import HiddenMarkovModel
from discreet.models.topics.event_model import Strengths, drawn_to
from discreet.models.topics.model import Diagnostics
from discreet.numerics import FloatArray, IntArray


class Topics(Protocol):
    """What a person of whom nothing is known has: what all share."""

    @property
    def events(self) -> Events:
        """What the contexts are."""

    @property
    def initial(self) -> FloatArray:
        """(K,): topics of first events."""

    @property
    def emissions(self) -> FloatArray:
        """(K, n): P(event | topic)."""

    @property
    def shared_transition(self) -> FloatArray:
        """(K, K): everybody's."""

    @property
    def strengths(self) -> Strengths | None:
        """How strongly people are drawn to what all share; None where topics have attributes, not whole events."""


class OwnHabits(NamedTuple):
    """What was learned of one person (`topics.Totals`); counts where topics are over whole events."""

    transition: FloatArray  # (K, K)
    steps: FloatArray | None = None  # (K, K)
    event: IntArray | None = None  # (P,) which of `events.contexts`
    topics: FloatArray | None = None  # (P, K) how often under each topic


@dataclass(frozen=True, eq=False)
class SharedTopics:
    """K topics and the habits of some people, `own`; the others are newcomers, or somebody else has theirs."""

    events: Events
    initial: FloatArray
    emissions: FloatArray
    shared_transition: FloatArray
    fingerprint: str
    """Of the habits that this is a part of (`publish.TopicHabits.fingerprint`)."""
    strengths: Strengths | None = None
    diagnostics: Diagnostics | None = field(default=None, repr=False)
    own: Mapping[str, OwnHabits] = field(default_factory=dict, repr=False)

    @property
    def topics(self) -> int:
        """K."""
        return len(self.initial)

    @property
    def people(self) -> tuple[str, ...]:
        """Whose habits are here."""
        return tuple(self.own)

    def person(self, person: str, slots: int) -> HiddenMarkovModel:
        """One person's model of trajectories of `slots` events: the same transition after each."""
        own = self.own.get(person)
        if own is None:
            raise DiscreetError(f"the habits of {person!r} are not here; {did_you_mean(person, self.people)}")
        transition, emissions = own.transition, self.emissions
        if self.strengths is not None:  # the lines of `EventModel.transitions` and `emissions_of`
            if own.steps is None or own.event is None or own.topics is None:
                raise DiscreetError(f"nothing was counted of {person!r}; learn the habits again")
            transition = drawn_to(self.shared_transition, own.steps, self.strengths.transition)
            counts = np.zeros_like(self.emissions)
            counts[:, own.event] = own.topics.T
            emissions = drawn_to(self.emissions, counts, self.strengths.person)
        return HiddenMarkovModel.homogeneous(self.events.contexts, self.initial, transition, emissions, slots)
