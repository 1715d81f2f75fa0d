"""Learning 1,000 people's chains, against one polars group-by that counts the same transitions.

The input of `MarkovChain.fit` is a list[Day] for each person; the input of polars is a prepared frame with the same
label strings: person, slot, from, to. Both are built outside the measured calls, and both must count the same numbers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import polars as pl

from discreet.contexts import Day
from discreet.models import MarkovChain
from discreet.models.simulate import codes, people

PEOPLE, DAYS, SLOTS, CONTEXTS, SEED = 1_000, 100, 48, 12, 1
REPETITIONS = 3
LIMIT = 3.0

T = TypeVar("T")


def frame() -> pl.DataFrame:
    """One row a transition: person, slot, from, to; labels are strings."""
    labels, drawn = codes(PEOPLE, DAYS, SLOTS, CONTEXTS, SEED)
    shape = (PEOPLE, DAYS, SLOTS - 1)
    names = pl.Series([f"p{number:04d}" for number in range(1, PEOPLE + 1)])
    words = pl.Series(labels)
    at = [np.broadcast_to(np.arange(PEOPLE)[:, None, None], shape), np.broadcast_to(np.arange(SLOTS - 1), shape)]
    return pl.DataFrame(
        {
            "person": names.gather(at[0].ravel()),
            "slot": at[1].ravel(),
            "from": words.gather(drawn[:, :, :-1].ravel()),
            "to": words.gather(drawn[:, :, 1:].ravel()),
        }
    )


def fitted_none(days: dict[str, list[Day]]) -> dict[str, MarkovChain]:
    """Every person's chain from plain counts."""
    return {name: MarkovChain.fit(of, smoothing="none") for name, of in days.items()}


def fitted_auto(days: dict[str, list[Day]]) -> dict[str, MarkovChain]:
    """Every person's chain, backed off."""
    return {name: MarkovChain.fit(of, smoothing="auto") for name, of in days.items()}


def counted(transitions: pl.DataFrame) -> pl.DataFrame:
    """The same transitions counted by polars."""
    return transitions.group_by("person", "slot", "from", "to").len()


def same_counts(chains: dict[str, MarkovChain], groups: pl.DataFrame) -> bool:
    """Whether both counted the same numbers, cell by cell."""
    cells: dict[tuple[str, int, str, str], int] = {}
    for name, chain in chains.items():
        assert chain.counts is not None
        words = chain.contexts
        for slot, source, target in np.argwhere(chain.counts.transitions).tolist():
            cells[name, slot, words[source], words[target]] = int(chain.counts.transitions[slot, source, target])
    return cells == {row[:4]: row[4] for row in groups.iter_rows()}


def timed(call: Callable[[], T]) -> tuple[float, T]:
    """Seconds, and what was computed."""
    began = time.perf_counter()
    result = call()
    return time.perf_counter() - began, result


def main() -> None:
    """Print the best of a few alternating repetitions."""
    days, transitions = people(PEOPLE, DAYS, SLOTS, CONTEXTS, SEED), frame()
    best = {"fit, smoothing none": np.inf, "fit, smoothing auto": np.inf, "polars group-by": np.inf}
    for _ in range(REPETITIONS):
        none, chains = timed(lambda: fitted_none(days))
        polars, groups = timed(lambda: counted(transitions))
        auto, _backed = timed(lambda: fitted_auto(days))
        for name, taken in zip(best, (none, auto, polars), strict=True):
            best[name] = min(best[name], taken)
    same = same_counts(chains, groups)
    print(f"{PEOPLE * DAYS * SLOTS:,} readings, {PEOPLE:,} people; fit takes list[Day] a person, polars one frame")
    print(f"{'':24} {'seconds':>8} {'ratio':>6} {'at most':>8}")
    for name, taken in best.items():
        ratio = taken / best["polars group-by"]
        print(f"{name:24} {taken:8.2f} {ratio:6.2f} {LIMIT:8.1f}  {'ok' if ratio <= LIMIT else 'TOO SLOW'}")
    print(f"both count the same numbers: {'yes' if same else 'NO'}")


if __name__ == "__main__":
    main()
