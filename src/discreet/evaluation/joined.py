"""Days released as one stream, and judged over midnight by who knows how nights join them (theory, section 10).

A mechanism without end goes on from date to date. A day's mechanism starts anew on each, but the observer does not.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from discreet.adversary.belief import Adversary
from discreet.adversary.endless import EndlessAdversary
from discreet.adversary.endless_belief import EndlessBelief
from discreet.adversary.unrolled import Daily, DaysJoined
from discreet.contexts import Day
from discreet.contracts import Rng
from discreet.errors import DiscreetError
from discreet.evaluation.replay import Moment, released, require_slots, watched
from discreet.models.kinds import ONE_DAY
from discreet.models.routine.parts import AnyRoutine
from discreet.policy import Policy
from discreet.session import Session

Moments = Iterator[Moment[EndlessBelief]]


def streams(days: Iterable[Day], slots: int, contexts: Sequence[str]) -> dict[str | None, list[Day]]:
    """Each person's days, in order, with labels as the habits know them; dates that repeat or go back are an error."""
    people: dict[str | None, list[Day]] = {}
    for day in days:
        require_slots(day, slots)
        if day.date is None:
            raise DiscreetError("a day has no date, and days are joined by theirs; give Day(..., date=...)")
        before = people.setdefault(day.person, [])
        if before and day.date <= _date(before[-1]):
            raise DiscreetError(
                f"{day.date} of {day.person or 'a person'} comes after {before[-1].date}; sort days, and give each "
                "date once"
            )
        before.append(day.fitted(contexts))
    return people


def without_end(
    mechanism: Any, days: Sequence[Day], *, rng: Rng, policy: Policy | None = None, model: AnyRoutine | None = None
) -> Moments:
    """One person's days by a mechanism without end, from the first date on; a date without a day is skipped slots.

    `policy` and `model` are the judge's, where they are not the mechanism's own: what is released is the same for all.
    """
    judges = {} if policy is None and model is None else {"judge": model}
    for moment, beliefs in before_several(mechanism, days, judges, rng=rng, policy=policy):
        belief = beliefs.get("judge", moment.belief)
        yield moment._replace(belief=belief, off_model=moment.off_model or belief.off_model)


def before_several(
    mechanism: Any,
    days: Sequence[Day],
    judges: Mapping[str, AnyRoutine | None],
    *,
    rng: Rng,
    policy: Policy | None = None,
) -> Iterator[tuple[Moment[EndlessBelief], Mapping[str, EndlessBelief]]]:
    """The same, each moment with what every judge believes after it; None for habits are the mechanism's own."""
    first = _date(days[0])
    own = mechanism.model
    running = mechanism if own.start == first and own.first == 0 else mechanism.since(first)
    session = Session(running, rng=rng)
    watching = {
        name: _Beside(running, EndlessAdversary(running, None if model is None else model.since(first), policy))
        for name, model in judges.items()
    }
    with session:
        following = first
        for day in days:
            for _ in range((_date(day) - following).days * own.day_slots):
                session.skip()
                for judge in watching.values():
                    judge.skip()
            for slot in range(len(day)):
                kernel = running.kernel(session.state) if watching else None
                moment: Moment[EndlessBelief] = released(day, slot, session)
                likelihood = None if kernel is None else kernel.likelihood(moment.output)
                yield moment, {name: judge.saw(likelihood) for name, judge in watching.items()}
            following = _date(day) + ONE_DAY


def trajectories(mechanism: Any, days: Iterable[Day], *, rng: Rng) -> Moments:
    """Each day as a trajectory of its own, from the first position of a mechanism over positions without end."""
    for day in days:
        with Session(mechanism, rng=rng) as session:
            for slot in range(len(day)):
                yield released(day, slot, session)


class _Beside:
    """A judge with habits or secrets of their own in mind: Bayes beside the session, with the same likelihoods."""

    def __init__(self, mechanism: Any, adversary: EndlessAdversary) -> None:
        self._tells_nothing = np.ones(len(mechanism.private_contexts))
        self.belief = adversary.start()

    def saw(self, likelihood: Any) -> EndlessBelief:
        self.belief = self.belief.after(likelihood)
        return self.belief

    def skip(self) -> None:
        self.saw(self._tells_nothing)


def day_by_day(
    mechanism: Daily, days: Sequence[Day], routine: AnyRoutine, *, rng: Rng, policy: Policy | None = None
) -> Moments:
    """One person's days, the day's mechanism started anew on each, before an observer who does not start anew."""
    joined = DaysJoined(mechanism, routine, _date(days[0]), policy)
    judge = _Beside(joined, joined.judge())
    quiet: dict[str, Adversary] = {}  # says what is possible by the day's own habits, and looks for no secret
    following = joined.model.start
    for day in days:
        date, kind = _date(day), routine.kind_of(_date(day))
        for _ in range((date - following).days * routine.slots):
            judge.skip()
        today = joined.of(date)
        own = quiet.setdefault(kind, Adversary(today, policy=Policy()))
        state = today.start()
        for moment in watched(day, Session(today, rng=rng, adversary=own)):
            belief = judge.saw(joined.widened(date, today.kernel(state).likelihood(moment.output)))
            state = today.advance(state, moment.output)
            yield Moment(
                day,
                moment.slot,
                moment.context,
                moment.output,
                belief,
                moment.seconds,
                moment.off_model or belief.off_model,
            )
        following = date + ONE_DAY


def _date(day: Day) -> dt.date:
    assert day.date is not None  # `streams` refuses others
    return day.date
