"""Habits held against 100,000 slots of days: the time of a check of calibration, priors and an observer's beliefs."""

from __future__ import annotations

import datetime as dt
import time

from discreet.contexts import Day
from discreet.evaluation.truth import check_days
from discreet.models.routine.routine import Routine
from discreet.models.simulate import person
from discreet.policy import Policy, Secret

SLOTS, SECONDS, LEARNED = 100_000, 60.0, 200
POLICY = Policy(["gym", "hospital", Secret("hospital today", {"hospital"}, at="any")])


def main() -> None:
    """Print the times."""
    monday = dt.date(2020, 1, 6)
    count = -(-SLOTS // 48)
    drawn = person(days=LEARNED + count, slots=48, contexts=12, seed=1)
    days = [Day(day.contexts, date=monday + k * dt.timedelta(days=1)) for k, day in enumerate(drawn)]
    routine = Routine.fit(days[:LEARNED], secrets=POLICY)
    began, worked = time.perf_counter(), time.process_time()
    found = check_days(routine, days[LEARNED:], POLICY, on=f"{count} later days", held_out=True, learned_from=LEARNED)
    took, worked = time.perf_counter() - began, time.process_time() - worked
    met = "met" if took <= SECONDS else "MISSED"
    print(f"{count * 48:,} slots, {len(routine.contexts)} contexts, {len(POLICY.secrets)} secrets: {found.figure}")
    print(f"  {took:.1f} s, {worked:.1f} s of a processor (at most {SECONDS:g} s: {met})")


if __name__ == "__main__":
    main()
