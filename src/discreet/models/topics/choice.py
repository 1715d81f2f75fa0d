"""How many topics there are: as many as predict held-out secrets and events."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from discreet.errors import DiscreetError
from discreet.events import Events, Trajectory
from discreet.listener import Progress
from discreet.models.topics.event_model import EventModel, HeldOutEvents, Strengths, chosen_strengths
from discreet.models.topics.model import Concentrations, TopicModel
from discreet.numerics import FloatArray

Key = TypeVar("Key")

CANDIDATES = (2, 3, 4, 6, 8, 12)
"""Not one: a tie must not choose it, see `choose_topics`. It can be given."""


@dataclass(frozen=True)
class Smoothing:
    """How topics over whole events are learned."""

    drawn_by: str
    """What the sampler draws topics by: "attributes", independent of each other, or whole "events"."""
    strengths: Strengths


@dataclass(frozen=True)
class TopicChoice:
    """How well each number of topics predicts what was held out, and the number to take."""

    topics: int
    scores: Mapping[int, float]
    """Mean log probability of a held-out event, by number of topics."""
    converged: Mapping[int, bool]
    secret_scores: Mapping[int, float] = field(default_factory=dict)
    """Mean log probability of whether a held-out event is in each secret, summed over secrets."""
    smoothing: Mapping[int, Smoothing] = field(default_factory=dict)
    """How an `EventModel` is made, where topics are over whole events."""


def choose_topics(
    trajectories: Iterable[Trajectory],
    candidates: Sequence[int] = CANDIDATES,
    *,
    events: Events | None = None,
    secrets: Sequence[Collection[str]] = (),
    whole_events: bool = False,
    concentrations: Concentrations = Concentrations(),  # noqa: B008  frozen, so one for all calls is safe
    chains: int = 4,
    sweeps: int = 5_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> TopicChoice:
    """The number of topics by held-out likelihood of secrets and of events.

    The last fifth of each trajectory (of two events or more) is held out and predicted from all that stands before it,
    by a `TopicModel`, or with `whole_events` by an `EventModel` whose strengths are chosen on the way, and with them
    what the sampler draws topics by.

    Two proper scores: the log probability of the event, and that of whether it is in each of the `secrets` (sets of
    contexts). They are not added up. A promise is about secrets, and a model that predicts events well may be wrong
    about a rare one, whose share of the events' score is too small to show; so secrets come first. Of the numbers that
    are not worse at them than the best by more than one standard error of the difference over trajectories, those are
    left that are likewise not worse at events than the best of them. More topics than there are predict about as
    well and cost more, so the smallest is taken, but never one by such a tie: with one topic events tell nothing of
    the next in the model, and what a model leaves out, a promise leaves open.
    """
    given = list(trajectories)
    if not candidates:
        raise DiscreetError("there are no numbers of topics to choose from; give some candidates")
    vocabulary = Events.from_trajectories(given) if events is None else events
    people = tuple(dict.fromkeys(whole.person for whole in given))
    held = HeldOutEvents.of(given, _cut, people, vocabulary, secrets)  # an event that is not known is an error
    shown = [replace(whole, events=whole.events[: _cut(whole)], timestamps=None) for whole in given]
    least = min(len(set(candidates)), 2)  # one number is not compared, and only its strengths are looked for
    if len(set(held.trajectory[held.tested])) < least:
        raise DiscreetError(
            f"fewer than {least} trajectories have two events or more, so nothing can be held out; give more"
        )
    tried: dict[int, _Tried] = {}
    for done, topics in enumerate(sorted(set(candidates)), 1):
        fit = partial(
            TopicModel.fit,
            shown,
            topics,
            events=vocabulary,
            concentrations=concentrations,
            chains=chains,
            sweeps=sweeps,
            seed=seed,
        )
        tried[topics] = _over_events(fit, held) if whole_events else _over_attributes(fit(), held)
        if progress is not None:
            progress(done, len(set(candidates)))
    tested = float(held.tested.sum())
    return TopicChoice(
        topics=_chosen({topics: one.scores for topics, one in tried.items()}),
        scores={topics: float(one.scores[0].sum() / tested) for topics, one in tried.items()},
        converged={topics: one.converged for topics, one in tried.items()},
        secret_scores={topics: float(one.scores[1].sum() / tested) for topics, one in tried.items()},
        smoothing={topics: one.smoothing for topics, one in tried.items() if one.smoothing is not None},
    )


class _Tried(NamedTuple):
    """What came of one number of topics."""

    scores: tuple[FloatArray, FloatArray]  # (D,) of events, (D,) of secrets, for each trajectory
    converged: bool
    smoothing: Smoothing | None = None


def _over_attributes(model: TopicModel, held: HeldOutEvents) -> _Tried:
    """A topic model, in which topics look the same for everybody."""
    from discreet.models.topics.predictions import Predictor  # compiles

    sides = model.emissions @ held.sides
    likelihood = np.ascontiguousarray(model.emissions[:, held.codes].T)
    everybody = np.repeat(sides[None], len(model.people), axis=0)
    predictor = Predictor(held.person, held.first, likelihood, everybody, model.initial, model.transitions)
    return _Tried(held.scores(predictor), _converged(model))


def _over_events(fit: Callable[..., TopicModel], held: HeldOutEvents) -> _Tried:
    """Topics over whole events, drawn by whole events, or by attributes where that predicts clearly better.

    By whole events they need not stand for what attributes tell of each other; by attributes they take less data.
    """
    tried = {}
    for drawn_by in ("events", "attributes"):
        model = fit(whole_events=drawn_by == "events")
        strengths = chosen_strengths(model, held)
        scores = held.scores(EventModel(model, strengths).predictor(held))
        tried[drawn_by] = _Tried(scores, _converged(model), Smoothing(drawn_by, strengths))
    return tried[_as_good({drawn_by: one.scores[0] for drawn_by, one in tried.items()})[0]]


def _converged(model: TopicModel) -> bool:
    return model.diagnostics is not None and model.diagnostics.converged


def _cut(trajectory: Trajectory) -> int:
    """How many events are shown; the others are held out."""
    length = len(trajectory)
    return length - (-(-length // 5) if length > 1 else 0)


def _chosen(scores: Mapping[int, tuple[FloatArray, FloatArray]]) -> int:
    """The smallest number, not one, of those as good as the best at secrets and, of these, at events."""
    left = _as_good({topics: of_secrets for topics, (_, of_secrets) in scores.items()})
    left = _as_good({topics: scores[topics][0] for topics in left})
    return min(topics for topics in left if topics > 1 or len(left) == 1)


def _as_good(scores: Mapping[Key, FloatArray]) -> list[Key]:
    """In the order given, those that are behind the best by no more than one standard error over trajectories."""
    best = max(scores.values(), key=lambda score: float(score.sum()))
    behind = {key: best - score for key, score in scores.items()}
    return [key for key, by in behind.items() if by.mean() <= _standard_error(by)]


def _standard_error(values: FloatArray) -> float:
    """Of the mean; 0 of one value, which says nothing of how they vary."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
