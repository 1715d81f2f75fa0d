"""Pairs of contexts: the states of habits that depend on the last two (theory, section 15).

A state is (what came before, the current context). The rarer of the contexts before are taken together, so that there
are not too many states; that a context was stayed in is always told apart. A state shows its context, and a state and
the next context decide the next state: given what came first, states and contexts say the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.errors import ModelError
from discreet.numerics import FloatArray, IntArray

STATES = 96
"""States that are made at most, unless contexts alone need more: filters take time by the square of them."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """S states over n contexts: table (n, n) is the state of (context before, context now)."""

    contexts: tuple[str, ...]
    table: IntArray

    def __post_init__(self) -> None:
        table, n = self.table, len(self.contexts)
        if table.shape != (n, n) or table.dtype != np.int64:
            raise ModelError(f"the table of pairs is no array ({n}, {n}) of whole numbers")
        for now in range(n):
            if len({int(other) for other in table[:, now]} & {int(s) for s in np.delete(table, now, axis=1).flat}):
                raise ModelError(f"a pair's state is one of {self.contexts[now]!r} and of another context")
        if set(table.flat) != set(range(int(table.max()) + 1)):
            raise ModelError("states of pairs are not numbered from 0 on without a gap")
        table.setflags(write=False)

    @classmethod
    def of(cls, contexts: Sequence[str], likeliest: Sequence[int], most: int = STATES) -> Pairs:
        """At most so many states: of each context, one for staying, one for each of the likeliest before it, and one
        for the rest."""
        n = len(contexts)
        kept = set(range(n)) if n * n <= most else set(list(likeliest)[: max(0, most // n - 2)])
        number: dict[tuple[int, int], int] = {}
        table = np.empty((n, n), dtype=np.int64)
        for now in range(n):
            for before in range(n):
                told_apart = before if before in kept or before == now else -1
                table[before, now] = number.setdefault((now, told_apart), len(number))
        return cls(tuple(contexts), table)

    @cached_property
    def states(self) -> int:
        """S."""
        return int(self.table.max()) + 1

    @cached_property
    def now(self) -> IntArray:
        """(S,): the context that each state shows."""
        now = np.empty(self.states, dtype=np.int64)
        now[self.table] = np.arange(len(self.contexts))
        now.setflags(write=False)
        return now

    @cached_property
    def first(self) -> IntArray:
        """(n,): the state of each context where nothing is known of what came before: as if it had been stayed in."""
        return np.ascontiguousarray(np.diag(self.table))

    @cached_property
    def following(self) -> IntArray:
        """(S, n): the state after a state and the next context."""
        return np.ascontiguousarray(self.table[self.now])

    @cached_property
    def emission(self) -> FloatArray:
        """(S, n): one-hot."""
        return np.eye(len(self.contexts))[self.now]

    def start(self, initial: FloatArray) -> FloatArray:
        """(S,): states of the first slot, from contexts (n,)."""
        lifted = np.zeros(self.states)
        lifted[self.first] = initial
        return lifted

    def steps(self, rows: FloatArray) -> FloatArray:
        """(..., S, S): steps from state to state, from rows (..., S, n) of the next context."""
        lifted = np.zeros((*rows.shape[:-1], self.states))
        np.put_along_axis(lifted, np.broadcast_to(self.following, rows.shape), rows, axis=-1)
        return lifted

    @cached_property
    def private_contexts(self) -> IntArray:
        """(n + S,): the context of each private state: the context alone where memory starts, and the pairs."""
        private = np.concatenate([np.arange(len(self.contexts)), self.now])
        private.setflags(write=False)
        return private

    def remember(self, memory: int | None, context: int) -> int:
        """The private state after a context: what a person's own side knows of the last two."""
        if memory is None:
            return context
        return len(self.contexts) + int(self.table[self.private_contexts[memory], context])

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """(S,): a name of each state."""
        named = []
        for state in range(self.states):
            before = [self.contexts[k] for k in np.flatnonzero((self.table == state).any(axis=1))]
            named.append(f"{self.contexts[self.now[state]]} after {' | '.join(before)}")
        return tuple(named)

    def has(self, private_contexts: IntArray, remember: Callable[[int | None, int], int]) -> bool:
        """Whether a mechanism's private states are these."""
        if not np.array_equal(private_contexts, self.private_contexts):
            return False
        every, before = range(len(self.contexts)), (None, *range(len(private_contexts)))
        return all(remember(memory, c) == self.remember(memory, c) for memory in before for c in every)
