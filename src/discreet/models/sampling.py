"""Days drawn for experiments, laws and estimates; seeded, never for releases."""

from __future__ import annotations

import numpy as np

from discreet.contracts import EndlessModel, Model
from discreet.numerics import FloatArray, IntArray


def sampled_days(model: Model, days: int, seed: int) -> list[list[int]]:
    """Days of context indices from any model, one after the other; the models' own `sample` draws many at a time."""
    rng = np.random.default_rng(seed)
    paths: list[list[int]] = []
    for _ in range(days):
        path: list[int] = []
        state = 0
        for slot in range(model.slots):
            row = model.initial if slot == 0 else model.transitions[slot - 1][state]
            state = int(rng.choice(len(row), p=row))
            if model.emissions is None:
                path.append(state)
            else:
                path.append(int(rng.choice(len(model.contexts), p=model.emissions[slot][state])))
        paths.append(path)
    return paths


def sampled_stream(model: EndlessModel, slots: int, seed: int) -> list[int]:
    """So many context indices of a model without end, from its first slot on."""
    rng = np.random.default_rng(seed)
    path: list[int] = []
    for t in range(model.first, model.first + slots):
        row = model.transition(t - 1)[path[-1]] if path else model.initial
        path.append(int(rng.choice(len(row), p=row)))
    return path


def drawn(rows: FloatArray, rng: np.random.Generator) -> IntArray:
    """One index a row of probabilities, never one of probability zero."""
    cumulative = np.cumsum(rows, axis=1)
    uniform = rng.random(len(rows)) * cumulative[:, -1]
    return np.asarray((cumulative <= uniform[:, None]).sum(axis=1), dtype=np.int64)
