"""How a decision of Adaptive grows with contexts, slots and secrets: median, 99th percentile, memory and rows.

    python -m benchmarks grows [--outputs deceive] [--memory last] [--seconds 8]
    python -m benchmarks grows --tiny                          # the smallest cells
    python -m benchmarks.grows 24 48 3 deceive last 8          # one cell, as a list

Each cell of the table is a process of its own, with so many seconds of processor time beyond what Python's start takes.
One that cannot decide all of a first day in them is left out, and said. Somebody is made up for each number of
contexts: they stay in half of the slots, go to one of five usual places in four of ten, and anywhere in one of ten;
popularity of places falls as 1 / rank. Secrets are at each slot, of middle ranks (of 10 contexts, 10 are all).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks._peers import memory as most_memory
from discreet.mechanisms.adaptive.adaptive import Adaptive
from discreet.models import MarkovChain
from discreet.policy import Policy
from discreet.randomness import SeededEntropy

CONTEXTS, SLOTS, SECRETS = (10, 20, 50, 100, 200), (24, 48, 96), (1, 3, 10)
TINY = ((5, 10), (4, 8), (1, 3))

DECISIONS = 200
"""Of a cell, in whole days: at least so many, where the seconds last."""


class Cell(NamedTuple):
    """One line of the table; times in ms, and the most memory that its process had, in MB."""

    contexts: int
    slots: int
    secrets: int
    decisions: int
    median: float
    p99: float
    memory: float
    states: int
    rows: int


def somebody(contexts: int, slots: int) -> MarkovChain:
    """Habits that lead from everywhere to everywhere, as those of a smoothed model do."""
    popular = 1.0 / np.arange(1, contexts + 1)
    popular /= popular.sum()
    step = 0.5 * np.eye(contexts) + 0.1 * popular
    usual = np.random.default_rng(contexts)
    for row in step:
        row[usual.choice(contexts, 5, replace=False, p=popular)] += 0.08
    return MarkovChain.homogeneous(tuple(f"c{k}" for k in range(contexts)), popular, step, slots=slots)


def measured(contexts: int, slots: int, secrets: int, outputs: Any, memory: Any, seconds: float) -> Cell | None:
    """Decide along days of this person, as long as the budget lasts; None where the first day is not finished."""
    until = time.process_time() + seconds
    chain = somebody(contexts, slots)
    first = min(contexts // 3, contexts - secrets)
    policy = Policy([f"c{first + k}" for k in range(secrets)], delta=0.1)
    mechanism = Adaptive(chain, policy, outputs=outputs, memory=memory, plan="lazy")
    decider, adversary, entropy = mechanism.decider, mechanism.adversary, SeededEntropy(1)
    times, rows, states = [], 0, 0
    for day in chain.sample_codes(-(-DECISIONS // slots), 3).tolist():
        belief, private = adversary.start(), None
        for context in day:
            began = time.thread_time()
            slot = decider.slot(belief)
            decision = decider.decided(slot)
            times.append(time.thread_time() - began)
            rows, states = max(rows, slot.rows), max(states, len(slot.private))
            private = mechanism.remember(private, context)
            kernel = decider.kernel(decision)
            belief = belief.after(kernel.likelihood(kernel.sample(private, entropy)))
            if time.process_time() > until and len(times) < slots:
                return None
        if time.process_time() > until:
            break
    middle, high = np.percentile(1e3 * np.array(times[1:]), [50, 99])  # the first loads compiled code
    return Cell(contexts, slots, secrets, len(times), middle, high, most_memory(), states, rows)


def cell(size: Sequence[int], outputs: str, memory: str, seconds: float) -> Cell | None:
    """The same in a new process."""
    given = [sys.executable, "-m", "benchmarks.grows", *map(str, size), outputs, memory, str(seconds)]
    run = subprocess.run(given, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1])
    if run.returncode:
        raise SystemExit(run.stderr)
    found = json.loads(run.stdout.splitlines()[-1])
    return None if found is None else Cell(*found)


def exponents(cells: Sequence[Cell], field: str) -> list[float]:
    """Of contexts, slots and secrets: the powers that together fit a field best, by its logarithm."""
    sizes = np.log([one[:3] for one in cells])
    fields = np.log([max(getattr(one, field), 1e-2) for one in cells])
    found = np.linalg.lstsq(np.column_stack([sizes, np.ones(len(cells))]), fields, rcond=None)[0]
    return [float(power) for power in found[:3]]


def lines(sizes: Sequence[Sequence[int]], outputs: str, memory: str, seconds: float) -> Iterator[str]:
    """The table as cells are known, the exponents, and the cells that were left out."""
    yield f"outputs {outputs}, memory {memory}, {seconds:g} s a cell"
    yield "contexts slots secrets  decisions  median    p99 (ms)  memory (MB)  private  rows"
    cells, out = [], []
    for size in product(*sizes):
        one = cell(size, outputs, memory, seconds)
        if one is None:
            out.append(size)
            continue
        cells.append(one)
        yield (
            f"{one.contexts:8} {one.slots:5} {one.secrets:7} {one.decisions:10} {one.median:7.2f} {one.p99:6.1f} "
            f"{one.memory:17.1f} {one.states:8} {one.rows:5}"
        )
    for field in ("median", "p99", "rows"):
        if len(cells) > 3:
            powers = exponents(cells, field)
            yield f"{field} grows as contexts^{powers[0]:.2f} slots^{powers[1]:.2f} secrets^{powers[2]:.2f}"
    yield f"left out, over {seconds:g} s: " + (", ".join("x".join(map(str, size)) for size in out) or "none")


def main(options: Sequence[str] = ()) -> None:
    """Print the table of these outputs and this memory."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks grows")
    parser.add_argument("--outputs", choices=("deceive", "suppress"), default="deceive")
    parser.add_argument("--memory", choices=("last", "none"), default="last")
    parser.add_argument("--seconds", type=float, default=8.0, help="of processor time, that a cell has")
    parser.add_argument("--tiny", action="store_true", help="the smallest cells")
    given = parser.parse_args(options)
    sizes = TINY if given.tiny else (CONTEXTS, SLOTS, SECRETS)
    for line in lines(sizes, given.outputs, given.memory, given.seconds):
        print(line, flush=True)


if __name__ == "__main__":
    os.environ.setdefault("DISCREET_COMPILE", "now")
    numbers = [int(value) for value in sys.argv[1:4]]
    print(json.dumps(measured(*numbers, *sys.argv[4:6], float(sys.argv[6]))))  # type: ignore[call-arg]
