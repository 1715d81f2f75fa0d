"""A simulated year on small routines, the observer's beliefs in integers: nothing exceeds delta + 2^-40 at any time."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.mechanisms import Adaptive
from discreet.models.routine.routine import Routine
from discreet.outputs import SKIPPED, Output
from tests.endless.routines import random_rows, tree
from tests.endless.searched import SLACK, Event
from tests.endless.walk import Walk
from tests.strategies import LONG, labels, searches

DAYS = 365 if LONG else 100
"""A year in `make audit`. Rows that were never dropped, or a belief that drifts, show within weeks."""

START = "2026-11-16"

Excesses = dict[Output, tuple[Fraction, Event | None]]
Choose = Callable[[Any, Excesses], Output]


def total_routine(seed: int, n: int, slots: int, week: bool) -> Routine:
    """Rows are multiples of 2^-20, mixed with a little of everything."""
    rng = np.random.default_rng([seed, 13])
    kinds = ("weekday", "weekend") if week else ("day",)
    chains = {
        kind: d.MarkovChain(
            labels(n), random_rows(rng, "total", (n,), True), random_rows(rng, "total", (slots - 1, n, n), True)
        )
        for kind in kinds
    }
    return Routine(chains, {(a, b): random_rows(rng, "total", (n, n), True) for a in kinds for b in kinds})


def policy_of(n: int, slots: int) -> d.Policy:
    """One at each slot, one at any slot of the day's end, one of a single slot."""
    return d.Policy(
        [
            d.Secret("always", {"c0"}, delta=0.1),
            d.Secret("late", {f"c{n - 1}"}, slots=range(1, slots), at="any", delta=0.2),
            d.Secret("first", {"c1"}, slots={0}, delta=0.05),
        ]
    )


class Person:
    """Lives by the routine; outputs are drawn by the kernel from the true private state."""

    def __init__(self, walk: Walk, seed: int) -> None:
        self.walk, self.rng = walk, np.random.default_rng(seed)
        self.context = int(self.rng.choice(walk.n, p=walk.endless.initial))
        self.private: int | None = None

    def __call__(self, kernel: Any, excesses: Excesses) -> Output:
        now = self.walk.machine.remember(self.private, self.context)
        drawn = int(self.rng.choice(len(kernel.outputs), p=kernel.weights[now] / kernel.total))
        self.private = now
        self.context = int(self.rng.choice(self.walk.n, p=self.walk.endless.transition(self.walk.t)[self.context]))
        output: Output = kernel.outputs[drawn]
        return output


def worst(kernel: Any, excesses: Excesses) -> Output:
    """The output that brings some belief nearest to its limit, however unlikely it is."""
    return max(excesses, key=lambda output: excesses[output][0])


def walked(walk: Walk, choose: Choose, days: int, skips: float = 0.0) -> Fraction:
    """Walk so many days; returns the largest excess that any output could have caused."""
    largest, rng = Fraction(-1), np.random.default_rng(3)
    for t in range(days * walk.T):
        kernel = walk.kernel()
        excesses = walk.excesses(kernel)
        for output, (excess, event) in excesses.items():
            assert excess <= SLACK, (t, output, event, float(excess))
            largest = max(largest, excess)
        skip = bool(rng.random() < skips)
        walk.advance(SKIPPED if skip else choose(kernel, excesses), kernel)
    return largest


def walk_of(seed: int, n: int, slots: int, outputs: str, memory: str, week: bool = False) -> Walk:
    routine = total_routine(seed, n, slots, week)
    policy, endless = policy_of(n, slots), routine.since(START)
    options: Any = {"hierarchy": tree(routine.contexts)} if outputs == "generalize" else {}
    return Walk(Adaptive(endless, policy, outputs=outputs, memory=memory, **options), endless, policy)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("n", "slots", "outputs", "memory", "week"),
    [
        (2, 4, "suppress", "last", False),
        (3, 3, "deceive", "last", False),
        (3, 3, "deceive", "none", True),
        (3, 3, "generalize", "none", False),
    ],
)
def test_a_year_drawn_by_the_kernel(n: int, slots: int, outputs: str, memory: str, week: bool) -> None:
    for seed in searches(1):
        walk = walk_of(seed, n, slots, outputs, memory, week)
        largest = walked(walk, Person(walk, seed), DAYS)
        assert largest > -Fraction(1, 10)  # something was told: some gain came near its delta
        assert walk.most_rows < 200


@pytest.mark.parametrize(
    ("n", "slots", "outputs", "memory", "skips"),
    [
        (2, 3, "suppress", "last", 0.0),
        (2, 3, "deceive", "last", 0.0),
        (3, 3, "deceive", "none", 0.0),
        (2, 3, "deceive", "last", 0.05),
    ],
)
def test_a_year_of_worst_outputs(n: int, slots: int, outputs: str, memory: str, skips: float) -> None:
    for seed in searches(1):
        walk = walk_of(seed, n, slots, outputs, memory)
        walked(walk, worst, DAYS, skips)
        assert walk.t == DAYS * slots
