"""A learner: `discreet learn readings.csv --learner recent`. Habits of the last eight weeks; older ones are past."""

from __future__ import annotations

from collections.abc import Sequence

import discreet as d

DAYS = 56


def learn(days: Sequence[d.Day], *, clock: d.Clock, secrets: Sequence[str]) -> d.Routine:
    """A routine of the last days, in which every secret has a place."""
    return d.Routine.fit(list(days)[-DAYS:], by="weekpart", secrets=secrets, clock=clock)
