"""Several observers at once: what a decision costs for k of them, against k times one. Processor time, one run."""

from __future__ import annotations

import datetime as dt
import time

import numpy as np

from discreet.contexts import Day
from discreet.mechanisms import Adaptive
from discreet.models.learning.observers import observers_of
from discreet.models.routine.routine import Routine
from discreet.models.simulate import person
from discreet.policy import Policy
from discreet.randomness import SeededEntropy

SECRETS = ("hospital", "bar", "gym")
FAMILIES = (1, 2, 4, 8)
"""Observers, the mechanism's own among them."""


def main() -> None:
    monday = dt.date(2026, 8, 31)
    drawn = person(days=120, slots=24, contexts=14, seed=0)
    days = [Day(day.contexts, date=monday + k * dt.timedelta(days=1)) for k, day in enumerate(drawn)]
    routine = Routine.fit(days[:100], secrets=SECRETS)
    family = observers_of(routine, days[:100], max(FAMILIES) - 1, secrets=SECRETS)
    for outputs, memory in (("suppress", "none"), ("deceive", "none"), ("deceive", "last")):
        alone = 0.0
        for count in FAMILIES:
            mean, programmes = walked(routine, family[: count - 1], days[100:], outputs, memory)
            alone = alone or mean
            print(
                f"{outputs}, memory {memory}, {len(routine.contexts)} contexts, observers: {count}, "
                f"{1e3 * mean:.2f} ms a decision, {mean / alone / count:.2f} of {count} times one "
                f"({programmes} programmes)",
                flush=True,
            )


def walked(routine: Routine, family: list[Routine], days: list[Day], outputs: str, memory: str) -> tuple[float, int]:
    """Seconds of a decision, mean over days that are followed twice: what is tabled is not decided again."""
    policy = Policy(SECRETS, delta=0.1)
    mechanism = Adaptive(
        routine.since(days[0].date or ""),
        policy,
        outputs=outputs,  # type: ignore[arg-type]
        memory=memory,  # type: ignore[arg-type]
        observers=family,
    )
    mechanism.kernel(mechanism.start())  # compiles
    state, private, entropy, times = mechanism.start(), None, SeededEntropy(1), []
    for day in days:
        for label in day.contexts:
            before = mechanism.effort.programmes
            began = time.thread_time()
            kernel = mechanism.kernel(state)
            spent = time.thread_time() - began
            private = mechanism.remember(private, routine.contexts.index(label))
            began = time.thread_time()
            state = mechanism.advance(state, kernel.sample(private, entropy))
            spent += time.thread_time() - began
            if mechanism.effort.programmes > before:
                times.append(spent)
    return float(np.mean(times)), mechanism.effort.programmes


if __name__ == "__main__":
    main()
