"""Learning habits over the last two contexts, from habits over the last one.

Counts of three contexts in a row are few, and fewer for each time of the day. So what is learned of the context before
the last one is the same at all times: with b the current context, a the one before it (or several taken together, see
`Pairs`), and N how often c came next,

    P_t(c | a, b)  =  P_t(c | b) F(c | a, b), divided by its sum over c,
    F(c | a, b)    =  (N(a, b, c) + s Q(c | b)) / (N(a, b) + s) / Q(c | b),     Q(c | b) = N(b, c) / N(b),

where P_t(c | b) is the row of the habits over one context, however that was learned, and the strength s is the one that
predicts each step best from the others (`counts.backed_off`). Without any step from (a, b), F is one. Where P_t is
positive, so is the new row: habits that hold nothing impossible stay such.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from discreet.models.learning.counts import backed_off, divided
from discreet.models.pairs import Pairs
from discreet.numerics import FloatArray, IntArray


def triples(sequences: Iterable[IntArray], contexts: int) -> IntArray:
    """(n, n, n): how often three contexts followed each other, in sequences of their numbers."""
    n = contexts
    counted = np.zeros(n**3, dtype=np.int64)
    for codes in sequences:
        counted += np.bincount((codes[:-2] * n + codes[1:-1]) * n + codes[2:], minlength=n**3)
    return counted.reshape(n, n, n)


def factors(counted: IntArray, pairs: Pairs) -> FloatArray:
    """(S, n): F, by how much the state before changes the chance of the next context."""
    by_state = np.zeros((pairs.states, len(pairs.contexts)), dtype=np.int64)
    np.add.at(by_state, pairs.table, counted)
    by_context = counted.sum(axis=0)  # (n, n)
    usual = divided(by_context)[pairs.now]
    rows = backed_off(by_state, by_context[pairs.now], usual)
    never = (by_state.sum(axis=1) == 0)[:, None] | (usual == 0)
    return np.asarray(np.where(never, 1.0, rows / np.where(never, 1.0, usual)))


def tilted(rows: FloatArray, factor: FloatArray, pairs: Pairs) -> FloatArray:
    """(..., S, S): the steps of pairs, from rows (..., n, n) of habits over one context."""
    wide = rows[..., pairs.now, :] * factor
    return pairs.steps(wide / wide.sum(axis=-1, keepdims=True))
