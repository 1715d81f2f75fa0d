"""The week that begins with the demo's day, as one stream: what was seen of it, and what is believed after its end.

The observer knows how nights join days and has seen the whole week. Adaptive goes on over midnight; the others start
anew each day.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from discreet import mechanisms
from discreet.adversary.belief import Adversary, beliefs_along
from discreet.adversary.unrolled import Unrolled, day_by_day
from discreet.clock import Clock
from discreet.contexts import Day
from discreet.demo.beliefs import SecretBelief
from discreet.live import Stream
from discreet.models.routine.parts import Make, without_end
from discreet.models.routine.routine import Routine
from discreet.numerics import FloatArray
from discreet.outputs import Output, truthful
from discreet.policy import Policy, Secret, on_day
from discreet.randomness import SeededEntropy

DAYS = 7


@dataclass(frozen=True)
class WeekShowing:
    """One mechanism on the week."""

    mechanism: str
    endless: bool
    outputs: tuple[Output, ...]  # (N T,)
    utility: float
    beliefs: tuple[SecretBelief, ...]

    @property
    def kept(self) -> bool:
        """Whether every secret stayed within its delta, on every day."""
        return not any(one.breached for one in self.beliefs)


@dataclass(frozen=True)
class Week:
    """Seven days in a row, and what became of them under each mechanism."""

    days: tuple[Day, ...]
    clock: Clock
    showings: tuple[WeekShowing, ...]

    @property
    def truth(self) -> tuple[str, ...]:
        """(N T,) labels."""
        return tuple(context for day in self.days for context in day.contexts)

    @property
    def dates(self) -> tuple[dt.date, ...]:
        """The dates of the days."""
        return tuple(day.date for day in self.days if day.date is not None)


def make_week(
    past: Sequence[Day], days: Sequence[Day], clock: Clock, policy: Policy, names: Sequence[str], seed: int
) -> Week:
    """Learn a routine from the past, and release the days by each mechanism named, one stream each."""
    routine = Routine.fit(past, clock=clock, secrets=policy)
    fitted = tuple(day.fitted(routine.contexts) for day in days)
    return Week(fitted, clock, tuple(_showing(name, routine, fitted, policy, seed) for name in names))


def _showing(name: str, routine: Routine, days: Sequence[Day], policy: Policy, seed: int) -> WeekShowing:
    make: Make = partial(getattr(mechanisms, name), policy=policy)
    start = days[0].date
    assert start is not None  # the simulator dates its days
    machine: Unrolled
    if (running := without_end(routine, make, start)) is not None:
        machine, made = Unrolled(running, len(days)), running
        make = lambda _: made  # noqa: E731  decided once: the observer asks for the same kernels
    else:
        daily = {kind: make(routine.day(kind)) for kind in routine.kinds}
        machine = day_by_day(daily, routine, len(days), since=start)
    with Stream(routine, make, start=start, person=days[0].person, rng=SeededEntropy(seed)) as stream:
        outputs = [release.output for release in stream.releases(days)]
    adversary = Adversary(machine)
    believed = beliefs_along(machine, outputs, adversary)[-1].beliefs
    beliefs = tuple(_belief(adversary, secret, policy, believed, len(days)) for secret in policy.secrets)
    truth = [context for day in days for context in day.contexts]
    worth = [truthful(context, output) for context, output in zip(truth, outputs, strict=True)]
    return WeekShowing(name, stream.endless, tuple(outputs), sum(worth) / len(worth), beliefs)


def _belief(adversary: Adversary, secret: Secret, policy: Policy, believed: FloatArray, days: int) -> SecretBelief:
    names = [on_day(secret.name, day) for day in range(1, days + 1)] if secret.at == "any" else [secret.name]
    size = days if secret.at == "any" else adversary.process.slots
    prior, room, final = np.full((3, size), np.nan)
    for row, (name, slot) in enumerate(adversary.gain_names):
        if name in names:
            place = names.index(name) if slot is None else slot
            prior[place], room[place], final[place] = adversary.priors[row], adversary.deltas[row], believed[row]
    # Sums of many rounded numbers may end a hair outside; what is shown is a probability.
    return SecretBelief(secret.name, secret.at, policy.delta_of(secret), room, prior, np.clip(final, 0.0, 1.0))
