"""Runs of dates released without end before exact observers: what `frontier`, `odds` and `held` have in common.

The observer of a run is the adversary of one day's code over the chain of the whole run, with every row kept. Who
judges learned the same habits by the same rules from other days.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.adversary.belief import Adversary
from discreet.adversary.unrolled import Unrolled
from discreet.contexts import Day, fitted
from discreet.mechanisms import Adaptive
from discreet.models.learning.routine import Learning
from discreet.models.routine.routine import Routine
from discreet.numerics import FloatArray, exceeds
from discreet.outputs import Released
from discreet.policy import Policy
from discreet.randomness import SeededEntropy
from discreet_experiments.adaptive.weeks import runs_of
from discreet_experiments.shared.people import Trace, prepared
from discreet_experiments.shared.subjects import Setting, chosen_secrets, parted, seed_for

LENGTH = 3
"""Dates of a run."""

JUDGES = ("later days", "odd days", "even days", "all days")
"""Who judges."""


class Fit:
    """Learns over the same contexts by the same rules."""

    def __init__(self, routine: Routine) -> None:
        assert routine.learned is not None
        self._routine, self._learned = routine, routine.learned

    def __call__(self, days: Sequence[Day], smoothing: Learning | None = None) -> Routine:
        """The routine of these days."""
        own = self._learned
        chosen = own.smoothing if smoothing is None else smoothing
        return Routine.fit(days, own.by, chosen, own.floor, contexts=self._routine.contexts)

    def judges(self, learned: Sequence[Day], later: Sequence[Day]) -> dict[str, Routine]:
        """Those of `JUDGES`: they learned from later days, from every other of the learned ones, or from all."""
        return dict(zip(JUDGES, map(self, (later, learned[1::2], learned[::2], [*learned, *later])), strict=True))


@dataclass(frozen=True)
class Subject:
    """One person with habits of the earlier days, runs of the later ones, secrets and judges."""

    number: int
    learned: list[Day]
    runs: list[tuple[Day, ...]]
    routine: Routine
    secrets: tuple[str, ...]
    judges: Mapping[str, Routine]


def subject(trace: Trace, setting: Setting, most: int | None) -> Subject | None:
    """The person by the rules; None for one who has no run of dates, or no place to hide."""
    learned, held_out = parted(prepared(trace, setting.rules), setting.training)
    runs = runs_of(held_out, LENGTH, most)
    if not runs or len(learned) < 2 * len(JUDGES):
        return None
    routine = Routine.fit(learned, smoothing=setting.smoothing)
    secrets = chosen_secrets(routine.contexts, setting, trace.number)
    if not secrets:
        return None
    return Subject(trace.number, learned, runs, routine, secrets, Fit(routine).judges(learned, held_out))


@dataclass(frozen=True)
class Walk:
    """One run as released, and what each observer believed at most."""

    slots: int
    truth: float
    """The chance of the truth, summed over slots."""
    seconds: float
    """Of decisions, processor time."""
    watching: Mapping[str, Adversary]
    highest: Mapping[str, FloatArray]
    """The highest gain of every row, by observer."""
    day_slots: int

    def beyond(self, *names: str) -> set[int]:
        """The days of the run, from 0 on, on which any of these observers gains more than delta."""
        found: set[int] = set()
        for name in names:
            judge = self.watching[name]
            over = np.flatnonzero(exceeds(self.highest[name], judge.deltas))
            found.update((judge.row_slot[over] // self.day_slots).tolist())
        return found

    def excess(self, name: str) -> float:
        """How far the worst gain is beyond delta, or 0."""
        return max(0.0, float((self.highest[name] - self.watching[name].deltas).max(initial=0.0)))


def walk(
    mechanism: Adaptive, days: Sequence[Day], observers: Mapping[str, Routine], policy: Policy, number: int
) -> Walk:
    """Release consecutive dates of a person by a mechanism without end, before observers who judge by this policy."""
    since = str(days[0].date)
    running = Unrolled(mechanism.since(since), len(days), policy)
    watching = {name: Adversary(running, one.since(since).unrolled(len(days))) for name, one in observers.items()}
    contexts = running.model.contexts
    codes = [contexts.index(fitted(label, contexts)) for day in days for label in day.contexts]
    rng = SeededEntropy(seed_for(0, number, since))
    state, private, truth, seconds = running.start(), None, 0.0, 0.0
    beliefs = {name: judge.start() for name, judge in watching.items()}
    highest = {name: belief.gains.copy() for name, belief in beliefs.items()}
    for code in codes:
        began = time.thread_time()
        kernel = running.kernel(state)
        private = running.remember(private, code)
        output = kernel.sample(private, rng)
        state = running.advance(state, output)
        seconds += time.thread_time() - began
        truth += float(kernel.likelihood(Released(contexts[code]))[private])
        likelihood = kernel.likelihood(output)
        for name in beliefs:
            beliefs[name] = beliefs[name].after(likelihood)
            np.maximum(highest[name], beliefs[name].gains, out=highest[name])
    return Walk(len(codes), truth, seconds, watching, highest, len(days[0]))
