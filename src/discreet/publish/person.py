"""Publishing one person: events, plan and chance in, rows and what they tell out.

Nothing else is read or written, and all of it pickles, so that people can be published in any order, by any process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.adversary.belief import Adversary
from discreet.adversary.known import Known, Row, known_of, rows_of
from discreet.contexts import Day
from discreet.contracts import Mechanism, Rng
from discreet.errors import DiscreetError
from discreet.evaluation.replay import replay
from discreet.events import Event, Trajectory
from discreet.numerics import BoolArray, IntArray, exceeds
from discreet.outputs import Output, PartialEvent, Released, Suppressed, truthful
from discreet.policy import Policy
from discreet.publish.plan import Plan, cut, settled
from discreet.publish.report import PersonReport, PieceReport
from discreet.randomness import SeededEntropy, SystemEntropy

NOTHING = PartialEvent()


def entropy_of(person: str, seed: int | None) -> Rng:
    """Where a person's draws come from: the operating system, or with a run's seed a repeatable stream of their own.

    The stream's seed is SHA-256 of "discreet:publish:SEED:PERSON" in UTF-8, read as a big-endian number. So a person's
    draws depend neither on who else is published nor on the order, and a seed hides nothing (`SeededEntropy`).
    """
    if seed is None:
        return SystemEntropy()
    return SeededEntropy(int.from_bytes(hashlib.sha256(f"discreet:publish:{int(seed)}:{person}".encode()).digest()))


def publish_person(plan: Plan, trajectory: Trajectory, rng: Rng) -> tuple[tuple[PartialEvent, ...], PersonReport]:
    """What is shown of each of one person's events, and what the whole of it tells."""
    pieces = cut(trajectory, plan.piece_length)
    outputs: list[Output] = []
    reports: list[PieceReport] = []
    made: dict[int, tuple[Mechanism[Any], Adversary, bool, tuple[Known, ...]]] = {}
    for piece in pieces:
        if len(piece) not in made:
            made[len(piece)] = _made(plan, pieces, len(piece))
        mechanism, adversary, certain, known = made[len(piece)]
        own, report = publish_piece(mechanism, adversary, piece, rng, certain=certain, known=known)
        outputs += own
        reports.append(report)
    rows = tuple(map(shown, outputs))
    return rows, PersonReport.of(
        trajectory.person,
        reports,
        attributes=sum(truthful(event.label, output) for event, output in zip(trajectory.events, outputs, strict=True)),
        silent=rows.count(NOTHING),
    )


def _made(
    plan: Plan, pieces: Sequence[Trajectory], slots: int
) -> tuple[Mechanism[Any], Adversary, bool, tuple[Known, ...]]:
    model, events = plan.habits.of(pieces, slots)
    policy, certain = settled(plan.policy, model.contexts)
    mechanism = plan.mechanism.make(model, policy, events=events)
    adversary = Adversary(mechanism)
    return mechanism, adversary, certain, known_before(plan.policy, adversary)


def known_before(policy: Policy, adversary: Adversary) -> tuple[Known, ...]:
    """What habits alone tell of each secret, of those too that they leave no doubt of (`settled`)."""
    doubted, labels = set(adversary.secrets.names), frozenset(adversary.model.contexts)
    rows: list[Row] = rows_of(adversary)
    for secret in policy.secrets:
        if secret.name not in doubted:
            prior = 1.0 if labels <= secret.contexts else 0.0
            slots = (None,) if secret.at == "any" else range(adversary.process.slots)
            rows += [Row(secret.name, slot, prior) for slot in slots]
    return known_of(policy, rows)


def publish_piece(
    mechanism: Mechanism[Any],
    adversary: Adversary,
    piece: Trajectory,
    rng: Rng,
    *,
    certain: bool = False,
    known: tuple[Known, ...] | None = None,
) -> tuple[list[Output], PieceReport]:
    """The outputs for the events of one piece, as long as the mechanism's model, and what all of them tell.

    `certain` says that the habits leave no doubt of some secret (`settled`), so that every position is settled. `known`
    is what they tell of all secrets; by default of those that the adversary knows.
    """
    day = Day(tuple(event.label for event in piece.events), person=piece.person)
    moments = list(replay(mechanism, [day], rng=rng, judge=adversary))
    gains = moments[-1].belief.gains
    return [moment.output for moment in moments], PieceReport(
        events=len(piece),
        breached=_positions(adversary, exceeds(gains, adversary.deltas)),
        settled=len(piece) if certain else _positions(adversary, adversary.priors + adversary.deltas >= 1),
        off_model=sum(moment.off_model for moment in moments),
        by_secret=adversary.worst_by_secret(gains),
        excess_by_secret=adversary.worst_by_secret(gains - adversary.deltas),
        known=known_of(adversary.secrets.policy, rows_of(adversary)) if known is None else known,
        guarantee=mechanism.guarantee,
    )


def _positions(adversary: Adversary, rows: BoolArray) -> int:
    """How many positions have one of these rows; a secret at="any" is about all of them."""
    each: IntArray = adversary.row_slot[rows[: len(adversary.row_slot)]]
    return adversary.process.slots if rows[len(adversary.row_slot) :].any() else len(np.unique(each))


def shown(output: Output) -> PartialEvent:
    """An output as a row of the table shows it."""
    match output:
        case PartialEvent():
            return output
        case Released(label):
            return PartialEvent(*Event.of(label).values)
        case Suppressed():
            return NOTHING
    raise DiscreetError(
        f"{output!r} cannot stand in a table of events; use a mechanism that publishes events or parts of them"
    )
