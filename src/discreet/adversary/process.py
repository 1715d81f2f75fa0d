"""What the adversary filters over: hidden states that carry everything the next output can depend on.

A model gives contexts; a mechanism gives private states (the current context, perhaps with a memory of earlier ones).
Together they are a Markov process over K hidden states z with P private states m, in one of two forms:

- `SeenProcess`: the private state is a function of the hidden states before and after a step. Markov chains, with or
  without memory, and hidden Markov models lifted to (Y, memory).
- `EmittedProcess`: the private state is emitted by the hidden state alone. Hidden Markov models without memory; theirs
  would be K n states if they were lifted, and K are enough.

Both have, for T slots, K hidden states, P private states and n contexts:

- `push(t, rows, likelihood)` (R, K): measures on Z_{t-1} times P(Z_t, output | Z_{t-1}); at t = 0 the rows are measures
  on Z_0 itself.
- `present(t, before, after, likelihood, members)` (G, K): P(X_t in g, Z_t, output) for members (G, n), from the weights
  before and after the push; or (R, K) for one member (1, n) and many weights (R, K) before and after.
- `joint(t, before, columns)` (K, O): P(Z_t, output) for kernel columns (P, O); `present_joint`: within a secret.
- `outlook(t, columns)` (K, O): P(output | Z_{t-1}), for t >= 1.
- `predicted(t, before)` (P,): P(private state at t) from the weights on Z_{t-1} (on Z_0 at t = 0).
- `emission(t)` (K, n): P(X_t | Z_t).

All arrays are unnormalised measures: rows (R, K) are pushed through a slot by one matrix product, whose sums have one
order on every machine (discreet.jit).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from discreet.adversary import steps
from discreet.contracts import DayModel
from discreet.errors import DiscreetError
from discreet.jit import product, sparse_product
from discreet.models.pairs import Pairs
from discreet.numerics import FloatArray, IntArray, read_only

LARGE = 256
"""States from which on zeros are worth leaving out."""


class CompressedRows(NamedTuple):
    """A square matrix without its zeros."""

    starts: IntArray  # (K + 1,): where each row begins
    columns: IntArray
    values: FloatArray

    def pushed(self, rows: FloatArray) -> FloatArray:
        """Rows (R, K), or one (K,), times the matrix."""
        if rows.ndim > 1:
            return np.array([self.pushed(row) for row in rows]).reshape(rows.shape)
        return sparse_product(np.ascontiguousarray(rows), *self, len(rows))


@dataclass(frozen=True)
class SeenProcess:
    """The private state of slot t is `private[z, z']` on the step from z to z', `first[z]` at t = 0.

    `private` is (1, K) where the state before does not matter: without memory it is the context itself. In the slots of
    `anew`, where memory starts anew, the private state is `anew[t][z']` whatever the state before.
    """

    slots: int
    initial: FloatArray
    transitions: FloatArray
    first: IntArray  # (K,)
    private: IntArray  # (K, K) or (1, K)
    contexts: IntArray  # (K,): the context of each hidden state
    context_count: int
    private_states: int
    anew: Mapping[int, IntArray] = field(default_factory=dict)  # {slot: (K,)}

    def __post_init__(self) -> None:
        read_only([*vars(self).values(), *self.anew.values()])

    def private_on(self, t: int) -> IntArray:
        """(K, K) or (1, K): the private states on the steps into slot t, after the first slot."""
        return self.anew[t][None] if t in self.anew else self.private

    @cached_property
    def sparse(self) -> CompressedRows | None:
        """The one transition of a large homogeneous chain with few possible steps, without its zeros; None elsewhere.

        Cells of a map reach their neighbours alone: of 1,448 x 1,448 steps, 11,000 occur.
        """
        if len(self.private) > 1 or not len(self.transitions) or self.transitions.strides[0] != 0:
            return None
        if len(self.initial) < LARGE or np.count_nonzero(self.transitions[0]) > self.transitions[0].size / 16:
            return None
        row, column = np.nonzero(self.transitions[0])
        starts = np.searchsorted(row, np.arange(len(self.initial) + 1))
        return CompressedRows(starts, np.ascontiguousarray(column), self.transitions[0][row, column])

    def push(self, t: int, rows: FloatArray, likelihood: FloatArray) -> FloatArray:
        """One product with P(z, z') b(output | private[z, z'])."""
        if t == 0:
            return np.asarray(rows * likelihood[self.first])
        if self.sparse is not None:  # the likelihood is of the state after alone
            return np.asarray(self.sparse.pushed(rows) * likelihood[self.private[0]])
        return product(rows, self.transitions[t - 1] * likelihood[self.private_on(t)])

    def present(
        self, t: int, before: FloatArray, after: FloatArray, likelihood: FloatArray, members: FloatArray
    ) -> FloatArray:
        """The context is seen in the hidden state."""
        return np.asarray(after * members[:, self.contexts])

    def joint(self, t: int, before: FloatArray, columns: FloatArray) -> FloatArray:
        """Sum over the state before."""
        if t == 0:
            return np.asarray(before[:, None] * columns[self.first])
        private = self.private_on(t)
        if len(private) == 1:
            return np.asarray(self._moved(t, before)[:, None] * columns[private[0]])
        return steps.remembered_joint(
            np.ascontiguousarray(before), self.transitions[t - 1], private, np.ascontiguousarray(columns)
        )

    def present_joint(
        self, t: int, before: FloatArray, joint: FloatArray, columns: FloatArray, member: FloatArray
    ) -> FloatArray:
        """The context is seen in the hidden state."""
        return np.asarray(joint * member[self.contexts][:, None])

    def outlook(self, t: int, columns: FloatArray) -> FloatArray:
        """Sum over the state after."""
        private = self.private_on(t)
        if len(private) == 1:
            return product(self.transitions[t - 1], columns[private[0]])
        return steps.remembered_outlook(self.transitions[t - 1], private, np.ascontiguousarray(columns))

    def predicted(self, t: int, before: FloatArray) -> FloatArray:
        """Gather the steps by the private state that they lead to."""
        private = self.private_on(t)
        if t == 0:
            reached, mass = self.first, before
        elif len(private) == 1:
            reached, mass = private[0], self._moved(t, before)
        else:
            reached, mass = private, before[:, None] * self.transitions[t - 1]
        gathered = np.bincount(reached.ravel(), weights=mass.ravel(), minlength=self.private_states)
        return np.asarray(gathered, dtype=np.float64)

    def _moved(self, t: int, before: FloatArray) -> FloatArray:
        """(K,): one step on, whatever is output."""
        return product(before, self.transitions[t - 1]) if self.sparse is None else self.sparse.pushed(before)

    def emission(self, t: int) -> FloatArray:
        """One-hot."""
        return np.eye(self.context_count)[self.contexts]


@dataclass(frozen=True)
class EmittedProcess:
    """The private state is the context, emitted by the hidden state: emissions (T, K, n)."""

    slots: int
    initial: FloatArray
    transitions: FloatArray
    emissions: FloatArray
    private_states: int

    def __post_init__(self) -> None:
        read_only(vars(self).values())

    def _before(self, t: int, before: FloatArray) -> FloatArray:
        return before if t == 0 else product(before, self.transitions[t - 1])

    def push(self, t: int, rows: FloatArray, likelihood: FloatArray) -> FloatArray:
        """l(y) = sum_c P(c | y) b(output | c), theory section 2."""
        return np.asarray(self._before(t, rows) * product(self.emissions[t], likelihood))

    def present(
        self, t: int, before: FloatArray, after: FloatArray, likelihood: FloatArray, members: FloatArray
    ) -> FloatArray:
        """w(y) sum_{c in g} P(c | y) b(output | c), with w before its update: not posterior times emission."""
        return np.asarray(self._before(t, before) * product(members * likelihood, self.emissions[t].T))

    def joint(self, t: int, before: FloatArray, columns: FloatArray) -> FloatArray:
        """Predicted weights times l(y) for every output."""
        return np.asarray(self._before(t, before)[:, None] * product(self.emissions[t], columns))

    def present_joint(
        self, t: int, before: FloatArray, joint: FloatArray, columns: FloatArray, member: FloatArray
    ) -> FloatArray:
        """As `joint`, over the secret's contexts alone."""
        return np.asarray(self._before(t, before)[:, None] * product(self.emissions[t] * member, columns))

    def outlook(self, t: int, columns: FloatArray) -> FloatArray:
        """P(output | y before)."""
        return product(self.transitions[t - 1], product(self.emissions[t], columns))

    def predicted(self, t: int, before: FloatArray) -> FloatArray:
        """P(X_t)."""
        return product(self._before(t, before), self.emissions[t])

    def emission(self, t: int) -> FloatArray:
        """P(X_t | Y_t)."""
        return np.asarray(self.emissions[t])


Remember = Callable[[int | None, int], int]


def remembers(private_contexts: IntArray, n: int) -> bool:
    """Whether private states tell more than the context: where one stands for each, `remember` can only return it."""
    return not np.array_equal(private_contexts, np.arange(n))


def process_of(
    model: DayModel, private_contexts: IntArray, remember: Remember, anew: Mapping[int, IntArray] | None = None
) -> SeenProcess | EmittedProcess:
    """The process of a model's contexts and a mechanism's private states.

    `anew` {slot: (n,)} are the slots at which memory starts anew, with each context's private state then.
    """
    n = len(model.contexts)
    if not remembers(private_contexts, n):
        if model.emissions is None:
            every = np.arange(n)
            return SeenProcess(model.slots, model.initial, model.transitions, every, every[None], every, n, n)
        return EmittedProcess(model.slots, model.initial, model.transitions, model.emissions, n)
    pairs = getattr(model, "pairs", None)
    if pairs is not None and pairs.has(private_contexts, remember):
        return _of_pairs(model, pairs, {} if anew is None else anew)
    memory = Memory.of(private_contexts, remember, n)
    if model.emissions is None:
        return _lifted_chain(model, memory, {} if anew is None else anew)
    if anew:
        raise DiscreetError("memory that starts anew is filtered for Markov chains alone; use one")
    return _lifted_hidden(model, memory)


@dataclass(frozen=True)
class Memory:
    """Private states grouped into C classes that the future cannot tell apart."""

    first: IntArray  # (n,): remember(None, c)
    following: IntArray  # (C, n): the private state that context c leads to from a class
    group: IntArray  # (P,): the class of each private state
    contexts: IntArray  # (C,): the context of each class

    @classmethod
    def of(cls, private_contexts: IntArray, remember: Remember, n: int) -> Memory:
        """Two private states of one context are one class if every context leads both to the same private state."""
        first = np.array([remember(None, c) for c in range(n)])
        table = [tuple(remember(m, c) for c in range(n)) for m in range(len(private_contexts))]
        keys = [(int(private_contexts[m]), row) for m, row in enumerate(table)]
        classes = {key: k for k, key in enumerate(dict.fromkeys(keys))}
        following = np.array([key[1] for key in classes])
        for where, reached in (("remember(None, c)", first[None]), ("remember(m, c)", following)):
            inside = (reached >= 0) & (reached < len(private_contexts))
            if not inside.all() or (private_contexts[reached] != np.arange(n)).any():
                raise DiscreetError(f"{where} must return a private state of context c; see private_contexts")
        return cls(first, following, np.array([classes[key] for key in keys]), np.array([key[0] for key in classes]))

    @property
    def first_of_class(self) -> IntArray:
        """(C,): the private state in the first slot of a day (0 where the class is reached in none)."""
        first = np.zeros(len(self.contexts), dtype=np.int64)
        first[self.group[self.first]] = self.first
        return first

    @property
    def private(self) -> IntArray:
        """(C, C): the private state on the step from one class to another (0 where there is no such step)."""
        private = np.zeros((len(self.contexts), len(self.contexts)), dtype=np.int64)
        for k, row in enumerate(self.following):
            private[k, self.group[row]] = row
        return private


def _lifted_chain(model: DayModel, memory: Memory, anew: Mapping[int, IntArray]) -> SeenProcess:
    """A chain over classes: for a memory of the last context the classes are the contexts, so nothing grows.

    Where memory starts anew, a step leads to the class of the private state that a context then has.
    """
    n, states = len(model.contexts), len(memory.contexts)
    initial = np.zeros(states)
    initial[memory.group[memory.first]] = model.initial
    transitions = np.zeros((model.slots - 1, states, states))
    for k, row in enumerate(memory.following):
        transitions[:, k, memory.group[row]] = model.transitions[:, memory.contexts[k], :]
    fresh = {}
    for t, private in anew.items():
        reached = memory.group[private]
        transitions[t - 1] = 0.0
        transitions[t - 1][:, reached] = model.transitions[t - 1][memory.contexts]
        fresh[t] = np.zeros(states, dtype=np.int64)
        fresh[t][reached] = private
    return SeenProcess(
        model.slots,
        initial,
        transitions,
        memory.first_of_class,
        memory.private,
        memory.contexts,
        n,
        len(memory.group),
        fresh,
    )


def _of_pairs(model: DayModel, pairs: Pairs, anew: Mapping[int, IntArray]) -> SeenProcess:
    """Habits over two contexts and a memory of the last: a hidden state is a pair, and so is the private one."""
    n, states = len(pairs.contexts), pairs.states
    private = np.ascontiguousarray(np.broadcast_to(n + np.arange(states), (states, states)))
    fresh = {t: np.ascontiguousarray(start[pairs.now]) for t, start in anew.items()}
    return SeenProcess(
        model.slots, model.initial, model.transitions, pairs.now, private, pairs.now, n, n + states, fresh
    )


def _lifted_hidden(model: DayModel, memory: Memory) -> SeenProcess:
    """A hidden Markov model over pairs (class, y)."""
    assert model.emissions is not None
    n, classes, states = len(model.contexts), len(memory.contexts), len(model.initial)
    initial = np.zeros((classes, states))
    first = np.zeros((classes, states), dtype=np.int64)
    initial[memory.group[memory.first]] = model.initial * model.emissions[0].T  # distinct contexts, distinct classes
    first[memory.group[memory.first]] = memory.first[:, None]
    transitions = np.zeros((model.slots - 1, classes, states, classes, states))
    for k, row in enumerate(memory.following):
        for c, reached in enumerate(memory.group[row]):
            transitions[:, k, :, reached, :] = model.transitions * model.emissions[1:, None, :, c]
    size = classes * states
    private = np.repeat(np.repeat(memory.private, states, axis=0), states, axis=1)
    return SeenProcess(
        model.slots,
        initial.reshape(size),
        transitions.reshape(model.slots - 1, size, size),
        first.reshape(size),
        private,
        np.repeat(memory.contexts, states),
        n,
        len(memory.group),
    )
