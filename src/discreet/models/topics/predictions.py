"""What hidden topics predict of each event from those before it, for all trajectories in one compiled pass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.jit import FLOATS, FLOATS_2D, FLOATS_3D, INTS, compiled
from discreet.numerics import FloatArray, IntArray


class Predictor(NamedTuple):
    """N events, one trajectory after another, as K topics of U people have them; S sets of events."""

    person: IntArray  # (N,)
    first: IntArray  # (N,) 1 where a trajectory starts
    likelihood: FloatArray  # (N, K) P(the event | topic), of that person
    sets: FloatArray  # (U, K, S) P(an event in the set | topic)
    initial: FloatArray  # (K,)
    transitions: FloatArray  # (U, K, K)


def predictions(predictor: Predictor) -> tuple[FloatArray, FloatArray]:
    """(N,) the probability of each event given those before it in its trajectory, and (N, S) that of each set."""
    return _predictions(*predictor)


@compiled(INTS, INTS, FLOATS_2D, FLOATS_3D, FLOATS, FLOATS_3D, batch=True)
def _predictions(
    person: IntArray,
    first: IntArray,
    likelihood: FloatArray,
    sets: FloatArray,
    initial: FloatArray,
    transitions: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    N, K = likelihood.shape
    S = sets.shape[2]
    seen, held = np.zeros(N), np.zeros((N, S))
    belief, after = np.zeros(K), np.zeros(K)
    for i in range(N):
        u = person[i]
        if first[i]:
            for k in range(K):
                belief[k] = initial[k]
        else:
            for k in range(K):
                after[k] = 0.0
            for j in range(K):
                for k in range(K):
                    after[k] += belief[j] * transitions[u, j, k]
            for k in range(K):
                belief[k] = after[k]
        for k in range(K):
            for s in range(S):
                held[i, s] += belief[k] * sets[u, k, s]
            belief[k] *= likelihood[i, k]
            seen[i] += belief[k]
        for k in range(K):
            belief[k] /= seen[i]
    return seen, held
