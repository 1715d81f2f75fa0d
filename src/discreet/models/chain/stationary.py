"""The stationary distribution of a chain, entry by entry accurate: state reduction without a single subtraction."""

from __future__ import annotations

import numpy as np

from discreet.numerics import BoolArray, FloatArray


def stationary(transition: FloatArray) -> FloatArray | None:
    """(n,): the one distribution that (n, n) leaves as it is; None where there are several.

    Grassmann, Taksar and Heyman (1985): states are taken out one after the other, their paths given to those that are
    left. All terms are non-negative and none is subtracted, so every entry has a small relative error, however rare
    its state; sums have one order, so that it is the same on every machine.
    """
    inside = _closed_class(transition > 0)
    if inside is None:
        return None
    work = np.array(transition[np.ix_(inside, inside)])
    for k in range(len(work) - 1, 0, -1):
        leaving = work[k, :k].sum()
        work[:k, k] /= leaving
        work[:k, :k] += work[:k, k, None] * work[k, :k]
    weights = np.zeros(len(work))
    weights[0] = 1.0
    for k in range(1, len(work)):
        weights[k] = (weights[:k] * work[:k, k]).sum()
    found = np.zeros(len(transition))
    found[inside] = weights / weights.sum()
    return found


def _closed_class(steps: BoolArray) -> np.ndarray[tuple[int], np.dtype[np.int64]] | None:
    """The states that are visited again and again; None where there are several classes of them."""
    n = len(steps)
    reach = steps | np.eye(n, dtype=np.bool_)
    for k in range(n):  # Warshall
        reach |= reach[:, k, None] & reach[k]
    closed = ~(reach & ~reach.T).any(axis=1)  # whoever can be reached leads back
    members = np.flatnonzero(closed)
    return members if reach[np.ix_(members, members)].all() else None
