"""Recorded days judged as `live.Stream` releases them: every date, joined by a routine or each by its part's model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from discreet.contexts import UNKNOWN, Day, carry_forward
from discreet.errors import DiscreetError
from discreet.evaluation.metrics import Evaluation, evaluate
from discreet.given import words_for
from discreet.live import span
from discreet.live.slots import ONE_DAY
from discreet.models.routine.parts import AnyModel, AnyRoutine, Make, days_by_part, parts_of, without_end


def evaluate_parts(
    model: AnyModel,
    make: Make,
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

    Of a routine there is one answer, {None: ...}, for all days as one stream: a mechanism that releases one day at a
    time starts anew on each, and is judged by an observer who knows how nights join them.
    """
    released = carry_forward(every_date(days), carry)
    done = 0

    def one_more() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, len(released))

    if isinstance(model, AnyRoutine):
        running = without_end(model, make, span(released)[0])
        if running is not None:
            return {None: evaluate(running, released, seed=seed, progress=one_more)}
        daily = {kind: make(model.day(kind)) for kind in model.kinds}
        return {None: evaluate(daily, released, routine=model, seed=seed, progress=one_more)}
    made = {part: make(habits) for part, habits in parts_of(model).items()}
    return {
        part: evaluate(made[part], [day.fitted(made[part].model.contexts) for day in own], seed=seed, progress=one_more)
        for part, own in days_by_part(model, released).items()
    }


def every_date(days: Sequence[Day]) -> list[Day]:
    """One person's days with those in between on which nothing was read: days of `unknown`, released like any other."""
    for day in days:
        if not isinstance(day, Day):
            raise DiscreetError(f"a day is {words_for(day)}; give Day(contexts, date=...)")
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
