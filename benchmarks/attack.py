"""The observer who only has data on 100,000 slots: the time of an attack, and of what it is made of.

`--part peers --data FOLDER` compares Adaptive with two peers at equal attack success instead (`_attack_peers`).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

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


def main(options: Sequence[str] = ()) -> None:
    """Print the times, or the comparison."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks attack")
    parser.add_argument("--part", choices=("time", "peers"), default="time")
    parser.add_argument("--data", type=Path, help="the folder of recorded data, for peers")
    parser.add_argument("--people", type=int, default=12)
    parser.add_argument("--days", type=int, default=24, help="held-out days of each person")
    parser.add_argument("--only", help="one data set, by its name")
    given = parser.parse_args(list(options))
    if given.part == "peers":
        if given.data is None:
            parser.error("--part peers needs recorded people; give the folder of their files, --data FOLDER")
        from benchmarks._attack_peers import peers

        peers(given.data, given.people, given.days, given.only)
        return
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
