"""Timing that benchmarks share: alternate what is compared, keep the best, because machines are noisy."""

from __future__ import annotations

import time
from collections.abc import Callable


def alternating(
    calls: dict[str, Callable[[], object]], repetitions: int = 5, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Best seconds of each call by a clock, taken in turns after one warm-up round."""
    best = dict.fromkeys(calls, float("inf"))
    for call in calls.values():
        call()
    for _ in range(repetitions):
        for name, call in calls.items():
            began = clock()
            call()
            best[name] = min(best[name], clock() - began)
    return best


def verdict(ratio: float, limit: float) -> str:
    """A ratio against the one that was asked for."""
    return f"{ratio:.2f}x (at most {limit:g}x: {'met' if ratio <= limit else 'MISSED'})"
