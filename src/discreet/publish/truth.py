"""Are the habits true of the table? Held against the people whose events they are, and against later events.

Three observers are asked. Who knows the habits alone: is each secret as frequent as they say, at each position, and
twice within a few events no more often than they say? Who sees the table: among events of which the same is shown, is
the secret as frequent as believed? The people are those that the habits were learned from, so this finds what habits of
this kind cannot express, such as a place that tells the activity. The third knows habits learned from the first four
fifths of everybody's events, and is asked of the last fifth: this finds what was learned by heart.

What is shown for the test is drawn by a seed of its own. Nothing of it is published, and what is published is not what
was tested: whether it is published must not depend on how its own lots fell.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.contracts import AnyMechanism, DayModel
from discreet.errors import DiscreetError
from discreet.evaluation.calibration import ALARMS, DRAWS, Calibration, ClaimCounts, Kind
from discreet.evaluation.paths import paths
from discreet.evaluation.truth import FEWEST, Classes, Likelihood, Look, Stretch, Truth, remembered
from discreet.events import Trajectory
from discreet.listener import Progress
from discreet.models.hidden.endless import EndlessHidden
from discreet.numerics import FloatArray
from discreet.outputs import MARK, PartialEvent
from discreet.policy import Secret
from discreet.publish.person import shown
from discreet.publish.plan import Plan, cut, left_open
from discreet.publish.trajectory import stream_decision, stream_mechanism
from discreet.randomness import SeededEntropy
from discreet.session import Session

EVENTS = 10_000
"""Events that are looked at, of people chosen by lot: enough to tell two percent from three, in less than a minute. Of
a stream that is longer, so many of its first."""

EARLIER = 0.8
"""The share of everybody's events from which habits are learned that are then tried on the rest."""

FEW = 25
"""Claims below which a cell of what is shown is left out: each kind of row has its own cell, and most say nothing."""

APART = {f"{k} event{'s' * (k > 1)}": k for k in range(1, 15)}
POSITIONS = (1, 2, 3, 6, 11, 21, 51, 101)
"""Where blocks of positions begin, counted from 1."""

REMEDY = (
    "the habits are not true of these people; let the table have habits of another kind (--habits, --topics), withhold "
    "the attribute that tells the secret, or leave the table unpublished"
)

Relearn = Callable[[Sequence[Trajectory]], Plan]
"""The plan for other events of the same people, by the same rules."""


def check_table(
    plan: Plan,
    trajectories: Sequence[Trajectory],
    relearn: Relearn | None = None,
    *,
    events: int = EVENTS,
    draws: int = DRAWS,
    seed: int = 0,
    progress: Progress | None = None,
) -> Truth:
    """Whether the habits of a plan hold for these people; `relearn` learns from the earlier of their events."""
    chosen = by_lot(trajectories, events, seed)
    number = sum(map(len, chosen))
    on = f"{number} events of {len(chosen)} people"
    empty = Truth(on, (), None, REMEDY)
    if len(chosen) < FEWEST:
        return replace(empty, untested=f"too few people ({len(chosen)}; it takes {FEWEST})")
    asked: list[tuple[str, Iterator[_Piece], float | None]] = [
        ("who knows the habits alone", _unseen(plan, chosen), None),
        ("who sees the table", _seen(plan, chosen, seed, progress), None),
    ]
    later = None if relearn is None else _later(relearn, trajectories, chosen)
    if later is not None:
        asked.append(("who knows the habits of earlier events", later, len(chosen) * EARLIER / (1 - EARLIER)))
    looks: list[Look] = []
    for observer, pieces, learned_from in asked:
        found = _look(plan, pieces, len(chosen), draws, seed, ALARMS / len(asked), learned_from)
        if found.cells:
            late = f"the last fifth of the events of {len(chosen)} people"
            looks.append(Look(observer, found, learned_from is not None, on if learned_from is None else late))
    return replace(empty, looks=tuple(looks))


def by_lot(trajectories: Sequence[Trajectory], events: int, seed: int) -> list[Trajectory]:
    """People by lot, whatever their order, until they have so many events."""
    ordered = sorted(trajectories, key=lambda one: one.person)
    found, total = [], 0
    for place in np.random.default_rng(seed).permutation(len(ordered)):
        if total >= events:
            break
        found.append(ordered[place])
        total += len(ordered[place])
    return found


# --- what is seen of whom


@dataclass(frozen=True)
class _Piece:
    """Events of one person, what the habits say, and what is shown of each."""

    labels: tuple[str, ...]
    model: DayModel | EndlessHidden
    seen: Sequence[Likelihood]
    shown: Sequence[str]
    first: int = 0
    """The position of the first of them, of a stream."""

    @property
    def initial(self) -> FloatArray:
        """What the habits say of the first of them."""
        model = self.model
        return model.state_prior_at(self.first) if isinstance(model, EndlessHidden) else model.initial


def _unseen(plan: Plan, people: Sequence[Trajectory]) -> Iterator[_Piece]:
    for one in people:
        if plan.streams(len(one)):
            yield _of_stream(stream_decision(plan, one).model, _part(one, slice(0, EVENTS)))
            continue
        pieces = cut(one, plan.piece_length)
        models: dict[int, DayModel] = {}
        for piece in pieces:
            yield _hidden(plan, pieces, piece, models)


def _of_stream(model: EndlessHidden, part: Trajectory, first: int = 0) -> _Piece:
    """Events of a stream of which nothing is seen."""
    return _Piece(tuple(event.label for event in part.events), model, [None] * len(part), [], first)


def _hidden(plan: Plan, learned: Sequence[Trajectory], piece: Trajectory, models: dict[int, DayModel]) -> _Piece:
    """A piece of which nothing is seen; `models` keeps the person's by length."""
    if len(piece) not in models:
        models[len(piece)] = plan.habits.of(learned, len(piece))[0]
    labels = tuple(event.label for event in piece.events)
    return _Piece(labels, models[len(piece)], [None] * len(piece), [])


def _seen(plan: Plan, people: Sequence[Trajectory], seed: int, progress: Progress | None) -> Iterator[_Piece]:
    for number, one in enumerate(people, 1):
        own, rng = plan.of_person(one.person), entropy_of(one.person, seed)
        if plan.streams(len(one)):
            mechanism = stream_mechanism(own, stream_decision(own, one))
            if mechanism is not None:  # otherwise nothing is shown
                yield _released((mechanism, remembered(mechanism)), _part(one, slice(0, EVENTS)), rng)
            continue
        pieces = cut(one, plan.piece_length)
        made: dict[int, tuple[AnyMechanism, Any]] = {}
        for piece in pieces:
            if len(piece) not in made:
                model, events = plan.habits.of(pieces, len(piece))
                mechanism = own.mechanism.make(model, left_open(own.policy, model.contexts)[0], events=events)
                made[len(piece)] = mechanism, remembered(mechanism)
            yield _released(made[len(piece)], piece, rng)
        if progress is not None:
            progress(number, len(people))


def entropy_of(person: str, seed: int) -> SeededEntropy:
    """A stream of each person's own, so that the test comes out the same whoever else is looked at."""
    return SeededEntropy(int.from_bytes(hashlib.sha256(f"discreet:publish:{int(seed)}:{person}".encode()).digest()))


def _released(made: tuple[AnyMechanism, Any], piece: Trajectory, rng: Any) -> _Piece:
    mechanism, (first, after) = made
    labels = tuple(event.label for event in piece.events)
    seen: list[Likelihood] = []
    rows: list[str] = []
    with Session(mechanism, rng=rng) as session:
        for place, label in enumerate(labels):
            kernel = mechanism.kernel(session.state)
            output = session.release(label)
            likelihood = kernel.likelihood(output)
            seen.append(likelihood[first] if place == 0 or after is None else likelihood[after])
            rows.append(_row(shown(output)))
    return _Piece(labels, mechanism.model, seen, rows)


def _row(event: PartialEvent) -> str:
    return MARK.join("?" if value is None else value for value in (event.activity, event.time, event.location))


def _later(
    relearn: Relearn, trajectories: Sequence[Trajectory], chosen: Sequence[Trajectory]
) -> Iterator[_Piece] | None:
    """The last fifth of the chosen people's events under habits of the others; None where these cannot be learned."""
    split = {one.person: max(1, round(EARLIER * len(one))) for one in trajectories}
    earlier = [_part(one, slice(0, split[one.person])) for one in trajectories]
    later = [_part(one, slice(split[one.person], None)) for one in chosen if split[one.person] < len(one)]
    if len(later) < FEWEST:
        return None
    try:
        plan = relearn(earlier)
    except DiscreetError:  # a secret, say, that has not occurred before
        return None
    before = {one.person: one for one in earlier}

    def pieces() -> Iterator[_Piece]:
        for one in later:
            if plan.streams(len(before[one.person])):
                model = stream_decision(plan, before[one.person]).model
                yield _of_stream(model, _part(one, slice(0, EVENTS)), split[one.person])
                continue
            learned = cut(before[one.person], plan.piece_length)
            models: dict[int, DayModel] = {}
            for piece in cut(one, plan.piece_length):
                yield _hidden(plan, learned, piece, models)

    return pieces()


def _part(one: Trajectory, part: slice) -> Trajectory:
    return replace(one, events=one.events[part], timestamps=None)


# --- counted


def _look(
    plan: Plan,
    pieces: Iterator[_Piece],
    people: int,
    draws: int,
    seed: int,
    alarms: float,
    learned_from: float | None,
) -> Calibration:
    tally, rng = ClaimCounts(draws, few=FEW), np.random.default_rng(seed)
    tally.groups = people
    for piece in pieces:
        _count_piece(tally, plan.policy.secrets, piece, rng)
    delta_of = {secret.name: plan.policy.delta_of(secret) for secret in plan.policy.secrets}
    return tally.judged(delta_of, alarms=alarms, learned_from=learned_from, by_belief=learned_from is not None)


def _count_piece(tally: ClaimCounts, secrets: Sequence[Secret], piece: _Piece, rng: np.random.Generator) -> None:
    model, labels, classes = piece.model, piece.labels, Classes(secrets)
    true_class = classes.of([*labels, *model.contexts])[: len(labels)]
    in_class = classes.one_hot(model.contexts)
    emission: Any = None if model.emission(0) is None else model.emission
    found = paths(Stretch(piece.initial, model.transition, emission, in_class, piece.seen), tally.draws, rng)
    positions = [position(piece.first + k) for k in range(len(labels))]
    places: list[tuple[Kind, Sequence[str]]] = [("position", positions)]
    if piece.shown:
        places.append(("shown", piece.shown))
    for g, secret in enumerate(secrets):
        member = classes.members(g, in_class.shape[1])
        belief, true, drawn = found.beliefs @ member, member[true_class], member[found.draws]
        if secret.at == "any":
            tally.add_any(secret.name, true, drawn)
            continue
        tally.add(secret.name, belief, true, drawn, places)
        if not piece.shown:
            tally.add_apart(secret.name, np.ones(len(labels), dtype=np.bool_), true, drawn, APART)


def position(place: int) -> str:
    """The block of positions that a place, counted from 0, is in."""
    block = max(k for k, first in enumerate(POSITIONS) if first <= place + 1)
    first = POSITIONS[block]
    if block + 1 == len(POSITIONS):
        return f"positions from {first} on"
    last = POSITIONS[block + 1] - 1
    return f"position {first}" if first == last else f"positions {first} to {last}"
