"""What a window of a calendar month, or of any seven days, costs against a day's: time of a decision, size of tables.

`python -m benchmarks._months` prints a line a window and vocabulary: 20 contexts, 48 slots, 35 days, a secret at="any"
and one at each slot. It takes about a minute; times are of the processor.
"""

from __future__ import annotations

import time
from typing import Any, Literal

import numpy as np

import discreet as d
from discreet.models.routine.routine import Routine
from discreet.numerics import FloatArray
from discreet.outputs import Released
from discreet.randomness import SeededEntropy

CONTEXTS, SLOTS, DAYS = 20, 48, 35
WINDOWS: list[dict[str, Any]] = [{"over": "day"}, {"over": "month"}, {"over": 7, "sliding": True}]


def routine() -> Routine:
    """One kind of day; contexts are stayed in with 0.85, and everything is possible."""
    rng = np.random.default_rng(1)

    def rows(*shape: int) -> FloatArray:
        drawn = 0.85 * np.eye(CONTEXTS) + 0.15 * rng.dirichlet(np.full(CONTEXTS, 0.15), size=shape)
        return np.asarray(0.999 * drawn + 0.001 / CONTEXTS)

    names = tuple(f"c{k}" for k in range(CONTEXTS))
    chain = d.MarkovChain(names, rng.dirichlet(np.full(CONTEXTS, 0.5)), rows(SLOTS - 1, CONTEXTS))
    return Routine({"day": chain}, {("day", "day"): rows(CONTEXTS)})


def measured(habits: Routine, window: dict[str, Any], outputs: Literal["suppress", "deceive"]) -> tuple[float, float]:
    """Processor seconds of all decisions after the first, and the share of slots shown; tables are printed."""
    policy = d.Policy([d.Secret("x", {"c3"}, at="any", **window), "c5"], delta=0.1)
    mechanism = d.mechanisms.Adaptive(habits.since("2026-11-16"), policy, outputs=outputs, memory="none")
    session, rng, context, shown = d.Session(mechanism, rng=SeededEntropy(2)), np.random.default_rng(5), 0, 0
    path = []
    for t in range(DAYS * SLOTS):
        context = int(rng.choice(CONTEXTS, p=mechanism.model.transition(t)[context]))
        path.append(f"c{context}")
    session.release(path[0])
    began = time.process_time()
    for label in path[1:]:
        shown += session.release(label) == Released(label)
    seconds = time.process_time() - began
    tables = mechanism.machine.adversary.tables
    size = sum(one.later.nbytes + one.here.nbytes for one in tables.windows.values())
    print(
        f"{outputs}, {window}: {1000 * seconds / len(path):.2f} ms a decision, {shown / len(path):.3f} shown, "
        f"windows {size / 1e6:.2f} MB, horizon {mechanism.horizon}"
    )
    return seconds, shown / len(path)


if __name__ == "__main__":
    habits = routine()
    for outputs in ("suppress", "deceive"):
        day, *others = [measured(habits, window, outputs)[0] for window in WINDOWS]
        print(f"{outputs}: {', '.join(f'{other / day:.2f}' for other in others)} times a day's")
