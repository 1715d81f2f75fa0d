"""What the same bits on every machine cost: this code against a twin whose sums a library and a compiler may order.

The twin is this code with BLAS for products and with sums that may be reordered and fused, as fast as this machine
allows. Each runs in a process of its own, in turns; times are of the processor, the best of three runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

import numpy as np

RUNS = 3
WAITS = {**os.environ, "DISCREET_COMPILE": "now"}
LIMIT = 1.1


def freed() -> None:
    """Let sums be ordered by the machine, and matrices be multiplied by a library; before anything is compiled."""
    from numba.core.caching import NullCache

    from discreet.jit import backend, rule, sums

    def multiply(left: Any, right: Any, result: Any) -> None:
        np.dot(left, right, result)

    for k, (seen, _, _) in enumerate(rule.HELPERS):
        if seen is sums.multiply:
            rule.HELPERS[k] = seen, multiply, True
            break
    else:
        raise AssertionError("there is no such helper any more: this would compare the code with itself")
    for flags in (backend._ENTRY, backend._HELPER):
        flags["fastmath"] = {"reassoc", "contract"}
    own: Any = backend
    own._Kept = lambda loop: NullCache()


def measured() -> dict[str, float]:
    """Milliseconds of a decision (median over days), of a slot of the filter, and of a table of suppress."""
    from benchmarks.adaptive import habits
    from discreet.mechanisms import Adaptive
    from discreet.randomness import SeededEntropy

    found: dict[str, float] = {}
    for contexts, slots, smoothing in ((20, 48, "none"), (20, 48, "auto"), (40, 96, "none")):
        chain, policy, days = habits(contexts, slots, smoothing)
        mechanism = Adaptive(chain, policy, outputs="deceive", plan="lazy")
        mechanism.decider.decide(mechanism.adversary.start())  # compiles
        decisions, filters = [], []
        for day in days[:3].tolist():
            belief, private, entropy = mechanism.adversary.start(), None, SeededEntropy(1)
            for context in day:
                began = time.thread_time()
                kernel = mechanism.decider.kernel(mechanism.decider.decide(belief))
                decisions.append(time.thread_time() - began)
                private = mechanism.remember(private, context)
                column = kernel.likelihood(kernel.sample(private, entropy))
                began = time.thread_time()
                belief = belief.after(column)
                filters.append(time.thread_time() - began)
        name = f"n = {contexts}, T = {slots}, smoothing {smoothing}"
        found[f"decision, {name}"] = float(np.median(decisions)) * 1e3
        found[f"filter slot, {name}"] = float(np.median(filters)) * 1e3
    chain, policy, _ = habits(12, 24, "auto")
    began = time.thread_time()
    Adaptive(chain, policy, plan="lazy").expected_utility()
    found["table of suppress, n = 12, T = 24"] = (time.thread_time() - began) * 1e3
    return found


def main() -> None:
    """Print both times and their ratio."""
    best: dict[str, dict[str, float]] = {"ordered": {}, "free": {}}
    for _ in range(RUNS):
        for way, kept in best.items():
            run = subprocess.run(
                [sys.executable, "-m", "benchmarks.bits", way], capture_output=True, text=True, check=True, env=WAITS
            )
            for name, taken in json.loads(run.stdout).items():
                kept[name] = min(kept.get(name, taken), taken)
    print(f"{'':48} {'ordered':>10} {'free':>10}")
    for name, taken in best["ordered"].items():
        ratio = taken / best["free"][name]
        judged = (
            f"  (at most {LIMIT:g}x: {'met' if ratio <= LIMIT else 'MISSED'})" if name.startswith("decision") else ""
        )
        print(f"{name:48} {taken:7.3f} ms {best['free'][name]:7.3f} ms  {ratio:5.2f}x{judged}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "free":
        freed()
    json.dump(measured(), sys.stdout)
