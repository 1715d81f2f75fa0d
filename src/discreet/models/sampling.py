"""Days drawn from any model, for laws and estimates; the models' own `sample` draws many at a time."""

from __future__ import annotations

import numpy as np

from discreet.contracts import Model


def sampled_days(model: Model, days: int, seed: int) -> list[list[int]]:
    """Days of context indices. Seeded: for experiments, never for releases."""
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
