"""What is decided before anything is published: habits, secrets, mechanism, and where trajectories are cut.

All of it is public: an observer is taken to know the plan, the learned habits included.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, Protocol, cast, get_args

import numpy as np
import polars as pl
from cachetools import LRUCache

from discreet.contracts import DayModel
from discreet.data.trajectories import trajectories_of
from discreet.errors import DataError, DiscreetError, PolicyError
from discreet.events import Events, Trajectory
from discreet.frames import Rows, is_table
from discreet.given import checked_policy, words_for
from discreet.listener import Progress
from discreet.mechanisms.named import Spec
from discreet.models.hidden.endless import EndlessHidden
from discreet.models.topics.choice import CANDIDATES, TopicChoice, choose_topics
from discreet.models.topics.event_model import EventModel
from discreet.models.topics.model import TopicModel
from discreet.models.topics.shared import SharedTopics
from discreet.models.topics.trajectories import fit_event_chain
from discreet.numerics import digest_of
from discreet.outputs import MARK
from discreet.policy import Policy, Secret
from discreet.publish.own_secrets import OwnSecrets

ADAPTIVE = Spec("adaptive")

SWEEPS = 2_000
"""Of the sampler, at most, for each number of topics, unless told otherwise."""

SAMPLE = 20_000
"""Events that the number of topics is chosen from, about: more choose no better, and a choice takes twelve fits."""

PIECE = 50
"""Events that are judged as a day of their own: of a piece, for mechanisms without streams, unless told otherwise; and
of a trajectory that is published whole, up to which all of its rows are kept."""

STREAMING = ("adaptive",)
"""Mechanisms that have streams of positions without end."""

HabitsName = Literal["events", "topics", "chain"]
PieceLength = int | Literal["auto"] | None


class Habits(Protocol):
    """The model of each person, which observers are taken to know: all steps of it are alike (`endless_of`)."""

    @property
    def name(self) -> str:
        """What judges, in a word."""

    def of(self, pieces: Sequence[Trajectory], slots: int) -> tuple[DayModel, Events]:
        """The model of a piece of `slots` events of the person whose pieces these are, and what its contexts are."""


@dataclass(frozen=True)
class TopicHabits:
    """Topics of all people together, with transitions of each; over the triples that occur.

    An `EventModel` has topics over whole events; a `TopicModel`, that of Li and Sun (2020), takes activity, time and
    location for independent within a topic. `SharedTopics` are a part of either, with the habits of some people.
    """

    model: TopicModel | EventModel | SharedTopics
    choice: TopicChoice | None = None
    """How the number of topics was chosen, where it was not given, and how an `EventModel` is made."""
    folder: Path | None = None
    """Where the rows of all people are (`habits_file`), of habits that have some of them."""

    @property
    def name(self) -> str:
        """How many topics over what, and whether the sampler's chains agreed on them."""
        found = self.model.diagnostics
        doubt = "" if found is None or found.converged else ", not converged"
        what = "independent attributes" if self.model.strengths is None else "whole events"
        return f"event HMM of {self.model.topics} topics over {what}{doubt}"

    @property
    def doubt(self) -> str | None:
        """What is to be said where the sampler's chains did not agree."""
        found = self.model.diagnostics
        if found is None or found.converged:
            return None
        return (
            f"chains of the sampler did not agree on {self.model.topics} topics (R-hat {found.r_hat:.2f} after "
            f"{found.sweeps} sweeps): habits are what the best of them found, and another run may find others; "
            "allow more sweeps, or give another number of topics"
        )

    def of(self, pieces: Sequence[Trajectory], slots: int) -> tuple[DayModel, Events]:
        """The person's hidden Markov model; of one who is not in the sample that topics were learned from, too."""
        person = pieces[0].person
        if person in self._learned:
            return self.model.person(person, slots), self.model.events
        from discreet.models.topics.newcomers import newcomer  # compiles

        return newcomer(self.model, pieces, slots), self.model.events

    @cached_property
    def fingerprint(self) -> str:
        """A digest of what was learned, not of how: equal habits have equal ones, those that were kept and read too."""
        if isinstance(self.model, SharedTopics):
            return self.model.fingerprint
        learned = self.model.learned if isinstance(self.model, EventModel) else self.model
        events, totals = learned.events, learned.totals
        parts: list[object] = [events.activities, events.times, events.locations, events.contexts, learned.people]
        parts += [learned.initial, learned.transitions, learned.activity, learned.time, learned.location]
        if isinstance(self.model, EventModel):
            parts += ["whole events", self.model.strengths]
        if totals is not None:
            counted = (totals.starts, totals.steps, totals.person, totals.event, totals.topics)
            parts += [np.asarray(one, dtype=np.float64) for one in counted]
        return digest_of(parts).hex()

    @cached_property
    def _learned(self) -> frozenset[str]:
        return frozenset(self.model.people)

    @classmethod
    def learn(
        cls,
        pieces: Iterable[Trajectory],
        topics: int | None = None,
        *,
        whole_events: bool = True,
        events: Events | None = None,
        secrets: Sequence[Collection[str]] = (),
        sweeps: int = SWEEPS,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> TopicHabits:
        """From all people's pieces; without a number of topics, the one that predicts held-out `secrets` and events.

        The sampler takes people in order of their names: habits are public, and must not depend on who came first.
        Where the pieces are those of a sample, `events` are everybody's.
        """
        ordered = sorted(pieces, key=lambda piece: piece.person)  # stable: each person's pieces stay in order
        if events is None:
            events = Events.from_trajectories(ordered, occurring_only=True)
        fit = partial(TopicModel.fit, ordered, events=events, sweeps=sweeps, seed=seed, progress=progress)
        if topics is not None and not whole_events:
            return cls(fit(topics))
        choice = choose_topics(
            _sample(ordered, SAMPLE),
            CANDIDATES if topics is None else (topics,),
            events=events,
            secrets=secrets,
            whole_events=whole_events,
            sweeps=sweeps,
            seed=seed,
            progress=progress,
        )
        if not whole_events:
            return cls(fit(choice.topics), choice)
        smoothing = choice.smoothing[choice.topics]
        learned = fit(choice.topics, whole_events=smoothing.drawn_by == "events")
        return cls(EventModel(learned, smoothing.strengths), choice)


def _sample(pieces: Sequence[Trajectory], most: int) -> list[Trajectory]:
    """All pieces of every so many people, in their order, so that there are about `most` events."""
    step = max(1, round(sum(map(len, pieces)) / most))
    chosen = set(list(dict.fromkeys(piece.person for piece in pieces))[::step])
    return [piece for piece in pieces if piece.person in chosen]


@dataclass(frozen=True)
class ChainHabits:
    """A Markov chain over the events of each person, learned from that person alone."""

    name: str = "event chain"

    def of(self, pieces: Sequence[Trajectory], slots: int) -> tuple[DayModel, Events]:
        """The person's chain."""
        events = Events.from_trajectories(pieces, occurring_only=True)
        return fit_event_chain(pieces, events, slots), events


@dataclass(frozen=True)
class Plan:
    """How every person's events are published: data, so that a worker or a record of the run can have it.

    `policy` is over all people's events, see `policy_for`. `mechanism` is made for each person's habits; Adaptive shows
    attributes unless its options say otherwise.

    Trajectories are whole (`piece_length` None): by Adaptive a long one is published as a stream over a hidden Markov
    model without end, so that the promise is about all of it; by other mechanisms it is a day of its own. Otherwise
    they are cut to pieces of so many events, each a day of its own: what pieces tell about each other is not bounded.
    """

    habits: Habits
    policy: Policy
    mechanism: Spec = ADAPTIVE
    piece_length: int | None = None
    people: PeoplesPolicies | None = None
    """Where people have secrets of their own; `policy` is then that of all secrets, by which reports go."""

    def __post_init__(self) -> None:
        checked_length(self.piece_length)
        object.__setattr__(self, "mechanism", for_events(self.mechanism))

    @classmethod
    def learn(
        cls,
        trajectories: Collection[Trajectory] | Rows,
        policy: Policy,
        mechanism: Spec = ADAPTIVE,
        *,
        habits: HabitsName = "events",
        topics: int | None = None,
        sweeps: int | None = None,
        piece_length: PieceLength = "auto",
        events: Events | None = None,
        own_secrets: OwnSecrets | Mapping[str, Policy] | pl.DataFrame | str | Path | None = None,
        progress: Progress | None = None,
    ) -> Plan:
        """The plan for these people, gone through twice: the policy is laid over their events, and habits are learned.

        Trajectories may also be a table of events, as for `publish`.

        `habits` are topics of all people together over whole events, `topics` of them or as many as predict held-out
        secrets and events, by at most `sweeps` of the sampler; or "topics", the same with activity, time and location
        independent within a topic, as Li and Sun (2020) have them; or a "chain" over each person's own events.

        Where these people are a sample of those who are to be published, `events` are everybody's: the policy is laid
        over them, and whoever is not in the sample has a model of the same form (`models.newcomers`).

        `own_secrets` are those that people have besides the policy's, which everybody has: a table with columns person,
        secret, delta and cap, or policies by name (`publish.own_secrets`).

        `piece_length="auto"` leaves trajectories whole for Adaptive, and cuts them to pieces of PIECE for others.
        """
        checked_policy(policy, "Plan.learn")
        if is_table(trajectories) or not isinstance(trajectories, Collection):
            trajectories = trajectories_of(trajectories, "Plan.learn")
        trajectories = cast(Collection[Trajectory], trajectories)
        piece_length = length_for(mechanism, piece_length)
        if habits not in get_args(HabitsName):
            raise DiscreetError(f"habits={habits!r} are not known; use 'events', 'topics' or 'chain'")
        if habits == "chain" and (topics is not None or sweeps is not None):
            raise DiscreetError(
                "a number of topics or sweeps is for habits='events' or 'topics'; leave it out for a chain"
            )
        if events is None:
            events = Events.from_trajectories(trajectories, occurring_only=True)
        people = None if own_secrets is None else PeoplesPolicies.laid(OwnSecrets.of(own_secrets), policy, events)
        laid = policy_for(policy, events) if people is None else people.union
        known: Habits = ChainHabits()
        if habits != "chain":
            known = TopicHabits.learn(
                cut_all(trajectories, piece_length),
                topics,
                whole_events=habits == "events",
                events=events,
                secrets=[secret.contexts for secret in laid.secrets],
                sweeps=SWEEPS if sweeps is None else sweeps,
                progress=progress,
            )
        return cls(known, laid, mechanism, piece_length, people)

    def of_person(self, name: str) -> Plan:
        """The plan with the secrets of one person; people with the same secrets share it."""
        return self if self.people is None else self.people.plan(self, name)

    @property
    def fingerprint_of_secrets(self) -> str:
        """A digest of all that is secret, of whomever."""
        return self.policy.fingerprint if self.people is None else self.people.fingerprint

    def streams(self, events: int) -> bool:
        """Whether a trajectory of so many events is published as a stream."""
        return self.piece_length is None and events > PIECE and self.mechanism.name in STREAMING


@dataclass(frozen=True)
class PeoplesPolicies:
    """The policies of people who have secrets of their own, over the events that occur."""

    own: OwnSecrets
    everybody: Policy
    """As stated, over values of attributes."""
    union: Policy
    """Each secret that anybody has, over events, with the least delta that is given for it."""
    _plans: LRUCache[Any, tuple[Plan, Plan]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_plans", LRUCache(PLANS))

    @classmethod
    def laid(cls, own: OwnSecrets, everybody: Policy, events: Events) -> PeoplesPolicies:
        """Laid over these events; a secret that does not occur is an error."""
        own.check(everybody)
        policy_for(everybody, events)
        try:
            return cls(own, everybody, policy_for(own.union(everybody), events))
        except PolicyError as error:
            raise DataError(f"{own.source}: {error}") from None

    @property
    def stated(self) -> Policy:
        """The union as it was stated, over values of attributes."""
        return self.own.union(self.everybody)

    @property
    def fingerprint(self) -> str:
        """A digest of everybody's secrets."""
        return digest_of([self.everybody.fingerprint, self.union.fingerprint, self.own.fingerprint]).hex()

    def check(self, people: Iterable[str]) -> None:
        """Refuse people of the table who are not among these, and those of these without any secret."""
        self.own.check_people(people, self.everybody)

    def plan(self, plan: Plan, person: str) -> Plan:
        """The plan of one person, who has a secret."""
        place = self.own.place(person)
        rows = () if place is None else self.own.rows(place)
        if not rows and not self.everybody.secrets:
            raise DataError(f"{self.own.source}: {person!r} has no secret here, and the policy has none for everybody")
        found = self._plans.get(rows)
        if found is None or found[0] is not plan:
            stated = self.own.policy(self.everybody, rows)
            over = {secret.name: secret.contexts for secret in self.union.secrets}
            secrets = tuple(replace(secret, contexts=over[secret.name]) for secret in stated.secrets)
            found = plan, replace(plan, policy=replace(stated, secrets=secrets), people=None)
            self._plans[rows] = found
        return found[1]

    def __getstate__(self) -> dict[str, Any]:
        return {"own": self.own, "everybody": self.everybody, "union": self.union}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in (state | {"_plans": LRUCache(PLANS)}).items():
            object.__setattr__(self, name, value)


PLANS = 256
"""Plans of people that are kept, each of a set of secrets."""


def length_for(mechanism: Spec, piece_length: PieceLength) -> int | None:
    """The length of pieces, of this mechanism where it is left open; None where trajectories are whole."""
    if piece_length == "auto":
        return None if mechanism.name in STREAMING else PIECE
    checked_length(piece_length)
    return piece_length


def endless_of(model: DayModel) -> EndlessHidden:
    """The model without end of which this is the first part, all steps being alike; states of a chain are its contexts.

    Two positions are enough to tell.
    """
    emission = np.eye(len(model.contexts)) if model.emissions is None else model.emissions[0]
    return EndlessHidden(model.contexts, model.initial, model.transitions[0], emission)


def for_events(mechanism: Spec) -> Spec:
    """The mechanism as tables of events want it: Adaptive withholds single attributes rather than whole events."""
    if mechanism.name == "adaptive" and "outputs" not in mechanism.options:
        return mechanism.with_options(outputs="attributes")
    return mechanism


def checked_length(piece_length: object) -> None:
    """Refuse pieces of no events."""
    if piece_length is None:
        return
    if not isinstance(piece_length, int):
        raise DiscreetError(
            f"the length of pieces is {words_for(piece_length)}; give a number of events, without quotes, or None"
        )
    if piece_length < 1:
        raise DiscreetError(
            f"trajectories cannot be cut to pieces of {piece_length} events; give 1 or more, or leave them whole with "
            "--piece 0 (piece_length=None)"
        )


def cut(trajectory: Trajectory, piece_length: int | None) -> list[Trajectory]:
    """The trajectory in pieces of so many events, the last perhaps shorter; timestamps are left behind."""
    length = len(trajectory) if piece_length is None else piece_length
    return [
        replace(trajectory, events=trajectory.events[start : start + length], timestamps=None)
        for start in range(0, len(trajectory), length)
    ]


def cut_all(trajectories: Iterable[Trajectory], piece_length: int | None) -> Iterator[Trajectory]:
    """The pieces of all people."""
    checked_length(piece_length)
    return (piece for trajectory in trajectories for piece in cut(trajectory, piece_length))


# --- secrets


def policy_for(policy: Policy, events: Events) -> Policy:
    """The policy over these events: a context "activity=gambling" stands for every event with that value.

    A secret may name several values, also of different attributes, or whole events ("activity|time|location").
    """
    laid = replace(policy, secrets=tuple(_laid(secret, events) for secret in policy.secrets))
    laid.for_model(events.contexts, 1)  # a secret that covers everything is an error
    return laid


def _laid(secret: Secret, events: Events) -> Secret:
    if secret.slots is not None or secret.begins:
        raise PolicyError(
            f"secret {secret.name!r} is limited to slots, which events do not have; leave that out, or make a part of "
            "the day the secret: contexts = ['time=night'], with its hours in --intervals"
        )
    try:
        contexts = frozenset().union(*(_events_of(context, events) for context in secret.contexts))
    except DiscreetError as error:
        raise PolicyError(f"secret {secret.name!r}: {error}") from None
    return _with_contexts(secret, contexts)


def _events_of(context: str, events: Events) -> frozenset[str]:
    if MARK in context:
        return frozenset({events.contexts[events.index_of(context)]})
    attribute, equals, value = (part.strip() for part in context.partition("="))
    if not (equals and value):
        raise PolicyError(f"{context!r} names no value of an attribute; write it as 'activity=gambling'")
    return events.secret(attribute, value).contexts


def _with_contexts(secret: Secret, contexts: frozenset[str]) -> Secret:
    """The same secret with other contexts."""
    return replace(secret, contexts=contexts)


def left_open(policy: Policy, contexts: Sequence[str]) -> tuple[Policy, bool]:
    """The secrets that a model over these contexts leaves open, and whether one is certain by the habits alone.

    What never happens, or always, nobody can come to believe in: the gain is at most 0.
    """
    known, certain = frozenset(contexts), False
    kept = []
    for secret in policy.secrets:
        here = secret.contexts & known
        certain |= here == known
        if here and here != known:
            kept.append(_with_contexts(secret, here))
    return replace(policy, secrets=tuple(kept)), certain
