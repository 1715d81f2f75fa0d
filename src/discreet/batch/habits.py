"""What was learned of one person, in figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.batch.learners import Found
from discreet.batch.truth import KnownByPart, known_json, truth_json
from discreet.clock import Clock

if TYPE_CHECKING:
    from discreet.models.learning.rhythm import Rhythm


@dataclass(frozen=True)
class HabitsSummary:
    """What was learned of one person, and how a model of the earlier days fares on the last ones."""

    person: str
    model: str
    days: int
    first: str
    last: str
    clock: dict[str, str | int]
    contexts: dict[str, float]  # share of the slots
    rhythms: list[
        dict[str, Any]
    ]  # of each context: days visited, the last of them, shares by hour and part of the week
    seldom: list[str]  # contexts visited on a tenth of the days or fewer
    observers: int  # who may have learned the habits elsewhere, kept with the model
    held_out_days: int
    held_out_impossible: float | None  # share of the held-out steps that have probability zero
    held_out_log_likelihood: float | None  # natural logarithm, mean of the steps that are possible
    guessed_by_clock: float | None  # share of the held-out slots whose likeliest context at that time is the true one
    guessed_by_step: float | None  # the same for the likeliest after the context of the slot before
    known: list[dict[str, object]]  # what habits alone tell of each secret
    truth: dict[str, Any]  # whether the habits hold on the held-out days


def summary_of(
    person: str, file: Path, found: Found, clock: Clock, told: KnownByPart, rhythms: Sequence[Rhythm], *, accepted: bool
) -> HabitsSummary:
    """The figures of one person; contexts that were declared and never visited have a share of 0."""
    from discreet.models.learning.rhythm import seldom

    days, last, guesses = found.days, found.last, found.guesses
    seen = {one.context: one.share for one in rhythms}
    unseen = [] if isinstance(found.model, Mapping) else [label for label in found.model.contexts if label not in seen]
    return HabitsSummary(
        person=person,
        model=str(file),
        days=len(days),
        first=str(days[0].date),
        last=str(days[-1].date),
        clock={"slots": clock.slots, "zone": clock.zone, "cut": clock.cut},
        contexts=seen | dict.fromkeys(unseen, 0.0),
        rhythms=[
            {"context": one.context, "days": one.days, "last": str(one.last), "by_hour": one.by_hour} for one in rhythms
        ],
        seldom=[one.context for one in seldom(rhythms, len(days))],
        observers=len(getattr(found.model, "observers", ())),
        held_out_days=last.days,
        held_out_impossible=last.impossible,
        held_out_log_likelihood=last.log_likelihood,
        guessed_by_clock=None if guesses is None else guesses.by_clock,
        guessed_by_step=None if guesses is None else guesses.by_step,
        known=known_json(told),
        truth=truth_json(found.truth, accepted),
    )
