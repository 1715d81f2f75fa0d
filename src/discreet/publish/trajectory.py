"""A person's events as one stream, over a hidden Markov model without end: the belief is carried over to the last one.

Nothing is cut, so there are no pieces that an observer could join. The mechanism keeps the rows that are still live
(`adversary.endless`), and the judge those on which hidden states still differ (`adversary.trajectory`): memory does not
grow with the length of the trajectory, but for what is shown of each event.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from discreet.adversary.known import Known, Row, known_of
from discreet.adversary.trajectory import TrajectoryJudge, times
from discreet.errors import HorizonError
from discreet.events import Events, Trajectory
from discreet.models.hidden.endless import EndlessHidden
from discreet.numerics import FloatArray
from discreet.outputs import SUPPRESSED, Output, truthful
from discreet.policy import Guarantee, Policy
from discreet.publish.draws import PieceDraws, RunKey, stream_decision_of
from discreet.publish.mechanism_cache import MechanismCache
from discreet.publish.plan import Plan, cut, endless_of, left_open
from discreet.publish.report import PieceReport
from discreet.session import Session

SILENCE = Guarantee(
    "exact delta",
    "nothing is shown: habits this regular tell of secrets too far ahead for a stream to be decided",
    covers=frozenset({"each", "any"}),
)


class Streamed(NamedTuple):
    """What was output for a trajectory, how much of each event is told, and what all of it tells."""

    outputs: Sequence[Output]
    worth: array[float]
    report: PieceReport


class StreamDecision(NamedTuple):
    """What a stream's mechanism is made from."""

    model: EndlessHidden
    events: Events
    policy: Policy
    """The secrets that the habits leave open."""
    held: Policy
    """The same as the mechanism holds them: a secret at="any" has the positions of the trajectory for a window."""
    certain: bool
    decision: str


@dataclass(eq=False)
class MadeStream:
    """What publishes streams under one model: made once, used by all who share it."""

    mechanism: Any
    """None where the habits are too regular for one: then nothing is shown."""
    walk: None = None
    parts: None = None


def stream_decision(plan: Plan, trajectory: Trajectory, tables: MechanismCache | None = None) -> StreamDecision:
    """What is decided before the first event of a trajectory; its length is public, as in the table."""
    day, events = plan.habits.of(cut(trajectory, None), 2)
    length = len(trajectory)

    def decide() -> StreamDecision:
        model = endless_of(day)
        policy, certain = left_open(plan.policy, model.contexts)
        held = replace(policy, secrets=tuple(_within(secret, length) for secret in policy.secrets))
        decision = stream_decision_of(model, held, plan.mechanism, events)
        return StreamDecision(model, events, policy, held, certain, decision)

    windows = any(secret.at == "any" for secret in plan.policy.secrets)
    if tables is None or windows:  # others of the same habits have other lengths
        return decide()
    return tables.decided((day, events, plan), decide)


def _within(secret: Any, length: int) -> Any:
    return replace(secret, slots=frozenset(range(length))) if secret.at == "any" else secret


def stream_mechanism(plan: Plan, decided: StreamDecision) -> Any:
    """The mechanism; None where the habits are too regular for one."""
    model: Any = decided.model  # mechanisms by name are declared for days
    try:
        return plan.mechanism.make(model, decided.held, events=decided.events)
    except HorizonError:
        return None


def streamed(
    plan: Plan,
    decided: StreamDecision,
    person: str,
    labels: Sequence[str],
    key: RunKey,
    tables: MechanismCache | None = None,
) -> Streamed:
    """Publish one person's events, which have these labels."""

    def make() -> MadeStream:
        return MadeStream(stream_mechanism(plan, decided))

    mechanism = (make() if tables is None else tables.get(decided.decision, make)).mechanism
    judge = TrajectoryJudge(decided.model, decided.policy)
    off_model = 0
    if mechanism is None:
        outputs, worth = _silent(judge, decided.model, len(labels))
    else:
        outputs, worth, off_model = _run(mechanism, judge, labels, key.piece(person, 0, decided.decision))
    judge.end()
    guarantee = SILENCE if mechanism is None else mechanism.guarantee
    return Streamed(outputs, worth, _report(plan, decided, judge, off_model, guarantee))


def _run(
    mechanism: Any, judge: TrajectoryJudge, labels: Sequence[str], draws: PieceDraws
) -> tuple[list[Output], array[float], int]:
    """All events from the first to the last, and the judge beside it."""
    outputs: list[Output] = []
    worth, known, off_model = array("d"), dict[tuple[str, Output], float](), 0
    judge.begin(mechanism)
    remembers = len(mechanism.private_contexts) > len(mechanism.model.contexts)
    for label, told in zip(labels, (_by_session if remembers else _by_states)(mechanism, labels, draws), strict=True):
        judge.after(told.likelihood)
        if (label, told.output) not in known:
            known[label, told.output] = truthful(label, told.output)
        outputs.append(told.output)
        worth.append(known[label, told.output])
        off_model += told.off_model
    return outputs, worth, off_model


class _Shown(NamedTuple):
    """What was output for an event, its likelihood, and whether the habits have no place for the event or for it."""

    output: Output
    likelihood: FloatArray
    off_model: bool


def _by_session(mechanism: Any, labels: Sequence[str], draws: PieceDraws) -> Iterator[_Shown]:
    """By a session, which knows what to do where memory is lost."""
    with Session(mechanism, rng=draws) as session:
        for position, label in enumerate(labels):
            draws.at(position)
            kernel, before = session.kernel, session.off_model
            output = session.release(label)
            yield _Shown(output, kernel.likelihood(output), session.off_model > before or session.belief.off_model)


def _by_states(mechanism: Any, labels: Sequence[str], draws: PieceDraws) -> Iterator[_Shown]:
    """The same where nothing is remembered: the rows that a session gives, without what it keeps to be resumed."""
    model, state = mechanism.model, mechanism.start()
    codes, emitted = {label: code for code, label in enumerate(model.contexts)}, model.emissions > 0
    for position, label in enumerate(labels):
        draws.at(position)
        kernel, code = mechanism.kernel(state), codes.get(label)
        possible = code is not None and bool((state.belief.stack[0] > 0)[emitted[:, code]].any())
        output = kernel.sample(code, draws) if possible else SUPPRESSED
        state = mechanism.advance(state, output)
        yield _Shown(output, kernel.likelihood(output), not possible or state.belief.off_model)


class _Silent:
    """Says nothing whatever is true: a machine for a judge to follow."""

    def __init__(self, model: EndlessHidden) -> None:
        self.model = model
        self.private_contexts = np.arange(len(model.contexts))

    def remember(self, memory: int | None, context: int) -> int:
        return context


def _silent(judge: TrajectoryJudge, model: EndlessHidden, events: int) -> tuple[list[Output], array[float]]:
    judge.begin(_Silent(model))
    for _ in range(events):
        judge.after(np.ones(len(model.contexts)))
    return [SUPPRESSED] * events, array("d", bytes(8 * events))


def _report(
    plan: Plan, decided: StreamDecision, judge: TrajectoryJudge, off_model: int, guarantee: Guarantee
) -> PieceReport:
    return PieceReport(
        events=judge.events,
        breached=judge.breached,
        settled=judge.events if decided.certain else judge.settled,
        off_model=off_model,
        by_secret=judge.by_secret,
        excess_by_secret=judge.excess_by_secret,
        known=_known(plan.policy, decided, judge),
        guarantee=guarantee,
    )


def _known(policy: Policy, decided: StreamDecision, judge: TrajectoryJudge) -> tuple[Known, ...]:
    """What habits alone tell of each secret, of those too that they leave no doubt of, in the order of the policy."""
    found = {one.name: one for one in judge.known}
    contexts = frozenset(decided.model.contexts)
    for secret in policy.secrets:
        if secret.name not in found:
            anytime, prior = secret.at == "any", 1.0 if contexts <= secret.contexts else 0.0
            (one,) = known_of(policy, [Row(secret.name, None if anytime else 0, prior)])
            found[secret.name] = replace(times(one, 1 if anytime else judge.events), told_at=(), uncapped_at=())
    return tuple(found[secret.name] for secret in policy.secrets)
