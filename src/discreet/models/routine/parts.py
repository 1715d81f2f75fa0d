"""Habits by parts: which chain serves which date, whether a file holds one for all, a week, or a routine.

A routine is one model without end, and its kinds of day are the parts of whatever releases one day at a time.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from typing import Any

from discreet.clock import Clock
from discreet.contexts import Day
from discreet.contracts import AnyMechanism, SharesTables, runs_without_end
from discreet.errors import DiscreetError, OneDayError, PolicyError
from discreet.models.chain.markov import MarkovChain
from discreet.models.chain.week import Models
from discreet.models.hidden.markov import HiddenMarkovModel
from discreet.models.routine.endless import EndlessChain
from discreet.models.routine.pairs import PairRoutine
from discreet.models.routine.routine import Routine
from discreet.policy import Policy, SecretTable

AnyRoutine = Routine | PairRoutine
"""Habits of days that nights join, over one context or over two."""

AnyModel = MarkovChain | HiddenMarkovModel | Models | AnyRoutine
"""A person's habits, whether or not they tell parts of the week apart or join days."""

Make = Callable[[Any], AnyMechanism]
"""Gives the mechanism for a model: of one day, or without end."""


def parts_of(model: AnyModel) -> dict[str | None, MarkovChain | HiddenMarkovModel]:
    """The model of each part of the week, or of each kind of day; {None: model} where there is one for all."""
    if isinstance(model, AnyRoutine):
        return {kind: model.day(kind) for kind in model.kinds}
    return dict(model.items()) if isinstance(model, Models) else {None: model}


def part_on(model: AnyModel, date: dt.date | None) -> str | None:
    """Whose turn it is on a date: a key of `parts_of`."""
    if isinstance(model, AnyRoutine):
        if date is None:
            raise DiscreetError("a routine is of dates, and a day has none; give its date")
        return model.kind_of(date)
    return model.part_of(date) if isinstance(model, Models) else None


def without_end(routine: AnyRoutine, make: Make, start: dt.date | str, first: int = 0) -> AnyMechanism | None:
    """The mechanism from a slot of a date on, made once for `routine.since(start, first=first)`.

    None if it releases one day at a time.
    """
    try:
        made = make(routine.since(start, first=first))
    except OneDayError:
        return None
    return made if runs_without_end(made) else None


def made_once(make: Make) -> Make:
    """The same, with each model's mechanism made once: who evaluates and audits it finds what was decided before.

    Of a routine from another date on, where tables are shared, it is the first one's `since`.
    """
    made: dict[str, AnyMechanism] = {}

    def kept(model: Any) -> AnyMechanism:
        found = made.get(model.fingerprint)
        if found is None:
            earlier = (
                one for one in made.values() if isinstance(one, SharesTables) and _same_routine(one.model, model)
            )
            first = next(earlier, None)
            found = make(model) if first is None else first.since(model.start, model.first)
            made[model.fingerprint] = found
        return found

    return kept


def _same_routine(one: Any, other: Any) -> bool:
    """Whether they differ by where they begin alone."""
    alike = isinstance(one, EndlessChain) and isinstance(other, EndlessChain) and one.periodic and other.periodic
    return alike and one.routine is other.routine


def secrets_by_part(model: AnyModel, policy: Policy, clock: Clock | None = None) -> dict[str | None, SecretTable]:
    """The policy laid over each part's model; what does not fit is an error.

    `clock` is the one that the policy's clock times were read on, as `read_policy` gives it; None where there are none.
    On another clock than the model's, its slots would be other times of the day.
    """
    if None not in (clock, model.clock) and clock != model.clock:
        raise PolicyError(
            "its [clock] is not the one that the model was learned with; leave [clock] out, or learn again"
        )
    return {part: policy.for_model(habits.contexts, habits.slots) for part, habits in parts_of(model).items()}


def days_by_part(model: AnyModel, days: Iterable[Day]) -> dict[str | None, list[Day]]:
    """The days that each part's model serves, in their order; a day that no part serves is an error."""
    sorted_days: dict[str | None, list[Day]] = {}
    for day in days:
        sorted_days.setdefault(part_on(model, day.date), []).append(day)
    return sorted_days
