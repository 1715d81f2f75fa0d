"""How often a person is somewhere, as their routine has it: on how many days, for how much of the time, by night."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from discreet.errors import DiscreetError
from discreet.models.kinds import MONDAY, ONE_DAY
from discreet.models.routine.routine import Routine

NIGHT = "03:00"
"""Where somebody is at this time is where they spend the night."""


@dataclass(frozen=True)
class Presence:
    """Shares from 0 to 1 over the week, or over whatever the kinds of day repeat with."""

    days: float
    """Of the days, those with a visit."""
    time: float
    """Of the time."""
    nights: float | None
    """Of the nights; None where the routine has no clock to say when nights are."""


def presence(routine: Routine, contexts: Collection[str]) -> Presence:
    """How often the person is in any of these contexts."""
    if routine.cycle is None or routine.period is None:
        raise DiscreetError(
            "the routine has no one stationary distribution, so that nothing can be said of its days in general; learn "
            "it with discreet learn"
        )
    there = np.array([context in contexts for context in routine.contexts])
    night = None if routine.clock is None else routine.clock.between(NIGHT, "03:01")[0]
    priors = routine.cycle[:, :, there].sum(axis=2)  # (period, T)
    never = []
    for k in range(routine.period):
        chain = routine.day(routine.kind_of(MONDAY + k * ONE_DAY))
        elsewhere = np.where(there, 0.0, routine.cycle[k, 0])  # P(slot, and nowhere there so far)
        for step in chain.transitions:
            elsewhere = np.where(there, 0.0, (elsewhere[:, None] * step).sum(axis=0))
        never.append(float(elsewhere.sum()))
    return Presence(
        days=1 - float(np.mean(never)),
        time=float(priors.mean()),
        nights=None if night is None else float(priors[:, night].mean()),
    )


def main_home(routine: Routine, among: Iterable[str]) -> str | None:
    """Where most nights are spent."""
    nights = {context: presence(routine, {context}).nights for context in among}
    known = {context: share for context, share in nights.items() if share is not None}
    return max(known, key=lambda context: known[context], default=None)
