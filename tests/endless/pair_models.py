"""Random habits over two contexts, of a day and without end, and policies: pairs apart or partly taken together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import discreet as d
from discreet.models.hidden.pairs import PairChain
from discreet.models.pairs import Pairs
from discreet.models.routine.pairs import PairRoutine
from discreet.numerics import FloatArray
from tests.endless.oracle import events_of
from tests.endless.routines import STARTS, Family, random_policy, random_rows, tree
from tests.endless.searched import Event
from tests.strategies import labels

FAMILIES: tuple[Family, ...] = ("total", "sparse", "nearly deterministic")


@dataclass(frozen=True)
class PairCase:
    """A model over pairs, of a day or without end, and what is secret."""

    seed: int
    model: Any
    policy: d.Policy

    def unrolled(self, days: int) -> PairChain:
        """The first days as one; a day is one itself."""
        model: PairChain = self.model if self.model.slots is not None else self.model.unrolled(days)
        return model

    def rows(self, days: int) -> tuple[Event, ...]:
        """What secrets are about in so many days."""
        slots = self.model.slots or self.model.day_slots
        return events_of(self.policy, self.model.contexts, slots, days if self.model.slots is None else 1)

    def options(self, outputs: str) -> dict[str, Any]:
        """What `Adaptive` needs for these outputs."""
        return {"outputs": outputs, **({"hierarchy": tree(self.model.contexts)} if outputs == "generalize" else {})}


def _pairs(rng: np.random.Generator, n: int) -> Pairs:
    most = int(rng.choice([n * n, 2 * n, 2 * n + 1]))
    return Pairs.of(labels(n), rng.permutation(n).tolist(), most)


def _steps(rng: np.random.Generator, family: Family, pairs: Pairs, slots: int) -> FloatArray:
    rows = random_rows(rng, family, (slots, pairs.states, len(pairs.contexts)))
    return pairs.steps(rows)


def random_day(seed: int, contexts: int | None = None) -> PairCase:
    """A day of three to five slots."""
    rng = np.random.default_rng([seed, 31])
    n = int(rng.integers(2, 4)) if contexts is None else contexts
    slots, family, pairs = int(rng.integers(3, 6)), FAMILIES[seed % len(FAMILIES)], _pairs(rng, n)
    initial = pairs.start(random_rows(rng, "total", (n,)))
    model = PairChain(pairs, initial, _steps(rng, family, pairs, slots - 1))
    return PairCase(seed, model, random_policy(rng, model.contexts, slots))


def random_stream(seed: int, contexts: int | None = None, family: Family | None = None) -> PairCase:
    """Days of two or three slots without end, all alike or weekdays and weekends."""
    rng = np.random.default_rng([seed, 37])
    n = int(rng.choice([2, 2, 3])) if contexts is None else contexts
    slots, pairs = int(rng.integers(2, 4)), _pairs(rng, n)
    family = FAMILIES[seed % len(FAMILIES)] if family is None else family
    kinds = ("weekday", "weekend") if rng.random() < 0.5 else ("day",)
    chains = {
        kind: d.MarkovChain(
            pairs.labels, pairs.start(random_rows(rng, "total", (n,))), _steps(rng, family, pairs, slots - 1)
        )
        for kind in kinds
    }
    nights = {(a, b): _steps(rng, family, pairs, 1)[0] for a in kinds for b in kinds}
    known = pairs.start(random_rows(rng, "total", (n,))) if rng.random() < 0.3 else None
    routine = PairRoutine(pairs, d.Routine(chains, nights))
    model = routine.since(STARTS[int(rng.integers(len(STARTS)))], initial=known)
    return PairCase(seed, model, random_policy(rng, model.contexts, slots))
