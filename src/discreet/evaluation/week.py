"""Recorded days judged as `live.Stream` releases them: every date, each by the mechanism of its part of the week."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from discreet.contexts import UNKNOWN, Day, carry_forward
from discreet.contracts import Mechanism, Model
from discreet.errors import DiscreetError
from discreet.evaluation.metrics import Evaluation, evaluate
from discreet.live import ONE_DAY, span
from discreet.models.parts import AnyModel, days_by_part, parts_of


def evaluate_parts(
    model: AnyModel,
    make: Callable[[Model], Mechanism[Any]],
    days: Sequence[Day],
    *,
    carry: int = 0,
    seed: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> dict[str | None, Evaluation]:
    """What became of one person's days, for each part of the week that they have (`parts_of`).

    `make`, `carry` and what a label is called are as in `live.Stream`, and the days that are judged are those that it
    releases: see `every_date`. `progress` is told how many are done, and of how many. Each part has the draws of
    `seed`.
    """
    made = {part: make(habits) for part, habits in parts_of(model).items()}
    released = carry_forward(every_date(days), carry)
    done = 0

    def one_more() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, len(released))

    return {
        part: evaluate(made[part], [day.fitted(made[part].model.contexts) for day in own], seed=seed, progress=one_more)
        for part, own in days_by_part(model, released).items()
    }


def every_date(days: Sequence[Day]) -> list[Day]:
    """One person's days with those in between on which nothing was read: days of `unknown`, released like any other."""
    following, _ = span(days)
    person, silence = days[0].person, (UNKNOWN,) * len(days[0])
    every: list[Day] = []
    for day in days:
        if day.person != person:
            raise DiscreetError(f"{day.date} is {day.person}'s, days before it {person}'s; judge one person at a time")
        if day.date is None or day.date < following:
            raise DiscreetError(
                f"{day.date} comes after {following - ONE_DAY} or a later date; sort days, and give each date once"
            )
        while following < day.date:
            every.append(Day(silence, following, person))
            following += ONE_DAY
        every.append(day)
        following += ONE_DAY
    return every
