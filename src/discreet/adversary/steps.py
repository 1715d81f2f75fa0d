"""One slot of the filter, compiled: a push of the stack and every secret's belief at every slot.

NumPy alone spends most of a slot on call overhead: the product itself takes a few microseconds. These are the same
formulas as `push` and `present` of discreet.adversary.process, which the tests hold them to, and like them the same
bits on every machine (discreet.jit).
Flops of a slot: 2 K^2 a row of the stack for the push, 2 K a row for the beliefs.
"""

from __future__ import annotations

import numpy as np

from discreet.jit import FLOATS, FLOATS_2D, FLOATS_3D, INT, INTS, INTS_2D, compiled, dot, helper, multiply, total
from discreet.numerics import FloatArray, IntArray

_SECRETS = (FLOATS_2D, FLOATS_2D, FLOATS, FLOATS_2D, FLOATS_2D, FLOATS)  # members now ... priors
_DAY = (FLOATS_2D, INTS, INTS, INTS, FLOATS_2D, FLOATS_2D, FLOATS_2D)  # columns ... any_active


@compiled(FLOATS_2D, INT, FLOATS_2D, FLOATS_2D, FLOATS)
def beliefs(
    stack: FloatArray, visits: int, ahead: FloatArray, first_visit: FloatArray, priors: FloatArray
) -> FloatArray:
    """Gains (past and present rows, future rows, secrets at="any") of a normalised stack; `priors` in that order."""
    rows, states = stack.shape
    past, future = rows - 1 - visits, len(ahead)
    gains = np.empty(past + future + visits)
    for r in range(past):
        gains[r] = total(stack[1 + visits + r]) - priors[r]
    for r in range(future):
        gains[past + r] = dot(ahead[r], stack[0]) - priors[past + r]
    unvisited = np.empty(states)
    for a in range(visits):
        for z in range(states):
            unvisited[z] = stack[0, z] - stack[1 + a, z]
        reached = total(stack[1 + a]) + dot(unvisited, first_visit[a])
        gains[past + future + a] = reached - priors[past + future + a]
    return gains


@helper
def _seen_push(
    stack: FloatArray,
    transition: FloatArray,
    private: IntArray,
    contexts: IntArray,
    likelihood: FloatArray,
    members: FloatArray,
    any_members: FloatArray,
    any_active: FloatArray,
) -> tuple[float, FloatArray]:
    """P(output) and the stack after it, for a `SeenProcess`; all zero if the output is impossible."""
    rows, states = stack.shape
    visits, now = len(any_members), len(members)
    step = np.empty((states, states))
    chance = 0.0
    for z in range(states):
        row = private[z if len(private) > 1 else 0]
        for k in range(states):
            step[z, k] = transition[z, k] * likelihood[row[k]]
        chance += stack[0, z] * total(step[z])
    after = np.zeros((rows + now, states))
    if not chance > 0.0:
        return 0.0, after
    for z in range(states):
        for k in range(states):
            step[z, k] /= chance
    multiply(stack, step, after[:rows])
    for a in range(visits):
        if any_active[a] > 0.0:
            for k in range(states):
                if any_members[a, contexts[k]] > 0.0:
                    after[1 + a, k] = after[0, k]
    for g in range(now):
        for k in range(states):
            after[rows + g, k] = after[0, k] * members[g, contexts[k]]
    return chance, after


@compiled(FLOATS_2D, FLOATS_2D, INTS_2D, INTS, FLOATS, *_SECRETS)
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
    chance, after = _seen_push(stack, transition, private, contexts, likelihood, members, any_members, any_active)
    if not chance > 0.0:
        return 0.0, after, np.zeros(0)
    return chance, after, beliefs(after, len(any_members), ahead, first_visit, priors)


@helper
def _emitted_push(
    stack: FloatArray,
    transition: FloatArray,
    emission: FloatArray,
    likelihood: FloatArray,
    members: FloatArray,
    any_members: FloatArray,
    any_active: FloatArray,
) -> tuple[float, FloatArray]:
    """The same for an `EmittedProcess`."""
    rows, states = stack.shape
    visits, now = len(any_members), len(members)
    after = np.zeros((rows + now, states))
    multiply(stack, transition, after[:rows])
    state_likelihood = np.empty(states)  # l(y) = sum_c P(c | y) b(output | c)
    for y in range(states):
        state_likelihood[y] = dot(emission[y], likelihood)
    chance = dot(after[0], state_likelihood)
    if not chance > 0.0:
        return 0.0, np.zeros((rows + now, states))
    inside = np.empty(len(likelihood))  # b(output | c) on the contexts of a secret
    for g in range(now):
        for c in range(len(likelihood)):  # in loops: assigning a slice takes seconds more to compile
            inside[c] = likelihood[c] * members[g, c]
        for y in range(states):
            after[rows + g, y] = after[0, y] * dot(emission[y], inside) / chance
    for a in range(visits):
        for c in range(len(likelihood)):
            inside[c] = likelihood[c] * any_members[a, c]
        for y in range(states):
            fresh = dot(emission[y], inside) if any_active[a] > 0.0 else 0.0
            visited = after[1 + a, y]
            after[1 + a, y] = (visited * state_likelihood[y] + (after[0, y] - visited) * fresh) / chance
    for y in range(states):
        state_likelihood[y] /= chance
        after[0, y] *= state_likelihood[y]
    for r in range(1 + visits, rows):
        for y in range(states):
            after[r, y] *= state_likelihood[y]
    return chance, after


@compiled(FLOATS_2D, FLOATS_2D, FLOATS_2D, FLOATS, *_SECRETS)
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
    chance, after = _emitted_push(stack, transition, emission, likelihood, members, any_members, any_active)
    if not chance > 0.0:
        return 0.0, after, np.zeros(0)
    return chance, after, beliefs(after, len(any_members), ahead, first_visit, priors)


# --- a whole day at once, for who needs what is believed at its end alone


@compiled(FLOATS_2D, FLOATS_3D, INTS_2D, INTS, *_DAY)
def seen_day(
    stack: FloatArray,
    transitions: FloatArray,
    private: IntArray,
    contexts: IntArray,
    columns: FloatArray,
    outputs: IntArray,
    truth: IntArray,
    row_start: IntArray,
    row_members: FloatArray,
    any_members: FloatArray,
    any_active: FloatArray,
) -> tuple[bool, FloatArray]:
    """The stack at the end of a day, from that after its first slot, by `seen_step`'s pushes.

    columns (C, P) are likelihoods; outputs (T,) say which of them each slot's output had, truth (T,) the private state.
    False where a slot's private state was impossible when it came, or an output: what follows is then not followed.
    transitions may be one for all slots.
    """
    for t in range(1, len(outputs)):
        step = transitions[t - 1 if len(transitions) > 1 else 0]
        possible = False
        for z in range(len(step)):
            row = private[z if len(private) > 1 else 0]
            for k in range(len(step)):
                if row[k] == truth[t] and stack[0, z] * step[z, k] > 0.0:
                    possible = True
        if not possible:
            return False, stack
        members = row_members[row_start[t] : row_start[t + 1]]
        chance, after = _seen_push(
            stack, step, private, contexts, columns[outputs[t]], members, any_members, any_active[t]
        )
        if not chance > 0.0:
            return False, stack
        stack = after
    return True, stack


@compiled(FLOATS_2D, FLOATS_3D, FLOATS_3D, *_DAY)
def emitted_day(
    stack: FloatArray,
    transitions: FloatArray,
    emissions: FloatArray,
    columns: FloatArray,
    outputs: IntArray,
    truth: IntArray,
    row_start: IntArray,
    row_members: FloatArray,
    any_members: FloatArray,
    any_active: FloatArray,
) -> tuple[bool, FloatArray]:
    """The same by `emitted_step`'s pushes; emissions, too, may be one for all slots."""
    moved = np.empty((1, stack.shape[1]))
    for t in range(1, len(outputs)):
        step = transitions[t - 1 if len(transitions) > 1 else 0]
        emission = emissions[t if len(emissions) > 1 else 0]
        multiply(stack[:1], step, moved)
        predicted = 0.0  # P(the private state now), as `EmittedProcess.predicted` adds it up
        for y in range(len(step)):
            predicted += moved[0, y] * emission[y, truth[t]]
        if not predicted > 0.0:
            return False, stack
        members = row_members[row_start[t] : row_start[t + 1]]
        chance, after = _emitted_push(stack, step, emission, columns[outputs[t]], members, any_members, any_active[t])
        if not chance > 0.0:
            return False, stack
        stack = after
    return True, stack


@compiled(FLOATS, FLOATS_2D, INTS_2D, FLOATS_2D)
def remembered_joint(before: FloatArray, transition: FloatArray, private: IntArray, columns: FloatArray) -> FloatArray:
    """(K, O): P(Z_t = k, output), where the private state is that of the step: the sum over the state before."""
    states, outputs = len(before), columns.shape[1]
    joint = np.zeros((states, outputs))
    for z in range(states):
        for k in range(states):
            mass, row = before[z] * transition[z, k], columns[private[z, k]]
            if mass > 0.0:
                for o in range(outputs):
                    joint[k, o] += mass * row[o]
    return joint


@compiled(FLOATS_2D, INTS_2D, FLOATS_2D)
def remembered_outlook(transition: FloatArray, private: IntArray, columns: FloatArray) -> FloatArray:
    """(K, O): P(output | Z_{t-1} = z), likewise: the sum over the state after."""
    states, outputs = len(transition), columns.shape[1]
    outlook = np.zeros((states, outputs))
    for z in range(states):
        for k in range(states):
            mass, row = transition[z, k], columns[private[z, k]]
            if mass > 0.0:
                for o in range(outputs):
                    outlook[z, o] += mass * row[o]
    return outlook
