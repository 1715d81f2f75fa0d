"""Secrets that are patterns: an automaton beside the context says how far a sequence has come (theory, section 14).

A pattern c_1, ..., c_k within w slots is met when there are slots i_1 < ... < i_k of the window with these contexts and
i_k - i_1 <= w. Of each beginning of it, c_1 to c_p, it is enough to know how long ago the latest one began: that is
the automaton's state, ages (a_1, ..., a_{k-1}), or MET for good. Hidden states become pairs of a hidden state and
these; what the kernel looks at stays the same. A pattern is then a secret at="any" on the states in which it is met.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from discreet.adversary.process import SeenProcess
from discreet.errors import PolicyError
from discreet.numerics import BoolArray, FloatArray, IntArray
from discreet.policy import SecretTable

MET = (-1,)
"""The state of an automaton that has met its pattern; ages are 0 or more, and LOST where nothing has begun."""

LOST = 1 << 30

Ages = tuple[int, ...]


class Watched(NamedTuple):
    """A process that knows how far patterns have come. Its contexts are numbered anew: one for each state."""

    process: SeenProcess
    context_of: IntArray  # (K',): the model's context of each state
    met: FloatArray  # (patterns, K'): whether the pattern is met in the state


def after(ages: Ages, sequence: Sequence[int], within: int, context: int, held: bool) -> Ages:
    """The automaton's state one slot later, in a context; slots that are not held take time and count for nothing."""
    if ages == MET:
        return MET
    older = [age + 1 if age + 1 <= within else LOST for age in ages]
    if not held:
        return tuple(older)
    now = list(older)
    for place in range(len(sequence) - 1, -1, -1):  # from the end: one slot is one step of the pattern
        if context != sequence[place]:
            continue
        began = 0 if place == 0 else older[place - 1]
        if began == LOST:
            continue
        if place == len(sequence) - 1:
            return MET
        now[place] = min(now[place], began)
    return tuple(now)


def watched(process: object, table: SecretTable) -> Watched:
    """The process over (hidden state, states of all patterns of the policy), as far as these can be reached."""
    if not isinstance(process, SeenProcess):
        raise PolicyError("patterns are bounded where contexts are seen: give a Markov chain, or memory='last'")
    secrets = [(g, one) for g, one in enumerate(table.policy.secrets) if one.sequence]
    index = {context: k for k, context in enumerate(table.model_contexts)}
    sequences = [[index[context] for context in one.sequence] for _, one in secrets]
    within = [one.within for _, one in secrets]
    held: BoolArray = table.active[[g for g, _ in secrets]]

    def step(ages: tuple[Ages, ...], state: int, t: int) -> tuple[Ages, ...]:
        context = int(process.contexts[state])
        terms = zip(ages, sequences, within, held[:, t], strict=True)
        return tuple(after(age, sequence, most, context, bool(now)) for age, sequence, most, now in terms)

    nothing = tuple((LOST,) * (len(sequence) - 1) for sequence in sequences)
    levels = [{(z, step(nothing, z, 0)) for z in np.flatnonzero(process.initial).tolist()}]
    for t in range(1, process.slots):
        following = {z: np.flatnonzero(process.transitions[t - 1][z]).tolist() for z, _ in levels[-1]}
        levels.append({(k, step(ages, k, t)) for z, ages in levels[-1] for k in following[z]})
    number = {state: k for k, state in enumerate(sorted(set().union(*levels)))}
    initial, transitions = np.zeros(len(number)), np.zeros((process.slots - 1, len(number), len(number)))
    for z, ages in levels[0]:
        initial[number[z, ages]] = process.initial[z]
    for t in range(1, process.slots):
        for z, ages in levels[t - 1]:
            for k in np.flatnonzero(process.transitions[t - 1][z]).tolist():
                transitions[t - 1, number[z, ages], number[k, step(ages, k, t)]] = process.transitions[t - 1][z, k]
    states = np.array([z for z, _ in number])
    private = process.private[:, states] if len(process.private) == 1 else process.private[np.ix_(states, states)]
    lifted = SeenProcess(
        process.slots,
        initial,
        transitions,
        process.first[states],
        np.ascontiguousarray(private),
        np.arange(len(states)),
        len(states),
        process.private_states,
        {t: anew[states] for t, anew in process.anew.items()},
    )
    met = np.array([[ages[k] == MET for _, ages in number] for k in range(len(secrets))], dtype=np.float64)
    return Watched(lifted, process.contexts[states], met)
