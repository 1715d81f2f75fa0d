"""Publishing one person: events, plan and the run's key in, rows and what they tell out.

Nothing else is read or written, and all of it pickles, so that people can be published in any order, by any process,
and again where a process has failed: the draws are then the same (`draws`).
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain
from typing import Any, NamedTuple

from discreet.adversary.belief import Adversary
from discreet.adversary.known import Known, Row, known_of, merged, rows_of
from discreet.contexts import Day
from discreet.contracts import DayModel, Mechanism, Rng
from discreet.errors import DiscreetError
from discreet.evaluation.replay import replay
from discreet.events import Event, Events, Trajectory
from discreet.numerics import FloatArray, digest_of, exceeds
from discreet.outputs import Output, PartialEvent, Released, Suppressed, truthful
from discreet.policy import Policy
from discreet.publish.draws import PieceDraws, RunKey, build, decision_of
from discreet.publish.mechanism_cache import Made, MechanismCache
from discreet.publish.plan import Plan, cut, left_open
from discreet.publish.report import PersonReport, PieceReport, largest_of, weakest
from discreet.publish.trajectory import stream_decision, streamed
from discreet.publish.walk import Judge, Parts

NOTHING = PartialEvent()

LABELS = 1_000
"""That are written down at a time, to be digested."""


class PublishedPerson(NamedTuple):
    """One person: what is shown of each event, what the whole of it tells, and what it was made from."""

    rows: tuple[PartialEvent, ...]
    report: PersonReport
    given: str
    """A digest of person, events, plan and build: all but the key. Whoever has an equal one is published equally."""


def publish_person(
    plan: Plan, trajectory: Trajectory, key: RunKey, tables: MechanismCache | None = None
) -> tuple[tuple[PartialEvent, ...], PersonReport]:
    """What is shown of each of one person's events, and what the whole of it tells.

    A function of plan, events and key alone: `tables` keeps what people share, and changes nothing but the time.
    """
    return published(plan, trajectory, key, tables)[:2]


def published(plan: Plan, trajectory: Trajectory, key: RunKey, tables: MechanismCache | None = None) -> PublishedPerson:
    """The same, with what it was made from: one stream, or pieces that are published one after another.

    What is kept of each event is its row, where equal ones are one object, and what it is worth: 60 bytes an event, its
    label and the trajectory included.
    """
    plan = plan.of_person(trajectory.person)
    if plan.streams(len(trajectory)):
        return _published_whole(plan, trajectory, key, tables)
    pieces = cut(trajectory, plan.piece_length)
    own = {slots: _Own(plan, pieces, slots, tables) for slots in _lengths(pieces)}
    every = _labels(trajectory)
    rows: list[PartialEvent] = []
    worth = array("d")
    told: PieceReport | None = None
    for number, piece in enumerate(pieces):
        made, parts = own[len(piece)].made, own[len(piece)].parts
        draws = key.piece(trajectory.person, number, made.decision)
        labels = every[len(rows) : len(rows) + len(piece)]
        walked = None if made.walk is None else made.walk.walked(labels, draws, parts)
        if walked is not None:
            seen, worths, report = walked.outputs, walked.worth, _report(made, walked.gains)
        else:
            seen, report = publish_piece(*parts(), piece, draws, certain=made.certain, known=made.known)
            worths = list(map(truthful, labels, seen))
        rows += map(shown, seen)
        worth.extend(worths)
        told = report if told is None else joined(told, report)
    assert told is not None  # nobody has no events
    if tables is not None:
        tables.person_done()
    person = PersonReport.of(trajectory.person, [told], attributes=sum(worth), silent=rows.count(NOTHING))
    given = _given(plan, trajectory.person, every, [one.made.decision for one in own.values()])
    return PublishedPerson(tuple(rows), replace(person, pieces=len(pieces)), given)


def _published_whole(plan: Plan, trajectory: Trajectory, key: RunKey, tables: MechanismCache | None) -> PublishedPerson:
    """One stream from the first event to the last."""
    labels, decided = _labels(trajectory), stream_decision(plan, trajectory, tables)
    found = streamed(plan, decided, trajectory.person, labels, key, tables)
    rows = tuple(map(shown, found.outputs))
    if tables is not None:
        tables.person_done()
    attributes, silent = sum(found.worth), rows.count(NOTHING)
    report = PersonReport.of(trajectory.person, [found.report], attributes=attributes, silent=silent)
    return PublishedPerson(rows, report, _given(plan, trajectory.person, labels, [decided.decision]))


def _labels(trajectory: Trajectory) -> list[str]:
    """The label of each event; events that are one object have one, however often they happen."""
    different = {id(event): event for event in trajectory.events}
    label = {known: event.label for known, event in different.items()}
    return [label[id(event)] for event in trajectory.events]


def joined(one: PieceReport, other: PieceReport) -> PieceReport:
    """What two pieces tell, as `PersonReport.of` takes them together: those of a person may be joined before it."""
    return PieceReport(
        events=one.events + other.events,
        breached=one.breached + other.breached,
        settled=one.settled + other.settled,
        off_model=one.off_model + other.off_model,
        by_secret=largest_of((one.by_secret, other.by_secret)),
        excess_by_secret=largest_of((one.excess_by_secret, other.excess_by_secret)),
        known=merged((one.known, other.known)),
        guarantee=weakest((one.guarantee, other.guarantee)),
    )


def given_of(plan: Plan, trajectory: Trajectory) -> str:
    """`PublishedPerson.given` before anything is published."""
    plan = plan.of_person(trajectory.person)
    if plan.streams(len(trajectory)):
        decision = stream_decision(plan, trajectory).decision
        return _given(plan, trajectory.person, _labels(trajectory), [decision])
    pieces = cut(trajectory, plan.piece_length)
    decisions = [_decided(plan, pieces, slots).decision for slots in _lengths(pieces)]
    return _given(plan, trajectory.person, _labels(trajectory), decisions)


def _given(plan: Plan, person: str, labels: Sequence[str], decisions: Sequence[str]) -> str:
    parts = [person, len(labels), plan.piece_length, plan.policy.fingerprint, list(decisions), build()]
    some = (labels[start : start + LABELS] for start in range(0, len(labels), LABELS))  # a text of all would be long
    return digest_of(chain(parts, some)).hex()


def _lengths(pieces: Sequence[Trajectory]) -> list[int]:
    """The lengths that a person's pieces have: at most two."""
    return list(dict.fromkeys(map(len, pieces)))


class _Decided(NamedTuple):
    """What a mechanism is made from."""

    model: DayModel
    events: Events
    policy: Policy
    certain: bool
    decision: str


def _decided(plan: Plan, pieces: Sequence[Trajectory], slots: int, tables: MechanismCache | None = None) -> _Decided:
    model, events = plan.habits.of(pieces, slots)

    def decide() -> _Decided:
        policy, certain = left_open(plan.policy, model.contexts)
        return _Decided(model, events, policy, certain, decision_of(model, policy, plan.mechanism, events))

    # Habits that many people share are often one object: a digest of all their numbers is made once.
    return decide() if tables is None else tables.decided((model, events, plan), decide)


class _Own:
    """What publishes pieces of one length of one person, some of it perhaps made for others who are alike."""

    def __init__(self, plan: Plan, pieces: Sequence[Trajectory], slots: int, tables: MechanismCache | None) -> None:
        self._plan, self._tables = plan, tables
        self._decided = _decided(plan, pieces, slots, tables)
        # What habits alone tell is told of all secrets, of those too that the decision leaves out.
        self._source = self._decided.decision + plan.policy.fingerprint
        self.made: Made = self._make() if tables is None else tables.get(self._source, self._make)
        self._parts = self.made.parts  # as long as this person is published, whoever has no room for them

    def parts(self) -> Parts:
        """Mechanism and adversary, made now where they were laid aside."""
        if self._parts is None:
            new = self._new if self._tables is None else partial(self._tables.again, self._source, self._new)
            self._parts = new()
        return self._parts

    def _new(self) -> Parts:
        model, events, policy, _, _ = self._decided
        mechanism = self._plan.mechanism.make(model, policy, events=events)
        return Parts(mechanism, Adversary(mechanism))

    def _make(self) -> Made:
        parts = self._new()
        known = known_before(self._plan.policy, parts.adversary)
        return Made.of(self._decided.decision, parts, certain=self._decided.certain, known=known)


def known_before(policy: Policy, adversary: Adversary) -> tuple[Known, ...]:
    """What habits alone tell of each secret, of those too that they leave no doubt of (`left_open`)."""
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

    `certain` says that the habits leave no doubt of some secret (`left_open`), so that every position is settled.
    `known` is what they tell of all secrets; by default of those that the adversary knows. `PieceDraws` are moved on
    from slot to slot.
    """
    day = Day(tuple(event.label for event in piece.events), person=piece.person)
    coming = replay(mechanism, [day], rng=rng, judge=adversary)
    moments = []
    for slot in range(len(piece)):
        if isinstance(rng, PieceDraws):
            rng.at(slot)
        moments.append(next(coming))  # a slot is drawn when it is asked for
    told = known_of(adversary.secrets.policy, rows_of(adversary)) if known is None else known
    made = Made("", certain, told, mechanism.guarantee, Judge(adversary), None, None)
    off_model = sum(moment.off_model for moment in moments)
    return [moment.output for moment in moments], _report(made, moments[-1].belief.gains, off_model)


def _report(made: Made, gains: FloatArray, off_model: int = 0) -> PieceReport:
    """What a piece tells whose observer has gained this at its end."""
    judge = made.judge
    return PieceReport(
        events=judge.slots,
        breached=judge.positions(exceeds(gains, judge.deltas)),
        settled=made.settled,
        off_model=off_model,
        by_secret=judge.worst_by_secret(gains),
        excess_by_secret=judge.worst_by_secret(gains - judge.deltas),
        known=made.known,
        guarantee=made.guarantee,
    )


def shown(output: Output) -> PartialEvent:
    """An output as a row of the table shows it."""
    match output:
        case PartialEvent():
            return output
        case Released(label):
            return _whole(label)
        case Suppressed():
            return NOTHING
    raise DiscreetError(
        f"{output!r} cannot stand in a table of events; use a mechanism that publishes events or parts of them"
    )


@lru_cache(4096)
def _whole(label: str) -> PartialEvent:
    """An event that is shown whole: one object, however often it happens."""
    return PartialEvent(*Event.of(label).values)
