"""What is decided before anything is published: habits, secrets, mechanism, and where trajectories are cut.

All of it is public: an observer is taken to know the plan, the learned habits included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from discreet.contracts import Mechanism, Model
from discreet.errors import DiscreetError, PolicyError
from discreet.events import Events, Trajectory
from discreet.models.topics import TopicChoice, TopicModel, choose_topics
from discreet.models.trajectories import fit_event_chain
from discreet.outputs import MARK
from discreet.policy import Policy, Secret

Make = Callable[[Model, Policy, Events], Mechanism[Any]]
"""Makes the mechanism for a person's model, their secrets, and the events that the model's contexts are."""

Progress = Callable[[int, int], None]

SWEEPS = 2_000
"""Of the sampler, at most, for each number of topics."""


class Habits(Protocol):
    """The model of each person, of which observers are taken to know it."""

    @property
    def name(self) -> str:
        """What judges, in a word."""

    def of(self, windows: Sequence[Trajectory], slots: int) -> tuple[Model, Events]:
        """The model of trajectories of `slots` events of the person whose windows these are, and what its contexts are."""


@dataclass(frozen=True)
class TopicHabits:
    """Topics of all people together, with transitions of each; over the triples that occur."""

    model: TopicModel
    choice: TopicChoice | None = None
    """How the number of topics was chosen, where it was not given."""

    @property
    def name(self) -> str:
        """How many topics, and whether the sampler's chains agreed on them."""
        found = self.model.diagnostics
        doubt = "" if found is None or found.converged else ", not converged"
        return f"event HMM of {self.model.topics} topics{doubt}"

    def of(self, windows: Sequence[Trajectory], slots: int) -> tuple[Model, Events]:
        """The person's hidden Markov model."""
        return self.model.person(windows[0].person, slots), self.model.events

    @classmethod
    def learn(
        cls,
        windows: Sequence[Trajectory],
        topics: int | None = None,
        *,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> TopicHabits:
        """From all people's windows; without a number of topics, the one that predicts held-out events best."""
        events = Events.from_trajectories(windows, occurring_only=True)
        choice = None
        if topics is None:
            choice = choose_topics(windows, events=events, sweeps=SWEEPS, seed=seed, progress=progress)
            topics = choice.topics
        return cls(TopicModel.fit(windows, topics, events=events, sweeps=SWEEPS, seed=seed, progress=progress), choice)


@dataclass(frozen=True)
class ChainHabits:
    """A Markov chain over the events of each person, learned from that person alone."""

    name: str = "event chain"

    def of(self, windows: Sequence[Trajectory], slots: int) -> tuple[Model, Events]:
        """The person's chain."""
        events = Events.from_trajectories(windows, occurring_only=True)
        return fit_event_chain(windows, events, slots), events


@dataclass(frozen=True)
class Plan:
    """How every person's events are published. `policy` is over all people's events, see `policy_for`.

    Trajectories are cut to windows of `window` events, each a day of its own: what windows tell about each other is not
    bounded. None leaves them whole.
    """

    habits: Habits
    policy: Policy
    make: Make
    window: int | None = None

    def __post_init__(self) -> None:
        checked_window(self.window)


def checked_window(window: int | None) -> None:
    """Refuse windows of no events."""
    if window is not None and window < 1:
        raise DiscreetError(f"trajectories cannot be cut to windows of {window} events; give 1 or more")


def cut(trajectory: Trajectory, window: int | None) -> list[Trajectory]:
    """The trajectory in windows of so many events, the last perhaps shorter; timestamps are left behind."""
    length = len(trajectory) if window is None else window
    return [
        replace(trajectory, events=trajectory.events[start : start + length], timestamps=None)
        for start in range(0, len(trajectory), length)
    ]


def cut_all(trajectories: Iterable[Trajectory], window: int | None) -> Iterator[Trajectory]:
    """The windows of all people."""
    checked_window(window)
    return (part for trajectory in trajectories for part in cut(trajectory, window))


# --- secrets


def policy_for(policy: Policy, events: Events) -> Policy:
    """The policy over these events: a context "activity=gambling" stands for every event with that value.

    A secret may name several values, also of different attributes, or whole events ("activity|time|location").
    """
    laid = Policy([_laid(secret, events) for secret in policy.secrets], delta=policy.delta)
    laid.for_model(events.contexts, 1)  # a secret that covers everything is an error
    return laid


def _laid(secret: Secret, events: Events) -> Secret:
    if secret.slots is not None:
        raise PolicyError(
            f"secret {secret.name!r} is limited to slots, which events do not have; name a time, such as 'time=night'"
        )
    try:
        contexts = frozenset().union(*(_events_of(context, events) for context in secret.contexts))
    except DiscreetError as error:
        raise PolicyError(f"secret {secret.name!r}: {error}") from None
    return replace_contexts(secret, contexts)


def _events_of(context: str, events: Events) -> frozenset[str]:
    if MARK in context:
        return frozenset({events.contexts[events.index_of(context)]})
    attribute, equals, value = (part.strip() for part in context.partition("="))
    if not (equals and value):
        raise PolicyError(f"{context!r} names no value of an attribute; write it as 'activity=gambling'")
    return events.secret(attribute, value).contexts


def replace_contexts(secret: Secret, contexts: frozenset[str]) -> Secret:
    """The same secret with other contexts."""
    return Secret(secret.name, contexts, delta=secret.delta, at=secret.at)


def settled(policy: Policy, contexts: Sequence[str]) -> tuple[Policy, bool]:
    """The secrets that a model over these contexts leaves open, and whether one is certain by the habits alone.

    What never happens, or always, nobody can come to believe in: the gain is at most 0.
    """
    known, certain = frozenset(contexts), False
    kept = []
    for secret in policy.secrets:
        here = secret.contexts & known
        certain |= here == known
        if here and here != known:
            kept.append(replace_contexts(secret, here))
    return Policy(kept, delta=policy.delta), certain
