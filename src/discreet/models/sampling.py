"""Days drawn for experiments, laws and estimates; seeded, never for releases."""

from __future__ import annotations

import numpy as np

from discreet.contracts import Model
from discreet.numerics import FloatArray, IntArray


def sampled_days(model: Model, days: int, seed: int) -> list[list[int]]:
    """Days of context indices from any model, one after the other; the models' own `sample` draws many at a time."""
    rng = np.random.default_rng(seed)
    assert model.slots is not None
    return [_path(model, model.slots, rng) for _ in range(days)]


def sampled_stream(model: Model, slots: int, seed: int) -> list[int]:
    """So many context indices of a model without end, from its first slot on."""
    return _path(model, slots, np.random.default_rng(seed))


def _path(model: Model, slots: int, rng: np.random.Generator) -> list[int]:
    path: list[int] = []
    state = 0
    for t in range(model.first, model.first + slots):
        row = model.transition(t - 1)[state] if path else model.initial
        state = int(rng.choice(len(row), p=row))
        emission = model.emission(t)
        path.append(state if emission is None else int(rng.choice(len(model.contexts), p=emission[state])))
    return path


def drawn(rows: FloatArray, rng: np.random.Generator) -> IntArray:
    """One index a row of probabilities, never one of probability zero."""
    cumulative = np.cumsum(rows, axis=1)
    uniform = rng.random(len(rows)) * cumulative[:, -1]
    return np.asarray((cumulative <= uniform[:, None]).sum(axis=1), dtype=np.int64)
