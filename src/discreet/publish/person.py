"""Publishing one person: events, plan and the run's key in, rows and what they tell out.

Nothing else is read or written, and all of it pickles, so that people can be published in any order, by any process,
and again where a process has failed: the draws are then the same (`draws`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from discreet.adversary.belief import Adversary
from discreet.adversary.known import Known, Row, known_of, rows_of
from discreet.contexts import Day
from discreet.contracts import Mechanism, Model, Rng
from discreet.errors import DiscreetError
from discreet.evaluation.replay import replay
from discreet.events import Event, Events, Trajectory
from discreet.numerics import FloatArray, digest_of, exceeds
from discreet.outputs import Output, PartialEvent, Released, Suppressed, truthful
from discreet.policy import Policy
from discreet.publish.draws import PieceDraws, RunKey, build, decision_of
from discreet.publish.plan import Plan, cut, settled
from discreet.publish.report import PersonReport, PieceReport
from discreet.publish.tables import Made, Tables, positions
from discreet.publish.walk import Walk

NOTHING = PartialEvent()


class Published(NamedTuple):
    """One person: what is shown of each event, what the whole of it tells, and what it was made from."""

    rows: tuple[PartialEvent, ...]
    report: PersonReport
    given: str
    """A digest of person, events, plan and build: all but the key. Whoever has an equal one is published equally."""


def publish_person(
    plan: Plan, trajectory: Trajectory, key: RunKey, tables: Tables | None = None
) -> tuple[tuple[PartialEvent, ...], PersonReport]:
    """What is shown of each of one person's events, and what the whole of it tells.

    A function of plan, events and key alone: `tables` keeps what people share, and changes nothing but the time.
    """
    return published(plan, trajectory, key, tables)[:2]


def published(plan: Plan, trajectory: Trajectory, key: RunKey, tables: Tables | None = None) -> Published:
    """The same, with what it was made from."""
    pieces = cut(trajectory, plan.piece_length)
    own = {slots: _made(plan, pieces, slots, tables) for slots in _lengths(pieces)}
    every = [event.label for event in trajectory.events]
    outputs: list[Output] = []
    worth: list[float] = []
    reports: list[PieceReport] = []
    for number, piece in enumerate(pieces):
        made = own[len(piece)]
        draws = key.piece(trajectory.person, number, made.decision)
        labels = every[len(outputs) : len(outputs) + len(piece)]
        walked = None if made.walk is None else made.walk.walked(labels, draws)
        if walked is not None:
            seen, told, report = walked.outputs, walked.worth, _report(made, walked.gains)
        else:
            seen, report = publish_piece(
                made.mechanism, made.adversary, piece, draws, certain=made.certain, known=made.known
            )
            told = list(map(truthful, labels, seen))
        outputs += seen
        worth += told
        reports.append(report)
    rows = tuple(map(shown, outputs))
    person = PersonReport.of(trajectory.person, reports, attributes=sum(worth), silent=rows.count(NOTHING))
    return Published(rows, person, _given(plan, trajectory.person, every, [made.decision for made in own.values()]))


def given_of(plan: Plan, trajectory: Trajectory) -> str:
    """`Published.given` before anything is published."""
    pieces = cut(trajectory, plan.piece_length)
    labels = [event.label for event in trajectory.events]
    decisions = [_decided(plan, pieces, slots).decision for slots in _lengths(pieces)]
    return _given(plan, trajectory.person, labels, decisions)


def _given(plan: Plan, person: str, labels: Sequence[str], decisions: Sequence[str]) -> str:
    parts = [person, list(labels), plan.piece_length, plan.policy.fingerprint, list(decisions), build()]
    return digest_of(parts).hex()


def _lengths(pieces: Sequence[Trajectory]) -> list[int]:
    """The lengths that a person's pieces have: at most two."""
    return list(dict.fromkeys(map(len, pieces)))


class _Decided(NamedTuple):
    """What a mechanism is made from."""

    model: Model
    events: Events
    policy: Policy
    certain: bool
    decision: str


def _decided(plan: Plan, pieces: Sequence[Trajectory], slots: int, tables: Tables | None = None) -> _Decided:
    model, events = plan.habits.of(pieces, slots)

    def decide() -> _Decided:
        policy, certain = settled(plan.policy, model.contexts)
        return _Decided(model, events, policy, certain, decision_of(model, policy, plan.mechanism, events))

    # Habits that many people share are often one object: a digest of all their numbers is made once.
    return decide() if tables is None else tables.decided((model, events, plan), decide)


def _made(plan: Plan, pieces: Sequence[Trajectory], slots: int, tables: Tables | None) -> Made:
    model, events, policy, certain, decision = _decided(plan, pieces, slots, tables)

    def make() -> Made:
        mechanism = plan.mechanism.make(model, policy, events=events)
        adversary = Adversary(mechanism)
        known = known_before(plan.policy, adversary)
        return Made(decision, mechanism, adversary, certain, known, Walk.of(mechanism, adversary))

    # What habits alone tell is told of all secrets, of those too that the decision leaves out.
    return make() if tables is None else tables.get(decision + plan.policy.fingerprint, make)


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
    is what they tell of all secrets; by default of those that the adversary knows. `PieceDraws` are moved on from slot
    to slot.
    """
    day = Day(tuple(event.label for event in piece.events), person=piece.person)
    coming = replay(mechanism, [day], rng=rng, judge=adversary)
    moments = []
    for slot in range(len(piece)):
        if isinstance(rng, PieceDraws):
            rng.at(slot)
        moments.append(next(coming))  # a slot is drawn when it is asked for
    told = known_of(adversary.secrets.policy, rows_of(adversary)) if known is None else known
    made = Made("", mechanism, adversary, certain, told)
    off_model = sum(moment.off_model for moment in moments)
    return [moment.output for moment in moments], _report(made, moments[-1].belief.gains, off_model)


def _report(made: Made, gains: FloatArray, off_model: int = 0) -> PieceReport:
    """What a piece tells whose observer has gained this at its end."""
    adversary = made.adversary
    return PieceReport(
        events=adversary.process.slots,
        breached=positions(adversary, exceeds(gains, adversary.deltas)),
        settled=made.settled,
        off_model=off_model,
        by_secret=adversary.worst_by_secret(gains),
        excess_by_secret=adversary.worst_by_secret(gains - adversary.deltas),
        known=made.known,
        guarantee=made.mechanism.guarantee,
    )


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
