"""S-PPATP's experiments (Li and Sun 2020, Section 5): one person's events, secrets, and what is measured.

Each trajectory is judged twice. *Exactly*: by Bayes, with the person's event model, the mechanism and the whole output;
and *as the paper reckons*, by its equations: PA-Markov's side by Eq. 14 to 16 and 24, PA-HMM's by Eq. 20 to 22. What
the two make of the same output shows which of its breaches the paper could not see.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from discreet.adversary.belief import Adversary
from discreet.contracts import Mechanism
from discreet.events import ATTRIBUTES, Attribute, Events, Trajectory
from discreet.mechanisms import NoInternal, PaHmm
from discreet.mechanisms.events.pa_hmm import BUDGET
from discreet.models import HiddenMarkovModel
from discreet.models.topics.model import TopicModel
from discreet.numerics import BoolArray, FloatArray, exceeds
from discreet.outputs import Output, PartialEvent, truthful
from discreet.policy import Policy
from discreet.publish.person import publish_piece, shown
from discreet.randomness import SeededEntropy
from discreet_experiments.s_ppatp.smoother import smoothed
from discreet_experiments.shared.systems import system

SYSTEMS = (
    "no-mask",
    "sensitive-mask",
    "no-internal",
    "pa-markov",
    "pa-hmm",
    "pa-hmm-topics",
    "pa-hmm-published",
    "adaptive-events",
    "adaptive-attributes",
)

PRINTED = ("pa-hmm-topics", "pa-hmm-published")
"""PA-HMM as printed, Eq. 22 read in two ways."""

SecretKind = Literal["activity", "time", "location", "all", "one"]
"""What is secret: a value of that attribute, one of each, or of one attribute, which differs from person to person."""

Cell = tuple[SecretKind, float, str]
"""(what is secret, delta, who publishes)."""

FATES = ("secret shown", "other shown", "secret withheld", "other withheld")


@dataclass(frozen=True)
class EventSubject:
    """One person: the events to publish, the model that judges, and a value of each attribute that may be secret."""

    number: int
    window: Trajectory
    model: HiddenMarkovModel
    events: Events
    values: tuple[str, str, str]
    one: Attribute

    def policy(self, kind: SecretKind, delta: float) -> Policy:
        """Secrets of a kind."""
        attributes: tuple[Attribute, ...] = ATTRIBUTES
        if kind != "all":
            attributes = (self.one if kind == "one" else kind,)
        return Policy(
            [
                self.events.secret(name, value)
                for name, value in zip(ATTRIBUTES, self.values, strict=True)
                if name in attributes
            ],
            delta=delta,
        )


def subject(
    number: int, whole: Sequence[Trajectory], model: TopicModel, window: int, seed: int, *, own: bool = True
) -> EventSubject | None:
    """A person by their trajectories: the first `window` events of the first; None without two values of each
    attribute.

    With `own` the model is over the events that this person ever has, which the observer is taken to know.
    """
    events = model.events
    if own:
        triples = tuple(dict.fromkeys(event for part in whole for event in part.events))
        events = Events(events.activities, events.times, events.locations, occurring=triples)
    rng = np.random.default_rng((seed, number))
    values = []
    for column, attribute in enumerate(ATTRIBUTES):
        present = sorted(set(events.attribute_index[:, column].tolist()))
        if len(present) < 2:
            return None
        values.append(events.values(attribute)[present[int(rng.integers(len(present)))]])
    activity, when, location = values
    first = replace(whole[0], events=whole[0].events[:window], timestamps=None)
    habits = replace(model, events=events).person(first.person, len(first))
    one = ATTRIBUTES[int(rng.integers(len(ATTRIBUTES)))]
    return EventSubject(number, first, habits, events, (activity, when, location), one)


@dataclass(frozen=True)
class Publication:
    """What a mechanism did with a trajectory. Rates are shares of its positions."""

    utility: float
    breach_rate: float
    worst_gain: float
    off_model: int
    by_chains: float | None
    """Breach rate as the paper reckons for PA-Markov and what it is compared with."""
    by_topics: float | None
    """The same for PA-HMM, by the emissions that its check reads Eq. 22 with."""
    fails: bool | None
    """Whether PA-HMM's vector fails the check that it was searched by."""
    fates: tuple[float, ...]
    """Shares of attributes, or of events where they are published whole, in the order of FATES."""
    offline: float
    """Seconds before the first event."""
    online: float
    """Seconds for all events, with what they tell."""


def made(name: str, one: EventSubject, policy: Policy, budget: int = BUDGET) -> Mechanism[Any]:
    """The mechanism with the defaults of the project; `budget` is that of PA-HMM's search."""
    chosen = system(name).with_options(budget=budget) if name == "pa-hmm" else system(name)
    mechanism: Mechanism[Any] = chosen.make(one.model, policy, events=one.events)
    return mechanism


def outcome(
    one: EventSubject, kind: SecretKind, delta: float, name: str, *, budget: int = BUDGET, seed: int = 0
) -> Publication:
    """Publish a trajectory once and judge it."""
    policy = one.policy(kind, delta)
    began = time.perf_counter()
    mechanism = made(name, one, policy, budget)
    ready = time.perf_counter()
    adversary = Adversary(mechanism)
    labels = [event.label for event in one.window.events]
    outputs, told = publish_piece(mechanism, adversary, one.window, SeededEntropy(seed * 1_000_003 + one.number))
    finished = time.perf_counter()
    count = len(labels)
    return Publication(
        utility=sum(map(truthful, labels, outputs)) / count,
        breach_rate=told.breached / count,
        worst_gain=max(0.0, *told.by_secret.values()),
        off_model=told.off_model,
        by_chains=_by_chains(one, policy, outputs) if name in ("no-mask", "no-internal", "pa-markov") else None,
        by_topics=_by_topics(mechanism, outputs) if name in ("no-mask", "sensitive-mask", "pa-hmm", *PRINTED) else None,
        fails=not mechanism.passes if isinstance(mechanism, PaHmm) else None,
        fates=_fates(one, policy, outputs, whole=name not in ("no-internal", "pa-markov", "adaptive-attributes")),
        offline=ready - began,
        online=finished - ready,
    )


def sweep(one: EventSubject, cells: Sequence[Cell], *, budget: int = BUDGET, seed: int = 0) -> dict[Cell, Publication]:
    """A person under every cell."""
    return {cell: outcome(one, *cell, budget=budget, seed=seed) for cell in cells}


# --- as the paper reckons


def _by_chains(one: EventSubject, policy: Policy, outputs: Sequence[Output]) -> float:
    """Eq. 14 to 16 and 24: a shown value is known; one that is withheld is told by its chain, or by what is shown
    beside it.

    Each attribute has a chain of its own, silence says nothing, and what is shown beside a value speaks alone.
    """
    checks = NoInternal(one.model, policy, events=one.events).checks
    rows = [shown(output) for output in outputs]
    values = [(row.activity, row.time, row.location) for row in rows]
    members = policy.for_model(one.model.contexts, one.model.slots).members
    names = [secret.name for secret in policy.secrets]
    over = np.zeros(len(rows), dtype=np.bool_)
    for k, check in enumerate(checks):
        if check.policy.secrets:
            gains = _external(check, [value[k] for value in values])
            for secret in check.policy.secrets:
                inside = members[names.index(secret.name)]
                gain = np.asarray(gains[secret.name])
                for i, value in enumerate(values):
                    told = gain[i] if value[k] is not None else max(gain[i], _internal(one, inside, i, value))
                    over[i] |= exceeds(told, policy.delta)
    return float(over.mean())


def _external(check: Any, values: Sequence[str | None]) -> Any:
    """{secret: (T,) gains} by an attribute's chain, from the values that are shown (Eq. 15)."""
    belief = Adversary(check).start()
    contexts = check.model.contexts
    for value in values:
        told = np.ones(len(contexts))
        if value is not None:
            told[:] = 0
            told[contexts.index(value)] = 1
        belief = belief.after(told)
    return belief.by_secret()


def _internal(one: EventSubject, inside: BoolArray, i: int, values: tuple[str | None, ...]) -> float:
    """The confidence of the strongest rule from a shown attribute to the secret, less the prior (Eq. 16)."""
    prior, index = one.model.prior[i], one.events.attribute_index
    best = 0.0
    for k, value in enumerate(values):
        if value is not None:
            same = index[:, k] == one.events.value_index(ATTRIBUTES[k], value)
            best = max(best, float(prior[same & inside].sum() / prior[same].sum() - prior[inside].sum()))
    return best


def _by_topics(mechanism: Mechanism[Any], outputs: Sequence[Output]) -> float:
    """Eq. 20 to 22: the posterior of the topics, and from it the events', as if a position's output said no more."""
    model, policy = mechanism.model, mechanism.policy
    if model.emissions is None or policy is None:
        return float("nan")
    state, columns = mechanism.start(), []
    for t, output in enumerate(outputs):
        columns.append(model.emissions[t] @ mechanism.kernel(state).likelihood(output))
        state = mechanism.advance(state, output)
    topics = smoothed(model.initial, model.transitions, np.stack(columns))[0]  # (T, K)
    members = policy.for_model(model.contexts, model.slots).members.T.astype(np.float64)  # (n, G)
    shown = model.emissions  # "b^i" of Eq. 22
    if isinstance(mechanism, PaHmm) and mechanism.emissions == "published":
        shown = shown * mechanism.p[:, None, :]  # Eq. 19
    belief: FloatArray = np.einsum("tk,tkn,ng->tg", topics, shown, members)
    return float(exceeds(belief - model.prior @ members, policy.delta).any(axis=1).mean())


def _fates(one: EventSubject, policy: Policy, outputs: Sequence[Output], *, whole: bool) -> tuple[float, ...]:
    """What became of secret and other values; of events with a secret in them and others where they go whole."""
    hidden = {name.partition(" = ")[0]: name.partition(" = ")[2] for name in (s.name for s in policy.secrets)}
    counts = dict.fromkeys(FATES, 0)
    for event, output in zip(one.window.events, outputs, strict=True):
        row: PartialEvent = shown(output)
        secrets = [hidden.get(name) == value for name, value in zip(ATTRIBUTES, event.values, strict=True)]
        seen = [value is not None for value in (row.activity, row.time, row.location)]
        pairs = [(any(secrets), all(seen))] if whole else zip(secrets, seen, strict=True)
        for secret, shows in pairs:
            counts[f"{'secret' if secret else 'other'} {'shown' if shows else 'withheld'}"] += 1
    total = sum(counts.values())
    return tuple(counts[fate] / total for fate in FATES)
