"""Days released under a mechanism, a moment at a time: what evaluations, tables, pages and experiments are made of.

Whoever judges only looks on. A session runs with the mechanism's own habits, which say whether a reading is possible; a
judge who knows others follows the likelihoods of the same outputs beside it. What is released is hence the same for
every judge, and so are the draws.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from discreet.adversary.belief import Adversary, Belief
from discreet.adversary.endless_belief import EndlessBelief
from discreet.contexts import Day
from discreet.contracts import Mechanism, Rng
from discreet.errors import DiscreetError
from discreet.given import words_for
from discreet.outputs import Output
from discreet.policy import Policy
from discreet.session import Session

Judged = TypeVar("Judged", Belief, EndlessBelief)
"""What a judge of one day believes, or of days without end."""


class Moment(NamedTuple, Generic[Judged]):
    """One slot of a day: what was true, what was output, and what the judge believes after it."""

    day: Day
    slot: int
    context: str
    output: Output
    belief: Judged
    seconds: float  # of Session.release: kernel, draw, advance, and the belief that the session keeps
    off_model: bool  # the mechanism's model has no place for the reading, or the judge's has none for the output

    @property
    def ends_day(self) -> bool:
        """Whether this is the day's last slot."""
        return self.slot + 1 == len(self.day)


def replay(
    mechanism: Mechanism[Any], days: Iterable[Day], *, rng: Rng, judge: Adversary | None = None
) -> Iterator[Moment[Belief]]:
    """Release each day once, in a session of its own, and say after each slot what `judge` believes.

    The judge is by default one who knows the mechanism's model and looks for its policy's secrets.
    """
    watching = Adversary(mechanism) if judge is None else judge
    # Other habits than the mechanism's: its own say what is possible, and they look for no secret, hence are quick.
    own = watching if watching.model is mechanism.model else Adversary(mechanism, policy=Policy())
    for day in days:
        require_slots(day, mechanism.model.slots)
        session = Session(mechanism, rng=rng, adversary=own)
        yield from watched(day, session) if own is watching else _judged(day, session, watching)


def require_slots(day: Day, slots: int) -> None:
    """Refuse a day of another number of slots than the model's."""
    if not isinstance(day, Day):
        raise DiscreetError(f"a day is {words_for(day)}; give Day(contexts, date=...)")
    if len(day) != slots:
        raise DiscreetError(
            f"the day of {day.person or 'a person'} on {day.date or 'an unknown date'} has {len(day)} slots, "
            f"the model {slots}; cut the days with the clock that the model was learned with"
        )


def watched(day: Day, session: Session) -> Iterator[Moment[Belief]]:
    """A day whose judge's belief is the one that the session keeps."""
    with session:
        for slot in range(len(day)):
            yield released(day, slot, session)


def released(day: Day, slot: int, session: Session) -> Moment[Any]:
    """One slot released by a session, whose belief is the judge's."""
    context, before = day.contexts[slot], session.off_model
    started = time.perf_counter()
    output = session.release(context)
    seconds = time.perf_counter() - started
    belief = session.belief
    return Moment(day, slot, context, output, belief, seconds, session.off_model > before or belief.off_model)


def _judged(day: Day, session: Session, judge: Adversary) -> Iterator[Moment[Belief]]:
    """A day whose judge holds other habits than the mechanism: Bayes beside the session, with the same likelihoods."""
    mechanism = session.mechanism
    state, belief = mechanism.start(), judge.start()
    for moment in watched(day, session):
        belief = belief.after(mechanism.kernel(state).likelihood(moment.output))
        state = mechanism.advance(state, moment.output)
        yield moment._replace(belief=belief, off_model=moment.off_model or belief.off_model)
