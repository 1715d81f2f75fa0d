"""The observer who only has data on 100,000 slots: the time of an attack, and of what it is made of."""

from __future__ import annotations

import time

import numpy as np

from discreet.contexts import Day
from discreet.evaluation.attack import attack
from discreet.evaluation.shown import Shown
from discreet.models.simulate import people
from discreet.outputs import SUPPRESSED, Output, Released
from discreet.policy import Policy, Secret

SLOTS, SECONDS = 100_000, 60.0
POLICY = Policy(["gym", "hospital", Secret("hospital today", {"hospital"}, at="any")])


def masked(days: list[Day]) -> list[list[Output]]:
    """The secrets are silent, and so is one slot in ten besides."""
    draw = np.random.default_rng(1)
    return [
        [SUPPRESSED if place in POLICY.contexts or draw.random() < 0.1 else Released(place) for place in day.contexts]
        for day in days
    ]


def main() -> None:
    """Print the times."""
    count = 50
    days = [day for own in people(count, -(-SLOTS // (48 * count)), seed=1).values() for day in own]
    outputs = masked(days)
    began = time.perf_counter()
    columns = len(Shown(days, outputs).of_slots.names)
    seen = time.perf_counter() - began
    began, worked = time.perf_counter(), time.process_time()
    found = attack(days, outputs, POLICY)
    took, worked = time.perf_counter() - began, time.process_time() - worked
    verdicts = ", ".join(f"{secret.name} {secret.verdict}" for secret in found.secrets)
    print(f"{found.slots:,} slots of {count} people, {columns} features, {len(POLICY.secrets)} secrets: {verdicts}")
    print(f"  features {seen:.2f} s")
    met = "met" if took <= SECONDS else "MISSED"
    print(f"  whole    {took:.2f} s, {worked:.2f} s of a processor (at most {SECONDS:g} s: {met})")


if __name__ == "__main__":
    main()
