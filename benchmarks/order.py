"""Do habits over the last two contexts make beliefs truer? `python -m benchmarks order --data FOLDER`.

Recorded people of five data sets; learned from the first half of their days, judged by the second: how likely a step
was, how far what habits say of a secret is from how often it was so (before any output, and once the exact observer of
Adaptive has seen the output of a slot), and the share of slots that Adaptive shows (suppress, no memory, day by day).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from discreet.contexts import Day
from discreet.models.learning.held_out import judged
from discreet.models.routine.pairs import PairRoutine
from discreet.models.routine.parts import AnyRoutine
from discreet.models.routine.routine import Routine
from discreet_experiments.adaptive.picture import PICTURED
from discreet_experiments.adaptive.truth import Reliability, observed_by, said_before
from discreet_experiments.adaptive.weeks import weekly
from discreet_experiments.shared.people import Trace, prepared, spread
from discreet_experiments.shared.sheets import mean
from discreet_experiments.shared.subjects import Setting, chosen_secrets, parted

PEOPLE, DAYS = 8, 2
LEARNERS: dict[str, Callable[[Sequence[Day]], AnyRoutine]] = {
    f"{smoothing}, order {order}": partial(Routine.fit, smoothing=smoothing, order=order)
    for smoothing in ("auto", "calibrated")
    for order in (1, 2)
}


def as_pairs(days: Sequence[Day]) -> PairRoutine:
    """Habits over one context, written as pairs: the same beliefs, decided by the filter over pairs."""
    learned = Routine.fit(days, smoothing="calibrated").learned
    assert learned is not None
    return PairRoutine.from_counts(learned, [])


LEARNERS |= {"calibrated, as pairs": as_pairs}

Found = tuple[float, Reliability, Reliability, float]
"""The log-likelihood of a step, what was said before any output and after each, and the share shown."""


def of_person(trace: Trace, setting: Setting) -> dict[str, Found] | None:
    """Every learner on one person; None for one who has no place to hide."""
    learned, held_out = parted(prepared(trace, setting.rules), setting.training)
    secrets = chosen_secrets(Routine.fit(learned).contexts, setting, trace.number)
    if not secrets:
        return None
    found = {}
    for name, fit in LEARNERS.items():
        routine = fit(learned)
        days = [day.fitted(routine.contexts) for day in held_out]
        likelihood = judged(routine, days).log_likelihood
        assert likelihood is not None  # routines are total
        seen = observed_by(routine, days, secrets, replace(setting, days=DAYS), trace.number)
        found[name] = likelihood, said_before(routine, days, secrets), seen.beliefs, seen.utility
    return found


def main(options: Sequence[str] = ()) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks order")
    parser.add_argument("--data", type=Path, help="the folder of recorded data", default=None)
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--only", help="one data set, by its name")
    given = parser.parse_args(list(options))
    if given.data is None:
        print("recorded people are needed: give the folder of their files, --data FOLDER")
        return
    print("data            learner               log-likelihood  likelier for  priors off  beliefs off  shown")
    for source in PICTURED:
        if given.only not in (None, source.name):
            continue
        setting = weekly(Setting())
        setting = replace(setting, rules=source.rules(setting.rules))
        traces = spread(source.reader(given.data, setting.rules), given.people)
        people = [one for one in (of_person(trace, setting) for trace in traces) if one is not None]
        for name in LEARNERS:
            rows = [one[name] for one in people]
            base = [one[name.replace("order 2", "order 1")] for one in people]
            better = sum(own[0] > other[0] for own, other in zip(rows, base, strict=True))
            prior, after = 100 * _sum([row[1] for row in rows]).error, 100 * _sum([row[2] for row in rows]).error
            likelihood, shown = mean([row[0] for row in rows]), mean([row[3] for row in rows])
            told = f"{better} of {len(people)}" if name.endswith("2") else ""
            figures = f"{likelihood:>14.3f} {told:>13} {prior:>11.2f} {after:>12.2f} {shown:>6.3f}"
            print(f"{source.name:<15} {name:<21} {figures}", flush=True)


def _sum(several: Sequence[Reliability]) -> Reliability:
    total = several[0]
    for one in several[1:]:
        total = total + one
    return total


if __name__ == "__main__":
    main()
