"""One slot of the filter, compiled: a push of the stack and every secret's belief at every slot.

NumPy alone spends most of a slot on call overhead: the product itself takes a few microseconds. These are the same
formulas as `push` and `present` of discreet.adversary.process, which the tests hold them to.
Flops of a slot: 2 K^2 a row of the stack for the push, 2 K a row for the beliefs.
"""

from __future__ import annotations

import numpy as np
from numba import types

from discreet.jit import FLOATS, FLOATS_2D, INTS, INTS_2D, compiled
from discreet.numerics import FloatArray, IntArray

_SECRETS = (FLOATS_2D, FLOATS_2D, FLOATS, FLOATS_2D, FLOATS_2D, FLOATS)  # members now ... priors


@compiled(FLOATS_2D, types.int64, FLOATS_2D, FLOATS_2D, FLOATS, reorder_sums=True)
def beliefs(
    stack: FloatArray, visits: int, ahead: FloatArray, first_visit: FloatArray, priors: FloatArray
) -> FloatArray:
    """Gains (past and present rows, future rows, secrets at="any") of a normalised stack; `priors` in that order."""
    rows, states = stack.shape
    past, future = rows - 1 - visits, len(ahead)
    gains = np.empty(past + future + visits)
    for r in range(past):
        total = 0.0
        for z in range(states):
            total += stack[1 + visits + r, z]
        gains[r] = total - priors[r]
    for r in range(future):
        total = 0.0
        for z in range(states):
            total += ahead[r, z] * stack[0, z]
        gains[past + r] = total - priors[past + r]
    for a in range(visits):
        total = 0.0
        for z in range(states):
            total += stack[1 + a, z] + (stack[0, z] - stack[1 + a, z]) * first_visit[a, z]
        gains[past + future + a] = total - priors[past + future + a]
    return gains


@compiled(FLOATS_2D, FLOATS_2D, INTS_2D, INTS, FLOATS, *_SECRETS, reorder_sums=True)
def seen_step(
    stack: FloatArray,
    transition: FloatArray,
    private: IntArray,
    contexts: IntArray,
    likelihood: FloatArray,
    members: FloatArray,
    any_members: FloatArray,
    any_active: FloatArray,
    ahead: FloatArray,
    first_visit: FloatArray,
    priors: FloatArray,
) -> tuple[float, FloatArray, FloatArray]:
    """P(output), the stack after it and its gains, for a `SeenProcess`; all zero if the output is impossible."""
    rows, states = stack.shape
    visits, now = len(any_members), len(members)
    step = np.empty((states, states))
    total = 0.0
    for z in range(states):
        leaving = 0.0
        row = private[z if len(private) > 1 else 0]
        for k in range(states):
            step[z, k] = transition[z, k] * likelihood[row[k]]
            leaving += step[z, k]
        total += stack[0, z] * leaving
    after = np.zeros((rows + now, states))
    if not total > 0.0:
        return 0.0, after, np.zeros(0)
    for z in range(states):
        for k in range(states):
            step[z, k] /= total
    np.dot(stack, step, after[:rows])
    for a in range(visits):
        if any_active[a] > 0.0:
            for k in range(states):
                if any_members[a, contexts[k]] > 0.0:
                    after[1 + a, k] = after[0, k]
    for g in range(now):
        for k in range(states):
            after[rows + g, k] = after[0, k] * members[g, contexts[k]]
    return total, after, beliefs(after, visits, ahead, first_visit, priors)


@compiled(FLOATS_2D, FLOATS_2D, FLOATS_2D, FLOATS, *_SECRETS, reorder_sums=True)
def emitted_step(
    stack: FloatArray,
    transition: FloatArray,
    emission: FloatArray,
    likelihood: FloatArray,
    members: FloatArray,
    any_members: FloatArray,
    any_active: FloatArray,
    ahead: FloatArray,
    first_visit: FloatArray,
    priors: FloatArray,
) -> tuple[float, FloatArray, FloatArray]:
    """The same for an `EmittedProcess`."""
    rows, states = stack.shape
    contexts = emission.shape[1]
    visits, now = len(any_members), len(members)
    after = np.zeros((rows + now, states))
    np.dot(stack, transition, after[:rows])
    told = np.zeros(states)  # l(y) = sum_c P(c | y) b(output | c)
    total = 0.0
    for y in range(states):
        for c in range(contexts):
            told[y] += emission[y, c] * likelihood[c]
        total += after[0, y] * told[y]
    if not total > 0.0:
        return 0.0, np.zeros((rows + now, states)), np.zeros(0)
    for y in range(states):
        for g in range(now):
            inside = 0.0
            for c in range(contexts):
                inside += emission[y, c] * likelihood[c] * members[g, c]
            after[rows + g, y] = after[0, y] * inside / total
        for a in range(visits):
            inside = 0.0
            if any_active[a] > 0.0:
                for c in range(contexts):
                    inside += emission[y, c] * likelihood[c] * any_members[a, c]
            visited = after[1 + a, y]
            after[1 + a, y] = (visited * told[y] + (after[0, y] - visited) * inside) / total
        after[0, y] *= told[y] / total
        for r in range(1 + visits, rows):
            after[r, y] *= told[y] / total
    return total, after, beliefs(after, visits, ahead, first_visit, priors)
