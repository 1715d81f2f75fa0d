"""Whether habits are true of the days that they are released on, and which of these they were learned from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.listener import Note

if TYPE_CHECKING:
    from discreet.adversary.known import Known
    from discreet.contexts import Day
    from discreet.evaluation.truth import Truth
    from discreet.models.routine.parts import AnyModel, Make
    from discreet.policy import Policy


KnownByPart = Mapping[str | None, Sequence["Known"]]
"""What habits alone tell of each secret, by part of the week or kind of day."""


def known_json(told: KnownByPart) -> list[dict[str, object]]:
    """One object for each secret and part."""
    return [
        {"part": part, **asdict(one), "hides_nothing": one.hides_nothing} for part, own in told.items() for one in own
    ]


def refused(truth: Truth, accepted: bool) -> bool:
    """Whether the answer is no: the habits do not hold, and nobody said to go on."""
    return truth.holds is False and not accepted


def truth_json(truth: Truth, accepted: bool) -> dict[str, Any]:
    """For machines: what was found, and whether it was accepted."""
    return truth.to_json() | {"accepted": accepted and truth.holds is False}


def check_released(
    habits: AnyModel, make: Make, days: list[Day], policy: Policy, name: str, *, carry: int, seed: int
) -> Truth:
    """Hold habits against the days that `evaluate` released: priors, and what an observer of its outputs believes."""
    from discreet.contexts import carry_forward
    from discreet.evaluation.truth import DAYS_REMEDY, DrawnOutputs, Observer, check_days
    from discreet.evaluation.week import every_date

    given = {day.date for day in days}
    learned = already_learned(habits, days)
    on = f"these {len(days)} days" + ("" if learned == 0 else _overlap(learned, len(days)))
    return check_days(
        habits,
        carry_forward(every_date(days), carry),
        policy,
        on=on,
        held_out=learned == 0,
        observer=Observer(f"who sees what {name} shows", DrawnOutputs(habits, make, seed)),
        counted=lambda day: day.date in given,
        learned_from=days_learned(habits) if learned == 0 else None,
        remedy=DAYS_REMEDY,
    )


def _overlap(learned: int | None, days: int) -> str:
    if learned is None:
        return " (whether they were learned is not known)"
    return " (which were learned)" if learned == days else f" ({learned} of which were learned)"


def already_learned(habits: AnyModel, days: list[Day]) -> int | None:
    """How many of the days the habits were learned from; None where they do not say until when they learned."""

    from discreet.models.routine.parts import AnyRoutine

    learned = habits.learned if isinstance(habits, AnyRoutine) else None
    if learned is None:
        return None
    ends = [until for until, _ in learned.until.values()]
    return sum(day.date is not None and any(day.date <= end for end in ends) for day in days)


def days_learned(habits: AnyModel) -> int | None:
    """How many days the habits were learned from, where they know."""

    from discreet.models.routine.parts import AnyRoutine

    learned = habits.learned if isinstance(habits, AnyRoutine) else None
    return None if learned is None else round(sum(float(one.initial.sum()) for one in learned.days.values())) or None


def warn(model: Path, note: Note) -> None:
    """A note where the habits of a file did not hold, and were accepted."""
    from discreet.models.store import truth_of

    summary = truth_of(model)
    if summary is not None and summary["holds"] is False:
        note(f"these habits did not hold: {summary['figure']}")
